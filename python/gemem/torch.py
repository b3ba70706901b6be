"""torch.py - what PyTorch's allocator did, as a trace for gemem-sim, in one call.

    import gemem
    with gemem.record("train.gmt"):             # from here
        train()                                 # to here
    gemem.snapshot("so_far.gmt")                # or: what torch.cuda.memory._record_memory_history() has collected until now

PATH ends in .gmt or .txt (gemem-sim converts), or in .pickle (the snapshot as it is).  Needs PyTorch >= 2.1.
An error while recording leaves the trace of what came before it: that is the recording one wants to see.
"""
import contextlib
import os
import pickle
import sys
import tempfile

from gemem.command import convert


def snapshot(path):
    """Writes what PyTorch has recorded of its memory until now to PATH."""
    import torch

    data = torch.cuda.memory._snapshot()
    if path.endswith((".pickle", ".pkl")):
        with open(path, "wb") as stream:
            pickle.dump(data, stream)
        return
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "snapshot.pickle")
        with open(source, "wb") as stream:
            pickle.dump(data, stream)
        convert(source, path)


@contextlib.contextmanager
def record(path, max_entries=10_000_000, stacks="python"):
    """Records what PyTorch's allocator does within the block and writes it to PATH; MAX_ENTRIES events at most, the last ones.

    STACKS: "python", or "all" for those of C++ too, which take more time.  torch.profiler.record_function() names phases (PyTorch >= 2.6).
    """
    import torch

    start = torch.cuda.memory._record_memory_history
    try:
        start(max_entries=max_entries, stacks=stacks, global_record_annotations=True)
    except TypeError:  # an older PyTorch
        start(max_entries=max_entries, stacks=stacks)
    try:
        yield
    finally:
        failing = sys.exc_info()[0] is not None
        try:
            snapshot(path)
        except Exception as error:  # the program's own error comes first
            if not failing:
                raise
            print(f"gemem.record: {path}: {error}", file=sys.stderr)
        finally:
            torch.cuda.memory._record_memory_history(enabled=None)

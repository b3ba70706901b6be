"""gemem - what a program does with device memory, recorded around its steps, and what another allocator would make of it.

    import gemem
    with gemem.record("train.gmt") as recording:
        train()
    print(gemem.advise(recording, capacity="16GiB"))
    pandas.DataFrame(gemem.compare(recording))

The answers are those of the command gemem-sim, which is looked for in $PATH, or named by $GEMEM_SIM.  Options of the command are keywords.
"""
import contextlib
import importlib

from gemem.answers import Advice, Answer, Comparison, Facts, advise, compare, info
from gemem.command import Error, convert

__all__ = ["Advice", "Answer", "Comparison", "Error", "Facts", "advise", "compare", "convert", "info", "record", "snapshot"]


@contextlib.contextmanager
def record(path, of="torch", **options):
    """Records what the allocator OF ("torch" or "rmm") does within the block and writes it to PATH, which is what the block is given."""
    with importlib.import_module({"torch": "gemem.torch", "rmm": "gemem.rmm"}[of]).record(path, **options):
        yield path


def snapshot(path):
    """Writes what PyTorch has recorded of its memory until now to PATH."""
    importlib.import_module("gemem.torch").snapshot(path)

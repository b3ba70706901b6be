"""settings.py - what a program sets of PyTorch's allocator while it runs, for the verdict and the recording.

The snapshot has the settings of its end alone, and not the part of the GPU that the program allows PyTorch; a replay has the same settings from start to end.  What is set before the first request is
no change, but the part is still not in the recording.  Only calls by Python are seen.
"""
import os
import sys

_MOST = 4  # changes that are told; a program may set something in each step
_SETTERS = ("_accelerator_setAllocatorSettings", "_cuda_cudaCachingAllocator_set_allocator_settings")  # newer PyTorch, older PyTorch


def _place():
    """ "train.py:12", the line of the program: the innermost that is not PyTorch's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and any(part in frame.f_code.co_filename for part in (__file__, "/torch/", "/typing_extensions.py")):
        frame = frame.f_back
    return "%s:%d" % (os.path.basename(frame.f_code.co_filename), frame.f_lineno)


class Settings(object):
    """What was set while one process ran."""

    def __init__(self, torch):
        self.torch, self.changes, self.part = torch, [], None
        for name in _SETTERS:
            self.watch(name, lambda text: self.was_set(text, _place()))
        self.watch("_cuda_setMemoryFraction", self.set_part)

    def watch(self, name, then):
        native = getattr(self.torch, "_C", None)
        theirs = getattr(native, name, None)
        if theirs is None:
            return

        def setter(*arguments):
            result = theirs(*arguments)  # what PyTorch refuses is no change
            try:
                then(*arguments)
            except Exception as error:
                sys.stderr.write("gemem-dry-run: settings of PyTorch's allocator: %s\n" % (error,))
            return result

        setattr(native, name, setter)

    def set_part(self, part, device):
        place = _place()
        if not self.was_set("per_process_memory_fraction:%g" % part, place):
            self.part = (part, place) if part < 1 else None

    def was_set(self, what, place):
        """Whether this is a change: PyTorch has served a request before."""
        cuda = self.torch.cuda
        if not cuda.is_initialized() or not any(cuda.memory.memory_stats(i).get("allocation.all.allocated", 0) for i in range(cuda.device_count())):
            return False
        text = "%s (%s)" % (what, place)
        if text not in self.changes:
            self.changes.append(text)
        return True

    def end(self, tell):
        """Tells it; returns the changes, or ""."""
        if self.part:
            tell("PyTorch may take %g of the GPU (%s), which the recording does not say; replay it with -a pytorch-caching:per_process_memory_fraction=%g" % (self.part + self.part[:1]))
        text = ", then ".join(self.changes[:_MOST]) + (", and others" if len(self.changes) > _MOST else "")
        if text:
            tell("PyTorch's allocator was set after the first request: %s; the figures here are the program's own, but a replay of the recording has the same settings from start to end" % text)
        return text

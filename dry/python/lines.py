"""lines.py - the lines of Python under which libraries without stacks of their own (XLA, TensorFlow, whatever calls CUDA) request memory, told to the recorder (record/lines.c).

    watch()              once there is ctypes; asks the recorder to call, in the main thread, when memory was requested
    Stacks().number()    the number that a stack of Python has in the recording

The recorder never takes Python's lock: it asks Python for a call, which the main thread makes between two of its steps, so that its frames stand still.  No failure in
here stops the program.
"""
import ctypes
import os
import sys

_MOST_TEXT = 4096  # JOURNAL_MAX_TEXT of traces/journal/format.h
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _is_package(file):
    """As gemem_frame_is_program() (traces/origin.c), the other way round."""
    return "site-packages/" in file or "dist-packages/" in file or "/lib/python" in file or file.startswith("<")


def _write(frames):
    """The stack FRAMES, innermost first, as the recorder takes it.  Of one that is too long, the outermost frames of packages are left out, then the outermost of all."""
    texts = ["%s (%s:%d)" % (code.co_name, code.co_filename, line or 0) for code, line in frames]
    texts = [text.encode("utf-8", "replace") for text in texts]
    most = _MOST_TEXT - sum(len(text) + 3 for text in texts)
    for i in reversed(range(len(texts))):
        if most < 0 and _is_package(frames[i][0].co_filename):
            most += len(texts[i]) + 3
            texts[i] = b""
    data = b" < ".join(filter(None, texts))
    return data if len(data) <= _MOST_TEXT else data[:_MOST_TEXT].rpartition(b" < ")[0]


class Stacks(object):
    """The stacks that the recorder knows."""

    def __init__(self):
        self.write = ctypes.CDLL(None).gemem_record_stack
        self.write.argtypes, self.write.restype = (ctypes.c_char_p,), ctypes.c_uint32
        self.known = {}  # a code's id and place in it, for each frame -> the number in the journal of this process, and what keeps the ids
        os.register_at_fork(after_in_child=self.known.clear)

    def number(self, frame):
        """The number of the stack whose innermost frame is FRAME, without those of our own files; 0: it cannot be recorded."""
        place = []
        first = frame
        while frame is not None:
            place.append(id(frame.f_code))
            place.append(frame.f_lasti)
            frame = frame.f_back
        place = tuple(place)
        known = self.known.get(place)
        if known is None:
            frames, frame = [], first
            while frame is not None:
                frames.append((frame.f_code, frame.f_lineno))
                frame = frame.f_back
            data = _write([(code, line) for code, line in frames if not code.co_filename.startswith(_HERE)])
            known = self.known[place] = (self.write(data) if data else 0, [code for code, line in frames])
        return known[0]


def watch():
    """Runs when Python has ctypes."""
    import atexit

    stacks, here = Stacks(), sys._getframe

    def stack():
        try:
            return stacks.number(here(1))
        except Exception:
            return 0  # RecursionError, MemoryError: this place has no line

    recorder = ctypes.CDLL(None)
    call = ctypes.CFUNCTYPE(ctypes.c_uint32)(stack)
    recorder.gemem_record_lines.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    recorder.gemem_record_lines(ctypes.cast(ctypes.pythonapi.Py_AddPendingCall, ctypes.c_void_p), ctypes.cast(call, ctypes.c_void_p))
    watch.call = call  # is called as long as there is Python
    atexit.register(recorder.gemem_record_lines, None, None)

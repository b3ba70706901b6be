"""values.py - the places where a program looks at values of the GPU, which read as zero in a dry run, or as --value says.

    values = Values (); values.begin ()     gemem_dry_on_value() of libgemem-dry calls look() for every small copy from the device to the host
    values.end ()                           tells how often each place looked
    watch_generation (module)               once transformers' stopping criteria have been imported

A loop that ends when a value changes would not end, so a place that looks often is named while the program runs.  One such loop is known: generate() of the package
transformers asks the device after each token whether to stop.  Here it stops where its length ends it (max_new_tokens, max_length), and no sequence ends before, which
needs the most memory.  Another place is known where zero would end the program: PyTorch's optimizers, whose state was loaded onto the device (torch.load() with
map_location), divide by what follows from their number of steps.
"""
import ctypes
import os
import re
import struct
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
OFTEN = 2000  # reads at one place after which the user is told
_generation = {"ended": False}
_OPTIMIZER = re.compile(r".*torch/optim/(optimizer\.py:\d+ _get_value|_adafactor\.py:\d+ .*)$")
_STATE = "0.5"  # read there: neither steps nor products of factors between 0 and 1 make a denominator zero with it
_SIZED = re.compile(r"nonzero|nonzero_numpy|_?unique|_unique2|unique_dim|unique_consecutive|bincount|one_hot|repeat_interleave.*|_coalesce|_to_sparse.*")


class _Numbers(object):
    """The numbers of a --value: "7", or one for each read, "0*15,1"; the last one stays."""

    def __init__(self, text):
        self.steps = []
        for step in text.split(","):
            number, _, times = step.partition("*")
            self.steps.append([number, int(times or 1)])

    def next(self):
        number, times = self.steps[0]
        self.steps[0][1] = times - 1
        if times <= 1 and len(self.steps) > 1:
            del self.steps[0]
        return number


def note(line):
    """Adds a line to the report of the run (sim/dry/report.c)."""
    name = os.environ.get("GEMEM_DRY_REPORT")
    if name:
        with open(name, "a") as stream:
            stream.write(line + "\n")


class _Symbol(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]


class _Operators(object):
    """Which operators of PyTorch run in this thread, by the C stack: each is called through a symbol at::_ops::NAME::call or ::redispatch."""

    FRAMES = 64

    def __init__(self):
        self.names, self.library = {}, ctypes.CDLL(None)
        self.library.dladdr.argtypes = (ctypes.c_void_p, ctypes.POINTER(_Symbol))

    def name(self, address):
        if address not in self.names:
            symbol = _Symbol()
            self.library.dladdr(address, ctypes.byref(symbol))
            found = re.match(rb"_ZN2at4_ops\d+(\w+?)\d+(?:call|redispatch)E", symbol.name or b"")
            self.names[address] = found.group(1).decode() if found else None
        return self.names[address]

    def sized(self):
        """The innermost one whose result has a size that it reads, or None."""
        frames = (ctypes.c_void_p * self.FRAMES)()
        n = self.library.backtrace(frames, self.FRAMES)
        names = (self.name(frames[i]) for i in range(n))
        return next((name for name in names if name and _SIZED.fullmatch(name)), None)


_unfit = set()  # chosen numbers that do not fit where they were read


def _set(address, size, number):
    """Writes NUMBER, of the type that fits SIZE: an integer, or a real number.  False: none does."""
    try:
        chosen, forms = int(number, 0), {1: "b", 2: "h", 4: "i", 8: "q"}
    except ValueError:
        chosen, forms = float(number), {2: "e", 4: "f", 8: "d"}
    try:
        data = struct.pack(forms[size], chosen)
    except (KeyError, struct.error, OverflowError):
        if (number, size) not in _unfit:
            _unfit.add((number, size))
            sys.stderr.write("gemem-dry-run: --value: %s is no value of %d bytes; 0 was read there\n" % (number, size))
        return False
    ctypes.memmove(address, data, size)
    return True


class Values(object):
    def __init__(self, memory):
        self.memory = memory  # torch.cuda.memory
        self.places = {}  # line of the report -> how often
        self.operators = _Operators()
        self.chosen = []
        self.library, self.told = None, set()
        for line in os.environ.get("GEMEM_DRY_VALUES", "").splitlines():
            pattern, _, numbers = line.rpartition("=")
            try:
                self.chosen.append((re.compile(pattern), _Numbers(numbers)))
            except re.error as error:
                sys.stderr.write("gemem-dry-run: --value=%s is left out: %s\n" % (line, error))

    def begin(self):
        kind, block = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64)
        self.functions, self.library = (kind(self.look), block(self.block)), ctypes.CDLL(None)  # kept: C calls them
        self.watch_interrupts()
        self.library.gemem_dry_on_value(self.functions[0])
        self.library.gemem_dry_on_block(self.functions[1])

    def watch_interrupts(self):
        """Ctrl-C while C calls look() would be lost there; it comes again a moment later."""
        import _thread
        import threading

        theirs = sys.unraisablehook

        def hook(problem):
            if problem.exc_type is KeyboardInterrupt:
                threading.Timer(0.01, _thread.interrupt_main).start()
            else:
                theirs(problem)

        sys.unraisablehook = hook

    def end(self):
        if self.library is None:
            return
        self.library.gemem_dry_on_value(None)
        self.library.gemem_dry_on_block(None)
        for line, times in self.places.items():
            if times > 1:
                note("times %d %s" % (times, line))
        self.places = {}

    def block(self, address):
        """Where the block of PyTorch's allocator begins that contains an address."""
        try:
            segments = self.memory.memory_snapshot(include_traces=False)
        except TypeError:
            segments = self.memory.memory_snapshot()
        for segment in segments:
            if segment["address"] <= address < segment["address"] + segment["total_size"]:
                start = segment["address"]
                for block in segment["blocks"]:
                    if address < start + block["size"]:
                        return start
                    start += block["size"]
        return 0

    def stack(self):
        """Lines "FILE:LINE FUNCTION" outside this file, innermost first.  The backward pass runs in a thread without Python."""
        frame, stack = sys._getframe(), []
        while frame is not None:
            code = frame.f_code
            if code.co_filename != __file__:
                stack.append("%s:%d %s" % (code.co_filename, frame.f_lineno, code.co_name))
            frame = frame.f_back
        return stack or ["a thread without Python"]

    def count(self, word, stack, operator=None):
        """Reports the innermost line of the program, and the operator that it called."""
        own = [line for line in stack if "-packages" not in line and not line.startswith(("<frozen", _HERE))]
        place = (own or stack)[0]
        line = "%s %s%s" % (word, place, " (%s)" % operator if operator else "")
        self.places[line] = self.places.get(line, 0) + 1
        if self.places[line] == 1:
            note(line)
        elif self.places[line] == OFTEN and word != "assumed":
            sys.stderr.write(
                "gemem-dry-run: %s has read %d values of the GPU, all as zero; if it waits for another one, stop it (Ctrl-C) and "
                "choose when that comes: --value 'REGEX=0*99,1'\n" % (place, OFTEN)
            )

    def assume(self):
        """This rank took its own object for that of another rank."""
        self.count("assumed", self.stack())

    def look(self, address, size, known):
        """Runs in the thread that asked, when it has the value; KNOWN: 0 no, 1 yes, 2 if all ranks hold the same."""
        stack = self.stack()
        text = "\n".join(stack)
        for pattern, numbers in self.chosen:
            if pattern.search(text) and _set(address, size, numbers.next()):
                break
        else:
            if known == 0 and size == 1 and "transformers/generation/" in text:
                return self.end_generation(address, size)
            if known == 0 and size >= 4 and _OPTIMIZER.match(stack[0]) and _set(address, size, _STATE):
                self.tell("optimizers of PyTorch read their state on the GPU (steps) as " + _STATE)
            elif known == 2:
                self.count("assumed", stack)
            elif known == 0:
                operator = None if "torch/_tensor_str.py:" in text else self.operators.sized()
                self.count("sized" if operator else "value", stack, operator)

    def tell(self, text):
        """Notes what is assumed of a known place, once."""
        if text not in self.told:
            self.told.add(text)
            note("told " + text)

    def end_generation(self, address, size):
        """For the truth values that generate() of transformers reads: whether it is done."""
        self.tell("generate() of transformers stops at its length, no sequence before")
        if _generation["ended"]:
            _set(address, size, "1")


def watch_generation(module):
    """Learns from the criteria of generate(), on the host, when its length ends it."""
    criteria, limit = getattr(module, "StoppingCriteriaList", None), getattr(module, "MaxLengthCriteria", None)
    if criteria is None or limit is None:
        return
    check = criteria.__call__

    def check_and_tell(self, input_ids, *arguments, **options):
        _generation["ended"] = any(isinstance(one, limit) and input_ids.shape[-1] >= one.max_length for one in self)
        return check(self, input_ids, *arguments, **options)

    criteria.__call__ = check_and_tell

"""values.py - the places where a program looks at values of the GPU, which read as zero in a dry run, or as --value says.

    values.begin (memory)                   gemem_dry_on_value() of libgemem-dry calls look() for every copy of up to 1 MiB from the device to the host
    values.end ()                           tells how often each place looked
    watch_generation (module)               once transformers' stopping criteria have been imported
    watch_vllm (module)                     once vLLM's outputs of a step have been imported

A loop that ends when a value changes would not end, so a place that looks often is named while the program runs.  Two such loops are known.  generate() of the package
transformers asks the device after each token whether to stop.  Here it stops where its length ends it (max_new_tokens, max_length), and no sequence ends before, which
needs the most memory.  vLLM asks the device after each step how many tokens each request got: here it is one (watch_vllm()).  Other places are known where zero would end
the program (_EXPECTED): checks that find what they were given wrong, and denominators.

Memory may follow from integers and truth values (torch.zeros(int(n.max()), 64); if x.any(): ...), which nobody follows through Python.  So they are told apart from real
numbers, by the array of PyTorch, CuPy or JAX that they were read of, and gemem-dry-run runs the program again with others in their places, $GEMEM_DRY_NUMBERS and, at the
place $GEMEM_DRY_TRUTHS, true (dry/verdict/trial.c).
"""
import ast
import contextlib
import ctypes
import functools
import gc
import inspect
import itertools
import linecache
import os
import re
import struct
import sys
import threading

from . import checks

_HERE = os.path.dirname(os.path.abspath(__file__))
_ASIDE = (_HERE + os.sep, "site-packages/gemem/known.py")  # with these begin files that are in no stack
_ASIDE_FROM = ("<frozen", _HERE, os.path.dirname(os.__file__) + os.sep)  # with these begin lines of Python's own modules
_OTHERS = re.compile(r"(site|dist)-packages|/torchinductor_|/torch_geometric\.")  # lines of packages, and of what these write (gemem_frame_is_program())
OFTEN = 2000  # reads at one place after which the user is told
_COMPUTED = 3  # beside what look() is told
_ABSENT = (AttributeError, ImportError, RuntimeError, TypeError, ValueError)  # what a version without some function raises
_generation = {"ended": False, "length": "0", "mixin": None}
_READS = ("item", "is_nonzero", "_local_scalar_dense", "equal", "allclose")  # operators that read for others
_MOVES = re.compile("|".join(_READS) + r"|to|to_\w+|_to_copy|copy_|_copy_from\w*|clone|contiguous|detach|resolve_\w+|lift\w*")  # that bring what they do not look at
_VALUE = 16  # copies of so few bytes are values, whatever they hold
_LONG, _LENGTHS = 4096, 16  # of lists longer than this, so many lengths are looked for in one stack: the others are data

_LIBRARY = r"cusparseSpS[MV]_\w+"  # functions of NVIDIA's libraries that read for themselves
_DESCENT = "LBFGS goes down in each step, takes as many as it may, and its line search takes the first point"
_NO_OVERFLOW = "GradScaler finds no overflow and takes every step; a GPU may leave out the first ones, until its scale is smaller"

# Where PyTorch's own code reads what cannot be zero in a program that goes on: a line of Python or an operator, sizes in bytes, what is read instead, and what that says.
# "length", "falling" and "descent": _FOUND.  0.5 of the optimizers: neither steps nor products of factors between 0 and 1 make a denominator zero with it.
_EXPECTED = (
    (r".*torch/optim/lbfgs\.py:\d+ (step|_directional_evaluate)", (4, 8), "falling", _DESCENT),
    (r".*torch/optim/lbfgs\.py:\d+ (step|_strong_wolfe|_cubic_interpolate)", (1,), "descent", _DESCENT),
    (r".*torch/optim/(optimizer\.py:\d+ _get_value|_adafactor\.py:\d+ .*)", (4, 8), "0.5", "optimizers of PyTorch read their state on the GPU (steps) as 0.5"),
    (r".*torch/_lobpcg\.py:\d+ (update|_get_ortho)", (4, 8), "1.0", "torch.lobpcg() finds norms of one, and takes as many steps as it may"),
    (r".*torch/distributions/distribution\.py:\d+ (__init__|_validate_sample)", (1,), "1", "torch.distributions finds its arguments valid"),
    (r".*torch/(cuda/)?amp/grad_scaler\.py:\d+ .*", (4, 8), "0", _NO_OVERFLOW),
    (r".*torch/__init__\.py:\d+ (_check_tensor_all_with|_check_with)", (1,), "1", "torch._check() and its relatives find true what they check"),
    (r".*transformers/generation/utils\.py:\d+ _beam_search", (8,), "length", "generate() of transformers stops at its length, no sequence before"),
    (r".*transformers/generation/utils\.py:\d+ _assisted_decoding", (8,), "1", "assisted generate() of transformers takes one token in each step, no candidate"),
    (r".*transformers/generation/utils\.py:\d+ _assisted_decoding", (4,), "0", "assisted generate() of transformers takes one token in each step, no candidate"),
    (r".*cupy/_statistics/histogram\.py:\d+ _get_outer_edges", (1,), "1", "cupy.histogram() finds its range finite"),
    (_LIBRARY, (4, 8), "1", "cuSPARSE solves with a triangular matrix of one level of rows"),
    (r"mode", (16,), "1", "torch.mode() finds the number that it looks for"),
    (r"linalg_eig_out|_linalg_eigvals", (1,), "1", "torch.linalg.eig() finds no infinite numbers"),
    (r"(lstm|gru|rnn_tanh|rnn_relu)(_input|_data)", (8,), "0", "dropout in recurrent networks begins with the seed 0"),
    (r"segment_reduce", (1,), "1", "segment_reduce() finds lengths that are those of its data"),
    (r"repeat_interleave_Tensor", (1,), "1", "repeat_interleave() finds no negative number"),
)
_losses = itertools.count(1)
_FOUND = {  # of what known.py says of the value that is read: what is given instead
    "length": lambda known: _generation["length"],  # of the sequences that generate() makes
    "falling": lambda known: str(1.0 / next(_losses)),
    "descent": lambda known: str(int(_goes_on(*known.comparison()) if known else 0)),
}
_ONE = re.compile(r"_?unique\w*|.*cupy/_manipulation/add_remove\.py:\d+ (_unique_1d|unique)")  # operators and lines that read how many there are, which is one at least
_CHECKS = re.compile(r"_?linalg_\w+|_?cholesky\w*|_?lu_\w+|geqrf\w*|triangular_solve\w*|lstsq\w*|svd|qr|eig\w*")  # read whether they succeeded
_SIZED = re.compile(r"mode|nonzero|nonzero_numpy|isin|_?unique|_unique2|unique_dim|unique_consecutive|bincount|one_hot|repeat_interleave.*|_coalesce|_to_sparse.*|_sparse_(sparse_mat|add)?mm(ul)?|mm")


def _goes_on(operator, number):
    """Of the comparisons of LBFGS: whether it is the one of a curvature, which has to be positive, or of two slopes, the second of which the line search wants to be less."""
    return operator == "gt" and number is not None and number > 0 or operator == "le" and number is None


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


def note(word, text):
    """Adds a line to the notes of the run (dry/protocol/notes.def)."""
    name = os.environ.get("GEMEM_DRY_NOTES")
    if name:
        with open(name, "a") as stream:
            stream.write("%s %s\n" % (word, text))


_NOT_ZERO = ("assumed", "computed", "drawn")  # words of notes
_told = set()


def tell(text):
    """Notes what is assumed of a known place, once."""
    if text not in _told:
        _told.add(text)
        note("told", text)


class _Symbol(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]


class _Operators(object):
    """Which operators of PyTorch run in this thread, by the C stack: each is called through a symbol at::_ops::NAME::call or ::redispatch.  And functions of _LIBRARY."""

    FRAMES = 64

    def __init__(self):
        self.names, self.library = {}, ctypes.CDLL(None)
        self.library.dladdr.argtypes = (ctypes.c_void_p, ctypes.POINTER(_Symbol))

    def name(self, address):
        if address not in self.names:
            symbol = _Symbol()
            self.library.dladdr(address, ctypes.byref(symbol))
            self.names[address] = self.named((symbol.name or b"").decode())
        return self.names[address]

    @staticmethod
    def named(symbol):
        """"unique_dim" of "_ZN2at4_ops10unique_dim10redispatchE...", whose numbers are lengths."""
        found = re.match(r"_ZN2at4_ops(\d+)(\w+)", symbol)
        if found:
            name, rest = found.group(2)[: int(found.group(1))], found.group(2)[int(found.group(1)) :]
            return name if re.match(r"4call|10redispatch", rest) else None
        return symbol if re.match(_LIBRARY, symbol) else None

    def running(self):
        """Their names, innermost first."""
        frames = (ctypes.c_void_p * self.FRAMES)()
        n = self.library.backtrace(frames, self.FRAMES)
        names = (self.name(frames[i]) for i in range(n))
        return [name for name in names if name]


_unfit = set()  # chosen numbers that do not fit where they were read


def _set(address, size, number, each=0):
    """Writes NUMBER, of the type that fits SIZE: an integer, or a real number.  EACH: into each of so many bytes.  False: none does."""
    each = each or size
    try:
        chosen, forms = int(number, 0), {1: "b", 2: "h", 4: "i", 8: "q"}
    except ValueError:
        chosen, forms = float(number), {2: "e", 4: "f", 8: "d"}
    try:
        data = struct.pack(forms[each], chosen) * (size // each)
    except (KeyError, struct.error, OverflowError):
        if (number, size) not in _unfit:
            _unfit.add((number, size))
            sys.stderr.write("gemem-dry-run: --value: %s is no value of %d bytes; 0 was read there\n" % (number, size))
        return False
    ctypes.memmove(address, data, size)
    return True


def _has_memory(tensor):
    """Not so a FakeTensor, which does not want to be asked where it is.  PyTorch before 2.0 has no such function."""
    storage = getattr(tensor, "untyped_storage", None)
    return storage is None or storage().device.type == "cuda"


def _arrays(address, size):
    """The types that the arrays of Python at an address of the GPU have, of SIZE bytes: a letter as NumPy's dtype.kind, bytes of an element."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    tensor, array = getattr(torch, "Tensor", None), getattr(cupy, "ndarray", None)
    for one in gc.get_objects():
        try:
            kind = type(one)
            if tensor and issubclass(kind, tensor):
                if one.is_cuda and _has_memory(one) and one.data_ptr() == address and one.numel() * one.element_size() == size:
                    yield "b" if one.dtype == torch.bool else "f" if one.is_floating_point() or one.is_complex() else "i", one.element_size()
            elif array and issubclass(kind, array):
                if one.data.ptr == address and one.nbytes == size:
                    yield one.dtype.kind, one.dtype.itemsize
            elif kind.__name__ == "ArrayImpl" and one.nbytes == size and one.unsafe_buffer_pointer() == address:  # JAX's
                yield one.dtype.kind, one.dtype.itemsize
        except Exception:
            continue  # an array without memory, on several devices, or of a version without these names


def _in_while(file, number):
    """Whether a line stands in a "while", as far as its file can be read."""
    text = "".join(linecache.getlines(file))
    try:
        loops = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.While)]
    except (SyntaxError, ValueError):
        return True
    return not text or any(one.lineno <= number <= max(getattr(each, "lineno", 0) for each in ast.walk(one)) for one in loops)


def _may_wait(stack):
    """Whether a line outside Python's own modules does: a "for" ends, whatever it reads."""
    places = [line.rpartition(" ")[0].rpartition(":") for line in stack if ":" in line and (_OTHERS.search(line) or not line.startswith(_ASIDE_FROM))]
    return any(_in_while(file, int(number)) for file, _, number in places)


class _Kinds(object):
    """What the program reads: "number" for integers, "truth", "value" for what is neither, None where no array of Python holds it, and the bytes of an element."""

    def __init__(self):
        self.known = {}  # stack and size -> the same; the search takes a tenth of a second in a large program
        self.lengths = {}  # stack -> of how many lists longer than _LONG

    def kind(self, stack, address, size):
        if (stack, size) not in self.known:
            if size > _LONG:
                self.lengths[stack] = self.lengths.get(stack, 0) + 1
                if self.lengths[stack] > _LENGTHS:
                    return "value", size
            self.known[stack, size] = self.find(address, size)
        return self.known[stack, size]

    def quiet(self):
        """Subclasses of tensors see nothing of the search."""
        torch = getattr(sys.modules.get("torch"), "_C", None)
        disable = getattr(torch, "DisableTorchFunctionSubclass", None) or getattr(torch, "DisableTorchFunction", None)
        return disable() if disable else contextlib.nullcontext()

    def find(self, address, size):
        found = None, size
        with self.quiet():
            for kind, each in list(_arrays(address, size)):  # one that stays suspended would keep every object of Python alive
                if kind in "iu":
                    return "number", each
                found = ("truth", 1) if kind == "b" else ("value", each) if found[0] is None else found
        return found


class Values(object):
    def __init__(self):
        self.memory = None  # torch.cuda.memory; None: the program is not PyTorch's
        self.kinds = _Kinds()
        self.number = os.environ.get("GEMEM_DRY_NUMBERS") or "0"  # what integers read
        self.truths = os.environ.get("GEMEM_DRY_TRUTHS")  # the place where truth values read true
        self.places = {}  # word and place of a note -> how often
        self.last = None  # the place that read last, and how often it did
        self.operators = _Operators()
        self.known = None  # known.py, if PyTorch is new enough
        self.replay = None  # known_cupy.py, of a program with CuPy
        self.chosen = []
        self.library = None
        for line in os.environ.get("GEMEM_DRY_VALUES", "").splitlines():
            pattern, _, numbers = line.rpartition("=")
            try:
                self.chosen.append((re.compile(pattern), _Numbers(numbers)))
            except re.error as error:
                sys.stderr.write("gemem-dry-run: --value=%s is left out: %s\n" % (line, error))

    def begin(self, memory=None):
        """Begins once; MEMORY: torch.cuda.memory, if it is PyTorch that reads."""
        self.memory = self.memory or memory
        if self.library is not None:
            return
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_uint64)
        block = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64)
        self.functions, self.library = (kind(self.look), block(self.block)), ctypes.CDLL(None)  # kept: C calls them
        self.watch_interrupts()
        self.library.gemem_dry_on_value(self.functions[0])
        self.library.gemem_dry_on_block(self.functions[1])

    def watch_interrupts(self):
        """Ctrl-C while C calls look() would be lost there; it comes again a moment later."""
        import _thread

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
        for place, times in list(self.places.items()):  # daemons may still read
            if times > 1:
                note("times", "%d %s %s" % ((times,) + place))
        if self.last:
            note("last", "%d %s" % self.last)
        self.places, self.last = {}, None

    def block(self, address):
        """Where the block of PyTorch's allocator begins that contains an address."""
        if self.memory is None:
            return 0
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
        """Lines "FILE:LINE FUNCTION" outside this file, innermost first.  PyTorch's backward pass runs in a thread without Python; where others read in one, the main
        thread waits for it."""
        frame, stack = self.frame(), []
        while frame is not None:
            if not frame.f_code.co_filename.startswith(_ASIDE):
                stack.append("%s:%d %s" % (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        return stack or ["a thread without Python"]

    def frame(self):
        """The innermost frame outside these files; None: there is none."""
        for frame in (sys._getframe(), None if self.memory else sys._current_frames().get(threading.main_thread().ident)):
            while frame is not None and frame.f_code.co_filename.startswith(_ASIDE):
                frame = frame.f_back
            if frame is not None:
                return frame
        return None

    def count(self, word, stack, operator=None):
        """Notes the innermost line of the program, and the operator that it called; returns it."""
        own = [line for line in stack if not _OTHERS.search(line) and not line.startswith(_ASIDE_FROM)]
        place = (own or stack)[0]
        if word == "truth" and stack[0] != place and ":" in stack[0]:
            # several reads behind one line of the program are turned one by one: a check that ends it would hide what another decides
            place += " in " + "/".join(stack[0].rpartition("-packages" + os.sep)[2].split(os.sep)[-3:])
        told = word, place + (" (%s)" % operator if operator else "")
        self.places[told] = self.places.get(told, 0) + 1
        if word not in _NOT_ZERO:
            self.last = (self.places[told], "%s:%s" % (os.path.basename(place.partition(":")[0]), place.partition(":")[2]))
        if self.places[told] == 1:
            note(*told)
        elif self.places[told] == OFTEN and word in ("number", "truth") and _may_wait(stack):  # none waits for a real number, which every loss is
            sys.stderr.write(
                "gemem-dry-run: %s has read %d values of the GPU, all as zero; if it waits for another one, stop it (Ctrl-C) and "
                "choose when that comes: --value '%s=0*99,1'\n" % (place, OFTEN, self.last[1])
            )
        return told[1]

    def follow_cupy(self, replay, cupy):
        """The same for CuPy."""
        try:
            replay.start(cupy)
        except _ABSENT as error:
            sys.stderr.write("gemem-dry-run: this CuPy cannot be watched, so values of the GPU read as zero: %s\n" % (error,))
            return
        self.replay = replay

    def follow(self, known, torch):
        """What follows from the host is given to the program in the place of zeros, from now on."""
        if self.known is None:
            try:
                known.start(torch, lambda assumed: self.count("drawn" if assumed else "computed", self.stack()), tell, _NO_OVERFLOW)
            except _ABSENT as error:
                sys.stderr.write("gemem-dry-run: this PyTorch cannot be watched, so values of the GPU read as zero: %s\n" % (error,))
                return
            self.known = known

    def assume(self):
        """This rank took its own object for that of another rank."""
        self.count("assumed", self.stack())

    def look(self, address, size, known, source):
        """Runs in the thread that asked, when it has the value; KNOWN: 0 no, 1 yes, 2 if all ranks hold the same; SOURCE: where it was on the device."""
        stack = self.stack()
        text = "\n".join(stack)
        follows = self.known.take(size) if self.known else None
        kind, each = self.kinds.kind(text, source, size) if known == 0 and follows is None else ("value", size)
        again = self.replay.replay(source, size, kind != "number") if self.replay and known == 0 and follows is None else None
        if again is not None and not again[1]:
            ctypes.memmove(address, again[0], size)
            known = _COMPUTED
        if follows is not None and follows.bytes is not None:
            each = follows.memory.element_size()
        if size > _VALUE and known == 0 and follows is None and kind not in ("number", "truth"):
            return  # data
        for pattern, numbers in self.chosen:
            if pattern.search(text) and _set(address, size, numbers.next(), each):
                break
        else:
            if follows is not None and known == 0:
                return self.give(follows, address, size, stack)
            if known == 0 and size == 1 and "transformers/generation/" in text:
                return self.end_generation(address, size, stack[0])
            if known == 2:
                self.count("assumed", stack)
            elif known == _COMPUTED:
                self.count("computed", stack)
            elif known == 0 and again is not None and kind == "number":
                ctypes.memmove(address, again[0], size)
                self.tell_read(address, size, kind, each, stack, [])
            elif known == 0:
                printed = "torch/_tensor_str.py:" in text
                operators = [] if printed else self.operators.running()
                if not (self.expect(address, size, stack[0], operators) or self.passes(address, size)):
                    self.tell_read(address, size, "value" if printed else kind, each, stack, operators)

    def give(self, follows, address, size, stack):
        """What known.py computed.  What it assumed gives way to what is expected; such an integer is one that a second run may choose otherwise."""
        if follows.assumed and self.expect(address, size, stack[0], self.operators.running()):
            return
        follows.give(address, size)
        if follows.assumed and follows.bytes is not None:
            read = follows.memory
            real = read.is_floating_point()
            counts = not real or bool(((read == read.round()) & (read.abs() >= 2)).any())  # a mean of truth values (accuracy) is no size
            kind = "truth" if read.dtype == self.known.torch.bool else "number" if counts else "value"
            self.tell_read(address, size, kind, read.element_size(), stack, [], real)

    def tell_read(self, address, size, kind, each, stack, operators, real=False):
        """A place that nothing is known of: an operator that reads a size, a program that reads integers or truth values, or another value.  REAL: integers of such a type."""
        operator = next((name for name in operators if _SIZED.fullmatch(name)), None)
        if kind is None and operators[:1] == ["_local_scalar_dense"] and self.known and self.known.is_whole():
            operator = operator or next((name for name in operators if not _MOVES.fullmatch(name)), None)  # one that reads an integer for itself
        if size in (4, 8) and any(_ONE.fullmatch(one) for one in ([operator] if operator else stack[:2])):
            _set(address, size, "1")
        if operator:
            return self.count("sized", stack, operator)
        reader = next((name for name in operators if not _MOVES.fullmatch(name)), None)
        if kind is None and (reader is None or self.decides(reader, operators, size)):
            kind = {1: "truth", 4: "number", 8: "number"}.get(size)
        place = self.count(kind or "value", stack)
        if kind == "number" and self.number != "0":
            _set(address, size, self.number + ".0" * real, each)
        elif kind == "truth" and self.truths in ("everywhere", place):
            _set(address, size, "1", each)

    def decides(self, reader, operators, size):
        """Whether READER, an operator that reads for itself, may decide by it how much it requests: not by a real number."""
        own = operators[0] == reader or self.known is not None and self.known.is_whole()
        return size == 1 or own and not _CHECKS.fullmatch(reader)

    def expect(self, address, size, place, operators):
        """For a place of _EXPECTED: it reads what is written there.  False: it is none of them."""
        reader = next((name for name in operators if name not in _READS), "")
        for where, sizes, number, text in _EXPECTED:
            if size in sizes and (re.fullmatch(where, place) or re.fullmatch(where, reader)) and _set(address, size, _FOUND[number](self.known) if number in _FOUND else number, min(size, 8)):
                tell(text)
                return True
        return False

    def passes(self, address, size):
        """For a truth value that decides whether the program raises an error: it reads the one with which it goes on.  False: it is none of these."""
        truth = checks.passes(self.frame()) if size == 1 else None
        if truth is None:
            return False
        tell("checks that end the program (assert, raise) are taken to pass where they ask for what kernels compute")
        return _set(address, size, str(int(truth)))

    def end_generation(self, address, size, place):
        """For the truth values that generate() of transformers reads: whether it is done, or, for beams, whether it is not."""
        tell("generate() of transformers stops at its length, no sequence before")
        beams = place.endswith(" _beam_search") and hasattr(_generation["mixin"], "_beam_search_has_unfinished_sequences")
        if _generation["ended"] != beams:
            _set(address, size, "1")


values = Values()  # of this process


def watch_generation(module):
    """Learns from the criteria of generate(), on the host, when its length ends it."""
    criteria, limit = getattr(module, "StoppingCriteriaList", None), getattr(module, "MaxLengthCriteria", None)
    if criteria is None or limit is None:
        return
    begin, check = criteria.__init__, criteria.__call__

    def begin_again(self, *arguments, **options):
        _generation["ended"] = False  # what is read of arguments, before the first token
        _generation["mixin"] = getattr(sys.modules.get("transformers.generation.utils"), "GenerationMixin", None)
        begin(self, *arguments, **options)

    def check_and_tell(self, input_ids, *arguments, **options):
        lengths = [one.max_length for one in self if isinstance(one, limit)]
        _generation["ended"] = any(input_ids.shape[-1] >= one for one in lengths)
        _generation["length"] = str(min(lengths, default=0))
        return check(self, input_ids, *arguments, **options)

    criteria.__init__, criteria.__call__ = begin_again, check_and_tell


def watch_vllm(module):
    """vLLM's model runner (V2) copies after each step how many tokens each request got, which a kernel counts.  Read as zero no request would ever end.  Here each gets
    one: what it is without speculative decoding, in every step but those that see a part of a prompt alone."""
    output = getattr(module, "AsyncOutput", None)
    if output is None:
        return
    make = output.__init__

    @functools.wraps(make)
    def make_with_tokens(self, *arguments, **options):
        try:
            counts = inspect.signature(make).bind(self, *arguments, **options).arguments.get("num_sampled_tokens")
        except TypeError:
            counts = None  # as in no version that was tried: make() says what it thinks of it
        if getattr(counts, "is_cuda", False):
            counts.copy_(counts.new_ones(counts.shape, device="cpu"))  # what the host writes is remembered, and read back
            tell("vLLM: every request gets one token in each step")
        return make(self, *arguments, **options)

    output.__init__ = make_with_tokens

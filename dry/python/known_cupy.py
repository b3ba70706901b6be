"""known_cupy.py - what CuPy's arrays hold, where it follows from the host: it is computed when the program reads it, or CuPy a size from it.

    watch (cupy)                       once CuPy has been imported
    block_begins, block_ends           for the memory hook (pools.py)
    replay (address, size, little)     the bytes that the GPU would hold there, and whether they are assumed; None: that is not known.  LITTLE: it is worth little time

CuPy's own kernels, and those of the program that NVRTC compiles, are kept with their parameters and run on the host when that is needed (dry/replay).  What CuPy has
compiled into it is kept here as functions, which NumPy does again: sorts (Thrust), reductions, scans and histograms (CUB).  cuRAND's numbers are drawn, and what
follows from them is assumed.  What other libraries write (cuBLAS, cuSOLVER, cuSPARSE, cuFFT) is not known.

A sum or product of real numbers has another order on a GPU than in NumPy: it is assumed, unless all are integers that are added without rounding.

Invariants: no request of the program is another one than without this.  No failure in here stops the program: what fails is not known.
"""
import ctypes
import functools
import os

_KNOWN, _ASSUMED, _UNKNOWN = range(3)  # GememPtxState
_SUM, _PROD = "CUPY_CUB_SUM", "CUPY_CUB_PROD"
_REDUCTIONS = {_SUM: "sum", _PROD: "prod", "CUPY_CUB_MIN": "min", "CUPY_CUB_MAX": "max", "CUPY_CUB_ARGMIN": "argmin", "CUPY_CUB_ARGMAX": "argmax"}
_SCANS = {"CUPY_CUB_CUMSUM": "cumsum", "CUPY_CUB_CUMPROD": "cumprod"}
_DRAWS = {  # functions of cuRAND -> type of the numbers, and how they are drawn
    "generate": ("u4", lambda rng, n: rng.integers(0, 1 << 32, n, "u8")),
    "generateLongLong": ("u8", lambda rng, n: rng.integers(0, (1 << 64) - 1, n, "u8", endpoint=True)),
    "generateUniform": ("f4", lambda rng, n: 1 - rng.random(n)),
    "generateUniformDouble": ("f8", lambda rng, n: 1 - rng.random(n)),
    "generateNormal": ("f4", lambda rng, n, mean, std: rng.normal(mean, std, n)),
    "generateNormalDouble": ("f8", lambda rng, n, mean, std: rng.normal(mean, std, n)),
    "generateLogNormal": ("f4", lambda rng, n, mean, std: rng.lognormal(mean, std, n)),
    "generateLogNormalDouble": ("f8", lambda rng, n, mean, std: rng.lognormal(mean, std, n)),
    "generatePoisson": ("u4", lambda rng, n, mean: rng.poisson(mean, n)),
}


class _Unknown(Exception):
    """What is asked for cannot be computed."""


class _Range(object):
    """Memory of the GPU that a function reads or writes, and as which array."""

    def __init__(self, address, dtype, shape, order="C"):
        self.address, self.dtype, self.shape, self.order = address, dtype, tuple(shape), order
        self.size = dtype.itemsize
        for each in self.shape:
            self.size *= each

    def take(self, numpy, data, states):
        """The array and its states, in the host's memory."""
        flat = numpy.ctypeslib.as_array(data, (self.size,)).view(self.dtype)
        return flat.reshape(self.shape, order=self.order), numpy.ctypeslib.as_array(states, (self.size,))


class Replay(object):
    """The part of this process's GPU memory that is known."""

    def __init__(self):
        self.library = None  # None: nothing is watched
        self.functions, self.last = {}, 0  # number -> what does it again, ranges, how many of these are written

    def start(self, cupy):
        import numpy

        pointer = ctypes.POINTER(ctypes.POINTER(ctypes.c_uint8))
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, pointer, pointer)
        library = ctypes.CDLL(None)
        self.numpy, self.callback = numpy, kind(self.again)
        self.block_begins, self.block_ends, self.read = library.gemem_dry_block_begins, library.gemem_dry_block_ends, library.gemem_dry_replay
        self.block_begins.argtypes, self.block_ends.argtypes = (ctypes.c_uint64,) * 2, (ctypes.c_uint64,)
        self.read.argtypes = (ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int)
        self.draws = numpy.random.default_rng(2 if os.environ.get("GEMEM_DRY_DRAW") == "2" else 1)
        library.gemem_dry_on_function(self.callback)
        library.gemem_dry_replay_begin()
        self.library = library
        _watch_thrust(self)
        _watch_cub(self, cupy)
        _watch_random(self)

    def replay(self, address, size, little=False):
        """The bytes that the GPU would hold at ADDRESS, and whether they are assumed; None: that is not known."""
        if self.library is None:
            return None
        data = ctypes.create_string_buffer(size)
        state = self.read(address, size, data, little)
        return None if state == _UNKNOWN else (data.raw, state == _ASSUMED)

    def tell(self, does, ranges, written, drawn=False):
        """A function that DOES (arrays) again on RANGES ran, which wrote the first WRITTEN of them."""
        ranges = [one for one in ranges if one.size]
        if not ranges:
            return
        self.last += 1
        self.functions[self.last] = does, ranges, written
        numbers = ctypes.c_uint64 * len(ranges)
        self.library.gemem_dry_function(
            ctypes.c_uint64(self.last), len(ranges), written, numbers(*[one.address for one in ranges]), numbers(*[one.size for one in ranges]), drawn
        )

    def again(self, number, data, states):
        """Runs in C: does a function again, in memory of the host.  Returns whether what it writes is known then."""
        if not data:
            self.functions.pop(number, None)
            return 0
        try:
            does, ranges, written = self.functions[number]
            taken = [one.take(self.numpy, data[i], states[i]) for i, one in enumerate(ranges)]
            with self.numpy.errstate(all="ignore"):
                state = does(*taken)
            for _, its in taken[:written]:
                its[:] = state
        except Exception:
            return 0
        return 1

    def wrap(self, module, name, ran):
        """Function NAME of MODULE: RAN (result, its arguments) tells what it did."""
        function = getattr(module, name, None)
        if function is None:
            return

        @functools.wraps(function)
        def call(*args, **kwargs):
            self.library.gemem_dry_in_function(1)
            try:
                result = function(*args, **kwargs)
            finally:
                self.library.gemem_dry_in_function(-1)
            try:
                ran(result, *args, **kwargs)
            except Exception:
                self.library.gemem_dry_lost(0, 0)
            return result

        setattr(module, name, call)


def _state(*states):
    """The worst of them, of what a function read; _Unknown: it cannot be done."""
    worst = max((int(each.max()) for each in states if each.size), default=_KNOWN)
    if worst == _UNKNOWN:
        raise _Unknown
    return worst


def _contiguous(array):
    return "C" if array.flags.c_contiguous else "F"


def _range(array):
    return _Range(array.data.ptr, array.dtype, array.shape, _contiguous(array))


def _is_exact(numpy, array, operation):
    """Whether the order does not matter: all are integers, and none of the sums is rounded."""
    if array.dtype.kind in "biu" or operation not in ("sum", "cumsum"):
        return array.dtype.kind in "biu" or operation in ("min", "max", "argmin", "argmax")
    if array.dtype.kind != "f":
        return False
    return bool((array == numpy.rint(array)).all()) and float(numpy.abs(array).sum(dtype="f8")) <= 2.0 ** numpy.finfo(array.dtype).nmant


# ---- Thrust: sorts of the last axis


def _watch_thrust(replay):
    from cupy.cuda import thrust

    numpy = replay.numpy

    def sorted_(result, dtype, data, keys, shape):
        def does(values, *scratch):
            state = _state(values[1])
            values[0][...] = numpy.sort(values[0], axis=-1)
            return state

        _told(replay, does, [_Range(data, dtype, shape)], keys, shape)

    def argsorted(result, dtype, places, data, keys, shape):
        def does(order, values, *scratch):
            state = _state(values[1])
            order[0][...] = numpy.argsort(values[0], axis=-1, kind="stable")
            values[0][...] = numpy.sort(values[0], axis=-1)
            return state

        _told(replay, does, [_Range(places, numpy.dtype("i8"), shape), _Range(data, dtype, shape)], keys, shape)

    def lexsorted(result, dtype, places, keys, k, n):
        def does(order, values):
            state = _state(values[1])
            order[0][...] = numpy.lexsort(values[0])
            return state

        replay.tell(does, [_Range(places, numpy.dtype("i8"), (n,)), _Range(keys, dtype, (k, n))], 1)

    replay.wrap(thrust, "sort", sorted_)
    replay.wrap(thrust, "argsort", argsorted)
    replay.wrap(thrust, "lexsort", lexsorted)


def _told(replay, does, ranges, keys, shape):
    """Tells of a sort that wrote to RANGES; KEYS: where it numbers the rows for itself."""
    replay.tell(does, ranges, len(ranges))
    if keys:
        scratch = _Range(keys, replay.numpy.dtype("i8"), shape)
        replay.library.gemem_dry_lost(ctypes.c_uint64(scratch.address), ctypes.c_uint64(scratch.size))


# ---- CUB: reductions, scans, histograms


def _watch_cub(replay, cupy):
    from cupy.cuda import cub

    numpy = replay.numpy

    def reduced(result, array, operation, axis=None, dtype=None, out=None, keepdims=False):
        name = _REDUCTIONS[operation.name]
        if result is None:
            return

        def does(to, values):
            state = _state(values[1])
            more = {} if name.startswith("arg") else {"keepdims": keepdims}
            if name in ("sum", "prod"):
                more["dtype"] = to[0].dtype
            found = getattr(numpy, name)(values[0], axis=axis, **more)
            to[0][...] = numpy.asarray(found).reshape(to[0].shape)
            return state if _is_exact(numpy, values[0], name) else _ASSUMED

        replay.tell(does, [_range(result), _range(array)], 1)

    def scanned(result, array, operation):
        name = _SCANS[operation.name]
        if result is None:
            return
        target = result if isinstance(result, cupy.ndarray) else array

        def does(to, *values):
            values = values[0] if values else to
            state = _state(values[1])
            exact = _is_exact(numpy, values[0], name)
            to[0][...] = getattr(numpy, name)(values[0], dtype=to[0].dtype).reshape(to[0].shape)
            return state if exact else _ASSUMED

        apart = [] if target.data.ptr == array.data.ptr else [_range(array)]
        replay.tell(does, [_range(target)] + apart, 1)

    def counted(result, array, counts, bins):
        if result is None:
            return

        def does(to, values, *edges):
            state = _state(values[1], *[one[1] for one in edges])
            flat, n = values[0].ravel(), to[0].size
            places = numpy.searchsorted(edges[0][0], flat, "right") - 1 if edges else flat.astype("i8")
            to[0][...] = numpy.bincount(places[(places >= 0) & (places < n)], minlength=n)[:n].reshape(to[0].shape)
            return state

        replay.tell(does, [_range(counts), _range(array)] + ([] if isinstance(bins, int) else [_range(bins)]), 1)

    replay.wrap(cub, "cub_reduction", reduced)
    replay.wrap(cub, "cub_scan", scanned)
    replay.wrap(cub, "device_histogram", counted)


# ---- cuRAND: numbers of its own generators, which are drawn here


def _watch_random(replay):
    from cupy_backends.cuda.libs import curand

    def watch(name, dtype, draw):
        def drawn(result, generator, address, n, *arguments):
            seed = int(replay.draws.integers(1 << 62))

            def does(to):
                to[0][...] = draw(replay.numpy.random.default_rng(seed), n, *arguments)
                return _ASSUMED

            replay.tell(does, [_Range(address, replay.numpy.dtype(dtype), (n,))], 1, True)

        replay.wrap(curand, name, drawn)

    for name, (dtype, draw) in _DRAWS.items():
        watch(name, dtype, draw)


replay = Replay()  # of this process

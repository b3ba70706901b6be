"""lazy_host.py - large tensors on the host take no memory until they are read: for dry runs of models that are built on the host and then moved to the GPU.

A host page of anonymous private memory that was never touched, or was dropped with madvise (MADV_DONTNEED), reads as zero and has no memory behind it.  So

* zeros (torch.zeros, zero_(), nn.init.zeros_) are exact: the pages are dropped, and any reader finds zeros.
* conversions (to(torch.bfloat16), half(), float(), ...) of a tensor none of whose pages was touched are exact too: all zeros become all zeros.
* random values (torch.randn, torch.rand, normal_(), uniform_(), nn.init.*) are not drawn: the tensor reads as zero, as does all memory of the device in a dry
  run.  That can matter only if the program reads them on the host, and a read leaves its mark: the page is there.  read() tells which lines filled tensors that were
  read before they left the host; for each of them the verdict has to say so.  (The first and the last
  page of a tensor do hold random values.)

Random numbers that are drawn later are those of the program's seed: the generator passes over what was not drawn (dry/driver/mersenne.c), before the host makes data of
them (torch.randint, torch.rand, ...).  Small parameters, which are filled in between, get others.

Everything else (ones, other constants, files, arithmetic) is done as always, and so is all of this below SMALLEST bytes, on tensors that are not contiguous, on
shared or borrowed memory (numpy, files), where the system calls are missing, and where something stands between the program and PyTorch's operators (torch.compile,
vmap, tracing, modes), which would see what is done here.

    lazy_host.start (torch)      once, when torch has been imported
    lazy_host.read ()            ["model.py:12: 16777216 bytes", ...]; call it at the end of the process
    lazy_host.skipped ()         (tensors, bytes) that were not filled with random values
"""
import ctypes
import functools
import mmap
import os
import sys
import weakref

SMALLEST = 1 << 20
DATA = ("randn", "rand", "randint", "randperm", "bernoulli", "multinomial", "normal")  # functions that make data of random numbers
_MADV_DONTNEED = 4
_PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
_SHOWN = "site-packages/gemem/lazy_host.py"  # of these functions in call stacks: part of a package, not a line of the program
_torch = _normal = None
_unfilled = {}  # id of a tensor -> (weak reference, address, bytes, where it was filled)
_read = []
_skipped = [0, 0]
_owed = [0]  # numbers of 32 bits that the host's generator has to pass over
_of_ends = None  # a generator


def whole_pages(address, size):
    """The first and the last + 1 address of the whole pages in a range; equal if there are none."""
    first, last = -(-address // _PAGE) * _PAGE, (address + size) // _PAGE * _PAGE
    return first, max(first, last)


def drop(address, size):
    """Makes a range of anonymous private memory read as zero, without memory behind its whole pages.  False: it could not be done, and nothing changed."""
    first, last = whole_pages(address, size)
    if first < last and _libc.madvise(first, last - first, _MADV_DONTNEED) != 0:
        return False
    if first >= last:
        ctypes.memset(address, 0, size)
        return True
    ctypes.memset(address, 0, first - address)
    ctypes.memset(last, 0, address + size - last)
    return True


def touched(address, size):
    """True if any whole page of the range was read or written since it was dropped; None if that cannot be known."""
    first, last = whole_pages(address, size)
    pages = (last - first) // _PAGE
    if pages == 0:
        return None
    present = ctypes.create_string_buffer(pages)
    if _libc.mincore(first, last - first, present) != 0:
        return None
    return present.raw.count(b"\x00") < pages


def _plain():
    """True if PyTorch's operators are called as they are: nothing compiles, transforms, traces or watches them."""
    try:
        if _torch.compiler.is_compiling() or _torch.jit.is_tracing():
            return False
        inner = _torch._C
        return inner._len_torch_function_stack() + inner._len_torch_dispatch_stack() == 0 and inner._functorch.peek_interpreter_stack() is None
    except AttributeError:  # an older PyTorch
        return True


def _suits(tensor):
    """True for a large host tensor that has the whole of its memory to itself, from the allocator of PyTorch."""
    if not _plain():
        return False
    try:
        if type(tensor) not in (_torch.Tensor, _torch.nn.Parameter) or tensor.device.type != "cpu" or tensor.layout != _torch.strided:
            return False
        size = tensor.numel() * tensor.element_size()
        if size < SMALLEST or not tensor.is_contiguous() or tensor.is_shared() or tensor.is_pinned():
            return False
        storage = tensor.untyped_storage()
        return storage.resizable() and storage.nbytes() == size
    except Exception:
        return False


def _ends(tensor):
    """The elements that do not lie in whole pages: a read of these would leave no mark."""
    width, flat = tensor.element_size(), tensor.detach().view(-1)
    first, last = whole_pages(tensor.data_ptr(), flat.numel() * width)
    head, tail = -(-(first - tensor.data_ptr()) // width), (last - tensor.data_ptr()) // width
    return flat[:head], flat[tail:]


def _place():
    """The line of the program that asked: the innermost frame outside PyTorch and this file."""
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if path not in (__file__, _SHOWN) and os.sep + "torch" + os.sep not in path:
            return "%s:%d" % (path, frame.f_lineno)
        frame = frame.f_back
    return "?"


def _check(key):
    """Notes whether the tensor was read; called when it leaves the host, ends, or the process ends."""
    _, address, size, place = _unfilled.pop(key, (None, 0, 0, None))
    if place is not None and touched(address, size):
        _read.append("%s: %d bytes" % (place, size))


def _owe(tensor, normal, generator):
    """@tensor is not drawn: so many numbers PyTorch's normal_() and uniform_() take for it, measured."""
    if generator is None:
        numbers = tensor.numel() + (16 if normal and tensor.numel() % 16 else 0)
        _owed[0] += numbers * (2 if tensor.dtype == _torch.float64 else 1)


def _settle():
    """Brings the generator to where it would be if everything had been drawn."""
    owed, _owed[0] = _owed[0], 0
    skip = getattr(_libc, "gemem_dry_skip", None)
    if owed and skip:
        state = _get_state()
        skip(ctypes.c_void_p(state.data_ptr()), ctypes.c_uint64(owed))
        _set_state(state)


def _settled(function):
    """For what draws data on the host, or asks where the generator is."""

    def draw(*arguments, **options):
        if _plain() and _owed[0] and str(options.get("device") or "cpu") == "cpu" and options.get("generator") is None:
            _settle()
        return function(*arguments, **options)

    return draw


def _seeded(function):
    """For what sets the generator: what was owed belongs to what it was."""

    def seed(*arguments, **options):
        _owed[0] = 0
        return function(*arguments, **options)

    return seed


def _leave_unfilled(tensor, normal=False, generator=None):
    """Makes @tensor read as zero instead of random values.  False: it has to be filled."""
    address, size = tensor.data_ptr(), tensor.numel() * tensor.element_size()
    if not drop(address, size):
        return False
    for part in _ends(tensor):
        _normal(part, std=0.02, generator=_of_ends)
    _owe(tensor, normal, generator)
    key = id(tensor)
    _unfilled[key] = (weakref.ref(tensor, lambda _: _check(key)), address, size, _place())
    _skipped[0] += 1
    _skipped[1] += size
    return True


def _replace(owner, name, make):
    """Replaces a function of PyTorch by what @make makes of it."""
    function = getattr(owner, name, None)
    if function is None:
        return
    replacement = make(function)
    replacement.__code__ = replacement.__code__.replace(co_filename=_SHOWN)
    replacement = functools.wraps(function)(replacement)
    replacement.__qualname__ = name if owner is not _torch.Tensor else "Tensor." + name  # pickle finds it by these
    replacement.__module__ = owner.__name__ if owner is not _torch.Tensor else "torch"
    try:
        setattr(owner, name, replacement)
    except (TypeError, AttributeError):
        return
    allowed = getattr(_torch.nn.parameter.UninitializedTensorMixin, "_allowed_methods", [])
    if function in allowed:  # parameters without a shape (torch.nn.LazyLinear) let no other function have them
        allowed.append(replacement)


def _in_place(fill):
    """For functions that fill their first argument and return it."""

    def make(function):
        def filled(*arguments, **options):
            tensor = arguments[0] if arguments else options.get("tensor")
            if _suits(tensor) and not (tensor.requires_grad and _torch.is_grad_enabled() and function.__module__ != "torch.nn.init") and fill(tensor, generator=options.get("generator")):
                return tensor
            return function(*arguments, **options)

        return filled

    return make


def _made(fill):
    """For functions of a size that make a tensor: torch.zeros, torch.randn."""

    def make(function):
        def made(*size, **options):
            if _plain() and options.get("out") is None and not options.get("pin_memory"):
                n, shape = 1, size[0] if len(size) == 1 and not isinstance(size[0], int) else size
                shape = options.get("size", shape)
                device = options.get("device")
                try:
                    for extent in shape:
                        n *= int(extent)
                    on_host = _torch.device(device if device is not None else _torch.get_default_device()).type == "cpu"
                except Exception:
                    on_host = False
                if on_host and n >= SMALLEST // 8:
                    tensor = _torch.empty(*size, **{key: value for key, value in options.items() if key != "generator"})
                    wanted, tensor.requires_grad = tensor.requires_grad, False
                    if _suits(tensor) and fill(tensor, generator=options.get("generator")):
                        tensor.requires_grad = wanted
                        return tensor
            return function(*size, **options)

        return made

    return make


def _converted(function):
    """to(), half(), float(), ...: of an untouched host tensor to another type on the host; and a last look at what leaves the host."""

    def convert(tensor, *arguments, **options):
        if not _suits(tensor):
            return function(tensor, *arguments, **options)
        key = id(tensor)
        known = touched(tensor.data_ptr(), tensor.numel() * tensor.element_size())
        if known is not False or (tensor.requires_grad and _torch.is_grad_enabled()):
            if key in _unfilled:
                _check(key)
            return function(tensor, *arguments, **options)
        sample = function(_torch.empty([0] * tensor.dim(), dtype=tensor.dtype), *arguments, **options)
        order = options.get("memory_format") or _torch.preserve_format
        result = tensor if sample.device.type != "cpu" or sample.dtype == tensor.dtype else _torch.empty_like(tensor, dtype=sample.dtype, memory_format=order)
        if result is tensor or not (result.is_contiguous() or key in _unfilled):
            return function(tensor, *arguments, **options)
        if not drop(result.data_ptr(), result.numel() * result.element_size()):
            result.zero_()
        for part in _ends(result) if result.is_contiguous() else ():  # in another order of elements the ends are elsewhere: all of it reads as zero
            part.copy_(tensor.detach().view(-1)[part.storage_offset() :][: part.numel()])
        if key in _unfilled:
            _unfilled[id(result)] = (weakref.ref(result, lambda _, k=id(result): _check(k)), result.data_ptr(), result.numel() * result.element_size(), _unfilled.pop(key)[3])
        return result

    return convert


def _keep_script(torch, names):
    """TorchScript knows PyTorch's own functions by their identity; it is told that these are still those."""
    try:
        from torch.jit._builtins import _register_builtin

        for name in names:
            _register_builtin(getattr(torch, name), "aten::" + name)
    except Exception:
        pass


def start(torch):
    """Replaces PyTorch's functions that fill tensors; once."""
    global _torch, _normal, _of_ends, _get_state, _set_state
    if _torch is not None or not sys.platform.startswith("linux"):
        return
    _torch, _normal, _of_ends = torch, torch.Tensor.normal_, torch.Generator()
    _get_state, _set_state = torch.get_rng_state, torch.set_rng_state
    try:
        from torch.utils._device import _device_constructors

        _device_constructors()  # it remembers the functions replaced here; torch.set_default_device() needs the real ones
    except Exception:
        pass

    def zero(tensor, generator=None):
        return drop(tensor.data_ptr(), tensor.numel() * tensor.element_size())

    normal = functools.partial(_leave_unfilled, normal=True)
    for name in ("uniform_", "trunc_normal_", "xavier_uniform_", "kaiming_uniform_"):
        _replace(torch.nn.init, name, _in_place(_leave_unfilled))
    for name in ("normal_", "xavier_normal_", "kaiming_normal_"):
        _replace(torch.nn.init, name, _in_place(normal))
    _replace(torch.Tensor, "normal_", _in_place(normal))
    _replace(torch.Tensor, "uniform_", _in_place(_leave_unfilled))
    _replace(torch.nn.init, "zeros_", _in_place(zero))
    _replace(torch.Tensor, "zero_", _in_place(zero))
    for name in DATA:
        _replace(torch, name, _settled)
    _replace(torch, "randn", _made(normal))
    _replace(torch, "rand", _made(_leave_unfilled))
    _replace(torch, "zeros", _made(zero))
    _keep_script(torch, DATA + ("zeros",))
    for module in (torch, torch.random):
        _replace(module, "get_rng_state", _settled)
        for name in ("manual_seed", "seed", "set_rng_state"):
            _replace(module, name, _seeded)
    for name in ("to", "half", "bfloat16", "float", "double"):
        _replace(torch.Tensor, name, _converted)


def read():
    """Lines that filled a tensor with random values which the program then read on the host; those not told before."""
    for key in list(_unfilled):
        reference, address, size, _ = _unfilled[key]
        tensor = reference()
        if tensor is None or tensor.device.type != "cpu" or tensor.data_ptr() != address:
            del _unfilled[key]
        else:
            _check(key)
    told, _read[:] = list(_read), []
    return told


def skipped():
    return tuple(_skipped)

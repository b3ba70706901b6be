"""known_triton.py - what is known after a kernel of Triton: what it only reads, and what it writes where all that follows from the host.

    watch (class)           once Triton has been imported: the class of its kernels
    watch_compiled (class)  once what launches the kernels of PyTorch's compiler has been imported
    Launch                  a launch, which is run on the host (dry/ptx) when what it wrote is read

Why: servers copy lengths, tables of blocks and positions by kernels of their own, and read sizes from what these give.  PyTorch's compiler makes kernels of Triton of most
operators: what it compiles once has its code in the folder of its cache, which is a dry run's own.

Invariants: the program's kernels are launched as they are without this.  Nothing is run before a value is read, and no more than INSTRUCTIONS of one launch, or ALL of a
process; memory of more than LARGE bytes is not known.  Where a launch cannot be run, integers that it wrote are not known, and real numbers are drawn, as they are without this.
"""
import ctypes
import functools
import json
import os
import re
import struct
import types

from . import kernels
from .known import Known, known
from .known_nodes import Node, Ref, Unknown, meta_of

INSTRUCTIONS, ALL = 1 << 28, 1 << 30  # of a launch, of a process
PROGRAMS = 1 << 16  # of a launch
LARGE = 1 << 26
STEPS = 16  # operators that stand on each other
_left = ctypes.c_uint64(ALL)
_KNOWN, _ASSUMED, _UNKNOWN = range(3)  # GememPtxState, of a byte
_DONE, _DONE_ASSUMED, _LOST = range(3)  # GememPtxEnd
_REALS = {"fp64": "<d", "fp32": "<f", "fp16": "<e"}
_NAME = 150  # Triton's files have so much of a kernel's name
_WHOLE = re.compile(r"\*|[iu](?:1|8|16|32|64)$")


class _Memory(ctypes.Structure):
    """GememPtxMemory"""

    _fields_ = [("address", ctypes.c_uint64), ("size", ctypes.c_uint64), ("bytes", ctypes.c_void_p), ("states", ctypes.c_void_p)]


class _Code(object):
    """A kernel that can be run."""

    def __init__(self, kernel):
        text = kernel.asm["ptx"]
        threads = re.search(r"\.(?:reqntid|maxntid)\s+(\d+)", text)
        self.library = ctypes.CDLL(None)
        self.library.gemem_dry_code.restype = ctypes.c_void_p
        self.address = self.library.gemem_dry_code(text.encode(), kernel.metadata.name.encode())
        if not self.address:
            raise Unknown
        self.threads = int(threads[1]) if threads else 32 * kernel.metadata.num_warps
        self.shared, self.size = kernel.metadata.shared, self.threads * len(text.splitlines())

    def run(self, words, memory, grid, budget):
        """GememPtxEnd; WORDS: what the arguments are, 64 bits of each."""
        three, them = ctypes.c_uint32 * 3, (_Memory * len(memory))(*memory)
        arguments = (ctypes.c_uint64 * len(words))(*words)
        block, shared = three(self.threads, 1, 1), ctypes.c_uint64(self.shared)
        return self.library.gemem_dry_code_run(ctypes.c_void_p(self.address), three(*grid), block, shared, len(words), arguments, len(memory), them, ctypes.byref(budget))


class Launch(object):
    """A launch of CODE; MEMORY: address, bytes, node or None, whether it is written, and whether what it holds before is read, of each storage that it was given."""

    lenient = True  # nodes below may be unknown

    def __init__(self, code, words, memory, grid):
        self.code, self.words, self.memory, self.grid, self.results = code, words, memory, grid, None

    def result(self, torch, address):
        """The bytes at ADDRESS after it, whether they follow from what is assumed, and from real numbers that are, and which are unknown."""
        if self.results is None:
            self.results = {}
            self.run(torch)
        if address not in self.results:
            raise Unknown
        return self.results.pop(address)

    def run(self, torch):
        areas = []
        for address, nbytes, node, written, read in self.memory:
            data = node.data if node is not None and read else None
            if data is None and not written:
                continue  # what is read there is unknown
            states = torch.full((nbytes,), _UNKNOWN if data is None else _ASSUMED if node.assumed or node.real else _KNOWN, dtype=torch.uint8)
            if data is not None and node.unknown is not None:
                states[node.unknown.bool()] = _UNKNOWN
            data = torch.zeros(nbytes, dtype=torch.uint8) if data is None else data.clone() if written else data.contiguous()
            areas.append((address, data, states, written))
        assumed = any(node.assumed for _, _, node, *_ in self.memory if node is not None)
        real = any(node.real for _, _, node, *_ in self.memory if node is not None)
        self.memory = ()
        budget = ctypes.c_uint64(min(INSTRUCTIONS, _left.value))
        before = budget.value
        memory = [(address, data.numel(), data.data_ptr(), states.data_ptr()) for address, data, states, _ in areas]
        end = self.code.run(self.words, memory, self.grid, budget)
        _left.value -= before - budget.value
        if end == _LOST:
            return
        for address, data, states, written in areas:
            if written:
                follows = end == _DONE_ASSUMED or bool((states == _ASSUMED).any())
                unknown = (states == _UNKNOWN).to(torch.uint8)
                self.results[address] = data, follows and (assumed or not real), follows and real, unknown if bool(unknown.any()) else None


class _Kernels(object):
    """What is known of each kernel's code."""

    def __init__(self):
        self.writes, self.read = {}, {}

    def written(self, kernel, n):
        """The places of what KERNEL writes among N tensors."""
        key = getattr(kernel, "hash", None)
        if key is None:
            return set(range(n))
        if key not in self.writes:
            text = kernel.asm["ttir"]
            self.writes[key] = kernels.written(text) if kernels.count(text) == n else None
        return set(range(n)) if self.writes[key] is None else self.writes[key]

    def code(self, kernel):
        """KERNEL as it can be run; None: it cannot."""
        key = getattr(kernel, "hash", None)
        if key not in self.read:
            try:
                self.read[key] = _Code(kernel) if self.writes.get(key) else None
            except Exception:  # of another Triton
                self.read[key] = None
        return self.read[key]


def _leaves(values):
    """What is in VALUES, and in tuples there."""
    for one in values:
        if isinstance(one, (tuple, list)):
            yield from _leaves(one)
        else:
            yield one


def _word(kind, value):
    """VALUE as an argument of type KIND ("i32", "fp32", "*fp32") is given, in 64 bits."""
    if isinstance(value, known.torch.Tensor):
        if not kind.startswith("*"):
            raise Unknown
        value = value.data_ptr()
    if kind in _REALS:
        return int.from_bytes(struct.pack(_REALS[kind], value), "little")
    if not _WHOLE.match(kind) or type(value) not in (int, bool):
        raise Unknown
    return value & ((1 << 64) - 1)


def _words(kernel, names, values):
    """Of VALUES, which arguments NAMES have, those that the code of KERNEL is given."""

    def pairs(signature, value):
        if isinstance(signature, (tuple, list)):
            for one, each in zip(signature, value):
                yield from pairs(one, each)
        elif signature != "constexpr":
            yield _word(signature, value)

    signature = kernel.src.signature
    return [one for name, value in zip(names, values) for one in pairs(signature[name], value)]


class _Before(object):
    """What is known of TENSORS before a kernel is launched with them."""

    def __init__(self, tensors):
        self.tensors = tensors
        self.storages = [one.untyped_storage() for one in tensors]
        self.kept = known.held([(one, False) for one in self.storages])
        self.nodes = {}
        for tensor, storage in zip(tensors, self.storages):
            node = known.get(tensor) if known.suits(tensor) else None
            if node is not None and not node.lost:
                self.nodes[storage._cdata] = node


    def draw(self, written, updated):
        """Real numbers of which nothing is known are drawn, but those that are WRITTEN and not UPDATED.  So are those that many steps made of drawn ones (parameters): else
        all these steps would be computed for a mask of dropout, which nobody reads."""
        for tensor, storage in zip(self.tensors, self.storages):
            key = storage._cdata
            node = self.nodes.get(key)
            fresh = node is None or node.real and node.depth > STEPS
            if fresh and (key not in written or key in updated) and tensor.is_floating_point() and storage.nbytes() <= LARGE and known.suits(tensor):
                self.nodes[key] = known.leaf(tensor)


def _memory(before, written, updated):
    """What Launch wants of each storage; Unknown: it is too large."""
    memory = {}
    for storage in before.storages:
        node = before.nodes.get(storage._cdata)
        is_written = storage._cdata in written
        if node is not None and node.void and not is_written:
            node = None
        if storage.nbytes() > LARGE:
            if is_written:
                raise Unknown
            node = None
        read = not is_written or storage._cdata in updated or node is not None and not node.real
        memory[storage._cdata] = storage.data_ptr(), storage.nbytes(), node, is_written, read
    return memory


def _after(cache, kernel, before, given, grid, names=None):
    """Nodes for what KERNEL has written; NAMES: those of PyTorch's compiler for the tensors that it was given."""
    places = cache.written(kernel, len(before.storages))
    if names is not None:
        places = {place for place in places if not names[place].startswith("in_ptr")}
    updated = {storage._cdata for name, storage in zip(names or (), before.storages) if name.startswith("in_out_ptr")}
    written = {before.storages[place]._cdata: before.tensors[place] for place in places}
    known.read_since([(key, entry) for key, entry in before.kept if key not in written])
    if known.torch.cuda.is_current_stream_capturing():
        return known.capture(tuple(written.values()))
    code = cache.code(kernel)
    programs = grid[0] * grid[1] * grid[2]
    if code is None or not written or not 0 < programs <= PROGRAMS:
        return
    if names is not None and any(tensor.dtype in known.whole for tensor in written.values()):
        before.draw(written, updated)
    memory = _memory(before, written, updated)
    launch = Launch(code, _words(kernel, *given), list(memory.values()), grid)
    below = [node for _, _, node, *_ in launch.memory if node is not None]
    whole = all(node is not None and not (node.assumed or node.real) for _, _, node, is_written, read in launch.memory if read or not is_written)
    whole = whole and programs * code.size <= INSTRUCTIONS
    for tensor in written.values():
        if tensor.dtype in known.whole or whole and tensor.is_floating_point():
            known.put(tensor, _node(tensor, launch, below))


def _node(tensor, launch, below):
    storage = tensor.untyped_storage()
    node = Node(storage.nbytes(), meta_of(tensor))
    node.op, node.out, node.below = launch, storage.data_ptr(), list(below)
    node.args, node.kwargs = tuple([Ref(one, one.meta) for one in below]) or (storage.data_ptr(),), {}
    node.unsure = 1  # whether it follows from what is assumed is known when it has been run
    known.grow(node)
    return node


def watch(function):
    """A kernel of Triton writes what its code says; the other tensors that it is given are known after it, too."""
    run, cache = function.run, _Kernels()

    def begin(self, args, kwargs):
        """What is known before, and the arguments; None: nothing."""
        given = dict(zip(self.arg_names, args), **kwargs)
        default = self.signature.parameters
        values = [given[name] if name in given else default[name].default for name in self.arg_names]
        tensors = [one for one in _leaves(values) if isinstance(one, known.torch.Tensor)]
        return (_Before(tensors), (self.arg_names, values)) if tensors and all(type(one) in known.plain for one in tensors) else None

    @Known.shown
    def run_again(self, *args, **kwargs):
        before = known.quietly(begin, self, args, kwargs) if known.nodes else None
        grids = [kwargs.get("grid")]
        if before is not None and callable(grids[0]):

            @functools.wraps(grids[0])
            def ask(meta, theirs=grids[0]):
                grids[0] = theirs(meta)
                return grids[0]

            kwargs["grid"] = Known.shown(ask)
        kernel = run(self, *args, **kwargs)
        if before is not None and not kwargs.get("warmup"):
            known.quietly(end, kernel, *before, grids[0])
        return kernel

    def end(kernel, before, given, grid):
        grid = tuple(int(one) for one in grid) if isinstance(grid, (tuple, list)) else (int(grid),)
        _after(cache, kernel, before, given, (grid + (1, 1))[:3])

    function.run = functools.wraps(run)(run_again)


def _compiled(kernel, launcher):
    """What PyTorch's compiler launched, as Triton has it: its code lies in the folder of the compiler's cache.  KERNEL is what chooses among LAUNCHERs."""
    key, name = getattr(launcher, "cache_hash", None), kernel.fn.__name__
    path = os.path.join(os.environ.get("TRITON_CACHE_DIR", ""), key or "", name[:_NAME])
    if key is None or not os.path.exists(path + ".ptx"):
        return types.SimpleNamespace(hash=None)
    texts = {}
    for kind in ("ptx", "ttir", "json"):
        with open(path + "." + kind) as file:
            texts[kind] = file.read()
    metadata = types.SimpleNamespace(**json.loads(texts["json"]))
    return types.SimpleNamespace(hash=key, asm=texts, metadata=metadata, src=types.SimpleNamespace(signature=kernel.triton_meta["signature"]))


def watch_compiled(launcher):
    """Kernels that PyTorch's compiler made are those of Triton; it says by the names of their arguments which tensors they only read."""
    run, cache, found = launcher.run, _Kernels(), {}
    grid, last_grid = (ctypes.c_uint32 * 3)(), ctypes.CDLL(None).gemem_dry_last_grid

    def begin(self, args):
        tensors = [(name, one) for name, one in zip(self.fn.arg_names, args) if isinstance(one, known.torch.Tensor)]
        if not tensors or any(type(one) not in known.plain or not one.is_cuda for _, one in tensors):
            return None
        mutated = getattr(self, "mutated_arg_names", None) or ()
        return _Before([one for _, one in tensors]), ["in_out_ptr" if name in mutated else name for name, _ in tensors]

    def end(self, args, before, names):
        chosen = self.launchers[0]
        key = id(self), getattr(chosen, "cache_hash", None)
        if key not in found:
            found[key] = _compiled(self, chosen), self  # which lives as long
        last_grid(grid)
        _after(cache, found[key][0], before, (self.fn.arg_names, args), tuple(grid), names)

    @Known.shown
    def run_again(self, *args, **kwargs):
        before = known.quietly(begin, self, args) if known.torch is not None else None
        result = run(self, *args, **kwargs)
        if before is not None:
            known.quietly(end, self, args, *before)
        return result

    launcher.run = functools.wraps(run)(run_again)

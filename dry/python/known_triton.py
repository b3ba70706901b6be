"""known_triton.py - what is known after a kernel of Triton: what it only reads, and what it writes where all that follows from the host.

    watch (class)      once Triton has been imported: the class of its kernels
    Launch             a launch, which is run on the host (kernel_runs.py) when what it wrote is read

Why: servers copy lengths, tables of blocks and positions by kernels of their own, and read sizes from what these give.

Invariants: the program's kernels are launched as they are without this.  Nothing is run before a value is read, and no more than STEPS operators of one launch, or ALL of a
process; memory of more than LARGE bytes is not known.  Where a launch cannot be run, integers that it wrote are not known, and real numbers are drawn, as they are without this.
"""
import functools

from . import kernels
from .kernel_runs import Area, Budget, Kernel, Unrunnable
from .known import Known, known
from .known_nodes import Node, Ref, Unknown, meta_of

STEPS, ELEMENTS, ALL = 40000, 1 << 25, 2000000  # operators of one launch, elements that these make, operators of a process
PROGRAMS = 1 << 12  # of a launch
LARGE = 1 << 26
_spent = [0]


class Launch(object):
    """A launch of KERNEL; MEMORY: address, bytes, node or None, and whether it is written, of each storage that it was given."""

    lenient = True  # nodes below may be unknown

    def __init__(self, kernel, numbers, memory, grid):
        self.kernel, self.numbers, self.memory, self.grid, self.results = kernel, numbers, memory, grid, None

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
        for address, nbytes, node, written in self.memory:
            data = node.data if node is not None and not (written and node.real) else None
            areas.append((Area(torch, address, nbytes, data, node.unknown if data is not None else None, written), node))
        self.memory = ()
        budget = Budget(min(STEPS, ALL - _spent[0]), ELEMENTS)
        first = budget.steps
        try:
            self.kernel.run(self.numbers, [area for area, _ in areas], self.grid, budget)
        finally:
            _spent[0] += first - budget.steps
        used = [node for area, node in areas if node is not None and (area.loaded or area.writable)]
        assumed, real = any(one.assumed for one in used), any(one.real for one in used)
        for area, _ in areas:
            if area.writable:
                unknown = area.unknown.to(torch.uint8) if area.unknown is not None and bool(area.unknown.any()) else None
                self.results[area.address] = area.data, assumed, real, unknown


class _Kernels(object):
    """What is known of each kernel's code."""

    def __init__(self):
        self.writes, self.read = {}, {}

    def written(self, kernel, n):
        """The places of what KERNEL writes among N tensors."""
        key = getattr(kernel, "hash", None)
        if key not in self.writes:
            text = kernel.asm["ttir"]
            self.writes[key] = kernels.written(text) if kernels.count(text) == n else None
        return set(range(n)) if self.writes[key] is None else self.writes[key]

    def code(self, kernel):
        """KERNEL as it can be run; None: it cannot."""
        key = getattr(kernel, "hash", None)
        if key not in self.read:
            try:
                self.read[key] = Kernel(known.torch, kernel.asm["ttir"]) if self.writes.get(key) else None
            except Unrunnable:
                self.read[key] = None
        return self.read[key]


def _leaves(values):
    """What is in VALUES, and in tuples there."""
    for one in values:
        if isinstance(one, (tuple, list)):
            yield from _leaves(one)
        else:
            yield one


def _given(kernel, names, values):
    """Of VALUES, which arguments NAMES have, those that the code of KERNEL is given."""

    def pairs(signature, value):
        if isinstance(signature, (tuple, list)):
            for one, each in zip(signature, value):
                yield from pairs(one, each)
        elif signature != "constexpr":
            yield value

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


def _memory(before, written):
    """Address, bytes, node or None, and whether it is written, of each storage; Unknown: it is too large."""
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
        memory[storage._cdata] = storage.data_ptr(), storage.nbytes(), node, is_written
    return memory


def _after(cache, kernel, before, given, grid):
    """Nodes for what KERNEL has written."""
    written = {before.storages[place]._cdata: before.tensors[place] for place in cache.written(kernel, len(before.storages))}
    known.read_since([(key, entry) for key, entry in before.kept if key not in written])
    if known.torch.cuda.is_current_stream_capturing():
        return known.capture(tuple(written.values()))
    code = cache.code(kernel)
    programs = grid[0] * grid[1] * grid[2]
    if code is None or not written or not 0 < programs <= PROGRAMS:
        return
    values = _given(kernel, *given)
    memory = _memory(before, written)
    numbers = [one.data_ptr() if isinstance(one, known.torch.Tensor) else one for one in values]
    if len(numbers) != len(code.arguments) or any(type(one) not in (int, float, bool) for one in numbers):
        return
    launch = Launch(code, numbers, list(memory.values()), grid)
    below = [node for _, _, node, _ in launch.memory if node is not None]
    whole = all(node is not None and not (node.assumed or node.real) for _, _, node, is_written in launch.memory if not is_written)
    whole = whole and code.is_complete and programs * code.size <= STEPS
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

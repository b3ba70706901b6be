"""known_nodes.py - the nodes of known.py: how the bytes of a storage come to be, which tensor has which, and when one is known no longer.

Why: a node is made when an operator returns, for nothing but a few objects of Python; known_compute.py computes it if it is read.

Invariants: a storage has one node, with the version that its tensor had; views share it.  At most DEPTH nodes stand on each other.  A node that cannot be made is as if there
were none (Unknown).
"""
import collections
import ctypes
import functools
import itertools
import math
import struct
import weakref

from . import known_operators as operators

SMALL = 1 << 16  # real numbers of the host up to so many bytes are kept; integers are, whatever their number
LARGER, REALS = 1 << 20, 1 << 26  # up to so many bytes they are as long as these are no more than REALS together
LIST = 1 << 20  # so many bytes of integers may be a list from which sizes follow
STEPS = 1 << 33  # multiplications of a product that is computed
DEPTH = 60
COLLAPSE = 1 << 15  # a node of so few bytes is computed when it is DEPTH nodes high, others are forgotten
PURGE = 1 << 26  # bytes of the host after which nodes of tensors that are gone are dropped
FOUND_FINITE = "numbers that kernels compute are taken to be finite: isfinite() finds them so, isnan() and isinf() none"

NUMBERS = {int, float, bool, complex}
COPYING = ("aten::_to_copy", "aten::clone")
COPIED = object()  # in the place of a version: nobody has looked at this memory yet
WRITTEN = object()  # stands for the tensor that an operator writes, among its arguments
_forms = itertools.count(1)


class Value(collections.namedtuple("Value", "number bytes assumed raw", defaults=(None,))):
    """What the host reads: an integer of 4 or 8 bytes, or a tensor; RAW: the one whose memory is copied, of another type or order than BYTES, into which the host turns it."""

    @property
    def memory(self):
        return self.bytes if self.raw is None else self.raw

    def is_long(self):
        """Whether it is too long for what looks at copies to the host (values.py)."""
        return self.bytes is not None and max(self.bytes.nbytes, self.memory.nbytes) > LIST

    def fits(self, size):
        return size in (4, 8) if self.bytes is None else size == self.memory.nbytes

    def give(self, address, size):
        if self.bytes is None:
            ctypes.memmove(address, struct.pack({4: "i", 8: "q"}[size], self.number), size)
        else:
            ctypes.memmove(address, self.memory.data_ptr(), size)


class Unknown(Exception):
    """No node can be made or computed."""


class Node(object):
    """How the bytes of a storage come to be: what OP makes of ARGS, or writes into what PRIOR was; META: shape, strides, offset and type of the tensor that it made or wrote.
    Without OP: drawn, if ASSUMED, else zero.  UNSURE: so many multiplications were made for it, of which it is not known before it is computed whether they are exact.
    REAL: it follows from a real number that was drawn, and not from integers and truth values alone (the mean of a mask).  FINITE: it says whether numbers are finite.
    UNKNOWN: bytes that are 1 where those of DATA are not known; None: all are."""

    __slots__ = ("op", "args", "kwargs", "out", "meta", "nbytes", "prior", "below", "data", "assumed", "depth", "lost", "form", "void", "held", "unsure", "real", "finite", "unknown")

    def __init__(self, nbytes, meta):
        self.op = self.args = self.kwargs = self.out = self.prior = self.data = self.form = None
        self.nbytes, self.meta, self.assumed, self.depth, self.lost, self.below, self.void = nbytes, meta, False, 0, False, (), False
        self.unsure, self.real, self.finite, self.unknown = 0, False, False, None


class Held(object):
    """So many bytes that count as long as this exists."""

    def __init__(self, count, size):
        self.count, self.size = count, size
        count[0] += size

    def __del__(self):
        self.count[0] -= self.size


class Ref(object):
    """A tensor among the arguments of a node."""

    __slots__ = ("node", "meta")

    def __init__(self, node, meta):
        self.node, self.meta = node, meta


class SparseRef(object):
    """A sparse tensor among the arguments of a node, which OPEN, a function of PyTorch, makes of PARTS; the last one are its values, of which None stands for ones."""

    __slots__ = ("open", "parts", "shape", "options")

    def __init__(self, open, parts, shape, options):
        self.open, self.parts, self.shape, self.options = open, parts, shape, options


class _Numbers(ctypes.Structure):
    """GememDryNumbers of dry/driver/philox.h"""

    _fields_ = [(name, ctypes.c_uint64) for name in ("seed", "offset", "threads", "n")] + [("low", ctypes.c_int64), ("range", ctypes.c_uint64), ("to", ctypes.c_void_p)]


class Random(object):
    """N numbers of the GPU's generator, which the driver's library makes (dry/driver/philox.c): integers from LOW up to below HIGH, numbers between them ("rand"), or normal
    ones of the mean LOW and the deviation HIGH."""

    def __init__(self, kind, n, state, low, high, card):
        self.kind, self.n, self.state, self.low, self.high = kind, n, state, low, high
        self.threads = card.multi_processor_count * card.max_threads_per_multi_processor

    def numbers(self, known, dtype):
        torch, whole = known.torch, self.kind == "randint"
        out = torch.empty(self.n, dtype=torch.int64 if whole else torch.float32)
        low, extent = (self.low, self.high - self.low) if whole else (0, 0)
        numbers = _Numbers(self.state[0] % (1 << 64), self.state[1], self.threads, self.n, low, extent, out.data_ptr())
        if not known.draw(self.kind.encode(), ctypes.byref(numbers)):
            raise Unknown
        if whole:
            return out.to(dtype)
        scale = self.high - self.low if self.kind == "rand" else self.high
        out = out.mul_(scale).add_(self.low).to(dtype)
        return out.masked_fill_(out == self.high, self.low) if self.kind == "rand" else out  # no number is the upper end


class Drawn(object):
    """What OP, which draws, gives with numbers of a generator of its own."""

    def __init__(self, op, seed):
        self.op, self.seed = op, seed

    def __call__(self, torch, args, kwargs):
        generator = torch.Generator().manual_seed(self.seed)
        if self.op._schema.name == "aten::native_dropout":
            mask = torch.ops.aten.rand.generator(args[0].shape, generator=generator) >= args[1]
            return args[0] * mask / (1 - args[1]), mask
        overloads, name = self.op.overloadpacket, self.op._overloadname
        if "generator" in [one.name for one in self.op._schema.arguments]:
            return self.op(*args, **dict(kwargs, generator=generator))
        name = "generator" if name == "default" else name + "_generator"
        return getattr(overloads, name)(*args, **dict(kwargs, generator=generator))


def meta_of(tensor):
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.dtype


class Nodes(object):
    """The part of Known that makes and finds nodes."""

    def suits(self, tensor):
        return type(tensor) in self.plain and tensor.layout == self.torch.strided and tensor.numel() > 0

    def get(self, tensor):
        """The node of a tensor that is still what it was; None: there is none."""
        storage = tensor.untyped_storage()
        entry = self.nodes.get(storage._cdata)
        return entry[1] if entry is not None and self.is_same(entry, tensor, self.version(tensor)) and self.lasts(storage, entry) else None

    @staticmethod
    def version(tensor):
        return 0 if tensor.is_inference() else tensor._version

    def is_same(self, entry, tensor, version):
        """Whether nobody has written since ENTRY was made.  A view that an operator made of its argument counts for itself: then the tensor that was noted tells."""
        if entry[2] == version:
            return True
        noted = entry[4]()
        return tensor.is_inference() or self.nested() and noted is not None and noted._version == entry[2]

    def lasts(self, storage, entry):
        """Whether ENTRY is that of this storage, and no kernel of others has got it since."""
        weak, node, _, since, _ = entry
        captured = self.captured.get(storage._cdata)
        if weak.expired() or captured is not None and not captured[0].expired() and captured[1] != self.graphs.value:
            return False
        whole = node.meta is not None and node.meta[3] in self.whole
        return self.foreign.value == since or not self.is_foreign(storage.data_ptr(), storage.nbytes(), since, whole)

    def held(self, storages):
        """What is known of STORAGES, pairs with whether they are written, of which none is written: keys and entries."""
        others = {storage._cdata for storage, is_written in storages if is_written}
        found = [(storage, self.nodes.get(storage._cdata)) for storage, _ in storages if storage._cdata not in others]
        return [(storage._cdata, entry) for storage, entry in found if entry is not None and self.lasts(storage, entry)]

    def read_since(self, kept):
        """A kernel has been launched that only read these."""
        for key, entry in kept:
            if self.nodes.get(key) is entry:
                self.nodes[key] = entry[:3] + (self.foreign.value,) + entry[4:]

    def put(self, tensor, node):
        storage = tensor.untyped_storage()
        entry = self.nodes.get(storage._cdata)
        old = entry is not None and not entry[0].expired()
        captured = self.captured.get(storage._cdata)
        if captured is not None:
            captured[1] = self.graphs.value
        self.nodes[storage._cdata] = entry[0] if old else self.weak(storage), node, self.version(tensor), self.foreign.value, weakref.ref(tensor._base if tensor._is_view() else tensor)
        if self.kept > PURGE or len(self.nodes) > self.most:
            for key, entry in list(self.nodes.items()):  # other threads make nodes meanwhile
                if entry[0].expired():
                    self.nodes.pop(key, None)
            for key, entry in list(self.captured.items()):
                if entry[0].expired():
                    self.captured.pop(key, None)
            self.kept, self.most = 0, 2 * len(self.nodes) + 512

    def forget(self, one):
        """Nothing is known of a tensor, or of those in a list."""
        if isinstance(one, self.torch.Tensor):
            if one.is_cuda and self.suits(one):
                self.nodes.pop(one.untyped_storage()._cdata, None)
        elif isinstance(one, (tuple, list)):
            for each in one:
                self.forget(each)

    def lasting(self, tensor):
        """The node of TENSOR, which may be anything; None: there is none."""
        if not self.nodes or not isinstance(tensor, self.torch.Tensor) or not tensor.is_cuda or not self.suits(tensor):
            return None
        return self.get(tensor)

    @staticmethod
    def is_hosts(node):
        """Whether NODE holds what the host wrote, only copied and converted since."""
        while node.op is not None and getattr(getattr(node.op, "_schema", None), "name", None) in COPYING and node.prior is None and node.args:
            if not isinstance(node.args[0], Ref):
                return False
            node = node.args[0].node
        return node.op is None and node.data is not None and not node.assumed

    def leaf(self, tensor):
        """A node of real numbers of which nothing is known."""
        node = Node(tensor.untyped_storage().nbytes(), meta_of(tensor))
        node.assumed = node.real = True
        self.put(tensor, node)
        return node

    def node(self, tensor):
        if tensor.numel() == 0 and type(tensor) in self.plain and tensor.layout == self.torch.strided:
            node = Node(0, None)
            node.data = self.torch.empty(0, dtype=self.torch.uint8)
            return node
        if not self.suits(tensor):
            raise Unknown
        before = getattr(self.threads, "before", None)
        node = before[1] if before is not None and before[0] == tensor.untyped_storage()._cdata else self.get(tensor)
        if node is not None and node.void:
            node = None
        if node is None and tensor.is_floating_point():
            node = self.leaf(tensor)
        if node is None or node.lost:
            raise Unknown
        return node

    def ref(self, one, below, structure=False):
        """An argument as a node keeps it; its nodes are added to BELOW.  STRUCTURE: of a sparse tensor without its values."""
        kind = type(one)
        if kind is list or kind is tuple:
            return tuple([self.ref(each, below, structure) for each in one])
        if not isinstance(one, self.torch.Tensor):
            return one
        if one.layout != self.torch.strided:
            return self.ref_sparse(one, below, structure)
        found = Ref(self.node(one), meta_of(one)) if one.is_cuda else self.keep(one)
        below.append(found.node)
        return found

    def keep(self, tensor, larger=False):
        """A tensor of the host, whose bytes are its node; LARGER: it counts as one of many real numbers."""
        size = tensor.numel() * tensor.element_size()
        larger = larger or size > SMALL and tensor.dtype not in self.whole
        if not self.suits(tensor) or larger and (size > LARGER or self.larger[0] + size > REALS):
            raise Unknown
        node = Node(0, None)
        node.data = tensor.detach().clone(memory_format=self.torch.contiguous_format)
        node.nbytes = size
        node.held = Held(self.larger, size) if larger else None
        self.kept += size
        return Ref(node, meta_of(node.data))

    def form(self, one):
        """A number for an expression: two of the same expression of the same nodes have the same one."""
        if isinstance(one, Ref):
            return self.form(one.node), one.meta
        if isinstance(one, SparseRef):
            return one.open, self.form(one.parts), one.shape
        if isinstance(one, (tuple, list)):
            return tuple([self.form(each) for each in one])
        if type(one) in NUMBERS:
            return repr(one)  # -1 and -2 have the same hash
        if not isinstance(one, Node):
            return one
        if one.form is None:
            how = (one.op, self.form(one.args), self.form(list(one.kwargs.items())), one.out, self.form(one.prior)) if one.args else next(_forms)
            one.form = hash(how)
        return one.form

    def make(self, op, base, args, kwargs, result, i, state):
        """A node for what OP made, the I-th of several."""
        if not self.suits(result):
            return
        node = Node(result.untyped_storage().nbytes(), meta_of(result))
        if base in operators.UNDEFINED:
            if result.dtype in self.whole:
                node.void = True
                self.put(result, node)
            return
        if base in operators.RANDOM and base != "normal" and self.is_known(result, base, args, state):
            node.op = self.random(base, args, result, state)
            node.args, node.kwargs = (), {}
        elif base in operators.PRODUCTS and not self.is_cheap(args, result):
            return
        elif base in operators.LIKE:
            value = args[{"new_full": 2, "full_like": 1}[base]] if base in ("new_full", "full_like") else int(base in ("ones_like", "new_ones"))
            node.op = functools.partial(self.torch.ops.aten.full.default, node.meta[0], value, dtype=node.meta[3])
            node.args, node.kwargs = (), {}
            node.void = base in operators.CLEARED and not self.is_called(base)
        elif base in operators.FINITE and self.is_computed(base, args):
            self.tell(FOUND_FINITE)
            node.finite = True
            node.op = functools.partial(self.torch.ops.aten.scalar_tensor.default, base in ("eq", "ne") and (base == "eq") == (args[0] is args[1]), dtype=self.torch.bool)
            node.args, node.kwargs = (), {}
        else:
            self.fill(node, op, args, kwargs, i, state)
            node.unsure += self.count_steps(args, result) if base in operators.PRODUCTS else 0
            node.void = (base in operators.CLEARED or base in operators.COPIES and self.nested() and result.dtype not in self.whole) and not self.is_called(base)
        self.put(result, node)

    def write(self, op, base, written, args, kwargs, state, listed=False):
        """A node for the tensor that OP wrote, its first argument or that of this name; else nothing is known of it."""
        tensor = args[0] if written == 0 else kwargs[written]
        if not self.suits(tensor):
            return
        if written != 0 and base in operators.RANDOM + operators.DRAWN:
            return self.draw_into(tensor, op, base, args, kwargs, state)
        storage = tensor.untyped_storage()
        node = Node(storage.nbytes(), meta_of(tensor))
        base = base.strip("_")
        all_of_it = written != 0 or base in operators.RANDOM or base in operators.DRAWN or base in ("fill", "zero", "copy")
        whole = all_of_it and tensor.numel() * tensor.element_size() == node.nbytes and self.is_dense(tensor)
        entry = self.nodes.get(storage._cdata)
        nested, version = self.nested(), self.version(tensor)  # what an operator writes in another one has no new version
        same = entry is not None and self.is_same(entry, tensor, version if nested or tensor.is_inference() else version - 1)
        same = same or listed and entry is not None and entry[2] == version  # _foreach_lerp_() of CUDA gives no new one
        before = entry[1] if same and self.lasts(storage, entry) and entry[1].nbytes == node.nbytes else None
        if before is None and not whole and all_of_it and tensor.dtype in self.whole and node.nbytes <= LIST:
            before = self.nothing_known(node)
        if before is None and not whole or before is not None and before.lost:
            return self.forget(tensor)
        node.prior = before if before is not None and not whole else Node(node.nbytes, node.meta)
        self.threads.before = storage._cdata, before  # an argument may be another view of it
        try:
            if base in operators.RANDOM and self.is_known(tensor, base, args, state):
                node.op, node.args, node.kwargs, node.below = self.random(base, args, tensor, state), (), {}, [node.prior]
                node.assumed, node.unsure, node.real = node.prior.assumed, node.prior.unsure, node.prior.real
            elif written == 0:
                self.fill(node, op, (WRITTEN,) + args[1:], kwargs, None, state)
            else:
                self.fill(node, op, args, dict(kwargs, **{written: WRITTEN}), None, state)
        except Unknown:
            return self.forget(tensor)
        finally:
            self.threads.before = None
        node.void = base in operators.CLEARED and (nested or tensor.is_inference() and not self.is_called(base))
        node.void |= base in operators.COPIES and nested and tensor.dtype not in self.whole and not self.is_called(base)
        self.put(tensor, node)

    def draw_into(self, tensor, op, base, args, kwargs, state):
        """OP, which draws, wrote TENSOR, its argument "out", as the operator without that one makes one."""
        name = op._overloadname.removesuffix("out").removesuffix("_") or "default"
        if tensor.numel() * tensor.element_size() != tensor.untyped_storage().nbytes() or not hasattr(op.overloadpacket, name):
            return self.forget(tensor)
        self.make(getattr(op.overloadpacket, name), base, args, {key: one for key, one in kwargs.items() if key != "out"}, tensor, None, state)

    def nothing_known(self, node):
        """A node that is written in part, as NODE will be, by what does not ask what was there."""
        one = Node(node.nbytes, node.meta)
        one.data, one.unknown = self.torch.zeros(node.nbytes, dtype=self.torch.uint8), self.torch.ones(node.nbytes, dtype=self.torch.uint8)
        return one

    def asks_finite(self, base, args, below):
        """Whether what an operator made says of numbers whether they are finite: a comparison, or what follows from such ones alone (isfinite(x).all())."""
        if base in operators.FINITE and below:
            return base in ("isnan", "isinf") or len(args) > 1 and (args[1] is args[0] or self.is_size_of(below[0], args[1]))
        return base in operators.OF_TRUTHS and any(one.finite for one in below) and all(one.finite or base == "add" and self.is_zero(one) for one in below)

    @staticmethod
    def is_zero(node):
        """Whether NODE was made of zeros, in which numbers that are not finite may be counted."""
        made = getattr(node.op, "_schema", None)
        return node.prior is None and (made is not None and made.name == "aten::zeros" or isinstance(node.op, functools.partial) and node.op.args[1:] == (0,))

    @staticmethod
    def is_size_of(node, number):
        """Whether NODE is that of abs(x), and NUMBER infinity."""
        return type(number) is float and number == math.inf and getattr(getattr(node, "op", None), "_schema", None) is not None and node.op._schema.name == "aten::abs"

    def is_computed(self, base, args):
        """Whether isnan(x), isinf(x), x == x, or abs(x) == infinity asks about real numbers that some kernel computes, of which nothing else is known."""
        x = args[0]
        if not isinstance(x, self.torch.Tensor) or not x.is_cuda or not x.is_floating_point() or not self.suits(x):
            return False
        node = self.get(x)
        if base in ("eq", "ne") and args[1] is not x:
            if not self.is_size_of(node, args[1]) or not node.args or not isinstance(node.args[0], Ref):
                return False
            node = node.args[0].node
        leaf = node is None or node.op is None and node.prior is None
        return (leaf or x.numel() == 1) and (node is None or node.assumed)

    @staticmethod
    def is_dense(tensor):
        """Whether no two elements lie in one place, and none between them."""
        extent = 1
        for stride, count in sorted(zip(tensor.stride(), tensor.shape)):
            if count > 1 and stride != extent:
                return False
            extent *= count
        return True

    def is_cheap(self, args, result):
        """Whether a product is of tensors that are known, or follow from integers that are drawn, and takes few multiplications."""
        nodes = [self.get(one) for one in args if isinstance(one, self.torch.Tensor)]
        known = all(one is not None and not (one.real or one.lost or one.void) for one in nodes)
        return known and sum(one.unsure for one in nodes) + self.count_steps(args, result) <= STEPS

    def count_steps(self, args, result):
        return result.numel() * max(1, *[one for one in args if isinstance(one, self.torch.Tensor)][-2].shape[-1:])

    def fill(self, node, op, args, kwargs, out, state, structure=False):
        node.below = below = [node.prior] if node.prior is not None else []
        node.op, node.out = op, out
        base = op._schema.name[6:].strip("_")
        drawn = base in operators.RANDOM or base in operators.DRAWN
        if drawn:
            node.op, node.assumed = Drawn(op, state if isinstance(state, int) else next(self.seeds)), True
            args = tuple([one for one in args if not isinstance(one, self.torch.Generator)])
            kwargs = {key: one for key, one in kwargs.items() if key != "generator"}
        node.args = self.ref(args, below, structure)
        node.kwargs = {key: self.ref(one, below, structure) for key, one in kwargs.items()} if kwargs else {}
        for one in below:
            node.assumed |= one.assumed
            node.unsure = min(node.unsure + one.unsure, STEPS)
            node.real |= one.real
        node.real = (node.real or drawn and base not in operators.COUNTED) and node.meta[3] not in self.whole
        node.finite = self.asks_finite(base, args, below)
        self.grow(node)

    def grow(self, node):
        """NODE stands on those below it; it is computed where these are too many."""
        for one in node.below:
            node.depth = max(node.depth, one.depth)
        node.depth += 1
        if node.depth > DEPTH:
            if node.nbytes > COLLAPSE:
                raise Unknown
            self.evaluate(node)
            node.depth = 0

    def generator(self, args, kwargs):
        """Seed and offset before the numbers are drawn; None: they are not known."""
        cuda = self.torch.cuda
        try:
            given = [one for one in list(args) + list(kwargs.values()) if isinstance(one, self.torch.Generator)]
            one = given[0] if given else cuda.default_generators[cuda.current_device()]
            return (one.initial_seed(), one.get_offset()) if one.device.type == "cuda" else None
        except Exception:  # a graph is captured
            return None

    def is_known(self, result, base, args, state):
        """Whether it is known which numbers of the generator RESULT has; else some are drawn."""
        torch, (kind, low, high) = self.torch, self.extent(base, args)
        floats = (torch.float32, torch.float16, torch.bfloat16)
        known = result.dtype in self.whole and 0 < high - low < 1 << 28 if kind == "randint" else result.dtype in floats
        return known and isinstance(state, tuple) and result.is_contiguous()

    @staticmethod
    def extent(base, args):
        """"rand", "randint" or "randn", and the ends of the numbers, or their mean and deviation."""
        numbers = [one for one in args if type(one) in (int, float)]
        base = base.strip("_")
        if base in ("uniform", "normal"):
            low, high = numbers[:2] + [0.0, 1.0][len(numbers) :]
            return "rand" if base == "uniform" else "randn", low, high
        kind = base.partition("_")[0]
        if kind in ("randint", "random"):
            numbers = numbers or [0]
            return ("randint",) + (tuple(numbers[:2]) if len(numbers) > 1 else (0, numbers[0]))
        return kind, 0, 1

    def random(self, base, args, result, state):
        card = self.torch.cuda.get_device_properties(result.device)
        kind, low, high = self.extent(base, args)
        return Random(kind, result.numel(), state, low, high, card)

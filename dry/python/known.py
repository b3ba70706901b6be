"""known.py - integers and truth values of the GPU that follow from the host: they are computed when the program reads one or an operator reads a size from it.

    known.start (torch, told, tell) once, when CUDA is initialised: this thread, those that Python starts later, and those that PyTorch's backward pass runs in are watched
    known.take (size)              what the copy of SIZE bytes to the host reads that this thread makes: a Value, or None
    watch_nested (class)           once PyTorch's jagged tensors have been imported
    watch_compiled (class)         once what launches the kernels of PyTorch's compiler has been imported
    known.given, known.computed    values and sizes, and the bytes that were computed for them

Most integers that a program reads are no result of a kernel that computes: masks of ones, comparisons of indices, numbers of the GPU's generator (Philox of a seed and an
offset, which PyTorch keeps on the host).  So the memory of a tensor has a *node* here, which says how its bytes come to be: from the host, by a factory, by the generator, or
by an operator from the nodes of its arguments.  Views share it; what writes in place makes a new node of the one before.  Nothing is computed until a value is read; then
PyTorch's own operators compute it on the host.

A real number of which nothing is known is drawn from a normal distribution when it is needed, and what follows from it is *assumed*: the number of tokens that a router
gives to an expert.  Of those, sizes and integers are given to the program, truth values and real numbers are not.  Two tensors that are the same expression of the same
tensors are equal whatever these hold.

A tensor that Python has seen has one owner more, so that PyTorch adds to no gradient in its place then.  Hence in the backward pass only the operators of _SELECT are
seen, which get no gradients, by a second key; but for Functions of the program, hooks of tensors and recomputations, which are Python's anyway.

Operators are seen by a dispatch key of PyTorch that nothing else uses, above autograd: PyTorch's derivatives and the fast paths of its modules ask whether a mode of Python is
active, and this is none.  Operators that are not named here cost nothing; what they return has no node.  What they write has another version than its node knew, and is
no longer known; of tensors without a version (inference mode) what writes in place is seen, whatever its name.  Tensors of subclasses (FakeTensor) and what graphs capture are
not known at all.

Operators that are not named make their results by operators that may be (zeros), and then fill them by kernels.  So memory that was made or cleared by no line of Python is
*void*: it is known once an operator that is named writes there.

Invariants: the program's operators make the requests that they make without this, with the numbers that they read here.  A node that cannot be computed is as if there were
none.  At most DEPTH nodes stand on each other.
"""
import ast
import collections
import contextlib
import ctypes
import functools
import importlib
import itertools
import linecache
import math
import os
import struct
import sys
import threading
import warnings
import weakref

SMALL = 1 << 16  # real numbers of the host up to so many bytes are kept; integers are, whatever their number
LARGER, REALS = 1 << 20, 1 << 26  # up to so many bytes they are as long as these are no more than REALS together
LOOKUPS = 16  # of a table, whose rows are kept
LARGEST = 1 << 31  # bytes of a tensor that is computed
LIST = 1 << 20  # so many bytes of integers may be a list from which sizes follow
STEPS, ENTRIES = 1 << 33, 1 << 28  # multiplications of a product that is computed, and of one of sparse matrices
FEW = 1 << 24  # multiplications that are worth a real number which the program reads
EXACT, FACTOR = 1 << 24, 1 << 11  # integers below are exact in a sum of single precision, and in a factor of it on tensor cores
DEPTH = 60
COLLAPSE = 1 << 15  # a node of so few bytes is computed when it is DEPTH nodes high, others are forgotten
PURGE = 1 << 26  # bytes of the host after which nodes of tensors that are gone are dropped

# ---- the operators, by the names of PyTorch's dispatcher; with each goes the one that works in place
_FACTORIES = "zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full arange scalar_tensor eye linspace tril_indices triu_indices fill zero"
_LIKE = "zeros_like ones_like full_like new_zeros new_ones new_full".split()  # whatever the numbers of their first argument are
_MOVES = "_to_copy copy clone"
_RANDOM = "rand randn randint rand_like randint_like randn_like uniform normal random".split()  # uniform_(), ...
_DRAWN = "randperm multinomial bernoulli exponential geometric log_normal cauchy poisson binomial native_dropout".split()  # what these give is assumed
_COUNTED = "randperm multinomial bernoulli geometric poisson binomial native_dropout".split()  # of these, what gives integers, whatever their type
_UNDEFINED = "empty empty_like new_empty empty_strided".split()
_CLEARED = "zeros zeros_like new_zeros zero fill".split()
_COPIES = "clone copy".split()  # with these operators begin that work on a copy of real numbers (linalg.cholesky)
_FINITE = ("isnan", "isinf", "eq", "ne")  # what isnan() and isfinite() are made of
_COMPOSED = ("matrix_exp",)  # made of operators that are named: what they clear they mean to be zero
_BOOLEAN = "eq ne lt le gt ge logical_and logical_or logical_not logical_xor isnan isinf isin bitwise_and bitwise_or bitwise_xor bitwise_not"
_POINTWISE = "add sub rsub mul div remainder fmod floor_divide neg abs sign clamp clamp_min clamp_max maximum minimum where masked_fill floor ceil round trunc pow sqrt exp exp2 log log2"
_MORE = "aminmax signbit sgn copysign lerp addcmul addcdiv heaviside nan_to_num nansum frac hypot atan2 nonzero_static put index_reduce select_scatter slice_scatter diagonal_scatter"
_IMAGES = "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d max_pool2d_with_indices reflection_pad2d replication_pad2d"
_SHIFTS = "bitwise_left_shift bitwise_right_shift __lshift__ __rshift__ gcd square"
_REDUCED = "sum any all max min amax amin argmax argmin cumsum cumprod cummax cummin count_nonzero mean prod trace logspace linspace kthvalue median mode std var std_mean var_mean"
_NORMS = "linalg_vector_norm norm renorm linalg_cross logcumsumexp logaddexp logaddexp2"
_ORDERED = "sort argsort topk searchsorted bucketize _softmax sigmoid softplus tanh relu sin cos rsqrt reciprocal erf log1p expm1"
_MOVED = "cat stack gather scatter scatter_add scatter_reduce index_select index_add index_copy index_fill fill_diagonal tril triu flip roll repeat take constant_pad_nd"
_CUTS = "block_diag im2col col2im channel_shuffle pixel_shuffle pixel_unshuffle rot90 diag_embed as_strided_scatter segment_reduce nanmedian fmax fmin frexp complex polar"
_POOLS = "avg_pool2d avg_pool3d adaptive_max_pool2d adaptive_max_pool3d max_pool3d_with_indices max_unpool2d max_unpool3d reflection_pad1d reflection_pad3d replication_pad1d replication_pad3d"
_CURVES = "acos asin atan sinh cosh tan asinh acosh atanh log10 logit xlogy logsumexp erfc rad2deg deg2rad ldexp isneginf isposinf threshold _is_all_true _is_any_true"
_PRODUCTS = "mm bmm mv dot vdot addr baddbmm addbmm addmv _cdist_forward _euclidean_dist".split()  # of numbers that are all known, if they are few
_SIZED = "nonzero index index_put _index_put_impl _unsafe_index masked_select masked_scatter _unique _unique2 unique_dim unique_consecutive bincount repeat_interleave _coalesce histc"
_SPARSE = "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _sparse_mm _sparse_sparse_matmul _to_dense _sparse_softmax _sparse_log_softmax _sparse_sum"
_STRUCTURED = "_coalesce _sparse_mm _sparse_sparse_matmul mm cat stack add _to_dense _sparse_softmax _sparse_log_softmax _sparse_sum".split()  # of sparse matrices, which are no others inside
_DENSE = ("_to_dense", "_sparse_sum")  # of them whose result may be none of these
_SOFTMAX = "_sparse_softmax_backward_data _sparse_log_softmax_backward_data".split()
_OF_SPARSE = "add index_select".split()  # read sizes of sparse tensors alone
_READS = "_local_scalar_dense equal embedding sparse_compressed_tensor _nested_tensor_from_mask_left_aligned"
_OPERATORS = " ".join((_FACTORIES, _MOVES, _BOOLEAN, _POINTWISE, _MORE, _IMAGES, _SHIFTS, _REDUCED, _NORMS, _ORDERED, _MOVED, _CUTS, _POOLS, _CURVES, _SIZED, _SPARSE, _READS)).split() + _RANDOM + _DRAWN + _UNDEFINED + _PRODUCTS + _SOFTMAX
_VALUED = ("addcmul", "addcdiv")
_SELECT = ["nonzero", "_unique", "_unique2", "unique_dim", "unique_consecutive", "bincount", "_coalesce", "_sparse_sparse_matmul", "_local_scalar_dense", *_SOFTMAX]
_VIEWS = "detach_ requires_grad_ squeeze_ unsqueeze_ t_ transpose_ swapaxes_ swapdims_ as_strided_ rename_ _coalesced_ resize_ resize_as_ set_".split()  # write no element
_KEY, _BACKWARD_KEY = "TESTING_ONLY_GenericMode", "TESTING_ONLY_GenericWrapper"
SHOWN = "site-packages/gemem/known.py"  # where these functions stand in call stacks: in a package, not in the program
_ASIDE = (os.path.dirname(os.path.abspath(__file__)) + os.sep, os.path.dirname(SHOWN) + "/")  # lines of gemem's begin with these
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


class _Node(object):
    """How the bytes of a storage come to be: what OP makes of ARGS, or writes into what PRIOR was; META: shape, strides, offset and type of the tensor that it made or wrote.
    Without OP: drawn, if ASSUMED, else zero.  UNSURE: so many multiplications were made for it, of which it is not known before it is computed whether they are exact.
    REAL: it follows from a real number that was drawn, and not from integers and truth values alone (the mean of a mask)."""

    __slots__ = ("op", "args", "kwargs", "out", "meta", "nbytes", "prior", "below", "data", "assumed", "depth", "lost", "form", "void", "held", "unsure", "real")

    def __init__(self, nbytes, meta):
        self.op = self.args = self.kwargs = self.out = self.prior = self.data = self.form = None
        self.nbytes, self.meta, self.assumed, self.depth, self.lost, self.below, self.void = nbytes, meta, False, 0, False, (), False
        self.unsure, self.real = 0, False


class _Held(object):
    """So many bytes that count as long as this exists."""

    def __init__(self, count, size):
        self.count, self.size = count, size
        count[0] += size

    def __del__(self):
        self.count[0] -= self.size


class _Ref(object):
    """A tensor among the arguments of a node."""

    __slots__ = ("node", "meta")

    def __init__(self, node, meta):
        self.node, self.meta = node, meta


class _SparseRef(object):
    """A sparse tensor among the arguments of a node, which OPEN, a function of PyTorch, makes of PARTS; the last one are its values, of which None stands for ones."""

    __slots__ = ("open", "parts", "shape", "options")

    def __init__(self, open, parts, shape, options):
        self.open, self.parts, self.shape, self.options = open, parts, shape, options


_NUMBERS = {int, float, bool, complex}
_COPIED = object()  # in the place of a version: nobody has looked at this memory yet
_WRITTEN = object()  # stands for the tensor that an operator writes, among its arguments


class _Numbers(ctypes.Structure):
    """GememDryNumbers of dry/driver/philox.h"""

    _fields_ = [(name, ctypes.c_uint64) for name in ("seed", "offset", "threads", "n")] + [("low", ctypes.c_int64), ("range", ctypes.c_uint64), ("to", ctypes.c_void_p)]


class _Random(object):
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


class _Drawn(object):
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


def _meta(tensor):
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.dtype


class Known(object):
    def __init__(self):
        self.torch = None
        self.nodes = {}  # storage -> weak reference, node, version
        self.lookups = {}  # id of a table -> weak reference, the rows that were looked up last
        self.multiplied = collections.deque(maxlen=LOOKUPS)  # of products of sparse matrices: two matrices and theirs, as (the places of their entries, how many they have)
        self.turned = {}  # shape and entries of a turned matrix -> how many of these are in places of their own; None: that differs
        self.filled = {}  # elements of a compressed matrix -> how many of these are in it; None: that differs
        self.larger = [0]  # bytes of real numbers of more than SMALL bytes
        self.kept, self.most = 0, 512  # bytes of the host since nodes were last dropped, and so many are kept
        self.given = self.computed = 0
        self.threads = threading.local()  # pending: what an operator is about to read; whole: an integer is read
        self.lock = threading.RLock()

    # ---- the program's operators

    def start(self, torch, told, tell, no_overflow):
        """TOLD (ASSUMED): called when a value, or an assumed size, is given to the program; TELL (TEXT): when something is taken to be so, as NO_OVERFLOW of GradScaler."""
        from torch.multiprocessing.reductions import StorageWeakRef

        inner = torch._C
        key, backward = inner._parse_dispatch_key(_KEY), inner._parse_dispatch_key(_BACKWARD_KEY)
        self.torch, self.weak, self.told, self.tell, driver = torch, StorageWeakRef, told, tell, ctypes.CDLL(None)
        self.no_overflow = no_overflow
        self.draw, self.is_foreign, self.foreign = driver.gemem_dry_draw, driver.gemem_dry_is_foreign, ctypes.c_uint64.in_dll(driver, "gemem_dry_foreign")
        self.is_foreign.argtypes = (ctypes.c_uint64,) * 3 + (ctypes.c_int,)
        self.key, self.backward, self.keys = key, backward, inner.DispatchKeySet(key).add(backward)
        self.backward_keys = inner.DispatchKeySet(backward)
        self.below = inner._dispatch_keyset_full_after(backward)
        self.guard, self.plain = inner._ExcludeDispatchKeyGuard, (torch.Tensor, torch.nn.Parameter)
        self.whole = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
        self.masks = {torch.bool, torch.uint8}
        self.aside = self.keys.add(inner.DispatchKey.AutocastCPU)
        self.second = os.environ.get("GEMEM_DRY_DRAW") == "2"
        self.draws = torch.Generator().manual_seed(2 if self.second else 1)
        self.seeds = itertools.count(1 << 32 if self.second else 0)
        self.nested = lambda key=inner.DispatchKey.ADInplaceOrView: inner._dispatch_tls_is_dispatch_key_excluded(key)
        functorch = getattr(inner, "_functorch", None)
        self.layers = getattr(functorch, "peek_interpreter_stack", lambda: None)  # of torch.func, each of which calls for its tensors the operators of those below
        self.calls = {}  # code, instruction and name -> whether that calls it
        self.library = [torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")]
        self.library[0].fallback(torch.library.fallthrough_kernel, _KEY)
        self.library[0].fallback(torch.library.fallthrough_kernel, _BACKWARD_KEY)
        names = set(_OPERATORS) | {name + "_" for name in _OPERATORS}
        for full in inner._dispatch_get_all_op_names():
            base, _, overload = full.partition(".")
            if not base.startswith("aten::") or "name" in overload or full == "aten::normal.float_float":
                continue
            listed = base.startswith("aten::_foreach_")
            if base[6:] in names or listed or base.endswith("_"):
                op = getattr(getattr(torch.ops.aten, base[6:]), overload or "default")
                watch = self.watch if base[6:] in names else self.watch_view if base[6:] in _VIEWS else self.watch_lists if listed and not base.endswith("_") else self.watch_writer
                watch(op, full[6:])
        self.watch_higher()
        self.watch_backward()
        self.watch_storages()
        self.watch_threads()
        inner._dispatch_tls_set_dispatch_key_included(key, True)
        os.register_at_fork(after_in_child=lambda: inner._dispatch_tls_set_dispatch_key_included(key, False))  # CUDA does not go on there

    def watch_higher(self):
        """Operators that are given functions (flex_attention, cond) look for their kernels in Python, where the fallback of these keys does not count."""
        kind = getattr(self.torch._ops, "HigherOrderOperator", None)
        begin = getattr(kind, "__init__", None)
        if not hasattr(kind, "fallthrough"):
            return

        def pass_on(one):
            for key in (self.key, self.backward):
                one.fallthrough(key)

        @functools.wraps(begin)
        def begin_again(one, *args, **kwargs):
            begin(one, *args, **kwargs)
            pass_on(one)

        kind.__init__ = begin_again
        for one in getattr(self.torch._ops, "_higher_order_ops", {}).values():
            pass_on(one)

    def watch_threads(self):
        """Each thread has keys of its own, and begins without."""
        begin, include, key, pid = threading.Thread._bootstrap_inner, self.torch._C._dispatch_tls_set_dispatch_key_included, self.key, os.getpid()

        def begin_again(thread):
            include(key, os.getpid() == pid)
            begin(thread)

        threading.Thread._bootstrap_inner = begin_again

    def watch_storages(self):
        """What copies storages (torch.save, torch.load, copy.deepcopy, pickle) makes no tensors that are those of the program."""
        torch, storage = self.torch, self.torch.UntypedStorage
        copy, write_file, set_from_file = storage.copy_, storage._write_file, storage._set_from_file

        @self.shown
        def copy_again(to, source, *args, **kwargs):
            with self.guard(self.keys):
                try:
                    found = self.before_storage(to, source)
                except Exception:  # no node, or it cannot be computed
                    found = None
                self.threads.pending = [found] if isinstance(found, Value) else None
                result = copy(to, source, *args, **kwargs)
                self.threads.pending = None
                if isinstance(found, Value):
                    if found.is_long():
                        found.give(to.data_ptr(), to.nbytes())
                elif to.device.type == "cuda":
                    self.nodes.pop(to._cdata, None)
                    if found is not None:
                        self.nodes[to._cdata] = self.weak(to), found, _COPIED, self.foreign.value, lambda: None
                return result

        @self.shown
        def write_again(one, *args):
            return write_file(one.cpu() if one.is_cuda else one, *args)

        @self.shown
        def set_again(one, *args, **kwargs):
            if not one.is_cuda:
                return set_from_file(one, *args, **kwargs)
            host = storage(one.nbytes())
            set_from_file(host, *args, **kwargs)
            return one.copy_(host)

        storage.copy_, storage._write_file, storage._set_from_file = copy_again, write_again, set_again

    def before_storage(self, to, source):
        """Of what TO, a storage, is about to get from SOURCE: its node, or for the host the value."""
        torch = self.torch
        if torch.cuda.is_current_stream_capturing() or to.nbytes() != source.nbytes():
            raise Unknown
        if not source.is_cuda:
            data = torch.empty(0, dtype=torch.uint8).set_(source)
            whole = source.nbytes() > LARGER and self.looks_whole(data)
            if source.nbytes() > LARGER and not whole:
                raise Unknown
            return self.keep(data, source.nbytes() > SMALL and not whole).node
        entry = self.nodes.get(source._cdata)
        if entry is None or not self.lasts(source, entry):
            raise Unknown
        node, noted = entry[1], entry[4]()
        if node.void or node.lost or entry[2] is not _COPIED and (noted is None or self.version(noted) != entry[2]):
            raise Unknown
        if to.is_cuda:
            return node
        if node.meta is not None and node.meta[3] not in self.whole and (node.assumed or node.unsure or node.nbytes > SMALL):
            raise Unknown
        data = self.evaluate(node)[: to.nbytes()]
        self.told(node.assumed)
        return Value(None, data.view(torch.uint8), node.assumed)

    def looks_whole(self, data):
        """Whether these bytes, whose type nobody tells, are integers below 2^24 or truth values: real numbers but zeros have other bits in the last of each four."""
        if data.numel() % 4 or not data[:SMALL].any():
            return False
        last = data.view(self.torch.int8)[3::4]
        return all(bool(((one == 0) | (one == -1)).all()) for one in (last[:SMALL], last)) or all(bool((one <= 1).all()) for one in (data[:SMALL], data))

    def watch_backward(self):
        """Changes the keys while the backward pass runs, and back where it runs Python."""
        torch, inner = self.torch, self.torch._C
        run = torch.autograd._engine_run_backward
        forward, backward = inner.DispatchKeySet(self.key), self.backward_keys

        @self.shown
        def run_backward(*args, **kwargs):
            with change(forward, backward):
                return run(*args, **kwargs)

        def change(less, more):
            included, excluded = inner._dispatch_tls_local_include_set(), inner._dispatch_tls_local_exclude_set()
            return inner._ForceDispatchKeyGuard((included | more) - less, excluded)

        def again():
            return change(backward, forward)

        function = torch.autograd.function.BackwardCFunction
        apply = function.apply

        @self.shown
        def apply_again(*args):
            with again():
                return apply(*args)

        torch.autograd._engine_run_backward, function.apply = run_backward, apply_again
        for name in ("register_hook", "register_post_accumulate_grad_hook"):
            if hasattr(torch.Tensor, name):
                setattr(torch.Tensor, name, self.watch_hooks(getattr(torch.Tensor, name), again))
        hooks = getattr(importlib.import_module("torch.utils.hooks"), "BackwardHook", None)
        if hooks is not None:
            begin = hooks.__init__

            @functools.wraps(begin)
            def begin_again(hook, module, *lists):
                begin(hook, module, *[[self.in_keys(one, again) for one in each] for each in lists])

            hooks.__init__ = begin_again
        saved = torch.autograd.graph.saved_tensors_hooks
        begin_saved = saved.__init__

        @functools.wraps(begin_saved)
        def begin_saved_again(one, pack, unpack):
            begin_saved(one, self.in_program(pack), self.in_program(unpack))

        saved.__init__ = begin_saved_again
        recomputation = getattr(importlib.import_module("torch.utils.checkpoint"), "_recomputation_hook", None)
        if recomputation is not None:
            enter, leave = recomputation.__enter__, recomputation.__exit__

            def enter_again(hook):
                hook._gemem_keys = again()
                hook._gemem_keys.__enter__()
                return enter(hook)

            def leave_again(hook, *error):
                result = leave(hook, *error)
                hook._gemem_keys.__exit__(*error)
                return result

            recomputation.__enter__, recomputation.__exit__ = enter_again, leave_again

    def in_python(self):
        """Inside: what Python does for a tensor of its own kind, which runs without keys that come before it, is watched as the program is."""
        inner = self.torch._C if self.torch is not None else None
        if inner is None or not any(inner._dispatch_tls_is_dispatch_key_included(key) for key in (self.key, self.backward)):
            return contextlib.nullcontext()
        included = inner._dispatch_tls_local_include_set() | inner.DispatchKeySet(self.key)
        return inner._ForceDispatchKeyGuard(included - self.backward_keys, inner._dispatch_tls_local_exclude_set() - self.keys)

    def in_program(self, function):
        """FUNCTION, which an operator or the backward pass calls, run as the program's Python is."""

        @self.shown
        def run(*args):
            with self.in_python():
                return function(*args)

        return functools.update_wrapper(run, function)

    def in_keys(self, hook, again):
        """HOOK, run as the program's Python is."""

        @self.shown
        def run(*args):
            with again():
                return hook(*args)

        return functools.update_wrapper(run, hook)

    def watch_hooks(self, register, again):
        """REGISTER, a method of tensors, whose hooks run as the program's Python does."""

        @functools.wraps(register)
        def register_again(tensor, hook):
            return register(tensor, self.in_keys(hook, again))

        return register_again

    def watch(self, op, name):
        """Sees each call of OP."""
        schema = op._schema
        if any(one.alias_info is not None and not one.alias_info.is_write for one in schema.returns):
            return  # a view
        base = name.partition(".")[0]
        written = self.written(op)
        if written and (len(written) > 1 or written[0] not in (0, "out") or written[0] == "out" and base in _RANDOM + _DRAWN):
            return
        if any(one.type.kind() == "ListType" for one in schema.returns):
            return  # other operators make these
        ask = getattr(self, "before_" + base.strip("_"), None)
        random = base.strip("_") in _RANDOM
        redispatch, guard, keys, below = op._handle.redispatch_boxed, self.guard, self.keys, self.below
        written = written[0] if written else None
        tensors = [i for i, one in enumerate(schema.arguments) if one.type.kind() == "TensorType"]
        whole = self.call_whole(op)

        strided, layers = self.torch.strided, self.layers
        reads = {"_local_scalar_dense": 0, "_to_copy": 0, "copy": 1, "copy_": 1}.get(base)
        of_sparse = base in _OF_SPARSE
        structured = base in _STRUCTURED and written is None

        def note(args, kwargs, result, state, values):
            try:
                if structured and result.layout is not strided:
                    self.note_parts(op, args, kwargs, result)
                else:
                    self.note(op, base, written, args, kwargs, result, state, values)
            except Exception:  # whatever it is, it concerns what is known, not the program
                pass

        def call(keyset, *args, **kwargs):
            if layers() is not None:
                return redispatch(keyset & below, *self.as_tensors(args, tensors), **kwargs)
            n, state, values = len(args), None, None
            if random or ask and not (of_sparse and args[0].layout is strided):
                with guard(keys):
                    state = self.generator(args, kwargs) if random else None
                    values = self.ask(ask, args, kwargs) if ask else None
            self.threads.pending = values
            self.threads.whole = reads is not None and args[reads].dtype in self.whole and args[reads].dtype not in self.masks
            if not values and n and getattr(args[0], "layout", strided) is not strided:
                # operators of sparse tensors are made of others
                result = below_all(*args, **kwargs) if 1 in tensors and n > 1 and type(args[1]) in _NUMBERS else redispatch(keyset & below, *args, **kwargs)
                if structured and (base in _DENSE or result.layout is not strided):
                    with guard(keys):
                        note(args, kwargs, result, None, None)
                return result
            with guard(keys):
                for i in tensors:
                    if i < n and type(args[i]) in _NUMBERS:
                        result = whole(*args, **kwargs)
                        break
                else:
                    result = redispatch(keyset & below, *args, **kwargs)
                self.threads.pending = None
                note(args, kwargs, result, state, values)
                return result

        def below_all(*args, **kwargs):
            with guard(keys):
                return whole(*args, **kwargs)

        self.shown(call)
        self.library[1].impl(name, call, _KEY, with_keyset=True)
        if base in _SELECT:
            self.library[1].impl(name, call, _BACKWARD_KEY, with_keyset=True)

    @staticmethod
    def written(op):
        """Which arguments OP writes: places, and names of those that have none."""
        return [one.name if one.kwarg_only else i for i, one in enumerate(op._schema.arguments) if one.alias_info is not None and one.alias_info.is_write]

    def watch_writer(self, op, name):
        """Sees that OP, of which nothing else is known, writes, also where no version tells it: in inference mode, and by x.data."""
        places, each = [i for i in self.written(op) if isinstance(i, int)], self.each(name)
        scales = name.partition(".")[0] == "_amp_update_scale_"
        redispatch, guard, keys, below, layers = op._handle.redispatch_boxed, self.guard, self.keys, self.below, self.layers

        def call(keyset, *args, **kwargs):
            if layers() is not None:
                return redispatch(keyset & below, *args, **kwargs)
            with guard(keys):
                scale = self.scale(op, args) if scales else None
                result = redispatch(keyset & below, *args, **kwargs)
                if scale is not None:
                    for tensor, node in zip(args, scale):
                        self.put(tensor, node)
                elif self.nodes and each is not None:
                    self.write_each(each, args, kwargs)
                elif self.nodes:
                    for i in places:
                        self.forget(args[i] if i < len(args) else None)
                return result

        made_of_others = self.torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, "CompositeImplicitAutograd")  # which are seen
        if places and not made_of_others:
            self.library[1].impl(name, self.shown(call), _KEY, with_keyset=True)

    def watch_lists(self, op, name):
        """Sees what OP, an operator of lists that makes new ones (_foreach_add), makes of each tensor."""
        each, written = self.each(name), self.written(op)
        redispatch, guard, keys, below, layers = op._handle.redispatch_boxed, self.guard, self.keys, self.below, self.layers

        def call(keyset, *args, **kwargs):
            if layers() is not None:
                return redispatch(keyset & below, *args, **kwargs)
            with guard(keys):
                result = redispatch(keyset & below, *args, **kwargs)
                if self.nodes:
                    self.make_each(each, args, kwargs, result)
                return result

        if each is not None and not written:
            self.library[1].impl(name, self.shown(call), _KEY, with_keyset=True)

    def watch_view(self, op, name):
        """Sees that OP, which writes no element, gives its tensor another version, or other memory."""
        redispatch, guard, keys, below, layers = op._handle.redispatch_boxed, self.guard, self.keys, self.below, self.layers

        def call(keyset, *args, **kwargs):
            if layers() is not None:
                return redispatch(keyset & below, *args, **kwargs)
            with guard(keys):
                tensor = args[0]
                node = self.get(tensor) if self.nodes and tensor.is_cuda and self.suits(tensor) else None
                source = args[1] if len(args) > 1 and isinstance(args[1], self.torch.Tensor) else None
                result = redispatch(keyset & below, *args, **kwargs)
                if tensor.is_cuda and self.suits(tensor):
                    self.renew(tensor, node, source)
                return result

        made_of_others = self.torch._C._dispatch_has_kernel_for_dispatch_key("aten::" + name, "CompositeImplicitAutograd")
        if not made_of_others:
            self.library[1].impl(name, self.shown(call), _KEY, with_keyset=True)

    def renew(self, tensor, node, source):
        """TENSOR, whose node was NODE, is another view of its memory, or of that of SOURCE, or of one that was copied."""
        storage = tensor.untyped_storage()
        entry = self.nodes.get(storage._cdata)
        if entry is None or entry[1] is None or entry[0].expired():
            return
        if entry[2] is _COPIED or source is not None and self.get(source) is entry[1] or node is entry[1] and node.nbytes == storage.nbytes():
            self.put(tensor, entry[1])

    def scale(self, op, args):
        """The nodes of GradScaler's scale and of how many steps it has had, after another one without overflow."""
        try:
            after = [self.value(one)[0].clone() for one in args[:2]]
        except Unknown:
            return None
        self.tell(self.no_overflow)
        op(*after, self.torch.zeros(1), *args[3:])
        return [self.keep(one).node for one in after]

    def each(self, name):
        """What NAME, an operator of lists (_foreach_add_), does with each tensor; None: it is none of these."""
        base, _, overload = name.partition(".")
        if not base.startswith("_foreach_") or base[9:].rstrip("_") not in _OPERATORS:
            return None
        overload = {"": "default", "ScalarList": "Scalar", "List": "Tensor"}.get(overload, overload)
        if base[9:].rstrip("_") in _VALUED:
            return self.valued(getattr(self.torch.ops.aten, base[9:]).default) if overload != "Tensor" else None
        own = getattr(self.torch.ops.aten, base[9:], None)
        default = getattr(own, "default", None)
        takes = default._schema.arguments[1].type.kind() if default and len(default._schema.arguments) > 1 else ""
        return getattr(own, overload, default if takes == {"Scalar": "NumberType", "Tensor": "TensorType"}.get(overload) else None)

    @staticmethod
    def valued(op):
        """OP, whose factor is a keyword, for the form of lists, where it comes fourth."""

        def call(one, first, second, value=1):
            return op(one, first, second, value=value)

        call._schema = op._schema
        return call

    def write_each(self, op, args, kwargs):
        """The tensors of a list have been written, each as OP would do."""
        for i, tensor in enumerate(args[0]):
            if tensor.untyped_storage()._cdata in self.nodes:
                try:
                    self.write(op, op._schema.name[6:], 0, self.own(args, i), kwargs, None, True)
                except Exception:  # it is no longer known
                    self.forget(tensor)

    def make_each(self, op, args, kwargs, result):
        """The tensors of a list have been made, each as OP would do of those in its place."""
        for i, tensor in enumerate(result):
            if args[0][i].untyped_storage()._cdata in self.nodes:
                try:
                    self.note(op, op._schema.name[6:], None, self.own(args, i), kwargs, tensor, None, None)
                except Exception:  # it is not known
                    self.forget(tensor)

    @staticmethod
    def own(args, i):
        """Of the lists in ARGS what is in place I."""
        return tuple(one[i] if isinstance(one, (list, tuple)) else one for one in args)

    def forget(self, one):
        """Nothing is known of a tensor, or of those in a list."""
        if isinstance(one, self.torch.Tensor):
            if one.is_cuda and self.suits(one):
                key = one.untyped_storage()._cdata
                if self.nodes.get(key, (None, None))[1] is not None:  # else a graph writes there
                    del self.nodes[key]
        elif isinstance(one, (tuple, list)):
            for each in one:
                self.forget(each)

    def is_called(self, base):
        """Whether it is a line of Python that calls BASE, and not another operator; where neither can be told, it is one that does."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_ASIDE):
            frame = frame.f_back
        if frame is None:
            return False
        key = frame.f_code, frame.f_lasti, base
        if key not in self.calls:
            self.calls[key] = self.find_call(*key)
        return self.calls[key]

    @staticmethod
    def find_call(code, at, base):
        base = base.strip("_")
        try:
            line, last, column, end = list(code.co_positions())[at // 2]
            lines = [linecache.getline(code.co_filename, i).encode() for i in range(line, last + 1)]
            lines[-1] = lines[-1][:end]
            lines[0] = lines[0][column:]
            one = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
        except (AttributeError, IndexError, SyntaxError, TypeError, ValueError):
            return any(name.strip("_") == base for name in code.co_names)
        if isinstance(one, ast.Subscript):
            return base == "fill"  # x[...] = 0
        called = getattr(one, "func", None)
        return getattr(called, "attr", getattr(called, "id", "")).strip("_") in (base, *_COMPOSED)

    @staticmethod
    def shown(function):
        """Stacks show FUNCTION in a package of gemem's."""
        function.__code__ = function.__code__.replace(co_filename=SHOWN)
        return function

    def as_tensors(self, args, places):
        """ARGS with tensors for the numbers that stand in PLACES of tensors, of types with which the operator's result is of the same type."""
        torch, numbers = self.torch, [i for i in places if i < len(args) and type(args[i]) in _NUMBERS]
        if not numbers:
            return args
        args, others = list(args), [one.dtype for one in args if isinstance(one, torch.Tensor)]
        with torch._C._DisableFuncTorch(), self.guard(self.keys):
            for i in numbers:
                kept = [one for one in others if torch.result_type(torch.empty(0, dtype=one), args[i]) == one]
                args[i] = torch.scalar_tensor(args[i], dtype=kept[0] if kept else torch.get_default_dtype() if type(args[i]) is float else None)
        return args

    def call_whole(self, op):
        """OP for arguments with a number in the place of a tensor, which is no tensor of its type: x / 2 is one of x's."""
        inner, function = self.torch._C, op._op

        def call(*args, **kwargs):
            with inner.DisableTorchFunction() if inner._len_torch_function_stack() else contextlib.nullcontext():
                return function(*args, **kwargs)

        return self.shown(call)

    def note(self, op, base, written, args, kwargs, result, state, values):
        """OP returned RESULT: the nodes of what it made or wrote."""
        if self.torch.cuda.is_current_stream_capturing():
            return self.capture(result)
        if written is not None:
            if (args[0] if written == 0 else kwargs[written]).is_cuda:
                return self.write(op, base, written, args, kwargs, state)
            if values and values[0].is_long():
                args[0].copy_(values[0].bytes)
            return None
        if isinstance(result, self.torch.Tensor):
            if result.is_cuda:
                return self.make(op, base, args, kwargs, result, None, state)
            if values and values[0].is_long():  # else values.py gives it, or what --value chooses
                result.copy_(values[0].bytes)
        elif isinstance(result, tuple):
            state = next(self.seeds) if base in _DRAWN else state
            for i, one in enumerate(result):
                if isinstance(one, self.torch.Tensor) and one.is_cuda:
                    self.make(op, base, args, kwargs, one, i, state)
        return None

    def note_parts(self, op, args, kwargs, result):
        """OP made RESULT, a sparse tensor: the nodes of its indices, which follow from those of its arguments whatever their numbers are, and of its values."""
        if not result.is_cuda or self.torch.cuda.is_current_stream_capturing():
            return
        if result.layout == self.torch.sparse_coo and op._schema.name == "aten::add":
            return  # on the host it leaves out what both have
        _, names = self.parts(result)
        shared = self.storages(args)
        for name in names:
            part = getattr(result, name)()
            if self.suits(part) and part.untyped_storage()._cdata not in shared:
                try:
                    node = _Node(part.untyped_storage().nbytes(), _meta(part))
                    self.fill(node, op, args, kwargs, name, None, name != names[-1])
                    self.put(part, node)
                except Unknown:
                    self.forget(part)

    def storages(self, args):
        """Where the parts of sparse arguments lie: a result may have the same indices, of which nothing new is to be told."""
        sparse = [one for one in args if isinstance(one, self.torch.Tensor) and one.layout in (self.torch.sparse_coo, self.torch.sparse_csr)]
        return {getattr(one, name)().untyped_storage()._cdata for one in sparse for name in self.parts(one)[1]}

    def parts(self, tensor):
        """What makes a sparse tensor, and the methods that give its parts, the values last."""
        torch = self.torch
        if tensor.layout == torch.sparse_coo:
            return torch.sparse_coo_tensor, ("_indices", "_values")
        if tensor.layout == torch.sparse_csr:
            return torch.sparse_csr_tensor, ("crow_indices", "col_indices", "values")
        raise Unknown

    def capture(self, result):
        """What a graph writes each time it runs is known never again."""
        for one in result if isinstance(result, tuple) else (result,):
            if isinstance(one, self.torch.Tensor) and one.is_cuda and self.suits(one):
                self.put(one, None)

    # ---- nodes

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
        if node is None or weak.expired():
            return False
        whole = node.meta is not None and node.meta[3] in self.whole
        return self.foreign.value == since or not self.is_foreign(storage.data_ptr(), storage.nbytes(), since, whole)

    def only_read(self, kernel, args):
        """What is known of the tensors among ARGS that KERNEL reads and does not write: keys and entries."""
        names = getattr(getattr(kernel, "fn", None), "arg_names", ())
        written = getattr(kernel, "mutated_arg_names", None) or ()
        tensors = [(name, one.untyped_storage()) for name, one in zip(names, args) if type(one) in self.plain and one.is_cuda]
        reads = [storage for name, storage in tensors if name.startswith("in_ptr") and name not in written]
        others = {storage._cdata for name, storage in tensors} - {storage._cdata for storage in reads}
        found = [(storage, self.nodes.get(storage._cdata)) for storage in reads if storage._cdata not in others]
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
        if old and entry[1] is None:
            return  # a graph writes there
        self.nodes[storage._cdata] = entry[0] if old else self.weak(storage), node, self.version(tensor), self.foreign.value, weakref.ref(tensor._base if tensor._is_view() else tensor)
        if self.kept > PURGE or len(self.nodes) > self.most:
            self.nodes = {key: entry for key, entry in self.nodes.items() if not entry[0].expired()}
            self.kept, self.most = 0, 2 * len(self.nodes) + 512

    def leaf(self, tensor):
        """A node of real numbers of which nothing is known."""
        node = _Node(tensor.untyped_storage().nbytes(), _meta(tensor))
        node.assumed = node.real = True
        self.put(tensor, node)
        return node

    def node(self, tensor):
        if tensor.numel() == 0 and type(tensor) in self.plain and tensor.layout == self.torch.strided:
            node = _Node(0, None)
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
        found = _Ref(self.node(one), _meta(one)) if one.is_cuda else self.keep(one)
        below.append(found.node)
        return found

    def ref_sparse(self, tensor, below, structure):
        """A sparse tensor as a node keeps it; STRUCTURE: with ones as its values."""
        make, names = self.parts(tensor)
        values = getattr(tensor, names[-1])()
        parts = [self.ref(getattr(tensor, name)(), below) for name in names[:-1]]
        parts.append((tuple(values.shape), values.dtype) if structure else self.ref(values, below))
        options = {"is_coalesced": tensor.is_coalesced()} if make is self.torch.sparse_coo_tensor else {}
        return _SparseRef(make, parts, tuple(tensor.shape), options)

    def keep(self, tensor, larger=False):
        """A tensor of the host, whose bytes are its node; LARGER: it counts as one of many real numbers."""
        size = tensor.numel() * tensor.element_size()
        larger = larger or size > SMALL and tensor.dtype not in self.whole
        if not self.suits(tensor) or larger and (size > LARGER or self.larger[0] + size > REALS):
            raise Unknown
        node = _Node(0, None)
        node.data = tensor.detach().clone(memory_format=self.torch.contiguous_format)
        node.nbytes = size
        node.held = _Held(self.larger, size) if larger else None
        self.kept += size
        return _Ref(node, _meta(node.data))

    def form(self, one):
        """A number for an expression: two of the same expression of the same nodes have the same one."""
        if isinstance(one, _Ref):
            return self.form(one.node), one.meta
        if isinstance(one, _SparseRef):
            return one.open, self.form(one.parts), one.shape
        if isinstance(one, (tuple, list)):
            return tuple([self.form(each) for each in one])
        if not isinstance(one, _Node):
            return one
        if one.form is None:
            how = (one.op, self.form(one.args), self.form(list(one.kwargs.items())), one.out, self.form(one.prior)) if one.args else next(_forms)
            one.form = hash(how)
        return one.form

    def make(self, op, base, args, kwargs, result, i, state):
        """A node for what OP made, the I-th of several."""
        if not self.suits(result):
            return
        node = _Node(result.untyped_storage().nbytes(), _meta(result))
        if base in _UNDEFINED:
            if result.dtype in self.whole:
                node.void = True
                self.put(result, node)
            return
        if base in _RANDOM and base != "normal" and self.is_known(result, base, args, state):
            node.op = self.random(base, args, result, state)
            node.args, node.kwargs = (), {}
        elif base in _PRODUCTS and not self.is_cheap(args, result):
            return
        elif base in _LIKE:
            value = args[{"new_full": 2, "full_like": 1}[base]] if base in ("new_full", "full_like") else int(base in ("ones_like", "new_ones"))
            node.op = functools.partial(self.torch.ops.aten.full.default, node.meta[0], value, dtype=node.meta[3])
            node.args, node.kwargs = (), {}
            node.void = base in _CLEARED and not self.is_called(base)
        elif base in _FINITE and self.is_computed(base, args):
            self.tell("numbers that kernels compute are taken to be finite: isfinite() finds them so, isnan() and isinf() none")
            node.op = functools.partial(self.torch.ops.aten.scalar_tensor.default, base in ("eq", "ne") and (base == "eq") == (args[0] is args[1]), dtype=self.torch.bool)
            node.args, node.kwargs = (), {}
        else:
            self.fill(node, op, args, kwargs, i, state)
            node.unsure += self.count_steps(args, result) if base in _PRODUCTS else 0
            node.void = (base in _CLEARED or base in _COPIES and self.nested() and result.dtype not in self.whole) and not self.is_called(base)
        self.put(result, node)

    def write(self, op, base, written, args, kwargs, state, listed=False):
        """A node for the tensor that OP wrote, its first argument or that of this name; else nothing is known of it."""
        tensor = args[0] if written == 0 else kwargs[written]
        if not self.suits(tensor):
            return
        storage = tensor.untyped_storage()
        node = _Node(storage.nbytes(), _meta(tensor))
        base = base.strip("_")
        all_of_it = written != 0 or base in _RANDOM or base in _DRAWN or base in ("fill", "zero", "copy")
        whole = all_of_it and tensor.numel() * tensor.element_size() == node.nbytes and self.is_dense(tensor)
        entry = self.nodes.get(storage._cdata)
        nested, version = self.nested(), self.version(tensor)  # what an operator writes in another one has no new version
        same = entry is not None and self.is_same(entry, tensor, version if nested or tensor.is_inference() else version - 1)
        same = same or listed and entry is not None and entry[2] == version  # _foreach_lerp_() of CUDA gives no new one
        before = entry[1] if same and self.lasts(storage, entry) and entry[1].nbytes == node.nbytes else None
        if before is None and not whole or before is not None and before.lost:
            return self.forget(tensor)
        node.prior = before if before is not None and not whole else _Node(node.nbytes, node.meta)
        self.threads.before = storage._cdata, before  # an argument may be another view of it
        try:
            if base in _RANDOM and self.is_known(tensor, base, args, state):
                node.op, node.args, node.kwargs, node.below = self.random(base, args, tensor, state), (), {}, [node.prior]
                node.assumed, node.unsure, node.real = node.prior.assumed, node.prior.unsure, node.prior.real
            elif written == 0:
                self.fill(node, op, (_WRITTEN,) + args[1:], kwargs, None, state)
            else:
                self.fill(node, op, args, dict(kwargs, **{written: _WRITTEN}), None, state)
        except Unknown:
            return self.forget(tensor)
        finally:
            self.threads.before = None
        node.void = base in _CLEARED and (nested or tensor.is_inference() and not self.is_called(base))
        node.void |= base in _COPIES and nested and tensor.dtype not in self.whole and not self.is_called(base)
        self.put(tensor, node)

    def is_computed(self, base, args):
        """Whether isnan(x), isinf(x), x == x, or abs(x) == infinity asks about real numbers that some kernel computes, of which nothing else is known."""
        x = args[0]
        if not isinstance(x, self.torch.Tensor) or not x.is_cuda or not x.is_floating_point() or not self.suits(x):
            return False
        node = self.get(x)
        if base in ("eq", "ne") and args[1] is not x:
            if type(args[1]) is not float or args[1] != math.inf or node is None or getattr(node.op, "_schema", None) is None or node.op._schema.name != "aten::abs":
                return False
            if not node.args or not isinstance(node.args[0], _Ref):
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

    def is_exact(self, node):
        """Whether a product that has been computed is what it is on a GPU, which adds in another order: small integers are, in any order."""
        factors = [self.host(one) for one in node.args if isinstance(one, _Ref)]
        if node.op._schema.name[6:].startswith(("_cdist", "_euclidean")) or node.kwargs or len(factors) != len(node.args):
            return False
        if any(one.is_complex() or not one.isfinite().all() or (one != one.round()).any() for one in factors):
            return False
        most = [int(one.abs().max()) for one in factors]
        return max(most[-2:]) <= FACTOR and sum(most[:-2]) + most[-2] * most[-1] * max(1, *factors[-2].shape[-1:]) < EXACT

    def fill(self, node, op, args, kwargs, out, state, structure=False):
        node.below = below = [node.prior] if node.prior is not None else []
        node.op, node.out = op, out
        base = op._schema.name[6:].strip("_")
        drawn = base in _RANDOM or base in _DRAWN
        if drawn:
            node.op, node.assumed = _Drawn(op, state if isinstance(state, int) else next(self.seeds)), True
            args = tuple([one for one in args if not isinstance(one, self.torch.Generator)])
            kwargs = {key: one for key, one in kwargs.items() if key != "generator"}
        node.args = self.ref(args, below, structure)
        node.kwargs = {key: self.ref(one, below, structure) for key, one in kwargs.items()} if kwargs else {}
        for one in below:
            node.depth = max(node.depth, one.depth)
            node.assumed |= one.assumed
            node.unsure = min(node.unsure + one.unsure, STEPS)
            node.real |= one.real
        node.real = (node.real or drawn and base not in _COUNTED) and node.meta[3] not in self.whole
        node.depth += 1
        if node.depth > DEPTH:
            if node.nbytes > COLLAPSE:
                raise Unknown
            self.evaluate(node)
            node.depth = 0

    # ---- numbers of the GPU's generator

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
        return _Random(kind, result.numel(), state, low, high, card)

    # ---- computing

    def evaluate(self, node):
        """The bytes of a node, as a tensor of the host."""
        with self.lock:
            todo = [node]
            while todo:
                one = todo[-1]
                if one.data is not None:
                    todo.pop()
                    continue
                below = [each for each in one.below if each.data is None]
                todo += below
                if not below:
                    self.compute(one)
            return node.data

    def compute(self, node):
        if node.lost or node.nbytes > LARGEST:
            raise Unknown
        node.lost = True  # unless it succeeds
        torch = self.torch
        self.form(node)
        with torch.no_grad(), torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction(), self.guard(self.aside):
            sparse = node.args is not None and any(isinstance(one, _SparseRef) for one in node.args)
            with self.without_warnings() if sparse else contextlib.nullcontext():
                node.data = self.bytes_of(node)
            if node.unsure:
                product = getattr(node.op, "_schema", None) is not None and node.op._schema.name[6:] in _PRODUCTS
                inexact = product and not self.is_exact(node)
                node.assumed |= inexact or any(one.assumed for one in node.below)
                node.real = (inexact or node.real or any(one.real for one in node.below)) and node.meta[3] not in self.whole
                node.unsure = 0
        self.computed += node.nbytes
        self.kept += node.nbytes
        node.args = node.kwargs = node.prior = None
        node.below = ()
        node.lost = False

    @staticmethod
    @contextlib.contextmanager
    def without_warnings():
        """PyTorch warns of sparse tensors, which here are not the program's."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield

    def bytes_of(self, node):
        torch = self.torch
        if node.prior is not None:
            data = node.prior.data.clone()
            target = self.view(data, node.meta)
            args = [target if one is _WRITTEN else self.host(one) for one in node.args]
            kwargs = {key: target if one is _WRITTEN else one for key, one in self.host(node.kwargs).items()}
            if isinstance(node.op, _Random):
                target.copy_(node.op.numbers(self, target.dtype).view(target.shape))
            elif isinstance(node.op, _Drawn):
                node.op(torch, args, kwargs)
            else:
                node.op(*args, **kwargs)
            return data
        data = torch.zeros(node.nbytes, dtype=torch.uint8)
        if node.op is None:
            if node.assumed:
                self.draw_reals(data, node.meta)
            return data
        if isinstance(node.op, _Random):
            result = node.op.numbers(self, node.meta[3]).view(node.meta[0])
        elif isinstance(node.op, _Drawn):
            result = node.op(torch, self.host(node.args), self.host(node.kwargs))
        else:
            result = node.op(*self.host(node.args), **self.host(node.kwargs))
        if isinstance(node.out, str):
            result = getattr(result, node.out)()
        elif node.out is not None:
            result = result[node.out]
        self.view(data, node.meta).copy_(result)
        return data

    def draw_reals(self, data, meta):
        """Normal numbers; in the second draw half of their variance is that of the columns, so that one of several that compete (experts) gets more than another."""
        torch, shape = self.torch, meta[0]
        numbers = self.view(data, ((data.numel() // meta[3].itemsize,), (1,), 0, meta[3]))
        normal = torch.ops.aten.normal_.default  # numbers.normal_() is one that may leave out what it draws (lazy_host.py)
        normal(numbers, generator=self.draws)
        if self.second and shape and numbers.numel() % shape[-1] == 0:
            numbers = numbers.view(-1, shape[-1])
            numbers.add_(normal(torch.empty(shape[-1], dtype=meta[3]), generator=self.draws)).mul_(0.5**0.5)

    def host(self, one):
        """An argument of a node as PyTorch's operators on the host take it."""
        if isinstance(one, _Ref):
            return self.view(one.node.data, one.meta)
        if isinstance(one, _SparseRef):
            parts = [self.torch.ones(part[0], dtype=part[1]) if isinstance(part, tuple) else self.host(part) for part in one.parts]
            return one.open(*parts, one.shape, check_invariants=False, **one.options)
        if isinstance(one, tuple):
            return [self.host(each) for each in one]
        if isinstance(one, dict):
            return {key: self.host(each) for key, each in one.items() if key not in ("pin_memory", "non_blocking")}
        return self.torch.device("cpu") if isinstance(one, self.torch.device) else one

    def view(self, data, meta):
        return self.torch.empty(0, dtype=meta[3]).set_(data.untyped_storage(), meta[2], meta[0], meta[1])

    # ---- what is read

    def value(self, tensor):
        """What a tensor of the GPU holds, on the host, and whether that is assumed."""
        node = self.node(tensor)
        if tensor.dtype not in self.whole:
            if node.unsure and not node.real and node.unsure <= FEW:
                self.evaluate(node)
            if node.real or node.unsure:
                raise Unknown
        return self.view(self.evaluate(node), _meta(tensor)), node.assumed

    def ask(self, ask, args, kwargs):
        """What the operator is about to read; None: that is not known."""
        try:
            values = ask(args, kwargs)
        except Exception:  # no node, or it cannot be computed
            return None
        if values and not (values[0].assumed and values[0].bytes is not None):  # an integer that is assumed is counted where it is read
            self.told(values[0].assumed)
        return values

    def read(self, tensor):
        """What the program reads; a truth value that is assumed is not known, nor are data: these are not computed."""
        if self.node(tensor).assumed and (tensor.dtype == self.torch.bool or tensor.numel() * tensor.element_size() > LIST):
            raise Unknown
        data, assumed = self.value(tensor)
        if assumed and (tensor.dtype == self.torch.bool or data.nbytes > LIST):
            raise Unknown
        return data, assumed

    def compared(self, tensor):
        """"gt" and 1e-10 of a truth value that says whether a tensor is greater than that number, or than another tensor, in whose place None stands."""
        node = self.get(tensor) if tensor.dtype == self.torch.bool and self.suits(tensor) else None
        if node is None or node.prior is not None or not node.args or len(node.args) != 2 or not hasattr(node.op, "_schema"):
            return "", None
        return node.op._schema.name[6:], node.args[1] if type(node.args[1]) in _NUMBERS else None

    def before_local_scalar_dense(self, args, kwargs):
        if not args[0].is_cuda:
            return None
        self.threads.compared = self.compared(args[0])
        data, assumed = self.read(args[0])
        return [Value(None, data.contiguous(), assumed)]

    def before_to_copy(self, args, kwargs):
        device = kwargs.get("device")
        if not args[0].is_cuda or device is None or device.type != "cpu":
            return None
        wanted, order = kwargs.get("dtype") or args[0].dtype, kwargs.get("memory_format")
        same = order in (None, self.torch.preserve_format) and self.is_dense(args[0])
        return self.copied(args[0], wanted, args[0].shape, same, kwargs.get("non_blocking"))

    def before_copy(self, args, kwargs):
        if args[0].is_cuda or not args[1].is_cuda:
            return None
        to, source = args[:2]
        same = (to.shape, to.stride()) == (source.shape, source.stride()) and self.is_dense(source)
        return self.copied(source, to.dtype, to.shape, same, len(args) > 2 and args[2] or kwargs.get("non_blocking"))

    def copied(self, source, wanted, shape, same, at_once):
        """What the host reads of SOURCE as a tensor of type WANTED: memory as it is if it has the SAME order, else in that of the elements; the host changes the type,
        unless the copy is made AT_ONCE, without waiting."""
        data, assumed = self.read(source)
        if data.dtype != wanted or not same:
            raw = (data.to(wanted) if at_once else data).expand(shape).contiguous()
            return [Value(None, data.to(wanted).expand(shape), assumed, raw)]
        return [Value(None, data, assumed)]

    def before_equal(self, args, kwargs):
        one, other = args
        if not one.is_cuda or not other.is_cuda or one.shape != other.shape:
            return None
        a, b = self.node(one), self.node(other)
        if (self.form(a), _meta(one)) == (self.form(b), _meta(other)):
            same = True
        else:
            (data, assumed), (more, too) = self.value(one), self.value(other)
            if assumed or too:
                raise Unknown
            same = self.torch.equal(data, more)
        return [Value(None, self.torch.tensor([same]), False)]

    def sizes(self, tensor, count):
        node = self.node(tensor)
        data = self.view(self.evaluate(node), _meta(tensor))
        return [Value(int(one), None, node.assumed) for one in count(data)]

    def before_nested_tensor_from_mask_left_aligned(self, args, kwargs):
        data, assumed = self.read(args[1])
        rows = self.torch.arange(data.shape[1]) < data.sum(1, keepdim=True)
        return [Value(None, self.torch.tensor([self.torch.equal(data.bool(), rows)]), assumed)]

    def before_sparse_compressed_tensor(self, args, kwargs):
        """The backward pass makes a matrix of ones of this one, with zeros, and looks where it has ones."""
        if args[2].is_cuda and args[2].requires_grad and args[2].dim() == 1:
            elements, count = math.prod(args[3]), args[2].numel()
            self.filled[elements] = count if self.filled.get(elements, count) == count else None

    def before_nonzero(self, args, kwargs):
        if args[0].is_cuda and self.get(args[0]) is None and self.torch._C._dispatch_tls_is_dispatch_key_included(self.backward):
            count = self.filled.get(args[0].numel())
            return None if count is None else [Value(count, None, False)]
        return self.sizes(args[0], lambda data: [data.count_nonzero()]) if args[0].is_cuda else None

    def before_index(self, args, kwargs):
        masks = [one for one in args[1] if one is not None and one.is_cuda and one.dtype in self.masks and one.dim()]
        return [value for one in masks for value in self.sizes(one, lambda data: [data.count_nonzero()])]

    before_unsafe_index = before_index

    def before_index_put(self, args, kwargs):
        """One number for all that one mask selects is filled in, and nobody asks how many these are."""
        given, value = [one for one in args[1] if one is not None], args[2]
        if len(given) == 1 and value.numel() == 1 and not value.is_cuda and not (args[3] if len(args) > 3 else kwargs.get("accumulate")):
            return None
        return self.before_index(args, kwargs)

    before_index_put_impl = before_index_put

    def before_masked_select(self, args, kwargs):
        shape = self.torch.broadcast_shapes(args[0].shape, args[1].shape)
        return self.sizes(args[1], lambda data: [data.expand(shape).count_nonzero()]) if args[1].is_cuda else None

    def before_unique2(self, args, kwargs):
        return self.sizes(args[0], lambda data: [data.unique().numel()]) if args[0].is_cuda else None

    before_unique = before_unique2

    def before_unique_dim(self, args, kwargs):
        return self.sizes(args[0], lambda data: [data.unique(dim=args[1]).shape[args[1]]]) if args[0].is_cuda else None

    def before_unique_consecutive(self, args, kwargs):
        dim = args[3] if len(args) > 3 else kwargs.get("dim")
        return self.sizes(args[0], lambda data: [data.unique_consecutive(dim=dim).shape[dim or 0]]) if args[0].is_cuda else None

    def before_isin(self, args, kwargs):
        """Both are sorted and made unique, unless one of them is small."""
        both = (*args, *kwargs.values())[:2]
        if not all(isinstance(one, self.torch.Tensor) and one.is_cuda for one in both) or both[1].numel() < int(10 * both[0].numel() ** 0.145):
            return None
        return [value for one in both for value in self.before_unique2([one], {})]

    def before_bincount(self, args, kwargs):
        return self.sizes(args[0], lambda data: [data.min(), data.max()]) if args[0].is_cuda else None

    def before_repeat_interleave(self, args, kwargs):
        repeats = args[1] if len(args) > 1 else args[0]
        return self.sizes(repeats, lambda data: [data.sum()]) if isinstance(repeats, self.torch.Tensor) and repeats.is_cuda else None

    def before_normal(self, args, kwargs):
        """The operator looks whether the deviations are valid."""
        return [Value(None, self.torch.ones(1, dtype=self.torch.bool), False)] * 2 if len(args) > 1 and isinstance(args[1], self.torch.Tensor) and args[1].is_cuda else None

    def before_sparse_mm(self, args, kwargs):
        """What cuSPARSE reads of the product of two sparse matrices: how many products of entries it has, how many entries, and a number of blocks, with
        which its requests are the same whatever it is (tried with 0 to 100)."""
        torch, two = self.torch, args[:2]
        if two[0].layout == torch.sparse_coo and two[1].layout == torch.strided and two[0].is_coalesced():
            self.turn(tuple(two[0].shape), two[0]._nnz(), two[0]._nnz())
        if not two[0].is_cuda or any(one.layout not in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo) for one in two):
            return None
        if torch._C._dispatch_tls_is_dispatch_key_included(self.backward):
            return self.multiply_back(two)
        (left, assumed), (right, too) = (self.places_of(one) for one in two)
        values, found = self.multiply(two, left, right, assumed or too)
        if any(one.requires_grad for one in two):
            self.multiplied.append([(one, each._nnz()) for one, each in ((left, two[0]), (right, two[1]))] + [(found, found._nnz())])
        return values

    def places_of(self, tensor):
        """A matrix of the host with ones where TENSOR has entries, and whether these are assumed."""
        torch, layouts = self.torch, {self.torch.sparse_csr: ("crow_indices", "col_indices"), self.torch.sparse_csc: ("ccol_indices", "row_indices")}
        parts = [getattr(tensor, part)() for part in layouts.get(tensor.layout, ("_indices",))]
        nodes = [self.node(part) for part in parts]
        data = [self.view(self.evaluate(node), _meta(part)).long() for node, part in zip(nodes, parts)]
        rows, columns = data[0] if len(data) == 1 else (torch.repeat_interleave(data[0].diff()), data[1])
        indices = torch.stack((columns, rows) if tensor.layout == torch.sparse_csc else (rows, columns))
        return torch.sparse_coo_tensor(indices, torch.ones(len(rows)), tuple(tensor.shape), check_invariants=False).coalesce(), any(node.assumed for node in nodes)

    def multiply(self, two, left, right, assumed):
        """What is read of the product of TWO, which have entries where LEFT and RIGHT have some; each is coalesced first.  And where the product has entries."""
        torch = self.torch
        products = int((torch.bincount(left.indices()[1], minlength=left.shape[1]) * torch.bincount(right.indices()[0], minlength=right.shape[0])).sum())
        if products > ENTRIES:
            raise Unknown
        with self.without_warnings():
            found = torch.sparse.mm(left, right)
        first = [Value(each._nnz(), None, assumed) for one, each in zip(two, (left, right)) if one.layout == torch.sparse_coo and not one.is_coalesced()]
        return first + [Value(products, None, assumed), Value(None, torch.tensor([found._nnz(), 0]), False), Value(0, None, False)], found

    def multiply_back(self, two):
        """A product of the backward pass has the gradient, with entries where a product has some, and one of what was multiplied, turned."""
        facts, wanted = [], [(tuple(one.shape), one._nnz()) for one in two]
        for a, b, found in self.multiplied:
            for pair in ((found, self.turn_matrix(b)), (self.turn_matrix(a), found)):
                if [(tuple(one.shape), count) for one, count in pair] == wanted:
                    facts.append(self.multiply(two, pair[0][0].coalesce(), pair[1][0].coalesce(), False)[0])
        read = [[one.number if one.bytes is None else one.bytes.tolist() for one in each] for each in facts]
        return facts[0] if facts and all(one == read[0] for one in read) else None

    @staticmethod
    def turn_matrix(one):
        return one[0].t(), one[1]

    before_mm = before_sparse_sparse_matmul = before_sparse_mm

    def turn(self, shape, entries, count):
        """The backward pass of a product turns its first matrix, where nobody looks, and sums up what is in one place: of ENTRIES there are COUNT."""
        key = shape[::-1], entries
        self.turned[key] = count if self.turned.get(key, count) == count else None

    def before_sparse_softmax(self, args, kwargs):
        """How many rows, along that dimension, have entries; before that, where there may be several in one place, in how many there are some."""
        tensor, dim = args[:2]
        if not tensor.is_cuda or tensor.layout != self.torch.sparse_coo or not -tensor.dim() <= dim < tensor.sparse_dim():
            return None
        first = [] if tensor.is_coalesced() else self.before_coalesce(args, kwargs)
        others = [i for i in range(tensor.sparse_dim()) if i != dim % tensor.dim()]
        return first + self.sizes(tensor._indices(), lambda data: [self.places(data[others], [tensor.shape[i] for i in others]) if others else 1])

    before_sparse_log_softmax = before_sparse_softmax

    def before_sparse_softmax_backward_data(self, args, kwargs):
        return self.before_sparse_softmax(args[1:3], {})

    before_sparse_log_softmax_backward_data = before_sparse_softmax_backward_data

    @staticmethod
    def places(indices, extents):
        """How many different columns INDICES have, each row of which is below its extent."""
        places = indices[0]
        for extent, more in zip(extents[1:], indices[1:]):
            places = places * extent + more
        return places.unique().numel()

    def before_add(self, args, kwargs):
        """How many entries the sum of two matrices has, which cuSPARSE says; of tensors of coordinates PyTorch keeps them all."""
        torch, assumed, keys = self.torch, False, []
        if not args[0].is_cuda or any(getattr(one, "layout", None) != torch.sparse_csr for one in args[:2]):
            return None
        for one in args[:2]:
            parts = [one.crow_indices(), one.col_indices()]
            nodes = [self.node(part) for part in parts]
            rows, columns = [self.view(self.evaluate(node), _meta(part)).long() for node, part in zip(nodes, parts)]
            assumed |= any(node.assumed for node in nodes)
            keys.append(torch.repeat_interleave(rows.diff()) * one.shape[1] + columns)
        return [Value(torch.cat(keys).unique().numel(), None, assumed)]

    def before_index_select(self, args, kwargs):
        tensor, dim, index = args[:3]
        if tensor.layout != self.torch.sparse_coo or not tensor.is_cuda or dim >= tensor.sparse_dim():
            return None
        of_index = self.node(index)
        wanted = self.view(self.evaluate(of_index), _meta(index)).long()
        return [
            Value(one.number, None, one.assumed or of_index.assumed)
            for one in self.sizes(tensor._indices(), lambda data: [data[dim].bincount(minlength=tensor.shape[dim])[wanted].sum()])
        ]

    def before_embedding(self, args, kwargs):
        """Keeps which rows are looked up: they are the indices of the table's gradient, which PyTorch clones in the backward pass, where nobody looks."""
        weight, indices = args[:2]
        if weight.is_cuda and weight.requires_grad and (kwargs.get("sparse") or len(args) > 4 and args[4]):
            kept = self.lookups.get(id(weight))
            if kept is None or kept[0]() is not weight:
                kept = self.lookups[id(weight)] = weakref.ref(weight, lambda _, key=id(weight): self.lookups.pop(key, None)), collections.deque(maxlen=LOOKUPS)
            kept[1].append(_Ref(self.node(indices), _meta(indices)))

    def find_rows(self, gradient):
        """Makes the node of the indices of a table's sparse gradient: those of the last lookups that are as many."""
        indices = gradient._indices()
        for weight, lookups in self.lookups.values():
            own = weight().grad
            if own is not None and own.layout == self.torch.sparse_coo and own._indices().data_ptr() == indices.data_ptr():
                refs = list(lookups)
                while refs and sum(math.prod(one.meta[0]) for one in refs) > indices.numel():
                    refs.pop(0)
                if sum(math.prod(one.meta[0]) for one in refs) == indices.numel():
                    node = _Node(indices.untyped_storage().nbytes(), _meta(indices))
                    node.op, node.args, node.kwargs = self.rows, tuple(refs), {}
                    node.below = [one.node for one in refs]
                    node.assumed = any(one.assumed for one in node.below)
                    node.unsure = sum(one.unsure for one in node.below)
                    self.put(indices, node)

    def rows(self, *lookups):
        return self.torch.cat([one.reshape(1, -1) for one in lookups], dim=1)

    def before_coalesce(self, args, kwargs):
        tensor, indices = args[0], args[0]._indices()
        shape = tuple(tensor.shape)
        if not tensor.is_cuda:
            return None
        if self.get(indices) is None:
            self.find_rows(tensor)
        if self.get(indices) is None and self.torch._C._dispatch_tls_is_dispatch_key_included(self.backward):
            count = self.turned.get((shape, tensor._nnz()))
            return None if count is None else [Value(count, None, False)]
        values = self.sizes(indices, lambda data: [self.places(data, shape)])
        if not values[0].assumed and len(shape) == 2:
            self.turn(shape, tensor._nnz(), values[0].number)
        return values

    def comparison(self):
        """What made the truth value that item() reads in this thread."""
        return getattr(self.threads, "compared", ("", None))

    def is_whole(self):
        """Whether what item() reads in this thread is an integer."""
        return getattr(self.threads, "whole", False)

    def take(self, size):
        """Of what the operator that runs in this thread reads: what a copy of SIZE bytes gets; None: that is not known."""
        pending = getattr(self.threads, "pending", None)
        return pending.pop(0) if pending and pending[0].fits(size) else None


known = Known()  # of this process


def watch_nested(nested):
    """Lengths of jagged tensors are read in Python that PyTorch calls for their operators."""
    dispatch = nested.__torch_dispatch__.__func__

    @Known.shown
    def again(cls, func, types, args=(), kwargs=None):
        with known.in_python():
            return dispatch(cls, func, types, args, kwargs)

    nested.__torch_dispatch__ = classmethod(again)


def watch_compiled(launcher):
    """The kernels of PyTorch's compiler say by the names of their arguments which tensors they only read: these are known after them, too."""
    run = launcher.run

    @Known.shown
    def run_again(self, *args, **kwargs):
        kept = known.only_read(self, args) if known.nodes else ()
        result = run(self, *args, **kwargs)
        known.read_since(kept)
        return result

    launcher.run = functools.wraps(run)(run_again)

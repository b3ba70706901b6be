"""known.py - integers and truth values of the GPU that follow from the host: they are computed when the program reads one or an operator reads a size from it.

    known.start (torch, told)      once, when CUDA is initialised: this thread, those that Python starts later, and those that PyTorch's backward pass runs in are watched
    known.take (size)              what the copy of SIZE bytes to the host reads that this thread makes: a Value, or None
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
no longer known.  Tensors without a version (inference mode), of subclasses (FakeTensor), and what graphs capture are not known at all.

Invariants: the program's operators make the requests that they make without this, with the numbers that they read here.  A node that cannot be computed is as if there were
none.  At most DEPTH nodes stand on each other.
"""
import collections
import contextlib
import ctypes
import functools
import importlib
import itertools
import os
import struct
import threading

SMALL = 1 << 16  # real numbers of the host up to so many bytes are kept; integers are, whatever their number
LARGEST = 1 << 31  # bytes of a tensor that is computed
LIST = 1 << 20  # so many bytes of integers may be a list from which sizes follow
DEPTH = 60
COLLAPSE = 1 << 15  # a node of so few bytes is computed when it is DEPTH nodes high, others are forgotten
PURGE = 1 << 26  # bytes of the host after which nodes of tensors that are gone are dropped

# ---- the operators, by the names of PyTorch's dispatcher; with each goes the one that works in place
_FACTORIES = "zeros ones full zeros_like ones_like full_like new_zeros new_ones new_full arange scalar_tensor eye linspace tril_indices triu_indices fill zero"
_MOVES = "_to_copy copy clone"
_RANDOM = "rand randn randint rand_like randint_like randn_like".split()
_UNDEFINED = "empty empty_like new_empty empty_strided".split()
_BOOLEAN = "eq ne lt le gt ge logical_and logical_or logical_not logical_xor isnan isinf isin bitwise_and bitwise_or bitwise_xor bitwise_not"
_POINTWISE = "add sub rsub mul div remainder floor_divide neg abs sign clamp clamp_min clamp_max maximum minimum where masked_fill floor ceil round trunc pow sqrt exp log"
_REDUCED = "sum any all max min amax amin argmax argmin cumsum cumprod count_nonzero mean"
_ORDERED = "sort argsort topk searchsorted bucketize _softmax sigmoid softplus tanh relu sin cos rsqrt reciprocal erf log1p expm1"
_MOVED = "cat stack gather scatter scatter_add index_select index_add index_copy tril triu flip roll repeat take constant_pad_nd"
_SIZED = "nonzero index index_put _index_put_impl _unsafe_index masked_select masked_scatter _unique2 unique_dim unique_consecutive bincount repeat_interleave _coalesce histc"
_READS = "_local_scalar_dense equal"
_OPERATORS = " ".join((_FACTORIES, _MOVES, _BOOLEAN, _POINTWISE, _REDUCED, _ORDERED, _MOVED, _SIZED, _READS)).split() + _RANDOM + _UNDEFINED
_SELECT = ["nonzero", "_unique2", "unique_dim", "unique_consecutive", "bincount", "_local_scalar_dense"]
_KEY, _BACKWARD_KEY = "TESTING_ONLY_GenericMode", "TESTING_ONLY_GenericWrapper"
SHOWN = "site-packages/gemem/known.py"  # where these functions stand in call stacks: in a package, not in the program
_forms = itertools.count(1)



class Value(collections.namedtuple("Value", "number bytes assumed")):
    """What the host reads: an integer of 4 or 8 bytes, or the bytes of a tensor."""

    def fits(self, size):
        return size in (4, 8) if self.bytes is None else self.bytes.nbytes == size

    def give(self, address, size):
        if self.bytes is None:
            ctypes.memmove(address, struct.pack({4: "i", 8: "q"}[size], self.number), size)
        else:
            ctypes.memmove(address, self.bytes.data_ptr(), size)


class Unknown(Exception):
    """No node can be made or computed."""


class _Node(object):
    """How the bytes of a storage come to be: what OP makes of ARGS, or writes into what PRIOR was; META: shape, strides, offset and type of the tensor that it made or wrote.
    Without OP: drawn, if ASSUMED, else zero."""

    __slots__ = ("op", "args", "kwargs", "out", "meta", "nbytes", "prior", "below", "data", "assumed", "depth", "lost", "form")

    def __init__(self, nbytes, meta):
        self.op = self.args = self.kwargs = self.out = self.prior = self.data = self.form = None
        self.nbytes, self.meta, self.assumed, self.depth, self.lost, self.below = nbytes, meta, False, 0, False, ()


class _Ref(object):
    """A tensor among the arguments of a node."""

    __slots__ = ("node", "meta")

    def __init__(self, node, meta):
        self.node, self.meta = node, meta


_NUMBERS = {int, float, bool, complex}
_WRITTEN = object()  # stands for the tensor that an operator writes, among its arguments


class _Numbers(ctypes.Structure):
    """GememDryNumbers of dry/driver/philox.h"""

    _fields_ = [(name, ctypes.c_uint64) for name in ("seed", "offset", "threads", "n")] + [("low", ctypes.c_int64), ("range", ctypes.c_uint64), ("to", ctypes.c_void_p)]


class _Random(object):
    """Numbers of the GPU's generator, which the driver's library makes (dry/driver/philox.c)."""

    def __init__(self, kind, n, state, low, high, card):
        self.kind, self.n, self.state, self.low, self.high = kind, n, state, low, high
        self.threads = card.multi_processor_count * card.max_threads_per_multi_processor

    def numbers(self, known):
        torch = known.torch
        out = torch.empty(self.n, dtype=torch.int64 if self.kind == "randint" else torch.float32)
        numbers = _Numbers(self.state[0] % (1 << 64), self.state[1], self.threads, self.n, self.low, self.high - self.low, out.data_ptr())
        if not known.draw(self.kind.encode(), ctypes.byref(numbers)):
            raise Unknown
        return out


def _meta(tensor):
    return tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.dtype


class Known(object):
    def __init__(self):
        self.torch = None
        self.nodes = {}  # storage -> weak reference, node, version
        self.kept, self.most = 0, 512  # bytes of the host since nodes were last dropped, and so many are kept
        self.given = self.computed = 0
        self.threads = threading.local()
        self.lock = threading.RLock()

    # ---- the program's operators

    def start(self, torch, told):
        """TOLD (ASSUMED): called when a value, or an assumed size, is given to the program."""
        from torch.multiprocessing.reductions import StorageWeakRef

        inner = torch._C
        key, backward = inner._parse_dispatch_key(_KEY), inner._parse_dispatch_key(_BACKWARD_KEY)
        self.torch, self.weak, self.told, driver = torch, StorageWeakRef, told, ctypes.CDLL(None)
        self.draw, self.is_foreign, self.foreign = driver.gemem_dry_draw, driver.gemem_dry_is_foreign, ctypes.c_uint64.in_dll(driver, "gemem_dry_foreign")
        self.is_foreign.argtypes = (ctypes.c_uint64,) * 3
        self.key, self.keys = key, inner.DispatchKeySet(key).add(backward)
        self.backward_keys = inner.DispatchKeySet(backward)
        self.below = inner._dispatch_keyset_full_after(backward)
        self.guard, self.plain = inner._ExcludeDispatchKeyGuard, (torch.Tensor, torch.nn.Parameter)
        self.whole = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
        self.masks = {torch.bool, torch.uint8}
        self.aside = self.keys.add(inner.DispatchKey.AutocastCPU)
        self.second = os.environ.get("GEMEM_DRY_DRAW") == "2"
        self.draws = torch.Generator().manual_seed(2 if self.second else 1)
        self.library = [torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")]
        self.library[0].fallback(torch.library.fallthrough_kernel, _KEY)
        self.library[0].fallback(torch.library.fallthrough_kernel, _BACKWARD_KEY)
        names = set(_OPERATORS) | {name + "_" for name in _OPERATORS}
        for full in inner._dispatch_get_all_op_names():
            base, _, overload = full.partition(".")
            if base.startswith("aten::") and base[6:] in names and "out" not in overload and "name" not in overload:
                self.watch(getattr(getattr(torch.ops.aten, base[6:]), overload or "default"), full[6:])
        self.watch_backward()
        self.watch_threads()
        inner._dispatch_tls_set_dispatch_key_included(key, True)
        os.register_at_fork(after_in_child=lambda: inner._dispatch_tls_set_dispatch_key_included(key, False))  # CUDA does not go on there

    def watch_threads(self):
        """Each thread has keys of its own, and begins without."""
        begin, include, key, pid = threading.Thread._bootstrap_inner, self.torch._C._dispatch_tls_set_dispatch_key_included, self.key, os.getpid()

        def begin_again(thread):
            include(key, os.getpid() == pid)
            begin(thread)

        threading.Thread._bootstrap_inner = begin_again

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

    def watch_hooks(self, register, again):
        """REGISTER, a method of tensors, whose hooks run as the program's Python does."""

        def wrap(hook):
            @self.shown
            def run(*args):
                with again():
                    return hook(*args)

            return run

        @functools.wraps(register)
        def register_again(tensor, hook):
            return register(tensor, wrap(hook))

        return register_again

    def watch(self, op, name):
        """Sees each call of OP."""
        schema = op._schema
        if any(one.alias_info is not None and not one.alias_info.is_write for one in schema.returns):
            return  # a view
        written = [i for i, one in enumerate(schema.arguments) if one.alias_info is not None and one.alias_info.is_write]
        base = name.partition(".")[0]
        ask = getattr(self, "before_" + base.strip("_"), None)
        random = base in _RANDOM
        redispatch, guard, keys, below = op._handle.redispatch_boxed, self.guard, self.keys, self.below
        if len(written) > 1 or written and written[0] != 0:
            return
        written = bool(written)
        tensors = [i for i, one in enumerate(schema.arguments) if i > 0 and one.type.kind() == "TensorType"]
        whole = self.call_whole(op)

        def call(keyset, *args, **kwargs):
            with guard(keys):
                state = self.generator(args, kwargs) if random else None
                values = self.ask(ask, args, kwargs) if ask else None
                self.threads.pending = values
                n = len(args)
                for i in tensors:
                    if i < n and type(args[i]) in _NUMBERS:
                        result = whole(*args, **kwargs)
                        break
                else:
                    result = redispatch(keyset & below, *args, **kwargs)
                self.threads.pending = None
                try:
                    self.note(op, base, written, args, kwargs, result, state, values)
                except Exception:  # whatever it is, it concerns what is known, not the program
                    pass
                return result

        self.shown(call)
        self.library[1].impl(name, call, _KEY, with_keyset=True)
        if base in _SELECT:
            self.library[1].impl(name, call, _BACKWARD_KEY, with_keyset=True)

    @staticmethod
    def shown(function):
        """Stacks show FUNCTION in a package of gemem's."""
        function.__code__ = function.__code__.replace(co_filename=SHOWN)
        return function

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
        if written:
            if args[0].is_cuda:
                return self.write(op, args, kwargs)
            if values and values[0].bytes.nbytes > LIST:
                args[0].copy_(values[0].bytes)
            return None
        if isinstance(result, self.torch.Tensor):
            if result.is_cuda:
                return self.make(op, base, args, kwargs, result, None, state)
            if values and values[0].bytes is not None and values[0].bytes.nbytes > LIST:  # else values.py gives it, or what --value chooses
                result.copy_(values[0].bytes)
        elif isinstance(result, tuple):
            for i, one in enumerate(result):
                if isinstance(one, self.torch.Tensor) and one.is_cuda:
                    self.make(op, base, args, kwargs, one, i, state)
        return None

    def capture(self, result):
        """What a graph writes each time it runs is known never again."""
        for one in result if isinstance(result, tuple) else (result,):
            if isinstance(one, self.torch.Tensor) and one.is_cuda and self.suits(one):
                self.put(one, None)

    # ---- nodes

    def suits(self, tensor):
        return type(tensor) in self.plain and tensor.layout == self.torch.strided and not tensor.is_inference() and tensor.numel() > 0

    def get(self, tensor):
        """The node of a tensor that is still what it was; None: there is none."""
        storage = tensor.untyped_storage()
        entry = self.nodes.get(storage._cdata)
        return entry[1] if entry is not None and entry[2] == tensor._version and self.lasts(storage, entry) else None

    def lasts(self, storage, entry):
        """Whether ENTRY is that of this storage, and no kernel of others has got it since."""
        weak, node, _, since = entry
        return node is not None and not weak.expired() and (self.foreign.value == since or not self.is_foreign(storage.data_ptr(), storage.nbytes(), since))

    def put(self, tensor, node):
        storage = tensor.untyped_storage()
        entry = self.nodes.get(storage._cdata)
        old = entry is not None and not entry[0].expired()
        if old and entry[1] is None:
            return  # a graph writes there
        self.nodes[storage._cdata] = entry[0] if old else self.weak(storage), node, tensor._version, self.foreign.value
        if self.kept > PURGE or len(self.nodes) > self.most:
            self.nodes = {key: entry for key, entry in self.nodes.items() if not entry[0].expired()}
            self.kept, self.most = 0, 2 * len(self.nodes) + 512

    def leaf(self, tensor):
        """A node of real numbers of which nothing is known."""
        node = _Node(tensor.untyped_storage().nbytes(), _meta(tensor))
        node.assumed = True
        self.put(tensor, node)
        return node

    def node(self, tensor):
        if not self.suits(tensor):
            raise Unknown
        node = self.get(tensor)
        if node is None and tensor.is_floating_point():
            node = self.leaf(tensor)
        if node is None or node.lost:
            raise Unknown
        return node

    def ref(self, one, below):
        """An argument as a node keeps it; its nodes are added to BELOW."""
        kind = type(one)
        if kind is list or kind is tuple:
            return tuple([self.ref(each, below) for each in one])
        if not isinstance(one, self.torch.Tensor):
            return one
        found = _Ref(self.node(one), _meta(one)) if one.is_cuda else self.keep(one)
        below.append(found.node)
        return found

    def keep(self, tensor):
        """A tensor of the host, whose bytes are its node."""
        size = tensor.numel() * tensor.element_size()
        if not self.suits(tensor) or size > SMALL and tensor.dtype not in self.whole:
            raise Unknown
        node = _Node(0, None)
        node.data = tensor.detach().clone(memory_format=self.torch.contiguous_format)
        node.nbytes = size
        self.kept += size
        return _Ref(node, _meta(node.data))

    def form(self, one):
        """A number for an expression: two of the same expression of the same nodes have the same one."""
        if isinstance(one, _Ref):
            return self.form(one.node), one.meta
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
        if base in _RANDOM:
            node.op = self.random(base, args, kwargs, result, state)
            node.args, node.kwargs = (), {}
        elif base in _UNDEFINED:
            if result.dtype in self.whole:
                self.put(result, node)
            return
        else:
            self.fill(node, op, args, kwargs, i)
        self.put(result, node)

    def write(self, op, args, kwargs):
        """A node for the tensor that OP wrote, its first argument; without one its version is no longer that of the node before."""
        tensor = args[0]
        if not self.suits(tensor):
            return
        storage = tensor.untyped_storage()
        node = _Node(storage.nbytes(), _meta(tensor))
        whole = tensor.numel() * tensor.element_size() == node.nbytes and op._schema.name in ("aten::fill_", "aten::zero_", "aten::copy_")
        entry = self.nodes.get(storage._cdata)
        before = entry[1] if entry is not None and entry[2] == tensor._version - 1 and self.lasts(storage, entry) else None
        if before is None and not whole or before is not None and before.lost:
            return
        node.prior = before if before is not None else _Node(node.nbytes, node.meta)
        self.fill(node, op, (_WRITTEN,) + args[1:], kwargs, None)
        self.put(tensor, node)

    def fill(self, node, op, args, kwargs, out):
        node.below = below = [node.prior] if node.prior is not None else []
        node.op, node.out = op, out
        node.args = self.ref(args, below)
        node.kwargs = {key: self.ref(one, below) for key, one in kwargs.items()} if kwargs else {}
        for one in below:
            node.depth = max(node.depth, one.depth)
            node.assumed |= one.assumed
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

    def random(self, base, args, kwargs, result, state):
        wanted = self.torch.int64 if base.startswith("randint") else self.torch.float32
        if state is None or result.dtype != wanted or not result.is_contiguous():
            raise Unknown
        low, high = 0, 0
        if wanted == self.torch.int64:
            numbers = [one for one in args if isinstance(one, int)]
            low, high = numbers if len(numbers) == 2 else (0, numbers[0])
            if not 0 < high - low < 1 << 28:
                raise Unknown
        card = self.torch.cuda.get_device_properties(result.device)
        return _Random(base.partition("_")[0], result.numel(), state, low, high, card)

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
            node.data = self.bytes_of(node)
        self.computed += node.nbytes
        self.kept += node.nbytes
        node.args = node.kwargs = node.prior = None
        node.below = ()
        node.lost = False

    def bytes_of(self, node):
        torch = self.torch
        if node.prior is not None:
            data = node.prior.data.clone()
            target = self.view(data, node.meta)
            node.op(*[target if one is _WRITTEN else self.host(one) for one in node.args], **self.host(node.kwargs))
            return data
        data = torch.zeros(node.nbytes, dtype=torch.uint8)
        if node.op is None:
            if node.assumed:
                self.draw_reals(data, node.meta)
            return data
        result = node.op.numbers(self) if isinstance(node.op, _Random) else node.op(*self.host(node.args), **self.host(node.kwargs))
        result = result if node.out is None else result[node.out]
        self.view(data, node.meta).copy_(result.view(node.meta[0]) if isinstance(node.op, _Random) else result)
        return data

    def draw_reals(self, data, meta):
        """Normal numbers; in the second draw half of their variance is that of the columns, so that one of several that compete (experts) gets more than another."""
        torch, shape = self.torch, meta[0]
        numbers = self.view(data, ((data.numel() // meta[3].itemsize,), (1,), 0, meta[3]))
        numbers.normal_(generator=self.draws)
        if self.second and shape and numbers.numel() % shape[-1] == 0:
            numbers = numbers.view(-1, shape[-1])
            numbers.add_(torch.empty(shape[-1], dtype=meta[3]).normal_(generator=self.draws)).mul_(0.5**0.5)

    def host(self, one):
        """An argument of a node as PyTorch's operators on the host take it."""
        if isinstance(one, _Ref):
            return self.view(one.node.data, one.meta)
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
        if node.assumed and tensor.dtype not in self.whole:
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
        """What the program reads; a truth value that is assumed is not known, nor are data."""
        data, assumed = self.value(tensor)
        if assumed and (tensor.dtype == self.torch.bool or data.nbytes > LIST):
            raise Unknown
        return data, assumed

    def before_local_scalar_dense(self, args, kwargs):
        if not args[0].is_cuda:
            return None
        data, assumed = self.read(args[0])
        return [Value(None, data.contiguous(), assumed)]

    def before_to_copy(self, args, kwargs):
        device = kwargs.get("device")
        if not args[0].is_cuda or device is None or device.type != "cpu":
            return None
        data, assumed = self.read(args[0])
        return [Value(None, data.to(kwargs.get("dtype") or data.dtype).contiguous(), assumed)]

    def before_copy(self, args, kwargs):
        if args[0].is_cuda or not args[1].is_cuda:
            return None
        data, assumed = self.read(args[1])
        return [Value(None, data.to(args[0].dtype).expand(args[0].shape).contiguous(), assumed)]

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

    def before_nonzero(self, args, kwargs):
        return self.sizes(args[0], lambda data: [data.count_nonzero()]) if args[0].is_cuda else None

    def before_index(self, args, kwargs):
        masks = [one for one in args[1] if one is not None and one.is_cuda and one.dtype in self.masks and one.dim()]
        return [value for one in masks for value in self.sizes(one, lambda data: [data.count_nonzero()])]

    before_unsafe_index = before_index_put = before_index_put_impl = before_index

    def before_masked_select(self, args, kwargs):
        shape = self.torch.broadcast_shapes(args[0].shape, args[1].shape)
        return self.sizes(args[1], lambda data: [data.expand(shape).count_nonzero()]) if args[1].is_cuda else None

    def before_unique2(self, args, kwargs):
        return self.sizes(args[0], lambda data: [data.unique().numel()]) if args[0].is_cuda else None

    def before_unique_dim(self, args, kwargs):
        return self.sizes(args[0], lambda data: [data.unique(dim=args[1]).shape[args[1]]]) if args[0].is_cuda else None

    def before_unique_consecutive(self, args, kwargs):
        dim = args[3] if len(args) > 3 else kwargs.get("dim")
        return self.sizes(args[0], lambda data: [data.unique_consecutive(dim=dim).shape[dim or 0]]) if args[0].is_cuda else None

    def before_bincount(self, args, kwargs):
        return self.sizes(args[0], lambda data: [data.min(), data.max()]) if args[0].is_cuda else None

    def before_repeat_interleave(self, args, kwargs):
        repeats = args[1] if len(args) > 1 else args[0]
        return self.sizes(repeats, lambda data: [data.sum()]) if isinstance(repeats, self.torch.Tensor) and repeats.is_cuda else None

    def before_coalesce(self, args, kwargs):
        extents = args[0].shape

        def count(data):
            rows = data[0]
            for extent, more in zip(extents[1:], data[1:]):
                rows = rows * extent + more
            return [rows.unique().numel()]

        return self.sizes(args[0]._indices(), count) if args[0].is_cuda else None

    def take(self, size):
        """Of what the operator that runs in this thread reads: what a copy of SIZE bytes gets; None: that is not known."""
        pending = getattr(self.threads, "pending", None)
        return pending.pop(0) if pending and pending[0].fits(size) else None


known = Known()  # of this process

"""known.py - integers and truth values of the GPU that follow from the host: they are computed when the program reads one or an operator reads a size from it.

    known.start (torch, told, tell) once, when CUDA is initialised: this thread, those that Python starts later, and those that PyTorch's backward pass runs in are watched
    known.take (size)              what the copy of SIZE bytes to the host reads that this thread makes: a Value, or None
    watch_nested (class)           once PyTorch's jagged tensors have been imported

Most integers that a program reads are no result of a kernel that computes: masks of ones, comparisons of indices, numbers of the GPU's generator (Philox of a seed and an
offset, which PyTorch keeps on the host).  So the memory of a tensor has a *node* here, which says how its bytes come to be: from the host, by a factory, by the generator, or
by an operator from the nodes of its arguments.  Views share it; what writes in place makes a new node of the one before.  Nothing is computed until a value is read; then
PyTorch's own operators compute it on the host.

A real number of which nothing is known is drawn from a normal distribution when it is needed, and what follows from it is *assumed*: the number of tokens that a router
gives to an expert.  Of those, sizes and integers are given to the program, truth values and real numbers are not.  Two tensors that are the same expression of the same
tensors are equal whatever these hold.

A tensor that Python has seen has one owner more, so that PyTorch adds to no gradient in its place then.  Hence in the backward pass only the operators of SELECT are seen,
which get no gradients, by a second key; but for Functions of the program, hooks of tensors and recomputations, which are Python's anyway.

Operators are seen by a dispatch key of PyTorch that nothing else uses, above autograd: PyTorch's derivatives and the fast paths of its modules ask whether a mode of Python is
active, and this is none.  Operators that are not named here cost nothing; what they return has no node.  What they write has another version than its node knew, and is
no longer known; of tensors without a version (inference mode) what writes in place is seen, whatever its name.  Tensors of subclasses (FakeTensor) are not known at all,
nor is what graphs write once one has been launched.

Operators that are not named make their results by operators that may be (zeros), and then fill them by kernels.  So memory that was made or cleared by no line of Python is
*void*: it is known once an operator that is named writes there.

    known_operators.py   the operators that are named
    known_watch.py       where all this stands between the program and PyTorch
    known_nodes.py       nodes
    known_compute.py     what they hold
    known_reads.py       what operators read of the GPU
    known_sparse.py      the same of sparse tensors
    known_triton.py      kernels of Triton, and those of PyTorch's compiler

Invariants: the program's operators make the requests that they make without this, with the numbers that they read here.  A node that cannot be computed is as if there were
none.  At most DEPTH nodes stand on each other.
"""
import collections
import ctypes
import itertools
import os
import threading

from . import known_operators as operators
from .known_compute import Computing
from .known_nodes import NUMBERS, Nodes
from .known_reads import Reads
from .known_sparse import LOOKUPS, Sparse
from .known_watch import Watch


class Known(Watch, Reads, Sparse, Computing, Nodes):
    """What is known of the memory of this process's GPUs."""

    def __init__(self):
        self.torch, self.library = None, []
        self.nodes = {}  # storage -> weak reference, node, version
        self.captured = {}  # storage that graphs write -> weak reference, launches of graphs when something else wrote there last
        self.lookups = {}  # id of a table -> weak reference, the rows that were looked up last
        self.multiplied = collections.deque(maxlen=LOOKUPS)  # of products of sparse matrices: two matrices and theirs, as (the places of their entries, how many they have)
        self.turned = {}  # shape and entries of a turned matrix -> how many of these are in places of their own; None: that differs
        self.filled = {}  # elements of a compressed matrix -> how many of these are in it; None: that differs
        self.larger = [0]  # bytes of real numbers of more than SMALL bytes
        self.kept, self.most = 0, 512  # bytes of the host since nodes were last dropped, and so many are kept
        self.computed = 0  # bytes
        self.threads = threading.local()  # pending: what an operator is about to read; whole: an integer is read
        self.lock = threading.RLock()

    def start(self, torch, told, tell, no_overflow):
        """TOLD (ASSUMED): called when a value, or an assumed size, is given to the program; TELL (TEXT): when something is taken to be so, as NO_OVERFLOW of GradScaler."""
        from torch.multiprocessing.reductions import StorageWeakRef

        inner = torch._C
        key, backward = inner._parse_dispatch_key(operators.KEY), inner._parse_dispatch_key(operators.BACKWARD_KEY)
        self.weak, self.told, self.tell, self.pid, driver = StorageWeakRef, told, tell, os.getpid(), ctypes.CDLL(None)
        self.no_overflow = no_overflow
        self.draw, self.is_foreign, self.foreign = driver.gemem_dry_draw, driver.gemem_dry_is_foreign, ctypes.c_uint64.in_dll(driver, "gemem_dry_foreign")
        self.graphs = ctypes.c_uint64.in_dll(driver, "gemem_dry_graphs")
        self.is_foreign.argtypes = (ctypes.c_uint64,) * 3 + (ctypes.c_int,)
        self.torch, self.key, self.backward, self.keys = torch, key, backward, inner.DispatchKeySet(key).add(backward)
        self.backward_keys = inner.DispatchKeySet(backward)
        self.below = inner._dispatch_keyset_full_after(backward)
        self.guard, self.plain = inner._ExcludeDispatchKeyGuard, (torch.Tensor, torch.nn.Parameter)
        self.numbers = NUMBERS.union(filter(None, (getattr(torch, name, None) for name in ("SymInt", "SymFloat", "SymBool"))))  # the compiler has expressions in their places
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
        self.library[0].fallback(torch.library.fallthrough_kernel, operators.KEY)
        self.library[0].fallback(torch.library.fallthrough_kernel, operators.BACKWARD_KEY)
        names = set(operators.OPERATORS) | {name + "_" for name in operators.OPERATORS}
        for full in inner._dispatch_get_all_op_names():
            base, _, overload = full.partition(".")
            if not base.startswith("aten::") or "name" in overload or full == "aten::normal.float_float":
                continue
            listed = base.startswith("aten::_foreach_")
            if base[6:] in names or listed or base.endswith("_"):
                op = getattr(getattr(torch.ops.aten, base[6:]), overload or "default")
                watch = self.watch if base[6:] in names else self.watch_view if base[6:] in operators.VIEWS else self.watch_lists if listed and not base.endswith("_") else self.watch_writer
                watch(op, full[6:])
        for alias, base in operators.ALIASES.items():
            for end in ("", "_"):
                self.watch_alias(alias + end, base + end)
        self.watch_others()
        self.watch_higher()
        self.watch_backward()
        self.watch_storages()
        self.watch_versions()
        self.watch_threads()
        self.watch_here()
        os.register_at_fork(after_in_child=self.watch_here)  # CUDA does not go on there

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

"""known_compute.py - what a node of known.py holds: PyTorch's own operators compute it on the host, from the nodes below it.

Why: apart from how nodes are made (known_nodes.py), since this runs when a value is read only, in whatever thread that is.

Invariants: one thread computes at a time.  What is computed is kept, and what it was computed from is dropped.  What PyTorch's operators of the host refuse is lost for good.
"""
import contextlib
import warnings

from . import known_operators as operators
from .known_nodes import Drawn, Random, Ref, SparseRef, Unknown, WRITTEN

LARGEST = 1 << 31  # bytes of a tensor that is computed
EXACT, FACTOR = 1 << 24, 1 << 11  # integers below are exact in a sum of single precision, and in a factor of it on tensor cores


class Computing(object):
    """The part of Known that computes nodes."""

    def evaluate(self, node):
        """The bytes of a node, as a tensor of the host."""
        with self.lock:
            todo = [node]
            while todo:
                one = todo[-1]
                if one.data is not None or one.lost:
                    todo.pop()
                    continue
                below = [each for each in one.below if each.data is None and not each.lost]
                todo += below
                if not below:
                    try:
                        self.compute(one)
                    except Exception:  # it is lost; that of others may be known without it
                        pass
            if node.data is None:
                raise Unknown
            return node.data

    def compute(self, node):
        node.lost = True  # unless it succeeds
        launched = getattr(node.op, "lenient", False)
        if node.nbytes > LARGEST or not launched and any(one.data is None for one in node.below):
            raise Unknown
        torch = self.torch
        self.form(node)
        with torch.no_grad(), torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction(), self.guard(self.aside):
            sparse = node.args is not None and any(isinstance(one, SparseRef) for one in node.args)
            with self.without_warnings() if sparse else contextlib.nullcontext():
                node.data = self.launched(node) if launched else self.bytes_of(node)
            if node.unsure and not launched:
                product = getattr(node.op, "_schema", None) is not None and node.op._schema.name[6:] in operators.PRODUCTS
                inexact = product and not self.is_exact(node)
                node.assumed |= inexact or any(one.assumed for one in node.below)
                node.real = (inexact or node.real or any(one.real for one in node.below)) and node.meta[3] not in self.whole
            node.unsure = 0
        self.computed += node.nbytes
        self.kept += node.nbytes
        node.args = node.kwargs = node.prior = None
        node.op = node.op if not launched else True
        node.below = ()
        node.lost = False

    def is_exact(self, node):
        """Whether a product that has been computed is what it is on a GPU, which adds in another order: small integers are, in any order."""
        factors = [self.host(one) for one in node.args if isinstance(one, Ref)]
        if all(one.dtype in self.whole for one in factors):
            return True
        if node.op._schema.name[6:].startswith(("_cdist", "_euclidean")) or node.kwargs or len(factors) != len(node.args):
            return False
        if any(one.is_complex() or not one.isfinite().all() or (one != one.round()).any() for one in factors):
            return False
        most = [int(one.abs().max()) for one in factors]
        return max(most[-2:]) <= FACTOR and sum(most[:-2]) + most[-2] * most[-1] * max(1, *factors[-2].shape[-1:]) < EXACT

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
            node.unknown = self.unknown_since(node)
            target = self.view(data, node.meta)
            args = [target if one is WRITTEN else self.host(one) for one in node.args]
            kwargs = {key: target if one is WRITTEN else one for key, one in self.host(node.kwargs).items()}
            if isinstance(node.op, Random):
                target.copy_(node.op.numbers(self, target.dtype).view(target.shape))
            elif isinstance(node.op, Drawn):
                node.op(torch, args, kwargs)
            else:
                node.op(*args, **kwargs)
            return data
        data = torch.zeros(node.nbytes, dtype=torch.uint8)
        if node.op is None:
            if node.assumed:
                self.draw_reals(data, node.meta)
            return data
        if isinstance(node.op, Random):
            result = node.op.numbers(self, node.meta[3]).view(node.meta[0])
        elif isinstance(node.op, Drawn):
            result = node.op(torch, self.host(node.args), self.host(node.kwargs))
        else:
            result = node.op(*self.host(node.args), **self.host(node.kwargs))
        if isinstance(node.out, str):
            result = getattr(result, node.out)()
        elif node.out is not None:
            result = result[node.out]
        self.view(data, node.meta).copy_(result)
        return data

    def unknown_since(self, node):
        """Which bytes are not known after NODE has written to what was there before; None: all are."""
        if node.prior.unknown is None:
            return None
        unknown = node.prior.unknown.clone()
        written = self.view(unknown, node.meta)
        covers = isinstance(node.op, (Random, Drawn)) or node.op._schema.name[6:].strip("_") in ("fill", "zero", "copy") or WRITTEN in node.kwargs.values()
        if covers:
            written.fill_(0)
        elif bool(written.bool().any()):
            raise Unknown
        return unknown if bool(unknown.any()) else None

    def seen(self, node, meta):
        """What NODE holds there; Unknown: that is not known."""
        data = self.evaluate(node)
        if node.unknown is not None and bool(self.view(node.unknown, meta).bool().any()):
            raise Unknown
        return self.view(data, meta)

    def launched(self, node):
        """What a kernel of Triton wrote; real numbers that are not known are drawn."""
        try:
            data, node.assumed, node.real, node.unknown = node.op.result(self.torch, node.out)
            if node.unknown is not None and node.meta[3] not in self.whole:
                raise Unknown
        except Exception:  # it cannot be run
            if node.meta[3] in self.whole:
                raise
            data = self.torch.zeros(node.nbytes, dtype=self.torch.uint8)
            self.draw_reals(data, node.meta)
            node.assumed, node.real, node.unknown = True, True, None
        node.real = node.real and node.meta[3] not in self.whole
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
        if isinstance(one, Ref):
            return self.seen(one.node, one.meta)
        if isinstance(one, SparseRef):
            parts = [self.torch.ones(part[0], dtype=part[1]) if isinstance(part, tuple) else self.host(part) for part in one.parts]
            return one.open(*parts, one.shape, check_invariants=False, **one.options)
        if isinstance(one, tuple):
            return [self.host(each) for each in one]
        if isinstance(one, dict):
            return {key: self.host(each) for key, each in one.items() if key not in ("pin_memory", "non_blocking")}
        return self.torch.device("cpu") if isinstance(one, self.torch.device) else one

    def view(self, data, meta):
        return self.torch.empty(0, dtype=meta[3]).set_(data.untyped_storage(), meta[2], meta[0], meta[1])

"""known_reads.py - what PyTorch's operators read from the GPU, before they do: a value for the program, or a size that they need themselves.

Why: an operator that reads copies to the host, which values.py sees; what it will find there is worked out first.

    before_NAME (args, kwargs)     what operator NAME is about to read with these arguments: [Value, ...] in the order of its copies; None: nothing, or it is not known

Invariants: one truth value or a real number that is assumed is never given to the program, but for one that says whether numbers are finite; a list of truth values is (a mask: all false, it would leave out everything).  Those of sparse tensors are in known_sparse.py.
"""
import os

from .known_nodes import FOUND_FINITE, LIST, NUMBERS, Unknown, Value, meta_of

PRINTED = 1000  # elements that PyTorch prints of a tensor, unless it is told to print all
_PRINTS = os.path.join("torch", "_tensor_str.py")
FEW = 1 << 24  # multiplications that are worth a real number which the program reads


class Reads(object):
    """The part of Known that says what operators read."""

    def value(self, tensor):
        """What a tensor of the GPU holds, on the host, and whether that is assumed."""
        node = self.node(tensor)
        if tensor.dtype not in self.whole:
            if node.unsure and not node.real and node.unsure <= FEW:
                self.evaluate(node)
            if node.real or node.unsure:
                raise Unknown
        data = self.seen(node, meta_of(tensor))
        return data, node.assumed

    def ask(self, ask, args, kwargs):
        """What the operator is about to read; None: that is not known."""
        try:
            values = ask(args, kwargs)
        except Exception:  # no node, or it cannot be computed
            return None
        if values and not (values[0].assumed and values[0].bytes is not None):  # an integer that is assumed is counted where it is read
            self.told(values[0].assumed and not self.is_printed(args))
        return values

    def is_printed(self, args):
        """Whether PyTorch selects among a few numbers those by which it chooses how many digits a tensor is printed with: no size of the program follows."""
        return isinstance(args[0], self.torch.Tensor) and args[0].numel() <= PRINTED and self.caller().endswith(_PRINTS)

    def read(self, tensor):
        """What the program reads; one truth value that is assumed is not known, nor are data: these are not computed."""
        node = self.node(tensor)
        unknown = tensor.dtype == self.torch.bool and tensor.numel() == 1 and not node.finite or tensor.numel() * tensor.element_size() > LIST
        if node.assumed and unknown:
            raise Unknown
        data, assumed = self.value(tensor)
        if assumed and unknown:
            raise Unknown
        if assumed and node.finite:
            self.tell(FOUND_FINITE)
        return data, assumed and not node.finite

    def compared(self, tensor):
        """"gt" and 1e-10 of a truth value that says whether a tensor is greater than that number, or than another tensor, in whose place None stands."""
        node = self.get(tensor) if tensor.dtype == self.torch.bool and self.suits(tensor) else None
        if node is None or node.prior is not None or not node.args or len(node.args) != 2 or not hasattr(node.op, "_schema"):
            return "", None
        return node.op._schema.name[6:], node.args[1] if type(node.args[1]) in NUMBERS else None

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
        if (self.form(a), meta_of(one)) == (self.form(b), meta_of(other)):
            same = True
        else:
            (data, assumed), (more, too) = self.value(one), self.value(other)
            if assumed or too:
                raise Unknown
            same = self.torch.equal(data, more)
        return [Value(None, self.torch.tensor([same]), False)]

    def sizes(self, tensor, count):
        node = self.node(tensor)
        data = self.seen(node, meta_of(tensor))
        return [Value(int(one), None, node.assumed) for one in count(data)]

    def before_nms(self, args, kwargs):
        """Which boxes of a detector lie on no better one: the operator of the host decides, too."""
        if not args[0].is_cuda:
            return None
        nodes = [self.node(one) for one in args[:2]]
        boxes, scores = (self.seen(node, meta_of(one)) for node, one in zip(nodes, args))
        assumed = any(node.assumed for node in nodes)
        with self.torch._C._DisableTorchDispatch(), self.guard(self.aside):
            kept = self.torch.ops.torchvision.nms(boxes, scores, args[2])
        return [Value(kept.numel(), None, assumed)]

    def before_nested_tensor_from_mask_left_aligned(self, args, kwargs):
        data, assumed = self.read(args[1])
        rows = self.torch.arange(data.shape[1]) < data.sum(1, keepdim=True)
        return [Value(None, self.torch.tensor([self.torch.equal(data.bool(), rows)]), assumed)]

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

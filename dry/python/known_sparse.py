"""known_sparse.py - sparse tensors in known.py: their parts as nodes, and what their operators and cuSPARSE read of them.

Why: how many entries a sparse result has follows from the indices alone, which mostly come from the host.  The backward pass makes and turns matrices where nobody looks, so
what the forward pass had is kept for it (turned, filled, multiplied, lookups).

Invariants: a matrix of the backward pass counts as known only if all those of its shape and entries had the same number.
"""
import collections
import math
import weakref

from .known_nodes import Node, Ref, SparseRef, Unknown, Value, meta_of

LOOKUPS = 16  # of a table, whose rows are kept
ENTRIES = 1 << 28  # multiplications of a product of sparse matrices


class Sparse(object):
    """The part of Known that is about sparse tensors."""

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
                    node = Node(part.untyped_storage().nbytes(), meta_of(part))
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

    def ref_sparse(self, tensor, below, structure):
        """A sparse tensor as a node keeps it; STRUCTURE: with ones as its values."""
        make, names = self.parts(tensor)
        values = getattr(tensor, names[-1])()
        parts = [self.ref(getattr(tensor, name)(), below) for name in names[:-1]]
        parts.append((tuple(values.shape), values.dtype) if structure else self.ref(values, below))
        options = {"is_coalesced": tensor.is_coalesced()} if make is self.torch.sparse_coo_tensor else {}
        return SparseRef(make, parts, tuple(tensor.shape), options)

    def before_sparse_compressed_tensor(self, args, kwargs):
        """The backward pass makes a matrix of ones of this one, with zeros, and looks where it has ones."""
        if args[2].is_cuda and args[2].requires_grad and args[2].dim() == 1:
            elements, count = math.prod(args[3]), args[2].numel()
            self.filled[elements] = count if self.filled.get(elements, count) == count else None

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

    before_mm = before_sparse_sparse_matmul = before_sparse_mm

    def places_of(self, tensor):
        """A matrix of the host with ones where TENSOR has entries, and whether these are assumed."""
        torch, layouts = self.torch, {self.torch.sparse_csr: ("crow_indices", "col_indices"), self.torch.sparse_csc: ("ccol_indices", "row_indices")}
        parts = [getattr(tensor, part)() for part in layouts.get(tensor.layout, ("_indices",))]
        nodes = [self.node(part) for part in parts]
        data = [self.seen(node, meta_of(part)).long() for node, part in zip(nodes, parts)]
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
            rows, columns = [self.seen(node, meta_of(part)).long() for node, part in zip(nodes, parts)]
            assumed |= any(node.assumed for node in nodes)
            keys.append(torch.repeat_interleave(rows.diff()) * one.shape[1] + columns)
        return [Value(torch.cat(keys).unique().numel(), None, assumed)]

    def before_index_select(self, args, kwargs):
        tensor, dim, index = args[:3]
        if tensor.layout != self.torch.sparse_coo or not tensor.is_cuda or dim >= tensor.sparse_dim():
            return None
        of_index = self.node(index)
        wanted = self.seen(of_index, meta_of(index)).long()
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
            kept[1].append(Ref(self.node(indices), meta_of(indices)))

    def find_rows(self, gradient):
        """Makes the node of the indices of a table's sparse gradient: those of the last lookups that are as many."""
        indices = gradient._indices()
        for weight, lookups in list(self.lookups.values()):
            own = weight().grad
            if own is not None and own.layout == self.torch.sparse_coo and own._indices().data_ptr() == indices.data_ptr():
                refs = list(lookups)
                while refs and sum(math.prod(one.meta[0]) for one in refs) > indices.numel():
                    refs.pop(0)
                if sum(math.prod(one.meta[0]) for one in refs) == indices.numel():
                    node = Node(indices.untyped_storage().nbytes(), meta_of(indices))
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

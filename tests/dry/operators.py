"""operators.py - PyTorch's own samples of its operators, modules and optimizers, run on the host or on the GPU of a dry run: no operator ends by gemem, and what follows from the host is what it is there.

    operators.py DEVICE             one line of JSON for each sample: its name, what came of it, forwards and backwards
    operators.py DEVICE ways        the same of the first sample of each operator in each of _Ways
    operators.py WANTED GOT         compares two such lists; prints what differs, and how many are equal

PyTorch tests itself with these samples (torch.testing, in its wheel), of which here are the first ones of each operator, in three types, and of each module and optimizer.  They are made on the host, and
moved.  Results are compared by their shapes, integers and truth values of samples without real numbers by what they are.  Left out is what a generator draws and what nobody
has written; and what PyTorch's own code for CUDA refuses, which it does here as on a GPU.
"""
import json
import re
import sys
import warnings

FEW = 4  # samples
_DRAWN = re.compile(r"(new_)?empty.*|rand.*|normal.*|geometric.*|multinomial.*|bernoulli.*|.*dropout.*|cauchy|exponential|log_normal|uniform|.*fractional_max_pool.*|.*rrelu.*")
_REFUSED = re.compile(r"not implemented for|not supported|Could not run|expected tensor_indices_or_sections|out of bounds for storage|not available|only be called in training mode")
_UNKNOWN = re.compile(r"_chunk_cat.*|fill|as_strided_partial_views.*")  # read zero: nothing is known of their results
_OTHERS = re.compile(r"(combinations|masked_select|argwhere) in_.*|LBFGS|.*native_batch_norm.*|lu|linalg_l.*|linalg_matrix_rank.*|linalg_pinv.*|svd_lowrank|pca_lowrank")  # of CUDA another result, or of real numbers


class _Ways(object):
    """The ways in which a program may run an operator: FUNCTION (x), whose other arguments are given."""

    def __init__(self, torch, device):
        from torch.utils._python_dispatch import TorchDispatchMode
        from torch.utils._pytree import tree_leaves

        class Functions(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                return function(*args, **(kwargs or {}))

        class Dispatch(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                return function(*args, **(kwargs or {}))

        class Subclass(torch.Tensor):
            pass

        self.torch, self.Functions, self.Dispatch, self.Subclass, self.device, self.leaves = torch, Functions, Dispatch, Subclass, device, tree_leaves
        self.names = [name for name in dir(self) if name.startswith("in_")]

    def reals(self, result):
        return [one for one in self.leaves(result) if isinstance(one, self.torch.Tensor) and one.is_floating_point()]

    def in_vmap(self, function, x):
        return self.torch.func.vmap(function, randomness="different")(self.torch.stack([x, x]))

    def in_vmap_of_grad(self, function, x):
        grad = self.torch.func.grad(lambda one: sum(each.sum() for each in self.reals(function(one))))
        return self.torch.func.vmap(grad, randomness="different")(self.torch.stack([x, x]))

    def in_jvp(self, function, x):
        return self.torch.func.jvp(lambda one: self.reals(function(one)), (x,), (self.torch.ones_like(x),))

    def in_autocast(self, function, x):
        with self.torch.autocast(self.device, dtype=self.torch.bfloat16):
            return function(x)

    def in_inference_mode(self, function, x):
        with self.torch.inference_mode():
            return function(x.clone())

    def in_subclass(self, function, x):
        return function(x.as_subclass(self.Subclass))

    def in_function_mode(self, function, x):
        with self.Functions():
            return function(x)

    def in_dispatch_mode(self, function, x):
        with self.Dispatch():
            return function(x)

    def in_device(self, function, x):
        with self.torch.device(self.device):
            return function(x)

    def in_checkpoint(self, function, x):
        x.requires_grad_()
        result = self.torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False)
        sum(one.sum() for one in self.reals(result) if one.requires_grad).backward()
        return result, x.grad

    def in_second_gradient(self, function, x):
        x.requires_grad_()
        results = [one for one in self.reals(function(x)) if one.requires_grad]
        first = self.torch.autograd.grad(sum(one.sum() for one in results), [x], create_graph=True, allow_unused=True)[0]
        if first is not None and first.requires_grad:
            first.sum().backward()
        return first, x.grad


def run(device, ways=False):
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db
    from torch.utils._pytree import tree_leaves, tree_map

    def move(one):
        return one.detach().to(device).requires_grad_(one.requires_grad) if isinstance(one, torch.Tensor) else one

    def describe(one):
        if not isinstance(one, torch.Tensor):
            return one if isinstance(one, (int, float, bool, str)) else type(one).__name__
        facts = [str(one.dtype), list(one.shape)]
        if one.layout != torch.strided:
            return facts + [str(one.layout), one._nnz()]
        whole = one.dtype in (torch.bool, torch.uint8, torch.int32, torch.int64) and one.numel() <= 4096
        return facts + [one.detach().cpu().tolist()] if whole else facts

    def backwards(result, inputs):
        leaves = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor) and one.requires_grad and one.is_floating_point()]
        if leaves:
            sum(one.sum() for one in leaves).backward()
        return [describe(one.grad) for one in tree_leaves(inputs) if isinstance(one, torch.Tensor) and one.requires_grad and one.grad is not None]

    def outcome(op, sample, real):
        inputs = tree_map(move, (sample.input, sample.args, sample.kwargs))
        if "device" in inputs[2]:
            inputs[2]["device"] = device
        torch.manual_seed(7)
        result = op(inputs[0], *inputs[1], **inputs[2])
        return tree_map(describe, result), backwards(result, inputs) if real else None

    def tell(name, what, i, function, *facts):
        try:
            came = function(*facts)
        except Exception as error:
            came = "error: %s: %s" % (type(error).__name__, error)
        print(json.dumps([name, what, i, came], default=str), flush=True)

    def run_module(kind, sample, training):
        made, given = sample.constructor_input, sample.forward_input
        module = kind(*made.args, **made.kwargs).to(device).train(training)
        if given is None:
            return None
        inputs = tree_map(move, (given.args, given.kwargs))
        result = module(*inputs[0], **inputs[1])
        return tree_map(describe, result), backwards(result, list(module.parameters()))

    def run_optimizer(kind, options):
        model = torch.nn.Linear(6, 6).to(device)
        optimizer = kind(model.parameters(), **tree_map(move, dict(options)))

        def closure():
            optimizer.zero_grad()
            loss = model(torch.ones(2, 6, device=device)).pow(2).sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
        return tree_map(lambda one: describe(one) if isinstance(one, torch.Tensor) else type(one).__name__, optimizer.state_dict()["state"])

    def run_way(way, op, sample):
        inputs = tree_map(move, (sample.input, sample.args, sample.kwargs))
        torch.manual_seed(7)
        function = lambda x: op(x, *inputs[1], **inputs[2])
        return [facts[:2] for facts in map(describe, tree_leaves(way(function, inputs[0]))) if isinstance(facts, list)]

    if ways:
        each = _Ways(torch, device)
        for k, op in enumerate(op_db):
            torch.manual_seed(k)
            try:
                sample = next(iter(op.sample_inputs("cpu", torch.float32)))
            except Exception:  # they want other packages, or have none of this type
                continue
            for name in each.names if isinstance(sample.input, torch.Tensor) else ():
                tell("%s %s" % (op.formatted_name, name), "torch.float32", 0, run_way, getattr(each, name), op, sample)
        return
    for info in module_db:
        for training in (True, False):
            torch.manual_seed(0)
            samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)
            for i, sample in enumerate(samples[:FEW]):
                tell(info.name, "training" if training else "evaluation", i, run_module, info.module_cls, sample, training)
    for info in optim_db:
        for i, sample in enumerate(info.optim_inputs_func(device="cpu")):
            for foreach in (None, False)[: 1 + ("foreach" in info.supported_impls)]:
                tell(info.optim_cls.__name__, "lists" if foreach is None else "one by one", i, run_optimizer, info.optim_cls, dict(sample.kwargs, **{} if foreach is None else {"foreach": foreach}))
    for k, op in enumerate(op_db):
        for dtype in (torch.float32, torch.int64, torch.bool):
            if dtype not in op.dtypes:
                continue
            torch.manual_seed(k)
            try:
                samples = list(op.sample_inputs("cpu", dtype, requires_grad=dtype == torch.float32 and op.supports_autograd))
            except Exception:  # those of some operators want other packages
                continue
            for i, sample in enumerate(samples[:FEW]):
                tell(op.formatted_name, str(dtype), i, outcome, op, sample, dtype == torch.float32)


def compare(wanted, got):
    with open(wanted) as stream:
        wanted = [json.loads(line) for line in stream]
    with open(got) as stream:
        got = {tuple(one[:3]): one[3] for one in map(json.loads, stream)}
    equal = 0
    for name, dtype, i, came in wanted:
        here = got.get((name, dtype, i), "missing")
        refused = any(isinstance(one, str) and one.startswith("error") and _REFUSED.search(one) for one in (came, here))
        drawn = _DRAWN.fullmatch(name) or _OTHERS.fullmatch(name) or _UNKNOWN.fullmatch(name) or isinstance(came, str)
        if here == came:
            equal += 1
        elif not refused and (not drawn or isinstance(here, str) and not isinstance(came, str)):
            print("differs", name, dtype, i, json.dumps(came)[:200], json.dumps(here)[:200])
    print("equal", equal)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] in ("cpu", "cuda"):
        run(sys.argv[1], "ways" in sys.argv)
    else:
        compare(*sys.argv[1:])

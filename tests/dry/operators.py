"""operators.py - PyTorch's own samples of its operators, run on the host or on the GPU of a dry run: no operator ends by gemem, and what follows from the host is what it is there.

    operators.py DEVICE             one line of JSON for each sample: its name, what came of it, forwards and backwards
    operators.py WANTED GOT         compares two such lists; prints what differs, and how many are equal

PyTorch tests itself with these samples (torch.testing, in its wheel), of which here are the first ones of each operator, in three types.  They are made on the host, and
moved.  Results are compared by their shapes, integers and truth values of samples without real numbers by what they are.  Left out is what a generator draws and what nobody
has written; and what PyTorch's own code for CUDA refuses, which it does here as on a GPU.
"""
import json
import re
import sys
import warnings

FEW = 4  # samples
_DRAWN = re.compile(r"(new_)?empty.*|rand.*|normal.*|geometric.*|multinomial.*|bernoulli.*|.*dropout.*|cauchy|exponential|log_normal|uniform|.*fractional_max_pool.*|.*rrelu.*")
_REFUSED = re.compile(r"not implemented for|not supported|Could not run|expected tensor_indices_or_sections|out of bounds for storage|not available")
_UNKNOWN = re.compile(r"_chunk_cat.*|fill|as_strided_partial_views.*")  # read zero: nothing is known of their results
_OTHERS = re.compile(r".*native_batch_norm.*|lu|linalg_l.*|linalg_matrix_rank.*|linalg_pinv.*|svd_lowrank|pca_lowrank")  # of CUDA another result, or of real numbers


def run(device):
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
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
                try:
                    came = outcome(op, sample, dtype == torch.float32)
                except Exception as error:
                    came = "error: %s: %s" % (type(error).__name__, error)
                print(json.dumps([op.formatted_name, str(dtype), i, came], default=str), flush=True)


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
    if len(sys.argv) == 2:
        run(sys.argv[1])
    else:
        compare(*sys.argv[1:])

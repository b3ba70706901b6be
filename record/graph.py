#!/usr/bin/env python3
"""graph.py - writes the graph of a PyTorch program (doc/graph-format.md), for `gemem-sim plan` and for replaying graphs.

    graph.py WORKLOAD OUTPUT [--batch N] [--length N] [--batches N,N,...]

OUTPUT is JSON, compressed when its name ends in .gz.  The program is traced with fake tensors (torch.fx.experimental.proxy_tensor.make_fx),
so it needs neither a GPU nor memory for weights: one node per aten operator, in the order in which PyTorch runs them.

    Data, NetOutput   inputs and results of the program; the names that GE's planners know
    variables         parameters, buffers and optimizer state live outside of the graph; an operator that only writes one has no output, and
                      views of one are left out: who reads the view reads the variable.  Gradients are variables that do not persist
    reuse_input       views and in-place operators: the output is the memory of that input.  Found by comparing storages, not by names
    size              bytes of the storage, without any padding: padding is the planners' business
    workspaces        none: kernels are not known here, so their scratch memory is not either

Training steps are forward, loss, backward (torch.autograd.grad inside the trace) and the optimizer, parameter by parameter.
With --batches, the branches of several batch sizes share input and result as in GE's dynamic batch: SwitchN, one branch per batch_label,
Merge.

Needs PyTorch >= 2.4.  gemem itself needs no Python.
"""
import argparse
import gzip
import json
import operator

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.nn import functional as F

import models


def token_inputs(vocabulary):
    return lambda batch, length: {"tokens": torch.randint(vocabulary, (batch, length))}


def bert_inputs(batch, length):
    return {"tokens": torch.randint(30522, (batch, length)), "segments": torch.zeros(batch, length, dtype=torch.long)}


def image_inputs(batch, _):
    return {"images": torch.randn(batch, 3, 224, 224)}


def hidden_inputs(batch, length):
    return {"hidden": torch.randn(batch, length, 1024)}


def token_loss(output, inputs):
    logits = output[0] if isinstance(output, tuple) else output
    return F.cross_entropy(logits.flatten(0, 1), inputs["targets"].flatten())


def image_loss(output, inputs):
    return F.cross_entropy(output, inputs["targets"])


def square_loss(output, inputs):
    return F.mse_loss(output, inputs["targets"])


def token_targets(inputs):
    return torch.zeros_like(inputs["tokens"])


def image_targets(inputs):
    return torch.zeros(len(inputs["images"]), dtype=torch.long)


def adamw(parameter, gradient, state):
    """One step as torch.optim.AdamW makes it with foreach=False, for step 1."""
    parameter.mul_(1 - 1e-4 * 0.01)
    state["exp_avg"].lerp_(gradient, 0.1)
    state["exp_avg_sq"].mul_(0.999).addcmul_(gradient, gradient, value=0.001)
    root = (state["exp_avg_sq"].sqrt() / 0.0316).add_(1e-8)
    parameter.addcdiv_(state["exp_avg"], root, value=-1e-3)


def momentum(parameter, gradient, state):
    """One step as torch.optim.SGD makes it with momentum and weight decay."""
    gradient = gradient.add(parameter, alpha=1e-4)
    state["momentum_buffer"].mul_(0.9).add_(gradient)
    parameter.add_(state["momentum_buffer"], alpha=-0.1)


ADAMW, MOMENTUM = (adamw, ("exp_avg", "exp_avg_sq")), (momentum, ("momentum_buffer",))
WORKLOADS = {  # name: (model, inputs, targets, loss, optimizer, batch, length); inference without the three in the middle
    "gpt2-train": (models.gpt2_small, token_inputs(50257), token_targets, token_loss, ADAMW, 4, 512),
    "bert-train": (models.bert_base, bert_inputs, token_targets, token_loss, ADAMW, 8, 384),
    "resnet50-train": (models.ResNet50, image_inputs, image_targets, image_loss, MOMENTUM, 32, 0),
    "moe-train": (models.moe_block, hidden_inputs, lambda i: torch.zeros_like(i["hidden"]), square_loss, ADAMW, 8, 512),
    "resnet50-inference": (models.ResNet50, image_inputs, None, None, None, 8, 0),
    "bert-inference": (models.bert_base, bert_inputs, None, None, None, 8, 384),
    "llama-inference": (models.llama_style, token_inputs(32000), None, None, None, 1, 1024),
}


# ---- tracing

class Program:
    """A traced program: the fx graph, and for each of its placeholders what it is: ("parameter" | "state" | "input", name)."""

    def __init__(self, module, places, parameters):
        self.module, self.places, self.parameters = module, places, parameters


FORWARD, BACKWARD, OPTIMIZE, LOSS = 0, 1, 2, 256


def mark(role):
    """The nodes since the last mark have this role."""
    for node in get_proxy_mode().tracer.graph.nodes:
        node.meta.setdefault("role", role)


def trace(workload, batch, length):
    build, make_inputs, make_targets, loss, optimizer, _, _ = WORKLOADS[workload]
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = build().train(loss is not None)
        inputs = make_inputs(batch, length)
        weights, buffers, n_arguments = dict(model.named_parameters()), dict(model.named_buffers()), len(inputs)
        if loss is not None:
            inputs["targets"] = make_targets(inputs)
        state = {f"{n}.{s}": torch.zeros_like(p) for n, p in weights.items() for s in optimizer[1]} if optimizer else {}
        groups = (("parameter", weights), ("state", buffers), ("state", state), ("input", inputs))
        places = [(kind, name) for kind, group in groups for name in group]

        def program(tensors):
            at = iter(tensors)
            given = [{name: next(at) for name in group} for _, group in groups]
            arguments = tuple(given[3].values())[:n_arguments]
            output = torch.func.functional_call(model, {**given[0], **given[1]}, arguments)
            mark(FORWARD)
            if loss is None:
                return [output[0] if isinstance(output, tuple) else output]
            value = loss(output, given[3])
            mark(LOSS)
            gradients = torch.autograd.grad(value, list(given[0].values()))
            mark(BACKWARD)
            with torch.no_grad():
                for (name, weight), gradient in zip(given[0].items(), gradients):
                    optimizer[0](weight, gradient, {s: given[2][f"{name}.{s}"] for s in optimizer[1]})
            mark(OPTIMIZE)
            return [value, *gradients]

        with torch.set_grad_enabled(loss is not None):
            module = make_fx(program)([t for _, group in groups for t in group.values()])
    return Program(module, places, list(weights))


# ---- conversion

def storage(tensor):
    return tensor.untyped_storage()._cdata


def dtype_name(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def describe(tensor, size, **more):
    """An output of @size bytes; the size is left out where shape and dtype say it."""
    exact = {} if size == tensor.numel() * tensor.element_size() else {"size": size}
    return {"shape": list(tensor.shape), "dtype": dtype_name(tensor), **exact, **more}


class Converter:
    """Walks the fx graph in order; keeps for each fx node what it stands for: an output, a variable, or a tuple of these."""

    def __init__(self, program, prefix="", label=None):
        self.program, self.prefix, self.label = program, prefix, label
        self.nodes, self.variables = [], {}
        self.value = {}      # fx node -> ("tensor", node name, output), ("variable", name), or a list of these
        self.variable_of = {}  # storage -> variable that lives there
        self.gradient_of = {}  # storage -> parameter

    def add_variable(self, name, tensor, **more):
        self.variables.setdefault(name, {"name": name, "dtype": dtype_name(tensor), "shape": list(tensor.shape), **more})

    def find_gradients(self, output):
        """The results behind the first are gradients, in the order of the parameters; what shares a storage is named once."""
        for name, node in zip(self.program.parameters, output[1:]):
            if self.gradient_of.setdefault(storage(node.meta["val"]), name) == name:
                tensor = node.meta["val"]
                self.add_variable(name + ".grad", tensor, gradient_of=name)

    def place(self, node, kind, name):
        tensor = node.meta["val"]
        if kind == "input":
            index = sum(n["type"] == "Data" for n in self.nodes)
            self.nodes.append({"name": self.prefix + name, "type": "Data", "index": index,
                               "outputs": [describe(tensor, tensor.untyped_storage().nbytes())]})
            self.value[node] = ("tensor", self.prefix + name, 0)
        else:
            self.add_variable(name, tensor, persistable=True)
            self.variable_of[storage(tensor)] = name
            self.value[node] = ("variable", name)

    def output_of(self, tensor, inputs):
        """One output: shared with an input if they have one storage."""
        whole = tensor.untyped_storage().nbytes()
        for i, operand in enumerate(inputs):
            if storage(operand.meta["val"]) == storage(tensor):
                return describe(tensor, min(tensor.numel() * tensor.element_size(), whole), reuse_input=i)
        described, parameter = describe(tensor, whole), self.gradient_of.get(storage(tensor))
        if parameter is not None:
            described["variable"] = parameter + ".grad"
        return described

    def operator(self, node):
        values = node.meta["val"]
        several = isinstance(values, (tuple, list))
        inputs = tensor_operands(node)
        name, outputs, taken = self.prefix + node.name, [], []
        for tensor in values if several else [values]:
            if not isinstance(tensor, torch.Tensor) or tensor.numel() == 0:
                taken.append(None)
            elif storage(tensor) in self.variable_of:
                taken.append(("variable", self.variable_of[storage(tensor)]))
            else:
                taken.append(("tensor", name, len(outputs)))
                outputs.append(self.output_of(tensor, inputs))
        self.value[node] = taken if several else taken[0]
        if not outputs and not node.target._schema.is_mutable:
            return  # a view of a variable, or nothing at all
        made = {"name": name, "type": node.target._schema.name, "inputs": [self.reference(n) for n in inputs],
                **({"outputs": outputs} if outputs else {})}
        if self.label is not None:
            made["batch_label"] = self.label
        if node.meta.get("role", 0):
            made["role"] = node.meta["role"]
        self.add_attributes(made, node, values, inputs, outputs)
        self.nodes.append(made)

    def add_attributes(self, made, node, value, inputs, outputs):
        attributes = {}
        gradients = [o["variable"] for o in outputs if "variable" in o]
        if node.meta.get("role", 0) == OPTIMIZE:  # as PaddlePaddle's optimizers say what they update
            read = [self.gradient_of.get(storage(n.meta["val"])) for n in inputs]
            gradients = list(dict.fromkeys(name + ".grad" for name in read if name is not None))
        if gradients:
            attributes["op_role_var"] = [x for g in gradients for x in (g.removesuffix(".grad"), g)]
        if isinstance(value, torch.Tensor) and outputs and inputs and "reuse_input" not in outputs[0] and has_in_place_form(node):
            first = inputs[0].meta["val"]
            same = all(f(first) == f(value) for f in (lambda t: t.shape, lambda t: t.dtype, lambda t: t.untyped_storage().nbytes()))
            if same and self.value[inputs[0]][0] == "tensor":
                attributes["inplace_pairs"] = [0, 0]
        if attributes:
            made["attributes"] = attributes

    def reference(self, node):
        value = self.value[node]
        return [value[1], value[2]] if value[0] == "tensor" else value[1]

    def convert(self):
        graph = self.program.module.graph
        places, (result,) = iter(self.program.places), [n for n in graph.nodes if n.op == "output"]
        self.find_gradients(result.args[0])
        for node in graph.nodes:
            if node.op == "placeholder":
                self.place(node, *next(places))
            elif node.op == "get_attr":
                node.meta.setdefault("val", getattr(self.program.module, node.target))
                self.place(node, "state", node.name)
            elif node.target is operator.getitem:
                self.value[node] = self.value[node.args[0]][node.args[1]]
            elif node.op == "call_function":
                self.operator(node)
        return [self.reference(n) for n in result.args[0][:1]]


def tensor_operands(node):
    """The fx nodes of tensors with elements among the arguments, in order, each as often as it is an argument."""
    found = []
    torch.fx.node.map_arg((node.args, node.kwargs), found.append)
    return [n for n in found if isinstance(n.meta["val"], torch.Tensor) and n.meta["val"].numel() > 0]


def has_in_place_form(node):
    return hasattr(torch.ops.aten, node.target._schema.name.removeprefix("aten::") + "_")


def net_output(results):
    return {"name": "NetOutput", "type": "NetOutput", "inputs": results}


def single(workload, batch, length):
    converter = Converter(trace(workload, batch, length))
    results = converter.convert()
    return converter.nodes + [net_output(results)], converter.variables


def several(workload, batches, length):
    """One branch per batch size between SwitchN and Merge; what the branches read, the largest of them gives."""
    branches = []
    for i, batch in enumerate(batches):
        converter = Converter(trace(workload, batch, length), f"batch_{batch}/", f"Batch_{i}")
        branches.append((converter, converter.convert()))
    largest = branches[batches.index(max(batches))][0]
    head, body, variables = [], [], {}
    for data in (n for n in largest.nodes if n["type"] == "Data"):
        name = data["name"].split("/", 1)[1]
        head.append({**data, "name": name})
        same = [next(n for n in c.nodes if n["type"] == "Data" and n["index"] == data["index"]) for c, _ in branches]
        body.append({"name": name + "/SwitchN", "type": "SwitchN", "inputs": [[name, 0], ["shape", 0]],
                     "outputs": [{**n["outputs"][0], "reuse_input": 0} for n in same]})
    head.append({"name": "shape", "type": "Data", "index": len(head), "attributes": {"_is_multi_batch_shape_data": True},
                 "outputs": [{"shape": [1], "dtype": "int64"}]})
    for i, (converter, _) in enumerate(branches):
        variables |= converter.variables
        for node in converter.nodes:
            if node["type"] != "Data":
                node["inputs"] = [reroute(x, i, head) for x in node["inputs"]]
                body.append(node)
    results = [result for _, (result,) in branches]
    name, output = results[batches.index(max(batches))]
    shape = next(n for n in largest.nodes if n["name"] == name)["outputs"][output]
    body.append({"name": "Merge", "type": "Merge", "inputs": results, "outputs": [{k: shape[k] for k in ("shape", "dtype")}]})
    return head + body + [net_output([["Merge", 0]])], variables


def used_variables(nodes, variables):
    """Those that a node reads or writes, and the parameters of gradients among them."""
    used = {x for n in nodes for x in n.get("inputs", []) if isinstance(x, str)}
    used |= {o["variable"] for n in nodes for o in n.get("outputs", []) if "variable" in o}
    used |= {variables[v]["gradient_of"] for v in used if "gradient_of" in variables[v]}
    return [v for name, v in variables.items() if name in used]


def reroute(reference, branch, head):
    """An input of a branch that is the graph's comes through SwitchN."""
    if isinstance(reference, list) and "/" in reference[0] and reference[0].split("/", 1)[1] in {n["name"] for n in head}:
        return [reference[0].split("/", 1)[1] + "/SwitchN", branch]
    return reference


def write(path, graph):
    """One node and one variable per line."""
    head = {k: v for k, v in graph.items() if k not in ("variables", "nodes")}
    rows = {k: ",\n".join(json.dumps(x, separators=(",", ":")) for x in graph[k]) for k in ("variables", "nodes")}
    text = json.dumps(head)[:-1] + ',\n"variables": [\n' + rows["variables"] + '\n],\n"nodes": [\n' + rows["nodes"] + "\n]}\n"
    with open(path, "wb") as raw:
        if path.endswith(".gz"):
            with gzip.GzipFile("", "wb", 9, raw, mtime=0) as stream:
                stream.write(text.encode())
        else:
            raw.write(text.encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="workloads: " + ", ".join(WORKLOADS))
    parser.add_argument("workload", choices=WORKLOADS, metavar="WORKLOAD")
    parser.add_argument("output", metavar="OUTPUT")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--length", type=int)
    parser.add_argument("--batches", type=lambda text: [int(n) for n in text.split(",")], help="one branch per batch size (inference)")
    options = parser.parse_args()
    batch, length = options.batch or WORKLOADS[options.workload][5], options.length or WORKLOADS[options.workload][6]
    if options.batches and WORKLOADS[options.workload][4]:
        parser.error("--batches is for inference")
    nodes, variables = several(options.workload, options.batches, length) if options.batches else single(options.workload, batch, length)
    source = " ".join(["graph.py", options.workload, *(f"--{k} {v if k != 'batches' else ','.join(map(str, v))}"
                                                       for k, v in vars(options).items() if k in ("batch", "length", "batches") and v)])
    variables = used_variables(nodes, variables)
    name = options.workload.replace("inference", "multibatch") if options.batches else options.workload
    sizes = ",".join(map(str, options.batches or [batch]))
    provenance = [f"source: {source}", f"tool: PyTorch {torch.__version__}", f"batch: {sizes}"]
    provenance += [f"length: {length}"] if length else []
    write(options.output, {"format": "gemem-graph", "version": 1, "name": name, "provenance": provenance,
                           "variables": variables, "nodes": nodes})
    print(json.dumps({"name": name, "nodes": len(nodes), "variables": len(variables)}))


if __name__ == "__main__":
    main()

"""graph-bombs.py - writes graphs here that are long, wide or deep, in every format that is read, for test-bombs.sh.

    graph-bombs.py NODES

Each file has NODES of one thing: nodes in a chain, inputs or outputs of one node, weights, variables, blocks; a name of 100 bytes a NODE, a shape of 1000
dimensions a NODE, as many levels of nesting. What must be refused has a name that begins with "bad-".
"""
import gzip, sys

n = int(sys.argv[1])

def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128); v >>= 7
    out.append(v)
    return bytes(out)
def text(field, value): value = value if isinstance(value, bytes) else value.encode(); return varint(field << 3 | 2) + varint(len(value)) + value
def number(field, value): return varint(field << 3) + varint(value)
def nest(wrap, depth, inner):
    """@inner in @depth messages, each in field wrap[i % ...] of the one around it."""
    heads, size = [], len(inner)
    for i in range(depth):
        head = varint(wrap[i % len(wrap)] << 3 | 2) + varint(size)
        heads.append(head); size += len(head)
    return b"".join(reversed(heads)) + inner
shape = text(1, number(1, 1) + text(2, text(1, number(1, 4))))  # TypeProto: float, [4]
def value(name): return text(1, name) + text(2, shape)
def model(graph): return number(1, 8) + text(7, graph)
def onnx(name, graph):
    with open(name, "wb") as f: f.write(model(graph))
ends = text(11, value("t0")) + text(12, value(f"t{n}"))
onnx("nodes.onnx", b"".join(text(1, text(1, f"t{i}") + text(2, f"t{i + 1}") + text(4, "Relu")) for i in range(n))
     + b"".join(text(13, value(f"t{i}")) for i in range(1, n)) + ends)
onnx("inputs.onnx", text(1, text(1, "t0") * n + text(2, f"t{n}") + text(4, "Sum")) + ends)
onnx("outputs.onnx", text(1, text(1, "t0") + b"".join(text(2, f"t{i}") for i in range(1, n + 1)) + text(4, "Split"))
     + b"".join(text(13, value(f"t{i}")) for i in range(1, n)) + ends)
onnx("weights.onnx", text(1, text(1, "t0") + text(2, f"t{n}") + text(4, "Relu")) + b"".join(text(5, number(1, 4) + number(2, 1) + text(8, f"w{i}")) for i in range(n)) + ends)
onnx("bad-name.onnx", text(1, text(1, "t0") + text(2, f"t{n}") + text(3, b"x" * (100 * n)) + text(4, "Relu")) + ends)
onnx("bad-nested.onnx", nest((6, 5, 1), 3 * n, b"") + ends)  # subgraphs of subgraphs
def dims(name, head, tail, count):
    """A tensor of as many dimensions, all 1, packed: a byte each."""
    block = b"\1" * 100000
    with gzip.open(name, "wb", 1) as f:
        f.write(head)
        for _ in range(count // len(block)): f.write(block)
        f.write(tail)
count = 1000 * n
tensor = number(2, 1) + text(8, "w")
inner = varint(1 << 3 | 2) + varint(count)  # TensorProto.dims
size = len(inner) + count + len(tensor)
whole = varint(5 << 3 | 2) + varint(size)
rest = text(1, text(1, "t0") + text(2, f"t{n}") + text(4, "Relu")) + ends
dims("bad-dims.onnx.gz", number(1, 8) + varint(7 << 3 | 2) + varint(len(rest) + len(whole) + size) + rest + whole + inner, tensor, count)

def repeated(name, piece, times):
    """As many small messages as 256 MB hold, in a small file."""
    with gzip.open(name, "wb", 1) as f:
        block = piece * (1000000 // len(piece))
        graph = rest + block * times
        f.write(model(graph))
repeated("bad-empty.onnx.gz", text(1, b""), max(20, n // 5000))

# PaddlePaddle: ops, variables, blocks
def var(name): return text(1, name) + text(2, number(1, 7) + text(3, text(1, number(1, 5) + number(2, 4))))
def program(name, *blocks):
    root = number(1, 0) + number(2, 2 ** 64 - 1)  # by which the format is recognised
    with open(name, "wb") as f: f.write(b"".join(text(1, root + b) for b in blocks) + text(4, number(1, 0)))
def op(i, o, more=b""): return text(4, text(1, text(2, i)) + text(2, text(2, o)) + text(3, "relu") + more)
program("ops.pdmodel", b"".join(text(3, var(f"v{i}")) for i in range(n + 1)) + b"".join(op(f"v{i}", f"v{i + 1}") for i in range(n)))
program("arguments.pdmodel", text(3, var("a")) + text(3, var("b")) + text(4, text(1, text(2, "a") * n) + text(2, text(2, "b")) + text(3, "sum")))
program("blocks.pdmodel", *([text(3, var("a")) + text(3, var("b")) + op("a", "b")] * (n // 2)))
program("bad-dims.pdmodel", text(3, text(1, "a") + text(2, number(1, 7) + text(3, text(1, number(1, 5) + number(2, 1) * (50 * n))))) + text(3, var("b")) + op("a", "b"))

# JSON: nodes, inputs of one, a long name, nesting
def graph(name, nodes, variables=""):
    with open(name, "w") as f: f.write('{"format":"gemem-graph","version":1,"variables":[' + variables + '],"nodes":[' + nodes + "]}")
graph("nodes.json", ",\n".join('{"name":"n%d","inputs":[%s],"outputs":[{"size":512}]}' % (i, '["n%d",0]' % (i - 1) if i else "") for i in range(n)))
graph("inputs.json", '{"name":"a","outputs":[{"size":512}]},{"name":"b","inputs":[' + ",".join(['["a",0]'] * n) + "]}")
graph("outputs.json", '{"name":"a","outputs":[' + ",".join(['{"size":512}'] * n) + "]}")
graph("variables.json", '{"name":"a","inputs":["v0"],"outputs":[{"size":512}]}', ",".join(f'{{"name":"v{i}","size":512}}' for i in range(n)))
graph("shape.json", '{"name":"a","outputs":[{"dtype":"float32","shape":[' + ",".join(["1"] * min(50 * n, 4000000)) + "]}]}")
graph("bad-name.json", '{"name":"' + "x" * (100 * n) + '","outputs":[{"size":512}]}')
graph("bad-nested.json", '{"name":"a","x_":' + "[" * (50 * n))
with open("vars.json", "w") as f:
    f.write('{"name":"p","vars":{' + ",".join(f'"v{i}":{{"shape":[4],"dtype":"float32"}}' for i in range(n // 4 + 1)) + '},"ops":['
            + ",".join(f'{{"type":"relu","inputs":["v{i}"],"outputs":["v{i + 1}"]}}' for i in range(n // 4)) + "]}")

# dumps of GE
with open("ops.txt", "w") as f:
    f.write('name: "net"\n' + "".join('op { name: "n%d" type: "Abs" id: %d %s output_desc { dtype: DT_FLOAT shape { dim: 4 } size: 64 } }\n'
                                      % (i, i, f'input: "n{i - 1}:0"' if i else "") for i in range(n)))
with open("bad-deep.txt", "w") as f: f.write('name: "net"\nop { name: "a" ' + "x { " * (10 * n))
with open("inputs.txt", "w") as f: f.write('name: "net"\nop { name: "a" type: "Abs" id: 0 output_desc { size: 64 } }\nop { name: "b" type: "Abs" id: 1 ' + 'input: "a:0" ' * n + "}\n")
with open("shape.txt", "w") as f: f.write('name: "net"\nop { name: "a" type: "Abs" id: 0 output_desc { dtype: DT_FLOAT shape { ' + "dim: 1 " * (10 * n) + "} } }\n")

"""kernel_runs.py - runs a kernel of Triton on the host, as its code says (TTIR), on memory that is given to it.

    Kernel (torch, text)            reads the code; Unrunnable if it is of a form that is not known.  is_complete: each of its SIZE operators is
    Kernel.run (numbers, areas, grid, budget)
                                    runs every program of GRID, one after the other.  NUMBERS: what the arguments are, addresses for pointers; AREAS: the memory that there is

Why: what a kernel copies, counts and looks up is known where its arguments are (known_triton.py), and lengths and indices follow from it.

Invariants: nothing is read or written outside AREAS, and only those that are writable are written.  An operator that is not known gives an unknown value, and so does what is
computed of one; where such a value would decide which way the kernel goes, or which address it writes, or where BUDGET is spent, the run ends (Unrunnable).  Programs run one
after the other, so what depends on their order (what an atomic operator returns) is unknown as well.  Tensors of PyTorch on the host hold the values: None is an unknown one.
"""
import math
import re

from .kernels import HEADER, NAME

_LOC = re.compile(r" loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_ATTRIBUTES = re.compile(r"<?\{([^{}]*)\}>?")
_LINE = re.compile(r"(?:(%.*?) = )?\"?([a-z_]\w*\.\w[\w.]*)\"?(.*)")
_ARGUMENT = re.compile(r"(%[\w.$-]+): (!tt\.ptr<\w+(?:, \d+)?>|[if]\d+|bf16)")
_NAME = re.compile(NAME.pattern + r"(?:#\d+)?")
_LONGEST = 1 << 10  # lanes of an atomic operator that are served one by one


class Unrunnable(Exception):
    """The kernel cannot be run on the host."""


class Area(object):
    """Memory at ADDRESS of the GPU: its bytes, DATA, or None if they are unknown; UNKNOWN: of each byte whether it is, if any is."""

    def __init__(self, torch, address, nbytes, data, unknown, writable):
        self.address, self.nbytes, self.writable, self.loaded = address, nbytes, writable, False
        self.data = data.clone() if data is not None and writable else data
        self.unknown = unknown.bool() if unknown is not None else torch.ones(nbytes, dtype=torch.bool) if data is None and writable else None
        if data is None and writable:
            self.data = torch.zeros(nbytes, dtype=torch.uint8)


class Budget(object):
    """How many operators may be run, and how many elements these may make."""

    def __init__(self, steps, elements):
        self.steps, self.elements = steps, elements


class _Operator(object):
    __slots__ = ("results", "name", "operands", "text", "types", "attributes", "regions", "constant")


class _Region(object):
    def __init__(self):
        self.names, self.operators = [], []


def _places(results):
    """"%a", "%a:2" (which are "%a#0", "%a#1"), "%a, %b" """
    found = []
    for one in re.findall(r"(%[\w.$-]+)(?::(\d+))?", results or ""):
        found += [one[0]] if not one[1] else ["%s#%d" % (one[0], i) for i in range(int(one[1]))]
    return found


def _element(types):
    """The type of the elements of the last type: "f32" of "tensor<4xf32>", "i64" of a pointer to it."""
    found = re.findall(r"!tt\.ptr<(\w+)|(?:x|^|[ (])(bf16|f8E\w+|[if]\d+|index)\b", types)
    return next(one for one in found[-1] if one) if found else None


def _shape(types):
    found = re.findall(r"tensor<((?:\d+x)+)", types)
    return [int(one) for one in found[-1].split("x") if one] if found else []


class Kernel(object):
    """The code of a kernel, as operators with their regions."""

    def __init__(self, torch, text):
        self.torch = torch
        self.types = {"i1": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "index": torch.int64}
        self.types.update({"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64})
        self.types.update({"f8E4M3FN": getattr(torch, "float8_e4m3fn", None), "f8E5M2": getattr(torch, "float8_e5m2", None)})
        lines = [_LOC.sub("", line).strip() for line in text.splitlines()]
        headers = [i for i, line in enumerate(lines) if line.startswith("tt.func")]
        if len(headers) != 1:
            raise Unrunnable
        given = HEADER.match(lines[headers[0]])
        self.arguments = _ARGUMENT.findall(given.group(1)) if given else []
        if given is None or len(self.arguments) != len(re.findall(r"%[\w.$-]+: ", given.group(1))):
            raise Unrunnable
        self.size, self.is_complete = 0, True
        self.body = self.parse(lines[headers[0] + 1 :])

    def parse(self, lines):
        body = _Region()
        open_regions = [(None, body)]
        for line in lines:
            owner, region = open_regions[-1]
            if line.startswith("^"):
                region.names = _NAME.findall(line)
            elif line.startswith("}"):
                if owner is None:
                    return body
                open_regions.pop()
                if line.endswith("{"):
                    self.open(open_regions, owner)
                elif " : " in line:
                    owner.types = line.partition(" : ")[2]
            elif line:
                region.operators.append(self.operator(line))
                if line.endswith("{"):
                    self.open(open_regions, region.operators[-1])
        raise Unrunnable

    @staticmethod
    def open(open_regions, owner):
        owner.regions.append(_Region())
        open_regions.append((owner, owner.regions[-1]))

    def operator(self, line):
        found = _LINE.match(line)
        if found is None:
            raise Unrunnable
        one = _Operator()
        one.results, one.name, one.regions, one.constant = _places(found.group(1)), found.group(2), [], None
        rest = found.group(3)
        one.attributes = " ".join(_ATTRIBUTES.findall(rest))
        one.text, _, one.types = _ATTRIBUTES.sub("", rest).partition(" : ")
        one.operands = _NAME.findall(one.text)
        if one.name == "arith.constant":
            one.constant = self.constant(one)
        self.size += 1
        self.is_complete &= one.constant is not None or _is_served(one.name)
        return one

    def constant(self, one):
        text = one.text.strip()
        dtype = self.types.get(_element(one.types) if one.types else "i1")
        found = re.fullmatch(r"dense<(.*)>", text)
        text = found.group(1) if found else text
        try:
            if text.startswith("["):
                numbers = [self.number(each.strip(), dtype) for each in text.strip("[]").split(",")]
                return self.torch.tensor(numbers, dtype=dtype).view(_shape(one.types))
            return self.torch.full(_shape(one.types), self.number(text, dtype), dtype=dtype)
        except (RuntimeError, TypeError, ValueError):
            return None  # of a form that is not known

    def number(self, text, dtype):
        if text in ("true", "false"):
            return text == "true"
        if not dtype.is_floating_point:
            return int(text, 0)
        if text.startswith("0x"):
            bits = {2: self.torch.int16, 4: self.torch.int32, 8: self.torch.int64}[dtype.itemsize]
            value, width = int(text, 16), 8 * dtype.itemsize
            return float(self.torch.tensor(value - (value >> (width - 1) << width), dtype=bits).view(dtype))
        return float(text)

    def run(self, numbers, areas, grid, budget):
        for z in range(grid[2]):
            for y in range(grid[1]):
                for x in range(grid[0]):
                    _Program(self, areas, grid, (x, y, z), budget).run(numbers)


class _Program(object):
    """One program of the grid."""

    def __init__(self, kernel, areas, grid, at, budget):
        self.torch, self.kernel, self.areas, self.grid, self.at, self.budget, self.values = kernel.torch, kernel, areas, grid, at, budget, {}

    def run(self, numbers):
        for (name, kind), number in zip(self.kernel.arguments, numbers):
            self.values[name] = self.torch.tensor(number, dtype=self.torch.int64 if kind.startswith("!") else self.kernel.types[kind])
        self.block(self.kernel.body)

    def block(self, region, values=()):
        """Runs the operators of REGION, which begins with VALUES; returns what it ends with."""
        for name, value in zip(region.names, values):
            self.values[name] = value
        for one in region.operators:
            self.budget.steps -= 1
            if self.budget.steps < 0 or self.budget.elements < 0:
                raise Unrunnable
            if one.constant is not None:
                self.values[one.results[0]] = one.constant
                continue
            if one.name in _ENDS:
                return [self.values[each] for each in one.operands]
            results = self.serve(one)
            if len(one.results) == 1:
                results = [results]
            for name, value in zip(one.results, results or [None] * len(one.results)):
                self.values[name] = value
                self.budget.elements -= value.numel() if value is not None else 0
        return []

    def serve(self, one):
        kind, _, name = one.name.partition(".")
        special = getattr(self, kind + "_" + name.replace(".", "_"), None)
        operands = [self.values[each] for each in one.operands] if kind != "scf" else ()
        if special is not None:
            return special(one, *operands)
        if one.regions or one.name in _EFFECTS or not one.results:
            raise Unrunnable
        if any(each is None for each in operands):
            return None
        if name in _SAME and kind in ("arith", "math"):
            return _SAME[name](self.torch, *operands)
        if name in _CONVERSIONS and kind in ("arith", "tt"):
            return self.convert(one, name, *operands)
        return None

    def decided(self, value):
        """A value that decides what is done."""
        if value is None:
            raise Unrunnable
        return value

    def unsigned(self, value):
        """As it is without a sign, if integers of 64 bits can say so."""
        if value.dtype == self.torch.bool:
            return value.long()
        if value.dtype != self.torch.int64:
            return value.long() & ((1 << 8 * value.dtype.itemsize) - 1)
        return value if bool((value >= 0).all()) else None

    def convert(self, one, name, value):
        dtype = self.kernel.types.get(_element(one.types.rpartition("to ")[2].rpartition("-> ")[2]))
        if dtype is None:
            return None
        if name in ("bitcast",):
            return value.view(dtype) if value.dtype.itemsize == dtype.itemsize and "ptr" not in one.types else value if "ptr" in one.types else None
        if name in ("extui", "uitofp", "index_castui"):
            value = self.unsigned(value)
            return None if value is None else value.to(dtype)
        if name in ("extsi", "sitofp") and value.dtype == self.torch.bool:
            return (-value.to(self.torch.int64)).to(dtype)
        if name in ("trunci",) and dtype == self.torch.bool:
            return (value & 1).bool()
        return value.to(dtype)

    # ---- where a kernel goes

    def scf_for(self, one):
        header = re.match(r" (%[\w.$-]+) = (\S+) to (\S+) step (\S+)", one.text)
        first, last, step = (int(self.decided(self.values[header.group(i)])) for i in (2, 3, 4))
        pairs = re.findall(r"(%[\w.$-]+) = (%[\w.$#-]+)", one.text[header.end() :])
        carried, region = [self.values[each] for _, each in pairs], one.regions[0]
        dtype = self.values[header.group(2)].dtype
        region.names = [header.group(1)] + [name for name, _ in pairs]
        for i in range(first, last, step):
            carried = self.block(region, [self.torch.tensor(i, dtype=dtype)] + carried)
            self.budget.steps -= 1
            if self.budget.steps < 0:
                raise Unrunnable
        return carried[0] if len(one.results) == 1 else carried

    def scf_while(self, one):
        pairs = re.findall(r"(%[\w.$-]+) = (%[\w.$#-]+)", one.text)
        carried, (before, after) = [self.values[each] for _, each in pairs], one.regions
        before.names = [name for name, _ in pairs]
        while True:
            going, *carried = self.block(before, carried)
            if not bool(self.decided(going)):
                return carried[0] if len(one.results) == 1 else carried
            carried = self.block(after, carried)

    def scf_if(self, one):
        going = bool(self.decided(self.values[one.operands[0]]))
        results = self.block(one.regions[0]) if going else self.block(one.regions[1]) if len(one.regions) > 1 else []
        return results[0] if len(one.results) == 1 else results

    # ---- memory

    def area(self, addresses, size):
        low, high = int(addresses.min()), int(addresses.max()) + size
        return next((one for one in self.areas if one.address <= low and high <= one.address + one.nbytes), None)

    def places(self, addresses, area, dtype):
        """The memory of AREA as elements, and which of them lie at ADDRESSES."""
        size = dtype.itemsize
        offsets = addresses - area.address
        if area.data is None or bool((offsets % size != 0).any()):
            return None, None
        return area.data[: area.nbytes // size * size].view(dtype), offsets // size

    def bytes_at(self, places, size):
        return (places[:, None] * size + self.torch.arange(size)).flatten()

    def pointed(self, one):
        dtype = self.kernel.types.get(_element(one.types.partition(",")[0].strip("( "))) if "ptr<" in one.types and "ptr<tensor" not in one.types else None
        if dtype is None:
            raise Unrunnable
        return dtype

    def tt_load(self, one, pointer, mask=None, other=None):
        dtype = self.pointed(one)
        if pointer is None or len(one.operands) > 1 and mask is None:
            return None
        selected = pointer if mask is None else pointer[mask]
        out = other if other is not None else self.torch.zeros(pointer.shape, dtype=dtype) if len(one.operands) < 3 else None
        if selected.numel() == 0:
            return out
        area = self.area(selected, dtype.itemsize)
        if area is None or out is None:
            return None
        elements, places = self.places(selected, area, dtype)
        if elements is None or area.unknown is not None and bool(area.unknown[self.bytes_at(places.flatten(), dtype.itemsize)].any()):
            return None
        area.loaded = True
        found = elements[places]
        return found.clone() if mask is None else out.masked_scatter(mask, found)

    def tt_store(self, one, pointer, value, mask=None):
        dtype = self.pointed(one)
        if pointer is None or len(one.operands) > 2 and mask is None:
            raise Unrunnable
        selected = pointer.flatten() if mask is None else pointer[mask]
        if selected.numel():
            value = None if value is None else value.expand(pointer.shape).flatten() if mask is None else value.expand(pointer.shape)[mask]
            self.write(selected, dtype, value)
        return ()

    def write(self, addresses, dtype, value):
        area = self.area(addresses, dtype.itemsize)
        elements, places = self.places(addresses, area, dtype) if area is not None and area.writable else (None, None)
        if elements is None:
            raise Unrunnable
        if value is not None:
            elements[places] = value.to(dtype)
        elif area.unknown is None:
            area.unknown = self.torch.zeros(area.nbytes, dtype=self.torch.bool)
        if area.unknown is not None:
            area.unknown[self.bytes_at(places, dtype.itemsize)] = value is None

    def tt_atomic_rmw(self, one, pointer, value, mask=None):
        """What it returns depends on the order of programs; sums and extremes of integers do not."""
        dtype, kind = self.pointed(one), one.text.strip().partition(",")[0]
        if pointer is None or value is None or len(one.operands) > 2 and mask is None or kind not in _ATOMIC or pointer.numel() > _LONGEST:
            raise Unrunnable
        going = self.torch.ones_like(pointer, dtype=self.torch.bool) if mask is None else mask.expand(pointer.shape)
        for address, number in zip(pointer[going].flatten(), value.expand(pointer.shape)[going].flatten()):
            area = self.area(address, dtype.itemsize)
            elements, place = self.places(address, area, dtype) if area is not None and area.writable else (None, None)
            if elements is None:
                raise Unrunnable
            if area.unknown is None or not bool(area.unknown[self.bytes_at(place.view(1), dtype.itemsize)].any()):
                elements[place] = _ATOMIC[kind](self.torch, elements[place], number)
        return None

    # ---- what is made

    def tt_get_program_id(self, one):
        return self.torch.tensor(self.at["xyz".index(one.text.strip())], dtype=self.torch.int32)

    def tt_get_num_programs(self, one):
        return self.torch.tensor(self.grid["xyz".index(one.text.strip())], dtype=self.torch.int32)

    def tt_make_range(self, one):
        ends = dict(re.findall(r"(start|end) = (\d+)", one.attributes))
        return self.torch.arange(int(ends["start"]), int(ends["end"]), dtype=self.torch.int32)

    def tt_splat(self, one, value):
        return None if value is None else value.expand(_shape(one.types)).clone()

    def tt_unsplat(self, one, value):
        return None if value is None else value.flatten()[0]

    def tt_broadcast(self, one, value):
        return None if value is None else value.expand(_shape(one.types))

    def tt_expand_dims(self, one, value):
        return None if value is None else value.unsqueeze(self.axis(one))

    def tt_reshape(self, one, value):
        return None if value is None or "allow_reorder" in one.text + one.attributes else value.reshape(_shape(one.types))

    def tt_trans(self, one, value):
        order = re.search(r"order = array<i32: ([\d, ]+)>", one.attributes)
        return None if value is None or order is None else value.permute([int(each) for each in order.group(1).split(",")])

    def tt_join(self, one, left, right):
        return None if left is None or right is None else self.torch.stack((left, right), -1)

    def tt_cat(self, one, left, right):
        return None  # in no order

    def tt_split(self, one, value):
        return (None, None) if value is None else value.unbind(-1)

    def tt_addptr(self, one, pointer, offset):
        size = self.kernel.types.get(_element(one.types.partition(",")[0]))
        if pointer is None or offset is None or size is None or "ptr<tensor" in one.types:
            return None
        return pointer + offset.long() * size.itemsize

    def tt_ptr_to_int(self, one, value):
        return value

    tt_int_to_ptr = tt_ptr_to_int

    def tt_histogram(self, one, value, mask=None):
        if value is None or len(one.operands) > 1 and mask is None:
            return None
        value, bins = value if mask is None else value[mask], _shape(one.types)[0]
        return self.torch.bincount(value[(value >= 0) & (value < bins)].long(), minlength=bins).to(self.kernel.types[_element(one.types)])

    def tt_gather(self, one, source, places):
        return None if source is None or places is None else self.torch.gather(source, self.axis(one), places.long())

    def nothing(self, one, *operands):
        return ()

    tt_print = tt_assert = tt_debug_barrier = gpu_barrier = nothing

    def ub_poison(self, one):
        return None

    # ---- along an axis

    @staticmethod
    def axis(one):
        return int(re.search(r"axis = (\d+)", one.attributes).group(1))

    def together(self, one, left, right):
        return self.block(one.regions[0], list(left) + list(right))

    def tt_reduce(self, one, *values):
        if any(each is None for each in values):
            return None if len(one.results) == 1 else [None] * len(one.results)
        axis = self.axis(one)
        while values[0].shape[axis] > 1:
            halves = [each.split((each.shape[axis] + 1) // 2, axis) for each in values]
            rest = halves[0][0].shape[axis] - halves[0][1].shape[axis]
            met = self.together(one, [each[0].narrow(axis, 0, each[1].shape[axis]) for each in halves], [each[1] for each in halves])
            if any(each is None for each in met):
                raise Unrunnable
            values = [self.torch.cat((new, each[0].narrow(axis, new.shape[axis], rest)), axis) for new, each in zip(met, halves)]
        values = [each.squeeze(axis) for each in values]
        return values[0] if len(one.results) == 1 else values

    def tt_scan(self, one, *values):
        if any(each is None for each in values):
            return None if len(one.results) == 1 else [None] * len(one.results)
        axis, back = self.axis(one), "reverse = true" in one.attributes
        values = [each.flip(axis) if back else each for each in values]
        n, step = values[0].shape[axis], 1
        while step < n:
            met = self.together(one, [each.narrow(axis, 0, n - step) for each in values], [each.narrow(axis, step, n - step) for each in values])
            if any(each is None for each in met):
                raise Unrunnable
            values = [self.torch.cat((each.narrow(axis, 0, step), new), axis) for new, each in zip(met, values)]
            step *= 2
        values = [each.flip(axis) if back else each for each in values]
        return values[0] if len(one.results) == 1 else values

    # ---- numbers

    def arith_cmpi(self, one, left, right):
        kind = one.text.strip().partition(",")[0]
        if left is None or right is None:
            return None
        if kind.startswith("u"):
            left, right = self.unsigned(left), self.unsigned(right)
        return None if left is None or right is None else _COMPARED[kind[-2:]](left, right)

    def arith_cmpf(self, one, left, right):
        kind = one.text.strip().partition(",")[0]
        if left is None or right is None:
            return None
        odd = left.isnan() | right.isnan()
        if kind in ("ord", "uno"):
            return odd if kind == "uno" else ~odd
        found = _COMPARED.get(kind[1:])
        return None if found is None else found(left, right) | odd if kind[0] == "u" else found(left, right) & ~odd

    def arith_select(self, one, which, left, right):
        if which is not None and which.dim() == 0:
            return left if bool(which) else right
        if which is not None and bool(which.all()):
            return left
        if which is not None and not bool(which.any()):
            return right
        return None if which is None or left is None or right is None else self.torch.where(which, left, right)

    def without_sign(self, one, left, right):
        if left is None or right is None:
            return None
        dtype, (left, right) = left.dtype, (self.unsigned(left), self.unsigned(right))
        found = None if left is None or right is None else _SAME[one.name.partition(".")[2].replace("ui", "si")](self.torch, left, right)
        return None if found is None else found.to(dtype)

    arith_divui = arith_remui = arith_maxui = arith_minui = arith_shrui = arith_ceildivui = without_sign

    def tt_mulhiui(self, one, left, right):
        if left is None or right is None or left.dtype != self.torch.int32:
            return None
        left, right = self.unsigned(left), self.unsigned(right)
        high = (left * (right >> 16) + (left * (right & 0xFFFF) >> 16)) >> 16  # no sum has more than 49 bits
        return (high & 0xFFFFFFFF).to(self.torch.int32)

    def tt_clampf(self, one, value, low, high):
        return None if value is None or low is None or high is None else self.torch.minimum(self.torch.maximum(value, low), high)


def _is_served(name):
    kind, _, name = name.partition(".")
    special = "%s_%s" % (kind, name.replace(".", "_"))
    return "%s.%s" % (kind, name) in _ENDS or hasattr(_Program, special) or kind in ("arith", "math", "tt") and (name in _SAME or name in _CONVERSIONS)


def _divide(torch, left, right):
    """The quotient without its fraction; what is divided by zero is whatever it is."""
    by = torch.where((right == 0) | (right == -1), 1, right)
    return torch.where(right == -1, -left, torch.div(left, by, rounding_mode="trunc")).to(left.dtype)


def _remainder(torch, left, right):
    return torch.fmod(left, torch.where((right == 0) | (right == -1), 1, right)).to(left.dtype)


_ENDS = ("scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return", "tt.return")
_EFFECTS = ("tt.atomic_cas", "tt.elementwise_inline_asm", "tt.call", "tt.descriptor_load")
_COMPARED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_ATOMIC = {
    "add": lambda torch, a, b: a + b,
    "and": lambda torch, a, b: a & b,
    "or": lambda torch, a, b: a | b,
    "xor": lambda torch, a, b: a ^ b,
    "max": lambda torch, a, b: torch.maximum(a, b),
    "min": lambda torch, a, b: torch.minimum(a, b),
}
_CONVERSIONS = set("extsi extui trunci sitofp uitofp fptosi extf truncf index_cast index_castui bitcast fp_to_fp".split())
_SAME = {
    "addi": lambda torch, a, b: a ^ b if a.dtype == torch.bool else a + b,
    "subi": lambda torch, a, b: a ^ b if a.dtype == torch.bool else a - b,
    "muli": lambda torch, a, b: a * b,
    "andi": lambda torch, a, b: a & b,
    "ori": lambda torch, a, b: a | b,
    "xori": lambda torch, a, b: a ^ b,
    "shli": lambda torch, a, b: a << b,
    "shrsi": lambda torch, a, b: a >> b,
    "divsi": _divide,
    "remsi": _remainder,
    "ceildivsi": lambda torch, a, b: -torch.div(-a, torch.where(b == 0, 1, b), rounding_mode="floor"),
    "floordivsi": lambda torch, a, b: torch.div(a, torch.where(b == 0, 1, b), rounding_mode="floor"),
    "maxsi": lambda torch, a, b: torch.maximum(a, b),
    "minsi": lambda torch, a, b: torch.minimum(a, b),
    "addf": lambda torch, a, b: a + b,
    "subf": lambda torch, a, b: a - b,
    "mulf": lambda torch, a, b: a * b,
    "divf": lambda torch, a, b: a / b,
    "remf": lambda torch, a, b: torch.fmod(a, b),
    "negf": lambda torch, a: -a,
    "maximumf": lambda torch, a, b: torch.maximum(a, b),
    "minimumf": lambda torch, a, b: torch.minimum(a, b),
    "maxnumf": lambda torch, a, b: torch.fmax(a, b),
    "minnumf": lambda torch, a, b: torch.fmin(a, b),
    "absi": lambda torch, a: a.abs(),
    "absf": lambda torch, a: a.abs(),
    "fma": lambda torch, a, b, c: a * b + c,
    "powf": lambda torch, a, b: torch.pow(a, b),
}
for _name in "exp exp2 log log2 sqrt rsqrt sin cos floor ceil erf tanh trunc".split():
    _SAME[_name] = lambda torch, a, name=_name: getattr(torch, name)(a)

"""kernels.py - which of its pointers a kernel of Triton may write, as its code says (TTIR, the first form that Triton's compiler gives it).

    count (text)       how many arguments are pointers
    written (text)     the places, among the arguments that are pointers, of those that are written; None: any may be

Why: a kernel that nobody knows may have written all memory that it was given, so that no value there is known any more (dry/driver/foreign.c).  Most only read their lengths
and indices, which the host knows, and from which the next size follows.

Invariants: what is not plain counts as written.  A value that comes of a pointer by anything but a load is that pointer, or one beside it; where regions give values back (loops,
branches), each of them may be any that they give.
"""
import re

NAME = re.compile(r"%[\w.$-]+")
HEADER = re.compile(r"tt\.func .*?\((.*)")
_POINTER = re.compile(r"(%[\w.$-]+): !tt\.ptr")
_LINE = re.compile(r"(?:(%.*?) = )?\"?([a-z_]\w*\.\w+)\"?(.*)")
_STORES = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas")
_PLAIN = re.compile(
    r"(arith|math|scf)\.\w+|tt\.(splat|unsplat|addptr|broadcast|expand_dims|load|reshape|trans|bitcast|reduce|scan|dot|join|split|cat|make_range|get_program_id|get_num_programs"
    r"|ptr_to_int|make_tensor_ptr|advance|return|assert|print|clampf|fp_to_fp|gather|histogram|mulhiui|precise_sqrt|precise_divf)"
)
_LOST = re.compile(r"tt\.call|\bcf\.|tt\.ptr<!tt\.ptr")  # functions, jumps, pointers in memory
_ANY = -1  # the place of a pointer that was made of a number


def count(text):
    """How many arguments are pointers."""
    return sum(len(_POINTER.findall(line)) for line in text.splitlines() if line.strip().startswith("tt.func"))


def written(text):
    lines = [re.sub(r" loc\([^)]*\)", "", line).strip() for line in text.splitlines()]
    headers = [line for line in lines if line.startswith("tt.func")]
    if len(headers) != 1 or any(_LOST.search(line) for line in lines):
        return None
    code = lines[lines.index(headers[0]) :]
    of, stored, before = {}, set(), None  # definition (a name and its line, for parts may use a name again) -> places of the pointers of which it may come
    while before != (stored, of):
        before = set(stored), {one: set(places) for one, places in of.items()}
        _pass(code, of, stored)
    return None if _ANY in stored else stored


def _pass(code, of, stored):
    """Follows pointers through CODE once."""
    now, regions = {}, []  # name -> its last definition; what the open regions give: their results, and what they begin with

    def define(names, places, at):
        for name in names:
            now[name] = name, at
            of.setdefault(now[name], set()).update(places)

    def places_of(names):
        return set().union(*[of.get(now.get(name.partition("#")[0]), ()) for name in names])

    for place, name in enumerate(_POINTER.findall(code[0])):
        define([name], {place}, 0)
    for at, line in enumerate(code[1:], 1):
        if line.startswith("^"):  # what a block begins with, in the second part of a "while"
            define(NAME.findall(line), set().union(*[of[one] for region in regions[-1:] for one in region]), at)
        if line.startswith("}") and regions and not line.endswith("{"):
            regions.pop()
        found = _LINE.match(line)
        if found is None:
            continue
        results, operator, operands = NAME.findall(found.group(1) or ""), found.group(2), NAME.findall(found.group(3))
        places = places_of(operands[:1] if operator == "tt.addptr" else operands)
        if operator in _STORES:
            stored.update(places_of(operands[:1]))
        elif operator == "tt.int_to_ptr":
            places = {_ANY}
        elif not _PLAIN.fullmatch(operator):
            stored.update(places)
        if operator == "scf.yield" or operator == "scf.condition":
            for one in set().union(*regions[-1:]):
                of[one].update(places)
        begun = re.findall(r"(%[\w.$-]+) = (%[\w.$-]+)", found.group(3))
        for name, first in begun:
            define([name], places_of([first]), at)
        define(results, set() if operator in ("tt.load",) + _STORES else places, at)
        if line.endswith("{"):
            regions.append([now[name] for name in results + [name for name, _ in begun]])

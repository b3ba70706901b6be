"""checks.py - truth values that decide whether the program ends: "if not (p >= 0).all(): raise ValueError", "assert torch.allclose(a, b)".

    passes (frame)     the truth value with which the check that FRAME runs raises nothing; None: it runs none

Why: what kernels compute is not known in a dry run, and read as false it would end programs that no GPU would: libraries and programs look whether their numbers are valid.

Invariants: only what the line itself decides: an "assert", or an "if" that raises in one of its two branches, whose truth value is read as part of its condition, below nothing
but "not", "and", "or", bool() and item().  What is compared with something else, or goes through a function of Python, is not one.
"""
import ast
import linecache

_OF_LIBRARIES = ("/jax/_src/",)  # whose Python stands between a condition and the read
_found = {}  # code and instruction -> truth value


def passes(frame):
    while frame is not None and any(part in frame.f_code.co_filename for part in _OF_LIBRARIES):
        frame = frame.f_back
    if frame is None:
        return None
    key = frame.f_code, frame.f_lasti
    if key not in _found:
        _found[key] = _find(frame)
    return _found[key]


def _find(frame):
    file, number = frame.f_code.co_filename, frame.f_lineno
    positions, at = getattr(frame.f_code, "co_positions", tuple), frame.f_lasti // 2  # since Python 3.11
    before = list(positions())[: at + 1]  # a jump has the place of its statement; what it asks for, the instruction before
    places = before[-1:] + [one for one in before if one != before[-1]][-1:]
    try:
        tree = ast.parse("".join(linecache.getlines(file, frame.f_globals)))
    except (SyntaxError, ValueError):
        return None
    for one in ast.walk(tree):
        if isinstance(one, (ast.If, ast.Assert)) and one.lineno <= number <= one.test.end_lineno:
            wanted = _wanted(one)
            if wanted is not None:
                parts = list(_parts(one.test, wanted))
                for ways in [{value for node, value in parts if _is_at(node, place)} for place in places] or [{value for _, value in parts}]:
                    if len(ways) == 1:
                        return ways.pop()
                return None
    return None


def _wanted(statement):
    """What its condition has to be so that it raises nothing."""
    if isinstance(statement, ast.Assert):
        return True
    raises = [any(isinstance(one, ast.Raise) and "StopIteration" not in ast.dump(one) for one in branch) for branch in (statement.body, statement.orelse)]
    return not raises[0] if raises[0] != raises[1] else None


def _parts(node, wanted):
    """The expressions whose truth a condition asks for, each with what it has to be so that the condition is WANTED."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, not wanted
        yield from _parts(node.operand, not wanted)
    elif isinstance(node, ast.BoolOp):
        for one in node.values:
            yield from _parts(one, wanted)
    else:
        yield node, wanted
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id == "bool" and len(node.args) == 1:
            yield from _parts(node.args[0], wanted)
        elif isinstance(called, ast.Attribute) and called.attr == "item":
            yield from _parts(called.value, wanted)


def _is_at(node, place):
    """Whether the instruction at PLACE is NODE's."""
    line, last, column, end = place
    return (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == (line, last, column, end)

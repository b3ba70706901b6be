"""cupy_functions.py - functions of CuPy under a dry run beside NumPy's: what is known of a result must be NumPy's.

    gemem-dry-run --once python cupy_functions.py [LETTERS]     those whose names begin with one of them: prints a line for each result that is another one, and how
                                                                many were known

Each function of numpy, numpy.linalg, numpy.fft and scipy's relatives that CuPy has too is called with several arguments.  A call that NumPy refuses is left out.  Of a
result that is known, integers and truth values must be equal, real numbers close; the shape must be NumPy's wherever the result is there.
"""
import resource
import sys
import warnings

import cupy
import numpy

warnings.simplefilter("ignore")
rng = numpy.random.default_rng(0)
REAL = rng.random((6, 6)).astype("f4")
DATA = {
    "A": REAL,
    "D": rng.standard_normal((5, 7)),
    "S": (REAL @ REAL.T + 6 * numpy.eye(6)).astype("f4"),
    "I": rng.integers(0, 5, (6, 6)),
    "J": rng.integers(-4, 9, (3, 4, 5), dtype="i4"),
    "U": rng.integers(0, 200, 40, dtype="u1"),
    "v": rng.random(6).astype("f4"),
    "w": rng.standard_normal(1000),
    "iv": rng.integers(0, 5, 6),
    "L": rng.integers(0, 1000, 3000),
    "B": rng.random((6, 6)) > 0.5,
    "C": rng.random(8) + 1j * rng.random(8),
    "H": rng.random(9).astype("f2"),
}
LISTS = [[one] for one in DATA] + [
    *(["A", "A"], ["D", "D"], ["I", "I"], ["J", "J"], ["v", "v"], ["w", "w"], ["iv", "iv"], ["L", "iv"], ["A", "v"], ["I", 1], ["A", 1], ["A", 2, 1], ["v", 3], ["L", 7]),
    *([6], [(3, 4)], [3, 4], ["B", "A", "A"], ["A", 0, 1], ["J", 0], ["J", 1], ["J", 2], ["J", -1], ["D", 0], ["L", 10], ["w", 10], [0, 10, 3], ["B", "B"], ["U", "U"], ["H", "H"], ["C", "C"]),
    *(["I", "iv"], ["iv", "I"], ["B", 2.5, "A"], ["A", 0.25, 0.5], [["A", "A"]], [["v", "v"]], [["I", "I"], 1]),
]
SPACES = ["", "linalg", "fft"]


def refuse(when):
    if when:
        raise ValueError("what NumPy and CuPy do with that is their own")


def searchsorted(array, *others):
    refuse((array[:-1] > array[1:]).any())
    return numpy.searchsorted(array, *others)


def matrix_rank(array, *others):
    refuse(others)  # how a tolerance is shared out
    return numpy.linalg.matrix_rank(array)


REFERENCES = {"argsort": lambda *args: numpy.argsort(*args, kind="stable"), "unique_values": numpy.unique, "searchsorted": searchsorted, "matrix_rank": matrix_rank}
SKIP = set(
    "save savez savez_compressed savetxt load loadtxt fromfile genfromtxt memmap DataSource test info show_config show_runtime lookfor source get_include may_share_memory"
    " shares_memory empty empty_like fromiter frompyfunc byte_bounds asarray_chkfinite printoptions set_printoptions get_printoptions seterr geterr errstate"
    " argpartition partition reciprocal i0 array2string array_repr array_str format_float_positional format_float_scientific base_repr binary_repr".split()
)
replay = sys.modules["_gemem.known_cupy"].replay
METHODS = {
    "mask": lambda x, a: a(x)[a(x) > 2],
    "set_mask": lambda x, a: put(a(x).copy(), a(x) > 2, 0),
    "take_many": lambda x, a: a(x)[[0, 2, 1]],
    "step": lambda x, a: a(x)[::2, ::-1].copy(),
    "in_place": lambda x, a: add(a(x).copy()),
    "astype": lambda x, a: (a(x) * 3.7).astype("i4"),
    "where": lambda x, a: a(x).__ge__(2).nonzero(),
    "bits": lambda x, a: (a(x) << 2) ^ (a(x) >> 1),
    "power": lambda x, a: a(x) ** 3 % 7,
    "any": lambda x, a: (a(x) > 3).any(1),
    "sizes": lambda x, a: a(x)[: int(a(x).max())],
}


def put(array, where, what):
    array[where] = what
    return array


def add(array):
    array += array.T
    array *= 2
    return array


def known(array):
    """What is known of an array of the GPU: an array, whether it is assumed; None."""
    flat = cupy.ascontiguousarray(array)
    found = replay.replay(flat.data.ptr, flat.nbytes) if flat.size else (b"", False)
    return None if found is None else (numpy.frombuffer(found[0], flat.dtype).reshape(array.shape), found[1])


class Tally(object):
    def __init__(self):
        self.known = self.assumed = self.unknown = self.wrong = self.shapes = 0

    def compare(self, name, ours, theirs):
        if isinstance(theirs, (tuple, list)) and isinstance(ours, (tuple, list)) and len(ours) == len(theirs):
            for one, other in zip(ours, theirs):
                self.compare(name, one, other)
            return
        if not isinstance(ours, cupy.ndarray):
            return
        theirs = numpy.asarray(theirs)
        found = known(ours)
        if ours.shape != theirs.shape:
            self.say(name, "has the shape %s, not %s" % (ours.shape, theirs.shape))
            self.shapes += 1
        elif found is None:
            self.unknown += 1
            print("unknown", name)
        elif found[1]:
            self.assumed += 1
        else:
            self.known += 1
            if not self.same(found[0], theirs):
                self.wrong += 1
                self.say(name, "is %s, not %s" % (found[0].ravel()[:6], theirs.ravel()[:6]))

    def same(self, ours, theirs):
        if ours.dtype.kind in "biu" and theirs.dtype.kind in "biu":
            return numpy.array_equal(ours, theirs)
        few = 2e-2 if ours.dtype.itemsize == 2 else 1e-4
        return numpy.allclose(ours, theirs, rtol=few, atol=few, equal_nan=True)

    def say(self, name, text):
        print("DIFFERS", name, text, flush=True)


def arguments(names, make):
    return [make(DATA[one]) if isinstance(one, str) else arguments(one, make) if isinstance(one, list) else one for one in names]


def run(tally, name, function, reference, names):
    try:
        theirs = reference(*arguments(names, numpy.copy))
    except Exception:
        return
    try:
        ours = function(*arguments(names, cupy.asarray))
        tally.compare("%s%s" % (name, names), ours, theirs)
    except (NotImplementedError, TypeError, AttributeError):
        pass  # which CuPy does not have
    except Exception as error:
        print("refused", name, names, "%s: %s" % (type(error).__name__, error))


def main(wanted):
    tally = Tally()
    for space in SPACES:
        ours, theirs = (getattr(one, space) if space else one for one in (cupy, numpy))
        for name in sorted(dir(theirs)):
            function, reference = getattr(ours, name, None), getattr(theirs, name)
            if name.startswith("_") or name in SKIP or not callable(function) or isinstance(reference, type) or name[0].lower() not in wanted:
                continue
            for names in LISTS:
                run(tally, space + "." * bool(space) + name, function, REFERENCES.get(name, reference), names)
    for name, method in METHODS.items():
        for one in ("I", "A") if name[0] in wanted else ():
            run(tally, name, lambda x: method(x, cupy.asarray), lambda x: method(x, numpy.asarray), [one])
    print("held %d MiB" % (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10))
    print("known %d, assumed %d, unknown %d, wrong %d, shapes %d" % (tally.known, tally.assumed, tally.unknown, tally.wrong, tally.shapes))
    return tally.wrong > 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))  # some functions make huge arrays of some arguments
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "abcdefghijklmnopqrstuvwxyz"))

#!/bin/sh
# test-dry-checks.sh - dry/python/checks.py: a truth value that decides whether the program ends is the one with which it goes on; what decides something else is none of these.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
python=$(command -v python3) || { skip "checks" "there is no python3"; done_testing; }
cat >checks_of.py <<'END'
import sys

sys.path.insert(0, sys.argv[1])
import checks

asked = []


class Truth(object):
    """Reads what passes, as a tensor of the GPU does; false where nothing is known."""

    def all(self):
        return self

    def __bool__(self):
        asked.append(checks.passes(sys._getframe(1)))
        return bool(asked[-1])

    item = __bool__

    def __gt__(self, other):
        return self


def point(ok, text):
    print(("ok" if ok else "not ok") + " - " + text)


def goes_on(function, wanted, text):
    del asked[:]
    try:
        function()
        point(asked == wanted, "%s: %s" % (text, asked))
    except (ValueError, AssertionError):
        point(asked == wanted == [None], "%s: %s, and it ends" % (text, asked))


x = Truth()


def an_assert():
    assert x.all(), "a message"


def an_if():
    if not x.all():
        raise ValueError("not all")


def many():
    if not (x > 0).all() or x.all() or not bool(x.all()) or (not x.item()):
        raise ValueError("one of them")


def several_lines():
    if (
        x.all()
        and not x.all()
    ):
        raise ValueError("lines")


def otherwise():
    if x.all():
        return
    else:
        raise ValueError("none")


def decides_more():
    if x.all():
        return 1
    return 2


def of_a_loop():
    while x.all():
        raise ValueError("loop")


def stops():
    try:
        if not x.all():
            raise StopIteration
    except StopIteration:
        return


def behind_a_function():
    def valid():
        return bool(x.all())

    if not valid():
        raise ValueError("behind")


exact = sys.version_info >= (3, 11)  # older ones do not say which part of a line asks
goes_on(an_assert, [True], "assert")
goes_on(an_if, [True], "if not ...: raise")
if exact:
    goes_on(many, [True, False, True, True], "one of several truth values")
    goes_on(several_lines, [False], "a condition of several lines")
source = "def far():\n    for i in range(1):\n        if not x.all():\n            raise ValueError(i)\n" + "        y = [i, i, i, i]\n" * 400
with open("far_away.py", "w") as stream:
    stream.write(source)
scope = {"x": x}
exec(compile(source, "far_away.py", "exec"), scope)
goes_on(scope["far"], [True], "in a long loop")
goes_on(otherwise, [True], "if ...: else: raise")
goes_on(decides_more, [None], "an if that raises nothing")
goes_on(of_a_loop, [None], "a while")
goes_on(stops, [None], "the end of a loop by StopIteration")
goes_on(behind_a_function, [None], "behind a function")
END
"$python" checks_of.py "$GEMEM_SRCDIR/dry/python" >points 2>&1 || echo "not ok - it ran" >>points
points points
check 'most of them' test "$(grep -c '^ok' points)" -ge 8
done_testing

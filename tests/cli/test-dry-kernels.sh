#!/bin/sh
# test-dry-kernels.sh - dry/python/kernels.py: which pointers a kernel of Triton writes, by its code; what is not plain counts as written.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
python=$(command -v python3) || { skip "kernels" "there is no python3"; done_testing; }
cat >kernels_of.py <<'END'
import sys

sys.path.insert(0, sys.argv[1])
import kernels

HEADER = 'module {\n  tt.func public @k(%a: !tt.ptr<i32> {tt.divisibility = 16 : i32} loc("a"(#loc)), %b: !tt.ptr<i32> loc("b"(#loc)), %c: !tt.ptr<i64> loc(#loc), %n: i32 loc(#loc)) {\n'


def point(code, wanted, text):
    found = kernels.written(HEADER + "\n".join("    " + line for line in code.strip().splitlines()) + "\n    tt.return\n  }\n}\n")
    print("%s - %s: %s" % ("ok" if found == wanted else "not ok", text, found))


point("""
%p = tt.addptr %a, %n : !tt.ptr<i32>, i32
%x = tt.load %p : !tt.ptr<i32>
%q = tt.addptr %b, %x : !tt.ptr<i32>, i32
tt.store %q, %x : !tt.ptr<i32>
""", {1}, "a store; what is loaded is no pointer")
point("""
%0 = tt.atomic_rmw add, acq_rel, gpu, %c, %x, %true : (!tt.ptr<i64>, i64, i1) -> i64
""", {2}, "an atomic operation")
point("""
%p = arith.select %x, %a, %b : !tt.ptr<i32>
tt.store %p, %n : !tt.ptr<i32>
""", {0, 1}, "one of two")
point("""
%r:2 = scf.for %i = %x to %n step %y iter_args(%s = %z, %p = %a) -> (i32, !tt.ptr<i32>)  : i32 {
  tt.store %p, %s : !tt.ptr<i32>
  scf.yield %s, %b : i32, !tt.ptr<i32>
}
""", {0, 1}, "a loop that goes on with another one")
point("""
%r = scf.if %x -> (!tt.ptr<i32>) {
  scf.yield %a : !tt.ptr<i32>
} else {
  scf.yield %b : !tt.ptr<i32>
}
tt.store %r, %n : !tt.ptr<i32>
""", {0, 1}, "branches")
point("""
%r = scf.while (%p = %a) : (!tt.ptr<i32>) -> !tt.ptr<i32> {
  scf.condition(%x) %p : !tt.ptr<i32>
} do {
^bb0(%q: !tt.ptr<i32> loc(#loc)):
  tt.store %q, %n : !tt.ptr<i32>
  scf.yield %b : !tt.ptr<i32>
}
""", {0, 1}, "a while")
point("""
scf.for %i = %x to %n step %y  : i32 {
  %0 = tt.addptr %a, %i : !tt.ptr<i32>, i32
  %1 = tt.load %0 : !tt.ptr<i32>
}
scf.for %i = %x to %n step %y  : i32 {
  %0 = tt.addptr %b, %i : !tt.ptr<i32>, i32
  tt.store %0, %i : !tt.ptr<i32>
}
""", {1}, "names that are used again")
point("""
%0 = tt.load %c : !tt.ptr<i64>
%1 = tt.int_to_ptr %0 : i64 -> !tt.ptr<i32>
%2 = tt.load %1 : !tt.ptr<i32>
tt.store %a, %2 : !tt.ptr<i32>
""", {0}, "a load by a pointer from memory")
point("""
%0 = tt.load %c : !tt.ptr<i64>
%1 = tt.int_to_ptr %0 : i64 -> !tt.ptr<i32>
tt.store %1, %n : !tt.ptr<i32>
""", None, "a store by one may be anywhere")
point("tt.call @other(%a) : (!tt.ptr<i32>) -> ()", None, "a function")
point("%0 = tt.make_tensor_descriptor %b, [%n], [%x] : <i32>, <tensor<4xi32>>", {1}, "an operation that is not plain")
point('%0 = "tt.reduce"(%x) <{axis = 0 : i32}> ({\n^bb0(%l: i32, %m: i32):\n  tt.reduce.return %l : i32\n}) : (tensor<4xi32>) -> i32\ntt.store %a, %0 : !tt.ptr<i32>', {0}, "a reduction")
print("ok - three pointers" if kernels.count(HEADER) == 3 else "not ok - three pointers")
END
"$python" kernels_of.py "$GEMEM_SRCDIR/dry/python" >points 2>&1 || echo "not ok - it ran" >>points
points points
check 'all of them' test "$(grep -c '^ok' points)" -eq 13
done_testing

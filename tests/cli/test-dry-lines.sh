#!/bin/sh
# test-dry-lines.sh - the lines of Python under which a program requests memory whose libraries give no stacks: here by ctypes, which leaves Python's lock as XLA and TensorFlow do.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
command -v python3 >/dev/null || { echo '1..0 # SKIP there is no python3'; exit 0; }
if is_sanitized; then
  echo "1..0 # SKIP the preloaded libraries are instrumented, and the programs are not"; exit 0
fi

cat >device.py <<'PY'
import ctypes
free, holding = ctypes.CDLL(None), ctypes.PyDLL(None) # the second one keeps Python's lock while it calls
def take(size, library=free):
    at = ctypes.c_void_p()
    return at if library.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(size)) == 0 else None
PY
cat >program.py <<'PY'
import atexit, os, sys, threading
from device import free, holding, take

def twice(size):
    return [take(size),
            take(2 * size)]
twice(100)
a = take(1 << 50); b = take(300, holding)
thread = threading.Thread(target=take, args=(7000,))
thread.start(); thread.join()
free.cudaFree(b)
atexit.register(lambda: take(290))
if "kill" in sys.argv: os.kill(os.getpid(), 9)
if "leave" in sys.argv: os._exit(0)
PY
dry () { rm -f out.*gmt; run "$@"; gemem-sim convert out.gmt out.txt >/dev/null 2>&1; }
# lines FILE: of each request "SIZE FILE:LINE ...", its frames innermost first.
lines () {
  awk '/^# frame: / { file = $(NF - 1); gsub (/"|.*\//, "", file); frame[++frames] = $NF ~ /^[0-9]+$/ ? file ":" $NF : "(" substr ($0, 10) ")" }
       /^# stack: / { text = ""; for (i = 3; i <= NF; i++) text = text " " frame[$i]; stack[++stacks] = text }
       /^(alloc|oom) / { size = at = ""; for (i = 2; i <= NF; i++) { if ($i ~ /^size=/) size = substr ($i, 6); if ($i ~ /^stack=/) at = stack[substr ($i, 7)] } print size at }' "$1" | sed -E 's/ threading.py:[0-9]+//g'
}
same () { lines "$1" >found; check "$2" cmp found expected || diag found; }

# ---- each request with its line; that of another thread says so; frees have none
dry 0 gemem-dry-run -o out.gmt python3 program.py
sed -n '3,$s/^#  *//p' >expected <<'TXT'
sizes, then where: innermost first

# 100 device.py:5 program.py:5 program.py:7
# 200 device.py:5 program.py:6 program.py:7
# 1125899906842624 device.py:5 program.py:8
# 300 device.py:5 program.py:8
# 7000 ("in another thread") program.py:10
# 290 device.py:5 program.py:12
TXT
same out.txt "the lines, in order"
says err '^  peak live +7\.422 KiB \(7600 bytes\), event 4, .*/program\.py:10 <module> \(in another thread\) \[thread 1\]$'
says err '^  out of memory +1 request was refused; of 1125899906842624 bytes, .*/device\.py:5 take$'
check "frees have no line" sh -c "! grep -q '^free .*stack=' out.txt"
run 0 gemem-sim info out.gmt --at=peak --by=line; says out '6\.836 KiB .*/program\.py:10 <module>$'; says out '600 B .*/device\.py:5 take$'

# ---- however the process ends
sed -i '$d' expected # without the function at its end
for how in kill leave; do
  dry "$([ $how = kill ] && echo 137 || echo 0)" gemem-dry-run -o out.gmt python3 program.py $how; same out.txt "$how: the same lines"
done
cat >forks.py <<'PY'
import os
from device import take
child = os.fork()
take(500 if child else 600)
if child: os.wait()
PY
dry 0 gemem-dry-run -o out.gmt python3 forks.py; gemem-sim convert out.[0-9]*.gmt child.txt
for size in 500 600; do echo "$size device.py:5 forks.py:4" >expected; same "$([ $size = 500 ] && echo out || echo child).txt" "$size: its own process's line"; done

# ---- a library that asks in threads of its own while Python ends: nothing waits, nothing crashes
cat >ends.py <<'PY'
import threading
from device import free, take
def loop():
    while True: free.cudaFree(take(64))
for _ in range(4): threading.Thread(target=loop, daemon=True).start()
for _ in range(50): take(32)
PY
for time in first second third; do dry 0 timeout 60 gemem-dry-run -o out.gmt python3 ends.py; check "the $time time" test "$(grep -c '^alloc .*size=32 .*stack=' out.txt)" -eq 50; done

# ---- a stack that is longer than a record: the program's own lines stay
mkdir -p site-packages; printf 'def deep(n, call):\n    return deep(n - 1, call) if n else call()\n' >site-packages/deep_package_of_somebody.py
cat >deep.py <<'PY'
import sys; sys.path.insert(0, "site-packages")
from deep_package_of_somebody import deep
from device import take
deep(300, lambda: take(600))
PY
dry 0 gemem-dry-run -o out.gmt python3 deep.py; lines out.txt >found
check "the program's lines of a deep stack" grep -Eq '^600 device\.py:5 deep\.py:4 (deep_package_of_somebody\.py:2 )+deep\.py:4$' found

# ---- with the frames of C before them; without Python's part none
dry 0 gemem-dry-run --stacks -o out.gmt python3 program.py leave; lines out.txt >found
check "frames of C, then the lines" grep -Eq '^200 .+ device\.py:5 program\.py:6 program\.py:7$' found
says err '^  peak live .*/program\.py:10 <module>'
dry 0 gemem-dry-run -o out.gmt python3 -E -c 'import sys; sys.path.insert(0, "."); from device import take; take(700)'; lines out.txt >found; echo 700 >expected
check "no line where Python does not look for our part" cmp found expected
done_testing

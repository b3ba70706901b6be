#!/bin/sh
# test-dry-sizes.sh - the lists dry/libraries/**/*sizes.def say where sizes are among arguments as the public headers do, where they are
# installed; and no function in harmless.def answers with a size, a count or a handle.
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

include=${CUDA_HOME:-/usr/local/cuda}/include
python=$(command -v python3) || { skip 'the headers' 'no python3'; done_testing; }
cat >sizes.py <<'END'
import fnmatch, glob, re, sys
source, include = sys.argv[1:]
text = ""
for f in glob.glob(include + "/cu[sdf]*.h"):
    text += re.sub(r"//[^\n]*", "", re.sub(r"/\*.*?\*/", " ", open(f, errors="replace").read(), flags=re.S))
headers = {m[1]: [" ".join(a.split()) for a in m[2].split(",")] for m in re.finditer(r"\b(cu\w+)\s*\(([^()]*)\)\s*;", text)}
seen = 0
lists = "".join(open(f).read() for f in glob.glob(source + "/dry/**/*sizes.def", recursive=True))
for m in re.finditer(r"^DRY_(\w+) \((.*)\)$", lists, re.M):
    a = m[2].split(", ")
    names = [a[0] + c + a[1] for c in "SDCZ"] if m[1].endswith("SDCZ") else [a[0]]
    position, kind = int(a[-2]), a[-1]
    for name in names:
        whole = [x for x in headers.get(name, []) if not re.match(r"(const )?(float|double) ?\w*$", x)]
        if not whole: continue
        seen += 1
        for i in range(position, position + (2 if "TWO" in m[1] else 1)):
            if i >= len(whole) or not re.match(kind + r" ?\*", whole[i]): print(name, i, whole)
for pattern in re.findall(r'GEMEM_DRY_HARMLESS \("([^"]+)"', open(source + "/dry/libraries/harmless.def").read()):
    for name in fnmatch.filter(headers, pattern):
        for a in [] if name.endswith("BatchAsync") else headers[name]:  # those take arrays
            if re.match(r"(size_t|\w+(Handle|Info|Descr|Descriptor)_t) ?\* ?\w+$", a): print(pattern, name, a)
if seen < 200: print("only", seen, "functions were found")
END
[ -e "$include/cusolverDn.h" ] && [ -e "$include/cudnn.h" ] || { skip 'the headers' 'CUDA and cuDNN headers are not installed'; done_testing; }
run 0 "$python" sizes.py "$GEMEM_SRCDIR" "$include"
check 'positions are those of the headers, nothing harmless answers' test ! -s "$out"
done_testing

#!/bin/sh
# test-dry-run.sh - gemem-dry-run on programs that use runtime and driver, on a Python module called torch that only looks like PyTorch, and on wrong input.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
program=$GEMEM_BUILDDIR/tests/programs/dry-memory
XDG_CACHE_HOME=$GEMEM_TMP/.cache; export XDG_CACHE_HOME
if is_sanitized; then
  echo "1..0 # SKIP the preloaded libraries are instrumented, and the programs are not"; exit 0
fi

# CUDA's context is counted on an H100; here it is left out of the figures, but where one asks for it.
mkdir bin; printf '#!/bin/sh\nexec "%s" --context 0 "$@"\n' "$(command -v gemem-dry-run)" >bin/gemem-dry-run; chmod +x bin/gemem-dry-run; PATH=$PWD/bin:$PATH

# events FILE: its events without times and addresses, joined by ";".
events () {
  gemem-sim convert -q "$1" events.txt && sed -n -e 's/ addr=0x[0-9a-f]*//' -e 's/ t=[0-9]*$//; s/ t=[0-9]* / /' -e '/^[a-z]/p' events.txt | paste -s -d ';'
}

# ---- wrong input
run 2 gemem-dry-run; says err "^gemem-dry-run: name a program to run; 'gemem-dry-run --help' shows how$"
run 2 gemem-dry-run --gpu h10 true; says err "no GPU is called 'h10'; nearest: h100, h100-pcie, h100-nvl; 'gemem-sim list gpus' shows all"
run 2 gemem-dry-run --gpu a100 true; says err "several sizes: a100-40 \(39\.38 GiB\), a100-80"
for gpu in 4090 'RTX 4090' 'NVIDIA GeForce RTX 4090'; do run 0 gemem-dry-run --gpu "$gpu" true; says err 'made no CUDA calls'; done
run 2 "$GEMEM_BUILDDIR/gemem-dry-run" --capacity 0 true; says err '^gemem-dry-run: --capacity=0: a GPU without memory; write more$'
run 2 gemem-dry-run --capacity 16 true; says err '^gemem-dry-run: --capacity=16: .*write 16GiB'
run 2 gemem-dry-run --capacity lots true
run 2 gemem-dry-run --gpcs 18,18 true; says err '^gemem-dry-run: --gpcs=18,18: write how many of the 132 multiprocessors of h100 each GPC has'
run 2 gemem-dry-run --gpcs 0,132 true
run 2 gemem-dry-run --gpus 0 true; says err '--gpus=0: write a number from 1 to 16'
run 2 gemem-dry-run --orders 1000 true; says err '--orders=1000: write a number from 1 to 100'
run 2 gemem-dry-run --stacks=0 true; says err '--stacks=0: how many frames, 1 to 128'
run 2 gemem-dry-run --context 100GiB true; says err 'leaves nothing of the capacity'
run 2 gemem-dry-run --value 'here=0*x,1' true; says err 'or one for each read'
run 2 gemem-dry-run --value 'here' true; says err "--value=here: write a regular expression, '=' and a number"
run 2 gemem-dry-run --rank 1 true; says err '--rank=1 --world=0: write both, a rank from 0 and the number of ranks'
run 2 gemem-dry-run --rank 8 --world 8 true; says err '--rank=8 --world=8: write both'
run 2 gemem-dry-run --world 8 true; says err 'write both'
run 2 gemem-dry-run --rank 1 --world 8 torchrun train.py; says err 'write python in its place'
run 2 gemem-dry-run --nothing true; says err "Unknown option --nothing; 'gemem-dry-run --help' shows all$"
run 2 gemem-dry-run --fit B=1..5 --fit B=1,2 -- true B; says err '--fit=B=1,2: B was given before'
run 2 gemem-dry-run -o /dev/null true; says err '--output=/dev/null: a device or a pipe'
run 2 gemem-dry-run --fit B=5..1 -- true B; says err '--fit=B=5\.\.1: write NAME=FROM\.\.TO'
run 2 gemem-dry-run --fit B=1..5 -- true; says err 'no argument of the program contains the word B;'
run 2 gemem-dry-run -o no/folder/out.gmt true; says err '^gemem-dry-run: --output=no/folder/out.gmt: No such file or directory; name a file in a folder that can be written$'
run 2 gemem-dry-run -o . true; says err '--output=\.: Is a directory'
run 2 gemem-dry-run --json no/verdict.json true; says err '--json=no/verdict.json: No such file or directory'
run 127 gemem-dry-run ./no-such-program; says err '^gemem-dry-run: ./no-such-program: No such file or directory$'
run 126 gemem-dry-run .; says err '^gemem-dry-run: \.: Is a directory; name a program$'
run 127 gemem-dry-run 'true 5'; says err "'true 5' is no program; write the program and each argument as a word of its own"
printf '#!/no/such/interpreter\n' >orphan; chmod +x orphan; run 127 gemem-dry-run -o orphan.gmt ./orphan; says err './orphan: No such file or directory: what its first line, or its ELF header, names'
mkfifo pipe; cat pipe >got & run 0 gemem-dry-run -o pipe.gmt --json pipe true; wait $!
check "--json writes into a pipe and does not replace it" sh -c 'test -p pipe && grep -q "\"gpu\"" got'
echo 'print(1)' >plain.py
run 127 gemem-dry-run plain.py; says err 'plain.py: No such file or directory; write python plain.py$'
run 126 gemem-dry-run ./plain.py; says err './plain.py: Permission denied; write python ./plain.py$'
rm -f out.gmt; run 0 gemem-dry-run true; says err 'true made no CUDA calls; .*out\.gmt holds no events'
echo earlier >out.gmt; run 0 gemem-dry-run true; says err 'true made no CUDA calls; .*out\.gmt is left as it was'; check 'an earlier recording is kept' grep -q earlier out.gmt
rm -f out.gmt; run 127 gemem-dry-run ./no-such-program; check "a program that is not there leaves no trace" test ! -e out.gmt
run 0 env -u HOME -u XDG_CACHE_HOME gemem-dry-run true
XDG_CACHE_HOME=/proc/nowhere run 0 gemem-dry-run "$program" runtime; says err '/proc/nowhere.*; made for this run alone$'; says err '^  h100 +fits: 2\.000 MiB'
{ printf '\177ELF\002\001\001'; head -c 47 /dev/zero; printf '\070'; head -c 9 /dev/zero; echo libcuda.so.1; } >static; chmod +x static # an ELF file without an interpreter
run 126 gemem-dry-run ./static; says err 'LD_PRELOAD has no effect on it.*: it is linked statically; link it dynamically'
run 0 gemem-dry-run --version; says out '^gemem-dry-run [0-9]'
run 0 gemem-dry-run --help; says out '--fit=NAME=VALUES'
check "nothing is left behind" sh -c '! ls -d ./*.recording-* 2>/dev/null'

# ---- programs
# Folders whose names end an item of $LD_PRELOAD, $LD_AUDIT or $PYTHONPATH: those of the results, and those where gemem is installed.
mkdir 'a b' 'a:b'
libraries=$GEMEM_BUILDDIR/.libs
for folder in 'a b' 'a:b'; do
  TMPDIR=$PWD XDG_CACHE_HOME=$PWD/$folder run 0 gemem-dry-run -o "$folder/out.gmt" "$program" runtime; says err '^  h100 +fits: 2\.000 MiB'
  next=$(sed -n 's/^  next  *//p' "$err"); check "$folder: a shell reads the next command" eval "$next -a direct"
  check "$folder: the loader says nothing" sh -c "! grep -q ld\.so $err"
  cp "$libraries/gemem-dry-run" "$libraries/gemem-record" "$libraries/libgemem-record.so" "$libraries"/libgemem-dry*.so "$folder"
  for command in gemem-dry-run 'gemem-record --without-gpu'; do
    # shellcheck disable=SC2086 # words on purpose
    TMPDIR=$PWD LD_LIBRARY_PATH=$libraries run 0 "$folder/"$command "$program" runtime; says err '^  h100 +fits: 528\.8 MiB'
    check "$folder: the loader says nothing to the libraries there" sh -c "! grep -q ld\.so $err"
  done
done
XDG_CACHE_HOME="$PWD/a b" run 126 env TMPDIR="$PWD/a b" gemem-dry-run "$program" runtime; says err "let .TMPDIR name a folder .*, without blanks and colons$"
check "no links are left" sh -c '! ls -d ./gemem-?????? 2>/dev/null'
run 3 gemem-dry-run sh -c 'echo said; exit 3'; says out '^said$'; says err 'made no CUDA calls'; says err 'program +ended with exit status 3'
run 0 gemem-dry-run "$program" runtime
says err '^  h100 +fits: 2\.000 MiB of 79\.18 GiB \(2097152 of 85017493504 bytes\)$'
says err '^  peak live +2\.000 MiB \(2097152 bytes\), event 2$'
says err '^  next +gemem-sim compare .*/out\.gmt$'
check "the calls of the runtime" test "$(events out.gmt)" = 'alloc 1 size=1048576;free 1;alloc 2 size=2097152'
run 0 gemem-sim info out.gmt; says out 'recorder: gemem-dry-run [0-9]'; says out '^  recorded device +gpu=h100$'
run 0 gemem-sim out.gmt; says out '^It fits: it needs .* of 79\.18 GiB \(the recorded device\)'
run 0 gemem-sim compare -v out.gmt -d sim:capacity=1GiB -a direct -a pytorch-caching; says out '^direct'
run 0 gemem-dry-run "$program" driver
check "the calls of the driver" test "$(events out.gmt)" = 'alloc 1 size=3145728'
run 0 gemem-record --without-gpu -o record.gmt "$program" runtime; says err '^  h100 +fits'
check "gemem-record --without-gpu" test -s record.gmt
run 2 gemem-record -o x.gmt --without-gpu true; says err 'write --without-gpu as the first option'
run 0 gemem-dry-run --gpus 3 --gpu a100-40 "$program" devices; says out '^3 devices of 42284875776 bytes, 42284875776 free'
run 0 gemem-dry-run --capacity 8GiB --context 1GiB "$program" devices; says out '^1 devices of 8589934592 bytes, 7516192768 free'
run 0 gemem-dry-run --details "$program" pool; says err '^  h100 +fits only if .*: 5\.000 MiB of'; says err '^  unknown .*: pools of CUDA'; says err '^  peak live +3\.000 MiB'; says err '^  held in all +5\.000 MiB, with what memory pools keep unused$'
# the recording remembers on what the verdict depended, so that no other device gets a plain yes
run 0 gemem-sim info out.gmt; says out '^  only if: what is not known besides needs no more$'
for device in h100 80GiB; do run 3 gemem-sim out.gmt -d "$device"; says out '^It cannot be told whether it fits: the dry run says it does only if what is not known besides needs$'; done
run 0 gemem-dry-run --capacity 8GiB --context 1GiB "$program" runtime; run 0 gemem-sim info out.gmt; says out '^  recorded device +capacity=8589934592,reserved_by_others=1073741824$'; lacks out 'only if'
run 4 gemem-dry-run --fail-unless-fits "$program" pool; says err '^  h100 +fits only if'
run 0 gemem-dry-run --fail-unless-fits "$program" runtime; says err '^  h100 +fits:'
run 4 gemem-dry-run --fail-unless-fits true
run 0 gemem-dry-run --details "$program" read; says out '^0$'; says err '^  numbers +1 integers were read from the GPU, as zero .*: 4 bytes$'; says err 'when they read 17, in a second run, the program asked for the same memory$'

# ---- a runtime that is linked in: into the program, and into a module in a folder of Python
linked=$GEMEM_BUILDDIR/tests/programs/dry-linked
run 0 "$linked"; says out '^registered inside, malloc 99 nothing, made up 99, free 99, without space 99 99$'
run 0 gemem-dry-run "$linked"; says out '^registered outside, malloc 0 block, made up 801, free 0, without space (0|99) 99$'
says err '^  not written +1 calls failed.*cudaMadeUp libcudart\.so\.13'; check "its calls" test "$(events out.gmt)" = 'alloc 1 size=1048576;free 1'
mkdir modules; cp "$GEMEM_BUILDDIR/tests/programs/.libs/dry-linked-module.so" modules
run 0 env PYTHONPATH="$PWD/modules" gemem-dry-run "$linked" modules/dry-linked-module.so; check "a module that is opened" test "$(grep -c 'registered outside, malloc 0 block' "$out")" -eq 2

# ---- a module that defines the driver's functions itself and looks them up in the driver, as TensorFlow does
run 0 timeout 60 gemem-dry-run "$GEMEM_BUILDDIR/tests/programs/record-host" "$GEMEM_BUILDDIR/tests/programs/.libs/record-stubs.so" all
says err '^  peak live +3\.000 MiB'; check "their calls" test "$(events out.gmt)" = 'alloc 1 size=1048576;alloc 2 size=2097152;free 1'

run 0 gemem-dry-run "$GEMEM_BUILDDIR/tests/programs/dry-asks" /no/such/place/libcublas.so.99 cublasMadeUp
says out '^cublasMadeUp in /no/such/place/libcublas\.so\.99 1$'

# ---- out of memory
run 0 gemem-dry-run --capacity 4GiB "$program" full; says out '^4$'
says err '^  h100 +DOES NOT FIT: 4\.000 GiB of 4\.000 GiB \(.* bytes\), and more was asked for'; says err '^  out of memory +1 request was refused; of 1073741824 bytes'; says err '^ +the program ended after that with success$'
next=$(sed -n 's/^  next  *//p' "$err"); run 4 sh -c "$next -a direct --fail-on-oom"; says out 'when recorded \(1\.000 GiB, event 4\), and here with each$' # the failure that was shown
run 0 gemem-dry-run --capacity 20GiB --json verdict.json -o retry.gmt "$program" retry; says out '^16$'; says err '^  h100 +fits only if the following holds: 16\.00 GiB of 20\.00 GiB'
says err "^ +- the program may do without what was refused \('out of memory', below\): it went on, with 1 request after that$"; says err '^ +the program went on after that and ended with success$'
check "neither yes nor no" grep -q '"fits": *null' verdict.json
run 1 gemem-dry-run --capacity 20GiB -o retry.gmt --fit 'N=1..2' -- "$program" retry N; says err 'no value of N from 1 to 2 fits h100'
run 0 gemem-dry-run --capacity 4GiB --context 1GiB "$program" full; says out '^3$'; says err 'of these 1\.000 GiB for CUDA'
run 0 gemem-dry-run --gpu t4 --json verdict.json "$program" full; says out '^14$'
if command -v jq >/dev/null; then
  for fact in '.gpu == "t4"' '.fits == false' '.capacity == 15634268160' '.capacity_source | startswith("reported")' '.exit_status == 0' '.missing == []' \
    '.processes[0].peak_live == 15032385536' '.processes[0].out_of_memory == 1' '.processes[0].fits == false'; do run 0 jq -e "$fact" verdict.json; done
fi
run 0 gemem-dry-run --json - "$program" none; says out '"fits": null, "only_if": \["it makes no CUDA calls on a GPU either"\]'

# ---- what is not known: "fits" is not said
run 0 gemem-dry-run --capacity 4GiB "$program" batch 4; says err '^  h100 +fits only if the following holds: 4\.000 GiB of 4\.000 GiB'
says err "^ +- CUDA's context and kernels, .* take no more than the 0 B that are left; --context=SIZE counts them"
run 0 gemem-dry-run --capacity 5GiB --context 1GiB "$program" batch 4; says err '^  h100 +fits: 5\.000 GiB of 5\.000 GiB'
run 0 gemem-dry-run --json - "$program" workspace; says out '"fits": null, "only_if": \[\], "processes"'; says err '^  h100 +fits only if .*: 1\.000 MiB of'
says err "^ +- 79\.18 GiB are enough for workspaces, whose sizes only NVIDIA's libraries know .*--workspaces=SIZE tries one"
run 0 gemem-dry-run -o two.gmt --workspaces 1GiB --json - "$program" workspace; says err '^  h100 +fits: 1\.000 MiB of'; says err '^ +up to 1\.001 GiB \(1074790400 bytes\) with workspaces of 1\.000 GiB each'
says out '"needed": 1048576, "needed_most": 1074790400, "fits": true'
check "the second trace is kept" test "$(events two.workspaces.gmt)" = 'alloc 1 size=1048576;alloc 2 size=1073741824'
run 0 gemem-dry-run --capacity 8GiB --workspaces 8GiB "$program" workspace; says err '^ +- workspaces take less than 8\.000 GiB each, with which it does not fit'
run 0 gemem-dry-run --capacity 8GiB --workspaces 7.5GiB "$program" workspace; says err "^ +- CUDA's context and kernels.* 511\.0 MiB"; says err '^ +up to 7\.501 GiB'
# a bound that fits is no condition
bounded () { printf '%s\n' "for note in $1; do echo \"workspace \$note\" >>\"\$GEMEM_DRY_NOTES\"; done" "$2" "exec '$program' runtime" >bounded.sh; }
bounded "'f 0..134217728' 'g 0..1000'" ''
run 0 gemem-dry-run --details sh bounded.sh; says err '^  h100 +fits: 2\.000 MiB of'; says err '^ +with 128\.0 MiB each, in another run, it needs no more$'; says err 'runs sh again, with workspaces of 128\.0 MiB each'
run 0 gemem-dry-run --once sh bounded.sh; says err '^ +- .* are enough for workspaces'; lacks err 'runs sh again'
bounded "'f 0..134217728' 'g 0..unknown'" ''; run 0 gemem-dry-run sh bounded.sh; says err '^ +- .* are enough for workspaces'; lacks err 'runs sh again'
bounded "'f 0..134217728'" "[ \$GEMEM_DRY_WORKSPACES = 0 ] || exec '$program' batch 4"
run 0 gemem-dry-run sh bounded.sh; says err '^  h100 +fits: '; says err '^ +up to 4\.000 GiB .* with workspaces of 128\.0 MiB each$'
run 0 gemem-dry-run --capacity 3GiB sh bounded.sh; says err '^  h100 +fits only if'; says err '^ +- workspaces take less than 128\.0 MiB each, with which it does not fit$'
# CUDA's context, where it was measured
run 0 "$GEMEM_BUILDDIR/gemem-dry-run" --json - "$program" runtime; says err '^  h100 +fits: 528\.8 MiB of 79\.18 GiB \(554500096 of 85017493504 bytes\)$'
says err "^ +of these 526\.8 MiB for CUDA's context, measured on an H100, driver .*; kernels and libraries come on top \(--context=SIZE\)$"; says out '"context": 552402944, .*"needed": 554500096'
run 0 gemem-sim info out.gmt; says out '^  recorded device +gpu=h100,reserved_by_others=552402944$'
run 0 "$GEMEM_BUILDDIR/gemem-dry-run" "$program" devices; says out '^1 devices of 85017493504 bytes, 84465090560 free'
run 0 "$GEMEM_BUILDDIR/gemem-dry-run" "$program" batch 78; says err '^  h100 +fits: 78\.51 GiB of'
run 0 "$GEMEM_BUILDDIR/gemem-dry-run" "$program" fill 78 300; says err '^  h100 +fits only if .*: 78\.81 GiB of'
says err "^ +- kernels and libraries, beside CUDA's context, commonly some hundreds of MiB, take no more than the 380\.2 MiB that are left; --context=SIZE counts them$"
if command -v python3 >/dev/null; then # on a terminal a long row continues below its own text
  python3 "$GEMEM_SRCDIR/tests/util/on-terminal.py" shown "$GEMEM_BUILDDIR/gemem-dry-run" "$program" fill 78 300
  check 'on a terminal no line is longer than 100' sh -c 'awk "length > 100 { bad = 1 } END { exit bad || NR < 5 }" shown/screen && grep -q "^ \{18\}.*--context=SIZE counts them$" shown/screen'
else
  skip 'on a terminal' 'there is no python3'
fi
for option in '--gpu a100-80' '--capacity 8GiB' '--context 0'; do
  # shellcheck disable=SC2086 # words on purpose
  run 0 "$GEMEM_BUILDDIR/gemem-dry-run" $option "$program" runtime; says err ' fits: 2\.000 MiB of'; says err "^ +CUDA's context and kernels, commonly some hundreds of MiB, come on top; --context=SIZE counts them$"
done
run 0 "$GEMEM_BUILDDIR/gemem-dry-run" --context 600MiB "$program" runtime; says err '^ +of these 600\.0 MiB for .*\(--context\)$'
# work of streams: what it needs where the GPU is late, in a run aside
run 0 gemem-dry-run --details -o two.gmt --json - "$program" shared; says err '^  h100 +fits: 2\.000 MiB of'; says err "^ +up to 4\.000 MiB \(4194304 bytes\) where the GPU is late \('streams', below\)\$"
says err '^  streams +dry-memory asked whether the GPU is done with memory, and was told yes'; says err '^ +where it is done only when the host waits, it needs 4\.000 MiB \(4194304 bytes\)$'
says out '"late": "where it is done .*"needed": 2097152, "needed_most": 4194304, "fits": true'; says out '"asked": \[\{"name": "dry-memory", "count": 1\}\]'
check "the trace is that of the first run, and the other is not kept" sh -c "gemem-sim info two.gmt | grep -q 'alloc 1,' && ! ls two.again* 2>/dev/null"
run 0 gemem-dry-run --capacity 3MiB --json - "$program" shared; says out '"fits": null'
says err "^ +- the GPU is done with what other streams use by the time that memory is asked for \('streams', below\): where it is done only when the host waits, a request of 2\.000 MiB is refused\$"
run 3 gemem-sim out.gmt --capacity 1GiB; says out 'only if the GPU is done with what other'
run 0 gemem-dry-run --once "$program" shared; says err "^  h100 +fits only if"; says err "\('streams', below\); without --once a second run tells what it needs otherwise\$"
run 0 gemem-dry-run "$program" runtime; check "no further run where nothing was asked" sh -c "! grep -q again $err"
rm -f two.workspaces.gmt; run 0 gemem-dry-run -o two.gmt --workspaces 1GiB "$program" runtime; check "no second run without unknown sizes" test ! -e two.workspaces.gmt
run 0 gemem-dry-run --capacity 4MiB --context 1MiB "$program" children; says err '^ +- the processes on GPU 0, which need 5\.000 MiB in all, do not hold it at the same time'
run 3 gemem-dry-run --json - sh -c "'$program' runtime; exit 3"; says out '"fits": null'; says err '^ +- it needs no more after the point where it ended with exit status 3'
run 0 gemem-dry-run --details --json - sh -c "echo 'sized a.py:3 f (nonzero)' >>\$GEMEM_DRY_NOTES; '$program' runtime"; says out '"fits": null'
says out '"sizes": \[\{"name": "a\.py:3 f \(nonzero\)", "count": 1\}\]'; says err '^ +- tensors are no larger whose sizes were read .*; --value chooses them$'
says err '^  sizes +1 sizes of tensors were read from the GPU, as zero .*: a\.py:3 f \(nonzero\)$'
run 2 gemem-dry-run --workspaces much true; says err '^gemem-dry-run: --workspaces='

# ---- pinned memory of the host, without managed memory
run 0 gemem-dry-run --details --json host.json -o host.gmt "$program" host
says err '^  h100 +fits: 1\.000 MiB'; says err '^  pinned host +5\.000 MiB \(5242880 bytes\) of the host.s memory, locked at once$'
check "pinned memory in JSON" jq -e '.processes[0].pinned_host == 5242880' host.json
# without --details: the answer, the peak and what comes next; the last row names the others, and a row that the answer names is shown
run 0 gemem-dry-run -o brief.gmt "$program" host; says err '^  h100 +fits: 1\.000 MiB'; says err '^  peak live +1\.000 MiB'; says err '^  next +gemem-sim compare '; says err '^  --details +shows more: pinned host, requests of$'
check "six rows" test "$(wc -l <"$err")" -eq 6; lacks err "^  (pinned host|requests of) |the GPU's memory"
run 0 gemem-dry-run -o brief.gmt "$program" shared; says err "where the GPU is late \\('streams', below\\)\$"; says err '^  streams +dry-memory asked '; says err '^ +where it is done only when the host waits'
run 0 gemem-dry-run -o run.gmt "$program" runtime; check "no pinned memory" sh -c "! grep -q pinned $err"
# its recording has both: the GPU's memory is judged by the GPU's size, the host's is asked for, and is not the device's allocator's
run 0 gemem-sim host.gmt; says out '^It fits: it needs 2\.000 MiB of 79\.18 GiB'; lacks out 'of host memory|which needs most'
says out "^Not counted: the host's pinned memory, of which 5 events were recorded:"
run 0 gemem-sim replay host.gmt; lacks out 'host memory'
run 0 gemem-sim compare host.gmt; lacks out 'host memory'
run 0 gemem-sim tune host.gmt -a pytorch-caching; says out 'than the 2\.000 MiB now'
run 0 gemem-sim convert -q host.gmt host.txt; sed -i 's/^# device:/# allocator: "cupy-pool"\n&/' host.txt
for trace in host.gmt host.txt; do
  run 3 gemem-sim $trace --trace-device=host; says out ', direct, 5 events of host memory$'; says out "^It needs 12\.00 MiB of the host's memory"; lacks out '79\.18'
  run 4 gemem-sim $trace --trace-device=host --capacity=8MiB
  run 0 gemem-sim replay $trace --trace-device=host; says out '^host\.[a-z]*, host memory through direct on '; lacks err 'is assumed'; lacks out 'as recorded'
done
run 0 gemem-sim host.txt; says out ', cupy-pool .*, 6 events$'
run 0 gemem-dry-run --details -o pinned.gmt --json pinned.json "$program" pinned; says err '^  h100 +fits: 0 B'; says err '^  pinned host +4\.000 MiB'
check "pinned memory alone, in JSON" jq -e '.fits and .processes[0].pinned_host == 4194304 and .needed == 0' pinned.json
run 3 gemem-sim pinned.gmt; says out ', direct, 1 event of host memory$'; says out "^It needs 4\.000 MiB of the host's memory"

# ---- several processes, and ends
run 0 gemem-dry-run -o many.gmt "$program" children
check "one trace for each process" test "$(ls many*.gmt | wc -l)" -eq 2
says err '^process [0-9]+, GPU 0: .*/many\.gmt'; says err '^process [0-9]+, GPU 0: .*/many\.[0-9]+\.gmt'
for signal in TERM KILL; do
  rm -f wait.gmt; : >ready # not that of the last round
  gemem-dry-run -o wait.gmt "$program" wait >ready 2>ended & launcher=$!
  tries=0; until grep -q ready ready || [ $tries -gt 1200 ]; do sleep 0.05; tries=$((tries + 1)); done
  if [ $signal = TERM ]; then kill -TERM $launcher; else kill -KILL "$(pgrep -P $launcher | head -n 1)"; fi
  wait $launcher; waited=$?
  [ $signal = TERM ] && wanted=143 || wanted=137; check "SIG$signal: the status" test $waited -eq $wanted
  check "SIG$signal: what was recorded is there" test "$(events wait.gmt)" = 'alloc 1 size=1048576'
done

# ---- ranks
run 0 gemem-dry-run -o ranks.gmt --json ranks.json sh -c "RANK=0 $program runtime; RANK=1 $program driver; RANK=1 $program runtime"
says err '^  rank  GPU    peak live  peak reserved  held in all        needs$'; says err '^     0    0    2\.000 MiB      2\.000 MiB    2\.000 MiB    2\.000 MiB  fits$'
says err '^     1    0    3\.000 MiB '; says err '^the largest of 2: rank 1, GPU 0: .*/ranks\.rank-1\.gmt$'; says err '^process [0-9]+, GPU 0: .*/ranks\.[0-9]+\.gmt$'
says err '^  next .*/ranks\.rank-1\.gmt$'
check "one block for all ranks, and one for the process that has a rank of another" test "$(grep -c '^  peak live' "$err")" -eq 2
check "recordings by rank" test "$(events ranks.rank-0.gmt)$(events ranks.rank-1.gmt)" = 'alloc 1 size=1048576;free 1;alloc 2 size=2097152alloc 1 size=3145728'
if command -v jq >/dev/null; then run 0 jq -e '[.processes[].rank] | sort == [null, 0, 1]' ranks.json; fi
run 2 gemem-dry-run --capacity 2MiB -o ranks.gmt sh -c "RANK=0 $program runtime; RANK=1 $program driver"; says err '^the largest of 2: rank 1'; says err '^     1 .*DOES NOT FIT$'
run 0 gemem-dry-run -o one.gmt env RANK=7 "$program" runtime; check "one rank alone keeps the name" test -s one.gmt
run 0 gemem-dry-run --rank 5 --world 8 --gpus 2 sh -c 'echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK'; says out '^5 8 1 2 2$'

# ---- the largest value that fits
run 0 gemem-dry-run --capacity 10GiB -o fit.gmt --fit 'SIZE=1..64' -- "$program" batch SIZE
says err "^gemem-dry-run: SIZE=10 is the largest of 1 to 64 that fits h100, but only if CUDA's context"; says err 'SIZE=64: does not fit'
says err 'SIZE=10: fits under conditions, 10\.00 GiB needed; .*/fit\.SIZE-10\.gmt'
check "every run is kept" test "$(ls fit.SIZE-*.gmt | wc -l)" -eq "$(grep -c '^gemem-dry-run: .*: .*; .*gmt$' "$err")"
run 0 gemem-dry-run --capacity 11GiB --context 1GiB --json fit.json -o fit.gmt --fit 'SIZE=2,8,10,12' --fit 'HOW=batch,none' --fit 'UNUSED=1..2' -- sh -c "SIZES=1; '$program' HOW SIZE UNUSED \$SIZES"
says err '^gemem-dry-run: HOW=batch UNUSED=2 SIZE=10: fits, 11\.00 GiB needed; .*/fit\.HOW-batch\.UNUSED-2\.SIZE-10\.gmt'
says err '^gemem-dry-run: the largest SIZE of 2 to 12 that fits h100:$'; says err '^  HOW=batch UNUSED=1  10, 11\.00 GiB needed$'; says err '^  HOW=none UNUSED=2   12, 0 B needed, only if it makes no CUDA calls on a GPU either$'
if command -v jq >/dev/null; then
  run 0 jq -e '(.largest | length) == 4 and .largest[0].SIZE == "10" and .largest[0].fits and (.runs[1] | .HOW == "batch" and .SIZE == "12" and .fits == false)' fit.json
fi
run 1 gemem-dry-run --capacity 3GiB --fit 'SIZE=4,5' --fit 'HOW=batch' -- "$program" HOW SIZE; says err '^  HOW=batch  none$'
run 2 gemem-dry-run --fit 'N=1..5' --fit 'M=1..20000' -- true N M; says err 'more than 10000 combinations'
run 2 gemem-dry-run --fit 'N=1,,2' -- true N; says err 'N=1,,2: write NAME=FROM\.\.TO'
run 2 gemem-dry-run --fit 'N=1..2' -- true NN; says err 'contains the word N;'
run 1 gemem-dry-run --capacity 1GiB --fit 'N=2..4' -- "$program" batch N; says err 'no value of N from 2 to 4 fits h100'
run 0 gemem-dry-run --capacity 10GiB --fit 'N=2..4' -- "$program" batch N; says err '^gemem-dry-run: N=4 is the largest of 2 to 4 that fits h100$'
run 0 gemem-dry-run --fit 'N=2..3' -- sh -c "echo noise N; echo more >&2; '$program' batch N"; lacks err 'noise|^more'; silent out
run 0 gemem-dry-run -v --fit 'N=2..3' -- sh -c "echo noise N; echo more >&2; '$program' batch N"; says out '^noise 3$'; says err '^more$'
run 1 gemem-dry-run --fit 'N=2..3' -- sh -c "echo reason N; '$program' batch N; exit N"; says err '^reason 2$'; says err 'the program failed with N=2 \(status 2\)' # what it printed tells why
run 1 gemem-dry-run --capacity 1GiB --fit 'N=2..4' -- sh -c "echo noise; '$program' batch N || exit 1"; lacks err noise # no memory is reason enough
if command -v jq >/dev/null; then
  run 0 gemem-dry-run --json fit.json --fit 'N=2..3' -- "$program" batch N
  run 0 jq -e '.setting == null and .largest_with_setting == null' fit.json # no allocator, no setting
fi
for signal in TERM INT; do
  run 130 timeout --preserve-status -s $signal 2 gemem-dry-run -o stop.gmt --fit 'N=1,9' -- sh -c 'sleep N'; says err 'stopped by signal (2|15)$'
done
run 1 gemem-dry-run --fit 'N=2..4' -- sh -c 'exit N'; says err 'the program failed with N=2 \(status 2\), and not for want of memory'

# ---- Python: a module called torch, with the functions of PyTorch that the launcher uses
if command -v python3 >/dev/null; then
  mkdir -p fake/torch own
  cat >fake/torch/__init__.py <<'PY'
import os
__version__ = os.environ.get("FAKE_VERSION", "2.11.0+cu130")
class version: cuda = os.environ.get("FAKE_CUDA", "13.0") or None; hip = os.environ.get("FAKE_HIP")
log = open("log", "a", buffering=1)
queue = []
class memory:
    def _record_memory_history(enabled="all", **options): print("record", enabled, *sorted(options), file=log)
    def memory_stats(device): return {"num_alloc_retries": int(os.environ.get("FAKE_RETRIES", "0"))}
    def _dump_snapshot(path): "FAKE_FULL" in os.environ and (open(path, "w").write("x" * 999), os.write(os.open("/dev/full", 1), b"x")); "FAKE_AGAIN" in os.environ and os.kill(os.getpid(), 15); exec("1"); open(path, "wb").write(open(os.environ["FAKE_SNAPSHOT"], "rb").read()); print("dump", file=log)
class annotation:
    def __init__(self, text): print(text, file=log)
    def __enter__(self): pass
    def __exit__(self, *error): pass
class autograd:
    class profiler: record_function = annotation
class _C:
    def _cuda_setMemoryFraction(part, device): assert part <= 1
class cuda:
    memory = memory
    ready = False
    def is_initialized(): return cuda.ready
    def device_count(): return 1
    def _lazy_call(function): queue.append(function)
    def init():
        print("init", file=log); cuda.ready = True
        for function in queue: function()
PY
  echo 'import sys; sys.own = "own"' >own/sitecustomize.py
  gzip -dc "$GEMEM_SRCDIR/tests/data/pytorch/expandable-2.6.pickle.gz" >snapshot.pickle
  # What stands for cuBLAS is loaded into the Python whose packages ask for it, whoever starts it.
  echo 'import sys; print(sorted({l.split("/")[-1].strip() for l in open("/proc/self/maps") if "cublas" in l}), sys.argv[1:])' >maps.py
  if python3 -m venv --without-pip env 2>/dev/null && cp "$GEMEM_BUILDDIR/tests/programs/dry-asks" "$(echo env/lib/python3*/site-packages)/asks.so"; then
    printf '#!/bin/sh\nshift\nexec env/bin/python "$@"\n' >runner; printf '#!/usr/bin/env python3\nimport os, sys\nos.execv("/bin/sh", ["sh", "-c", "exec ./runner run \\"$@\\"", "sh"] + sys.argv[1:])\n' >conda
    chmod +x runner conda; mkdir bin; ln -s ../env/bin/python bin/python; printf '#!%s\n%s\n' "$PWD/env/bin/python" "$(cat maps.py)" >launch; chmod +x launch
    for command in 'env/bin/python maps.py a' 'env A=B env/bin/python maps.py a' './runner run maps.py a' './conda maps.py a' './launch a' 'timeout 60 env/bin/python -u maps.py a' 'env VIRTUAL_ENV=env sh ./runner run -m maps a'; do
      # shellcheck disable=SC2086 # words
      run 0 gemem-dry-run -o py.gmt $command; says out "^\\['libcublas.so.12'\\] \\['a'\\]$"
    done
    run 0 gemem-dry-run -o py.gmt sh -c "A=1 ./runner run maps.py 'x  y' '' z"; says out "'libcublas.so.12'\\] \\['x  y', '', 'z'\\]$"
    run 0 gemem-dry-run -o py.gmt sh -c 'printf "print(open(\"/proc/self/maps\").read())" | ./runner run -'; says out 'libcublas.so.12'
    mkdir "$(echo env/lib/python3*/site-packages)/nvidia_cublas_cu12-12.4.5.8.dist-info"
    run 0 gemem-dry-run -o py.gmt ./conda -c 'import os; print(os.environ["GEMEM_DRY_CUBLAS"])'; says out '^12\.4\.5\.8$'
    GEMEM_DRY_CUBLAS=11.1 run 0 gemem-dry-run -o py.gmt ./conda -c 'import os; print(os.environ["GEMEM_DRY_CUBLAS"])'; says out '^11\.1$'
  else
    skip "the Python of a wrapper" "there is no module venv"
  fi
  # kernels that are compiled here have no code, and no cache of a real run may keep them, be it the user's own
  VLLM_CACHE_ROOT=$PWD/mine run 0 gemem-dry-run -o py.gmt python3 -c 'import os; print(*(os.environ[name].split("/")[-1] for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "VLLM_CACHE_ROOT")))'
  says out '^torchinductor_dry torchinductor_dry torchinductor_dry$'
  FAKE_SNAPSHOT=$PWD/snapshot.pickle PYTHONPATH=$PWD/fake:$PWD/own; export FAKE_SNAPSHOT PYTHONPATH
  run 0 gemem-dry-run -o py.gmt python3 -c 'import sys; assert "torch" not in sys.modules; print(sys.own, any("recording" in p for p in sys.path))'; says out '^own False$'
  check "torch is not imported for programs that do not" test ! -e log
  run 0 gemem-dry-run -o py.gmt python3 -c 'import torch; print("before", file=torch.log); torch.cuda.init(); torch.cuda.memory._record_memory_history(None)'
  printf '%s\n' before init 'record all context global_record_annotations max_entries stacks' dump >wanted
  check "history begins when CUDA does, and the program cannot end it" cmp log wanted
  # settings that the program changes while it runs are told by annotations: what they were, and what they are; a refused string is no change
  mkdir -p sets/torch; { cat fake/torch/__init__.py; cat <<'PY'
class _C:
    def _accelerator_getAllocatorSettings(): return "first"
    def _accelerator_setAllocatorSettings(text): print("set", text, file=log); 1 / (text != "wrong")
PY
  } >sets/torch/__init__.py; rm -f log
  PYTHONPATH=$PWD/sets run 0 gemem-dry-run -o py.gmt python3 -c 'import torch
set = lambda text: torch._C._accelerator_setAllocatorSettings(text)
set("early"); torch.cuda.init(); set("a:1")
try: set("wrong")
except ZeroDivisionError: pass
set("")'
  printf '%s\n' 'set early' init 'record all context global_record_annotations max_entries stacks' 'gemem: settings until here: first' 'set a:1' 'gemem: settings from here on: a:1' 'set wrong' 'set ' 'gemem: settings from here on: ' dump >wanted
  check "settings that the program changes" cmp log wanted
  run 0 gemem-dry-run --details -o 'a:b/py.gmt' python3 -c 'import torch; torch.cuda.init()'; says err '^  requests of +PyTorch 2\.11\.0\+cu130'
  rm -f log; run 0 gemem-dry-run --details -o py.gmt python3 -c 'import torch; torch.cuda.init()'
  says err '^  requests of +PyTorch 2\.11\.0\+cu130, .*expandable_segments=true'; says err "^  address orders +.*cuda.*ascending.*descending"; says err '^  peak reserved +200\.0 MiB'
  check "the snapshot is the trace" test "$(gemem-sim info py.gmt | grep -c 'recorded allocator.*pytorch-caching:.*version=2.11')" -eq 1
  # the part of the GPU that PyTorch may take is told by an annotation, and said
  printf '%s\n' 'import torch' 'torch.cuda.init()' 'torch._C._cuda_setMemoryFraction(0.25, 0)' 'try: torch._C._cuda_setMemoryFraction(2, 0)' 'except AssertionError: pass' >set.py
  run 0 gemem-dry-run -o py.gmt python3 set.py; says err '^  note +the program lets PyTorch take 0\.25 .set\.py:3. of the GPU$'
  echo 'torch._C._cuda_setMemoryFraction(1.0, 0)' >>set.py
  run 0 gemem-dry-run -o py.gmt python3 set.py; says err '^  note +the program lets PyTorch take 0\.25 .set\.py:3., then 1 .set\.py:6. of the GPU$'
  check "parts are told" test "$(grep 'gemem: part' log | tail -n 2 | tr '\n' ,)" = 'gemem: part of device from here on: 0 0.25,gemem: part of device from here on: 0 1.0,'
  rm -f log; run 0 gemem-dry-run -o py.gmt python3 -c 'import torch; torch.cuda.init()'; check "no part was set" sh -c "! grep -q 'note .*PyTorch' $err"
  for end in 'os._exit(5)' 'os.kill(os.getpid(), 15)' 'raise KeyError' 'sys.exit(5)'; do
    rm -f log; gemem-dry-run -o py.gmt python3 -c "import os, sys, torch; torch.cuda.init(); $end" 2>"$err"
    check "one snapshot after $end" test "$(grep -c dump log)" -eq 1
  done
  rm -f log; FAKE_AGAIN=1 run 143 gemem-dry-run -o py.gmt python3 -c "import os, torch; torch.cuda.init(); os.kill(os.getpid(), 15)"
  check "a second signal does not end it before the snapshot is there" test "$(grep -c dump log)" -eq 1
  # a program that handles the signal itself has its snapshot from before, should it be killed, and another one at its end
  for end in 9:1 5:2; do
    rm -f log; gemem-dry-run --details -o py.gmt python3 -c "import os, signal, torch
signal.signal(signal.SIGTERM, lambda number, frame: os.kill(os.getpid(), 9) if ${end%:*} == 9 else os._exit(${end%:*}))
torch.cuda.init(); os.kill(os.getpid(), 15); signal.pause()" 2>"$err"
    check "${end#*:} snapshots of a program that handles SIGTERM" test "$(grep -c dump log)" -eq "${end#*:}"; says err '^  requests of +PyTorch'
  done
  # a disk that is full when the snapshot is written: its part is removed, so that there is space for the calls of CUDA, and the verdict says what is missing
  FAKE_FULL=1 run 0 gemem-dry-run --details -o py.gmt python3 -c "import ctypes, os, torch; torch.cuda.init(); ctypes.CDLL(None).cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20))"
  says err '^  h100 +fits only if'; says err "^  requests of +CUDA's runtime and driver"; says err "^  unknown .*PyTorch's requests could not be written: No space left on device"; check "nothing is left of it" sh -c '! ls -d ./*.recording-* 2>/dev/null'
  run 130 env --default-signal=INT gemem-dry-run -o py.gmt python3 -c 'import torch; torch.cuda.init(); print("said", end=""); raise KeyboardInterrupt'; says out '^said$'; says err 'ended with signal 2$'
  # values that the program reads, of which --value chooses some; managed memory; a function that does not exist
  cat >values.py <<'PY'
import ctypes, torch
torch.cuda.init()
cuda, block, managed = ctypes.CDLL(None), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(1 << 20)); cuda.cudaMallocManaged(ctypes.byref(managed), ctypes.c_size_t(1 << 20), 1)
def read(kind):
    number = kind(9)
    cuda.cudaMemcpy(ctypes.byref(number), block, ctypes.c_size_t(ctypes.sizeof(kind)), 2)
    return number.value
def count(): return read(ctypes.c_int32)
def flag(): return read(ctypes.c_int8)
def loss(): return read(ctypes.c_float)
print(count(), flag(), loss())
PY
  run 0 gemem-dry-run --details --json values.json -o py.gmt --value 'count=16' --value 'loss=2.5' --value 'flag=300' --value '(?<a>x)=1' python3 values.py; says out '^16 0 2\.5$'
  says err '--value=\(\?<a>x\)=1 is left out: '; says err '--value: 300 is no value of 1 bytes; 0 was read there'
  says err '^  truths +1 truth values were read .*values\.py:7 read$'; says err '^  managed +1 allocations of managed memory, .* not counted: 1048576 bytes$'
  check "managed memory is not counted, as is said" grep -Eq '"held": 1048576,' values.json
  # what is read is looked for among all arrays, of which none lives longer for that
  sed '/^print/d' values.py >frees.py
  cat >>frees.py <<'PY'
import gc, weakref
class Tensor:
    is_cuda, dtype = True, "int32"
    def data_ptr(self): return block.value
    def numel(self): return 1
    def element_size(self): return 4
    def is_floating_point(self): return False
    is_complex = is_floating_point
torch.Tensor, torch.bool = Tensor, "bool"
gc.disable()
held, freed = Tensor(), Tensor()
seen = weakref.ref(freed)
count()
del freed
print(seen() is None)
PY
  run 0 gemem-dry-run --details --once -o py.gmt python3 frees.py; says out '^True$'; says err '^  numbers +1 integers were read .*frees\.py:7 read$'
  # integers, of which sizes may follow: the program runs again with others, aside, and says what that changed
  sed '/^print/d' values.py >many.py
  cat >>many.py <<'PY'
import os, sys
how, end = sys.argv[1], [None] * 17
print(how, file=open("runs", "a")); print(open("runs").read().count("\n"))
def take(n):
    at = ctypes.c_void_p(); cuda.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(n << 20))
n = count() if how != "real" else int(loss())
if how == "size": take(1 + n)
if how == "index": end[n]
if how == "worse" and n: sys.exit(4)
if how == "random": take(open("runs").read().count("random"))
if how == "once" and open("runs").read().count("once") == 1: take(7)
if how == "hang" and n: os.kill(os.getpid(), 19)
if how == "order": take(3 + 2 * (n > 0)); take(5 - 2 * (n > 0))
take(2)
PY
  try () { rm -f runs; PYTORCH_NO_CUDA_MEMORY_CACHING=1 run 0 gemem-dry-run --details --json many.json -o many.gmt "$@"; }
  try python3 many.py same; says out '^1$'; says err '^  h100 +fits: '; says err '^  numbers +1 integers were read .*values\.py:7 read$|^  numbers +1 integers were read .*many\.py:7 read$'
  says err '^ +when they read 17, in a second run, the program asked for the same memory$'; check "both ran, one aside" test "$(cat runs "$out" | tr '\n' ' ')" = 'same same 1 '
  check "its trace is not kept" sh -c '! ls many.again* 2>/dev/null'
  try python3 many.py size; says err '^  h100 +fits only if '; says err '^ +when they read 17, the program asked for other memory: first for 18874368 bytes by .*many\.py:1[0-9] take$'
  says err "^ +- tensors are no larger whose sizes follow from integers that were read from the GPU, as zero \('numbers', below\); --value chooses them$"
  check "neither yes nor no, and why" grep -Eq '"other_numbers": "when they read 17, .*"fits": null' many.json; check "three runs" test "$(grep -c size runs)" -eq 3
  try --value 'count=3' python3 many.py size; says err '^  h100 +fits: 7\.000 MiB'; check "a number that was chosen needs no second run" test "$(grep -c size runs)" -eq 1
  try python3 many.py index; says err '^ +when they read 1, in a second run, the program asked for the same memory$'
  try python3 many.py worse; says err '^ +second runs, in which they read 17 and 1, ended with exit status 4, so that they do not tell$'; says err '^  h100 +fits only if '
  try python3 many.py random; says err '^ +two runs of the program with zeros ask for other memory: first for'; says err 'nor from what else differs from run to run'
  try python3 many.py once; says err '^  h100 +fits: '; says err '; its first run was another one$'
  try --once python3 many.py size; says err "^ +- no size follows from integers .*; without --once a second run tells$"; check "--once" test "$(grep -c size runs)" -eq 1
  try python3 many.py real; says err '^  h100 +fits: '
  try --fit 'N=1..2' -- python3 many.py same N; says err 'N=2 is the largest of 1 to 2 that fits h100$'; check "the best value runs again, no other" test "$(grep -c same runs)" -eq 3
  try --fit 'N=1..2' -- python3 many.py size N; says err 'N=2 is the largest of 1 to 2 that fits h100, but only if tensors are no larger'
  try python3 many.py order; says err '^ +when they read 17, in a second run, the program asked for the same memory$'
  # truth values are true in another run: more memory is a condition, less is none, and one that ends the program does not hide the others
  sed '/^n = /,$d; s/^how, end.*/how = sys.argv[1]/' many.py >ask.py
  cat >>ask.py <<'PY'
def check(): number = ctypes.c_int8(9); cuda.cudaMemcpy(ctypes.byref(number), block, ctypes.c_size_t(1), 2); return number.value
def finite(): number = ctypes.c_int8(9); cuda.cudaMemcpy(ctypes.byref(number), block, ctypes.c_size_t(1), 2); return number.value
one = flag()
if how == "more" and one: take(9)
if how == "less" and not one: take(9)
if how == "ends" and one: sys.exit(4)
if how == "skips":
    if check(): sys.exit(4)
    if not finite(): sys.exit(0)
    take(6)
take(2)
PY
  try python3 ask.py same; says err '^  h100 +fits: '; says err '^  truths +1 truth values were read .* as false .*ask\.py:8 flag$|^  truths +1 truth values .*ask\.py:7 read$'
  says err '^ +when they read true, in a second run, the program asked for no more memory$'
  try python3 ask.py more; says err "^ +when they read true at ask\\.py:7 read, the program asked for other memory: first for 9437184 bytes by .*; to try it: --value 'ask\\\\.py:7 read=1'$"
  says err "^ +- tensors are no larger whose sizes follow from truth values that were read from the GPU, as zero \('truths', below\); --value chooses them$"
  check "neither yes nor no, for that" grep -Eq '"other_truths": "when they read true .*"fits": null' many.json
  try --value 'flag=1' python3 ask.py more; says err '^  h100 +fits: 12\.00 MiB'
  try python3 ask.py less; says err '^  h100 +fits: 12\.00 MiB'
  try python3 ask.py ends; says err '^  h100 +fits: 3\.000 MiB'
  try python3 ask.py skips; says err '^  h100 +fits only if '; says err "^ +when they read true at ask\\.py:1[0-9] finite, .*: first for 6291456 bytes by .*--value 'ask.*finite=1'$"
  # several that a package reads behind one line of the program: a check that ends it does not hide what another decides, and what was needed before an end counts
  mkdir -p lib/site-packages; cat >lib/site-packages/kernels.py <<'PY'
import ctypes, sys
cuda, block = ctypes.CDLL(None), None
def nan(): number = ctypes.c_int8(9); cuda.cudaMemcpy(ctypes.byref(number), block, ctypes.c_size_t(1), 2); return number.value
def equal(): number = ctypes.c_int8(9); cuda.cudaMemcpy(ctypes.byref(number), block, ctypes.c_size_t(1), 2); return number.value
def covariance(take):
    if nan(): sys.exit(4)
    if equal(): take(9)
def grows(take):
    if equal(): take(9); sys.exit(4)
PY
  for how in covariance grows; do
    { sed '/^def check/,$d' ask.py; printf '%s\n' 'sys.path.insert(0, "lib/site-packages"); import kernels' 'kernels.block = block' "kernels.$how(take)" 'take(2)'; } >behind.py
    try python3 behind.py "$how"; says err '^  h100 +fits only if '; says err '^ +when they read true at kernels\.py:4 equal, the program asked for other memory: first for 9437184 bytes'
  done
  try --once python3 ask.py more; says err "^ +- no size follows from truth values .*\('truths', below\); without --once a second run tells$"
  # what an optimizer of PyTorch reads of its state is not zero, by which it would divide
  mkdir -p fake/torch/optim; touch fake/torch/optim/__init__.py
  cat >fake/torch/optim/optimizer.py <<'PY'
import ctypes
def _get_value(block):
    number = ctypes.c_float(9)
    ctypes.CDLL(None).cudaMemcpy(ctypes.byref(number), block, ctypes.c_size_t(4), 2)
    return number.value
PY
  sed 's/^print.*/from torch.optim.optimizer import _get_value; print(_get_value(block), loss())/' values.py >steps.py
  run 0 gemem-dry-run -o py.gmt python3 steps.py; says out '^0\.5 0\.0$'; says err '^  note +optimizers of PyTorch read their state .* as 0\.5$'
  mkdir -p fake/torch/amp; touch fake/torch/amp/__init__.py
  sed 's/_get_value/_maybe_opt_step/' fake/torch/optim/optimizer.py >fake/torch/amp/grad_scaler.py
  sed 's/^print.*/from torch.amp.grad_scaler import _maybe_opt_step; print(_maybe_opt_step(block), loss())/' values.py >scales.py
  run 0 gemem-dry-run -o py.gmt python3 scales.py; says out '^0\.0 0\.0$'; says err '^  note +GradScaler finds no overflow and takes every step; a GPU may leave out the first ones, '
  # its checks find what they were given valid; the program's own read zero, and after a bad end the verdict says what to paste
  mkdir -p fake/torch/distributions; touch fake/torch/distributions/__init__.py
  sed 's/_get_value/_validate_sample/; s/c_float(9)/c_int8(9)/; s/c_size_t(4)/c_size_t(1)/' fake/torch/optim/optimizer.py >fake/torch/distributions/distribution.py
  sed '/^print/d' values.py >check.py
  printf '%s\n' 'import os, sys; from torch.distributions.distribution import _validate_sample' 'assert _validate_sample(block) == 1' 'sys.exit(0 if flag() else 3)' >>check.py
  run 3 gemem-dry-run -o py.gmt python3 check.py; says err '^  note +torch\.distributions finds its arguments valid$'
  says err "^ +before that it read zero from the GPU at check\.py:7 read, 1 time; to try another value: --value 'check\\\\.py:7 read=1'$"
  paste () { eval "set -- $(sed -n 's/.*to try another value: //p' "$err")"; pasted=$2; }
  paste; run 0 gemem-dry-run --value "$pasted" -o py.gmt python3 check.py; check "success has no such line" sh -c "! grep -q 'to try another' $err"
  sed -i '$d' check.py; printf '%s\n' 'n = 0' 'while not flag():' '  n += 1' '  if n == 2500: os.kill(os.getpid(), 15)' 'print(n)' >>check.py
  run 143 gemem-dry-run -o py.gmt python3 check.py; says err "check\.py:7 read has read 2000 values of the GPU, all as zero.*--value 'check\.py:7 read=0\*99,1'$"; says err ' at check\.py:7 read, 2500 times; '
  paste; run 0 gemem-dry-run --value "$pasted" -o py.gmt python3 check.py; says out '^99$'
  # a "for" ends, whatever it reads: nothing waits there
  sed -i '/^n = 0/,$d' check.py; printf '%s\n' 'for n in range(2500): flag()' 'print(n)' >>check.py
  run 0 gemem-dry-run --once -o py.gmt python3 check.py; says out '^2499$'; lacks err 'if it waits'
  # vLLM's model runner is told that each request got a token; the count of others is what the device has
  mkdir -p fake/vllm/v1/worker/gpu
  for folder in vllm vllm/v1 vllm/v1/worker vllm/v1/worker/gpu; do touch fake/$folder/__init__.py; done
  cat >fake/vllm/v1/worker/gpu/async_utils.py <<'PY'
import ctypes
class Tensor:
    def __init__(self, n, address, is_cuda): self.shape, self.address, self.is_cuda = (n,), address, is_cuda
    def new_ones(self, shape, device):
        assert device == "cpu"
        self.kept = (ctypes.c_int32 * shape[0])(*[1] * shape[0])
        return Tensor(shape[0], ctypes.addressof(self.kept), False)
    def copy_(self, other): copy(self.address, other.address, 4 * self.shape[0], 1)
def copy(to, source, size, way): ctypes.CDLL(None).cudaMemcpy(ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size), way)
class AsyncOutput:
    def __init__(self, model_runner_output, sampler_output, num_sampled_tokens):
        counts = (ctypes.c_int32 * 100)(*[9] * 100)
        copy(ctypes.addressof(counts), num_sampled_tokens.address, 4 * num_sampled_tokens.shape[0], 2)
        self.counts = list(counts)
PY
  sed '/^print/d' values.py >serve.py
  printf '%s\n' 'from vllm.v1.worker.gpu.async_utils import AsyncOutput, Tensor' 'output = AsyncOutput(None, sampler_output=None, num_sampled_tokens=Tensor(99, block.value, True))' \
    'print(output.counts == [1] * 99 + [9])' >>serve.py
  run 0 gemem-dry-run -o py.gmt python3 serve.py; says out '^True$'; says err '^  note +vLLM: every request gets one token in each step$'
  rm -f log; run 0 gemem-dry-run -o py.gmt python3 -c 'import torch; print(1)'
  check "no snapshot without CUDA" test "$(grep -c dump log)" -eq 0
  rm -f log; run 0 gemem-dry-run -o py.gmt python3 -c 'import os, torch; torch.cuda.init(); p = os.fork(); p or os._exit(0); os.waitpid(p, 0)'
  check "the child of fork() writes none" test "$(grep -c dump log)" -eq 1
  run 0 gemem-dry-run --details -o py.gmt python3 -c 'import os, torch; p = os.fork(); p or torch.cuda.init(); p and os.waitpid(p, 0)'
  says err '^  requests of +PyTorch 2\.11\.0\+cu130' # of a child that was forked before CUDA was initialised
  rm -f log; run 0 env PYTORCH_NO_CUDA_MEMORY_CACHING=1 gemem-dry-run --details -o py.gmt python3 values.py; check "no history without PyTorch's allocator" test "$(grep -c 'record\|dump' log)" -eq 0
  says err "^  requests of +CUDA's runtime and driver"; says err '^  peak live +1\.000 MiB'
  # Python that does not run gemem's sitecustomize: what is read may be a size, and nobody says so
  cat >alone.py <<'PY'
import ctypes
cuda, block, number = ctypes.CDLL(None), ctypes.c_void_p(), ctypes.c_int32(9)
cuda.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(1 << 20))
cuda.cudaMemcpy(ctypes.byref(number), block, ctypes.c_size_t(4), 2)
print(number.value)
PY
  run 0 gemem-dry-run -o py.gmt python3 alone.py; says out '^0$'; says err '^  h100 +fits: 1\.000 MiB'
  for command in 'python3 -E alone.py' 'python3 -S alone.py' 'python3 -I alone.py' 'env PYTHONPATH=fake python3 alone.py'; do
    # shellcheck disable=SC2086 # words
    run 0 gemem-dry-run -o py.gmt $command; says out '^0$'; says err '^  h100 +fits only if .*: 1\.000 MiB'; says err '^  unknown +1 .*python ran without what gemem adds to it .*may be sizes'
  done
  # a choice of GPUs by the program
  for visible in 0=0 1,0=1 0,1=0 5=5 '1, 0'=1 1x=1 0,-1=0 GPU-7374616e-642d-696e-2031=1; do
    run 0 gemem-dry-run --gpus 2 --json gpus.json env CUDA_VISIBLE_DEVICES="${visible%=*}" "$program" runtime; says err '^  h100 +fits: '
    check "which of the machine's GPUs that is" test "$(sed -n 's/.*"gpu": \([0-9]*\).*/\1/p' gpus.json)" = "${visible#*=}"
  done
  for visible in '' -1 0,0 GPU- GPU-0 MIG-1; do
    run 1 gemem-dry-run --gpus 2 env CUDA_VISIBLE_DEVICES="$visible" "$program" runtime
  done
  both () { run 0 gemem-dry-run --gpus 2 --capacity 3MiB sh -c "CUDA_VISIBLE_DEVICES=$1 \"\$0\" runtime && CUDA_VISIBLE_DEVICES=$2 \"\$0\" runtime" "$program"; }
  both 1 1; says err '^ +- the processes on GPU 1, which need 4\.000 MiB in all, do not hold it at the same time$'
  both 0 1; check "each has a GPU of its own" sh -c "! grep -q 'the processes on GPU' $err"; says err '^process [0-9]+, GPU 1: '
  run 1 gemem-dry-run env -i false; says err 'made no CUDA calls; .*; what runs in an emptied environment'
  FAKE_CUDA='' FAKE_VERSION=2.11.0+cpu run 0 gemem-dry-run -o py.gmt python3 -c 'import torch'
  says err 'this PyTorch \(torch 2\.11\.0\+cpu\) is built for the CPU alone.*; install one for CUDA'
  FAKE_CUDA='' FAKE_VERSION=2.11.0+cpu run 0 gemem-dry-run --json - -o py.gmt sh -c 'python3 -c "import torch"; true'
  says err 'built for the CPU alone'; says out '"fits": null, "only_if": \["a PyTorch that is built for CUDA needs no more"\]'
  FAKE_CUDA='' FAKE_HIP=6.4 FAKE_VERSION=2.11.0+rocm6.4 run 0 gemem-dry-run -o py.gmt python3 -c 'import torch'; says err "AMD's ROCm 6\.4, which is not simulated"

  # what is noted at the end of a recording does not take away on what its verdict depends
  cat >ends.py <<'PY'
import ctypes, sys
cuda, stream, block = ctypes.CDLL(None), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cudaStreamCreate(ctypes.byref(stream))
for _ in range(2):
    cuda.cudaMallocAsync(ctypes.byref(block), ctypes.c_size_t(8 << 20), stream)
    cuda.cudaMemsetAsync(block, 0, ctypes.c_size_t(8 << 20), stream)
    cuda.cudaFreeAsync(block, stream)
sys.exit(3)
PY
  run 3 gemem-dry-run -o ends.gmt python3 ends.py; run 0 gemem-sim info ends.gmt; says out '^  note: work of a stream counts as pending'
  says out '^  only if: it needs no more after the point where it ended with exit status 3$'; run 3 gemem-sim ends.gmt; says out '^It cannot be told whether it fits'

  # a library was refused memory, as its status says in the error that ends the program; no request of the allocator was
  for status in 'cuBLAS CUBLAS_STATUS_ALLOC_FAILED when calling' 'cuDNN CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED' 'cuFFT CUFFT_ALLOC_FAILED'; do
    run 1 gemem-dry-run -o ends.gmt python3 -c 'import ctypes, sys; ctypes.CDLL(None).cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20)); raise RuntimeError(sys.argv[1])' "${status#* }"
    says err '^  h100 +DOES NOT FIT: .*, and more was asked for$'; says err "^  ${status%% *} +asked for memory that the GPU did not have$"
  done
  run 3 gemem-sim ends.gmt; says out '^It cannot be told whether it fits: the dry run says it does only if cuFFT gets the memory that'
  run 1 gemem-dry-run python3 -c 'import ctypes; ctypes.CDLL(None).cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20)); raise RuntimeError("CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED")'; says err '^  h100 +fits only if '

  # a module called tensorflow: its allocator, told its limit through the pool, and what it needs; the driver is asked as TensorFlow does
  mkdir -p fake/tensorflow
  printf '%s\n' '__version__ = "2.21.0"' 'class config:' ' class experimental:' '  set_memory_growth = staticmethod(lambda device, enable: None)' >fake/tensorflow/__init__.py
  cat >flow.py <<'PY'
import ctypes, os, sys, tensorflow
MIB = 1 << 20
cuda, pool, limit, block = ctypes.CDLL(None), ctypes.c_void_p(), ctypes.c_uint64(64 * MIB), ctypes.c_void_p()
print(os.environ["TF_GPU_ALLOCATOR"], flush=True)
if "growth" in sys.argv: tensorflow.config.experimental.set_memory_growth("GPU:0", True)
cuda.cudaFree(None); cuda.cuDeviceGetDefaultMemPool(ctypes.byref(pool), 0)
if "unlimited" not in sys.argv: cuda.cuMemPoolSetAttribute(pool, 4, ctypes.byref(limit))
for size in sys.argv[1].split(","): cuda.cudaMallocAsync(ctypes.byref(block), ctypes.c_size_t(int(size) * MIB), None)
if "child" in sys.argv: sys.exit(os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "flow.py", "8"]))
PY
  run 0 gemem-dry-run --details -o tf.gmt python3 flow.py 20,40; says out '^cuda_malloc_async$'; says err '^  h100 +fits: 60\.00 MiB of 64\.00 MiB'
  says err "^ +TensorFlow's allocator takes the 64\.00 MiB at its start"; says err '^  requests of +TensorFlow 2\.21\.0 \(3 events\)'; check "pools are of no interest" sh -c "! grep -q unknown $err"
  # what is recorded are its requests: the file is judged by its allocator, as here
  run 0 gemem-sim tf.gmt; says out '^tf\.gmt: native, tf-bfc, 3 events$'; says out '^It fits: it needs 64\.00 MiB of 79\.18 GiB \(the recorded device\)'; lacks out 'assumed'
  run 0 gemem-dry-run -o tf.gmt python3 flow.py 40,20; says err '^  h100 +DOES NOT FIT: 80\.00 MiB of 64\.00 MiB' # it leaves no rest of less than the request
  run 4 gemem-sim tf.gmt; check 'why' sh -c 'tr -s " \n" " " <"$1" | grep -q "Why: the allocator.s limit of 64\.00 MiB (the device had"' sh "$out"; says out '^  export TF_GPU_ALLOCATOR=cuda_malloc_async$'
  # a request beyond the limit is refused, as TensorFlow's allocator would, and the program may go on with less
  run 0 gemem-dry-run -o tf.gmt python3 flow.py 70,20; says err '^  h100 +fits only if .*: 64\.00 MiB of 64\.00 MiB'; says err '^  peak live +20\.00 MiB'
  says err '^  out of memory +1 request was refused; of 73400320 bytes'
  run 0 gemem-dry-run -o tf.gmt python3 flow.py 20,70; says err '^  h100 +DOES NOT FIT: '
  # what ended it then is another error, or the refusal, seen or not
  for end in 'ValueError("no")=fits only if' 'MemoryError("no")=DOES NOT FIT' 'SystemExit(1)=DOES NOT FIT' 'RuntimeError("CUDA out of memory")=DOES NOT FIT'; do
    { cat flow.py; printf 'raise %s\n' "${end%=*}"; } >ends.py; run 1 gemem-dry-run -o tf.gmt python3 ends.py 70,20; says err "^  h100 +${end#*=}"
  done
  { cat flow.py; printf '%s\n' 'try: raise MemoryError()' 'except MemoryError: raise ValueError("no")'; } >ends.py; run 1 gemem-dry-run -o tf.gmt python3 ends.py 70,20; says err '^  h100 +DOES NOT FIT'
  TF_GPU_ALLOCATOR=cuda_malloc_async run 0 gemem-dry-run -o tf.gmt python3 flow.py 70,20; says err '^  h100 +fits.*: 90\.00 MiB of 79\.18 GiB' # the program's own choice: a pool has no limit
  run 0 gemem-dry-run -o tf.gmt python3 flow.py 20,40 growth; says err "^ +TensorFlow's allocator takes the 64\.00 MiB as it needs them"
  run 0 gemem-dry-run --details -o tf.gmt python3 flow.py 20,40 child; says err "^process [0-9]+, GPU 0: .*/tf\.[0-9]+\.gmt"; says err '^  h100 .*: 8\.000 MiB of 64\.00 MiB'
  check "the child passes its requests on, too" test "$(grep -c 'requests of *TensorFlow' "$err")" -eq 2
  TF_GPU_ALLOCATOR=default run 0 gemem-dry-run --details -o tf.gmt python3 flow.py 20,40; says out '^default$'; says err '^  h100 +fits.*: 60\.00 MiB of 79\.18 GiB'; says err "^  requests of +CUDA's runtime and driver"
  run 0 gemem-dry-run --details -o tf.gmt python3 flow.py 20,40 unlimited; says err "^  requests of +CUDA's runtime and driver"

  # one rank alone: the store answers for the others, and their objects are this rank's own
  mkdir -p fake/torch/distributed
  cat >fake/torch/distributed/distributed_c10d.py <<'PY'
from . import rendezvous
class Store: pass
class TCPStore: pass
class HashStore: pass
class ProcessGroupGloo: create_default_device = None
class group: WORLD = None
state = {}
def is_available(): return True
def is_initialized(): return bool(state)
def get_backend(group=None): return group or "nccl"
def get_rank(group=None): return state["rank"]
def get_process_group_ranks(group): return list(range(state["world"]))
def init_process_group(): state["store"], state["rank"], state["world"] = next(rendezvous._rendezvous_handlers["env"]("env://"))
def _get_default_store(): return state["store"]
def all_gather_object(object_list, obj, group=None): raise KeyError("not replaced")
def recv_object_list(object_list, src=None, group=None): raise KeyError("not replaced")
def barrier(group=None, async_op=False): return "work" if async_op else None
PY
  echo '_rendezvous_handlers = {"env": None}' >fake/torch/distributed/rendezvous.py
  echo 'from .distributed_c10d import *; from .distributed_c10d import _get_default_store' >fake/torch/distributed/__init__.py
  cat >ranks.py <<'PY'
import sys, torch, torch.distributed as d
d.init_process_group()
store, all = d._get_default_store(), [None] * 8
d.all_gather_object(all, "own")
try: d.all_gather_object([None], "own", "gloo")
except KeyError: print("theirs")
store.set("a", "b")
print(d.get_rank(), all == ["own"] * 8, store.add("count", 1), store.get("a"), len(store.get("other")), store.check(["other"]), d.TCPStore("host", 1) is store)
if len(sys.argv) > 1: d.recv_object_list([None], src=2)
PY
  sed -i 's/^__version__/from . import distributed; __version__/' fake/torch/__init__.py
  run 0 gemem-dry-run --details -o alone.gmt --rank 5 --world 8 python3 ranks.py; says out "^5 True 8 b'b' 128 False True$"; says out '^theirs$' # objects of a group of the host
  says err '^  assumed +[0-9]+ values came from other ranks, as if all ranks held the same: .*ranks\.py:4 <module>'
  run 1 gemem-dry-run -o alone.gmt --rank 5 --world 8 python3 ranks.py receive; says err 'this rank waits for an object of rank 2, which does not run'
  # ranks wait for each other in barrier(), in the store; here the second one does not come
  cat >barrier.py <<'PY'
import torch, torch.distributed as d
class Store(d.Store):
    counts, keys = {}, set()
    def add(self, key, n): self.counts[key] = self.counts.get(key, 0) + n; return self.counts[key]
    def set(self, key, value): self.keys.add(key)
    def wait(self, keys, longest): print(len(keys), set(keys) <= self.keys)
for world in 1, 2:
    d.distributed_c10d.state.update(store=Store(), rank=0, world=world)
    d.barrier(); work = d.barrier(async_op=True); print(work.upper())
    try: work.wait()
    except AttributeError: print("waited")
PY
  run 0 gemem-dry-run -o wait.gmt python3 barrier.py; check "all ranks come to a barrier" test "$(tr '\n' ' ' <"$out")" = '1 True WORK 1 True waited 1 False WORK 1 False waited '
  echo 'broken' >snapshot.pickle; run 1 gemem-dry-run -o broken.gmt --json - python3 -c 'import torch; torch.cuda.init()'; says err 'the recording is still in .*\.pickle'; says out '"fits": null, "only_if": \["what could not be recorded'
else
  skip "Python programs" "there is no python3"
fi

done_testing

#!/bin/sh
# test-cli-profile.sh - a device memory profile of JAX (pprof): who holds memory, by line; and damaged ones. Any trace and run as a heap
# profile of pprof, read back.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

# Written by JAX 0.10.2 on the CPU: three arrays of 4 MiB made in line 2 of train.py, a product in line 4.
base64 -d >memory.prof <<'EOF'
H4sIAFwRC2sC/52TsW/jVBzHL46dOE7S/JI0yUubo75w13N7x5k+xAKnMiEhMbGxWY7z0rjn2JbttM1WOJhOQgghmBiQTkgsSIxMCKEb+ANOHW66nQEWBia+zw1HW27KkOjzfe/3+77f7/eeDVUvkG
KoepHU1rbRLChFVSuV9YpRrdXXGtRsaYXT01NlQ9U1KuFfp1dbA6N8Htd62a5pVC/lK4hQL0UMjW5bWe90e6x/5TClcC2PLP8/ZsPYHFyJYUbtQkzrv51hRS8MNXT2qAhUgAo9llgEFum7ClAFqvSo
ANSAGj1UgCVgiX4tDHW9PFT1Mn2IRR2LOn1mACvACv2mAQ2gQb9IrAKr9EcXWAPW6AeJdWCdvh8A14Br9Lm0bcC2QQqIQJRTE9SkIqiVk4qUNlJa9FwWtQ5s03N5Uge4Tk9lL11gh36vAnvALj2pAx
mwR2eyw37e7NcSN4CMznaAm8A+PZOxg7zAbwa7VYyqwiqmYf2lQChUZVWzZn1bhChSndXNNetPHUKlBmtAfFyA0IgYQfwtRYmarGm2rJ8LuwbG1mZtc936ABs6dVjH7FqfGhAV6rEexBMNwiDGGMSX
UlSpz/rmhvVjF6JGm2wT4gsp6jRgA4hPBnBeo+vsuvmKNQI3aIttmaalgIlusBtLbtKQDcGyrBbdZDfNW9Zj2Vebttk2xJk8cJ1us9sQD2WTHbKYhfafVSG6tMN2IL6qQ/Rol+1C/FSBYHSH3UEpT3
cg+nSX3YX4qM6v8aobBJHnZn4UplzzonmYcS2NXU9wbbTIRMrVB3445qXRfDIRCTfEifDmmTsKBC+NxZGPQN1xPNg4Dn/PzmaxfWxP9t60D4/swB/Z8SKbRuEb9/b27NTPxGuwfuAeiNQ+dE9sJ008
2w8zkcSJwH9qxyeBey9e8PJx4sYxDnxnFcs4iSZ+IBLp1HXiQz87r9CfxYFzns7fXskYVtKUnGQeLp1yf254rjcVzsxPU76ViMT1U+Ec+9nUQSVoTYydLMFYR/Dk765y9ot0Z575gayigREFCydO/J
mf+UditWGNfdx35k2lYxOT80SaXvBcaU5elIi8whEez/kY8vK5Khc4jZLIHXtumjl+6Iz9Gd9f5ZQAgJ88qPLCkauTeRBwNQrxeN9fxTacz+KF7SaJu3C8ROQfhzzDuB/4aeZFs3ifdy8ac3k3fnj+
boV/MM1Srt+fReN5IPbxVcXzt17nTF6dwDSkAR6n44IDFL3arS1d8ifOLnkeJ8hw8ufIO/9uRIlzILLz1TFvL2GZl3fI9UkSzZxpEPHyMovfQkB4JJLMEYGYiTBzskUsnKuX2nlp2D/oRX9uowcAAA
==
EOF
run 0 gemem-sim info memory.prof --by=line; says out '^host memory: 16\.00 MiB \(16777216 bytes\) in 4 blocks'
says out '^ +12\.00 MiB +75\.0 % +3 +.*train\.py:2 '; says out '^ +4\.000 MiB +25\.0 % +1 +.*train\.py:4 '
run 0 gemem-sim info memory.prof; says out '^  state: who held memory at one moment; for requests use gemem-record or gemem-dry-run$'
run 3 gemem-sim memory.prof; says out '^It cannot be told whether it fits: the file holds what was alive at one moment, and no requests'
gunzip -c <memory.prof >plain.pb; run 0 gemem-sim info plain.pb --by=line; says out 'train\.py:2 '
run 0 gemem-sim convert -q memory.prof memory.gmt; run 3 gemem-sim memory.gmt; says out 'no requests'

if shared cases/recordings; then
  run 0 gemem-sim info "$GEMEM_SHARED/cases/recordings/12-jax-device-memory.prof" --by=line; says out '^device 0: 4\.000 KiB'; says out '100\.0 % +1 +app\.py:7 main$'
else
  skip 'a profile of a GPU' "there are no cases in $GEMEM_SHARED"
fi

# ---- any trace and run as a profile: read back, who held what at the peak
recorded=$GEMEM_SRCDIR/traces/recorded
peak () { gemem-sim info "$1" --at=peak --by="$2" --frames=all --format=json; }
for name in gpt2-train-stacks gpt2-train-too-short llama-decode; do
  run 0 gemem-sim convert -q "$recorded/$name.gmt" $name.prof
  for by in stack category stream; do
    if command -v jq >/dev/null; then
      all='[.devices[] | .device, .bytes, .blocks, (.rows[] | del(.event))]'
      peak "$recorded/$name.gmt" $by | jq -cS "$all" >wanted; peak $name.prof $by | jq -cS "$all" >got
      check "$name: the same by $by" cmp wanted got; check "$name: by $by, it is something" test "$(wc -c <got)" -gt 60
    fi
  done
  gemem-sim info "$recorded/$name.gmt" --format=folded --frames=all >wanted; run 0 gemem-sim info $name.prof --format=folded --frames=all
  check "$name: the same folded stacks" cmp wanted "$out"
done
run 0 gemem-sim replay -q "$recorded/gpt2-train-stacks.gmt" -a ge-scalable -d sim:capacity=2GiB,address=bump --record run.pb.gz -f json
if command -v jq >/dev/null; then
  bytes=$(jq '.results[0].measures.peak_live' "$out")
  run 0 gemem-sim info run.pb.gz --at=peak --format=json; check 'a run that fails: its peak' jq -e ".devices[0].bytes == $bytes" "$out"
fi
check 'it is compressed' gzip -t run.pb.gz
cat >odd.txt <<'EOF'
# gemem-trace: 1
alloc 1 size=700 device=3 stream=0xffffffffffffffff tag="café"
alloc 2 size=300 device=3
alloc 3 size=50 device=65535
free-requested 1 device=3
alloc 4 size=100 device=3
free-completed 1 device=3
free 2 device=3
alloc 5 size=699 device=3
oom size=5000 device=3
# end: 9
EOF
run 0 gemem-sim convert -q odd.txt odd.pb
cat >decode.py <<'EOF'
import sys
def parts(data):
    at = 0
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]; at += 1; value |= (byte & 127) << shift; shift += 7
            if byte < 128: return value
    while at < len(data):
        key = number()
        assert key & 7 in (0, 2), key
        if key & 7 == 0: yield key >> 3, number()
        else:
            size = number(); assert at + size <= len(data)
            yield key >> 3, data[at:at + size]; at += size
def numbers(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift; shift += 7
        if byte < 128: yield value; value = shift = 0
fields = list(parts(open(sys.argv[1], "rb").read()))
text = [v.decode("utf-8") for n, v in fields if n == 6]
assert text[0] == "" and len(set(text)) == len(text)
print([[text[v] for _, v in parts(t)] for n, t in fields if n == 1], "shown", [text[v] for n, v in fields if n == 14])
functions = {dict(parts(v))[1]: text[dict(parts(v))[2]] for n, v in fields if n == 5}
locations = {dict(parts(v))[1]: functions[dict(parts(dict(parts(v))[4]))[1]] for n, v in fields if n == 4}
for n, sample in fields:
    if n == 2:
        part = list(parts(sample)); labels = [dict(parts(v)) for k, v in part if k == 3]
        print([locations[v] for v in numbers(dict(part)[1])], list(numbers(dict(part)[2])),
              {text[d[1]]: ascii(text[d[2]]) if 2 in d else d[3] for d in labels})
EOF
if python=$(command -v python3); then
  run 0 "$python" decode.py odd.pb
  says out "^\[\['alloc_objects', 'count'\], \['alloc_space', 'bytes'\], \['inuse_objects', 'count'\], \['inuse_space', 'bytes'\]\] shown \['inuse_space'\]$"
  says out "^\['unknown'\] \[1, 700, 1, 700\] .*gpu:3.*'kind': .*caf.*xe9.*'stream': 18446744073709551615\}$"
  says out "^\['unknown'\] \[3, 1099, 2, 400\] .*gpu:3[^,]*\}$"; says out "^\['unknown'\] \[1, 50, 1, 50\] .*cpu:0"
else
  skip 'what another reader finds' 'there is no python3'
fi
run 0 gemem-sim info odd.pb --by=stream; says out '^device 3: 1\.074 KiB \(1100 bytes\) in 3 blocks'; says out ' 700 B .* stream 0xffffffffffffffff$'
if command -v protoc >/dev/null; then run 0 sh -c "protoc --decode_raw <odd.pb"; says out '^14: 4$'; else skip 'protoc reads it' 'there is no protoc'; fi
printf '# gemem-trace: 1\n# end: 0\n' >none.txt; run 0 gemem-sim convert -q none.txt none.prof; run 0 gemem-sim info none.prof
run 2 gemem-sim convert -q odd.txt odd.gmt.gz; says err 'odd\.gmt\.gz: the name does not tell the format'

# ---- pprof itself reads them: Go's (Debian: golang-go), or the one that GEMEM_PPROF names
pprof=${GEMEM_PPROF:-}
[ -n "$pprof" ] || { command -v go >/dev/null && pprof='go tool pprof'; } || { command -v pprof >/dev/null && pprof --help 2>&1 | grep -q sample_index && pprof=pprof; }
run 0 gemem-sim convert -q "$GEMEM_SRCDIR/traces/recorded/gpt2-train-stacks.gmt" jax.prof; run 3 gemem-sim jax.prof; says out "^It cannot be told"; lacks out export # as of JAX, which reads none of TensorFlow's variables
if [ -n "$pprof" ]; then
  stacks=$GEMEM_SRCDIR/traces/recorded/gpt2-train-stacks.gmt
  run 0 gemem-sim convert -q "$stacks" stacks.prof; total=$(gemem-sim info stacks.prof --by=line | sed -n 's/^device 0: .*(\([0-9]*\) bytes).*/\1/p')
  # shellcheck disable=SC2086 # two words
  run 0 env HOME="$PWD" $pprof -top -unit=B -nodecount=3 stacks.prof; says out '^Type: inuse_space$'; says out " of ${total}B total$"; says out '^ *995518464B 38\.93% .* _init_group$'
  # shellcheck disable=SC2086
  run 0 env HOME="$PWD" $pprof -raw odd.pb; says out '^ *1 +700 +1 +700: '; says out 'device:\[gpu:3\] kind:\[caf.*\]'
  # shellcheck disable=SC2086
  run 0 env HOME="$PWD" $pprof -top none.prof; says out ' of 0 total$'
else
  skip 'pprof reads it' 'there is no Go (Debian: golang-go), and GEMEM_PPROF names no pprof'
fi

# ---- a profile of a heap by others, without labels, is the host's
printf '\n\004\010\001\020\002\n\004\010\003\020\004\022\004\022\002\003\0142\0002\015inuse_objects2\005count2\013inuse_space2\005bytes' >heap.pb
run 0 gemem-sim info heap.pb; says out '^host'

# ---- damaged: cut at every place it is read, refused with a word, or no profile at all
failed=0; size=$(wc -c <plain.pb); at=20
while [ "$at" -lt "$size" ]; do
  head -c "$at" plain.pb >cut.pb; gemem-sim info cut.pb >cut.out 2>cut.err; status=$?
  [ "$status" -eq 0 ] || { [ "$status" -eq 3 ] && grep -q 'cut\.pb: ' cut.err; } || { failed=1; echo "# cut at $at: $status"; cat cut.err; }
  at=$((at + 37))
done
ok $failed 'one that is cut anywhere is refused in words'
printf '\n\004\b\001\020\002\n\004\b\003\020\0042\0002\003cpu2\005count2\005space2\005bytes' >other.pb
run 3 gemem-sim info other.pb; says err 'other\.pb: .*'
printf '\n\004\b\001\020\002\n\004\b\003\020\004\022\017\022\015\001\377\377\377\377\377\377\377\377\377\001\0012\0002\013allocations2\005count2\005space2\005bytes' >many.pb
run 3 gemem-sim info many.pb; says err 'many\.pb: .*'
done_testing

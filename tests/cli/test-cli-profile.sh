#!/bin/sh
# test-cli-profile.sh - a device memory profile of JAX (pprof): who holds memory, by line; and damaged ones.
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

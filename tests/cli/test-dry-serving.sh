#!/bin/sh
# test-dry-serving.sh - gemem-dry-run on servers, which a Python program without a model stands for: what they say of their cache, what they refuse by themselves,
# and --until, which ends them.  The real ones: long-dry-serving.sh.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
XDG_CACHE_HOME=$GEMEM_TMP/.cache; export XDG_CACHE_HOME
if is_sanitized; then
  echo "1..0 # SKIP the preloaded libraries are instrumented, and the programs are not"; exit 0
fi
python=$(command -v python3) || { skip "servers" "there is no python3"; done_testing; }
server=$GEMEM_SRCDIR/tests/programs/dry/fake_server.py
dry () { status=$1; shift; run "$status" timeout 120 gemem-dry-run --gpu rtx4090 --context 1GiB "$@"; } # STATUS OPTION...

# ---- --until: a server that is ready is ended with all that it started, and that is success
run 2 gemem-dry-run --until= true; says err '^gemem-dry-run: --until=: write what the program prints when it is ready$'
dry 0 --until 'server is ready' --json server.json "$python" "$server" serve 1000
says out '^the server is ready$'; lacks out '^it waits$'; says err '^it waits$'
says err '^  rtx4090 +fits: 2\.000 GiB of 23\.52 GiB '; says err '^  KV cache +57360 tokens, as vLLM says$'; lacks err '^  (program|refused) '
check "the server has ended" sh -c "! kill -0 $(sed -n 's/^pid //p' "$out")"
check "and its process, whose recording is whole" test -z "$(pgrep -f "$server")"
dry 0 --until 'server is ready' "$python" "$server" end; says err '^  rtx4090 +fits only if'; says err "^ +- it needs no more than up to its end, at which it had not printed 'server is ready' \(--until\)$"
dry 3 --until 'server is ready' sh -c 'echo the server is; exit 3'; says out '^the server is$'
dry 0 --until 'it waits' "$python" "$server" serve 1000; says err '^  rtx4090 +fits: ' # on standard error
run 0 sh -c 'gemem-dry-run --gpu rtx4090 --until "server is ready" "$@" | true' sh "$python" "$server" serve 1000; says err '^  KV cache +57360 tokens' # its output is read no more
run 130 timeout --preserve-status -s INT 2 gemem-dry-run --until never -o stop.gmt sleep 100

# ---- what a server refuses by itself does not fit, with its reason, also where no request was made
for how in serve print; do
  dry 1 --until 'server is ready' --json server.json "$python" "$server" $how 60000
  says err '^  rtx4090 +DOES NOT FIT: 2\.000 GiB of .*, and with that the program refused to go on$'
  says err "^  refused +vLLM's message that its KV cache is too small for one request$"; says err '^ +ValueError: To serve at least one request with the model.s max seq len .60000.,'
done
if command -v jq >/dev/null; then run 0 jq -e '.fits == false and .kv_tokens == 57360 and (.refused | test ("60000"))' server.json; fi
run 3 gemem-sim out.gmt; says out '^It cannot be told whether it fits: the dry run says it does only if vLLM goes on where it' # nor does the recording say yes
dry 1 "$python" "$server" early; says err '^  rtx4090 +DOES NOT FIT: the program refused to go on$'; says err "^  refused +vLLM's message that less is free than it may take$"
dry 1 "$python" "$server" sglang; says err '^  rtx4090 +DOES NOT FIT: 2\.000 GiB'; says err "^  refused +SGLang's message that nothing is left for its KV cache$"
# one that goes on with less: whether that will do, its user knows
dry 0 --until 'server is ready' "$python" "$server" catch 60000
says err '^  rtx4090 +fits only if'; says err "^ +- the program may do without what it refused \('refused', below\): it ended with success$"
# an error of another kind is none of memory
dry 1 --until 'server is ready' "$python" "$server" other; says err '^ +- it needs no more after the point where it ended with exit status 1$'; lacks err '^  refused '

# ---- --fit: the largest length, in four runs, for the server says which fits; each says how many tokens its cache holds
dry 0 --until 'server is ready' --json fit.json -o fit.gmt --fit 'LEN=1000..100000' -- "$python" "$server" serve LEN
says err '^gemem-dry-run: LEN=57360 is the largest of 1000 to 100000 that fits rtx4090, with a KV cache of 57360 tokens$'; silent out
says err "^gemem-dry-run: LEN=57361: does not fit, by vLLM's message that its KV cache is too small for one request; .*/fit\.LEN-57361\.gmt$"
says err '^gemem-dry-run: LEN=1000: fits, 2\.000 GiB needed, a KV cache of 57360 tokens; '
check "it does not bisect what the server says" test "$(grep -c '^gemem-dry-run: LEN=.*gmt$' "$err")" -eq 4
if command -v jq >/dev/null; then run 0 jq -e '.largest[0] | .LEN == "57360" and .kv_tokens == 57360' fit.json; fi
dry 0 --until 'server is ready' -o fit.gmt --fit 'LEN=57359..57362' --fit 'HOW=serve,print' -- "$python" "$server" HOW LEN
says err '^  HOW=print  57360, 2\.000 GiB needed, a KV cache of 57360 tokens$'
dry 1 --until 'server is ready' -o fit.gmt --fit 'LEN=60000,70000' -- "$python" "$server" serve LEN; says err '^gemem-dry-run: no value of LEN from 60000 to 70000 fits rtx4090$'
dry 1 --until 'server is ready' -o fit.gmt --fit 'LEN=1,2' -- "$python" "$server" other LEN; says err 'the program failed with LEN=1 \(status 1\), and not for want of memory'
done_testing

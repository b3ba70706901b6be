#!/bin/sh
# test-cli-advise-long.sh - advise on a long recording: what was not tried is said in one line, and --all tries it.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"

if is_sanitized; then skip 'a long recording' 'minutes with a sanitizer; other tests of advise run the same code'; done_testing; fi
left_out='^Not tried, as the recording is long: pairs of settings, other systems; --all does\.$'
run 0 gemem-sim generate random:events=500100,live=300 -o long.gmt
run 0 gemem-sim advise long.gmt --for cupy --capacity 16GiB --details
says out "$left_out"; says out '^Tried: 2 settings of cupy-pool'; lacks out '^Good to know'
run 0 gemem-sim advise long.gmt --for cupy --capacity 16GiB --all --details
lacks out '^Not tried'; says out '^Good to know: .*, of another system, would need'
run 4 gemem-sim advise long.gmt --for cupy --capacity 1GiB
says out '^Not tried, .*: pairs of settings, other systems, the least device; --all does\.$'; lacks out 'It needs a device of'
run 0 gemem-sim advise long.gmt --for cupy --capacity 16GiB --format=json
check 'in JSON' jq -e '.[0] | .shortened and .other_allocator == null and .tried == 2' "$out"
run 0 gemem-sim generate random:events=2000,live=300 -o short.gmt
run 0 gemem-sim advise short.gmt --for cupy --capacity 16GiB; lacks out '^Not tried'
done_testing

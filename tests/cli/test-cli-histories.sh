#!/bin/sh
# test-cli-histories.sh - advise and gate with --histories: frees in other orders, a warm cache, other addresses; what they change is said, and
# what fails in one of them is no "fits".
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
command -v jq >/dev/null || { echo '1..0 # SKIP there is no jq'; exit 0; }

recorded="$GEMEM_SRCDIR/traces/recorded"
MiB=1048576

# ---- a gate: gmlake needs more once its cache is warm
run 0 gemem-sim generate random:events=3000,live=60 -o random.gmt
run 0 gemem-sim gate random.gmt -a gmlake --update -b plain.ini
run 0 gemem-sim gate random.gmt -a gmlake --update -b worst.ini --histories 8
peak () { sed -n 's/^peak_reserved=//p' "$1"; }
check 'other histories need more' test "$(peak worst.ini)" -gt "$(peak plain.ini)"
check 'the baseline says how many' grep -qx histories=8 worst.ini
check 'the one without says nothing' sh -c '! grep -q histories plain.ini'
run 0 gemem-sim gate random.gmt -a gmlake -b worst.ini; says out 'random\.gmt'
run 0 gemem-sim gate random.gmt -a gmlake -b worst.ini --histories 8
run 2 gemem-sim gate random.gmt -a gmlake -b worst.ini --histories 4; says err '^gemem-sim: error: --histories=4: the baseline of random.gmt was made with 8; leave the option out, or write it anew with --update$'
run 2 gemem-sim gate random.gmt -a gmlake -b plain.ini --histories 8; says err 'was made with 0; '
run 0 gemem-sim gate random.gmt -a gmlake --update -b worst.ini; check 'an update keeps them' grep -qx histories=8 worst.ini
sed 's/^histories=8/histories=some/' worst.ini >bad.ini; run 3 gemem-sim gate random.gmt -a gmlake -b bad.ini; says err 'histories: no number'
sed 's/^histories=8/histories=9999999/' worst.ini >bad.ini; run 3 gemem-sim gate random.gmt -a gmlake -b bad.ini; says err 'histories: more than there can be'
for n in 1 2; do gemem-sim gate random.gmt -a gmlake --update -b again$n.ini --histories 5; done; check 'the same number, the same baseline' cmp again1.ini again2.ini

# ---- a recording of an H100: nothing depends on it
run 0 gemem-sim "$recorded/gpt2-train.gmt" --histories 3 --capacity 16GiB
says out '^It fits: it needs 2\.777 GiB of 16\.00 GiB'
says out '^It needs as much in 5 other histories: 3 orders of frees, a warm cache, other addresses\.$'
says out '^      in other histories 2\.422 GiB$'
run 0 gemem-sim advise "$recorded/gpt2-train.gmt" --histories 3 --capacity 16GiB -f json
check 'JSON: each kind' jq -e '.[0].histories == {frees: {runs: 3, failed: 0, least_needed_bytes: .[0].needed_bytes, most_needed_bytes: .[0].needed_bytes}, warm: .[0].histories.warm, addresses: .[0].histories.addresses} and .[0].histories.warm.runs == 1 and .[0].histories.addresses.runs == 1' "$out"
check 'JSON: of the best line' jq -e '.[0].lines[0].histories.frees.runs == 3 and (.[0].lines[1] | has("histories") | not)' "$out"
run 0 gemem-sim advise "$recorded/gpt2-train.gmt" --capacity 16GiB -f json; check 'not asked for, not there' jq -e '.[0] | has("histories") | not' "$out"

# ---- which kind it is: a warm cache of the H100's recording, orders of frees in CUDA's own pool
run 4 gemem-sim "$recorded/gpt2-train-too-short.gmt" --histories 2
check 'a warm cache' sh -c "tr '\\n' ' ' <$out | tr -s ' ' | grep -q 'It fails in 3 of 4 other histories: 2 orders of frees fail, a warm cache 1.381 GiB, other addresses fail\\.'"
made_by () { sed "1a # allocator: \"$1\"" "$2"; }
run 0 gemem-sim generate transformer-train:iterations=2 -o train.txt
made_by cuda-async train.txt >pool.txt; run 3 gemem-sim pool.txt --histories 16 -f json
check 'orders of frees' jq -e '.[0].histories.frees | .runs == 16 and .failed == 0 and .least_needed_bytes < .most_needed_bytes' "$out"

# ---- what fails in one of them is no "fits", and nothing else changes the verdict
run 0 gemem-sim generate random:events=3000,live=60 -o small.txt
made_by umpire-quick small.txt >quick.txt
run 0 gemem-sim quick.txt --capacity 815MiB
run 3 gemem-sim quick.txt --capacity 815MiB --histories 3
says out '^It cannot be told whether it fits: a request fails in 1 of 4 other histories\.'
says out '^It fails in 1 of 4 other histories: 3 orders of frees 814\.2 MiB, a warm cache fails\.$'
run 4 gemem-sim quick.txt --capacity 812MiB --histories 3; says out '^It fails in 4 of 4 other histories: 3 orders of frees fail, a warm cache fails\.$'

# ---- a comparison: each row in other histories
run 0 gemem-sim compare "$recorded/gpt2-train.gmt" "$recorded/vit-train.gmt" -a pytorch-caching -a cuda-async --histories 4
says out '^allocator .* peak reserved .* histories from +histories to'
says out '^cuda-async +2\.469 GiB .* 2\.469 GiB +2\.563 GiB'; says out '^pytorch-caching \(now\) +2\.777 GiB .* 2\.777 GiB +2\.777 GiB'
says out '^gpt2-train\.gmt, cuda-async: It needs 2\.469 GiB to 2\.563 GiB in 5 other histories: 4 orders'
lacks out 'pytorch-caching: It needs'
run 0 gemem-sim compare "$recorded/vit-train.gmt" -a pytorch-caching --histories 3; says out '^No row needs more or less in other histories\.$'
run 0 gemem-sim compare "$recorded/vit-train.gmt" -a pytorch-caching; lacks out 'histories from'
run 0 gemem-sim compare random.gmt -a gmlake -a pytorch-caching --histories 8 -f json -o compared.json
check 'the gate finds the same' test "$(jq -r '.results[] | select(.allocator == "gmlake") | .values.histories_most // .histories_most' compared.json)" = "$(peak worst.ini)"
check 'JSON: how many' jq -e '[.results[] | (.values.histories_runs // .histories_runs)] | min == max and min >= 8' compared.json
run 0 gemem-sim compare random.gmt -a gmlake --histories 8 -f csv -o compared.csv; check 'CSV' grep -q histories_most compared.csv
run 0 gemem-sim plot compared.json -f json; check 'and back' test "$(jq -S .results "$out" | md5sum)" = "$(jq -S .results compared.json | md5sum)"
run 0 gemem-sim compare quick.txt -a umpire-quick -d sim:capacity=815MiB --histories 3; says out '^umpire-quick: It fails in 1 of 4 other histories: 3 orders of frees 814\.2 MiB, a warm cache fails\.$'
# with --find-capacity the least capacity of each
run 0 gemem-sim compare random.gmt -a pytorch-caching --histories 6 --find-capacity -f json -o capacity.json
check 'the least capacity in other histories is that of each' jq -e '.results[0] | ((.values.least_capacity // .least_capacity) > 0) and ((.values.histories_most // .histories_most) >= (.values.histories_least // .histories_least)) and ((.values.histories_least // .histories_least) < (.values.peak_reserved // .peak_reserved))' capacity.json
run 2 gemem-sim compare random.gmt --histories 3 --measure; says err '^gemem-sim: error: --histories and --measure: leave one of them out$'
run 2 gemem-sim compare random.gmt random.gmt --histories 3 --share-device; run 2 gemem-sim compare random.gmt --histories 1001; run 2 gemem-sim compare random.gmt --histories 2 -d cuda:0

# ---- an interruption: what was replayed before is told, and how many are left out; a gate gives no verdict
gemem-sim generate random:events=30000 --seed 3 -o slow.gmt
# stop COMMAND...: by a signal, once some histories were replayed; the machine may be slow.
stop () {
  for delay in 0.5 1 2 4 8; do
    "$@" >stopped 2>stopped.err & pid=$!
    sleep $delay; kill -TERM $pid; wait $pid; status=$?
    [ $status -ne 143 ] && ! grep -q 'before any of\|in one long step' stopped stopped.err && return 0
  done
  skip "an interruption: $2" 'the machine is too slow for a signal'
  return 1
}
if is_sanitized; then skip 'an interruption' 'with sanitizers a replay takes longer than a signal waits'
else
  if stop gemem-sim advise -q slow.gmt --capacity 16GiB --histories 1000; then
    check 'advise: not sure' test $status = 3
    check 'it says how many are left out' grep -Eq '^It (needs as much|needs .*) in [0-9]+ other histor(y|ies): .*; interrupted, [0-9]+ more( are left out\.)?$' stopped
    check 'and that no setting was tried' sh -c 'tr "\n" " " <stopped | grep -Eq "Tried: 0 settings of [^;]*; interrupted, [0-9]+ more are left out\."'
  fi
  if stop gemem-sim compare -q slow.gmt -a pytorch-caching --histories 1000; then
    check 'compare: 130, with its table' sh -c 'test $1 = 130 && grep -q "^pytorch-caching  *[0-9]" stopped && grep -q "what is told is of those before" stopped.err' - $status
    check 'and how many are left out' sh -c 'tr "\n" " " <stopped | grep -Eq "other histories: .*; interrupted, [0-9]+  ?more +are left out\."'
  fi
  if stop gemem-sim gate -q slow.gmt --update -b stopped.ini --histories 1000; then
    check 'gate: no verdict, no baseline' sh -c 'test $1 = 130 && grep -q "interrupted among its histories, without a verdict" stopped.err && test ! -e stopped.ini' - $status
  fi
fi

# ---- on a terminal, which shows how far they are: the paths of shuffled recordings are asked for
python=$(command -v python3 || echo false)
if "$python" -c 'import pty; pty.openpty()' 2>/dev/null; then
  for command in "advise --capacity 16GiB" "gate --update -b shown.ini" "compare -a pytorch-caching"; do
    # shellcheck disable=SC2086 # words
    "$python" "$GEMEM_SRCDIR/tests/util/on-terminal.py" shown gemem-sim ${command%% *} "$recorded/gpt2-train.gmt" ${command#* } --histories 5
    check "a terminal: $command" sh -c 'read -r got took <shown/status; echo "$got"; test "$got" = 0'
  done
else
  skip 'on a terminal' 'there are no pseudo terminals here'
fi

# ---- wrong numbers
run 2 gemem-sim "$recorded/gpt2-train.gmt" --histories -1; says err '^gemem-sim: error: --histories=-1: write a number from 1 to 1000$'
run 2 gemem-sim "$recorded/gpt2-train.gmt" --histories 1001
run 2 gemem-sim gate "$recorded/gpt2-train.gmt" --histories many
done_testing

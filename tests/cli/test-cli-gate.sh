#!/bin/sh
# test-cli-gate.sh - gemem-sim gate: what passes, what got worse and why, the file of baselines, and the whole way from a dry run.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
recorded=$GEMEM_SRCDIR/traces/recorded

# step BYTES [BYTES]: a step of two layers, the second of which holds BYTES, in a function at line 20 or further down.
step () {
  printf '# gemem-trace: 2\n# allocator: "pytorch-caching"\n# frame: "load" "model.py" 10\n# frame: "forward" "model.py" %s\n# stack: 1\n# stack: 2\n' "${2:-20}"
  printf 'alloc 1 size=31457280 stack=1\nalloc 2 size=%s stack=2\nfree 2\nfree 1\n# end: 4\n' "$1"
}

# ---- the same, better, worse, unknown
step 41943040 >step.txt
run 3 gemem-sim gate step.txt; says err '^gemem-sim: error: gemem-baseline\.ini: .*No such file or directory; --update writes a first one$'
run 0 gemem-sim gate step.txt --update; run 0 cat gemem-baseline.ini
says out '^\[step\.txt\]$'; says out '^peak_reserved=73400320$'; says out '^line1=1 blocks, 41943040 bytes: model\.py:20 forward$'
cp gemem-baseline.ini first.ini
run 0 gemem-sim gate step.txt; says out '^ok: step\.txt: reserved at most 70\.00 MiB$'
run 0 gemem-sim gate step.txt --update; check "written again it is the same" cmp first.ini gemem-baseline.ini
step 50331648 33 >step.txt # and further down in the file
run 5 gemem-sim gate step.txt
says out '^WORSE: step\.txt: more than the baseline says$'
says out '^  worse: reserved at most 70\.00 MiB -> 78\.00 MiB, 11\.43 % more$'; says out '^  worse: in use at most 70\.00 MiB -> 78\.00 MiB, 11\.43 % more$'
says out '^    \+8\.000 MiB   40\.00 MiB -> 48\.00 MiB   model\.py:33 forward \(was model\.py:20 forward\)$'
says out '^1 of 1 recordings got worse; --update accepts what they need$'
run 5 gemem-sim gate step.txt --tolerance 11%; says out 'over 11 % more than the baseline says'
run 0 gemem-sim gate step.txt --tolerance 12%; says out '^ok: step\.txt: reserved at most 70\.00 MiB -> 78\.00 MiB, 11\.43 % more$'
run 0 gemem-sim gate step.txt -m failed -m device_calls
step 31457280 >step.txt; run 0 gemem-sim gate step.txt; says out '^better: step\.txt: reserved at most 70\.00 MiB -> 60\.00 MiB, 14\.29 % less$'
cp "$recorded/vit-train.gmt" . # a long path would be wrapped
run 5 gemem-sim gate step.txt vit-train.gmt; says out '^unknown: vit-train\.gmt: the baseline does not have it; --update adds it$'
says out '^0 of 2 recordings got worse, some are unknown; '
run 0 gemem-sim gate vit-train.gmt --update; run 0 gemem-sim gate step.txt vit-train.gmt
check "others stay in the file" test "$(grep -c '^\[' gemem-baseline.ini)" -eq 3
# A request more that fails is never allowed.
run 0 gemem-sim gate "$recorded/gpt2-train.gmt" -b gpt2.ini --update; run 5 gemem-sim gate "$recorded/gpt2-train.gmt" -b gpt2.ini --capacity 2GiB --tolerance 100%
says out '^  worse: failed requests 0 -> [0-9]+$'
run 5 gemem-sim gate "$recorded/gpt2-train.gmt" -b gpt2.ini -a pytorch-caching:max_split_size_mb=64; says out '^  allocator pytorch-caching -> pytorch-caching:max_split_size_mb=64$'
says out '^idle at the reserved peak, by cause:$'
if command -v jq >/dev/null; then
  run 5 gemem-sim gate "$recorded/gpt2-train.gmt" -b gpt2.ini -a pytorch-caching:max_split_size_mb=64 -f json
  check "JSON" jq -e '.[0].verdict == "worse" and .[0].worse == ["peak_reserved"] and .[0].before.peak_reserved < .[0].now.peak_reserved' "$out"
fi
# The verdict does not depend on threads, nor on when it is asked.
for i in 1 2 3; do gemem-sim gate "$recorded/gpt2-train.gmt" -b gpt2.ini -a pytorch-caching:max_split_size_mb=64 >"again$i"; done
check "it never flaps" sh -c 'cmp again1 again2 && cmp again2 again3'

# ---- names of any kind
mkdir 'a [b]'; step 41943040 >'a [b]/c;d=e#.txt'
run 0 gemem-sim gate 'a [b]/c;d=e#.txt' -b odd.ini --update; run 0 gemem-sim gate 'a [b]/c;d=e#.txt' -b odd.ini; says out '^ok: '
printf '# gemem-trace: 2\n# frame: "f\\n[x]" "a=b;c.py" 3\n# stack: 1\nalloc 1 size=31457280 stack=1\n# end: 1\n' >odd.txt
run 0 gemem-sim gate odd.txt -b odd.ini --update; run 0 gemem-sim gate odd.txt 'a [b]/c;d=e#.txt' -b odd.ini

# ---- wrong use, and damaged baselines
run 2 gemem-sim gate; run 2 gemem-sim gate step.txt --tolerance 5; says err '--tolerance=5: write a percentage, as 1%'
run 2 gemem-sim gate step.txt --tolerance -1%; run 2 gemem-sim gate step.txt --measure speed; says err '--measure=speed: write one of peak_reserved, '
run 2 gemem-sim gate step.txt -a direct -a tf-bfc; says err 'a baseline is of one allocator'
damage () { sed "$1" first.ini >bad.ini; run 3 gemem-sim gate step.txt -b bad.ini; says err "^gemem-sim: error: bad\.ini: $2"; }
damage 's/version=1/version=99/' 'a baseline of version 99, and this gemem-sim reads up to 1'
damage 's/peak_reserved=.*/peak_reserved=much/' '\[step\.txt\] peak_reserved: no number; make it anew with --update'
damage '/peak_in_use/d' '\[step\.txt\] peak_in_use: is missing'; damage '/^failed/d' '\[step\.txt\] failed: is missing'
damage 's/^idle=.*/idle=streams/' '\[step\.txt\] idle: not "CAUSE BYTES, \.\.\."'; damage '/^idle/d' '\[step\.txt\] idle: is missing'
damage 's/^line1=.*/line1=a lot/' '\[step\.txt\] line1: not "N blocks, N bytes: LINE"'; damage '/gemem-gate/d' '.*'
damage 's/.*/not a key file/' '.*'; : >bad.ini; run 3 gemem-sim gate step.txt -b bad.ini; says err 'no baseline, it has no \[gemem-gate\]; --update writes one'
head -c 100 "$recorded/vit-train.gmt" >cut.gmt; cp first.ini kept.ini; run 3 gemem-sim gate cut.gmt -b kept.ini --update; check "a baseline stays where a recording is damaged" cmp first.ini kept.ini
run 1 gemem-sim gate step.txt --update -b missing/folder.ini; says err 'missing/folder\.ini'

# ---- a baseline of another program, which needs less: no pass; a function that moved to another folder is the same program
step 31457280 | sed 's/"model\.py"/"other.py"/' >step.txt; run 5 gemem-sim gate step.txt -b first.ini
says out '^unknown: step\.txt: no line of code of the baseline is in it: it is of another program; --update$'; lacks out 'worse: '
run 5 gemem-sim gate step.txt -b first.ini -f json; check "JSON: another program" grep -q '"other_program": true' "$out"
step 41943040 70 | sed 's|"model\.py"|"/src/new/model.py"|' >step.txt; run 0 gemem-sim gate step.txt -b first.ini

# ---- a clock that jumps back, by an hour and to 0: the same verdict
step 41943040 | sed '1a # flags: has-time' | awk '/^alloc|^free/ { print $0 " t=" (++n == 2 ? "3600000000000" : n == 3 ? 0 : n * 1000); next } { print }' >step.txt
for again in 1 2 3; do run 0 gemem-sim gate step.txt -b first.ini; says out '^ok: step\.txt: reserved at most 70\.00 MiB$'; done

# ---- the whole way of doc/ci.md: a dry run, without a GPU, then the gate
program=$GEMEM_BUILDDIR/tests/programs/dry-memory
if is_sanitized; then skip "the whole way" "the preloaded libraries are instrumented"; else
  run 0 gemem-dry-run -o train.gmt "$program" runtime; run 0 gemem-sim gate train.gmt -a direct -b ci.ini --update
  run 0 gemem-dry-run -o train.gmt "$program" runtime; run 0 gemem-sim gate train.gmt -a direct -b ci.ini
  run 0 gemem-dry-run -o train.gmt "$program" driver; run 5 gemem-sim gate train.gmt -a direct -b ci.ini; says out '^  worse: reserved at most 2\.000 MiB -> 4\.000 MiB'
fi
done_testing

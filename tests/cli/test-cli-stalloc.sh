#!/bin/sh
# test-cli-stalloc.sh - STAlloc's files: its recording is read and written, a step is planned into its plan, and the
# plan is served; what is none of these is said.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
recorded=$GEMEM_SRCDIR/traces/recorded

# ---- the recording
cat >mem_log_dev2.txt <<'LOG'
Iteration Index :0
decoder.layers.0->Layer Layer : F-start
1 0x7f0000000000 2097152 0
1 0x7f0000400000 100 0x55d0
decoder.layers.0->Layer Layer : F-end
forward micro-batch 0 :F
0 0x7f0000000000 2097152 0
0 0x7f00deadbeef 4096 0
a line of the program
Iteration Index :end
LOG
run 0 gemem-sim info mem_log_dev2.txt; says out 'format +stalloc$'
run 0 gemem-sim convert mem_log_dev2.txt text.txt -f text
for line in 'step ' 'phase .*decoder\.layers\.0->Layer F' 'phase-end .*decoder\.layers\.0->Layer F' 'alloc .*2097152' 'phase .*micro-batch 0 :F'; do
  check "$line" grep -q "$line" text.txt
done
check 'two steps, the second ends the last' test "$(grep -c '^ *step\| step ' text.txt)" -eq 2
run 0 gemem-sim info mem_log_dev2.txt; says out 'frees of blocks that this log never allocated are left out'
bad () { printf '%s\n' '1 0x7f0000000000 512 0' "$1" >bad.txt; run 3 gemem-sim info bad.txt; says err "bad\.txt:2: $2"; }
bad '1 0x7f0000000000 512 0' '0x7f0000000000 is allocated while it is live'
bad '1 0x7f0000000400 512' "not '0\|1 POINTER SIZE STREAM'"
bad '0 0x7f0000000400 99999999999999999999 0' "not '0\|1 POINTER SIZE STREAM'"
bad '1 0x7f0000000400 1152921504606846976 0' "not '0\|1 POINTER SIZE STREAM'"

echo 'a line of the program' >none.txt; run 3 gemem-sim info none.txt --trace-format stalloc; says err "no line of this file is STAlloc's"

# ---- what is written is the same program
requests () { gemem-sim replay -q "$1" -a direct -f json | jq -c '.results[0].values | [.allocs, .peak_live, .ooms]'; }
run 0 gemem-sim convert "$recorded/gpt2-train.gmt" gpt2.txt -f stalloc
run 0 gemem-sim info gpt2.txt; says out 'format +stalloc$'
check 'the same requests, and as much live' test "$(requests gpt2.txt)" = "$(requests "$recorded/gpt2-train.gmt")"
run 0 gemem-sim convert gpt2.txt again.txt -f stalloc; check 'twice the same' cmp gpt2.txt again.txt

# a name that would be read as something else is no layer's
cat >names.txt <<'END'
# gemem-trace: 1
phase 0 tag="a->b\n1 0x1000 512 0\nc-> F"
phase 0 tag="1 a->b F"
phase 0 tag="Iteration Index :7 a->b F"
phase 0 tag="a->b F"
alloc 1 size=512
# end: 5
END
run 0 gemem-sim convert names.txt names.log -f stalloc
check 'names stay names' sh -c "printf '%s\n' 'a->b Layer : F-start' '1 0x7e0000000000 512 0' | diff - names.log"

# ---- the plan of a step
run 0 gemem-sim plan "$recorded/gpt2-train.gmt" -p optimal --step-plan step.txt
says err 'step\.txt holds a step planned by optimal: [0-9]* requests before it, [0-9]* in it, '
check 'its places are as many as it says' awk 'NR == 2 { n = $3 + $4 } NR > 2 && NF == 2 { places++ } END { exit !(n > 0 && n == places) }' step.txt
check 'small requests are not in it' awk 'NR > 2 && $2 <= 512 { bad = 1 } END { exit bad }' step.txt
gemem-sim replay -q "$recorded/gpt2-train.gmt" -a planned:plan=step.txt -f json >json
check 'every larger request has its place' jq -e '.results[0] | .stats.refused_places == 0 and .stats.fitted_requests == 0
  and .stats.planned_requests > 0.6 * .values.allocs and .values.ooms == 0' json
gemem-sim replay -q "$recorded/gpt2-train.gmt" -a "planned:learn=$recorded/gpt2-train.gmt" -f json >learnt
check 'it takes what the learnt plan takes, and the cache of small requests' jq -e --slurpfile learnt learnt '.results[0].values.peak_reserved
  <= $learnt[0].results[0].values.peak_reserved + 64 * 1048576' json
# A plan by hand: the second request would lie on the first, which is still in use.
printf '%s\n' 'a a1 1000000' 'a a2 2000000' 'f a1' 'f a2' 'a b1 1000000' 'a b2 2000000' 'f b1' 'f b2' >two.ops
printf '\n1 1 0 2 0\n0 1000000\n512 2000000\n' >overlap.txt
run 0 gemem-sim replay two.ops -a planned:plan=overlap.txt,fallback=direct -v; says out 'planned_requests +2$'; says out 'refused_places +2$'
printf '\n1 1 0 2 0\n0 1000000\n1000448 2000000\n' >apart.txt
run 0 gemem-sim replay two.ops -a planned:plan=apart.txt,fallback=direct -v; says out 'planned_requests +4$'; says out 'steps_repeated +1$'

# ---- what is no plan
none () { printf "$1" >none.txt; run 3 gemem-sim replay two.ops -a planned:plan=none.txt; says err "none\.txt:$2"; }
none 'x\n' '1: the first line of a plan of STAlloc has the numbers of blocks that stay'
none '\n1 2 3\n' '2: the second line of a plan of STAlloc has five numbers'
none '\n1 1 1 0 0\n' '2: the step has no request'
none '\n1 1 0 1 0\n7 512\n' '3: offset 7, size 512: an offset is a multiple of 512'
none '\n1 1 0 1 0\n0 0\n' '3: offset 0, size 0'
none '\n1 1 0 1 0\n0 1 2\n' "3: not 'OFFSET SIZE'"
none '\n1 1 0 1 0\n0 1\n0 1\n' '4: more than the 1 places'
none '\n1 1 0 3 0\n0 1\n' '3: the plan ends after 1 of 3 places'
none '' '1: the plan ends after 0 of 0 places'
run 2 gemem-sim replay two.ops -a planned:plan=apart.txt,learn=two.ops; says err 'learn and plan: each is a plan; name one$'
run 1 gemem-sim replay two.ops -a planned:plan=missing.txt; says err 'missing\.txt'
run 2 gemem-sim plan "$GEMEM_SRCDIR/graphs/bundled/resnet50-train.json.gz" -p first-fit --step-plan step.txt; says err 'a graph has no steps; name a recording$'
done_testing

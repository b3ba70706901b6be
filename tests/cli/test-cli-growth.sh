#!/bin/sh
# test-cli-growth.sh - memory that grows with every step, in recordings of PyTorch: it is named as the cause, what fits so far is not called fitting, and what an accumulation
# holds for a while is no growth.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
data=$GEMEM_SRCDIR/tests/data/growth

# ---- out of memory
run 4 gemem-sim "$data/outputs.gmt"
says out 'Why: growth, and in the end '
says out '^  model.py:10 forward, reached from train.py:19 main'
says out 'No setting mends that'
says out '; full after about [0-9]* more step'
check 'it is a screen' awk 'length > 100 && !/^  export/ { bad = 1 } END { exit bad || NR > 13 }' "$out"
run 4 gemem-sim "$data/outputs.gmt" -f json
check 'JSON: 8 MiB a step' jq -e '.[0].growth | .step_bytes == 8388608 and .kept_bytes == .steps * .step_bytes and .steps > 8
  and .by == "model.py:10 forward" and .reached_from == "train.py:19 main" and (.fits_so_far | not)' "$out"

# ---- what fits so far, and for how long
run 3 gemem-sim "$data/fits.gmt" --capacity 1GiB
says out 'It fits so far, and not for ever: every step keeps 8.000 MiB more'
run 3 gemem-sim "$data/fits.gmt" --capacity 1GiB -f json
check 'JSON: what is left, in steps' jq -e '.[0] | .verdict == "unknown" and .growth.fits_so_far
  and .growth.steps_left == ((.capacity_bytes - .needed_bytes) / 8388608 | floor)' "$out"
run 4 gemem-sim "$data/fits.gmt" --capacity 300MiB
lacks out growth # before four steps

# ---- micro-batches
run 0 gemem-sim "$data/accumulate.gmt" --capacity 4GiB
lacks out 'It grows'
run 4 gemem-sim "$data/accumulate.gmt" --capacity 700MiB
lacks out 'It grows'
# a line with which there is no memory for a step more is none; where next to all is in use and no setting helps, it is not fragmentation
run 4 gemem-sim "$data/losses.gmt"; says out '^It grows: each of 12 steps keeps 52\.64 MiB'; says out 'with none of them there is memory for a step$'; lacks out 'export|0 more steps'
run 4 gemem-sim "$data/eval.gmt"; says out 'Why: too little is left \(2\.238 GiB of the$'; lacks out fragmentation
done_testing

#!/bin/sh
# test-cli-dims.sh - dimensions that a graph leaves open get a number by --dim: names of ONNX, -1 of PaddlePaddle, and what is refused.
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
onnx=$GEMEM_SRCDIR/tests/data/onnx/dynamic.onnx paddle=$GEMEM_SRCDIR/tests/data/paddle

run 3 gemem-sim plan "$onnx"; says err "dimension 0 is 'batch', not a number; --dim 'batch=8' gives it one\$"
run 0 gemem-sim info "$onnx" --dim batch=8; says out 'tensors +256 B '
run 0 gemem-sim info "$onnx" --dim batch=1000; says out 'tensors +31\.25 KiB '
run 0 gemem-sim plan "$onnx" --dim batch=8 -p first-fit; run 0 gemem-sim replay "$onnx" --dim batch=8 -a direct

# ---- programs that PaddlePaddle saved: without a number the batch counts as 1, as it does with 1
for file in mlp.pdmodel __model__ mlp-train.pdmodel; do
  run 0 gemem-sim info "$paddle/$file"; says out 'counts as 1; where it is the batch, --dim -1=N gives it a number'; cp "$out" open
  run 0 gemem-sim info "$paddle/$file" --dim -1=1; lacks out 'counts as 1'
  check "$file: 1 as if it were not given" sh -c 'grep "  tensors " open >a && grep "  tensors " '"$out"' | diff a -'
  run 0 gemem-sim info "$paddle/$file" --dim=-1=16; check "$file: more for 16" sh -c '! grep "  tensors " '"$out"' | diff -q a -'
  # what counts as 1 for want of a number is no part of a conclusion
  run 3 gemem-sim "$paddle/$file" --capacity 1GiB; says out 'It cannot be told whether it fits: [0-9]+ variables have a dimension that is not known'
  run 0 gemem-sim "$paddle/$file" --dim -1=32 --capacity 1GiB; says out '^It fits: '
done

# ---- refused
run 2 gemem-sim info "$onnx" --dim batch=8 --dim seq=4; says err "^gemem-sim: error: --dim: no dimension of .*dynamic\.onnx that is open is called 'seq'"
for bad in batch =8 batch= batch=x batch=-1 batch=1.5 batch=9999999999999999; do run 2 gemem-sim info "$onnx" --dim "$bad"; says err '^gemem-sim: error: --dim=.*: write NAME=N'; done
run 2 gemem-sim info "$onnx" --dim batch=8 --dim batch=9; says err "'batch' has a number already"
printf '# gemem-trace: 1\nalloc 1 size=1MiB\n# end: 1\n' >t.txt
run 2 gemem-sim replay t.txt --dim batch=8; says err '--dim=batch=8: t\.txt is no graph; leave --dim out for traces'
done_testing

#!/bin/sh
# long-cupy.sh - functions of CuPy in a dry run, beside NumPy's: what is known of a result is NumPy's, and watching changes no request.
#   GEMEM_CUPY   the Python of an environment with CuPy and NVIDIA's NVRTC (cupy-cuda12x, nvidia-cuda-nvrtc-cu12, nvidia-cuda-runtime-cu12)
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
[ -n "${GEMEM_CUPY:-}" ] || { skip 'functions of CuPy' "\$GEMEM_CUPY is not set"; done_testing; }
"$GEMEM_CUPY" -c 'import nvidia.cuda_nvrtc, nvidia.cuda_runtime' 2>import.err || {
  skip 'functions of CuPy' 'NVRTC is not installed beside it'
  done_testing
}
programs=$GEMEM_SRCDIR/tests/programs/dry

# one process for a few letters: what is computed in one is bounded
for letters in a b c d ef ghi jkl m no p qr s tu vwxyz; do
  run 0 gemem-dry-run --gpu h100 --once "$GEMEM_CUPY" "$GEMEM_SRCDIR/tests/dry/cupy_functions.py" $letters
  lacks out '^DIFFERS '; says out '^known [1-9][0-9]+, .* wrong 0, shapes 0$'
done

# sizes that follow from the host are no condition, and those that follow from cuRAND's numbers are
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_CUPY" "$programs/cupy_known.py"
says out '^known 34 34 5 10 7 3 \(34, 3\)$'; lacks err 'follow from'; says err '^  computed +[0-9]+ '
run 0 gemem-dry-run --gpu h100 --once "$GEMEM_CUPY" "$programs/cupy_known.py" drawn
says err "^ +- no size follows from integers .*'numbers'"

# requests of a program that reads nothing are the same, one by one; free_all_blocks() takes its chunks in any order
for watched in '' 1; do
  run 0 env GEMEM_DRY_ZEROS=$watched gemem-dry-run --gpu h100 --once -o "requests$watched.gmt" "$GEMEM_CUPY" "$programs/cupy_pools.py"
  run 0 gemem-sim convert "requests$watched.gmt" "requests$watched.txt"
  grep -v device=host "requests$watched.txt" | grep -E '^(alloc|free|segment-[a-z]+) ' | sed -E 's/ (stack|time|t)=[^ ]*//g' >all
  { grep -v segment-free all; grep segment-free all | sort; } >"requests$watched"
done
check 'the same requests' cmp requests requests1; check 'and there are some' test "$(wc -l <requests)" -gt 40
done_testing

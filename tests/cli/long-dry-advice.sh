#!/bin/sh
# long-dry-advice.sh - the advice of out-of-memory snapshots, taken literally by the real PyTorch on the stand-in driver: the small programs of tests/data/pytorch-refused and those
# that dry-advice.py makes of seeds.  GEMEM_ADVICE_SEEDS="FIRST LAST" takes others.
#   GEMEM_TORCH_2_11   a Python that has a CUDA build of PyTorch 2.11
# shellcheck disable=SC2154,SC2086 # out and err come from tap.sh; words on purpose
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
[ -n "${GEMEM_TORCH_2_11:-}" ] || { skip 'advice' 'no PyTorch: set GEMEM_TORCH_2_11 to a Python that has PyTorch 2.11'; done_testing; }
data=$GEMEM_SRCDIR/tests/data/pytorch-refused
dry () { gemem-dry-run --once --orders 1 "$@"; } # PyTorch's history is the program's own: the dry run keeps none
plain="env -u GEMEM_DRY_SNAPSHOTS $GEMEM_TORCH_2_11"

# ends MIB NAME [CONF]; fails MIB NAME [CONF]
ends () { run 0 env PYTORCH_CUDA_ALLOC_CONF=${3:-} gemem-dry-run --once --orders 1 --capacity ${1}MiB $plain $data/programs.py $2; says out "^$2 ends"; }
fails () { run 0 env PYTORCH_CUDA_ALLOC_CONF=${3:-} gemem-dry-run --once --orders 1 --capacity ${1}MiB $plain $data/programs.py $2; says out "^$2 out of memory"; }
ends 520 in_pool; fails 518 in_pool; fails 512 in_pool max_split_size_mb:20 # with which 320 MiB were once said to suffice
ends 510 beside_pool; fails 508 beside_pool; ends 760 released; fails 758 released; fails 580 released; ends 576 full; fails 574 full
ends 1040 pages expandable_segments:True; fails 1038 pages expandable_segments:True; fails 1024 part max_split_size_mb:64

# cuBLAS is refused its handle while PyTorch keeps an idle cache; with the line of `gemem-sim MESSAGE` it has got it before
cat >handle.py <<'EOF'
import sys, torch
if sys.argv[1:]:
    torch.cuda.current_blas_handle()
print("product")
x = torch.ones(64, 64, device="cuda")
cache = [torch.empty(2 << 20, dtype=torch.uint8, device="cuda") for _ in range((torch.cuda.mem_get_info()[0] >> 21) - 8)]
del cache
x @ x
print("product ends")
EOF
run 1 gemem-dry-run --gpu h100 --once --orders 1 --capacity 1GiB -o handle.gmt "$GEMEM_TORCH_2_11" handle.py; lacks out '^product ends'; says err '^  h100 +DOES NOT FIT: .*, and more was asked for$'; says err '^  cuBLAS +asked for memory that the GPU did not have$'; grep . "$err" >handle.txt
run 3 gemem-sim handle.gmt; says out '^It cannot be told whether it fits: the dry run says it does only if cuBLAS gets the memory'
run 3 gemem-sim explain handle.txt; says out "^handle.txt: cuBLAS's error that it was refused memory"; says out '^  torch\.cuda\.current_blas_handle\(\)'
run 0 gemem-dry-run --gpu h100 --once --orders 1 --capacity 1GiB "$GEMEM_TORCH_2_11" handle.py early; says out '^product ends'

dry $plain "$GEMEM_SRCDIR/tests/cli/dry-advice.py" ${GEMEM_ADVICE_SEEDS:-1 24} >advice.txt 2>/dev/null
grep '^#' advice.txt; tail -n 1 advice.txt | sed 's/^/# /'
tail -n 1 advice.txt >counts.json
check 'programs were refused memory' jq -e '.programs >= 20 and .refused >= 10 and .line >= 5' counts.json
check 'no false green' jq -e '(."false green" // 0) == 0' counts.json
check 'no false red' jq -e '(."false red" // 0) == 0' counts.json

dry $plain "$GEMEM_SRCDIR/tests/cli/dry-advice-programs.py" >programs.txt 2>/dev/null
grep '^#' programs.txt; tail -n 1 programs.txt | sed 's/^/# /'; tail -n 1 programs.txt >programs.json
check 'programs as people have them were refused memory, and got lines' jq -e '.programs >= 14 and .refused >= 10 and .line >= 8' programs.json
check 'none is said to fit' jq -e '."false fits" == 0' programs.json
check 'each line helps' jq -e '(."false line" // 0) == 0' programs.json
done_testing

#!/bin/sh
# long-dry-others.sh - gemem-dry-run under CuPy, RMM, PaddlePaddle and programs of nvcc, which have CUDA's runtime linked in.
#   GEMEM_CUPY, GEMEM_RMM, GEMEM_PADDLE   the Python of an environment with the package (of CUDA 12, PaddlePaddle 2.6 of CUDA 11); NVIDIA's are not needed
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
GEMEM_DRY_STAND_INS=1; export GEMEM_DRY_STAND_INS # the figures here are those without NVIDIA's packages
programs=$GEMEM_SRCDIR/tests/programs/dry
dry () { run 0 gemem-dry-run --details --gpu a100-80 "$@"; check "nothing failed" sh -c "! grep -q 'not written' $err"; }

# ---- CuPy and RMM
# The pool took BYTES in CALLS calls; gemem's, given the program's requests in FILE, takes the same.
pool_takes () # ALLOCATOR FILE BYTES CALLS
{
  run 0 gemem-sim compare -v "$2" --no-trace-settings -a "$1" -d sim:gpu=a100-80
  says out "^$1 +$4 +$4 "
  run 0 gemem-sim replay -v "$2" --no-trace-settings -a "$1" -d sim:gpu=a100-80,granularity=512 # what it asks for, and not CUDA's pages
  says out "peak reserved .* $3 bytes,"
}
# FILE has the requests, which the real pool (ALLOCATOR) decided as ours; its device calls are those of the same program without them (python -E).
requests_of () # NAME ALLOCATOR FILE PYTHON PROGRAM...
{
  says err "^  requests of +$1 .*\([0-9]+ events\)$"; says err '^  peak live +808\.2 MiB \(847446784 bytes\), event [0-9]+, .*/own_requests\.py:24 request$'
  run 0 gemem-sim compare -v "$3" -a "$2" -d sim:gpu=a100-80; says out "^$2: reproduces the recording exactly: 1000 of 1000 decisions"
  gemem-sim convert "$3" with.txt; sed -n 's/^segment-alloc .*\(size=[0-9]* addr=[^ ]*\).*/\1/p' with.txt >with
  python=$4; shift 4; dry -o bare.gmt "$python" -E "$@"
  gemem-sim convert bare.gmt without.txt; sed -n 's/^alloc .*\(size=[0-9]* addr=[^ ]*\).*/\1/p' without.txt >without
  check "the device calls are the same" cmp with without
}
if [ -n "${GEMEM_CUPY:-}" ]; then
  dry "$GEMEM_CUPY" "$programs/cupy_pools.py"; says err '^  a100-80 +fits only if .*: 220\.3 MiB'
  dry "$GEMEM_CUPY" "$programs/cupy_pools.py" full; says out '^refused: Out of memory'; says err 'DOES NOT FIT'
  export GEMEM_DRY_ZEROS=1 # as without NVRTC
  dry "$GEMEM_CUPY" "$programs/asks_values.py" cupy; says out '^\(0,\)$'; says err '^ +when they read 17, the program asked for other memory: first for 68 bytes by '
  says err "^ +when they read true at asks_values\\.py:[0-9]+ <module>, the program asked for other memory: first for 400000000 bytes by .*; to try it: --value 'asks_values"
  printf '%s\n' 'import cupy' 'x = cupy.arange(100.0)' 'print(*cupy.histogram(x)[0].shape, *cupy.unique(x, return_counts=True)[1].max().shape)' >counts.py
  dry "$GEMEM_CUPY" counts.py; says out '^10$'; says err '^  note +cupy\.histogram\(\) finds its range finite$'; says err '^  numbers .*counts\.py:3 <module>'
  unset GEMEM_DRY_ZEROS
  dry "$GEMEM_CUPY" "$programs/cupy_libraries.py"; says out '^pool 14686720$'
  dry -o pool.gmt "$GEMEM_CUPY" "$programs/own_requests.py" cupy pool; says err '\(878728192 of '
  requests_of "CuPy" cupy-pool pool.gmt "$GEMEM_CUPY" "$programs/own_requests.py" cupy pool
  dry -o none.gmt "$GEMEM_CUPY" "$programs/own_requests.py" cupy none; pool_takes cupy-pool none.gmt 878728192 68
else
  skip "CuPy" "\$GEMEM_CUPY names no Python"
fi
if [ -n "${GEMEM_RMM:-}" ]; then
  dry "$GEMEM_RMM" "$programs/rmm_resources.py"; says out '^fixed peak 39784552$'; says err '^  a100-80 +fits( only if .*)?: 1\.250 GiB'
  dry -o pool.gmt "$GEMEM_RMM" "$programs/own_requests.py" rmm pool; says err '\(1218789376 of '
  GEMEM_DRY_RMM=1 dry -o own.gmt "$GEMEM_RMM" "$programs/own_requests.py" rmm pool; says err '\(1218789376 of '
  requests_of "RMM" rmm-pool own.gmt "$GEMEM_RMM" "$programs/own_requests.py" rmm pool
  GEMEM_DRY_RMM=1 dry -o own.gmt "$GEMEM_RMM" "$programs/rmm_resources.py"; says out '^fixed peak 39784552$'; says err '^  requests of +RMM '
  dry -o none.gmt "$GEMEM_RMM" "$programs/own_requests.py" rmm none; pool_takes rmm-pool none.gmt 1218789376 10
  dry -o log.gmt "$GEMEM_RMM" "$programs/own_requests.py" rmm log; pool_takes rmm-pool own_requests.dev0.csv 1218789376 10
else
  skip "RMM" "\$GEMEM_RMM names no Python"
fi

# ---- PaddlePaddle
if [ -n "${GEMEM_PADDLE:-}" ]; then
  GEMEM_DRY_CUDNN=8.6.0; export GEMEM_DRY_CUDNN # stands in no metadata of the package
  dry "$GEMEM_PADDLE" "$programs/paddle_train.py"; says out '^loss 0\.0 peak 605654016 623507200$'; says err '^  a100-80 +fits: 594\.6 MiB'
  dry "$GEMEM_PADDLE" "$programs/paddle_train.py" conv; says out 'peak 133809920 136893184$'
else
  skip "PaddlePaddle" "\$GEMEM_PADDLE names no Python"
fi

# ---- nvcc: every way to allocate, until there is no memory
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
cat >full.cu <<'CU'
#include <cstdio>
#include <cuda_runtime.h>
__global__ void touch (float *at) { at[threadIdx.x] = 1; }
static cudaError_t one (int how, void **block) {
  const size_t size = 100 << 20; size_t pitch; cudaExtent extent = { 1 << 20, 10, 10 }; cudaPitchedPtr pitched; cudaError_t result;
  switch (how) {
    case 0: return cudaMalloc (block, size);
    case 1: return cudaMallocAsync (block, size, 0);
    case 2: return cudaMallocManaged (block, size);
    case 3: return cudaMallocPitch (block, &pitch, 1 << 20, 100);
    case 4: result = cudaMalloc3D (&pitched, extent); *block = pitched.ptr; return result;
    default: cudaMemPool_t pool; cudaDeviceGetDefaultMemPool (&pool, 0); return cudaMallocFromPoolAsync (block, size, pool, 0);
  }
}
int main () {
  for (int how = 0; how < 6; how++) {
    void *blocks[64]; int n = 0; cudaError_t result, last;
    while (n < 64 && (result = one (how, &blocks[n])) == cudaSuccess) n++;
    last = cudaGetLastError ();
    if (n > 0) touch<<<1, 32>>> ((float *) blocks[0]);
    printf ("%d: %d blocks, %s, last %s, launch %s\n", how, n, cudaGetErrorName (result), cudaGetErrorName (last), cudaGetErrorName (cudaGetLastError ()));
    while (n > 0) how == 1 || how == 5 ? cudaFreeAsync (blocks[--n], 0) : cudaFree (blocks[--n]);
    cudaDeviceSynchronize ();
  }
}
CU
if [ -n "$nvcc" ] && "$nvcc" -o full full.cu 2>nvcc.err; then
  cp full stripped; strip stripped
  "$nvcc" -cudart shared -o shared full.cu
  for program in ./full ./stripped ./shared; do
    if [ $program = ./stripped ] && ! "$nvcc" --version | grep -q 'release 13\.[0-5]'; then skip "stripped" "the runtime of this nvcc is not in linked-runtimes.def"; continue; fi
    run 0 gemem-dry-run --capacity 1GiB $program
    check "$program: refused as CUDA does, by each way" test "$(grep -c '10 blocks, cudaErrorMemoryAllocation, last cudaErrorMemoryAllocation, launch cudaSuccess' "$out")" -eq 5
    says out '^2: 64 blocks, cudaSuccess' # managed memory is the host's too
    says err 'DOES NOT FIT'
  done
else
  skip "programs of nvcc" "there is no nvcc that makes programs"
fi
done_testing

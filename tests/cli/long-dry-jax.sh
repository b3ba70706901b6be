#!/bin/sh
# long-dry-jax.sh - gemem-dry-run under JAX: what is recorded is what XLA computed and JAX's allocator counts, and gemem's tf-bfc decides as JAX's own allocator.
#   GEMEM_JAX             the Python of an environment with jax and jax-cuda12-plugin (0.6.2 and 0.10.2 were tried); NVIDIA's packages are not needed
#   GEMEM_JAX_INSTALLED   one with jax[cuda12], whose cuDNN and NCCL run themselves (0.10.2 with cuDNN 9.28 and NCCL 2.32 was tried)
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
GEMEM_DRY_STAND_INS=1; export GEMEM_DRY_STAND_INS # the figures here are those without NVIDIA's packages
XLA_FLAGS=--xla_gpu_autotune_level=0; export XLA_FLAGS # autotuning compiles some hundred kernels: minutes
programs=$GEMEM_SRCDIR/tests/programs/dry
if [ -z "${GEMEM_JAX:-}" ]; then
  echo "1..0 # SKIP \$GEMEM_JAX names no Python"; exit 0
fi
whole () { check "nothing failed, and nothing was refused" sh -c "! grep -qE 'not written|misuse' $err"; }
# alike: of each GPU the verdict says the peak that JAX counted.
alike () { says out '^peak_bytes_in_use [0-9]+ '; check "the peaks are JAX's" test "$(sed -n 's/^peak_bytes_in_use [0-9]* //p' "$out" | sort)" = "$(sed -n 's/^  peak live .*(\([0-9]*\) bytes).*/\1/p' "$err" | sort)"; }

# dry ARGUMENTS...: a run of jax_train.py; sets peak, that its allocator counted, and sum, of what XLA needs for a step.
dry () {
  run 0 gemem-dry-run --details "$@" "$GEMEM_JAX" "$programs/jax_train.py"
  peak=$(sed -n 's/^peak_bytes_in_use //p' "$out")
  sum=$(awk '$1 == "xla" { print $2 + $3 + $4 }' "$out")
}
# near A B: they differ by at most 64 KiB: threads of XLA free small blocks in an order that no two runs repeat.
near () { test -n "$1" && test -n "$2" && test $(($1 - $2)) -le 65536 && test $(($2 - $1)) -le 65536; }

# ---- every request, and the peak that XLA's own figures give: arguments, results, temporary memory, and the loss of the step before
dry --gpu a100-80 -o a.gmt; most=$sum
says err "^  peak live +.* \($peak bytes\)"; says err '^  requests of +JAX [0-9.]+ '; says err '^  a100-80 +fits: '
at () { grep -nF -- "$1" "$programs/$2" | tail -n 1 | cut -d: -f1; } # at TEXT PROGRAM: its last line with that text
says err "^  peak live .*, event [0-9]+, .*/jax_train\.py:$(at 'loss = run(' jax_train.py) main\$"
run 0 gemem-sim info a.gmt --at=peak --by=line; says out "466\.0 MiB .*/jax_train\.py:$(at 'loss = run(' jax_train.py) main\$"; says out "4\.031 KiB .*/jax_train\.py:$(at 'text = jnp' jax_train.py) main\$"
check "the peak is what XLA computed for a step, and a loss" test "$peak" -eq $((sum + 4))
check "nothing failed" sh -c "! grep -q 'not written' $err"
run 0 gemem-sim info a.gmt; lacks out 'from  [0-9.]* GiB' # the request with which JAX begins is not in the recording

# ---- JAX's own allocator, in another dry run, counts what gemem's counts for the recording
for capacity in 80000 600; do # MiB; with less memory XLA compiles another program
  dry --gpu a100-80 --capacity "${capacity}MiB" -o a.gmt
  [ "$capacity" = 80000 ] || check "XLA saves memory where there is less" test "$sum" -lt "$most"
  run 0 env XLA_PYTHON_CLIENT_ALLOCATOR=default gemem-dry-run --gpu a100-80 --capacity "${capacity}MiB" -o own.gmt "$GEMEM_JAX" "$programs/jax_train.py"
  check "$capacity MiB: XLA compiles the same under its own allocator" test "$(awk '$1 == "xla" { print $2 + $3 + $4 }' "$out")" -eq "$sum"
  real=$(sed -n 's/^peak_bytes_in_use //p' "$out")
  run 0 gemem-sim replay -v a.gmt -a "tf-bfc:allow_growth=no,limit=$((capacity * 3 / 4))MiB" -d "sim:capacity=${capacity}MiB"
  check "$capacity MiB: tf-bfc counts as JAX's allocator" near "$(awk '$1 == "peak_bytes_in_use" { print $2; exit }' "$out")" "$real"
done

# ---- the part of the memory that JAX takes decides
run 0 sh -c '"$@" || test $? -eq 1' sh gemem-dry-run --details --gpu a100-80 --capacity 500MiB "$GEMEM_JAX" "$programs/jax_train.py" # 0.10.2 ends by the refusal
says err 'DOES NOT FIT: .* of 37[56]\.0 MiB' # JAX 0.10.2 takes whole units of 2 MiB, as limit.py tells
XLA_PYTHON_CLIENT_MEM_FRACTION=.95 dry --gpu a100-80 --capacity 500MiB; says err '^  a100-80 +fits only if .* of 47[56]\.0 MiB'; says err "takes the 47[56]\.0 MiB at its start: 0\.95 of"
XLA_PYTHON_CLIENT_PREALLOCATE=false dry --gpu a100-80; says err 'as it needs them'
# JAX's own allocator says the limit that the verdict has; and a program that catches the error goes on
printf '%s\n' 'import jax, jax.numpy as jnp' 'x = jnp.zeros(10)' 'print("limit", jax.devices()[0].memory_stats()["bytes_limit"])' >limit.py
run 0 env XLA_PYTHON_CLIENT_ALLOCATOR=default gemem-dry-run --gpu a100-80 --once "$GEMEM_JAX" limit.py; limit=$(sed -n 's/^limit //p' "$out")
run 0 gemem-dry-run --gpu a100-80 --once "$GEMEM_JAX" limit.py; says err "^  a100-80 +fits.*: .* of $limit bytes"
cat >caught.py <<'EOF'
import jax.numpy as jnp

try:
    jnp.zeros(65 << 30, jnp.int8).block_until_ready()
except Exception as error:
    print("caught", type(error).__name__)
print(jnp.zeros(1 << 30, jnp.int8).block_until_ready().shape)
EOF
run 0 gemem-dry-run --gpu a100-80 --once "$GEMEM_JAX" caught.py; says out '^caught '; says err '^  a100-80 +fits only if'; says err '^ +- the program may do without what was refused'

# ---- convolutions; no kernels that were compiled here stay behind
for flags in "" "$XLA_FLAGS"; do # the first with autotuning
  run 0 env XLA_FLAGS="$flags" gemem-dry-run --details --gpu a100-80 "$GEMEM_JAX" "$programs/jax_conv.py"; says err '^  workspaces +1 sizes .*cudnn'; says err "peak live +.* \($(sed -n 's/^peak_bytes_in_use //p' "$out") bytes\)"
  [ -n "$flags" ] || says err '^  note +the program measured times of the GPU.*XLA_FLAGS=--xla_gpu_autotune_level=0'
done
# ---- memory that follows from what is read; masks are arrays of truth values, which JAX reads whole
run 0 gemem-dry-run --details -o a.gmt "$GEMEM_JAX" "$programs/asks_values.py" jax; says out '^\(0,\)$'; says err '^ +when they read 17, the program asked for other memory: first for 68000000 bytes by '
says err '^  truths +2 truth values were read'; says err '^ +when they read true, the program asked for other memory: first for 4000 bytes by .*asks_values'
run 0 gemem-dry-run -o a.gmt --value 'asks_values.py=1' "$GEMEM_JAX" "$programs/asks_values.py" jax; says out '^\(1000,\)$'; says err '^  h100 +fits: '; says err '^  peak live +.* \(40[0-9]{7} bytes\)'
# ---- several GPUs: in one process, and in one process each; memory beside the allocator is no request to it
run 0 gemem-dry-run --gpu h100 --gpus 2 -o a.gmt "$GEMEM_JAX" "$programs/jax_sharded.py"; whole; alike; says err '^ +beside that the process holds up to 14\.00 MiB'
says err "unknown +.*buffers of NCCL's communicator of 2 ranks"
recorded=$(sed -n 's/^peak_bytes_in_use 1 //p' "$out")
run 0 env XLA_PYTHON_CLIENT_ALLOCATOR=default gemem-dry-run --gpu h100 --gpus 2 -o own.gmt "$GEMEM_JAX" "$programs/jax_sharded.py"
real=$(sed -n 's/^peak_bytes_in_use 1 //p' "$out")
check "$real bytes, as requested $recorded" near "$real" "$recorded"
run 0 gemem-sim replay -v a.gmt --trace-device=1 -a tf-bfc:allow_growth=no,limit=63763120128 -d sim:capacity=85017493504
check "tf-bfc counts as JAX's allocator of the second GPU" near "$(awk '$1 == "peak_bytes_in_use" { print $2; exit }' "$out")" "$real"
cat >both.sh <<'SH'
"$@" 0 2 "$PORT" & "$@" 1 2 "$PORT" || exit
wait $!
SH
# shellcheck disable=SC2097,SC2098 # the inner shell expands
distributed () { PORT=$((20000 + $$ % 20000)); export PORT; run 0 gemem-dry-run --gpu h100 --gpus 2 sh both.sh "$1" "$programs/jax_sharded.py"; whole; alike; }
distributed "$GEMEM_JAX"

# ---- with NVIDIA's libraries: the heuristics of cuDNN look into graphs, NCCL takes its buffers
if [ -n "${GEMEM_JAX_INSTALLED:-}" ]; then
  unset GEMEM_DRY_STAND_INS
  run 0 env XLA_FLAGS= gemem-dry-run --details --gpu h100 "$GEMEM_JAX_INSTALLED" "$programs/jax_conv.py"; whole; says err '^  h100 +fits: '; says err '^  libraries +.*libcudnn\.so\.9'
  run 0 gemem-dry-run --gpu h100 --gpus 2 "$GEMEM_JAX_INSTALLED" "$programs/jax_sharded.py"; whole; alike; says err '^  NCCL +took [0-9.]+ [MG]iB of that'; says err '^  h100 +fits: '
  check "NCCL took no more than is beside the allocator" test "$(sed -n 's/^  NCCL  *took \([0-9]*\).*/\1/p' "$err" | head -n 1)" -le "$(sed -n 's/^ *beside .* up to \([0-9]*\).*/\1/p' "$err" | head -n 1)"
  distributed "$GEMEM_JAX_INSTALLED"; says err '^  NCCL +took '
  GEMEM_DRY_STAND_INS=1; export GEMEM_DRY_STAND_INS
else
  skip "cuDNN and NCCL that are installed" "\$GEMEM_JAX_INSTALLED names no Python"
fi
mkdir cache
JAX_COMPILATION_CACHE_DIR=$PWD/cache JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 dry --gpu a100-80
check "nothing was kept in the user's cache" test -z "$(ls cache)"
done_testing

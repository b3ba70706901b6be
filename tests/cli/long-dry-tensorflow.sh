#!/bin/sh
# long-dry-tensorflow.sh - gemem-dry-run under TensorFlow, and its answer beside TensorFlow's own allocator, which decides in further dry runs.
#   GEMEM_TENSORFLOW             the Python of an environment with tensorflow 2.21; NVIDIA's packages are not needed
#   GEMEM_TENSORFLOW_INSTALLED   one with the packages of NVIDIA's cuDNN, cuSOLVER and cuSPARSE
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
if [ -z "${GEMEM_TENSORFLOW:-}" ]; then
  echo "1..0 # SKIP \$GEMEM_TENSORFLOW names no Python"; exit 0
fi
GEMEM_DRY_STAND_INS=1 TF_CPP_MIN_LOG_LEVEL=2; export GEMEM_DRY_STAND_INS TF_CPP_MIN_LOG_LEVEL
train=$GEMEM_SRCDIR/tests/programs/dry/tf_train.py
at () { grep -nF -- "$1" "$train" | tail -n 1 | cut -d: -f1; } # at TEXT: its last line in the program
dry () { run "$@"; check "nothing failed" sh -c "! grep -q 'not written' $err"; }
own () { env TF_GPU_ALLOCATOR=default "$@"; } # the allocator that TensorFlow uses on a GPU

# ---- operator by operator, in one order: what gemem says is needed, to the MiB where TensorFlow's allocator begins to serve everything
dry 0 gemem-dry-run --details --gpu a100-80 -o eager.gmt "$GEMEM_TENSORFLOW" "$train" --eager
says out 'peak 591397940$'; says err '^  a100-80 +fits: 620\.0 MiB of 77\.65 GiB \(650119424 of 83377520640 bytes\)$'; says err '^  requests of +TensorFlow 2\.21'
says err "^  peak live .*, event [0-9]+, .*/tf_train\.py:$(at 'tape.gradient(') step\$"
run 0 own gemem-dry-run --gpu a100-80 -o own.gmt "$GEMEM_TENSORFLOW" "$train" --eager --limit 621
run 1 own gemem-dry-run --gpu a100-80 -o own.gmt "$GEMEM_TENSORFLOW" "$train" --eager --limit 620; says err 'ResourceExhaustedError'
run 0 gemem-dry-run --gpu a100-80 -o limited.gmt "$GEMEM_TENSORFLOW" "$train" --eager --limit 620; says err '^  a100-80 +DOES NOT FIT: 620\.0 MiB of 620\.0 MiB'
# its own figure of what it gave out, too
run 0 own gemem-dry-run --gpu a100-80 -o own.gmt "$GEMEM_TENSORFLOW" "$train" --eager; theirs=$(sed -n 's/.* peak \([0-9]*\)$/\1/p' "$out")
run 0 gemem-sim replay -v eager.gmt --trace-device=0 -a tf-bfc:allow_growth=no,limit=83377520640 -d sim:capacity=84988133376
check "peak_bytes_in_use is TensorFlow's, $theirs" grep -Eq "^ +peak_bytes_in_use +$theirs\$" "$out"
run 0 own gemem-dry-run --gpu a100-80 -o own.gmt "$GEMEM_TENSORFLOW" "$train" --eager --growth; says err '^  peak live +1022 MiB \(1071644672 bytes\)'
run 0 gemem-sim replay -v eager.gmt --trace-device=0 -a tf-bfc:allow_growth=yes -d sim:capacity=84988133376; says out 'peak reserved +1022 MiB +1071644672 bytes'

# ---- graphs, Keras, XLA; their order of operations is that of threads
dry 0 gemem-dry-run --gpu a100-80 "$GEMEM_TENSORFLOW" "$train"; says out 'peak 6165637[0-9][0-9]$'; says err "^  peak live .*/tf_train\.py:$(at 'loss = step(') run_hand \(in another thread\)"; says err '^  a100-80 +fits: 6[0-9][0-9]\.. MiB of 77\.65 GiB'
dry 0 gemem-dry-run --details --gpu a100-80 "$GEMEM_TENSORFLOW" "$train" keras; says err '^  a100-80 +fits only if .*: [67][0-9]\.[0-9]+ MiB of 77\.65 GiB'; says err '^  workspaces '
says err "^  peak live .*/tf_train\.py:$(at 'model.fit(') run_keras \(in another thread\)"
dry 0 gemem-dry-run --gpu a100-80 "$GEMEM_TENSORFLOW" "$train" keras --jit; says err '^  a100-80 +fits only if .* MiB of 77\.65 GiB'
dry 0 gemem-dry-run --gpu a100-80 "$GEMEM_TENSORFLOW" "$train" --jit --layers 1; says err '^  a100-80 +fits: .* MiB of 77\.65 GiB'

# ---- all GPUs at once: the iterator's number is on the device while matrix products and plans of cuDNN run
for gpus in 1 2; do
  dry 0 gemem-dry-run --gpu a100-80 --gpus $gpus "$GEMEM_TENSORFLOW" "$train" keras --mirrored; says out '^loss '; says err '^  a100-80 +fits only if .* MiB of 77\.65 GiB'
done
says err "unknown +.*buffers of NCCL's communicator of 2 ranks"

# ---- with NVIDIA's cuDNN, which tries algorithms
if [ -n "${GEMEM_TENSORFLOW_INSTALLED:-}" ]; then
  packages=$("$GEMEM_TENSORFLOW_INSTALLED" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia
  for options in "" --mirrored; do
    # shellcheck disable=SC2086 # none, or one
    dry 0 env -u GEMEM_DRY_STAND_INS LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:$packages/cusolver/lib:$packages/nvjitlink/lib" gemem-dry-run --details --gpu h100 "$GEMEM_TENSORFLOW_INSTALLED" "$train" keras $options
    says out '^loss '; says err '^  libraries +.*libcudnn\.so\.9'; check "nothing was refused" sh -c "! grep -q misuse $err"
  done
else
  skip "cuDNN that is installed" "\$GEMEM_TENSORFLOW_INSTALLED names no Python"
fi

# ---- memory that follows from what is read, at places that nobody knows
dry 0 gemem-dry-run --details "$GEMEM_TENSORFLOW" "${train%/*}/asks_values.py" tensorflow; says err '^  truths +1 truth values were read .*: 1 bytes$'
says err '^ +when they read true, the program asked for other memory: first for 400000000 bytes by .*asks_values'

# ---- more than there is
run 1 gemem-dry-run --gpu t4 "$GEMEM_TENSORFLOW" "$train" --eager --batch 800; says err 'ResourceExhaustedError'; says err '^  t4 +DOES NOT FIT'; says err '^  out of memory '
# a program that catches this goes on with less, also where it may have less than the GPU
run 0 gemem-dry-run --gpu t4 --once "$GEMEM_TENSORFLOW" "$train" --eager --batch 800 --halve; says err '^  t4 +fits only if '; says err '^ +the program went on after that and ended with success$'
run 0 gemem-dry-run --gpu a100-80 --once "$GEMEM_TENSORFLOW" "$train" --eager --halve --limit 500; says err '^  a100-80 +fits only if .*: 500\.0 MiB of 500\.0 MiB'
done_testing

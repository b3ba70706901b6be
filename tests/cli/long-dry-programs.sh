#!/bin/sh
# long-dry-programs.sh - the example programs, run without a GPU, give what was recorded of them on GPUs: every request in order, peak live to the byte, peak
# reserved to the byte or inside the bracket over orders of addresses; and gemem's allocators decide in their recordings as PyTorch did, event by event.
#   GEMEM_TORCH_2_6, GEMEM_TORCH_2_11   the Python of an environment that has that PyTorch, a CUDA build; its packages of NVIDIA are not needed
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
recordings=$GEMEM_SHARED/traces/pytorch/with-stacks programs=$GEMEM_SRCDIR/workloads/programs
shared traces/pytorch/with-stacks || { skip "programs" "there are no recordings in $GEMEM_SHARED"; done_testing; }
python=$(command -v python3) || { skip "programs" "there is no python3 to compare with"; done_testing; }

# program PYTHON NAME [--permuted=N] -- PROGRAM ARGUMENT...: one recording
program () {
  torch=$1 name=$2 permuted=$3; shift 3
  if [ -z "$torch" ]; then skip "$name" "\$GEMEM_TORCH_2_6 or \$GEMEM_TORCH_2_11 is not set"; return; fi
  run 0 gemem-dry-run --gpu a100-80 --orders 5 -o "$name.gmt" --json "$name.json" "$torch" "$@"
  "$python" "$GEMEM_SRCDIR/tests/cli/dry-compare.py" --permuted "$permuted" --orders "$name.json" "$recordings/lm-$name.pickle.gz" "$name.gmt" >compared
  while read -r line; do
    case $line in
      'ok - '*) ok 0 "$name: ${line#ok - }" ;;
      'not ok - '*) ok 1 "$name: ${line#not ok - }" ;;
      *) echo "$line" ;;
    esac
  done <compared
  run 0 gemem-sim replay -v "$name.gmt"
  says out 'reproduces the recording exactly: '
  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True run 0 gemem-dry-run --gpu a100-80 -o "$name-expandable.gmt" "$torch" "$@"
  run 0 gemem-sim replay -d "sim:address=recorded,capacity=$(jq .capacity "$name.json")" "$name-expandable.gmt"
  says out 'reproduces the recording exactly: '
}

program "${GEMEM_TORCH_2_6:-}" small 0 "$programs/attention.py"
program "${GEMEM_TORCH_2_6:-}" forward-a 0 "$programs/small_lm.py" forward
program "${GEMEM_TORCH_2_6:-}" forward-backward-a 0 "$programs/small_lm.py" train
# The 31 frees at its end are those of autocast's table of copies, which is ordered by host addresses: no two runs agree.
program "${GEMEM_TORCH_2_6:-}" forward-backward-b 31 "$programs/small_lm.py" train --context 200 --autocast
program "${GEMEM_TORCH_2_11:-}" inference-1024 0 "$programs/medium_lm.py" inference --context 1024
program "${GEMEM_TORCH_2_11:-}" training-512 0 "$programs/medium_lm.py" train --context 512

# Large tensors on the host: no memory for what nobody reads, and the line is named that filled what was read.
for torch in "${GEMEM_TORCH_2_6:-}" "${GEMEM_TORCH_2_11:-}"; do
  [ -n "$torch" ] || { skip "tensors on the host" "\$GEMEM_TORCH_2_6 or \$GEMEM_TORCH_2_11 is not set"; continue; }
  run 0 gemem-dry-run -o host.gmt "$torch" "$GEMEM_SRCDIR/tests/programs/dry/host.py"
  says err '.*host\.py:10: 400000000 bytes'
  check "less than 1 GiB of the host" sh -c "test \$(sed -n 's/^resident MiB //p' $out) -lt 1024"
done

# The part of the GPU that the program allows PyTorch is in the recording, and is said.
for torch in "${GEMEM_TORCH_2_6:-}" "${GEMEM_TORCH_2_11:-}"; do
  [ -n "$torch" ] || { skip "the part of the GPU" "\$GEMEM_TORCH_2_6 or \$GEMEM_TORCH_2_11 is not set"; continue; }
  run 0 gemem-dry-run --details -o set.gmt "$torch" -c 'import torch; torch.cuda.set_per_process_memory_fraction(0.5); torch.zeros(9, device="cuda")'
  says err '^  note +the program lets PyTorch take 0\.5 .<string>:1. of the GPU$'; says err 'requests of .*per_process_memory_fraction=0\.5'
done
done_testing

#!/bin/sh
# long-truth.sh - programs whose memory an H100 told, run without a GPU: what was equal to the byte stays so, and the table of all is in the log.
#   GEMEM_TORCH_2_11   the Python of an environment that has PyTorch 2.11 with NVIDIA's packages; of transformers 5.17, torchvision, lightning, gpytorch and
#                      torch_geometric what is there
. "$GEMEM_SRCDIR/tests/util/tap.sh"
shared gpu/programs || { skip "programs" "there are none in $GEMEM_SHARED"; done_testing; }
[ -n "${GEMEM_TORCH_2_11:-}" ] || { skip "programs" "\$GEMEM_TORCH_2_11 is not set"; done_testing; }
python=$(command -v python3) || { skip "programs" "there is no python3"; done_testing; }

"$python" "$GEMEM_SRCDIR/tests/dry/truth.py" "$GEMEM_SHARED/gpu/programs" "$GEMEM_TORCH_2_11" >table
while read -r line; do
  case $line in
    'ok - '*'# SKIP '*) skip "$(expr "$line" : 'ok - \(.*\) # SKIP')" "$(expr "$line" : '.*# SKIP \(.*\)')" ;;
    'ok - '*) ok 0 "${line#ok - }" ;;
    'not ok - '*) ok 1 "${line#not ok - }" ;;
    *) echo "$line" ;;
  esac
done <table
done_testing

#!/bin/sh
# long-operators.sh - PyTorch's own samples of all its operators in a dry run: shapes, integers and truth values are those of the host, and none ends by gemem.
#   GEMEM_TORCH_2_11   the Python of an environment that has PyTorch 2.11, a CUDA build; what PyTorch's tests import (NumPy, expecttest) is installed beside it
# shellcheck disable=SC2154 # out and err come from tap.sh
# shellcheck source=tests/util/tap.sh
. "$GEMEM_SRCDIR/tests/util/tap.sh"
[ -n "${GEMEM_TORCH_2_11:-}" ] || { skip 'operators' "\$GEMEM_TORCH_2_11 is not set"; done_testing; }
"$GEMEM_TORCH_2_11" -c 'import torch.testing._internal.common_methods_invocations' 2>import.err || {
  skip 'operators' "this PyTorch's own tests do not import: $(tail -n 1 import.err)"
  done_testing
}

"$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/dry/operators.py" cpu >wanted 2>host.err
check 'thousands of samples' test "$(wc -l <wanted)" -gt 4000
run 0 gemem-dry-run --details --gpu h100 --once "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/dry/operators.py" cuda
cp "$out" got; says err '^  computed +[0-9]{4} '
run 0 "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/dry/operators.py" wanted got
says out '^equal [0-9]{4}$'; lacks out '^differs '

# functions of torch.func, modes, subclasses, second gradients: what is known is in nobody's way
run 0 env GEMEM_DRY_ZEROS=1 gemem-dry-run --gpu h100 --once "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/dry/operators.py" cuda ways
cp "$out" wanted; check 'thousands of ways' test "$(wc -l <wanted)" -gt 5000
run 0 gemem-dry-run --gpu h100 --once "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/dry/operators.py" cuda ways
cp "$out" got; run 0 "$GEMEM_TORCH_2_11" "$GEMEM_SRCDIR/tests/dry/operators.py" wanted got
says out '^equal [0-9]{4}$'; lacks out '^differs '
done_testing

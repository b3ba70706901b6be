#!/bin/sh
# long-oracle.sh - gemem beside the real allocators of published wheels: README.md.  ORACLE: arguments of oracle.py instead of all
# versions, for example `make check-oracle ORACLE='check torch-2.15 -n 20000'`.
GEMEM_ORACLE_CACHE=${GEMEM_ORACLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gemem-oracle}
export GEMEM_ORACLE_CACHE
if ! command -v python3 >/dev/null; then echo '1..0 # SKIP python3 is not installed'; exit 0; fi
# shellcheck disable=SC2086 # words on purpose
exec python3 "$GEMEM_SRCDIR/tests/oracle/oracle.py" ${ORACLE:-all -n 1000000}

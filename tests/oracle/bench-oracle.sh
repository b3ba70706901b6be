#!/bin/sh
# bench-oracle.sh - processor time per operation beside the real allocators, for `make bench` (measure.py).  Rows only for what is in the
# cache of wheels already (make check-oracle puts it there): nothing is downloaded.  GEMEM_BENCH_QUICK=1: few operations.
GEMEM_ORACLE_OFFLINE=1
export GEMEM_ORACLE_OFFLINE
command -v python3 >/dev/null || exit 0
[ -n "${GEMEM_BENCH_QUICK:-}" ] && operations=5000 || operations=1000000
exec python3 "$GEMEM_SRCDIR/tests/oracle/oracle.py" bench -n "$operations"

/* bench.h - what the benches share: how large a run is.
 *
 * GEMEM_BENCH_QUICK=1 makes a bench a smoke test of well under a second (tests/bench/test-bench.sh), so that none can rot unnoticed; its
 * figures then mean nothing.
 */
#pragma once

#include <glib.h>

/* @full, or @quick where only a smoke test is wanted. */
static inline guint64
bench_size (guint64 full, guint64 quick)
{
  return g_strcmp0 (g_getenv ("GEMEM_BENCH_QUICK"), "1") == 0 ? quick : full;
}

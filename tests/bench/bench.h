/* bench.h - shared by the benches: the clock, and the size of a run.
 *
 * Time is processor time of this process, so that other programs on the machine do not count (they
 * still share its caches). GEMEM_BENCH_QUICK=1 makes a bench a smoke test of well under a second
 * (tests/bench/test-bench.sh), so that none can break unnoticed; its figures then mean nothing.
 */
#pragma once

#include <glib.h>
#include <time.h>

/* Processor time spent so far, in microseconds. */
static inline gint64
bench_clock (void)
{
  struct timespec spent;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &spent);
  return (gint64) spent.tv_sec * 1000000 + spent.tv_nsec / 1000;
}

/* @full, or @quick for a smoke test. */
static inline guint64
bench_size (guint64 full, guint64 quick)
{
  return g_strcmp0 (g_getenv ("GEMEM_BENCH_QUICK"), "1") == 0 ? quick : full;
}

/* write-pace.h - how often what ended is written to a database: after each write it waits WAIT_PER_WRITE times as long as
 * that took, so that one part in so many of the time goes into writing, and what a kill can lose is younger.
 *
 * Invariants: whatever the clock does, no wait is longer than WAIT_MOST_US by it, and a clock that went back ends it.
 */
#pragma once

#include <glib.h>

#define GEMEM_WAIT_PER_WRITE 20
#define GEMEM_WAIT_MOST_US (60 * G_USEC_PER_SEC)

/* All zero: a write is due.  us of the monotonic clock. */
typedef struct
{
  gint64 written, wait;
} GememWritePace;

static inline gboolean
gemem_write_is_due (const GememWritePace *pace)
{
  const gint64 now = g_get_monotonic_time ();

  return now < pace->written || now - pace->written >= pace->wait;
}

/* A write that began at @begin has ended. */
static inline void
gemem_write_took (GememWritePace *pace, gint64 begin)
{
  pace->written = g_get_monotonic_time ();
  pace->wait = CLAMP (pace->written - begin, 0, GEMEM_WAIT_MOST_US / GEMEM_WAIT_PER_WRITE)
               * GEMEM_WAIT_PER_WRITE;
}

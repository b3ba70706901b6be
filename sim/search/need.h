/* need.h - what recordings need as they are: each replayed on every one of its devices, of which the one counts that
 * tells most.
 *
 * Why: advise, diff and gate begin with the same question.
 *
 * Invariants: nothing depends on the number of threads.
 * Cost: a replay for each device of each recording, all at once.
 */
#pragma once

#include "base/macros.h"
#include "sim/engine/replay.h"
#include "traces/held.h"

GEMEM_BEGIN_DECLS

/* A recording, and what came of it. */
typedef struct
{
  const char *name;
  GememHeld *held;                 /* not owned */
  const GArray *ordinals;          /* guint16: its devices, at least one */
  const GememAllocatorSpec *spec;  /* NULL: what made the recording */
  const GememGraph *graph;         /* from which it was lowered; NULL: none */
  guint timeline_points;           /* of the result; 0: none */
  const GememHistoryWish *history; /* of the result; NULL: none */
  /* set by gemem_needs_find() */
  GememAllocatorSpec *own; /* where `spec` is NULL */
  gboolean assumed;        /* the recording does not name its allocator */
  GememResult *result;     /* with origins and idle memory */
} GememNeed;

typedef struct
{
  const char *device_spec;   /* NULL: that of each recording */
  gboolean ignores_settings; /* those of the recordings do not count */
  gboolean allow_partial;
  gboolean finds_capacity; /* of histories the least capacity counts, not what they reserve */
  const gint *interrupted;
  GememRunner runner;
} GememNeedOptions;

/* The replay of @need through @spec on device @ordinal of the recording; the caller may add to it. */
GememJob gemem_need_job (const GememNeed *need, const GememAllocatorSpec *spec, int ordinal,
                         const GememNeedOptions *options);
/* Fills the results of @n @needs.  FALSE with @error; gemem_need_clear() in all cases. */
gboolean gemem_needs_find (GememNeed *needs, guint n, const GememNeedOptions *options,
                           GError **error);
void gemem_need_clear (GememNeed *need);

/* Why @now, a replay of @held as it was, does not tell what the program needs, though it served every
 * request; @interrupted: may be NULL.  NULL: it tells; g_free(). */
char *gemem_need_doubt (const GememResult *now, const GememHeld *held, const gint *interrupted);

GEMEM_END_DECLS

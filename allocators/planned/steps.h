/* steps.h - where the steps of a program begin: what repeats in what it asked for.
 *
 * Two moments are in the same place of two steps if about as many bytes were live at both, and the
 * next requests are the same; what lies between may differ.  Of all such moments those count that lie
 * as evenly as steps do and cover the most of the history.  Where none cover a quarter of it, steps are
 * where the recording marks them, else between the phases that it names: those that begin or end with
 * the least memory live.
 *
 * Where a step is cut does not matter to a plan, but for blocks that last from one to the next; so it
 * is cut where the least memory is live.
 *
 * Cost: O(n), and a table with an entry a request while it looks.
 */
#pragma once

#include "allocators/planned/past.h"

typedef enum
{
  GEMEM_STEPS_MARKED, /* the recording says where they begin */
  GEMEM_STEPS_PERIOD, /* the requests repeat */
  GEMEM_STEPS_PHASES, /* a phase of the recording repeats */
} GememStepsKind;

typedef struct
{
  GememStepsKind kind;
  guint32 count;            /* steps that are whole */
  guint32 first, first_end; /* requests of the first */
  guint32 begin, end;       /* of the one with the largest peak */
  guint32 last_end;         /* the first request that is of no whole step */
  guint32 cut;              /* requests of a step before the moment at which the least is live */
  guint coarse;             /* of a period: how exactly live memory was compared, a power of two */
} GememSteps;

/* What is in @path, as gemem_past_read(), and its steps, one at least.  Errors: as there, and GEMEM_ERROR_INPUT where
 * nothing repeats. */
GememPast *gemem_steps_read (const char *path, guint64 small, GememSteps *steps, GError **error);
/* FALSE: fewer than @least steps are found. */
gboolean gemem_steps_find (const GememPast *past, guint32 least, GememSteps *steps);

/* guint32: the first request of each whole step of @steps, a period that was found in @past, and `last_end`.  O(n). */
GArray *gemem_steps_begins (const GememPast *past, const GememSteps *steps);

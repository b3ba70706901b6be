/* history.h - a run as rectangles: where every block and segment lay, from which event to which, and
 * how much each line of the program held over time.
 *
 * Why: what a person wants to look at is addresses by time.  A log of all events would be as large as the
 * recording; a bounded number of rectangles shows the same, as the small and short ones cannot be seen.
 *
 * Invariants: at most `most` blocks and as many segments are kept: first those alive at one of the
 * moments asked for, then those that cover most (bytes times events); all others are counted.  Lines: the
 * bytes requested and alive, after the last event of each part; the rest is the last one.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

/* What is asked for; the caller keeps it. */
typedef struct
{
  guint most;             /* rectangles */
  guint64 events;         /* of the trace */
  guint parts;            /* of the run, in which lines are sampled; at least 1 */
  const guint64 *moments; /* numbers of events, ascending */
  guint n_moments;
  const char *const *lines; /* texts of gemem_attribution_append() that have a series each */
  guint n_lines;
} GememHistoryWish;

typedef struct
{
  guint64 address, size, requested; /* size: of the block */
  guint64 begin,
      end;       /* seq; after the last event: never freed; a segment is there from 0 if adopted */
  guint32 text;  /* in `texts`; 0: unknown */
  guint32 stack; /* of the trace; 0: unknown */
} GememHistoryBlock;

/* A step of the program, or a phase that begins. */
typedef struct
{
  guint64 seq;
  guint64 number; /* of the step */
  guint32 text;   /* of the phase, in `texts`; 0: a step */
} GememHistoryMark;

/* Memory that lay idle after event @seq: @size bytes of one GememIdleCause, all of them or at @address. */
typedef struct
{
  guint64 seq, address, size;
  guint32 cause;
} GememHistoryIdle;

#define GEMEM_HISTORY_GAPS 20000 /* that are kept, the largest of each moment */
#define GEMEM_HISTORY_MARKS 2000 /* that are kept, the first ones */
#define GEMEM_HISTORY_REFUSED 64 /* the same */

typedef struct
{
  GArray *blocks, *segments; /* GememHistoryBlock, by birth, then address */
  guint64 blocks_left_out, segments_left_out;
  gboolean crowded; /* not even all that were there at the moments asked for are kept */
  GArray *marks;    /* GememHistoryMark */
  GArray *idle;     /* GememHistoryIdle at each of the moments asked for: a sum for each cause, */
  GArray *gaps;     /* and the parts that are free or wait, by moment and address */
  /* GememHistoryBlock: requests that were refused, which lie nowhere and end as they begin; size: of the last call by
   * which the device refused memory for it, 0: there was none */
  GArray *refused;
  GPtrArray *texts; /* lines of the program; [0] is "" */
  GArray *series; /* guint64: for each part the bytes of each line of the wish, then of the rest */
  guint64 stride; /* events of a part */
  guint n_lines;  /* of the wish */
  guint64 end;    /* one past the last event */
} GememHistory;

void gemem_history_free (GememHistory *history); /* may be NULL */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememHistory, gemem_history_free)

GEMEM_END_DECLS

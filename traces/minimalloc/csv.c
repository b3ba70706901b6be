/* csv.c - lifetimes of buffers (table.h) as a trace: format `minimalloc-csv`.
 *
 * Events delivered: ALLOC at `lower` and FREE at `upper`, in order of time; at equal times frees
 * precede allocations, each in the order of the file.  Ids are row numbers from 1, names are tags.
 * Time is logical: one step is one ns, the first event is at 0. An event cannot express gaps,
 * hints, offsets and alignments; they are noted, and what is in a gap is taken as in use.  `plan` gets all
 * but the hints from the table of the trace's facts (trace.h).
 *
 * Memory: all lifetimes (at most 2^24), because the format is offline.  Origin: peers.md 2.4.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "traces/minimalloc/table.h"
#include "traces/trace.h"

#define BATCH 1024u

extern const GememTraceFormat gemem_format_minimalloc_csv;

typedef struct
{
  gint64 lower, upper;
  guint64 size;
  guint32 tag;
} Lifetime;

/* One end of a lifetime. */
typedef struct
{
  gint64 time;
  guint32 row;
  gboolean begin;
} Edge;

typedef struct
{
  GememTraceReader reader;
  GememInput *input;
  /* Numbers of rows with a property that is omitted. */
  guint64 alignments, hints, gaps, offsets, behind;
  GArray *lifetimes;
  GArray *table, *table_gaps; /* as in GememTraceInfo, gaps in the steps of the table */
  Edge *edges;
  gsize n_edges, at;
  GememTraceEvent batch[BATCH];
} Minimalloc;

static void
add_rules (Minimalloc *minimalloc, const GememMinimallocRow *row, guint32 tag)
{
  const GememTableRow rules = { (guint64) row->alignment,
                                row->has_offset ? (guint64) row->offset : GEMEM_ANY_PLACE, tag,
                                row->gaps->len };

  for (guint i = 0; i < row->gaps->len; i++)
    {
      const GememMinimallocGap *gap = &g_array_index (row->gaps, GememMinimallocGap, i);
      const GememLifeGap own = { (guint64) gap->lower, (guint64) gap->upper, gap->low, gap->high,
                                 minimalloc->table->len };

      g_array_append_val (minimalloc->table_gaps, own);
    }
  g_array_append_val (minimalloc->table, rules);
}

static void
add_lifetime (const GememMinimallocRow *row, gpointer data)
{
  Minimalloc *minimalloc = data;
  Lifetime lifetime = { row->lower, row->upper, row->size,
                        gemem_trace_info_intern (&minimalloc->reader.info, row->name) };

  minimalloc->alignments += row->alignment > 1;
  minimalloc->hints += row->hint >= 0;
  minimalloc->gaps += row->gaps->len > 0;
  minimalloc->offsets += row->has_offset;
  add_rules (minimalloc, row, lifetime.tag);
  g_array_append_val (minimalloc->lifetimes, lifetime);
}

/* ---- order */

static int
compare_edges (const void *a, const void *b)
{
  const Edge *x = a, *y = b;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  if (x->begin != y->begin)
    return x->begin ? 1 : -1;
  return (x->row > y->row) - (x->row < y->row);
}

static void
make_edges (Minimalloc *minimalloc)
{
  guint n = minimalloc->lifetimes->len;

  minimalloc->n_edges = 2 * (gsize) n;
  minimalloc->edges = g_new (Edge, MAX (minimalloc->n_edges, 1));
  for (guint i = 0; i < n; i++)
    {
      const Lifetime *lifetime = &g_array_index (minimalloc->lifetimes, Lifetime, i);
      minimalloc->edges[2 * i] = (Edge){ lifetime->lower, i, TRUE };
      minimalloc->edges[2 * i + 1] = (Edge){ lifetime->upper, i, FALSE };
    }
  qsort (minimalloc->edges, minimalloc->n_edges, sizeof (Edge), compare_edges);
}

static void
add_note (Minimalloc *minimalloc, guint64 n, const char *what)
{
  if (n > 0)
    gemem_trace_info_note (&minimalloc->reader.info, GEMEM_TRACE_LEFT_OUT,
                           "%" G_GUINT64_FORMAT " %s", n, what);
}

/* Notes what `plan` takes from the table. */
static void
note_rule (Minimalloc *minimalloc, const char *key, guint64 n)
{
  if (n > 0)
    gemem_trace_info_note (&minimalloc->reader.info, key, "%" G_GUINT64_FORMAT " of %u buffers", n,
                           minimalloc->lifetimes->len);
}

/* Offsets of all buffers are a plan; those of some are places that a plan has to keep. */
static void
note_offsets (Minimalloc *minimalloc)
{
  if (minimalloc->offsets < minimalloc->lifetimes->len)
    note_rule (minimalloc, "fixed offsets", minimalloc->offsets);
  else
    add_note (minimalloc, minimalloc->offsets, "buffers have an offset, all of them");
}

/* Hands the table over, if it says more than the events. */
static void
keep_rules (Minimalloc *minimalloc)
{
  const gboolean fixed = minimalloc->offsets < minimalloc->lifetimes->len;
  GememTraceInfo *info = &minimalloc->reader.info;

  if (minimalloc->alignments + minimalloc->gaps + (fixed ? minimalloc->offsets : 0) == 0)
    return;
  for (guint i = 0; i < minimalloc->table->len && !fixed; i++)
    g_array_index (minimalloc->table, GememTableRow, i).place = GEMEM_ANY_PLACE;
  for (guint i = 0; i < minimalloc->table_gaps->len; i++)
    {
      GememLifeGap *gap = &g_array_index (minimalloc->table_gaps, GememLifeGap, i);

      gap->begin -= (guint64) minimalloc->edges[0].time;
      gap->end -= (guint64) minimalloc->edges[0].time;
    }
  info->table = g_array_ref (minimalloc->table);
  info->table_gaps = g_array_ref (minimalloc->table_gaps);
}

static void
add_notes (Minimalloc *minimalloc)
{
  gemem_trace_info_note (&minimalloc->reader.info, "time", "logical, one step is 1 ns");
  add_note (minimalloc, minimalloc->hints, "buffers have a hint");
  note_rule (minimalloc, "alignments above 1", minimalloc->alignments);
  note_rule (minimalloc, "gaps", minimalloc->gaps);
  note_offsets (minimalloc);
  keep_rules (minimalloc);
}

/* ---- reader */

static gssize
minimalloc_next (GememTraceReader *reader, const GememTraceEvent **events, GError **error)
{
  Minimalloc *minimalloc = (Minimalloc *) reader;
  guint n = 0;
  (void) error;

  for (; n < BATCH && minimalloc->at < minimalloc->n_edges; n++, minimalloc->at++)
    {
      const Edge *edge = &minimalloc->edges[minimalloc->at];
      const Lifetime *lifetime = &g_array_index (minimalloc->lifetimes, Lifetime, edge->row);
      GememTraceEvent *event = &minimalloc->batch[n];
      memset (event, 0, sizeof *event);
      event->time = (guint64) (edge->time - minimalloc->edges[0].time);
      event->id = (guint64) edge->row + 1;
      event->size = lifetime->size;
      event->kind = edge->begin ? GEMEM_EVENT_ALLOC : GEMEM_EVENT_FREE;
      event->tag = edge->begin ? lifetime->tag : GEMEM_NO_TAG;
    }
  *events = minimalloc->batch;
  return n;
}

static void
minimalloc_close (GememTraceReader *reader)
{
  Minimalloc *minimalloc = (Minimalloc *) reader;
  gemem_trace_info_clear (&reader->info);
  gemem_input_close (minimalloc->input);
  g_array_unref (minimalloc->lifetimes);
  g_array_unref (minimalloc->table);
  g_array_unref (minimalloc->table_gaps);
  g_free (minimalloc->edges);
  g_free (minimalloc);
}

static GememTraceReader *
minimalloc_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  Minimalloc *minimalloc = g_new0 (Minimalloc, 1);
  GememTraceInfo *info = &minimalloc->reader.info;
  g_autoptr (GError) damage = NULL;

  gemem_input_set_single_pass (input);
  minimalloc->reader.format = &gemem_format_minimalloc_csv;
  minimalloc->reader.next = minimalloc_next;
  minimalloc->reader.close = minimalloc_close;
  minimalloc->input = input;
  minimalloc->lifetimes = g_array_new (FALSE, FALSE, sizeof (Lifetime));
  minimalloc->table = g_array_new (FALSE, FALSE, sizeof (GememTableRow));
  minimalloc->table_gaps = g_array_new (FALSE, FALSE, sizeof (GememLifeGap));
  gemem_trace_info_init (info, "minimalloc-csv", gemem_input_name (input));
  if (!gemem_minimalloc_read (input, add_lifetime, minimalloc, &minimalloc->behind, &damage))
    {
      if (!options->allow_partial || minimalloc->lifetimes->len == 0)
        {
          g_propagate_error (error, g_steal_pointer (&damage));
          minimalloc_close (&minimalloc->reader);
          return NULL;
        }
      info->flags |= GEMEM_TRACE_TRUNCATED;
      gemem_trace_info_note (info, "partial", "%s", damage->message);
    }
  add_note (minimalloc, minimalloc->behind, "lines behind the blank line");
  make_edges (minimalloc);
  add_notes (minimalloc);
  info->flags |= GEMEM_TRACE_HAS_TIME;
  info->events = minimalloc->n_edges;
  return &minimalloc->reader;
}

const GememTraceFormat gemem_format_minimalloc_csv = {
  .name = "minimalloc-csv",
  .aliases = "minimalloc",
  .extensions = "csv",
  .summary = "lifetimes of buffers for offline planning (MiniMalloc)",
  .origin = "peers.md 2.4",
  .has_steps = TRUE,
  .probe = gemem_minimalloc_probe,
  .open = minimalloc_open,
};

/* diff-parting.c - see diff.h: where two recordings first ask for something else, and where one recording through two
 * allocators first holds another amount.
 *
 * A block is known by the number of its request, so that ids and addresses do not matter; of a free only which
 * request's block it is counts, not when the streams were done with it.
 */
#include "config.h"

#include "base/idmap.h"
#include "sim/search/diff.h"
#include "traces/attribution.h"

/* What is remembered of a block in use. */
typedef struct
{
  guint64 number, size; /* number: of its request, from 1 */
  GememAttribution by;
  guint32 tag, unused;
} Block;

/* One request or free. */
typedef struct
{
  gboolean ended, frees, refused;
  guint64 event;
  Block block;
} Step;

typedef struct
{
  GememTraceReader *reader;
  const GememTraceEvent *events;
  gssize n, at;
  guint64 seq, requests;
  int device;
  GememIdMap *live; /* id -> Block */
  GememAttributor attributor;
} Walk;

static gboolean
walk_begin (Walk *walk, const GememDiffSide *side, GError **error)
{
  *walk = (Walk){ .reader = gemem_held_open (side->held, error),
                  .device = side->result->device_ordinal,
                  .live = gemem_idmap_new (sizeof (Block)) };
  gemem_attributor_init (&walk->attributor, walk->reader != NULL ? &walk->reader->info : NULL);
  return walk->reader != NULL;
}

static void
walk_end (Walk *walk)
{
  gemem_attributor_clear (&walk->attributor);
  gemem_idmap_free (walk->live);
  if (walk->reader != NULL)
    gemem_trace_close (walk->reader);
}

/* The next event of any device; NULL: the end, or *@error. */
static const GememTraceEvent *
next_event (Walk *walk, GError **error)
{
  if (walk->at == walk->n)
    {
      walk->at = 0;
      walk->n = gemem_trace_next (walk->reader, &walk->events, error);
      if (walk->n <= 0)
        return NULL;
    }
  walk->seq++;
  return &walk->events[walk->at++];
}

/* Whether @event is a step, and which. */
static gboolean
take_step (Walk *walk, const GememTraceEvent *event, Step *step)
{
  const GememAttribution by = gemem_attributor_next (&walk->attributor, event);

  *step = (Step){ .event = walk->seq - 1 };
  if (event->kind == GEMEM_EVENT_ALLOC || event->kind == GEMEM_EVENT_OOM)
    {
      step->block = (Block){ ++walk->requests, event->size, by, event->tag, 0 };
      step->refused = event->kind == GEMEM_EVENT_OOM || (event->flags & GEMEM_EVENT_FAILED) != 0;
      if (event->kind == GEMEM_EVENT_ALLOC)
        *(Block *) gemem_idmap_insert (walk->live, event->id, NULL) = step->block;
      return TRUE;
    }
  step->frees = event->kind == GEMEM_EVENT_FREE || event->kind == GEMEM_EVENT_FREE_REQUESTED;
  return step->frees && gemem_idmap_remove (walk->live, event->id, &step->block);
}

static gboolean
next_step (Walk *walk, Step *step, GError **error)
{
  const GememTraceEvent *event;
  GError *inner = NULL;

  while ((event = next_event (walk, &inner)) != NULL)
    if (event->device == walk->device && take_step (walk, event, step))
      return TRUE;
  *step = (Step){ .ended = TRUE };
  if (inner != NULL)
    g_propagate_error (error, inner);
  return inner == NULL;
}

static gboolean
is_same (const Step *a, const Step *b)
{
  return a->ended == b->ended && a->frees == b->frees && a->refused == b->refused
         && a->block.number == b->block.number && a->block.size == b->block.size;
}

/* g_free(); NULL: nothing is known. */
static char *
describe (const GememTraceInfo *info, const GememAttribution *by, guint32 tag)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (by->stack != 0 || by->program != 0 || tag != GEMEM_NO_TAG)
    gemem_attribution_append (out, info, by, TRUE, tag);
  return out->len > 0 ? g_strdup (out->str) : NULL;
}

gboolean
gemem_diff_find_parting (GememDiff *diff, GError **error)
{
  Walk walks[2] = { { 0 } };
  Step steps[2] = { { 0 } };
  gboolean ok = TRUE;

  for (guint s = 0; s < 2; s++)
    ok = walk_begin (&walks[s], &diff->sides[s], ok ? error : NULL) && ok;
  while (ok && !diff->parting.found)
    {
      ok = next_step (&walks[0], &steps[0], error) && next_step (&walks[1], &steps[1], error);
      if (!ok || (steps[0].ended && steps[1].ended))
        break;
      diff->parting.found = !is_same (&steps[0], &steps[1]);
      diff->parting.same += !diff->parting.found;
    }
  for (guint s = 0; s < 2; s++)
    {
      const Block *block = &steps[s].block;

      if (diff->parting.found)
        diff->parting.steps[s] = (GememDiffStep){
          steps[s].ended,
          steps[s].frees,
          steps[s].refused,
          steps[s].event,
          block->size,
          steps[s].ended ? NULL : describe (&walks[s].reader->info, &block->by, block->tag)
        };
      walk_end (&walks[s]);
    }
  return ok;
}

/* The event @event of the recording of @diff. */
static gboolean
describe_event (GememDiff *diff, guint64 number, GError **error)
{
  const GememTraceEvent *event = NULL;
  GememAttribution by = { 0 };
  Walk walk;
  gboolean ok = walk_begin (&walk, &diff->sides[0], error);

  while (ok && walk.seq <= number && (event = next_event (&walk, NULL)) != NULL)
    if (event->device == walk.device)
      by = gemem_attributor_next (&walk.attributor, event);
  if (ok && event != NULL && event->kind == GEMEM_EVENT_ALLOC)
    {
      diff->reserve.size = event->size;
      diff->reserve.by = describe (&walk.reader->info, &by, event->tag);
    }
  walk_end (&walk);
  return ok;
}

gboolean
gemem_diff_find_reserve (GememDiff *diff, GError **error)
{
  const GArray *a = diff->sides[0].result->timeline, *b = diff->sides[1].result->timeline;

  for (guint i = 0; i < MIN (a->len, b->len); i++)
    {
      const GememTimelinePoint *x = &g_array_index (a, GememTimelinePoint, i),
                               *y = &g_array_index (b, GememTimelinePoint, i);

      if (x->seq != y->seq)
        break;
      if (x->reserved == y->reserved)
        continue;
      diff->reserve = (GememDiffReserve){ .found = TRUE,
                                          .exact = gemem_held_events (diff->sides[0].held) + 2
                                                   <= GEMEM_DIFF_POINTS,
                                          .event = x->seq,
                                          .reserved = { x->reserved, y->reserved } };
      return !diff->reserve.exact || describe_event (diff, x->seq, error);
    }
  return TRUE;
}

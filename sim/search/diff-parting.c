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

/* ---- what the first difference is */

#define LOOK 256 /* steps that are looked at after it */
#define MOVED 32 /* steps by which one may have been moved */

/* What follows on both sides, the first difference included. */
typedef struct
{
  Step steps[2][LOOK];
  guint n[2];
} Ahead;

static gboolean
look_ahead (Walk *walks, const Step *steps, Ahead *ahead, GError **error)
{
  gboolean ok = TRUE;

  for (guint s = 0; s < 2; s++)
    {
      ahead->steps[s][0] = steps[s];
      ahead->n[s] = steps[s].ended ? 0 : 1;
      while (ok && ahead->n[s] > 0 && ahead->n[s] < LOOK)
        {
          ok = next_step (&walks[s], &ahead->steps[s][ahead->n[s]], error);
          if (!ok || ahead->steps[s][ahead->n[s]].ended)
            break;
          ahead->n[s]++;
        }
    }
  return ok;
}

/* One step, or the free of one block, that is passed over. */
typedef struct
{
  guint step;   /* LOOK: none */
  guint64 free; /* of the block of this number; 0: none */
} Without;

static gboolean
is_passed (const Step *step, guint at, const Without *without)
{
  return at == without->step || (step->frees && step->block.number == without->free);
}

/* How many steps of both are alike from @i and @j on, without some. */
static guint
count_alike (const Ahead *ahead, guint i, guint j, Without first, Without second)
{
  guint alike = 0;

  for (;; i++, j++, alike++)
    {
      while (i < ahead->n[0] && is_passed (&ahead->steps[0][i], i, &first))
        i++;
      while (j < ahead->n[1] && is_passed (&ahead->steps[1][j], j, &second))
        j++;
      if (i >= ahead->n[0] || j >= ahead->n[1])
        return i >= ahead->n[0] && j >= ahead->n[1] ? LOOK : alike;
      const Step *a = &ahead->steps[0][i], *b = &ahead->steps[1][j];
      if (a->frees != b->frees || a->refused != b->refused || a->block.size != b->block.size)
        return alike;
    }
}

/* The same with what side @s does now passed over, and on the other side the step @moved (LOOK: none). */
static guint
count_without (const Ahead *ahead, guint s, guint moved)
{
  const Step *now = &ahead->steps[s][0];
  const Without own = { LOOK, now->frees ? 0 : now->block.number },
                other = { moved, now->frees ? now->block.number : 0 }, none = { LOOK, 0 };
  const gboolean is_moved = moved < LOOK;

  return s == 0 ? count_alike (ahead, 1, 0, is_moved ? none : own, other)
                : count_alike (ahead, 0, 1, other, is_moved ? none : own);
}

/* Where the other side does what @s does now; LOOK: not soon. */
static guint
find_moved (const Ahead *ahead, guint s)
{
  const Step *now = &ahead->steps[s][0];

  for (guint i = 1; i < MIN (ahead->n[1 - s], MOVED); i++)
    {
      const Step *step = &ahead->steps[1 - s][i];
      if (step->frees == now->frees && step->refused == now->refused
          && (now->frees ? step->block.number == now->block.number
                         : step->block.size == now->block.size))
        return i;
    }
  return LOOK;
}

/* Whether only frees lie before step @moved of @side. */
static gboolean
only_frees_before (const Ahead *ahead, guint side, guint moved)
{
  for (guint i = 0; i < moved; i++)
    if (!ahead->steps[side][i].frees)
      return FALSE;
  return TRUE;
}

/* The event at which @walk, of which @steps were read ahead, frees the block @number; G_MAXUINT64: it does not.
 * FALSE on error. */
static gboolean
find_free (Walk *walk, const Step *steps, guint n, guint64 number, guint64 *event, GError **error)
{
  Step step = { 0 };

  *event = G_MAXUINT64;
  for (guint i = 0; i < n; i++)
    if (steps[i].frees && steps[i].block.number == number)
      {
        *event = steps[i].event;
        return TRUE;
      }
  while (n == LOOK && !step.ended)
    {
      if (!next_step (walk, &step, error))
        return FALSE;
      if (step.frees && step.block.number == number)
        {
          *event = step.event;
          return TRUE;
        }
    }
  return TRUE;
}

/* @s frees now what the other side frees later or never. */
static gboolean
take_longer_life (GememDiffParting *parting, Walk *walks, const Ahead *ahead, guint s,
                  GError **error)
{
  const guint moved = find_moved (ahead, s);

  parting->side = 1 - s;
  parting->change = GEMEM_DIFF_CHANGE_LATER;
  if (!find_free (&walks[1 - s], ahead->steps[1 - s], ahead->n[1 - s],
                  ahead->steps[s][0].block.number, &parting->later, error))
    return FALSE;
  if (parting->later == G_MAXUINT64)
    parting->change = GEMEM_DIFF_CHANGE_LEAK;
  else if (moved < LOOK && only_frees_before (ahead, 1 - s, moved))
    parting->change = GEMEM_DIFF_CHANGE_ORDER;
  return TRUE;
}

/* @s asks now for what the other does not, or later. */
static void
take_request (GememDiffParting *parting, const Ahead *ahead, guint s)
{
  const guint moved = find_moved (ahead, s);

  parting->change = GEMEM_DIFF_CHANGE_MORE;
  parting->side = s;
  if (moved == LOOK || count_without (ahead, s, moved) <= count_without (ahead, s, LOOK))
    return;
  parting->change = GEMEM_DIFF_CHANGE_ORDER;
  parting->side = 1 - s;
  parting->later = ahead->steps[1 - s][moved].event;
}

/* What @s does now is passed over if that makes more of the rest alike than what the other does, or than to take both for
 * the same. */
static gboolean
find_change (GememDiffParting *parting, Walk *walks, const Ahead *ahead, GError **error)
{
  const Step *a = &ahead->steps[0][0], *b = &ahead->steps[1][0];
  guint alike[2] = { 0, 0 }, s, same = 0;

  for (s = 0; s < 2; s++)
    if (ahead->n[s] > 0)
      alike[s] = MAX (count_without (ahead, s, LOOK),
                      count_without (ahead, s, find_moved (ahead, s)));
  s = alike[1] > alike[0] ? 1 : 0;
  if (ahead->n[0] == 0 || ahead->n[1] == 0)
    s = ahead->n[0] == 0 ? 1 : 0;
  else if (a->refused != b->refused)
    return TRUE;
  else if (!a->frees && !b->frees)
    same = 1
           + count_alike (ahead, 1, 1, (Without){ LOOK, a->block.number },
                          (Without){ LOOK, b->block.number });
  if (same > alike[s])
    parting->change = GEMEM_DIFF_CHANGE_SIZE;
  else if (ahead->steps[s][0].frees)
    return take_longer_life (parting, walks, ahead, s, error);
  else
    take_request (parting, ahead, s);
  return TRUE;
}

/* ---- which of several requests of one size is the one that the other side does not make */

#define RUN 32 /* steps before the first difference that may be it */

/* The last steps before the first difference, a ring: that of number n at n % RUN. */
typedef Step Recent[2][RUN];

/* Among how many steps before @number the request of @extra may be any: those of one size, on both sides. */
static guint
run_length (const Recent recent, guint64 number, const Step *extra)
{
  for (guint n = 0; n < RUN && n < number; n++)
    for (guint s = 0; s < 2; s++)
      {
        const Step *step = &recent[s][(number - 1 - n) % RUN];

        if (step->frees || step->refused || step->block.size != extra->block.size)
          return n;
      }
  return (guint) MIN (number, RUN);
}

/* The request that one side makes more is, of equal ones, the one without which the lines on both sides agree best; the
 * last of these.  O(RUN^2). */
static void
slide_back (GememDiff *diff, const Walk *walks, const Recent recent, Step *steps)
{
  const guint side = diff->parting.side, other = 1 - side;
  const guint64 number = diff->parting.same;
  const guint n = run_length (recent, number, &steps[side]);
  char *lines[2][RUN + 1]; /* in order, the first difference last */
  guint best = n, most = 0;

  for (guint s = 0; s < 2; s++)
    for (guint i = 0; i <= n; i++)
      {
        const Step *step = i < n ? &recent[s][(number - n + i) % RUN] : &steps[s];
        lines[s][i] = describe (&walks[s].reader->info, &step->block.by, step->block.tag);
      }
  for (guint at = n + 1; at-- > 0;)
    {
      guint alike = 0;

      for (guint i = 0; i < n; i++)
        alike += g_strcmp0 (lines[side][i + (i >= at)], lines[other][i]) == 0;
      if (alike > most)
        {
          most = alike;
          best = at;
        }
    }
  for (guint s = 0; s < 2; s++)
    {
      if (best < n)
        steps[s] = recent[s][(number - n + best) % RUN];
      for (guint i = 0; i <= n; i++)
        g_free (lines[s][i]);
    }
  diff->parting.same -= n - best;
}

gboolean
gemem_diff_find_parting (GememDiff *diff, GError **error)
{
  g_autofree Ahead *ahead = g_new0 (Ahead, 1);
  g_autofree Recent *recent = g_new0 (Recent, 1);
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
      if (diff->parting.found)
        break;
      for (guint s = 0; s < 2; s++)
        (*recent)[s][diff->parting.same % RUN] = steps[s];
      diff->parting.same++;
    }
  if (ok && diff->parting.found)
    ok = look_ahead (walks, steps, ahead, error)
         && find_change (&diff->parting, walks, ahead, error);
  if (ok && diff->parting.found && diff->parting.change == GEMEM_DIFF_CHANGE_MORE)
    slide_back (diff, walks, *recent, steps);
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

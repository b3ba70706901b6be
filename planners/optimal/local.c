/* local.c - local search for parts that are too large for corner search, or that it left above the bound; see parts.h.
 *
 * What is changed is the order of preference of a dive: a little everywhere; or boxes that end above the goal come first; or a few
 * boxes come at any place. A placement that is no worse is the next to be changed, so that the search crosses plateaus. Where nothing
 * has become smaller for long, it begins anew from the next order, and is patient for longer each time around.
 *
 * Invariants: the part's placement is never worse than before; the same steps give the same placement.
 * Cost: a dive and a sort for each change, which counts as STEPS steps for each box; 48 bytes a box.
 * Origin: offline-planning.md 6.1 (local search).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "planners/optimal/dive.h"
#include "planners/optimal/parts.h"

#define STEPS 128    /* a dive takes about a microsecond a box */
#define FEW 4        /* boxes that move anywhere */
#define NOISES 6     /* 1/1024 of the boxes, 1/512, ... 1/32 */
#define FAR_AHEAD 3  /* boxes above the goal come up to a third of all boxes earlier */
#define PATIENCE 128 /* changes in which nothing becomes smaller */

typedef struct
{
  double key;
  guint32 place;
} Wish;

typedef struct
{
  GememPart *part;
  gint64 goal;
  GememRng rng;
  GememDive *dive;
  double *keys, *changed;    /* by place: the order so far, and the next one */
  gint64 *offsets, *changes; /* what they gave */
  gint64 top;                /* of `offsets` */
  Wish *wishes;
  guint begun, stale; /* beginnings; changes since anything became smaller */
} Local;

/* From 0 to below 1. */
static double
any (Local *local)
{
  return (double) (gemem_rng_next (&local->rng) >> 11) / (double) (G_GUINT64_CONSTANT (1) << 53);
}

/* ---- changes of the order */

static void
shake (Local *local)
{
  const guint32 n = local->part->boxes.n;
  const double noise = n / (double) (1024 >> gemem_rng_below (&local->rng, NOISES));

  for (guint32 i = 0; i < n; i++)
    local->changed[i] += noise * (2 * any (local) - 1);
}

static void
promote (Local *local)
{
  const GememBoxes *boxes = &local->part->boxes;

  for (guint32 i = 0; i < boxes->n; i++)
    if (local->offsets[i] + boxes->boxes[i].size > local->goal)
      local->changed[i] -= any (local) * boxes->n / FAR_AHEAD;
}

static void
move_few (Local *local)
{
  const guint32 n = local->part->boxes.n;

  for (guint64 k = 1 + gemem_rng_below (&local->rng, FEW); k > 0; k--)
    {
      const double key = any (local) * n; /* drawn before the place, with every compiler */
      local->changed[gemem_rng_below (&local->rng, n)] = key;
    }
  if (gemem_rng_below (&local->rng, 2) == 0)
    promote (local);
}

/* ---- dives */

static int
compare_wishes (gconstpointer a, gconstpointer b)
{
  const Wish *x = a, *y = b;

  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

static void
rank (Local *local)
{
  const GememBoxes *boxes = &local->part->boxes;

  for (guint32 i = 0; i < boxes->n; i++)
    local->wishes[i] = (Wish){ local->changed[i], i };
  qsort (local->wishes, boxes->n, sizeof (Wish), compare_wishes);
  for (guint32 i = 0; i < boxes->n; i++)
    {
      boxes->boxes[local->wishes[i].place].rank = i;
      local->changed[local->wishes[i].place] = i;
    }
}

/* The last dive's placement, of the top @top, is the one to be changed next. */
static void
keep (Local *local, gint64 top)
{
  double *keys = local->keys;
  gint64 *offsets = local->offsets;

  local->keys = local->changed;
  local->changed = keys;
  local->offsets = local->changes;
  local->changes = offsets;
  local->stale = top < local->top ? 0 : local->stale;
  local->top = top;
  if (top >= local->part->top)
    return;
  for (guint32 i = 0; i < local->part->boxes.n; i++)
    local->part->boxes.boxes[i].offset = local->offsets[i];
  local->part->top = top;
  local->part->stage = GEMEM_STAGE_LOCAL;
}

/* The best order of the dives is the first to be changed, then the others in turn. */
static void
begin (Local *local)
{
  const GememBoxes *boxes = &local->part->boxes;

  gemem_dive_prepare (local->dive, &local->part->boxes,
                      (local->part->kind + local->begun++) % GEMEM_DIVE_KINDS);
  for (guint32 i = 0; i < boxes->n; i++)
    local->changed[i] = boxes->boxes[i].rank;
  local->top = G_MAXINT64;
  local->stale = 0;
  keep (local, gemem_dive_run (local->dive, G_MAXINT64, local->changes));
}

static void
try_change (Local *local)
{
  static void (*const changes[]) (Local * local) = { shake, promote, move_few };

  memcpy (local->changed, local->keys, local->part->boxes.n * sizeof (double));
  changes[gemem_rng_below (&local->rng, G_N_ELEMENTS (changes))](local);
  rank (local);
  local->stale++;
  const gint64 top = gemem_dive_run (local->dive, local->top + 1, local->changes);
  if (top <= local->top)
    keep (local, top);
}

static gboolean
is_stale (const Local *local)
{
  return local->stale >= (guint) PATIENCE << MIN (local->begun / GEMEM_DIVE_KINDS, 16);
}

void
gemem_part_improve (GememPart *part, gint64 goal, GememEffort *effort)
{
  const gsize n = part->boxes.n;
  const guint64 cost = STEPS * (guint64) n;
  Local local = { .part = part, .goal = goal };

  if (part->top <= goal || effort->steps < 2 * cost)
    return;
  local.dive = gemem_dive_new (&part->boxes);
  local.keys = g_new (double, n + 1);
  local.changed = g_new (double, n + 1);
  local.offsets = g_new (gint64, n + 1);
  local.changes = g_new (gint64, n + 1);
  local.wishes = g_new (Wish, n + 1);
  gemem_rng_init (&local.rng, 1, "optimal-local");
  for (; part->top > goal && effort->steps >= cost && gemem_stop_reason (effort->stop) == NULL;
       effort->steps -= cost)
    if (local.begun == 0 || is_stale (&local))
      begin (&local);
    else
      try_change (&local);
  gemem_dive_free (local.dive);
  g_free (local.keys);
  g_free (local.changed);
  g_free (local.offsets);
  g_free (local.changes);
  g_free (local.wishes);
}

/* hill-climb.c - planner `tvm-usmp-hill-climb`: TVM's search for an order in which first fit needs
 * less.
 *
 * It begins with the order by size (conflicts.h).  A round takes a random buffer whose end is the
 * top, and swaps two buffers: one of those that conflict with it and come earlier (the first
 * level), and with 75 % one of those that conflict with a buffer of the first level and come
 * earlier than it (the second level), else another of the first.  A smaller arena is kept; a larger
 * one with 50 x (growth / arena) / round percent.  The smallest of all rounds is the plan.
 *
 * Not known, and chosen: which random numbers; from which buffer of the first level the second is
 * reached (a random one); that nothing happens where a level is empty; that percents are whole.
 * `effort` ends the rounds early where there are more than 2000 buffers, so that all planners together
 * take seconds; TVM goes on.
 * Levels are found by looking at all buffers, never listed: memory stays linear.
 * Cost: first fit of all buffers for each round.  Origin: offline-planning.md 3.
 */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "planners/fit.h"
#include "planners/tvm/conflicts.h"

typedef struct
{
  guint64 seed, rounds, effort, memory_pressure, alignment;
} Params;

static const GememParam params_climb[] = {
  { .name = "seed",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    .help = "Of the random numbers; TVM's own are not known.",
    .offset = G_STRUCT_OFFSET (Params, seed) },
  { .name = "rounds",
    .type = GEMEM_PARAM_UINT,
    .default_text = "500",
    .max = "1000000",
    .help = "Orders tried; each takes as long as first fit.",
    .offset = G_STRUCT_OFFSET (Params, rounds) },
  { .name = "effort",
    .type = GEMEM_PARAM_UINT,
    .default_text = "normal",
    .max = "1000000000000000",
    .special = "quick=100000|normal=1000000|thorough=100000000",
    .help =
        "Buffers placed in all rounds; ends the rounds of large inputs early, which TVM does not.",
    .offset = G_STRUCT_OFFSET (Params, effort) },
  { .name = "memory_pressure",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0",
    .help = "Stops once a space needs no more than this.",
    .offset = G_STRUCT_OFFSET (Params, memory_pressure) },
  GEMEM_PLANNER_ALIGNMENT (Params),
  { NULL },
};

#define NONE G_MAXUINT32

typedef struct
{
  const Params *params;
  GememPlanInput input; /* without `share`, which counts rounds */
  gint *share;
  GememRng rng;
} Climb;

static gboolean
conflict (const GememBox *a, const GememBox *b)
{
  return a->first < b->last && b->first < a->last;
}

/* A random place among the first @n that @wanted holds for; NONE. */
static guint32
choose (Climb *climb, const GememBoxes *boxes, guint32 n,
        gboolean (*wanted) (const GememBox *box, gconstpointer data), gconstpointer data)
{
  guint32 count = 0, i = 0;

  for (guint32 k = 0; k < n; k++)
    count += wanted (&boxes->boxes[k], data);
  if (count == 0)
    return NONE;
  for (guint64 skip = gemem_rng_below (&climb->rng, count); i < n; i++)
    if (wanted (&boxes->boxes[i], data) && skip-- == 0)
      break;
  return i;
}

static gboolean
ends_at (const GememBox *box, gconstpointer top)
{
  return box->offset + box->size == *(const gint64 *) top;
}

static gboolean
conflicts_with (const GememBox *box, gconstpointer other)
{
  return conflict (box, other);
}

/* A buffer that conflicts with that at @place and comes earlier. */
static guint32
earlier (Climb *climb, const GememBoxes *boxes, guint32 place)
{
  const GememBox box = boxes->boxes[place];

  return choose (climb, boxes, place, conflicts_with, &box);
}

static void
swap_two (Climb *climb, GememBoxes *boxes, gint64 top)
{
  const guint32 highest = choose (climb, boxes, boxes->n, ends_at, &top);
  const guint32 one = earlier (climb, boxes, highest);

  if (one == NONE)
    return;
  guint32 other = earlier (climb, boxes, highest);
  if (gemem_rng_below (&climb->rng, 100) < 75)
    other = earlier (climb, boxes, other);
  if (other == NONE)
    return;
  const GememBox box = boxes->boxes[one];
  boxes->boxes[one] = boxes->boxes[other];
  boxes->boxes[other] = box;
}

static gint64
fit (Climb *climb, GememBoxes *boxes)
{
  gemem_boxes_fit (boxes, gemem_occupancy_first_fit, &climb->input);
  return gemem_boxes_top (boxes);
}

/* Whether a plan with @next instead of @now is gone on with in @round. */
static gboolean
accepts (Climb *climb, gint64 now, gint64 next, guint64 round)
{
  const unsigned __int128 growth = next > now ? (unsigned __int128) (next - now) : 0;

  return next < now
         || gemem_rng_below (&climb->rng, 100)
                < (guint64) (50 * growth / ((unsigned __int128) now * round));
}

static gboolean
place (GememBoxes *boxes, gpointer data, GError **error G_GNUC_UNUSED)
{
  Climb *climb = data;
  const gsize bytes = sizeof (GememBox) * boxes->n;
  g_autoptr (GememTvmConflicts) conflicts = gemem_tvm_conflicts_new (boxes);

  gemem_boxes_sort (boxes, gemem_tvm_by_size, conflicts);
  gint64 now = fit (climb, boxes), best = now;
  g_autofree GememBox *current = g_memdup2 (boxes->boxes, bytes),
                      *least = g_memdup2 (boxes->boxes, bytes);
  const guint64 rounds = MIN (climb->params->rounds, climb->params->effort / boxes->n);
  for (guint64 round = 1; round <= rounds && (guint64) best > climb->params->memory_pressure
                          && !gemem_plan_is_unwanted (climb->input.interrupted);
       round++)
    {
      if (climb->share != NULL)
        g_atomic_int_set (climb->share, (gint) (round * 1000 / rounds));
      swap_two (climb, boxes, now);
      const gint64 next = fit (climb, boxes);

      if (next < best)
        memcpy (least, boxes->boxes, bytes);
      best = MIN (best, next);
      const gboolean kept = accepts (climb, now, next, round);
      memcpy (kept ? current : boxes->boxes, kept ? boxes->boxes : current, bytes);
      now = kept ? next : now;
    }
  memcpy (boxes->boxes, least, bytes);
  return TRUE;
}

static GememPlan *
plan_climb (gconstpointer params, const GememPlanInput *input, GError **error)
{
  Climb climb = { params, *input, input->share, { { 0 } } };

  climb.input.share = NULL;
  gemem_rng_init (&climb.rng, climb.params->seed, "tvm-usmp-hill-climb");
  return gemem_boxes_plan (input, climb.params->alignment, 1, place, &climb, error);
}

const GememPlanner gemem_planner_tvm_usmp_hill_climb = {
  { "tvm-usmp-hill-climb", NULL, "TVM: swaps in the order of first fit, for 500 rounds",
    "offline-planning.md 3", params_climb, sizeof (Params), "hill_climb" },
  0,
  512,
  plan_climb,
  GEMEM_FIT_ITEM_BYTES + 200
};

/* minimalloc.c - planner `minimalloc`: Google's MiniMalloc 1.1, which decides whether the boxes fit into
 * a capacity, and its search for the least.
 *
 * Several orders of rank (preorders) take turns, with at most 2n nodes each, then 4n, 8n, ...; the
 * first answer counts.  Without a capacity the planner bisects between the largest load and the
 * height found, beginning with first fit by size, which MiniMalloc does not try.  A capacity at which the steps ended counts as too small;
 * only where none did is the plan proven least.
 *
 * A preorder is a word of keys, each descending, then the id: A area, C sections, L begin, O boxes
 * alive with it, T largest load of a section that it is in, U end, W lifetime, Z size.  Not known, and
 * chosen: what a fresh order in each part changes; ranks here are the same throughout.  Gaps, which MiniMalloc uses, are
 * planned as in use here, and fixed offsets are refused.
 * Cost: search.h for each node.  Origin: offline-planning.md 1.1.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "planners/fit.h"
#include "planners/minimalloc/search.h"
#include "planners/places.h"

#define KEYS "ACLOTUWZ"
#define MOST_KEYS 8
#define MOST_ORDERS 16

typedef struct
{
  guint64 capacity;
  char *preorders;
  guint64 effort, alignment;
} Params;

static const GememParam params_minimalloc[] = {
  { .name = "capacity",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "least",
    .special = "least=0",
    .max = "4EiB",
    .help = "Bytes that each space has to fit into; least: searches for the least.",
    .offset = G_STRUCT_OFFSET (Params, capacity) },
  { .name = "preorders",
    .type = GEMEM_PARAM_STRING,
    .default_text = "WAT+TAW+TWA",
    .choices = "WAT+TAW+TWA|TWA",
    .help = "Orders that take turns: words of " KEYS ", joined by '+'.",
    .offset = G_STRUCT_OFFSET (Params, preorders) },
  { .name = "effort",
    .type = GEMEM_PARAM_UINT,
    .default_text = "normal",
    .max = "1000000000000000",
    .special = "quick=10000000|normal=100000000|thorough=10000000000",
    .help = "Steps that the search may take: boxes and sections looked at.",
    .offset = G_STRUCT_OFFSET (Params, effort) },
  GEMEM_PLANNER_ALIGNMENT (Params),
  { NULL },
};

static gboolean
check_params (gconstpointer data, GError **error)
{
  const char *words = ((const Params *) data)->preorders;
  g_auto (GStrv) orders = g_strsplit (words != NULL ? words : "", "+", -1);
  const guint n = g_strv_length (orders);
  gboolean good = n > 0 && n <= MOST_ORDERS;

  for (guint i = 0; i < n; i++)
    good = good && *orders[i] != '\0' && strlen (orders[i]) <= MOST_KEYS
           && strspn (orders[i], KEYS) == strlen (orders[i]);
  if (!good)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "preorders='%s': 1 to %d words of 1 to %d of the letters %s, joined by '+'",
                 words != NULL ? words : "", MOST_ORDERS, MOST_KEYS, KEYS);
  return good;
}

/* ---- preorders */

typedef struct
{
  guint64 keys[MOST_KEYS][2]; /* high and low */
  guint64 id;
  guint32 place;
} Ranked;

static int
compare_ranked (gconstpointer a, gconstpointer b)
{
  const Ranked *x = a, *y = b;

  for (guint k = 0; k < MOST_KEYS; k++)
    for (guint half = 0; half < 2; half++)
      if (x->keys[k][half] != y->keys[k][half])
        return x->keys[k][half] > y->keys[k][half] ? -1 : 1;
  if (x->id != y->id)
    return x->id < y->id ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

static guint64
overlaps (const GememBoxes *boxes, const GememBox *box)
{
  guint64 n = 0;

  for (guint32 i = 0; i < boxes->n; i++)
    n += boxes->boxes[i].first < box->last && box->first < boxes->boxes[i].last;
  return n;
}

static guint64
largest_load (const GememBox *box, const gint64 *loads)
{
  gint64 most = 0;

  for (guint32 s = box->first; s < box->last; s++)
    most = MAX (most, loads[s]);
  return (guint64) most;
}

static void
set_key (char letter, const GememBoxes *boxes, const GememBox *box, const gint64 *loads,
         guint64 key[2])
{
  const unsigned __int128 area = (unsigned __int128) box->size * box->life;

  key[0] = letter == 'A' ? (guint64) (area >> 64) : 0;
  key[1] = letter == 'A'   ? (guint64) area
           : letter == 'C' ? box->last - box->first
           : letter == 'L' ? box->first
           : letter == 'O' ? overlaps (boxes, box)
           : letter == 'T' ? largest_load (box, loads)
           : letter == 'U' ? box->last
           : letter == 'W' ? box->life
                           : (guint64) box->size;
}

static gint64 *
find_loads (const GememBoxes *boxes)
{
  gint64 *loads = g_new0 (gint64, (gsize) boxes->columns + 1);

  for (guint32 i = 0; i < boxes->n; i++)
    {
      loads[boxes->boxes[i].first] += boxes->boxes[i].size;
      loads[boxes->boxes[i].last] -= boxes->boxes[i].size;
    }
  for (guint32 s = 1; s <= boxes->columns; s++)
    loads[s] += loads[s - 1];
  return loads;
}

/* The ranks of @boxes, by place, in the order @word. */
static guint32 *
rank_boxes (const GememBoxes *boxes, const char *word)
{
  g_autofree Ranked *ranked = g_new0 (Ranked, (gsize) boxes->n + 1);
  g_autofree gint64 *loads = find_loads (boxes);
  guint32 *ranks = g_new (guint32, (gsize) boxes->n + 1);

  for (guint32 i = 0; i < boxes->n; i++)
    {
      ranked[i].place = i;
      ranked[i].id = boxes->boxes[i].id;
      for (guint k = 0; word[k] != '\0'; k++)
        set_key (word[k], boxes, &boxes->boxes[i], loads, ranked[i].keys[k]);
    }
  qsort (ranked, boxes->n, sizeof (Ranked), compare_ranked);
  for (guint32 i = 0; i < boxes->n; i++)
    ranks[ranked[i].place] = i;
  return ranks;
}

/* ---- a space */

typedef struct
{
  const Params *params;
  const GememPlanInput *input;
  guint64 unit;
  guint64 steps;    /* left */
  guint64 least;    /* bytes proven, of the spaces so far */
  gboolean unknown; /* an answer was not found */
} Search;

typedef struct
{
  Search *search;
  GememBoxes *boxes;
  GememMinimallocSearch *tree;
  GPtrArray *ranks;
} Space;

static GememMinimallocAnswer
try_order (Space *space, guint order, gint64 capacity, guint64 nodes, guint64 *steps)
{
  const guint32 *ranks = space->ranks->pdata[order];

  for (guint32 i = 0; i < space->boxes->n; i++)
    space->boxes->boxes[i].rank = ranks[i];
  return gemem_minimalloc_search_run (space->tree, capacity, nodes, steps,
                                      space->search->input->interrupted);
}

/* The orders take turns, with twice the nodes each time around, for @steps in all. */
static GememMinimallocAnswer
decide (Space *space, gint64 capacity, guint64 steps)
{
  guint64 left = MIN (steps, space->search->steps), before = left;
  GememMinimallocAnswer answer = GEMEM_MINIMALLOC_UNKNOWN;

  for (guint64 nodes = 2 * (guint64) space->boxes->n;
       answer == GEMEM_MINIMALLOC_UNKNOWN && left > 0
       && !gemem_plan_is_unwanted (space->search->input->interrupted);
       nodes *= 2)
    for (guint i = 0; i < space->ranks->len && answer == GEMEM_MINIMALLOC_UNKNOWN; i++)
      answer = try_order (space, i, capacity, nodes, &left);
  space->search->steps -= before - left;
  space->search->unknown |= answer == GEMEM_MINIMALLOC_UNKNOWN;
  return answer;
}

/* Bisects between the load and the height found, which first fit by size begins with. */
static void
minimise (Space *space)
{
  const guint32 n = space->boxes->n;
  g_autofree GememBox *best = g_memdup2 (space->boxes->boxes, sizeof (GememBox) * n);
  GememBoxes start = { best, n, space->boxes->columns };
  gint64 low = gemem_boxes_load (space->boxes), high;

  gemem_boxes_sort (&start, gemem_box_by_size, NULL);
  gemem_boxes_fit (&start, gemem_occupancy_first_fit, space->search->input);
  for (high = gemem_boxes_top (&start) - 1;
       low <= high && !gemem_plan_is_unwanted (space->search->input->interrupted);)
    {
      const gint64 capacity = low + (high - low) / 2;

      if (decide (space, capacity, space->search->steps / 4) != GEMEM_MINIMALLOC_YES)
        low = capacity + 1;
      else
        {
          high = gemem_boxes_top (space->boxes) - 1;
          memcpy (best, space->boxes->boxes, sizeof (GememBox) * n);
        }
    }
  memcpy (space->boxes->boxes, best, sizeof (GememBox) * n);
  space->search->least += gemem_round_up ((guint64) low * space->search->unit,
                                          space->search->params->alignment);
}

static gboolean
fit (Space *space, GError **error)
{
  const Search *search = space->search;
  const gint64 capacity = (gint64) (search->params->capacity / search->unit);
  const GememMinimallocAnswer answer = decide (space, capacity, G_MAXUINT64);

  if (answer == GEMEM_MINIMALLOC_YES || gemem_plan_is_unwanted (search->input->interrupted))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
               answer == GEMEM_MINIMALLOC_NO
                   ? "no plan fits into capacity=%" G_GUINT64_FORMAT "; give more"
                   : "no plan was found within capacity=%" G_GUINT64_FORMAT
                     ", and it is not known whether one exists; give more, or effort=thorough",
               search->params->capacity);
  return FALSE;
}

static gboolean
place (GememBoxes *boxes, gpointer data, GError **error)
{
  Search *search = data;
  g_autoptr (GememMinimallocSearch) tree = gemem_minimalloc_search_new (boxes);
  g_autoptr (GPtrArray) ranks = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) words = g_strsplit (search->params->preorders, "+", -1);
  Space space = { search, boxes, tree, ranks };
  const GememLifetimes *lifetimes = search->input->lifetimes;

  for (char **word = words; *word != NULL; word++)
    g_ptr_array_add (ranks, rank_boxes (boxes, *word));
  if (search->params->capacity > 0)
    return gemem_lifetimes_check_capacity (
               lifetimes, gemem_lifetimes_get (lifetimes, boxes->boxes[0].item)->space,
               search->params->alignment, search->params->capacity, error)
           && fit (&space, error);
  minimise (&space);
  return TRUE;
}

static GememPlan *
plan_minimalloc (gconstpointer data, const GememPlanInput *input, GError **error)
{
  const Params *params = data;
  Search search = { .params = params,
                    .input = input,
                    .unit = gemem_boxes_unit (input->lifetimes, params->alignment),
                    .steps = params->effort };

  if (search.unit == 0)
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                           "the sizes add up to 2^62 bytes or more; plan a part");
      return NULL;
    }
  GememPlan *plan = gemem_boxes_plan (input, params->alignment, search.unit, place, &search, error);
  if (plan != NULL && params->capacity == 0 && !search.unknown)
    plan->least = search.least;
  return plan;
}

const GememPlanner gemem_planner_minimalloc = {
  { "minimalloc", NULL, "Google's MiniMalloc: searches orders in which boxes rest on others",
    "offline-planning.md 1.1", params_minimalloc, sizeof (Params), NULL, check_params, NULL },
  0,
  512,
  plan_minimalloc,
  GEMEM_FIT_ITEM_BYTES
};

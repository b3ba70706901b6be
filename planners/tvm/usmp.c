/* usmp.c - planners `tvm-usmp-by-size` and `tvm-usmp-by-conflicts`: TVM's unified static memory
 * planner without a look at gaps.
 *
 * A buffer conflicts with those whose lives meet its own.  Orders: size and conflicts, descending;
 * or conflicts and size.  What is left goes by name, descending; lifetimes have no names, and go by
 * id, as in the figures that the tests hold.  A buffer is placed at the end of the highest buffer
 * that conflicts with it and was placed before, never in a gap.  TVM tries a list of pools of limited
 * size; here is one that is large enough.
 *
 * Conflicts are counted, never listed: what begins before a column, and what ends by it.  The
 * highest end in an interval of columns comes from a tree of maxima.
 * Cost: O(n log n).  Origin: offline-planning.md 3.
 */
#include "config.h"

#include "planners/fit.h"
#include "planners/tvm/conflicts.h"

static GememBoxKey
by_conflicts (const GememBox *box, gpointer conflicts)
{
  return (GememBoxKey){ ~(guint64) gemem_tvm_conflicts (conflicts, box), ~(guint64) box->size, 0 };
}

/* ---- the highest end in columns: a tree, node 1 the root, node width + c column c */

typedef struct
{
  gint64 own;   /* of boxes in all columns of the node */
  gint64 below; /* of any box in some */
} Node;

typedef struct
{
  Node *nodes;
  guint32 width;
} Tops;

static gint64
find_top (const Tops *tops, guint32 first, guint32 last)
{
  guint32 low = first + tops->width, high = last + tops->width;
  guint32 above_low = low, above_high = high - 1;
  gint64 top = 0;

  for (; low < high; low = (low + 1) / 2, high /= 2)
    {
      if (low % 2 == 1)
        top = MAX (top, tops->nodes[low].below);
      if (high % 2 == 1)
        top = MAX (top, tops->nodes[high - 1].below);
    }
  for (; above_low > 0; above_low /= 2, above_high /= 2)
    top = MAX (top, MAX (tops->nodes[above_low].own, tops->nodes[above_high].own));
  return top;
}

/* @top is above all ends in these columns. */
static void
raise_top (Tops *tops, guint32 first, guint32 last, gint64 top)
{
  guint32 low = first + tops->width, high = last + tops->width;
  guint32 above_low = low, above_high = high - 1;

  for (; low < high; low /= 2, high /= 2)
    {
      if (low % 2 == 1)
        tops->nodes[low++] = (Node){ top, top };
      if (high % 2 == 1)
        tops->nodes[--high] = (Node){ top, top };
    }
  for (; above_low > 0; above_low /= 2, above_high /= 2)
    {
      tops->nodes[above_low].below = MAX (tops->nodes[above_low].below, top);
      tops->nodes[above_high].below = MAX (tops->nodes[above_high].below, top);
    }
}

/* ---- planning */

typedef struct
{
  const GememPlanInput *input;
  GememBoxOrder key;
} Planning;

static gboolean
place (GememBoxes *boxes, gpointer data, GError **error G_GNUC_UNUSED)
{
  const Planning *planning = data;
  g_autoptr (GememTvmConflicts) conflicts = gemem_tvm_conflicts_new (boxes);
  Tops tops = { NULL, 1 };

  while (tops.width < boxes->columns)
    tops.width *= 2;
  tops.nodes = g_new0 (Node, 2 * (gsize) tops.width);
  gemem_boxes_sort (boxes, planning->key, conflicts);
  for (guint32 i = 0; i < boxes->n && !gemem_plan_is_unwanted (planning->input->interrupted); i++)
    {
      GememBox *box = &boxes->boxes[i];

      box->offset = gemem_box_align (find_top (&tops, box->first, box->last), box->unit);
      raise_top (&tops, box->first, box->last, box->offset + box->size);
    }
  g_free (tops.nodes);
  return TRUE;
}

static GememPlan *
plan_by_size (gconstpointer params, const GememPlanInput *input, GError **error)
{
  Planning planning = { input, gemem_tvm_by_size };

  return gemem_boxes_plan (input, ((const GememFitParams *) params)->alignment, 1, place, &planning,
                           error);
}

static GememPlan *
plan_by_conflicts (gconstpointer params, const GememPlanInput *input, GError **error)
{
  Planning planning = { input, by_conflicts };

  return gemem_boxes_plan (input, ((const GememFitParams *) params)->alignment, 1, place, &planning,
                           error);
}

const GememPlanner gemem_planner_tvm_usmp_by_size = {
  { "tvm-usmp-by-size", NULL, "TVM: largest first, above all that conflicts, gaps left",
    "offline-planning.md 3", gemem_fit_params_in_order, sizeof (GememFitParams), "greedy_by_size" },
  0,
  512,
  plan_by_size,
  400
};

const GememPlanner gemem_planner_tvm_usmp_by_conflicts = {
  { "tvm-usmp-by-conflicts", NULL, "TVM: most conflicts first, above all that conflicts, gaps left",
    "offline-planning.md 3", gemem_fit_params_in_order, sizeof (GememFitParams),
    "greedy_by_conflicts" },
  0,
  512,
  plan_by_conflicts,
  400
};

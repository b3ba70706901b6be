/* no-reuse.c - every item has its own memory: the cost of a program without planning, and the upper
 * end of every comparison.
 *
 * Items lie in their order, each rounded up to the alignment.  O(n x spaces).
 */
#include "config.h"

#include "base/units.h"
#include "planners/planner.h"

typedef struct
{
  guint64 alignment;
} Params;

static const GememParam params[] = {
  GEMEM_PLANNER_ALIGNMENT (Params),
  { NULL },
};

static GememPlan *
plan_no_reuse (gconstpointer data, const GememPlanInput *input, GError **error G_GNUC_UNUSED)
{
  const guint64 alignment = ((const Params *) data)->alignment;
  const guint n = input->lifetimes->items->len;
  GememPlan *plan = gemem_plan_new ("no-reuse", n);

  plan->alignment = alignment;
  plan->spaces = g_new0 (guint64, (gsize) n + 1);
  for (guint i = 0; i < n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (input->lifetimes, i);
      GememPlanTotal *total = gemem_plan_total (plan, life->space);

      plan->spaces[i] = life->space;
      plan->sizes[i] = life->size;
      plan->offsets[i] = gemem_round_up (total->bytes,
                                         life->alignment != 0 ? life->alignment : alignment);
      total->bytes = gemem_round_up (plan->offsets[i] + life->size, alignment);
    }
  return plan;
}

const GememPlanner gemem_no_reuse = { { "no-reuse", NULL, "Every item has memory of its own",
                                        "gemem", params, sizeof (Params) },
                                      0,
                                      512,
                                      plan_no_reuse,
                                      64 };

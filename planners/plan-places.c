/* plan-places.c - see plan-places.h. */
#include "config.h"

#include "base/idmap.h"
#include "base/units.h"
#include "planners/check.h"
#include "planners/plan-places.h"

#define SPACE_ALIGNMENT 512 /* of spaces in the arena, and of allocations behind them */

/* Reports a violation found by gemem_plan_verify() as GEMEM_ERROR_INPUT. */
static gboolean
verify (GememPlan *plan, const GememPlanInput *input, const char *advice, GError **error)
{
  g_autoptr (GError) why = NULL;

  if (gemem_plan_verify (plan, input, &why))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s; %s", why->message, advice);
  return FALSE;
}

/* Offset in the arena at which the space of @item begins. */
static guint64
start_of_space (const GememPlan *plan, guint32 item)
{
  guint64 start = 0;

  for (guint i = 0; plan->spaces != NULL && i < plan->totals->len; i++)
    {
      const GememPlanTotal *total = &g_array_index (plan->totals, GememPlanTotal, i);

      if (total->space == plan->spaces[item])
        break;
      start = gemem_align_up (start + total->bytes, SPACE_ALIGNMENT);
    }
  return start;
}

static guint64
end_of_spaces (const GememPlan *plan)
{
  guint64 end = 0;

  for (guint i = 0; i < plan->totals->len; i++)
    end = (i > 0 ? gemem_align_up (end, SPACE_ALIGNMENT) : 0)
          + g_array_index (plan->totals, GememPlanTotal, i).bytes;
  return end;
}

/* The item of allocation @id of a lowered trace; GEMEM_NONE: the item has no bytes of its own in
 * @plan, or the allocation is no item. */
static guint32
planned_item (const GememPlan *plan, guint64 id)
{
  const gboolean planned = id >= 1 && id <= plan->n_items
                           && plan->offsets[id - 1] != GEMEM_NO_OFFSET && plan->sizes[id - 1] > 0;

  return planned ? (guint32) (id - 1) : GEMEM_NONE;
}

/* Allocations that are not planned lie behind the arena, at a fixed offset per id. */
typedef struct
{
  GememIdMap *places; /* id -> offset */
  guint64 end;
} Behind;

static guint64
place_behind (Behind *behind, const GememLifetime *life)
{
  gboolean known;
  guint64 *offset;

  if (life->size == 0)
    return 0;
  offset = gemem_idmap_insert (behind->places, life->id, &known);
  if (!known)
    *offset = gemem_align_up (behind->end, SPACE_ALIGNMENT);
  behind->end = MAX (behind->end, *offset + life->size);
  return *offset;
}

static GememPlan *
place_all (const GememPlan *plan, const GememPlanInput *input)
{
  const GememLifetimes *lifetimes = input->lifetimes;
  GememPlan *places = gemem_plan_new (plan->planner, lifetimes->items->len);
  Behind behind = { gemem_idmap_new (sizeof (guint64)), end_of_spaces (plan) };

  for (guint32 i = 0; i < lifetimes->items->len; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);
      const guint32 from = input->graph != NULL ? planned_item (plan, life->id) : i;

      places->sizes[i] = from != GEMEM_NONE ? MAX (plan->sizes[from], life->size) : life->size;
      places->offsets[i] = from != GEMEM_NONE ? start_of_space (plan, from) + plan->offsets[from]
                                              : place_behind (&behind, life);
    }
  gemem_plan_add_total (places, 0, behind.end);
  places->alignment = 1; /* the planner's alignment was checked against its own input */
  places->lower_bound = gemem_lifetimes_lower_bound (lifetimes, 1);
  places->least = input->graph == NULL ? plan->least : 0;
  gemem_idmap_free (behind.places);
  return places;
}

GememPlan *
gemem_plan_places (GememPlan *plan, const GememPlanInput *input, GError **error)
{
  const GememPlanInput own = { input->graph, input->graph == NULL ? input->lifetimes : NULL, 1 };
  const GememPlanInput trace = { NULL, input->lifetimes, 1 };
  g_autoptr (GememPlan) places = NULL;

  if (verify (plan, &own, "such a plan is never replayed; choose another planner or another file",
              error))
    places = place_all (plan, input);
  gemem_plan_free (plan);
  if (places == NULL)
    return NULL;
  if (input->graph != NULL
      && !verify (places, &trace,
                  "the plan of the graph does not fit how it was lowered; choose another --lower "
                  "(inplace if the planner works in place), or plan the "
                  "trace itself with input=trace",
                  error))
    return NULL;
  return g_steal_pointer (&places);
}

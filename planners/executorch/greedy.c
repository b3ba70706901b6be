/* greedy.c - planner `executorch-greedy`: ExecuTorch's greedy planner, shelves as high as their first
 * tensor.
 *
 * Tensors come by size, rounded up to the alignment, descending; of equal ones the one added later is
 * first.  A tensor goes to the bottom of the first shelf whose tensors all live at other times; else
 * onto the highest end of those that live when it does, in the first shelf that is high enough for both;
 * else it opens a shelf of its own height.  Gaps below the highest end are never filled.  Shelves lie one
 * on another, in the order in which they were opened.
 *
 * Cost: O(n) memory; time O(n) for each tensor at worst, as the shelves are looked through.
 * Origin: executorch 1.5.1 from its wheel, asked with 18 000 random lists (systems/offline-planning.md).
 */
#include "config.h"

#include "planners/fit.h"

typedef struct
{
  guint32 first, last; /* columns; half-open */
  gint64 end;          /* above the bottom of the shelf */
} Member;

typedef struct
{
  gint64 size, unit; /* of the first; the largest of all */
  gint64 base;
  GArray *members; /* Member */
} Shelf;

static void
clear_shelf (gpointer shelf)
{
  g_array_unref (((Shelf *) shelf)->members);
}

static gint64
rounded (const GememBox *box)
{
  return gemem_box_align (box->size, box->unit);
}

static GememBoxKey
by_rounded_size (const GememBox *box, gpointer unused G_GNUC_UNUSED)
{
  return (GememBoxKey){ ~(guint64) rounded (box), ~box->id, 0 };
}

/* Where @box can lie in @shelf: on what lives when it does, at 0 if nothing does; above the shelf's size: nowhere. */
static gint64
offset_in (const Shelf *shelf, const GememBox *box)
{
  const gint64 most = shelf->size - rounded (box);
  gint64 offset = 0;

  for (guint i = 0; i < shelf->members->len && offset <= most; i++)
    {
      const Member *member = &g_array_index (shelf->members, Member, i);

      if (member->first < box->last && box->first < member->last)
        offset = MAX (offset, gemem_box_align (member->end, box->unit));
    }
  return offset <= most ? offset : shelf->size + 1;
}

/* The shelf of @box among @shelves, a new one if none has a place for it; sets the offset in it. */
static guint
choose (GArray *shelves, GememBox *box)
{
  guint chosen = shelves->len;

  for (guint i = 0; i < shelves->len; i++)
    {
      const Shelf *shelf = &g_array_index (shelves, Shelf, i);
      const gint64 offset = offset_in (shelf, box);

      if (offset > shelf->size || (offset > 0 && chosen < shelves->len))
        continue;
      chosen = i;
      box->offset = offset;
      if (offset == 0)
        return i;
    }
  if (chosen < shelves->len)
    return chosen;
  const Shelf shelf = { rounded (box), box->unit, 0, g_array_new (FALSE, FALSE, sizeof (Member)) };
  g_array_append_val (shelves, shelf);
  box->offset = 0;
  return chosen;
}

static void
add (Shelf *shelf, const GememBox *box)
{
  const Member member = { box->first, box->last, box->offset + rounded (box) };

  g_array_append_val (shelf->members, member);
  shelf->unit = MAX (shelf->unit, box->unit);
}

static gboolean
place (GememBoxes *boxes, gpointer data, GError **error G_GNUC_UNUSED)
{
  const GememPlanInput *input = data;
  g_autoptr (GArray) shelves = g_array_new (FALSE, FALSE, sizeof (Shelf));
  g_autofree guint *shelf_of = g_new (guint, boxes->n);
  gint64 base = 0;
  guint32 n;

  g_array_set_clear_func (shelves, clear_shelf);
  gemem_boxes_sort (boxes, by_rounded_size, NULL);
  for (n = 0; n < boxes->n && !gemem_plan_is_unwanted (input->interrupted); n++)
    {
      if (input->share != NULL)
        g_atomic_int_set (input->share, (gint) ((guint64) n * 1000 / boxes->n));
      shelf_of[n] = choose (shelves, &boxes->boxes[n]);
      add (&g_array_index (shelves, Shelf, shelf_of[n]), &boxes->boxes[n]);
    }
  for (guint i = 0; i < shelves->len; i++)
    {
      Shelf *shelf = &g_array_index (shelves, Shelf, i);

      shelf->base = gemem_box_align (base, shelf->unit);
      base = shelf->base + shelf->size;
    }
  for (guint32 i = 0; i < n; i++)
    boxes->boxes[i].offset += g_array_index (shelves, Shelf, shelf_of[i]).base;
  return TRUE;
}

static GememPlan *
plan_greedy (gconstpointer params, const GememPlanInput *input, GError **error)
{
  return gemem_boxes_plan (input, ((const GememFitParams *) params)->alignment, 1, place,
                           (gpointer) input, error);
}

const GememPlanner gemem_planner_executorch_greedy = {
  { "executorch-greedy", NULL,
    "ExecuTorch: largest first, in shelves as high as their first tensor",
    "systems/offline-planning.md", gemem_fit_params_in_order, sizeof (GememFitParams), "greedy" },
  0,
  512,
  plan_greedy,
  200
};

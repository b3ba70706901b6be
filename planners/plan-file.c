/* plan-file.c - from a file to a plan of the given input; see plan-file.h.
 *
 * Invariant: rows of a file and lifetimes are matched by id; rows of one id match its lifetimes in
 * time order.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "planners/convert.h"
#include "planners/plan-file-private.h"

/* By time, then by the order of the file. */
static int
compare_begins (gconstpointer a, gconstpointer b)
{
  const GememPlanRow *x = a, *y = b;
  if (x->begin != y->begin)
    return gemem_compare_uint64 (&x->begin, &y->begin);
  return x->number < y->number ? -1 : x->number > y->number;
}

static int
compare_ids (gconstpointer a, gconstpointer b)
{
  const int id = gemem_compare_uint64 (&((const GememPlanRow *) a)->id,
                                       &((const GememPlanRow *) b)->id);

  return id != 0 ? id : compare_begins (a, b);
}

/* The lifetimes as rows; `number` is that of the item. */
static GArray *
rows_of (const GememLifetimes *lifetimes)
{
  GArray *rows = g_array_sized_new (FALSE, FALSE, sizeof (GememPlanRow), lifetimes->items->len);

  for (guint i = 0; i < lifetimes->items->len; i++)
    {
      const GememLifetime *item = gemem_lifetimes_get (lifetimes, i);
      const GememPlanRow row = { item->id,        item->begin,     item->end, item->size,
                                 item->alignment, GEMEM_NO_OFFSET, i };

      g_array_append_val (rows, row);
    }
  return rows;
}

static void
drop_empty (GArray *rows)
{
  guint n = 0;

  for (guint i = 0; i < rows->len; i++)
    if (g_array_index (rows, GememPlanRow, i).size > 0)
      g_array_index (rows, GememPlanRow, n++) = g_array_index (rows, GememPlanRow, i);
  g_array_set_size (rows, n);
}

/* Computes the totals from the offsets if the file has none. */
static void
measure (GememPlan *plan)
{
  if (plan->totals->len > 0)
    return;
  for (guint32 i = 0; i < plan->n_items; i++)
    if (plan->offsets[i] != GEMEM_NO_OFFSET && plan->sizes[i] > 0)
      {
        GememPlanTotal *total = gemem_plan_total (plan, plan->spaces != NULL ? plan->spaces[i] : 0);

        total->bytes = MAX (total->bytes, plan->offsets[i] + plan->sizes[i]);
      }
  for (guint t = 0; t < plan->totals->len; t++)
    plan->arena += g_array_index (plan->totals, GememPlanTotal, t).bytes;
}

/* A plan of @n_items with the other fields of @head. */
static GememPlan *
with_head (const GememPlan *head, guint32 n_items)
{
  GememPlan *plan = gemem_plan_new (head->planner, n_items);

  plan->winner = g_strdup (head->winner);
  plan->lower_bound = head->lower_bound;
  plan->alignment = head->alignment;
  plan->zero_copy = head->zero_copy;
  for (guint i = 0; i < head->totals->len; i++)
    {
      const GememPlanTotal *total = &g_array_index (head->totals, GememPlanTotal, i);

      gemem_plan_add_total (plan, total->space, total->bytes);
    }
  for (guint i = 0; i < head->candidates->len; i++)
    {
      const GememPlanCandidate *candidate = &g_array_index (head->candidates, GememPlanCandidate,
                                                            i);

      gemem_plan_add_candidate (plan, candidate->name, candidate->total);
    }
  g_array_append_vals (plan->segments, head->segments->data, head->segments->len);
  return plan;
}

static gboolean
refuse_pair (const char *path, const GememPlanRow *wanted, const GememPlanRow *found,
             GError **error)
{
  if (found == NULL || found->id != wanted->id)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: has nothing for allocation %" G_GUINT64_FORMAT " of steps %" G_GUINT64_FORMAT
                 " to %" G_GUINT64_FORMAT "; name the input that was planned",
                 path, wanted->id, wanted->begin, wanted->end);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                 "%s: allocation %" G_GUINT64_FORMAT " has %" G_GUINT64_FORMAT
                 " bytes, but %" G_GUINT64_FORMAT " in the input; name the input that was planned",
                 path, wanted->id, found->size, wanted->size);
  return FALSE;
}

/* Lifetimes of one space: merges all totals of the file into it, since planners name it
 * differently. */
static void
join_totals (GememPlan *plan)
{
  const guint64 arena = plan->arena;

  if (plan->totals->len == 0)
    return;
  g_array_set_size (plan->totals, 0);
  plan->arena = 0;
  gemem_plan_add_total (plan, 0, arena);
}

static gboolean
has_spaces (const GememLifetimes *lifetimes)
{
  for (guint i = 0; i < lifetimes->items->len; i++)
    if (gemem_lifetimes_get (lifetimes, i)->space != 0)
      return TRUE;
  return FALSE;
}

/* Matches @rows, none of 0 bytes, with @lifetimes: a plan with their offsets. */
static GememPlan *
match (const char *path, const GememPlan *head, GArray *rows, const GememLifetimes *lifetimes,
       GError **error)
{
  g_autoptr (GArray) wanted = rows_of (lifetimes);
  g_autoptr (GememPlan) plan = with_head (head, lifetimes->items->len);

  drop_empty (wanted);
  g_array_sort (wanted, compare_ids);
  g_array_sort (rows, compare_ids);
  for (guint32 i = 0; i < plan->n_items; i++) /* of 0 bytes: any offset will do */
    plan->offsets[i] = gemem_lifetimes_get (lifetimes, i)->size == 0 ? 0 : plan->offsets[i];
  plan->spaces = g_new0 (guint64, (gsize) plan->n_items + 1);
  for (guint i = 0; i < MAX (wanted->len, rows->len); i++)
    {
      const GememPlanRow *row = i < rows->len ? &g_array_index (rows, GememPlanRow, i) : NULL;
      const GememPlanRow *want = i < wanted->len ? &g_array_index (wanted, GememPlanRow, i) : NULL;

      if (want == NULL)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                       "%s: has %u items, but the input only %u; name the input that was planned",
                       path, rows->len, wanted->len);
          return NULL;
        }
      if (row == NULL || row->id != want->id || row->size != want->size)
        {
          refuse_pair (path, want, row, error);
          return NULL;
        }
      plan->offsets[want->number] = row->offset;
      plan->sizes[want->number] = want->size;
      plan->spaces[want->number] = gemem_lifetimes_get (lifetimes, want->number)->space;
    }
  if (!has_spaces (lifetimes))
    join_totals (plan);
  measure (plan);
  return g_steal_pointer (&plan);
}

/* Reads JSON (by its first byte) or CSV.  The plan has no items if the file fills @rows. */
static GememPlan *
read_file (const char *path, const GememGraph *graph, GArray *rows, GArray *gaps, GError **error)
{
  GememInput *input = gemem_input_open (path, error);
  GememPlan *plan = NULL;
  const guint8 *head;
  gssize n = -1;

  if (input != NULL)
    {
      gemem_input_set_single_pass (input);
      n = gemem_input_fill (input, 1, &head, error);
    }
  if (n > 0 && (head[0] == '{' || g_ascii_isspace (head[0])))
    plan = gemem_plan_read_json (input, graph, rows, gaps, error);
  else if (n >= 0 && gemem_plan_read_csv (input, rows, gaps, error))
    plan = gemem_plan_new (gemem_input_name (input), 0);
  if (input != NULL)
    gemem_input_close (input);
  drop_empty (rows);
  return plan;
}

/* Takes sizes and spaces of the items with an offset from the graph. */
static void
fill_from_graph (GememPlan *plan, const GememGraph *graph)
{
  g_autofree GememPlanPlace *places = NULL;
  g_autoptr (GememLifetimes) lifetimes = gemem_graph_lifetimes (graph, &places);

  plan->spaces = g_new0 (guint64, (gsize) plan->n_items + 1);
  for (guint32 i = 0; i < plan->n_items; i++)
    {
      const guint32 number = places[i].lifetime;

      plan->spaces[i] = gemem_space_unpack (
          number != GEMEM_NONE ? gemem_lifetimes_get (lifetimes, number)->space : 0);
      if (plan->offsets[i] != GEMEM_NO_OFFSET)
        plan->sizes[i] = number != GEMEM_NONE ? places[i].bytes : gemem_graph_item (graph, i).size;
    }
  measure (plan);
}

GememPlan *
gemem_plan_load (const char *path, const GememPlanInput *input, GError **error)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (GememPlanRow));
  g_autoptr (GArray) gaps = g_array_new (FALSE, FALSE, sizeof (GememLifeGap));
  g_autoptr (GememPlan) plan = read_file (path, input->graph, rows, gaps, error);
  g_autoptr (GememPlan) matched = NULL;
  g_autoptr (GememLifetimes) made = NULL;
  g_autofree GememPlanPlace *places = NULL;

  if (plan == NULL)
    return NULL;
  if (input->graph == NULL)
    return match (path, plan, rows, input->lifetimes, error);
  if (rows->len == 0)
    {
      fill_from_graph (plan, input->graph);
      return g_steal_pointer (&plan);
    }
  made = gemem_graph_lifetimes (input->graph, &places);
  matched = match (path, plan, rows, made, error);
  return matched != NULL ? gemem_plan_spread (input->graph, matched, places) : NULL;
}

static int
compare_gaps (gconstpointer a, gconstpointer b)
{
  const GememLifeGap *x = a, *y = b;
  if (x->item != y->item)
    return x->item < y->item ? -1 : 1;
  return gemem_compare_uint64 (&x->begin, &y->begin);
}

/* Gives the @gaps of rows to their lifetimes, which are in the order of @rows. */
static void
take_gaps (GememLifetimes *lifetimes, const GArray *rows, const GArray *gaps)
{
  g_autoptr (GHashTable) items = g_hash_table_new (NULL, NULL); /* number of the row -> item + 1 */

  if (gaps->len == 0)
    return;
  lifetimes->gaps = g_array_new (FALSE, FALSE, sizeof (GememLifeGap));
  for (guint i = 0; i < rows->len; i++)
    g_hash_table_insert (items, GUINT_TO_POINTER (g_array_index (rows, GememPlanRow, i).number),
                         GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < gaps->len; i++)
    {
      GememLifeGap gap = g_array_index (gaps, GememLifeGap, i);
      const guint item = GPOINTER_TO_UINT (
          g_hash_table_lookup (items, GUINT_TO_POINTER (gap.item)));

      gap.item = item - 1;
      if (item > 0) /* rows of 0 bytes are gone */
        g_array_append_val (lifetimes->gaps, gap);
    }
  g_array_sort (lifetimes->gaps, compare_gaps);
}

GememPlan *
gemem_plan_load_items (const char *path, GememLifetimes **lifetimes, GError **error)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (GememPlanRow));
  g_autoptr (GArray) gaps = g_array_new (FALSE, FALSE, sizeof (GememLifeGap));
  g_autoptr (GememPlan) head = read_file (path, NULL, rows, gaps, error);
  g_autofree char *name = g_path_get_basename (path);
  GememPlan *plan;

  if (head == NULL)
    return NULL;
  *lifetimes = gemem_lifetimes_new (name);
  g_array_sort (rows, compare_begins);
  for (guint i = 0; i < rows->len; i++)
    {
      const GememPlanRow *row = &g_array_index (rows, GememPlanRow, i);
      GememLifetime *item;

      gemem_lifetimes_add (*lifetimes, row->begin, row->end, row->size);
      item = gemem_lifetimes_get (*lifetimes, i);
      item->id = row->id;
      item->alignment = row->alignment;
    }
  take_gaps (*lifetimes, rows, gaps);
  plan = match (path, head, rows, *lifetimes, error);
  if (plan == NULL)
    g_clear_pointer (lifetimes, gemem_lifetimes_free);
  return plan;
}

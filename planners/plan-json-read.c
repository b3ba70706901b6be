/* plan-json-read.c - reads plans from JSON; see plan-file.h.
 *
 * Only offsets are required; totals in the file must be consistent.  Cost: linear in the file,
 * which is held whole. */
#include "config.h"

#include <string.h>

#include "base/io/json-tree.h"
#include "planners/plan-file-private.h"

enum
{
  FIELD_SCHEMA,
  FIELD_VERSION,
  FIELD_PLANNER,
  FIELD_INPUT,
  FIELD_ARENA,
  FIELD_LOWER_BOUND,
  FIELD_ALIGNMENT,
  FIELD_LEAST,
  FIELD_WINNER,
  FIELD_CANDIDATES,
  FIELD_FEATURE_MAP,
  FIELD_ZERO_COPY,
  FIELD_TOTALS,
  FIELD_SEGMENTS,
  FIELD_BATCH_PARTS,
  FIELD_CLEARS_APART,
  FIELD_MEMSETS,
  FIELD_OUTPUTS,
  FIELD_WORKSPACES,
  FIELD_ITEMS,
  FIELD_ADDRESSES, /* for people */
  N_FIELDS
};

static const char *const fields[N_FIELDS + 1] = { "schema",
                                                  "version",
                                                  "planner",
                                                  "input",
                                                  "arena",
                                                  "lower_bound",
                                                  "alignment",
                                                  "least",
                                                  "winner",
                                                  "candidates",
                                                  "feature_map_plus_tail",
                                                  "zero_copy",
                                                  "totals",
                                                  "segments",
                                                  "batch_parts",
                                                  "clears_apart",
                                                  "memsets",
                                                  "outputs",
                                                  "workspaces",
                                                  "items",
                                                  "addresses",
                                                  NULL };

/* Reads an integer below 2^62, the limit of offsets and sizes. */
static gboolean
read_number (const GememJsonTree *tree, guint32 entry, guint64 *value, GError **error)
{
  gint64 number = 0;

  if (!gemem_json_tree_int (tree, entry, 0, &number, error))
    return FALSE;
  *value = (guint64) number;
  return *value < GEMEM_PLAN_MAX
         || gemem_json_tree_fail (tree, entry, error, "is too large; plans end below 2^62");
}

/* Reads the number if @entry is not 0 (not in the file). */
static gboolean
read_optional (const GememJsonTree *tree, guint32 entry, guint64 *value, GError **error)
{
  return entry == 0 || read_number (tree, entry, value, error);
}

static gboolean
read_offset (const GememJsonTree *tree, guint32 entry, guint64 *offset, GError **error)
{
  if (gemem_json_tree_token (tree, entry) != GEMEM_JSON_NULL)
    return read_number (tree, entry, offset, error);
  *offset = GEMEM_NO_OFFSET;
  return TRUE;
}

/* "0x11" */
static gboolean
parse_space (const GememJsonTree *tree, guint32 entry, const char *text, guint64 *space,
             GError **error)
{
  const gsize digits = g_str_has_prefix (text, "0x") ? strspn (text + 2, "0123456789abcdefABCDEF")
                                                     : 0;

  if (digits == 0 || digits > 16 || text[2 + digits] != '\0')
    return gemem_json_tree_fail (tree, entry, error, "'%s' is no memory type; write it as \"0x2\"",
                                 text);
  *space = g_ascii_strtoull (text + 2, NULL, 16);
  return TRUE;
}

/* ---- other results of the planner */

static gboolean
read_head (const GememJsonTree *tree, const guint32 *at, GememPlan *plan, GError **error)
{
  const char *text;
  guint64 version = GEMEM_PLAN_VERSION;

  if (at[FIELD_SCHEMA] != 0 && !gemem_json_tree_string (tree, at[FIELD_SCHEMA], &text, error))
    return FALSE;
  if (at[FIELD_SCHEMA] != 0 && strcmp (text, GEMEM_PLAN_SCHEMA) != 0)
    return gemem_json_tree_fail (tree, at[FIELD_SCHEMA], error,
                                 "'%s' is not \"" GEMEM_PLAN_SCHEMA "\"; this is no plan", text);
  if (!read_optional (tree, at[FIELD_VERSION], &version, error))
    return FALSE;
  if (version != GEMEM_PLAN_VERSION)
    return gemem_json_tree_fail (tree, at[FIELD_VERSION], error,
                                 "this gemem knows version %d; use a newer gemem",
                                 GEMEM_PLAN_VERSION);
  if (at[FIELD_PLANNER] != 0)
    {
      if (!gemem_json_tree_string (tree, at[FIELD_PLANNER], &text, error))
        return FALSE;
      g_free (plan->planner);
      plan->planner = g_strdup (text);
    }
  if (at[FIELD_WINNER] != 0)
    {
      if (!gemem_json_tree_string (tree, at[FIELD_WINNER], &text, error))
        return FALSE;
      plan->winner = g_strdup (text);
    }
  return read_optional (tree, at[FIELD_LOWER_BOUND], &plan->lower_bound, error)
         && read_optional (tree, at[FIELD_ALIGNMENT], &plan->alignment, error)
         && read_optional (tree, at[FIELD_ZERO_COPY], &plan->zero_copy, error);
}

static gboolean
read_candidates (const GememJsonTree *tree, guint32 list, GememPlan *plan, GError **error)
{
  if (list == 0)
    return TRUE;
  if (!gemem_json_tree_is (tree, list, GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 pair = gemem_json_tree_first (tree, list); pair != 0;
       pair = gemem_json_tree_next (tree, list, pair))
    {
      const guint32 name = gemem_json_tree_first (tree, pair),
                    total = name != 0 ? gemem_json_tree_next (tree, pair, name) : 0;
      const char *text;
      guint64 bytes;

      if (total == 0 || gemem_json_tree_next (tree, pair, total) != 0)
        return gemem_json_tree_fail (tree, pair, error, "a candidate is [name, total]");
      if (!gemem_json_tree_string (tree, name, &text, error)
          || !read_number (tree, total, &bytes, error))
        return FALSE;
      gemem_plan_add_candidate (plan, text, bytes);
    }
  return TRUE;
}

static gboolean
read_totals (const GememJsonTree *tree, const guint32 *at, GememPlan *plan, GError **error)
{
  guint64 arena = 0;

  if (!read_optional (tree, at[FIELD_ARENA], &arena, error))
    return FALSE;
  if (at[FIELD_TOTALS] == 0)
    return TRUE; /* computed from the offsets later */
  if (!gemem_json_tree_is (tree, at[FIELD_TOTALS], GEMEM_JSON_BEGIN_OBJECT, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (tree, at[FIELD_TOTALS]); i != 0;
       i = gemem_json_tree_next (tree, at[FIELD_TOTALS], i))
    {
      guint64 space, bytes;

      if (!parse_space (tree, i, gemem_json_tree_key (tree, i), &space, error)
          || !read_number (tree, i, &bytes, error))
        return FALSE;
      for (guint t = 0; t < plan->totals->len; t++)
        if (g_array_index (plan->totals, GememPlanTotal, t).space == space)
          return gemem_json_tree_fail (tree, i, error, "the same memory type twice");
      gemem_plan_add_total (plan, space, bytes);
      if (plan->arena >= GEMEM_PLAN_MAX)
        return gemem_json_tree_fail (tree, i, error, "the totals add up to more than 2^62");
    }
  if (at[FIELD_ARENA] != 0 && arena != plan->arena)
    return gemem_json_tree_fail (
        tree, at[FIELD_ARENA], error,
        "%" G_GUINT64_FORMAT ", but the totals add up to %" G_GUINT64_FORMAT, arena, plan->arena);
  return TRUE;
}

/* Finds the entries of an object with exactly the members @names, in their order. */
static gboolean
find_all (const GememJsonTree *tree, guint32 entry, const char *const *names, guint32 *at,
          GError **error)
{
  if (!gemem_json_tree_fields (tree, entry, names, at, error))
    return FALSE;
  for (guint i = 0; names[i] != NULL; i++)
    if (at[i] == 0)
      return gemem_json_tree_fail (tree, entry, error, "%s is missing", names[i]);
  return TRUE;
}

static gboolean
read_range (const GememJsonTree *tree, const guint32 *at, guint64 *space, guint64 *base,
            guint64 *size, GError **error)
{
  const char *text;

  return gemem_json_tree_string (tree, at[0], &text, error)
         && parse_space (tree, at[0], text, space, error) && read_number (tree, at[1], base, error)
         && read_number (tree, at[2], size, error);
}

static gboolean
add_batch_part (const GememJsonTree *tree, guint32 entry, GememPlan *plan, GError **error)
{
  static const char *const names[] = { "space", "base", "size", NULL };
  guint32 at[G_N_ELEMENTS (names)];
  GememPlanPart part;

  if (!find_all (tree, entry, names, at, error)
      || !read_range (tree, at, &part.space, &part.base, &part.size, error))
    return FALSE;
  g_array_append_val (plan->batch_parts, part);
  return TRUE;
}

static gboolean
add_memset (const GememJsonTree *tree, guint32 entry, GememPlan *plan, GError **error)
{
  static const char *const names[] = { "node", "space", "base", "size", NULL };
  guint32 at[G_N_ELEMENTS (names)];
  const char *node;
  guint64 space, base, size;

  if (!find_all (tree, entry, names, at, error)
      || !gemem_json_tree_string (tree, at[0], &node, error)
      || !read_range (tree, at + 1, &space, &base, &size, error))
    return FALSE;
  gemem_plan_add_memset (plan, node, space, base, size);
  return TRUE;
}

static gboolean
add_segment (const GememJsonTree *tree, guint32 entry, GememPlan *plan, GError **error)
{
  static const char *const names[] = { "space", "base", "size", "fixed", "zero_copy", NULL };
  guint32 at[G_N_ELEMENTS (names)];
  GememPlanSegment segment;

  if (!find_all (tree, entry, names, at, error)
      || !read_range (tree, at, &segment.space, &segment.base, &segment.size, error)
      || !gemem_json_tree_bool (tree, at[3], &segment.fixed, error)
      || !gemem_json_tree_bool (tree, at[4], &segment.zero_copy, error))
    return FALSE;
  g_array_append_val (plan->segments, segment);
  return TRUE;
}

/* Reads the entries of @list, none if it is 0 (not in the file), with @add. */
static gboolean
read_list (const GememJsonTree *tree, guint32 list, GememPlan *plan,
           gboolean (*add) (const GememJsonTree *, guint32, GememPlan *, GError **), GError **error)
{
  if (list == 0)
    return TRUE;
  if (!gemem_json_tree_is (tree, list, GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (tree, list); i != 0;
       i = gemem_json_tree_next (tree, list, i))
    if (!add (tree, i, plan, error))
      return FALSE;
  return TRUE;
}

/* ---- offsets */

/* A list of exactly @n offsets. */
static gboolean
read_offsets (const GememJsonTree *tree, guint32 list, guint64 *offsets, guint32 n, GError **error)
{
  guint32 i = 0;

  if (!gemem_json_tree_is (tree, list, GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 entry = gemem_json_tree_first (tree, list); entry != 0;
       entry = gemem_json_tree_next (tree, list, entry), i++)
    if (i < n && offsets[i] != GEMEM_NO_OFFSET)
      return gemem_json_tree_fail (tree, list, error, "given twice");
    else if (i < n && !read_offset (tree, entry, &offsets[i], error))
      return FALSE;
  return i == n
         || gemem_json_tree_fail (
             tree, list, error, "%u offsets, but the graph has %u; name the graph that was planned",
             i, n);
}

/* Reads {node: [offset...]} into the items of the graph. */
static gboolean
read_nodes (const GememJsonTree *tree, guint32 object, const GememGraph *graph, gboolean workspaces,
            GememPlan *plan, GError **error)
{
  if (object == 0)
    return TRUE;
  if (!gemem_json_tree_is (tree, object, GEMEM_JSON_BEGIN_OBJECT, error))
    return FALSE;
  for (guint32 list = gemem_json_tree_first (tree, object); list != 0;
       list = gemem_json_tree_next (tree, object, list))
    {
      const guint32 id = gemem_graph_find_node (graph, gemem_json_tree_key (tree, list));
      const GememNode *node = id != GEMEM_NONE ? gemem_graph_node (graph, id) : NULL;
      guint32 item, n;

      if (node == NULL)
        return gemem_json_tree_fail (tree, list, error,
                                     "graph '%s' has no such node; name the graph that was planned",
                                     gemem_graph_name (graph));
      item = workspaces ? gemem_node_workspace_item (node, 0) : gemem_node_output_item (node, 0);
      n = workspaces ? node->n_workspaces : node->n_outputs;
      if (!read_offsets (tree, list, plan->offsets + item, n, error))
        return FALSE;
    }
  return TRUE;
}

#define ITEM_SHAPE \
  "an item is [id, begin, end, size, offset], then its alignment and a list of gaps, if any"
#define GAP_SHAPE "a gap is [begin, end, low, high], after the one before and within the item"

/* Reads [[begin, end, low, high]...] of the item @row. */
static gboolean
read_gaps (const GememJsonTree *tree, guint32 list, const GememPlanRow *row, GArray *gaps,
           GError **error)
{
  guint64 from = row->begin;

  if (!gemem_json_tree_is (tree, list, GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 entry = gemem_json_tree_first (tree, list); entry != 0;
       entry = gemem_json_tree_next (tree, list, entry))
    {
      GememLifeGap gap = { .item = row->number };
      guint64 *const places[] = { &gap.begin, &gap.end, &gap.low, &gap.high };
      guint i = 0;

      if (!gemem_json_tree_is (tree, entry, GEMEM_JSON_BEGIN_ARRAY, error))
        return FALSE;
      for (guint32 number = gemem_json_tree_first (tree, entry); number != 0;
           number = gemem_json_tree_next (tree, entry, number), i++)
        if (i < G_N_ELEMENTS (places) && !read_number (tree, number, places[i], error))
          return FALSE;
      if (i != G_N_ELEMENTS (places) || gap.begin < from || gap.begin >= gap.end
          || gap.end > row->end || gap.low > gap.high || gap.high > row->size)
        return gemem_json_tree_fail (tree, entry, error, GAP_SHAPE);
      from = gap.end;
      g_array_append_val (gaps, gap);
    }
  return TRUE;
}

/* Reads the alignment at *@entry, if that is a number, and goes on to what is behind it. */
static gboolean
read_alignment (const GememJsonTree *tree, guint32 list, guint32 *entry, GememPlanRow *row,
                GError **error)
{
  if (*entry == 0 || gemem_json_tree_token (tree, *entry) == GEMEM_JSON_BEGIN_ARRAY)
    return TRUE;
  if (!read_number (tree, *entry, &row->alignment, error))
    return FALSE;
  if (row->alignment == 0)
    return gemem_json_tree_fail (tree, *entry, error, "an alignment is 1 or more");
  *entry = gemem_json_tree_next (tree, list, *entry);
  return TRUE;
}

/* Reads [id, begin, end, size, offset], and the alignment and the gaps behind. */
static gboolean
read_item (const GememJsonTree *tree, guint32 list, GememPlanRow *row, GArray *gaps, GError **error)
{
  guint64 *const places[] = { &row->id, &row->begin, &row->end, &row->size, &row->offset };
  guint32 entry;
  guint i = 0;

  if (!gemem_json_tree_is (tree, list, GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (entry = gemem_json_tree_first (tree, list); entry != 0 && i < G_N_ELEMENTS (places);
       entry = gemem_json_tree_next (tree, list, entry), i++)
    if (i == 4 ? !read_offset (tree, entry, places[i], error)
               : !read_number (tree, entry, places[i], error))
      return FALSE;
  if (i != G_N_ELEMENTS (places))
    return gemem_json_tree_fail (tree, list, error, ITEM_SHAPE);
  if (!read_alignment (tree, list, &entry, row, error))
    return FALSE;
  if (entry != 0 && gemem_json_tree_next (tree, list, entry) != 0)
    return gemem_json_tree_fail (tree, list, error, ITEM_SHAPE);
  if (row->begin >= row->end)
    return gemem_json_tree_fail (tree, list, error,
                                 "ends at %" G_GUINT64_FORMAT ", not after its begin", row->end);
  return entry == 0 || read_gaps (tree, entry, row, gaps, error);
}

static gboolean
read_items (const GememJsonTree *tree, guint32 list, GArray *rows, GArray *gaps, GError **error)
{
  if (!gemem_json_tree_is (tree, list, GEMEM_JSON_BEGIN_ARRAY, error))
    return FALSE;
  for (guint32 i = gemem_json_tree_first (tree, list); i != 0;
       i = gemem_json_tree_next (tree, list, i))
    {
      GememPlanRow row = { .number = rows->len };

      if (!read_item (tree, i, &row, gaps, error))
        return FALSE;
      g_array_append_val (rows, row);
    }
  return TRUE;
}

static gboolean
read_plan (const GememJsonTree *tree, const GememGraph *graph, GememPlan *plan, GArray *rows,
           GArray *gaps, GError **error)
{
  guint32 at[N_FIELDS];

  if (!gemem_json_tree_fields (tree, 0, fields, at, error) || !read_head (tree, at, plan, error)
      || !read_candidates (tree, at[FIELD_CANDIDATES], plan, error)
      || !read_totals (tree, at, plan, error)
      || !read_list (tree, at[FIELD_SEGMENTS], plan, add_segment, error)
      || !read_list (tree, at[FIELD_BATCH_PARTS], plan, add_batch_part, error)
      || (at[FIELD_CLEARS_APART] != 0
          && !gemem_json_tree_bool (tree, at[FIELD_CLEARS_APART], &plan->clears_apart, error))
      || !read_list (tree, at[FIELD_MEMSETS], plan, add_memset, error))
    return FALSE;
  if (at[FIELD_ITEMS] != 0 && at[FIELD_OUTPUTS] == 0 && at[FIELD_WORKSPACES] == 0)
    return read_items (tree, at[FIELD_ITEMS], rows, gaps, error);
  if (at[FIELD_ITEMS] != 0 || at[FIELD_OUTPUTS] == 0)
    return gemem_json_tree_fail (tree, 0, error,
                                 "a plan has outputs (of a graph) or items (of a trace)");
  if (graph == NULL)
    return gemem_json_tree_fail (tree, at[FIELD_OUTPUTS], error,
                                 "the plan of a graph; name the graph behind it");
  return read_nodes (tree, at[FIELD_OUTPUTS], graph, FALSE, plan, error)
         && read_nodes (tree, at[FIELD_WORKSPACES], graph, TRUE, plan, error);
}

GememPlan *
gemem_plan_read_json (GememInput *input, const GememGraph *graph, GArray *rows, GArray *gaps,
                      GError **error)
{
  g_autoptr (GememJsonTree) tree = gemem_json_tree_load (input, error);
  g_autoptr (GememPlan) plan = gemem_plan_new (gemem_input_name (input),
                                               graph != NULL ? gemem_graph_n_items (graph) : 0);

  return tree != NULL && read_plan (tree, graph, plan, rows, gaps, error) ? g_steal_pointer (&plan)
                                                                          : NULL;
}

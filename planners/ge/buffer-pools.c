/* buffer-pools.c - pools whose layout the graph specifies: nodes lie at fixed offsets in them.
 *
 * Pools lie behind the feature map, 512 bytes apart; those of different batch labels overlay each
 * other.  The outputs of a node lie one after another from its offset.
 * Cost: O(n log n) in nodes with a pool.  Origin: ge-static.md 7.7.
 */
#include "config.h"

#include "planners/ge/anchors.h"
#include "planners/ge/ge-private.h"

typedef struct
{
  gint32 label;
  gint64 id;
  guint64 size, base;
} Pool;

static gint
compare_pools (gconstpointer x, gconstpointer y)
{
  const Pool *a = x, *b = y;

  if (a->label != b->label)
    return a->label < b->label ? -1 : 1;
  return a->id < b->id ? -1 : a->id > b->id;
}

/* Reads the pool that @id names; FALSE: none. */
static gboolean
pool_of (const GeModel *model, guint32 id, Pool *pool)
{
  const GememAttributes attributes = gemem_graph_node (model->graph, id)->attributes;
  gint64 size = 0;

  if ((model->nodes[id].kind & GE_BUFFER_POOL) == 0)
    return FALSE;
  *pool = (Pool){ .label = model->nodes[id].label };
  gemem_graph_int (model->graph, attributes, GEMEM_ATTRIBUTE_BUFFER_POOL_ID, &pool->id);
  gemem_graph_int (model->graph, attributes, GEMEM_ATTRIBUTE_BUFFER_POOL_SIZE, &size);
  pool->size = (guint64) MAX (size, 0);
  return TRUE;
}

/* One entry per pool, in order, with the maximum of the sizes that its nodes name. */
static GArray *
collect_pools (const GeModel *model)
{
  GArray *pools = g_array_new (FALSE, FALSE, sizeof (Pool));
  guint kept = 0;
  Pool pool;

  for (guint32 id = 0; id < model->n_nodes; id++)
    if (pool_of (model, id, &pool))
      g_array_append_val (pools, pool);
  g_array_sort (pools, compare_pools);
  for (guint i = 0; i < pools->len; i++)
    {
      const Pool *next = &g_array_index (pools, Pool, i);
      Pool *last = kept > 0 ? &g_array_index (pools, Pool, kept - 1) : NULL;

      if (last != NULL && compare_pools (last, next) == 0)
        last->size = MAX (last->size, next->size);
      else
        g_array_index (pools, Pool, kept++) = *next;
    }
  g_array_set_size (pools, kept);
  return pools;
}

static void
place_in_pool (GeAssigner *a, guint32 id, const Pool *pool)
{
  const GememNode *node = gemem_graph_node (a->model->graph, id);
  gint64 inner = 0;
  guint64 offset;

  gemem_graph_int (a->model->graph, node->attributes, GEMEM_ATTRIBUTE_BUFFER_POOL_OFFSET, &inner);
  offset = pool->base + (guint64) MAX (inner, 0);
  for (guint32 t = node->first_output; t < node->first_output + node->n_outputs; t++)
    {
      gemem_ge_place_output (a, t, offset, GE_SPACE_HBM, gemem_ge_tensor_size (a->model, t));
      offset += ge_align (gemem_ge_tensor_size (a->model, t));
    }
}

void
gemem_ge_buffer_pools_place (GeAssigner *a)
{
  g_autoptr (GArray) pools = collect_pools (a->model);
  const guint64 start = ge_align (a->counters[GE_SPACE_HBM]) + GE_ALIGN;
  guint64 running = start;
  Pool pool;

  for (guint i = 0; i < pools->len; i++)
    {
      Pool *at = &g_array_index (pools, Pool, i);

      if (i == 0 || g_array_index (pools, Pool, i - 1).label != at->label)
        running = start;
      at->base = running;
      running += ge_align (at->size) + GE_ALIGN;
      a->counters[GE_SPACE_HBM] = MAX (a->counters[GE_SPACE_HBM], running);
    }
  for (guint32 id = 0; id < a->model->n_nodes && pools->len > 0; id++)
    {
      guint at;

      if (pool_of (a->model, id, &pool) && g_array_binary_search (pools, &pool, compare_pools, &at))
        place_in_pool (a, id, &g_array_index (pools, Pool, at));
    }
}

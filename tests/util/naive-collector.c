/* naive-collector.c - see naive-collector.h. */
#include "config.h"

#include <string.h>

#include "base/rules.h"
#include "graphs/meaning.h"
#include "tests/util/naive-collector.h"

struct _NaiveCollector
{
  const GememLower *lower;
  const GememLowerPaddle *p;
  const guint32 *running;
  guint32 n;
  gboolean *spared;     /* by storage */
  guint32 *came, *gone; /* by storage */
  GArray *garbage;      /* guint32 */
  guint64 sum;
  GArray *waiting; /* guint32: workspaces released, in order */
  guint32 *block;  /* by workspace: the workspace whose memory it reuses */
};

/* ---- 5.3 */

static gboolean
uses (const NaiveCollector *c, guint32 id, guint32 i, gboolean *writes)
{
  const GememNode *node = gemem_graph_node (c->lower->graph, id);
  gboolean found = FALSE;

  *writes = FALSE;
  for (guint32 o = 0; o < node->n_outputs; o++)
    *writes |= c->lower->storage_of[gemem_node_output_item (node, o)] == i;
  for (guint32 k = 0; k < node->n_inputs; k++)
    {
      const guint32 slot = gemem_lower_input_slot (c->lower->graph,
                                                   &gemem_graph_inputs (c->lower->graph, id)[k]);
      found |= slot != GEMEM_NONE && c->lower->storage_of[slot] == i;
    }
  return found || *writes;
}

static gboolean
has_edge (const GememGraph *graph, guint32 from, guint32 to)
{
  const GememNode *node = gemem_graph_node (graph, to);

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 tensor = gemem_graph_inputs (graph, to)[i].tensor;
      if (tensor != GEMEM_NONE && gemem_graph_tensor (graph, tensor)->node == from)
        return TRUE;
    }
  for (guint32 k = 0; k < node->n_controls; k++)
    if (gemem_graph_controls (graph, to)[k] == from)
      return TRUE;
  return FALSE;
}

/* Reachability [from * n + to], by slots. */
static gboolean *
reachable (const NaiveCollector *c)
{
  gboolean *reach = g_new0 (gboolean, (gsize) c->n * c->n + 1);

  for (guint32 a = 0; a < c->n; a++)
    for (guint32 b = a + 1; b < c->n; b++)
      reach[a * c->n + b] = has_edge (c->lower->graph, c->running[a], c->running[b]);
  for (guint32 via = 0; via < c->n; via++)
    for (guint32 a = 0; a < via; a++)
      for (guint32 b = via + 1; b < c->n && reach[a * c->n + via]; b++)
        reach[a * c->n + b] |= reach[via * c->n + b];
  return reach;
}

typedef struct
{
  guint64 size;
  guint32 node, storage;
} Entry;

static int
compare (gconstpointer a, gconstpointer b)
{
  const Entry *x = a, *y = b;

  if (x->size != y->size)
    return x->size > y->size ? -1 : 1;
  if (x->node != y->node)
    return x->node < y->node ? -1 : 1;
  return (x->storage > y->storage) - (x->storage < y->storage);
}

/* The bytes that the dimensions say, where known. */
static guint64
described (const NaiveCollector *c, const GememStorage *storage)
{
  const GememGraph *graph = c->lower->graph;

  for (guint32 t = 0; t < gemem_graph_n_tensors (graph); t++)
    if (gemem_graph_tensor_item (graph, t) + 1 == storage->id)
      return gemem_graph_unpadded_size (graph, t);
  return storage->size;
}

static void
add_entries (const NaiveCollector *c, const gboolean *reach, guint32 i, GArray *entries)
{
  const GememStorage *storage = gemem_lower_storage (c->lower, i);
  gboolean writes;
  guint32 begin = 0;

  for (guint32 r = 0; r < c->n; r++)
    if (uses (c, c->running[r], i, &writes) && writes)
      begin = r;
  for (guint32 r = begin; r < c->n; r++)
    {
      const Entry entry = { described (c, storage), c->running[r], i };
      gboolean before = FALSE;

      for (guint32 later = r + 1; later < c->n; later++)
        before |= reach[r * c->n + later] && uses (c, c->running[later], i, &writes);
      if (uses (c, c->running[r], i, &writes) && !before)
        g_array_append_val (entries, entry);
    }
}

/* The first entry of each tensor, which come one after another. */
static void
keep_one_each (GArray *entries)
{
  for (guint e = entries->len; e-- > 1;)
    if (g_array_index (entries, Entry, e).storage == g_array_index (entries, Entry, e - 1).storage)
      g_array_remove_index (entries, e);
}

static void
spare (NaiveCollector *c)
{
  g_autoptr (GArray) entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  g_autofree gboolean *reach = reachable (c);
  const gboolean by_number = c->p->rules == GEMEM_RULES_DOCUMENTED;
  guint64 total = 0, taken = 0;

  for (guint32 i = 0; i < c->lower->storages->len; i++)
    {
      const GememStorage *storage = gemem_lower_storage (c->lower, i);

      if (!storage->kept && !storage->workspace
          && storage->end <= gemem_graph_n_nodes (c->lower->graph))
        add_entries (c, reach, i, entries);
    }
  if (by_number)
    keep_one_each (entries);
  g_array_sort (entries, compare);
  for (guint e = 0; e < entries->len; e++)
    total += by_number ? 1 : g_array_index (entries, Entry, e).size;
  for (guint e = 0; e < entries->len; e++)
    {
      const Entry *entry = &g_array_index (entries, Entry, e);

      if (taken >= (guint64) (gint64) (c->p->fraction * (double) total))
        c->spared[entry->storage] = TRUE;
      taken += by_number ? 1 : entry->size;
    }
}

/* ---- 5.1 */

static guint32
slot_of_release (const NaiveCollector *c, guint32 slot)
{
  /* id of the node before which the storage is freed */
  const guint64 due = (guint64) c->running[slot] + 1 + c->p->host_ahead;

  if (c->p->fast_eager_deletion_mode)
    return slot;
  while (slot < c->n && c->running[slot] < due)
    slot++;
  return slot;
}

void
naive_collector_add (NaiveCollector *c, guint32 i, guint64 size)
{
  if (gemem_lower_storage (c->lower, i)->workspace || c->p->threshold < 0 || c->spared[i])
    return;
  while (size % c->p->unit != 0)
    size++;
  g_array_append_val (c->garbage, i);
  c->sum += size + c->p->extra;
}

void
naive_collector_end_node (NaiveCollector *c, guint32 slot)
{
  if (c->p->threshold > 1 && c->sum < (guint64) c->p->threshold)
    return;
  for (guint g = 0; g < c->garbage->len; g++)
    c->gone[g_array_index (c->garbage, guint32, g)] = slot_of_release (c, slot);
  g_array_set_size (c->garbage, 0);
  c->sum = 0;
}

/* The collector ends and frees the rest of the garbage; workspaces are freed when the host waits
 * for the stream. */
void
naive_collector_end (NaiveCollector *c)
{
  for (guint g = 0; g < c->garbage->len; g++)
    c->gone[g_array_index (c->garbage, guint32, g)] = c->n;
  for (guint w = 0; w < c->waiting->len; w++)
    c->gone[g_array_index (c->waiting, guint32, w)] = c->n;
}

/* ---- 4 */

static guint64
size_of (const NaiveCollector *c, guint32 block)
{
  return gemem_lower_storage (c->lower, block)->size + c->p->extra;
}

static void
take (NaiveCollector *c, guint32 i, guint32 slot)
{
  const GememStorage *wanted = gemem_lower_storage (c->lower, i);
  guint best = c->waiting->len;

  for (guint w = 0; w < c->waiting->len; w++)
    {
      const guint32 block = g_array_index (c->waiting, guint32, w);

      if (gemem_lower_storage (c->lower, block)->stream == wanted->stream
          && size_of (c, block) >= wanted->size
          && (best == c->waiting->len
              || size_of (c, block) < size_of (c, g_array_index (c->waiting, guint32, best))))
        best = w;
    }
  c->block[i] = i;
  /* as documented the bound itself is within */
  if (best < c->waiting->len
      && size_of (c, g_array_index (c->waiting, guint32, best))
             < (guint64) ((double) wanted->size * c->p->times_excess)
                   + (c->p->rules == GEMEM_RULES_DOCUMENTED))
    {
      c->block[i] = g_array_index (c->waiting, guint32, best);
      g_array_remove_index (c->waiting, best);
    }
  else
    c->came[i] = slot;
}

static void
give (NaiveCollector *c, guint32 block, guint32 slot)
{
  const guint64 stream = gemem_lower_storage (c->lower, block)->stream;
  /* as built 0 is no limit either */
  const gboolean limited = c->p->limit_of_tmp_allocation
                           > (c->p->rules == GEMEM_RULES_DOCUMENTED ? -1 : 0);
  guint64 sum = 0;

  g_array_append_val (c->waiting, block);
  for (guint w = 0; w < c->waiting->len; w++)
    if (gemem_lower_storage (c->lower, g_array_index (c->waiting, guint32, w))->stream == stream)
      sum += size_of (c, g_array_index (c->waiting, guint32, w));
  for (guint w = c->waiting->len;
       w-- > 0 && limited && sum > (guint64) c->p->limit_of_tmp_allocation;)
    if (gemem_lower_storage (c->lower, g_array_index (c->waiting, guint32, w))->stream == stream)
      {
        c->gone[g_array_index (c->waiting, guint32, w)] = slot;
        g_array_remove_index (c->waiting, w);
      }
}

void
naive_collector_workspaces (NaiveCollector *c, guint32 slot)
{
  const GememNode *node = gemem_graph_node (c->lower->graph, c->running[slot]);

  for (guint32 w = 0; w < node->n_workspaces; w++)
    if (c->lower->storage_of[gemem_node_workspace_item (node, w)] != GEMEM_NONE)
      take (c, c->lower->storage_of[gemem_node_workspace_item (node, w)], slot);
  for (guint32 w = 0; w < node->n_workspaces; w++)
    if (c->lower->storage_of[gemem_node_workspace_item (node, w)] != GEMEM_NONE)
      give (c, c->block[c->lower->storage_of[gemem_node_workspace_item (node, w)]], slot);
}

/* ---- life */

NaiveCollector *
naive_collector_new (const GememLower *lower, const GememLowerPaddle *params,
                     const guint32 *running, guint32 n)
{
  NaiveCollector *c = g_new0 (NaiveCollector, 1);
  const gsize n_storages = (gsize) lower->storages->len + 1;

  c->lower = lower;
  c->p = params;
  c->running = running;
  c->n = n;
  c->spared = g_new0 (gboolean, n_storages);
  c->came = g_new0 (guint32, n_storages);
  c->gone = g_new0 (guint32, n_storages);
  c->block = g_new0 (guint32, n_storages);
  c->garbage = g_array_new (FALSE, FALSE, sizeof (guint32));
  c->waiting = g_array_new (FALSE, FALSE, sizeof (guint32));
  if (params->fraction < 1)
    spare (c);
  return c;
}

void
naive_collector_free (NaiveCollector *c)
{
  g_free (c->spared);
  g_free (c->came);
  g_free (c->gone);
  g_free (c->block);
  g_array_unref (c->garbage);
  g_array_unref (c->waiting);
  g_free (c);
}

/* Storage that is not collected is freed with the scope; a workspace that only its node uses is
 * freed with the node. */
void
naive_collector_begin (NaiveCollector *c)
{
  for (guint32 i = 0; i < c->lower->storages->len; i++)
    {
      const GememStorage *storage = gemem_lower_storage (c->lower, i);

      c->came[i] = GEMEM_NONE;
      c->gone[i] = c->n + 1;
      for (guint32 r = 0; r < c->n && storage->workspace && !c->p->temporary; r++)
        if (c->running[r] + 1 == storage->end)
          c->gone[i] = r;
    }
  g_array_set_size (c->garbage, 0);
  g_array_set_size (c->waiting, 0);
  c->sum = 0;
}

guint32
naive_collector_gone (const NaiveCollector *c, guint32 i)
{
  return c->gone[i];
}

guint32
naive_collector_came (const NaiveCollector *c, guint32 i)
{
  return c->came[i];
}

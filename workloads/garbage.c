/* garbage.c - see garbage.h. */
#include "config.h"

#include "workloads/garbage.h"

static void
collect (GememGarbage *garbage, GememLower *lower)
{
  for (guint i = 0; i < garbage->queue->len; i++)
    garbage->release (lower, g_array_index (garbage->queue, guint32, i));
  gemem_garbage_forget (garbage);
}

/* Tests the threshold once per node, with the node's last piece of garbage. */
static gboolean
more_from_this_node (const GememLower *lower)
{
  return lower->ended + 1 < lower->n_ending
         && gemem_lower_storage (lower, lower->ending[lower->ended + 1])->end == lower->moment;
}

void
gemem_garbage_add (GememGarbage *garbage, GememLower *lower, guint32 storage)
{
  if (garbage->spared == NULL || !garbage->spared[storage])
    {
      const guint64 size = gemem_lower_storage (lower, storage)->size;

      g_array_append_val (garbage->queue, storage);
      garbage->sum += gemem_round_up (size, garbage->unit) + garbage->extra;
    }
  if (!more_from_this_node (lower) && garbage->queue->len > 0
      && (garbage->threshold <= 1 || garbage->sum >= garbage->threshold))
    collect (garbage, lower);
}

void
gemem_garbage_forget (GememGarbage *garbage)
{
  g_array_set_size (garbage->queue, 0);
  garbage->sum = 0;
}

void
gemem_garbage_end (GememGarbage *garbage, GememLower *lower)
{
  for (guint i = 0; i < garbage->queue->len; i++)
    gemem_lower_free (lower, g_array_index (garbage->queue, guint32, i));
  gemem_garbage_forget (garbage);
}

/* ---- the fraction */

typedef struct
{
  guint64 size;
  guint32 node, storage;
} Candidate;

static int
compare_candidates (gconstpointer a, gconstpointer b)
{
  const Candidate *x = a, *y = b;

  if (x->size != y->size)
    return x->size > y->size ? -1 : 1;
  if (x->node != y->node)
    return x->node < y->node ? -1 : 1;
  return x->storage < y->storage ? -1 : x->storage > y->storage;
}

/* Bytes of the tensor that allocates; variables keep their own size. */
static guint64
unpadded (const GememGraph *graph, const GememStorage *storage)
{
  const guint32 slot = (guint32) (storage->id - 1);
  const GememGraphItem item = slot < gemem_graph_n_items (graph)
                                  ? gemem_graph_item (graph, slot)
                                  : (GememGraphItem){ .workspace = TRUE };

  return item.workspace ? storage->size
                        : gemem_graph_unpadded_size (
                            graph, gemem_graph_node (graph, item.node)->first_output + item.index);
}

static gboolean
is_candidate (const GememLower *lower, guint32 i)
{
  const GememStorage *storage = gemem_lower_storage (lower, i);

  return !storage->kept && !storage->workspace
         && storage->end <= gemem_graph_n_nodes (lower->graph);
}

/* Saturating sum, since sizes are not trusted. */
static guint64
add (guint64 sum, guint64 size)
{
  return MIN (sum + MIN (size, G_MAXINT64), G_MAXINT64);
}

/* One candidate for each last operator of a tensor; @once: one for each tensor. */
static GArray *
list_candidates (const GememLower *lower, gboolean once, guint64 *total)
{
  g_autoptr (GArray) users = gemem_last_users (lower);
  g_autofree guint8 *listed = g_new0 (guint8, (gsize) lower->storages->len + 1);
  GArray *candidates = g_array_new (FALSE, FALSE, sizeof (Candidate));

  for (guint i = 0; i < users->len; i++)
    {
      const GememLastUser *user = &g_array_index (users, GememLastUser, i);

      if (!is_candidate (lower, user->storage) || (once && listed[user->storage]))
        continue;
      listed[user->storage] = TRUE;
      const Candidate candidate = { unpadded (lower->graph,
                                              gemem_lower_storage (lower, user->storage)),
                                    user->node, user->storage };
      g_array_append_val (candidates, candidate);
      *total = add (*total, candidate.size);
    }
  g_array_sort (candidates, compare_candidates);
  return candidates;
}

static guint8 *
spare (const GememLower *lower, double fraction, gboolean by_number)
{
  guint64 total = 0, taken = 0, limit;
  g_autoptr (GArray) candidates = list_candidates (lower, by_number, &total);
  guint8 *spared = g_new0 (guint8, (gsize) lower->storages->len + 1);

  limit = (guint64) (fraction * (by_number ? (double) candidates->len : (double) total));
  for (guint i = 0; i < candidates->len; i++)
    {
      const Candidate *candidate = &g_array_index (candidates, Candidate, i);

      if (taken >= limit)
        spared[candidate->storage] = TRUE;
      taken = by_number ? taken + 1 : add (taken, candidate->size);
    }
  return spared;
}

/* ---- opening and closing */

void
gemem_garbage_init (GememGarbage *garbage, GememLower *lower, guint64 threshold, double fraction,
                    GememRules rules)
{
  garbage->threshold = threshold;
  garbage->sum = 0;
  garbage->unit = 1;
  garbage->extra = 0;
  garbage->queue = g_array_new (FALSE, FALSE, sizeof (guint32));
  garbage->spared = fraction < 1 ? spare (lower, fraction, rules == GEMEM_RULES_DOCUMENTED) : NULL;
  garbage->release = gemem_lower_free;
}

void
gemem_garbage_clear (GememGarbage *garbage)
{
  g_array_unref (garbage->queue);
  g_free (garbage->spared);
}

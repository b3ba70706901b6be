/* lower-gc.c - lowering `gc`: garbage is collected in batches, when its sum reaches a threshold.
 *
 * After each node the tensors it was the last to use become garbage together; then, if the garbage has `threshold` bytes or more, all of it goes
 * and the sum starts at 0.  A threshold of at most 1 byte lets everything go at once.  What is left goes at the end of the step.
 * `memory_fraction_of_eager_deletion` F in (0, 1): only the largest tensors (bytes without padding, -1 counting as 1; ties in program order)
 * are collected, taken while the sum of those taken is below F x the sum of all; 0: none, 1: all.
 *
 * A variable that is written again is one memory from its first use to its last (5.2).  Of PaddlePaddle's rules only what any graph can tell is here: inputs whose buffer an operator does not need, and frees that wait for a
 * stream, are not.  Origin: paddle.md 5.1-5.3 (the fast mode, which is the default).
 */
#include "config.h"

#include "workloads/lower.h"

typedef struct
{
  GememLowerParams common;
  guint64 threshold;
  double fraction;
} Params;

#define NEVER "18446744073709551615"

static const GememParam params[] = {
  GEMEM_LOWER_PARAMS (Params),
  { .name = "threshold", .type = GEMEM_PARAM_SIZE, .default_text = "0", .special = "never=" NEVER, .offset = G_STRUCT_OFFSET (Params, threshold),
    .help = "Garbage is collected when it has this many bytes (FLAGS_eager_delete_tensor_gb, there in GiB); never: off." },
  { .name = "memory_fraction_of_eager_deletion", .type = GEMEM_PARAM_DOUBLE, .default_text = "1", .min = "0", .max = "1",
    .aliases = "fraction|FLAGS_memory_fraction_of_eager_deletion",
    .offset = G_STRUCT_OFFSET (Params, fraction), .help = "Collect only the largest tensors, up to this fraction of all bytes." },
  { NULL }
};

typedef struct
{
  GememLower parent;
  guint64    threshold, sum;
  GArray    *queue; /* guint32, storages */
  guint8    *spared; /* by storage: not collected; NULL: all are */
} Reader;

static void
collect (Reader *reader)
{
  for (guint i = 0; i < reader->queue->len; i++)
    gemem_lower_free (&reader->parent, g_array_index (reader->queue, guint32, i));
  g_array_set_size (reader->queue, 0);
  reader->sum = 0;
}

/* The test comes once per node, with its last piece of garbage. */
static gboolean
more_from_this_node (const GememLower *lower)
{
  return lower->dead + 1 < lower->n_dying && gemem_lower_storage (lower, lower->dying[lower->dead + 1])->end == lower->moment;
}

static void
add_garbage (GememLower *lower, guint32 storage)
{
  Reader *reader = (Reader *) lower;

  if (reader->spared == NULL || !reader->spared[storage])
    {
      g_array_append_val (reader->queue, storage);
      reader->sum += gemem_lower_storage (lower, storage)->size;
    }
  if (!more_from_this_node (lower) && reader->queue->len > 0 && (reader->threshold <= 1 || reader->sum >= reader->threshold))
    collect (reader);
}

/* The rest went with the end of the step. */
static void
forget (GememLower *lower)
{
  g_array_set_size (((Reader *) lower)->queue, 0);
  ((Reader *) lower)->sum = 0;
}

static void
free_parts (GememLower *lower)
{
  g_array_unref (((Reader *) lower)->queue);
  g_free (((Reader *) lower)->spared);
}

/* ---- the fraction */

typedef struct
{
  guint64 size;
  guint32 end, storage;
} Candidate;

static int
compare_candidates (gconstpointer a, gconstpointer b)
{
  const Candidate *x = a, *y = b;

  if (x->size != y->size)
    return x->size > y->size ? -1 : 1;
  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return x->storage < y->storage ? -1 : x->storage > y->storage;
}

/* Bytes of the tensor that allocates; a variable's are what they are. */
static guint64
unpadded (const GememGraph *graph, const GememStorage *storage)
{
  const guint32 slot = (guint32) (storage->id - 1);
  const GememGraphItem item = slot < gemem_graph_n_items (graph) ? gemem_graph_item (graph, slot) : (GememGraphItem){ .workspace = TRUE };

  return item.workspace ? storage->size : gemem_graph_unpadded_size (graph, gemem_graph_node (graph, item.node)->first_output + item.index);
}

static guint8 *
spare (GememLower *lower, double fraction)
{
  g_autoptr (GArray) candidates = g_array_new (FALSE, FALSE, sizeof (Candidate));
  guint8 *spared = g_new0 (guint8, lower->storages->len + 1);
  guint64 total = 0, taken = 0, limit;

  for (guint32 i = 0; i < lower->n_dying; i++)
    {
      const GememStorage *storage = gemem_lower_storage (lower, lower->dying[i]);
      const Candidate candidate = { unpadded (lower->graph, storage), storage->end, lower->dying[i] };

      if (storage->workspace)
        continue;
      g_array_append_val (candidates, candidate);
      total += candidate.size;
    }
  g_array_sort (candidates, compare_candidates);
  limit = (guint64) (fraction * (double) total);
  for (guint i = 0; i < candidates->len; i++)
    {
      const Candidate *candidate = &g_array_index (candidates, Candidate, i);

      spared[candidate->storage] = taken >= limit;
      taken += candidate->size;
    }
  return spared;
}

static GememTraceReader *
open_gc (gconstpointer data, GememGraph *graph, GError **error)
{
  static const GememStorageRules rules = { .whole_variables = TRUE };
  const Params *p = data;
  Reader *reader = gemem_lower_new (sizeof *reader, graph, &p->common, &rules, error);

  if (reader == NULL)
    return NULL;
  reader->threshold = p->threshold;
  reader->queue = g_array_new (FALSE, FALSE, sizeof (guint32));
  reader->spared = p->fraction < 1 ? spare (&reader->parent, p->fraction) : NULL;
  reader->parent.let_go = add_garbage;
  reader->parent.end_step = forget;
  reader->parent.free_parts = free_parts;
  return &reader->parent.parent.parent;
}

const GememLowering gemem_lowering_gc = {
  .base = { .name = "gc", .aliases = "garbage-collection", .summary = "Garbage is collected when it reaches a threshold",
            .origin = "paddle.md 5.1-5.3", .params = params, .params_size = sizeof (Params) },
  .open = open_gc,
};

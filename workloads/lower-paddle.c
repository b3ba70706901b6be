/* lower-paddle.c - lowering `paddle`: how PaddlePaddle executes a program, with the flags and
 * defaults of five eras; see lower-paddle.h.
 *
 * Operators run one by one on one host thread.  A tensor that no later operator needs is garbage
 * (garbage.h).  Without collection, or if it is no candidate, it lives to the end of the run, when
 * its scope is destroyed.
 *   plain      an input whose buffer an operator does not need (attribute no_need_buffer) does not
 *              keep the tensor alive (since 1.4)
 *   parallel   fraction by size, in-place pass, fused gradients; every input counts
 * fast_eager_deletion_mode=no: a host callback frees when the stream has reached it.  `host_ahead`,
 * which is no flag of Paddle, is the host's lead: garbage of operator i is freed before operator
 * i + 1 + host_ahead allocates.  The work queued so far is marked by EVENT_RECORD, ids above those
 * of the nodes.  ParallelExecutor collects on its own stream (the number after the graph's highest),
 * which waits for it: EVENT_WAIT.  The frees are plain FREEs at that time, because allocators are not called earlier.
 * Workspaces in P13 and P14 come from the temporary allocator (temporary.h); the wait at the end of
 * a run empties its queue.  place=cpu: as on a GPU, but without waiting or that queue, with the
 * host's alignment of fused gradients, and requested bytes as sizes, which the host's buddy and
 * malloc both report.  eager_delete_scope=no: garbage left by a run is freed after `scope_delay`
 * operators of the next run; the ids of every other step are shifted, so that both can be alive.
 * The manual says that synchronous deletion costs about 1 %: time_per_node is taken as measured
 * with it, which is the default, and `no` shortens it by `scope_cost` percent.
 *
 * A variable is one tensor from its first use to its last.  Rewritten with more bytes than it has,
 * the tensor is freed and allocated anew; with fewer it keeps its memory (1.3).  In graphs of
 * several streams it has the largest size from the start.  This also holds for persistable
 * variables.
 *
 * Sizes that allocators report (1.2) are requested bytes, in auto_growth rounded.  The chunked best
 * fit of P13 and P14 reports 64 more, less what it loses to alignment: nothing where sizes are
 * multiples of 64, else up to 63 bytes of a tensor, which only the allocator knows and which are
 * not subtracted here.  Also unknown here: which requests exceed its chunks and are reported
 * unchanged, and when a background thread runs.  Origin: paddle.md 1.2, 1.3, 4-7.
 */
#include "config.h"

#include "workloads/garbage.h"
#include "workloads/lower-paddle.h"
#include "workloads/temporary.h"

#define FILL 0xef /* of init_allocated_mem */

typedef struct
{
  guint32 due, storage; /* the storage is freed before the node of moment `due` */
} Pending;

typedef struct
{
  GememLower parent;
  GememLowerPaddle params;
  GememGarbage garbage;
  GArray *pending;  /* Pending, by `due`: waiting for the stream */
  guint32 passed;   /* how many of `pending` were freed */
  guint32 recorded; /* moment of the last event of collection */
  guint64 stream;   /* on which collection runs */
  guint64 ran;      /* operators that have run in this run */
  GArray *scope;    /* guint64: ids that the last run left */
  guint64 stride;   /* difference between the ids of two steps */
  GArray *growth;   /* GememGrowth, by moment; NULL: nothing grows */
  guint32 grown;
  GememTemporary *temporary;
  guint32 *block; /* by storage of a workspace: the storage whose memory it uses */
} Reader;

static Reader *
reader_of (GememLower *lower)
{
  return (Reader *) lower;
}

/* ---- garbage */

static guint64
stream_now (const GememLower *lower)
{
  return (guint64) MAX (
      gemem_lower_stream (lower->graph, gemem_graph_node (lower->graph, lower->moment - 1)), 0);
}

/* Marks the work queued so far, behind which memory is freed.  ParallelExecutor's collector has its
 * own stream, which waits for it. */
static void
record_event (Reader *reader)
{
  GememLower *lower = &reader->parent;
  const guint64 event = (guint64) gemem_graph_n_nodes (lower->graph) + lower->moment;

  if (reader->recorded == lower->moment)
    return;
  reader->recorded = lower->moment;
  gemem_lower_event (lower, GEMEM_EVENT_EVENT_RECORD, event)->stream = stream_now (lower);
  if (reader->params.parallel)
    gemem_lower_event (lower, GEMEM_EVENT_EVENT_WAIT, event)->stream = reader->stream;
}

/* Queues the collector's callback. */
static void
release_later (GememLower *lower, guint32 storage)
{
  Reader *reader = reader_of (lower);
  const guint64 due = lower->moment + 1 + reader->params.host_ahead;
  const Pending pending = { (guint32) MIN (due, G_MAXUINT32), storage };

  record_event (reader);
  g_array_append_val (reader->pending, pending);
}

static void
release_until (Reader *reader, guint32 moment)
{
  for (; reader->passed < reader->pending->len; reader->passed++)
    {
      const Pending *pending = &g_array_index (reader->pending, Pending, reader->passed);

      if (pending->due > moment)
        return;
      gemem_lower_free (&reader->parent, pending->storage);
    }
}

static void
add_garbage (GememLower *lower, guint32 storage)
{
  gemem_garbage_add (&reader_of (lower)->garbage, lower, storage);
}

/* ---- workspaces */

static void
allocate_workspace (GememLower *lower, guint32 storage)
{
  Reader *reader = reader_of (lower);
  const GememStorage *wanted = gemem_lower_storage (lower, storage);

  if (gemem_temporary_allocate (reader->temporary, wanted->stream, wanted->size,
                                &reader->block[storage]))
    return;
  reader->block[storage] = storage;
  gemem_lower_allocate (lower, storage);
}

static void
release_workspace (GememLower *lower, guint32 storage)
{
  Reader *reader = reader_of (lower);
  const guint32 block = reader->block[storage];
  const GememStorage *held = gemem_lower_storage (lower, block);

  gemem_temporary_release (reader->temporary, held->stream, held->size + reader->params.extra,
                           block);
}

static void
synchronise (gpointer lower, guint64 stream)
{
  gemem_lower_event (lower, GEMEM_EVENT_STREAM_SYNC, 0)->stream = stream;
}

static void
release_block (gpointer lower, guint32 block)
{
  gemem_lower_free (lower, block);
}

static const GememTemporaryHooks temporary_hooks = { synchronise, release_block };

/* ---- scopes */

static void
drop_scope (Reader *reader)
{
  for (guint i = 0; i < reader->scope->len; i++)
    gemem_lower_event (&reader->parent, GEMEM_EVENT_FREE,
                       g_array_index (reader->scope, guint64, i));
  g_array_set_size (reader->scope, 0);
}

/* Moves the tensors left by the run to the next run, which frees them. */
static void
leave_scope (Reader *reader)
{
  GememLower *lower = &reader->parent;

  for (guint32 i = 0; i < lower->storages->len; i++)
    if (gemem_lower_is_alive (lower, i) && !gemem_lower_storage (lower, i)->kept)
      {
        const guint64 id = gemem_lower_detach (lower, i);
        g_array_append_val (reader->scope, id);
      }
}

static void
leave_step (GememLower *lower)
{
  Reader *reader = reader_of (lower);

  release_until (reader, G_MAXUINT32);
  gemem_garbage_end (&reader->garbage, lower);
  if (reader->temporary != NULL)
    gemem_temporary_flush (reader->temporary);
  drop_scope (reader);
  if (!reader->params.eager_delete_scope && lower->step < lower->params.steps)
    leave_scope (reader);
}

static void
end_step (GememLower *lower)
{
  Reader *reader = reader_of (lower);

  g_array_set_size (reader->pending, 0);
  reader->passed = reader->recorded = 0;
  reader->grown = 0;
  reader->ran = 0;
  lower->bias = reader->params.eager_delete_scope || lower->bias > 0 ? 0 : reader->stride;
}

/* ---- growth */

static void
grow (GememLower *lower, const GememGrowth *growth)
{
  GememStorage *storage = gemem_lower_storage (lower, growth->storage);
  const gboolean alive = gemem_lower_is_alive (lower, growth->storage);

  if (storage->kept && storage->size >= growth->size)
    return; /* the variable keeps the size it reached in the first run */
  if (alive && growth->moment > 0)
    gemem_lower_free (lower, growth->storage);
  storage->size = growth->size;
  if (alive && growth->moment > 0)
    gemem_lower_allocate (lower, growth->storage);
}

static void
grow_until (Reader *reader, guint32 moment)
{
  for (; reader->growth != NULL && reader->grown < reader->growth->len; reader->grown++)
    {
      const GememGrowth *growth = &g_array_index (reader->growth, GememGrowth, reader->grown);

      if (growth->moment > moment)
        return;
      grow (&reader->parent, growth);
    }
}

/* ---- a node */

static void
before_node (GememLower *lower)
{
  Reader *reader = reader_of (lower);

  release_until (reader, lower->moment);
  if (reader->ran == reader->params.scope_delay)
    drop_scope (reader);
  reader->ran++;
  grow_until (reader, lower->moment);
}

/* ---- opening and closing */

static void
free_parts (GememLower *lower)
{
  Reader *reader = reader_of (lower);

  gemem_garbage_clear (&reader->garbage);
  g_array_unref (reader->pending);
  g_array_unref (reader->scope);
  g_clear_pointer (&reader->growth, g_array_unref);
  gemem_temporary_free (reader->temporary);
  g_free (reader->block);
}

static guint64
collecting_stream (const GememGraph *graph)
{
  gint64 highest = 0;

  for (guint32 id = 0; id < gemem_graph_n_nodes (graph); id++)
    highest = MAX (highest, gemem_lower_stream (graph, gemem_graph_node (graph, id)));
  return (guint64) highest + 1;
}

static void
set_up (Reader *reader)
{
  GememLower *lower = &reader->parent;
  const GememLowerPaddle *p = &reader->params;

  gemem_garbage_init (&reader->garbage, lower, (guint64) MAX (p->threshold, 0), p->fraction,
                      (GememRules) p->rules);
  reader->garbage.unit = p->unit;
  reader->garbage.extra = p->extra;
  if (!p->fast_eager_deletion_mode)
    reader->garbage.release = release_later;
  reader->pending = g_array_new (FALSE, FALSE, sizeof (Pending));
  reader->scope = g_array_new (FALSE, FALSE, sizeof (guint64));
  reader->stream = collecting_stream (lower->graph);
  reader->stride = (guint64) gemem_graph_n_items (lower->graph)
                   + gemem_graph_n_variables (lower->graph) + lower->storages->len;
  reader->growth = lower->waited_at == NULL ? gemem_lower_paddle_growth (lower) : NULL;
  lower->fill = p->init_allocated_mem ? FILL : 0;
  lower->release = p->threshold >= 0 ? add_garbage : NULL;
  lower->before_node = before_node;
  lower->leave_step = leave_step;
  lower->end_step = end_step;
  lower->free_parts = free_parts;
  if (!p->temporary)
    return;
  reader->block = g_new0 (guint32, (gsize) lower->storages->len + 1);
  reader->temporary = gemem_temporary_new ((GememRules) p->rules, p->limit_of_tmp_allocation,
                                           p->times_excess, &temporary_hooks, lower);
  lower->allocate_workspace = allocate_workspace;
  lower->release_workspace = release_workspace;
}

/* ---- what the trace says of itself */

static guint64
saved_time (const GememLowerPaddle *p)
{
  return p->eager_delete_scope ? 0
                               : (guint64) ((double) p->common.time_per_node * p->scope_cost / 100);
}

static void
describe (const GememLowerPaddle *p, GPtrArray *report, GememTraceInfo *info)
{
  char from[GEMEM_FORMAT_MAX], to[GEMEM_FORMAT_MAX];

  for (guint i = 0; i < report->len; i++)
    g_ptr_array_add (info->provenance, g_strdup (report->pdata[i]));
  if (p->fuse_all_reduce_ops && gemem_lower_paddle_fuse_version (p) == GEMEM_FUSE_1_4
      && p->rules == GEMEM_RULES_AS_BUILT)
    gemem_trace_info_note (info, "fuse_parameter_memory_size",
                           "in 1.4 its unit is the byte, and fuse_parameter_groups_size counts "
                           "layers, the first parts of the parameters' names");
  if (!p->eager_delete_scope)
    gemem_trace_info_note (
        info, "eager_delete_scope",
        "no: what a run leaves%s goes when %" G_GUINT64_FORMAT " of the next run's operators have "
        "run%s; an operator takes %s instead of %s (the manual's figure, a guess until it is "
        "measured)",
        p->threshold >= 0 ? " (what was fed, fetched or used by several blocks; the rest was "
                            "collected)"
                          : "",
        p->scope_delay, p->common.steps > 1 ? "" : " (steps=1: there is no next run)",
        gemem_format_time (to, p->common.time_per_node - saved_time (p)),
        gemem_format_time (from, p->common.time_per_node));
}

static GememTraceReader *
open_paddle (gconstpointer data, GememGraph *graph, GError **error)
{
  GememLowerPaddle p = *(const GememLowerPaddle *) data;
  GememStorageRules rules = { .whole_variables = TRUE };
  g_autoptr (GArray) buffers = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (GPtrArray) report = g_ptr_array_new_with_free_func (g_free);
  g_autofree guint8 *slots = NULL;
  GememLowerParams common;
  Reader *reader;

  if (!gemem_lower_paddle_resolve (&p, error)
      || (slots = gemem_lower_paddle_slots (&p, graph, buffers, report, error)) == NULL)
    return NULL;
  rules.slots = slots;
  rules.buffers = buffers;
  rules.buffers_only = !p.parallel && p.preset >= GEMEM_ERA_P14;
  rules.inplace = p.enable_inplace;
  rules.whitelist = p.whitelist;
  common = p.common;
  common.time_per_node -= saved_time (&p);
  reader = gemem_lower_new (sizeof *reader, graph, &common, &rules, error);
  if (reader == NULL)
    return NULL;
  reader->params = p;
  reader->params.common.batch_label = NULL; /* owned by the caller */
  set_up (reader);
  grow_until (reader, 0);
  describe (&p, report, &reader->parent.parent.parent.info);
  return &reader->parent.parent.parent;
}

const GememLowering gemem_lowering_paddle = {
  .base = { .name = "paddle",
            .aliases = "paddlepaddle",
            .summary = "PaddlePaddle's executors, with the flags and defaults of five eras",
            .origin = "paddle.md 1.3, 4-7",
            .params = gemem_lower_paddle_params,
            .params_size = sizeof (GememLowerPaddle) },
  .open = open_paddle,
};

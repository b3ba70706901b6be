/* lowering-check.c - see lowering-check.h.
 *
 * With one nanosecond per node, the time of an event says at which node it happens: SLOT r of a
 * step is the r-th node that runs, slot R the end of the step.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "graphs/meaning.h"
#include "tests/util/graphs.h"
#include "tests/util/lowered.h"
#include "tests/util/lowering-check.h"
#include "tests/util/lowering-run.h"
#include "tests/util/random-graph.h"

static gboolean
buffers_only (const LoweringRun *run)
{
  return !run->p.parallel && run->p.preset >= GEMEM_ERA_P14;
}

/* The storage whose bytes input @i of @id needs, and how many bytes. */
static guint32
needed (const LoweringRun *run, guint32 id, guint32 i, guint64 *bytes)
{
  const GememNode *node = gemem_graph_node (run->graph, id);
  const GememNodeInput *input = &gemem_graph_inputs (run->graph, id)[i];

  if (buffers_only (run) && !gemem_lower_needs_buffer (run->graph, node, i))
    return GEMEM_NONE;
  if (input->tensor != GEMEM_NONE)
    {
      const guint32 maker = gemem_graph_tensor (run->graph, input->tensor)->node;
      *bytes = gemem_lower_item_size (run->graph, gemem_graph_node (run->graph, maker),
                                      gemem_graph_tensor_item (run->graph, input->tensor));
      if (!gemem_lower_runs (run->lower->skipped, maker))
        *bytes = 0;
    }
  else
    *bytes = input->variable != GEMEM_NONE
                 ? gemem_graph_variable (run->graph, input->variable)->size
                 : 0;
  return storage_of (run, gemem_lower_input_slot (run->graph, input));
}

/* ---- lifetimes */

/* A node that runs subgraphs writes nothing itself: the subgraphs write. */
static void
use (LoweringRun *run, guint32 i, guint32 slot)
{
  if (i == GEMEM_NONE)
    return;
  run->first[i] = MIN (run->first[i], slot);
  run->last[i] = slot;
}

static void
find_lives (LoweringRun *run)
{
  const guint32 n_nodes = gemem_graph_n_nodes (run->graph), n_storages = run->lower->storages->len;
  guint64 bytes;

  run->running = g_new (guint32, n_nodes + 1);
  for (guint32 id = 0; id < n_nodes; id++)
    if (gemem_lower_runs (run->lower->skipped, id))
      run->running[run->n++] = id;
  run->running[run->n] = n_nodes;
  for (guint32 r = 0; r < run->n; r++)
    {
      const GememNode *node = gemem_graph_node (run->graph, run->running[r]);

      for (guint32 i = 0; i < node->n_inputs; i++)
        use (run, needed (run, run->running[r], i, &bytes), r);
      for (guint32 i = 0; i < node->n_outputs + node->n_workspaces && node->n_blocks == 0; i++)
        use (run, run->lower->storage_of[gemem_node_item (node) + i], r);
    }
  for (guint32 slot = 0;
       slot < gemem_graph_n_items (run->graph) + gemem_graph_n_variables (run->graph); slot++)
    if (run->slots[slot] == GEMEM_SLOT_RUN && storage_of (run, slot) != GEMEM_NONE)
      run->last[storage_of (run, slot)] = run->n;
  for (guint32 i = 0; i < n_storages; i++)
    if (!storage (run, i)->kept)
      {
        EXPECT (run, run->first[i] != GEMEM_NONE || run->last[i] == run->n,
                "storage %u is never used", i);
        EXPECT (run,
                storage (run, i)->begin
                    <= (run->first[i] != GEMEM_NONE ? run->running[run->first[i]] + 1 : 0),
                "storage %u begins too late", i);
        EXPECT (run, storage (run, i)->end == run->running[run->last[i]] + 1,
                "storage %u ends at %u", i, storage (run, i)->end);
      }
}

/* ---- events */

static guint64
bias (const LoweringRun *run)
{
  return run->p.eager_delete_scope || run->step % 2 == 1 ? 0 : run->stride;
}

static guint64
id_of (const LoweringRun *run, guint32 i)
{
  return storage (run, i)->id + (storage (run, i)->kept ? 0 : bias (run));
}

static guint32
find_storage (const LoweringRun *run, guint64 id)
{
  const guint64 own = (id - 1) % run->stride + 1;

  for (guint32 i = 0; i < run->lower->storages->len; i++)
    if (storage (run, i)->id == own)
      return i;
  EXPECT (run, FALSE, ID " is nobody's", id);
  return GEMEM_NONE;
}

static const GememTraceEvent *
event_at (const LoweringRun *run, guint at)
{
  g_assert_cmpuint (at, <, run->events->len);
  return &g_array_index (run->events, GememTraceEvent, at);
}

static gboolean
follows (const LoweringRun *run, guint at, GememEventKind kind, guint64 id)
{
  return at + 1 < run->events->len && event_at (run, at + 1)->kind == kind
         && event_at (run, at + 1)->id == id;
}

/* @slot writes the variable anew, with more bytes. */
static gboolean
grows_at (const LoweringRun *run, guint32 i, guint32 slot)
{
  const GememNode *node = gemem_graph_node (run->graph, run->running[slot]);
  gboolean written = FALSE, read = FALSE;
  guint64 bytes;

  for (guint32 k = 0; k < node->n_inputs; k++)
    read |= needed (run, run->running[slot], k, &bytes) == i;
  for (guint32 o = 0; o < node->n_outputs; o++)
    written |= run->lower->storage_of[gemem_node_output_item (node, o)] == i;
  return written && !read;
}

static void
do_alloc (LoweringRun *run, guint at, guint32 slot)
{
  const GememTraceEvent *event = event_at (run, at);
  const guint32 i = find_storage (run, event->id);

  EXPECT (run, event->stream == storage (run, i)->stream, ID " on another stream", event->id);
  EXPECT (run, event->size > 0, ID " has 0 bytes", event->id);
  EXPECT (run, (storage (run, i)->kept && run->step == 0) || event->id == id_of (run, i),
          ID " in this step", event->id);
  EXPECT (run, follows (run, at, GEMEM_EVENT_MEMSET, event->id) == run->p.init_allocated_mem,
          "fill of " ID, event->id);
  EXPECT (
      run,
      !run->p.init_allocated_mem
          || (event_at (run, at + 1)->size == event->size && event_at (run, at + 1)->aux == 0xef),
      "fill of all of " ID, event->id);
  run->alive[event->id] = TRUE;
  run->size[event->id] = event->size;
  run->came[i] = slot;
}

static void
do_free (LoweringRun *run, guint at, guint32 slot)
{
  const GememTraceEvent *event = event_at (run, at);
  const guint32 i = find_storage (run, event->id);

  run->alive[event->id] = FALSE;
  if (follows (run, at, GEMEM_EVENT_ALLOC, event->id))
    {
      EXPECT (run, slot < run->n && grows_at (run, i, slot),
              ID " grows at slot %u, which does not write it anew", event->id, slot);
      EXPECT (run, event_at (run, at + 1)->size > run->size[event->id], ID " does not grow",
              event->id);
    }
  else if (event->id == id_of (run, i))
    run->gone[i] = slot;
  else
    EXPECT (run, slot == MIN (run->p.scope_delay, run->n),
            "what the last scope left goes at slot %u", slot);
}

static void
apply (LoweringRun *run, guint at, guint32 slot)
{
  switch (event_at (run, at)->kind)
    {
    case GEMEM_EVENT_ALLOC:
      do_alloc (run, at, slot);
      break;
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_REQUESTED:
      do_free (run, at, slot);
      break;
    default:
      break;
    }
}

/* ---- a node */

static gboolean
has_announced (const LoweringRun *run, guint begin, guint end, guint64 id, guint64 stream)
{
  for (guint at = begin; at < end; at++)
    if (event_at (run, at)->kind == GEMEM_EVENT_USE_ON_STREAM && event_at (run, at)->id == id
        && event_at (run, at)->stream == stream)
      return TRUE;
  return FALSE;
}

static void
check_use (const LoweringRun *run, guint begin, guint end, guint32 i, guint64 bytes, gint64 stream)
{
  const guint64 id = i != GEMEM_NONE ? id_of (run, i) : 0;

  if (i == GEMEM_NONE || bytes == 0 || (storage (run, i)->kept && !run->p.common.variables))
    return;
  EXPECT (run, run->alive[id], ID " is used while it is not alive", id);
  EXPECT (run, run->size[id] >= bytes, ID " is too small", id);
  if (run->lower->waited_at != NULL && stream >= 0 && (guint64) stream != storage (run, i)->stream
      && !storage (run, i)->kept)
    EXPECT (run, has_announced (run, begin, end, id, (guint64) stream),
            ID " is used on stream %d unannounced", id, (int) stream);
}

static void
check_node (const LoweringRun *run, guint begin, guint end, guint32 slot)
{
  const guint32 id = run->running[slot];
  const GememNode *node = gemem_graph_node (run->graph, id);
  const gint64 stream = gemem_lower_stream (run->graph, node);
  guint64 bytes = 0;

  for (guint32 i = 0; i < node->n_inputs; i++)
    {
      const guint32 used = needed (run, id, i, &bytes);
      check_use (run, begin, end, used, bytes, stream);
    }
  for (guint32 i = 0;
       i < node->n_outputs + (run->p.temporary ? 0 : node->n_workspaces) && node->n_blocks == 0;
       i++)
    {
      const guint32 item = gemem_node_item (node) + i;
      const gint64 on = i < node->n_outputs ? stream : -1;
      check_use (run, begin, end, run->lower->storage_of[item],
                 gemem_lower_item_size (run->graph, node, item), on);
    }
}

/* The node runs when all of its memory is allocated: after the last allocation. */
static void
walk_slot (LoweringRun *run, guint begin, guint end, guint32 slot)
{
  guint kernel = begin;

  for (guint at = begin; at < end; at++)
    if (event_at (run, at)->kind == GEMEM_EVENT_ALLOC)
      kernel = at + 1;
  for (guint at = begin; at < kernel; at++)
    apply (run, at, slot);
  if (slot < run->n)
    check_node (run, begin, end, slot);
  for (guint at = kernel; at < end; at++)
    apply (run, at, slot);
}

/* ---- a step */

static void
collect (LoweringRun *run, guint32 slot)
{
  for (guint32 i = 0; i < run->lower->storages->len; i++)
    if (!storage (run, i)->kept && run->last[i] == slot)
      naive_collector_add (run->collector, i, run->size[id_of (run, i)]);
  naive_collector_end_node (run->collector, slot);
}

static void
check_gone (const LoweringRun *run)
{
  const gboolean leaves = !run->p.eager_delete_scope && run->step < run->p.common.steps;

  for (guint32 i = 0; i < run->lower->storages->len; i++)
    {
      const gboolean temporary = storage (run, i)->workspace && run->p.temporary;
      guint32 expected = naive_collector_gone (run->collector, i);

      if (storage (run, i)->kept)
        continue;
      if (temporary)
        EXPECT (run, run->came[i] == naive_collector_came (run->collector, i),
                ID " comes at slot %d", id_of (run, i), (int) run->came[i]);
      if (temporary && run->came[i] == GEMEM_NONE)
        continue;
      if (expected > run->n)
        expected = leaves ? GEMEM_NONE : run->n;
      EXPECT (run, run->gone[i] == expected, ID " goes at slot %d, not %d", id_of (run, i),
              (int) run->gone[i], (int) expected);
    }
}

static void
check_left (const LoweringRun *run)
{
  const gboolean last = run->step == run->p.common.steps;

  for (guint64 id = 1; id <= 2 * run->stride; id++)
    if (run->alive[id])
      {
        const guint32 i = find_storage (run, id);
        EXPECT (
            run,
            !last
                && (storage (run, i)->kept || (!run->p.eager_delete_scope && id == id_of (run, i))),
            ID " is left", id);
      }
}

static void
walk_step (LoweringRun *run, guint begin, guint end)
{
  const guint64 base = (run->step - 1) * run->n;

  naive_collector_begin (run->collector);
  memset (run->came, 0xff, sizeof (guint32) * run->lower->storages->len);
  memset (run->gone, 0xff, sizeof (guint32) * run->lower->storages->len);
  for (guint32 slot = 0; slot <= run->n; slot++)
    {
      guint next = begin;

      while (next < end && event_at (run, next)->time == base + slot)
        next++;
      if (run->p.temporary && slot < run->n)
        naive_collector_workspaces (run->collector, slot);
      walk_slot (run, begin, next, slot);
      if (slot < run->n)
        collect (run, slot);
      begin = next;
    }
  EXPECT (run, begin == end, "events at no node");
  naive_collector_end (run->collector);
  check_gone (run);
  check_left (run);
}

static void
walk (LoweringRun *run)
{
  guint begin = 0, end = 0;

  while (end < run->events->len && event_at (run, end)->kind != GEMEM_EVENT_STEP)
    apply (run, end++, 0);
  while (end < run->events->len)
    {
      run->step++;
      for (begin = ++end; end < run->events->len && event_at (run, end)->kind != GEMEM_EVENT_STEP;)
        end++;
      walk_step (run, begin, end);
    }
  EXPECT (run, run->step == run->p.common.steps, "another number of steps");
}

/* ---- one graph, one setting */

static gboolean
resolve (LoweringRun *run)
{
  g_autoptr (GPtrArray) settings = gemem_settings_parse (run->settings, NULL);
  const GememParamContext context = { 0 };

  return settings != NULL
         && gemem_params_apply (gemem_lower_paddle_params, &run->p, &context, "paddle", settings,
                                NULL)
         && gemem_lower_paddle_resolve (&run->p, NULL);
}

static void
read_events (LoweringRun *run)
{
  GememTraceReader *reader = &run->lower->parent.parent;
  const GememTraceEvent *events;
  gssize n;

  run->events = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  while ((n = gemem_trace_next (reader, &events, NULL)) > 0)
    g_array_append_vals (run->events, events, (guint) n);
  g_assert_cmpint (n, ==, 0);
}

static void
check_run (LoweringRun *run, GememTraceReader *reader)
{
  g_autoptr (GArray) buffers = g_array_new (FALSE, FALSE, sizeof (guint64));
  const guint32 n = ((GememLower *) reader)->storages->len;
  g_autofree guint32 *first = g_new (guint32, n + 1), *last = g_new0 (guint32, n + 1),
                     *gone = g_new0 (guint32, n + 1);
  g_autofree guint32 *came = g_new0 (guint32, n + 1);

  run->lower = (GememLower *) reader;
  run->slots = gemem_lower_paddle_slots (&run->p, run->graph, buffers, NULL, NULL);
  run->stride = (guint64) gemem_graph_n_items (run->graph) + gemem_graph_n_variables (run->graph)
                + n;
  run->first = memset (first, 0xff, sizeof (guint32) * (n + 1));
  run->last = last;
  run->gone = gone;
  run->came = came;
  run->alive = g_new0 (guint8, 2 * run->stride + 1);
  run->size = g_new0 (guint64, 2 * run->stride + 1);
  find_lives (run);
  test_lowering_sharing (run);
  run->collector = naive_collector_new (run->lower, &run->p, run->running, run->n);
  read_events (run);
  walk (run);
  naive_collector_free (run->collector);
  g_array_unref (run->events);
  g_free (run->slots);
  g_free (run->running);
  g_free (run->alive);
  g_free (run->size);
}

/* The graph, written as text and read again, gives the same trace. */
static void
check_again (GememGraph *graph, const char *spec)
{
  g_autofree char *json = test_graph_json (graph), *one = test_lowered_text (spec, graph),
                  *two = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) again = test_graph_from_text (json, NULL, &error);

  g_assert_no_error (error);
  two = test_lowered_text (spec, again);
  g_assert_cmpstr (one, ==, two);
}

gboolean
test_lowering_check (GememGraph *graph, const char *settings)
{
  g_autofree char *spec = g_strdup_printf ("paddle:%s,time_per_node=1ns", settings);
  LoweringRun run = { .graph = graph, .settings = settings };
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_lowering_open (spec, graph, &error);

  if (reader == NULL)
    {
      g_assert_true (g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_USAGE)
                     || g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_INPUT));
      g_assert_cmpstr (error->message, !=, "");
      return FALSE;
    }
  g_assert_true (resolve (&run));
  check_run (&run, reader);
  gemem_trace_close (reader);
  gemem_params_clear (gemem_lower_paddle_params, &run.p);
  test_lowered_valid (spec, graph);
  check_again (graph, spec);
  return TRUE;
}

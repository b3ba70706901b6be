/* naive-ge-whole.c - `ge` as a whole: the policies of ge-runtime.md 7.1 and the table of 7.2,
 * written a second time over the models of the parts; the estimate of 3.4, and the order of
 * runs. Where the text is silent: doc/design-notes.md, "GE's memory as a whole". See
 * naive-ge-static.h. */
#include "config.h"

#include <string.h>

#include "tests/util/naive-ge-static.h"
#include "tests/util/sizes.h"
#include "traces/trace.h"

#define SUBGRAPH GEMEM_GRAPH_SEGMENT_SUBGRAPH
#define FIXED GEMEM_GRAPH_SEGMENT_FIXED
#define NO_ALLOC GEMEM_GRAPH_SEGMENT_NO_ALLOC
#define EVERY_STREAM G_MAXUINT64

/* The settings of a model. */
typedef struct
{
  const char *environment, *option;
  gboolean documented;
  gboolean addr_fixed, leaky, refreshable, external, strict, no_check;
  const guint32 *hccl; /* ids of graphs with HCCL tasks, 0-terminated; or NULL */
  NaiveKind kinds[6];  /* by pool of the trace */
} Setting;

typedef struct
{
  guint32 id;
  guint64 stream, run_stream;
  gboolean queued, loaded;
  GArray *segments;       /* GememGraphSegment: static memory */
  GArray *workspaces;     /* guint64 */
  GArray *running, *kept; /* guint32: ids of dynamic blocks */
} Graph;

/* Synchronisation on the streams since a run of graphs that share memory began. */
typedef enum
{
  ENDED,
  SYNCED,
  RECORDED,
  WAITED,
} Happening;

typedef struct
{
  Happening kind;
  guint64 stream;
  guint32 id; /* of an event or a graph */
} LogEntry;

typedef struct
{
  guint32 graph;
  guint64 stream;
  guint from; /* entry of the log when it began */
} Run;

typedef struct
{
  NaiveGe hbm, p2p;
  const Setting *setting;
  gboolean static_bit, dynamic_bit;
  NaivePages *small; /* pages of the fixed range, unless policy 4 */
  NaiveStatic graphs;
  NaiveKinds kinds;
  /* Graph: all, and those with static memory in the order of their loads */
  GPtrArray *known, *order;
  GArray *p2p_ids;  /* guint32 */
  guint32 inner_id; /* ids of blocks of graphs descend from the top */
  guint64 inner_bytes, unloaded, reloaded, concurrent;
  GArray *log;  /* LogEntry */
  GArray *runs; /* Run: those that may be on their way */
} Whole;

#define SEGMENT(graph, i) (&g_array_index ((graph)->segments, GememGraphSegment, i))

/* ---- the order of runs */

static void
note (Whole *w, Happening kind, guint64 stream, guint32 id)
{
  const LogEntry entry = { kind, stream, id };

  g_array_append_val (w->log, entry);
}

static gboolean
has_number (const GArray *numbers, guint64 number)
{
  for (guint i = 0; i < numbers->len; i++)
    if (g_array_index (numbers, guint64, i) == number)
      return TRUE;
  return FALSE;
}

static void
take_number (GArray *numbers, guint64 number)
{
  for (guint i = numbers->len; i-- > 0;)
    if (g_array_index (numbers, guint64, i) == number)
      g_array_remove_index (numbers, i);
}

/* TRUE: work queued on @stream now runs after @run: @stream is the stream of that run, or waits for
 * an event recorded after it, or the host has waited. */
static gboolean
comes_after (const Whole *w, const Run *run, guint64 stream)
{
  g_autoptr (GArray) after = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (GArray) marks = g_array_new (FALSE, FALSE, sizeof (guint64));

  g_array_append_val (after, run->stream);
  for (guint i = run->from; i < w->log->len; i++)
    {
      const LogEntry *e = &g_array_index (w->log, LogEntry, i);
      const guint64 id = e->id;

      if ((e->kind == ENDED && e->id == run->graph)
          || (e->kind == SYNCED && (e->stream == EVERY_STREAM || has_number (after, e->stream))))
        return TRUE;
      if (e->kind == RECORDED)
        {
          take_number (marks, id);
          if (has_number (after, e->stream))
            g_array_append_val (marks, id);
        }
      if (e->kind == WAITED && has_number (marks, id))
        g_array_append_val (after, e->stream);
    }
  return has_number (after, stream);
}

/* Whether work on @stream comes after all runs. */
static gboolean
is_alone (const Whole *w, guint64 stream)
{
  for (guint i = 0; i < w->runs->len; i++)
    if (!comes_after (w, &g_array_index (w->runs, Run, i), stream))
      return FALSE;
  return TRUE;
}

/* A run on @stream begins.  What comes after it comes after the runs that it comes after as well. */
static void
note_run (Whole *w, guint32 graph, guint64 stream)
{
  Run run = { graph, stream, 0 };

  for (guint i = w->runs->len; i-- > 0;)
    if (comes_after (w, &g_array_index (w->runs, Run, i), stream))
      g_array_remove_index (w->runs, i);
  if (w->runs->len == 0)
    g_array_set_size (w->log, 0);
  run.from = w->log->len;
  g_array_append_val (w->runs, run);
}

/* ---- 7.2: the rows of requests */

static gboolean
alloc (Naive *naive, guint32 id, const NaiveRequest *request, guint64 *address, guint64 *size)
{
  Whole *w = (Whole *) naive;
  const NaiveKind kind = w->setting->kinds[request->pool];

  if (kind == NAIVE_P2P)
    {
      if (!naive_ge_alloc (&w->p2p.base, id, request, address, size))
        return FALSE;
      g_array_append_val (w->p2p_ids, id);
      return TRUE;
    }
  if (kind == NAIVE_HBM && !w->setting->external && !w->kinds.keeps)
    return naive_ge_alloc (naive, id, request, address, size);
  w->kinds.stream = request->stream;
  return naive_kinds_alloc (&w->kinds, id, kind, request->size, address, size);
}

static void
release (Naive *naive, guint32 id, gboolean completion_follows)
{
  Whole *w = (Whole *) naive;

  for (guint i = 0; i < w->p2p_ids->len; i++)
    if (g_array_index (w->p2p_ids, guint32, i) == id)
      {
        g_array_remove_index (w->p2p_ids, i);
        naive_ge_free (&w->p2p.base, id, completion_follows);
        return;
      }
  if (!naive_kinds_free (&w->kinds, id))
    naive_ge_free (naive, id, completion_follows);
}

static void
trim (Naive *naive)
{
  naive_kinds_trim (&((Whole *) naive)->kinds);
  naive_ge_trim (naive);
  naive_ge_trim (&((Whole *) naive)->p2p.base);
}

/* ---- 7.2: the rows of static subgraphs */

static gboolean
take_dynamic (Whole *w, GArray *ids, guint64 bytes, guint64 stream)
{
  const NaiveRequest request = { bytes, stream, 0 };
  guint64 address, size;

  w->inner_id--;
  if (!alloc (&w->hbm.base, w->inner_id, &request, &address, &size))
    return FALSE;
  w->inner_bytes += size;
  g_array_append_val (ids, w->inner_id);
  return TRUE;
}

static guint64
size_of (const Whole *w, guint32 id)
{
  for (guint i = 0; i < w->hbm.live->len; i++)
    {
      const NaiveSpan *span = g_ptr_array_index (w->hbm.live, i);

      if (span->id == id)
        return span->pages * NAIVE_PAGE;
    }
  return naive_kinds_size (&w->kinds, id);
}

/* Releases the blocks, the last one first. */
static void
give_dynamic (Whole *w, GArray *ids)
{
  while (ids->len > 0)
    {
      const guint32 id = g_array_index (ids, guint32, ids->len - 1);

      w->inner_bytes -= size_of (w, id);
      release (&w->hbm.base, id, FALSE);
      g_array_set_size (ids, ids->len - 1);
    }
}

/* ---- 3.4: the estimate before a load */

/* Bytes of static memory that the graph needs, fixed segments included. */
static guint64
feature_map (const Graph *graph)
{
  return naive_static_extent ((const GememGraphSegment *) (gconstpointer) graph->segments->data,
                              graph->segments->len);
}

static gboolean
seems_to_fit (const Whole *w, guint64 bytes)
{
  const NaiveDevice *device = &w->hbm.base.device;
  const guint64 total = device->capacity,
                peak = w->graphs.mode == NAIVE_STATIC_DOCUMENTED ? w->graphs.size : w->graphs.peak;
  const gint64 need = MAX ((gint64) bytes - (gint64) peak, 0);
  const gint64 available = (gint64) (total - device->held) + (gint64) (total * 31 / 32)
                           - (gint64) total;

  return need <= MAX (available, 0);
}

/* The host waits for what still uses the graph's memory. */
static void
wait_for_graph (Whole *w, const Graph *graph)
{
  note (w, SYNCED, graph->stream, 0);
  if (graph->queued)
    note (w, SYNCED, graph->run_stream, 0);
}

static void
unload_static (Whole *w, Graph *graph)
{
  if (!graph->loaded)
    return;
  naive_static_unload (&w->graphs, graph->id);
  graph->loaded = FALSE;
  g_ptr_array_remove (w->order, graph);
}

static gboolean
has_hccl_tasks (const Whole *w, const Graph *graph)
{
  for (const guint32 *id = w->setting->hccl; id != NULL && *id != 0; id++)
    if (*id == graph->id)
      return TRUE;
  return FALSE;
}

static void
make_space (Whole *w, const Graph *graph)
{
  for (guint i = 0; i < w->order->len && !seems_to_fit (w, feature_map (graph));)
    {
      Graph *other = g_ptr_array_index (w->order, i);

      if (has_hccl_tasks (w, other))
        {
          i++;
          continue;
        }
      wait_for_graph (w, other);
      unload_static (w, other);
      w->unloaded++;
    }
}

/* A larger block replaces the one block of the documented policy 2 when no graph uses it. */
static gboolean
outgrows (const Whole *w, const Graph *graph)
{
  g_autoptr (GArray) rest = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));

  for (guint i = 0; i < graph->segments->len; i++)
    if ((SEGMENT (graph, i)->flags & FIXED) == 0)
      g_array_append_vals (rest, SEGMENT (graph, i), 1);
  return w->graphs.mode == NAIVE_STATIC_DOCUMENTED && w->graphs.size > 0
         && naive_static_extent ((const GememGraphSegment *) (gconstpointer) rest->data, rest->len)
                > w->graphs.size;
}

static gboolean
load_static (Whole *w, Graph *graph, guint64 *address)
{
  const GememGraphSegment *segments = (const GememGraphSegment *) (gconstpointer)
                                          graph->segments->data;

  if (graph->segments->len == 0)
    return TRUE;
  if (w->static_bit && !w->setting->addr_fixed && !w->setting->no_check)
    make_space (w, graph);
  if (outgrows (w, graph))
    note (w, SYNCED, EVERY_STREAM, 0);
  if (!naive_static_load (&w->graphs, graph->id, segments, graph->segments->len, address))
    return FALSE;
  graph->loaded = TRUE;
  g_ptr_array_add (w->order, graph);
  return TRUE;
}

/* ---- graphs */

static Graph *
find (const Whole *w, guint32 id)
{
  for (guint i = 0; i < w->known->len; i++)
    if (((Graph *) g_ptr_array_index (w->known, i))->id == id)
      return g_ptr_array_index (w->known, i);
  g_assert_not_reached ();
}

static void
graph_free (gpointer data)
{
  Graph *graph = data;

  g_array_unref (graph->segments);
  g_array_unref (graph->workspaces);
  g_array_unref (graph->running);
  g_array_unref (graph->kept);
  g_free (graph);
}

static void
drop_graph (Whole *w, Graph *graph)
{
  give_dynamic (w, graph->running);
  give_dynamic (w, graph->kept);
  unload_static (w, graph);
  g_ptr_array_remove (w->known, graph);
}

/* Allocates a segment by its row of the table; FALSE: no dynamic memory is left for it. */
static gboolean
route (Whole *w, Graph *graph, const GememGraphSegment *segment)
{
  const gboolean shares_base = w->static_bit && w->dynamic_bit && !w->setting->external
                               && !w->setting->addr_fixed;

  if ((segment->flags & SUBGRAPH) == 0 || ((segment->flags & FIXED) != 0 && shares_base))
    g_array_append_vals (graph->segments, segment, 1);
  else if (segment->size == 0)
    return TRUE; /* a null block (section 0) */
  else if ((segment->flags & NO_ALLOC) == 0 && (segment->flags & FIXED) != 0)
    return take_dynamic (w, graph->kept, segment->size, graph->stream);
  else if ((segment->flags & NO_ALLOC) == 0)
    g_array_append_val (graph->workspaces, segment->size);
  return TRUE;
}

static gboolean
graph_load (Naive *naive, guint32 id, guint64 stream, const GememGraphSegment *segments, guint n,
            guint64 *address)
{
  Whole *w = (Whole *) naive;
  Graph *graph = g_new0 (Graph, 1);
  gboolean ok = TRUE;

  *graph = (Graph){ .id = id,
                    .stream = stream,
                    .segments = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment)),
                    .workspaces = g_array_new (FALSE, FALSE, sizeof (guint64)),
                    .running = g_array_new (FALSE, FALSE, sizeof (guint32)),
                    .kept = g_array_new (FALSE, FALSE, sizeof (guint32)) };
  g_ptr_array_add (w->known, graph);
  *address = 0;
  for (guint i = 0; i < n && ok; i++)
    ok = route (w, graph, &segments[i]);
  if (ok && load_static (w, graph, address))
    return TRUE;
  drop_graph (w, graph);
  return FALSE;
}

static gboolean
take_workspaces (Whole *w, Graph *graph, guint64 stream)
{
  for (guint i = 0; i < graph->workspaces->len; i++)
    if (!take_dynamic (w, graph->running, g_array_index (graph->workspaces, guint64, i), stream))
      {
        give_dynamic (w, graph->running);
        return FALSE;
      }
  return TRUE;
}

static gboolean
begin_run (Whole *w, Graph *graph, guint64 stream)
{
  const gboolean shares = graph->segments->len > 0 && w->static_bit && !w->setting->addr_fixed;
  guint64 address;

  if (shares && !is_alone (w, stream))
    {
      w->concurrent++;
      if (w->setting->strict)
        return FALSE;
    }
  if (!graph->loaded && graph->segments->len > 0)
    {
      if (!load_static (w, graph, &address))
        return FALSE;
      w->reloaded++;
    }
  if ((graph->loaded && !naive_static_run (&w->graphs, graph->id, TRUE))
      || !take_workspaces (w, graph, stream))
    return FALSE;
  graph->queued = TRUE;
  graph->run_stream = stream;
  if (!shares)
    return TRUE;
  note_run (w, graph->id, stream);
  return TRUE;
}

static gboolean
graph_run (Naive *naive, guint32 id, guint64 stream, gboolean begin)
{
  Whole *w = (Whole *) naive;
  Graph *graph = find (w, id);

  if (begin)
    return begin_run (w, graph, stream);
  graph->queued = FALSE;
  give_dynamic (w, graph->running);
  note (w, ENDED, 0, id);
  return !graph->loaded || naive_static_run (&w->graphs, id, FALSE);
}

static void
graph_unload (Naive *naive, guint32 id)
{
  Whole *w = (Whole *) naive;
  Graph *graph = find (w, id);

  if (graph->loaded || graph->running->len + graph->kept->len > 0)
    wait_for_graph (w, graph);
  drop_graph (w, graph);
}

static void
sync_stream (Naive *naive, guint64 stream)
{
  note ((Whole *) naive, SYNCED, stream, 0);
}

static void
event_record (Naive *naive, guint32 event, guint64 stream, G_GNUC_UNUSED guint64 to)
{
  note ((Whole *) naive, RECORDED, stream, event);
}

static void
event_wait (Naive *naive, guint32 event, guint64 stream)
{
  note ((Whole *) naive, WAITED, stream, event);
}

static gboolean
figure (Naive *naive, const char *name, guint64 *value)
{
  Whole *w = (Whole *) naive;
  const struct
  {
    const char *name;
    guint64 value;
  } rows[] = { { "static_memory_policy", (w->static_bit ? 2 : 0) + (w->dynamic_bit ? 3 : 0)
                                             - (w->static_bit && w->dynamic_bit) },
               { "concurrent_runs", w->concurrent },
               { "check_free_memory.unloaded", w->unloaded },
               { "check_free_memory.reloaded", w->reloaded },
               { "subgraphs.bytes", w->inner_bytes } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (strcmp (rows[i].name, name) == 0)
      {
        *value = rows[i].value;
        return TRUE;
      }
  if (g_str_has_prefix (name, "p2p."))
    return naive_ge_figure (&w->p2p.base, name + 4, value);
  return naive_static_figure (&w->graphs, name, value)
         || naive_kinds_figure (&w->kinds, name, value) || naive_ge_figure (naive, name, value);
}

/* ---- life (7.1) */

static gboolean
is_one_of (const char *text, const char *digits)
{
  return text != NULL && strlen (text) == 1 && strchr (digits, *text) != NULL;
}

static Naive *
create (const Setting *setting)
{
  Whole *w = g_new0 (Whole, 1);

  w->setting = setting;
  w->static_bit = is_one_of (setting->environment, "124") || is_one_of (setting->option, "124");
  w->dynamic_bit = is_one_of (setting->environment, "34") || is_one_of (setting->option, "34");
  naive_ge_init (&w->hbm, w->dynamic_bit);
  naive_ge_init (&w->p2p, w->dynamic_bit);
  w->p2p.device = &w->hbm.base.device;
  naive_ge_share_ladder (&w->p2p, &w->hbm);
  w->known = g_ptr_array_new_with_free_func (graph_free);
  w->order = g_ptr_array_new ();
  w->p2p_ids = g_array_new (FALSE, FALSE, sizeof (guint32));
  w->log = g_array_new (FALSE, FALSE, sizeof (LogEntry));
  w->runs = g_array_new (FALSE, FALSE, sizeof (Run));
  return &w->hbm.base;
}

static void
start (Naive *naive)
{
  Whole *w = (Whole *) naive;
  const Setting *set = w->setting;
  const gboolean shared = w->static_bit && !set->addr_fixed;
  NaiveStaticMode mode = NAIVE_STATIC_OWN;
  NaiveFixedMode fixed = set->refreshable ? NAIVE_FIXED_APART : NAIVE_FIXED_INSIDE;

  if (shared)
    {
      mode = w->dynamic_bit    ? NAIVE_STATIC_PAGED
             : set->documented ? NAIVE_STATIC_DOCUMENTED
                               : NAIVE_STATIC_AS_BUILT;
      fixed = set->external ? NAIVE_FIXED_APART : NAIVE_FIXED_BASE;
    }
  if (mode != NAIVE_STATIC_PAGED)
    w->small = naive_pages_new (&naive->device, 2 * MIB);
  naive_static_init (&w->graphs, &naive->device,
                     w->small != NULL ? w->small : naive_ge_pages (&w->hbm), mode, fixed);
  w->graphs.leaky = set->leaky;
  naive_kinds_init (&w->kinds, &naive->device, (w->dynamic_bit ? 8 : 2) * MIB);
  w->kinds.keeps = set->documented && !w->static_bit && !w->dynamic_bit && !set->external;
}

static void
destroy (Naive *naive)
{
  Whole *w = (Whole *) naive;

  g_ptr_array_unref (w->known);
  g_ptr_array_unref (w->order);
  g_array_unref (w->p2p_ids);
  g_array_unref (w->log);
  g_array_unref (w->runs);
  naive_static_clear (&w->graphs);
  naive_pages_destroy (w->small);
  naive_kinds_clear (&w->kinds);
  naive_ge_destroy (&w->p2p.base);
  naive_ge_destroy (naive);
}

/* ---- the settings */

static const guint32 hccl_graphs[] = { 10, 20, 30, 60, 110, 200, 410, 0 };

#define KINDS \
  { \
    NAIVE_HBM, NAIVE_P2P, NAIVE_HOST, NAIVE_VARIABLE, NAIVE_WEIGHT, NAIVE_RDMA \
  }
#define TYPES ",memory_types=[1=p2p,2=host,3=variable,4=weight,5=rdma],rdma_size=41943340B"

/* A model with those settings, on a device that refuses each @refuses-th call. */
#define WHOLE(name_, text, refuses, ...) \
  static Naive *create_##name_ (void) \
  { \
    static const Setting setting = { .kinds = KINDS, __VA_ARGS__ }; \
\
    return create (&setting); \
  } \
  const NaiveClass naive_ge_##name_ = { .name = "ge", \
                                        .settings = text TYPES, \
                                        .every = refuses, \
                                        .pools = 6, \
                                        .alignment = 512, \
                                        .subgraphs = TRUE, \
                                        .create = create_##name_, \
                                        .start = start, \
                                        .alloc = alloc, \
                                        .free = release, \
                                        .trim = trim, \
                                        .sync = sync_stream, \
                                        .event_record = event_record, \
                                        .event_wait = event_wait, \
                                        .graph_load = graph_load, \
                                        .graph_run = graph_run, \
                                        .graph_unload = graph_unload, \
                                        .figure = figure, \
                                        .destroy = destroy }

#define AS_BUILT "GE_USE_STATIC_MEMORY=1,hccl_graphs=[10,20,30,60,110,200,410]"
#define DOCUMENTED "static_memory_policy=2,rules=documented"
#define ACTUAL "static_memory_policy=0,rules=documented"
#define APART "static_memory_policy=3,feature_base_refreshable=yes"
#define ADDR_FIXED "static_memory_policy=2,static_model_addr_fixed=yes,as_built=yes"

WHOLE (whole_0, "static_memory_policy=0", 0, .option = "0");
WHOLE (whole_0_faulty, "static_memory_policy=0", 7, .option = "0");
WHOLE (whole_actual, ACTUAL, 0, .option = "0", .documented = TRUE);
WHOLE (whole_actual_faulty, ACTUAL, 7, .option = "0", .documented = TRUE);
WHOLE (whole_1, AS_BUILT, 0, .environment = "1", .hccl = hccl_graphs);
WHOLE (whole_1_faulty, AS_BUILT, 7, .environment = "1", .hccl = hccl_graphs);
WHOLE (whole_2, DOCUMENTED, 0, .option = "2", .documented = TRUE);
WHOLE (whole_2_faulty, DOCUMENTED, 7, .option = "2", .documented = TRUE);
WHOLE (whole_3, APART, 0, .option = "3", .refreshable = TRUE);
WHOLE (whole_3_faulty, APART, 7, .option = "3", .refreshable = TRUE);
WHOLE (whole_4, "static_memory_policy=4", 0, .option = "4");
WHOLE (whole_4_faulty, "static_memory_policy=4", 7, .option = "4");
WHOLE (whole_both, "GE_USE_STATIC_MEMORY=2,static_memory_policy=3,check_free_memory=no", 0,
       .environment = "2", .option = "3", .no_check = TRUE);
WHOLE (whole_strict, "static_memory_policy=4,strict=yes", 0, .option = "4", .strict = TRUE);
WHOLE (whole_external, "static_memory_policy=4,external=yes", 0, .option = "4", .external = TRUE);
WHOLE (whole_addr_fixed, ADDR_FIXED, 0, .option = "2", .addr_fixed = TRUE, .leaky = TRUE);

/* graph-capture.c - generator `graph-capture`: a server that captures a CUDA graph for each batch
 * size and replays them, with eager work between.
 *
 * A capture runs the layers once on stream 1 with all requests in the graph's private pool:
 * temporaries are freed again, outputs stay as long as the graph.  A replay allocates nothing;
 * eager work before and after it does, on stream 0 in the default pool.  Every `recapture` steps
 * the program drops all graphs, releases their pools and empties the cache, then captures again.
 * Graphs are captured from the largest batch down, as servers do it so that with `share` the pool
 * of the first serves all.
 *
 * Good for: what private pools hold that nothing else may use (`release_private_pools`, share=yes
 * beside share=no), and allocators without pools beside them.
 * Events: (4 * layers + 3) per graph and capture, 2 * eager per step.  Memory: the outputs of all
 * graphs.
 */
#include "config.h"

#include "workloads/generator.h"
#include "workloads/steps.h"

#define EAGER 0
#define CAPTURE 1

typedef struct
{
  guint64 steps, graphs, layers, row, eager, recapture;
  gboolean share;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "steps",
    .type = GEMEM_PARAM_UINT,
    .default_text = "400",
    .min = "1",
    .aliases = "iterations",
    FIELD (steps),
    .help = "Replays, each with eager work before and after it." },
  { .name = "graphs",
    .type = GEMEM_PARAM_UINT,
    .default_text = "8",
    .min = "1",
    .max = "20",
    FIELD (graphs),
    .help = "Graphs, for batches of 1, 2, 4, 8 and so on." },
  { .name = "layers",
    .type = GEMEM_PARAM_UINT,
    .default_text = "16",
    .min = "1",
    .max = "10000",
    FIELD (layers),
    .help = "Layers that a graph captures." },
  { .name = "row",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "96KiB",
    .min = "64",
    .max = "1GiB",
    FIELD (row),
    .help = "Bytes of an activation for a batch of 1." },
  { .name = "eager",
    .type = GEMEM_PARAM_UINT,
    .default_text = "6",
    .max = "10000",
    FIELD (eager),
    .help = "Tensors of the eager work of a step." },
  { .name = "recapture",
    .type = GEMEM_PARAM_UINT,
    .default_text = "100",
    .min = "1",
    FIELD (recapture),
    .help = "Steps after which all graphs are captured anew." },
  { .name = "share",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    FIELD (share),
    .help = "All graphs have one pool." },
  { NULL }
};

typedef struct
{
  GememSteps parent;
  Params p;
  guint32 first_pool, pools; /* of the graphs there are; 0: none yet */
} Reader;

static guint64
captured (Reader *reader, guint64 bytes, guint32 pool)
{
  const guint64 id = gemem_steps_alloc (&reader->parent, bytes, CAPTURE, 20000);

  gemem_events_last (&reader->parent.parent)->pool = pool;
  return id;
}

static void
mark_capture (Reader *reader, GememEventKind kind, guint32 pool)
{
  GememTraceEvent *event;

  gemem_events_mark (&reader->parent.parent, kind, 0);
  event = gemem_events_last (&reader->parent.parent);
  event->pool = pool;
  event->aux = kind == GEMEM_EVENT_POOL_BEGIN;
}

static void
capture (Reader *reader, guint64 batch, guint32 pool)
{
  const guint64 bytes = reader->p.row * batch;
  guint64 input;

  mark_capture (reader, GEMEM_EVENT_POOL_BEGIN, pool);
  input = captured (reader, bytes, pool);
  for (guint64 layer = 0; layer < reader->p.layers; layer++)
    {
      const guint64 wide = captured (reader, 4 * bytes, pool),
                    output = captured (reader, bytes, pool);

      gemem_events_free (&reader->parent.parent, wide);
      gemem_events_free (&reader->parent.parent, input);
      input = output;
    }
  mark_capture (reader, GEMEM_EVENT_POOL_END, pool);
  g_array_append_val (reader->parent.kept, input);
}

static void
capture_all (Reader *reader)
{
  GememGeneratorReader *events = &reader->parent.parent;
  const guint32 next = reader->first_pool + reader->pools;

  gemem_steps_free_from (&reader->parent, 0);
  for (guint32 i = 0; i < reader->pools; i++)
    {
      gemem_events_mark (events, GEMEM_EVENT_POOL_RELEASE, 0);
      gemem_events_last (events)->pool = reader->first_pool + i;
    }
  if (reader->pools > 0)
    gemem_events_mark (events, GEMEM_EVENT_TRIM, 0);
  reader->first_pool = MAX (next, 1);
  reader->pools = reader->p.share ? 1 : (guint32) reader->p.graphs;
  for (guint64 i = 0; i < reader->p.graphs; i++)
    capture (reader, G_GUINT64_CONSTANT (1) << (reader->p.graphs - 1 - i),
             reader->first_pool + (reader->p.share ? 0 : (guint32) i));
}

/* Tokens of a batch of any size up to the largest, padded up for the graph alone. */
static void
run (GememSteps *steps)
{
  Reader *reader = (Reader *) steps;
  guint64 batch, first;

  if ((steps->step - 1) % reader->p.recapture == 0)
    capture_all (reader);
  batch = gemem_rng_range (&steps->rng, 1, G_GUINT64_CONSTANT (1) << (reader->p.graphs - 1));
  first = steps->kept->len;
  for (guint64 i = 0; i < reader->p.eager; i++)
    gemem_steps_keep (steps, reader->p.row * batch >> (i % 6), EAGER, 30000);
  steps->parent.time += 5000000; /* the replay */
  gemem_steps_free_from (steps, (guint) first);
}

static GememTraceReader *
open_graph_capture (gconstpointer data, guint64 seed, G_GNUC_UNUSED GError **error)
{
  const Params *p = data;
  Reader *reader = gemem_steps_new (sizeof *reader, p->steps, seed, "graph-capture", run);

  reader->p = *p;
  return &reader->parent.parent.parent;
}

const GememGenerator gemem_generator_graph_capture = {
  .base = { .name = "graph-capture",
            .summary = "CUDA graphs captured into private pools, and eager work: for memory that "
                       "pools keep to themselves",
            .origin = "gemem",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_graph_capture,
};

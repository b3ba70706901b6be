/* ge-session.c - generator `ge-session`: static graphs that run in turn, and the requests of a
 * dynamic-shape graph between the runs and during them.
 *
 * `graphs` static graphs (session.h) get sizes and segments from chosen distributions.  Before the
 * runs of every turn a dynamic-shape graph of `dynamic` operators executes.  The full size of each
 * operator's output is drawn once; every execution draws one shape, a fraction of it, for all
 * operators.  An operator allocates its output and frees its input, the previous output; some
 * outputs are kept to the end of the execution (as for a backward pass), some are kept for a later
 * one (as caches of keys and values).  `during` operators of the same graph run while each static
 * graph runs.  Operators alternate between two streams.  An operator that reads an output of the
 * other stream waits for it (EVENT_RECORD, EVENT_WAIT), uses it there (USE_ON_STREAM), and both
 * streams free it (STREAM_FREE, then FREE); every execution ends with stream 0 waiting for stream
 * 1.
 *
 * Every distribution has its own random stream, so that changing one leaves the others' draws
 * alone.  Memory: the operators and the live blocks.  Cost: O(1) per event.  Origin: ge-runtime.md
 * 2, 3, 7.
 */
#include "config.h"

#include "base/rng.h"
#include "base/units.h"
#include "workloads/generator.h"
#include "workloads/session.h"

enum
{
  FIXED,
  UNIFORM,
  LOG_UNIFORM,
  GROWING,
  SHRINKING
};

typedef struct
{
  GememSessionParams session;
  guint64 graphs, size_min, size_max, segments, zero_copy, fixed, run_time;
  guint64 dynamic, during, op_min, op_max, shape_min, kept, carried, carry, trim, streams, interval;
  int sizes;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "steps",
    .type = GEMEM_PARAM_UINT,
    .default_text = "10",
    .min = "1",
    .max = "1000000000",
    FIELD (session.steps),
    .help = "How often every graph has its turn." },
  { .name = "runs",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    .min = "1",
    .max = "1000000",
    FIELD (session.runs),
    .help = "Runs of a graph in a turn." },
  { .name = "loaded",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .max = "10000",
    .special = "all=0",
    FIELD (session.loaded),
    .help = "Static graphs loaded at once, at most: the one loaded longest is unloaded for the "
            "next; 0: all." },
  { .name = "asynchronous",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    FIELD (session.asynchronous),
    .help = "The host does not wait for the runs." },
  { .name = "graphs",
    .type = GEMEM_PARAM_UINT,
    .default_text = "4",
    .max = "10000",
    FIELD (graphs),
    .help = "Static graphs; 0: dynamic requests alone." },
  { .name = "sizes",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "log-uniform",
    .choices = "fixed|uniform|log-uniform|growing|shrinking",
    FIELD (sizes),
    .help = "Static memory of the graphs, between size_min and size_max (fixed: size_max; growing, "
            "shrinking: even steps from one to the other)." },
  { .name = "size_min",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "64MiB",
    .min = "1",
    FIELD (size_min),
    .help = "Least static memory of a graph." },
  { .name = "size_max",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "1GiB",
    .min = "1",
    .max = "1PiB",
    FIELD (size_max),
    .help = "Most static memory of a graph." },
  { .name = "segments",
    .type = GEMEM_PARAM_UINT,
    .default_text = "4",
    .min = "1",
    .max = "10000",
    FIELD (segments),
    .help = "Segments of a graph, at most, besides the fixed and the zero-copy one." },
  { .name = "zero_copy",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .max = "100",
    FIELD (zero_copy),
    .help = "Percent of a graph that are its inputs and outputs." },
  { .name = "fixed",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .max = "100",
    FIELD (fixed),
    .help = "Percent of a graph that must have the same address in all graphs." },
  { .name = "run_time",
    .type = GEMEM_PARAM_TIME,
    .default_text = "1ms",
    FIELD (run_time),
    .help = "Time of a run of a static graph." },
  { .name = "dynamic",
    .type = GEMEM_PARAM_UINT,
    .default_text = "50",
    .max = "1000000",
    FIELD (dynamic),
    .help = "Operators of the dynamic-shape graph, which runs before the runs of every turn; 0: "
            "there is none." },
  { .name = "during",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .max = "1000000",
    FIELD (during),
    .help = "How many of its operators run while a static graph runs." },
  { .name = "op_min",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "64KiB",
    .min = "1",
    FIELD (op_min),
    .help = "Smallest output of an operator at full shape." },
  { .name = "op_max",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "64MiB",
    .min = "1",
    .max = "1PiB",
    FIELD (op_max),
    .help = "Largest output of an operator at full shape (log-uniform)." },
  { .name = "shape_min",
    .type = GEMEM_PARAM_UINT,
    .default_text = "25",
    .min = "1",
    .max = "100",
    FIELD (shape_min),
    .help = "Smallest shape, percent of the full one; every execution draws one evenly." },
  { .name = "kept",
    .type = GEMEM_PARAM_UINT,
    .default_text = "30",
    .max = "100",
    FIELD (kept),
    .help = "Percent of the outputs that live to the end of the execution." },
  { .name = "carried",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .max = "100",
    FIELD (carried),
    .help = "Percent of the kept outputs that live on after it." },
  { .name = "carry",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    .min = "1",
    .max = "1000",
    FIELD (carry),
    .help = "Executions that those outlive." },
  { .name = "trim",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .special = "never=0",
    FIELD (trim),
    .help = "After so many executions the host waits for them, and the pools give back what is "
            "idle (recycle); 0: never." },
  { .name = "streams",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    .min = "1",
    .max = "2",
    FIELD (streams),
    .help = "Streams of the dynamic-shape graph." },
  { .name = "interval",
    .type = GEMEM_PARAM_TIME,
    .default_text = "10us",
    FIELD (interval),
    .help = "Time between two operators." },
  { NULL }
};

/* An output of the dynamic-shape graph; id 0: none. */
typedef struct
{
  guint64 id, stream;
  guint64 due; /* number of the execution at whose end it is freed */
} Output;

typedef struct
{
  GememSession session;
  Params params;
  GememRng shapes, keeps, carries;
  guint64 *full; /* by operator: bytes of its output at full shape */
  GArray *kept;  /* Output */
  guint64 executions;
} Reader;

#define ROUNDING 512 /* the compiler rounds all sizes to it */

/* ---- static graphs */

static guint64
draw_size (const Params *p, GememRng *rng, guint64 i)
{
  const guint64 span = p->size_max - p->size_min, last = MAX (p->graphs - 1, 1);

  switch (p->sizes)
    {
    case FIXED:
      return p->size_max;
    case UNIFORM:
      return gemem_rng_range (rng, p->size_min, p->size_max);
    case LOG_UNIFORM:
      return gemem_rng_log_uniform (rng, p->size_min, p->size_max);
    default:
      if (p->sizes == SHRINKING)
        i = p->graphs - 1 - i;
      return p->size_min + span / last * i + span % last * i / last;
    }
}

static guint64
percent (guint64 size, guint64 share)
{
  return gemem_round_up (size / 100 * share + size % 100 * share / 100, ROUNDING);
}

/* Splits @size into at most `segments` pieces of uneven size. */
static void
cut (const Params *p, GememRng *rng, GememStaticGraph *graph, guint64 size)
{
  for (guint64 left = p->segments; size > 0; left--)
    {
      guint64 piece = left > 1 ? gemem_round_up (gemem_rng_range (rng, 1, MAX (size / left * 2, 1)),
                                                 ROUNDING)
                               : size;

      piece = MIN (piece, size);
      gemem_static_graph_add (graph, piece, 0);
      size -= piece;
    }
}

static GPtrArray *
make_graphs (const Params *p, guint64 seed)
{
  GPtrArray *graphs = g_ptr_array_new ();
  GememRng sizes, segments;

  gemem_rng_init (&sizes, seed, "sizes");
  gemem_rng_init (&segments, seed, "segments");
  for (guint64 i = 0; i < p->graphs; i++)
    {
      g_autofree char *name = g_strdup_printf ("graph-%" G_GUINT64_FORMAT, i + 1);
      GememStaticGraph *graph = gemem_static_graph_new (name, p->run_time);
      const guint64 size = gemem_round_up (draw_size (p, &sizes, i), ROUNDING);
      const guint64 fixed = percent (size, p->fixed),
                    zero_copy = MIN (percent (size, p->zero_copy), size - fixed);

      gemem_static_graph_add (graph, fixed, GEMEM_GRAPH_SEGMENT_FIXED);
      cut (p, &segments, graph, size - fixed - zero_copy);
      gemem_static_graph_add (graph, zero_copy, GEMEM_GRAPH_SEGMENT_ZERO_COPY);
      g_ptr_array_add (graphs, graph);
    }
  return graphs;
}

/* ---- the dynamic-shape graph */

static void
append (Reader *reader, GememEventKind kind, guint64 id, guint64 stream, guint64 aux)
{
  const GememTraceEvent event = { .kind = (guint8) kind,
                                  .id = id,
                                  .stream = stream,
                                  .aux = aux,
                                  .time = reader->session.parent.time };

  g_array_append_val (reader->session.parent.events, event);
}

/* @to waits for the work queued on @from so far; the event's id is @from + 1. */
static void
wait_for (Reader *reader, guint64 from, guint64 to)
{
  append (reader, GEMEM_EVENT_EVENT_RECORD, from + 1, from, 1 + to);
  append (reader, GEMEM_EVENT_EVENT_WAIT, from + 1, to, 0);
}

/* An operator on @stream computes its output from @input. */
static Output
run_operator (Reader *reader, const Output *input, guint64 size, guint64 stream)
{
  const gboolean crosses = input->id != 0 && input->stream != stream;
  const Output output = { gemem_events_alloc (&reader->session.parent, size, stream), stream, 0 };

  if (crosses)
    {
      wait_for (reader, input->stream, stream);
      append (reader, GEMEM_EVENT_USE_ON_STREAM, input->id, stream, 0);
      append (reader, GEMEM_EVENT_STREAM_FREE, input->id, input->stream, 0);
    }
  reader->session.parent.time += reader->params.interval;
  return output;
}

/* Frees the outputs due at the end of this execution, or (@all) every output; the latest first. */
static void
release_due (Reader *reader, gboolean all)
{
  for (guint i = reader->kept->len; i-- > 0;)
    {
      const Output *output = &g_array_index (reader->kept, Output, i);

      if (!all && output->due > reader->executions)
        continue;
      gemem_events_free (&reader->session.parent, output->id);
      g_array_remove_index (reader->kept, i);
    }
}

/* @output was read for the last time: frees or keeps it. */
static void
dispose (Reader *reader, Output *output)
{
  const Params *p = &reader->params;

  if (output->id == 0)
    return;
  if (gemem_rng_below (&reader->keeps, 100) >= p->kept)
    {
      gemem_events_free (&reader->session.parent, output->id);
      return;
    }
  output->due = reader->executions
                + (gemem_rng_below (&reader->carries, 100) < p->carried ? p->carry : 0);
  g_array_append_val (reader->kept, *output);
}

/* Executes the first @n operators, with a newly drawn shape. */
static void
execute (Reader *reader, guint64 n)
{
  const Params *p = &reader->params;
  const guint64 shape = gemem_rng_range (&reader->shapes, p->shape_min, 100);
  Output last = { 0 };

  if (n == 0)
    return;
  reader->executions++;
  for (guint64 i = 0; i < n; i++)
    {
      const Output output = run_operator (reader, &last, percent (reader->full[i], shape),
                                          i % p->streams);

      dispose (reader, &last);
      last = output;
    }
  if (p->streams > 1)
    wait_for (reader, 1, 0);
  gemem_events_free (&reader->session.parent, last.id);
  release_due (reader, FALSE);
  if (p->trim > 0 && reader->executions % p->trim == 0)
    {
      /* First the streams, then memory (ge-runtime.md 2.1); stream 0 has waited for stream 1. */
      append (reader, GEMEM_EVENT_STREAM_SYNC, 0, 0, 0);
      append (reader, GEMEM_EVENT_TRIM, 0, 0, 0);
    }
}

static void
before (GememSession *session)
{
  Reader *reader = (Reader *) session;

  execute (reader, reader->params.dynamic);
}

static void
during (GememSession *session)
{
  Reader *reader = (Reader *) session;

  execute (reader, reader->params.during);
}

static void
end (GememSession *session)
{
  release_due ((Reader *) session, TRUE);
}

/* ---- opening and closing */

static void
free_parts (GememSession *session)
{
  Reader *reader = (Reader *) session;

  g_free (reader->full);
  g_array_unref (reader->kept);
}

static gboolean
check (const Params *p, GError **error)
{
  const char *least = NULL, *most = NULL;

  if (p->size_min > p->size_max)
    least = "size_min", most = "size_max";
  else if (p->op_min > p->op_max)
    least = "op_min", most = "op_max";
  else if (p->fixed + p->zero_copy > 100)
    g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                         "generator ge-session: fixed and zero_copy are more than 100 percent of a "
                         "graph together; lower one of them");
  else
    return TRUE;
  if (least != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "generator ge-session: %s is larger than %s; swap them or raise %s", least, most,
                 most);
  return FALSE;
}

static GememTraceReader *
open_session (gconstpointer data, guint64 seed, GError **error)
{
  const Params *p = data;
  const guint64 operators = MAX (p->dynamic, p->during);
  Reader *reader;
  GememRng rng;

  if (!check (p, error))
    return NULL;
  reader = gemem_session_new (sizeof *reader, make_graphs (p, seed), &p->session);
  reader->params = *p;
  reader->session.before = before;
  reader->session.during = during;
  reader->session.end = end;
  reader->session.free_parts = free_parts;
  reader->kept = g_array_new (FALSE, FALSE, sizeof (Output));
  reader->full = g_new (guint64, operators);
  gemem_rng_init (&rng, seed, "operators");
  for (guint64 i = 0; i < operators; i++)
    reader->full[i] = gemem_rng_log_uniform (&rng, p->op_min, p->op_max);
  gemem_rng_init (&reader->shapes, seed, "shapes");
  gemem_rng_init (&reader->keeps, seed, "keeps");
  gemem_rng_init (&reader->carries, seed, "carries");
  return &reader->session.parent.parent;
}

const GememGenerator gemem_generator_ge_session = {
  .base = {
    .name = "ge-session",
    .summary = "Static graphs that run in turn, with the requests of a dynamic-shape graph "
               "between and during the runs",
    .origin = "gemem; ge-runtime.md 2, 3, 7",
    .params = params,
    .params_size = sizeof (Params),
  },
  .open = open_session,
};

/* pipeline-stages.c - generator `pipeline-stages`: stages of a network, each on a stream of its
 * own, with small batches in flight between them (one forward, one backward).
 *
 * Stage s runs on stream s.  Its forward pass keeps activations for the backward pass and makes an
 * output, which the next stage uses on its stream; its backward pass makes the gradient of its
 * input, which the stage before uses.  A stage first runs as many forward passes as stages follow
 * it, then one backward for each forward pass, so early stages hold the most.  Each pass runs when
 * what it needs is there.
 *
 * Good for: peaks that lie at different times on different streams: what no stream may take from
 * another adds up (`pytorch-caching`, `cupy-pool`), what they share does not (`tf-bfc`,
 * `paddle-auto-growth`).
 * Events per step: about micro_batches * stages * (2 * tensors + 8).  Memory: the
 * batches in flight.
 */
#include "config.h"

#include "workloads/generator.h"
#include "workloads/steps.h"

typedef struct
{
  guint64 steps, stages, micro_batches, tensors, activation, jitter;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "steps",
    .type = GEMEM_PARAM_UINT,
    .default_text = "20",
    .min = "1",
    .aliases = "iterations",
    FIELD (steps),
    .help = "Training steps." },
  { .name = "stages",
    .type = GEMEM_PARAM_UINT,
    .default_text = "4",
    .min = "1",
    .max = "64",
    FIELD (stages),
    .help = "Stages, and streams." },
  { .name = "micro_batches",
    .type = GEMEM_PARAM_UINT,
    .default_text = "8",
    .min = "1",
    .max = "1024",
    FIELD (micro_batches),
    .help = "Parts of a batch that go through the stages one behind the other." },
  { .name = "tensors",
    .type = GEMEM_PARAM_UINT,
    .default_text = "6",
    .min = "1",
    .max = "100",
    FIELD (tensors),
    .help = "Activations that a stage keeps for its backward pass." },
  { .name = "activation",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "12MiB",
    .min = "1KiB",
    .max = "1TiB",
    FIELD (activation),
    .help = "Bytes of an activation." },
  { .name = "jitter",
    .type = GEMEM_PARAM_UINT,
    .default_text = "10",
    .max = "90",
    FIELD (jitter),
    .help = "Percent by which the tensors of a small batch are larger or smaller." },
  { NULL }
};

/* What a small batch has at a stage: ids. */
typedef struct
{
  guint64 output, gradient; /* for the stage behind, and for the one before */
  guint64 *activations;
  gboolean forward, backward; /* done */
} Cell;

typedef struct
{
  GememSteps parent;
  Params p;
  Cell *cells;    /* [stage * micro_batches + micro batch] */
  guint64 *bytes; /* of the tensors of each micro batch */
} Reader;

static Cell *
cell_of (Reader *reader, guint64 stage, guint64 batch)
{
  return &reader->cells[stage * reader->p.micro_batches + batch];
}

static void
run_forward (Reader *reader, guint64 stage, guint64 batch)
{
  Cell *cell = cell_of (reader, stage, batch);

  if (stage > 0)
    gemem_events_use (&reader->parent.parent, cell_of (reader, stage - 1, batch)->output, stage);
  for (guint64 i = 0; i < reader->p.tensors; i++)
    cell->activations[i] = gemem_steps_alloc (&reader->parent, reader->bytes[batch], stage, 100000);
  cell->output = gemem_steps_alloc (&reader->parent, reader->bytes[batch], stage, 100000);
  cell->forward = TRUE;
}

static void
run_backward (Reader *reader, guint64 stage, guint64 batch)
{
  Cell *cell = cell_of (reader, stage, batch);

  cell->gradient = gemem_steps_alloc (&reader->parent, reader->bytes[batch], stage, 200000);
  for (guint64 i = reader->p.tensors; i-- > 0;)
    gemem_events_free (&reader->parent.parent, cell->activations[i]);
  if (stage + 1 < reader->p.stages) /* made on the stream of the stage behind */
    {
      const guint64 gradient = cell_of (reader, stage + 1, batch)->gradient;

      gemem_events_use (&reader->parent.parent, gradient, stage);
      gemem_events_free (&reader->parent.parent, gradient);
    }
  gemem_events_free (&reader->parent.parent, cell->output);
  if (stage == 0)
    gemem_events_free (&reader->parent.parent, cell->gradient);
  cell->backward = TRUE;
}

/* Runs the next pass of @stage, its forwards and backwards done so far being *@f and *@b; FALSE: it
 * waits for another stage, or all is done. */
static gboolean
advance (Reader *reader, guint64 stage, guint64 *f, guint64 *b)
{
  const guint64 ahead = reader->p.stages - stage, all = reader->p.micro_batches;

  if (*f < all && *f - *b < ahead)
    {
      if (stage > 0 && !cell_of (reader, stage - 1, *f)->forward)
        return FALSE;
      run_forward (reader, stage, (*f)++);
      return TRUE;
    }
  if (*b == all || (stage + 1 < reader->p.stages && !cell_of (reader, stage + 1, *b)->backward))
    return FALSE;
  run_backward (reader, stage, (*b)++);
  return TRUE;
}

static void
run (GememSteps *steps)
{
  Reader *reader = (Reader *) steps;
  g_autofree guint64 *done = g_new0 (guint64, 2 * reader->p.stages);
  gboolean going = TRUE;

  for (guint64 i = 0; i < reader->p.micro_batches; i++)
    reader->bytes[i] = gemem_steps_vary (steps, reader->p.activation, reader->p.jitter);
  for (guint64 i = 0; i < reader->p.stages * reader->p.micro_batches; i++)
    reader->cells[i].forward = reader->cells[i].backward = FALSE;
  while (going)
    {
      going = FALSE;
      for (guint64 stage = 0; stage < reader->p.stages; stage++)
        going |= advance (reader, stage, &done[2 * stage], &done[2 * stage + 1]);
    }
}

static void
free_parts (GememSteps *steps)
{
  Reader *reader = (Reader *) steps;

  for (guint64 i = 0; i < reader->p.stages * reader->p.micro_batches; i++)
    g_free (reader->cells[i].activations);
  g_free (reader->cells);
  g_free (reader->bytes);
}

static GememTraceReader *
open_pipeline_stages (gconstpointer data, guint64 seed, G_GNUC_UNUSED GError **error)
{
  const Params *p = data;
  Reader *reader = gemem_steps_new (sizeof *reader, p->steps, seed, "pipeline-stages", run);

  reader->p = *p;
  reader->bytes = g_new0 (guint64, p->micro_batches);
  reader->cells = g_new0 (Cell, p->stages * p->micro_batches);
  for (guint64 i = 0; i < p->stages * p->micro_batches; i++)
    reader->cells[i].activations = g_new0 (guint64, p->tensors);
  reader->parent.free_parts = free_parts;
  return &reader->parent.parent.parent;
}

const GememGenerator gemem_generator_pipeline_stages = {
  .base = { .name = "pipeline-stages",
            .summary =
                "Stages of a network on streams of their own: for peaks of streams that add up",
            .origin = "gemem",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_pipeline_stages,
};

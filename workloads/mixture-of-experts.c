/* mixture-of-experts.c - generator `mixture-of-experts`: training in which each step gives every
 * expert another number of tokens.
 *
 * A step has `layers` layers.  In each a router spreads the tokens unevenly over the experts; what
 * is exchanged is received on stream 1 and used on stream 0 (record_stream).  Every expert makes
 * its gathered tokens, the wide hidden layer and its output, of which the first two are kept for
 * the backward pass.  Backward frees them in reverse order, with a gradient of each size.
 *
 * Good for: sizes that change with every step, so that what is cached seldom fits: what segments
 * reserve grows over many steps (`pytorch-caching`, `cupy-pool`), pages and regions less.
 * Events per step: layers * (6 * experts + 4), and a use.  Memory: the activations of a step.
 */
#include "config.h"

#include "workloads/generator.h"
#include "workloads/steps.h"

#define COMPUTE 0
#define EXCHANGE 1

typedef struct
{
  guint64 steps, layers, experts, tokens, token, skew;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "steps",
    .type = GEMEM_PARAM_UINT,
    .default_text = "40",
    .min = "1",
    .aliases = "iterations",
    FIELD (steps),
    .help = "Training steps." },
  { .name = "layers",
    .type = GEMEM_PARAM_UINT,
    .default_text = "8",
    .min = "1",
    .max = "1000",
    FIELD (layers),
    .help = "Layers with experts." },
  { .name = "experts",
    .type = GEMEM_PARAM_UINT,
    .default_text = "8",
    .min = "1",
    .max = "1024",
    FIELD (experts),
    .help = "Experts on this device." },
  { .name = "tokens",
    .type = GEMEM_PARAM_UINT,
    .default_text = "8192",
    .min = "1",
    .max = "10000000",
    FIELD (tokens),
    .help = "Mean number of tokens that come to this device in a step." },
  { .name = "token",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "4KiB",
    .min = "1",
    .max = "1MiB",
    .aliases = "width",
    FIELD (token),
    .help = "Bytes of a token; the hidden layer has four times as many." },
  { .name = "skew",
    .type = GEMEM_PARAM_UINT,
    .default_text = "60",
    .max = "90",
    FIELD (skew),
    .help = "Percent by which an expert's share, and the tokens of a layer, may differ from the "
            "mean." },
  { NULL }
};

typedef struct
{
  GememSteps parent;
  Params p;
  GArray *sizes; /* guint64: bytes of the blocks in `kept` */
} Reader;

static void
keep (Reader *reader, guint64 bytes)
{
  gemem_steps_keep (&reader->parent, bytes, COMPUTE, 20000);
  g_array_append_val (reader->sizes, bytes);
}

static void
run_forward (Reader *reader)
{
  GememSteps *steps = &reader->parent;
  const guint64 tokens = gemem_steps_vary (steps, reader->p.tokens, reader->p.skew / 2);
  const guint64 received = gemem_steps_alloc (steps, tokens * reader->p.token, EXCHANGE, 100000);
  guint64 left = tokens;

  gemem_events_use (&steps->parent, received, COMPUTE);
  for (guint64 expert = 0; expert < reader->p.experts; expert++)
    {
      const guint64 rest = reader->p.experts - expert;
      const guint64 mine = rest == 1
                               ? left
                               : MIN (left, gemem_steps_vary (steps, left / rest, reader->p.skew));
      const guint64 bytes = mine * reader->p.token;
      guint64 output;

      left -= mine;
      if (mine == 0) /* an expert without tokens makes nothing */
        continue;
      keep (reader, bytes);
      keep (reader, 4 * bytes);
      output = gemem_steps_alloc (steps, bytes, COMPUTE, 20000);
      gemem_events_free (&steps->parent, output);
    }
  gemem_events_free (&steps->parent, received);
}

static void
run (GememSteps *steps)
{
  Reader *reader = (Reader *) steps;

  for (guint64 layer = 0; layer < reader->p.layers; layer++)
    run_forward (reader);
  while (steps->kept->len > 0)
    {
      const guint last = steps->kept->len - 1;
      const guint64 bytes = g_array_index (reader->sizes, guint64, last);
      const guint64 gradient = gemem_steps_alloc (steps, bytes, COMPUTE, 40000);

      gemem_steps_free_from (steps, last);
      gemem_events_free (&steps->parent, gradient);
    }
  g_array_set_size (reader->sizes, 0);
}

static void
free_parts (GememSteps *steps)
{
  g_array_unref (((Reader *) steps)->sizes);
}

static GememTraceReader *
open_mixture_of_experts (gconstpointer data, guint64 seed, G_GNUC_UNUSED GError **error)
{
  const Params *p = data;
  Reader *reader = gemem_steps_new (sizeof *reader, p->steps, seed, "mixture-of-experts", run);

  reader->p = *p;
  reader->sizes = g_array_new (FALSE, FALSE, sizeof (guint64));
  reader->parent.free_parts = free_parts;
  return &reader->parent.parent.parent;
}

const GememGenerator gemem_generator_mixture_of_experts = {
  .base = { .name = "mixture-of-experts",
            .summary = "Experts whose numbers of tokens change with each step: for caches that "
                       "seldom fit",
            .origin = "gemem",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_mixture_of_experts,
};

/* growing-caches.c - generator `growing-caches`: inference with a cache of keys and values that
 * grows with each token.
 *
 * `active` sequences are served at once.  A sequence begins with a prompt of random length; at each
 * step every sequence gets `grow` tokens: each layer makes a longer cache, copies, and frees the
 * old one; then come the temporaries of the layer.  A sequence that has all its tokens frees its
 * caches, and a new one takes its turn.
 *
 * Good for: sizes that never come twice: what rounding wastes and what holes cost
 * (`expandable_segments`, `roundup_power2_divisions`, best fit without segments).
 * Events per step: active * layers * 4 + 2 per tensor of scores.  Memory: the caches.
 */
#include "config.h"

#include "workloads/generator.h"
#include "workloads/steps.h"

typedef struct
{
  guint64 steps, active, layers, token, prompt, tokens, grow;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "steps",
    .type = GEMEM_PARAM_UINT,
    .default_text = "500",
    .min = "1",
    .aliases = "iterations",
    FIELD (steps),
    .help = "Steps of decoding." },
  { .name = "active",
    .type = GEMEM_PARAM_UINT,
    .default_text = "6",
    .min = "1",
    .max = "10000",
    FIELD (active),
    .help = "Sequences that are served at once." },
  { .name = "layers",
    .type = GEMEM_PARAM_UINT,
    .default_text = "8",
    .min = "1",
    .max = "1000",
    FIELD (layers),
    .help = "Layers, each with a cache for each sequence." },
  { .name = "token",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "16KiB",
    .min = "1",
    .max = "16MiB",
    FIELD (token),
    .help = "Bytes of a token in the cache of one layer." },
  { .name = "prompt",
    .type = GEMEM_PARAM_UINT,
    .default_text = "512",
    .min = "1",
    .max = "1000000",
    FIELD (prompt),
    .help = "Mean number of tokens with which a sequence begins." },
  { .name = "tokens",
    .type = GEMEM_PARAM_UINT,
    .default_text = "200",
    .min = "1",
    .max = "1000000",
    FIELD (tokens),
    .help = "Mean number of tokens that a sequence gets." },
  { .name = "grow",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    .min = "1",
    .max = "100000",
    FIELD (grow),
    .help = "Tokens by which a cache grows." },
  { NULL }
};

typedef struct
{
  guint64 length, end; /* tokens; length 0: the turn of a new sequence */
} Sequence;

typedef struct
{
  GememSteps parent;
  Params p;
  Sequence *sequences;
} Reader;

/* The cache of layer @layer of sequence @i, in `kept`. */
static guint64 *
cache_of (Reader *reader, guint64 i, guint64 layer)
{
  return &g_array_index (reader->parent.kept, guint64, i * reader->p.layers + layer);
}

static void
serve (Reader *reader, guint64 i)
{
  GememSteps *steps = &reader->parent;
  Sequence *sequence = &reader->sequences[i];
  const gboolean begins = sequence->length == 0;

  if (begins)
    {
      sequence->length = gemem_rng_range (&steps->rng, 1, 2 * reader->p.prompt - 1);
      sequence->end = sequence->length + gemem_rng_range (&steps->rng, 1, 2 * reader->p.tokens - 1);
    }
  else
    sequence->length += reader->p.grow;
  for (guint64 layer = 0; layer < reader->p.layers; layer++)
    {
      guint64 *cache = cache_of (reader, i, layer);
      const guint64 old = *cache;
      guint64 scores;

      *cache = gemem_steps_alloc (steps, sequence->length * reader->p.token, 0, 20000);
      if (!begins)
        gemem_events_free (&steps->parent, old);
      scores = gemem_steps_alloc (steps, sequence->length * 64, 0, 20000);
      gemem_events_free (&steps->parent, scores);
    }
  if (sequence->length < sequence->end)
    return;
  for (guint64 layer = 0; layer < reader->p.layers; layer++)
    gemem_events_free (&steps->parent, *cache_of (reader, i, layer));
  sequence->length = 0;
}

static void
run (GememSteps *steps)
{
  Reader *reader = (Reader *) steps;

  for (guint64 i = 0; i < reader->p.active; i++)
    serve (reader, i);
  if (steps->step < steps->steps)
    return;
  for (guint64 i = reader->p.active; i-- > 0;) /* only those that live are freed behind this */
    if (reader->sequences[i].length == 0)
      g_array_remove_range (steps->kept, (guint) (i * reader->p.layers), (guint) reader->p.layers);
}

static void
free_parts (GememSteps *steps)
{
  g_free (((Reader *) steps)->sequences);
}

static GememTraceReader *
open_growing_caches (gconstpointer data, guint64 seed, G_GNUC_UNUSED GError **error)
{
  const Params *p = data;
  Reader *reader = gemem_steps_new (sizeof *reader, p->steps, seed, "growing-caches", run);

  reader->p = *p;
  reader->sequences = g_new0 (Sequence, p->active);
  g_array_set_size (reader->parent.kept, (guint) (p->active * p->layers));
  reader->parent.free_parts = free_parts;
  return &reader->parent.parent.parent;
}

const GememGenerator gemem_generator_growing_caches = {
  .base = { .name = "growing-caches",
            .summary = "Inference with caches that grow by each token: for sizes that never come "
                       "twice",
            .origin = "gemem",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_growing_caches,
};

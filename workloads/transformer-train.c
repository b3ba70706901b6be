/* transformer-train.c - generator `transformer-train`: the allocations of training a decoder-only
 * transformer, step by step.
 *
 * Modelled: parameters, gradients and optimizer state as tensors of their real shapes; per layer
 * the activations that autograd keeps (inputs of norms, projections, attention, feed-forward), the
 * temporaries of each operation, gradients created in backward in reverse order; optionally
 * recomputing a layer's activations in backward instead of keeping them; zero_grad(set_to_none) at
 * the start of a step.  Not modelled: kernels' own workspaces, fused operators, data loaders.
 * Sizes are exact products of the shape.  Nothing is random unless jitter > 0, which varies the
 * sequence length of each step; the seed has no other effect.
 *
 * Events per step: about 46 per layer; one piece of events is one step.  Memory: O(layers).
 */
#include "config.h"

#include "base/rng.h"
#include "workloads/generator-reader.h"
#include "workloads/generator.h"

enum
{
  NONE,
  SGD,
  ADAMW
};

typedef struct
{
  guint64 layers, width, heads, hidden, vocabulary, sequence, batch, iterations, bytes, jitter;
  int optimizer;
  gboolean recompute, flash;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "layers",
    .type = GEMEM_PARAM_UINT,
    .default_text = "12",
    .min = "1",
    .max = "1000",
    FIELD (layers),
    .help = "Transformer blocks." },
  { .name = "width",
    .type = GEMEM_PARAM_UINT,
    .default_text = "768",
    .min = "1",
    .max = "65536",
    .aliases = "d_model",
    FIELD (width),
    .help = "Model width." },
  { .name = "heads",
    .type = GEMEM_PARAM_UINT,
    .default_text = "12",
    .min = "1",
    .max = "1024",
    FIELD (heads),
    .help = "Attention heads." },
  { .name = "hidden",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .max = "1048576",
    FIELD (hidden),
    .help = "Feed-forward width; 0: four times the width." },
  { .name = "vocabulary",
    .type = GEMEM_PARAM_UINT,
    .default_text = "50257",
    .min = "1",
    .max = "10000000",
    FIELD (vocabulary),
    .help = "Vocabulary." },
  { .name = "sequence",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1024",
    .min = "1",
    .max = "10000000",
    FIELD (sequence),
    .help = "Tokens per sequence." },
  { .name = "batch",
    .type = GEMEM_PARAM_UINT,
    .default_text = "4",
    .min = "1",
    .max = "100000",
    FIELD (batch),
    .help = "Sequences per step." },
  { .name = "iterations",
    .type = GEMEM_PARAM_UINT,
    .default_text = "3",
    .min = "1",
    .aliases = "steps",
    FIELD (iterations),
    .help = "Training steps." },
  { .name = "bytes",
    .type = GEMEM_PARAM_UINT,
    .default_text = "4",
    .min = "1",
    .max = "8",
    FIELD (bytes),
    .help = "Bytes per element of parameters and activations; optimizer state has 4." },
  { .name = "optimizer",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "adamw",
    .choices = "none|sgd|adamw",
    FIELD (optimizer),
    .help = "none, sgd with momentum, or adamw; state is made in the first step." },
  { .name = "recompute",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    FIELD (recompute),
    .help = "Keep only the input of each layer and recompute the rest in backward." },
  { .name = "flash",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    FIELD (flash),
    .help = "Attention without the sequence x sequence matrix." },
  { .name = "jitter",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .max = "90",
    FIELD (jitter),
    .help = "Sequence length varies by up to this many percent downwards from step to step." },
  { NULL }
};

enum
{
  PARAMS_PER_LAYER = 8,
  KEPT_PER_LAYER = 12
};

typedef struct
{
  /* ids; 0: none */
  guint64 weight[PARAMS_PER_LAYER], gradient[PARAMS_PER_LAYER], state[PARAMS_PER_LAYER][2];
  guint64 size[PARAMS_PER_LAYER]; /* in elements */
  guint64 input, kept[KEPT_PER_LAYER];
} Layer;

typedef struct
{
  GememGeneratorReader parent;
  Params p;
  GememRng rng;
  Layer *layers;            /* p.layers of them, then one for embedding and head */
  guint64 step;             /* 0: parameters; 1..iterations: steps; then the end of the trace */
  guint64 tokens, sequence; /* of this step */
} Reader;

static guint64
make (Reader *reader, guint64 elements)
{
  reader->parent.time += 1000;
  return gemem_events_alloc (&reader->parent, elements * reader->p.bytes, 0);
}

static void
drop (Reader *reader, guint64 *id)
{
  if (*id != 0)
    gemem_events_free (&reader->parent, *id);
  *id = 0;
}

static void
set_shapes (Reader *reader)
{
  guint64 w = reader->p.width, h = reader->p.hidden;
  const guint64 block[PARAMS_PER_LAYER] = { w, 3 * w * w, 3 * w, w * w, w, w * h, h, h * w };
  for (guint64 l = 0; l < reader->p.layers; l++)
    for (guint i = 0; i < PARAMS_PER_LAYER; i++)
      reader->layers[l].size[i] = block[i];
  reader->layers[reader->p.layers].size[0] = reader->p.vocabulary * w;
  reader->layers[reader->p.layers].size[1] = w;
}

static void
make_parameters (Reader *reader)
{
  for (guint64 l = 0; l <= reader->p.layers; l++)
    for (guint i = 0; i < PARAMS_PER_LAYER; i++)
      if (reader->layers[l].size[i] > 0)
        reader->layers[l].weight[i] = make (reader, reader->layers[l].size[i]);
}

/* Allocates the activations of one layer; those that backward needs stay in `kept`. */
static void
forward_layer (Reader *reader, Layer *layer)
{
  guint64 t = reader->tokens, w = reader->p.width, h = reader->p.hidden;
  guint64 *kept = layer->kept;
  kept[0] = make (reader, t * w);     /* norm 1 */
  kept[1] = make (reader, 2 * t);     /* its mean and rstd */
  kept[2] = make (reader, 3 * t * w); /* q, k, v */
  if (reader->p.flash)
    kept[3] = make (reader, t * reader->p.heads); /* log-sum-exp */
  else
    {
      guint64 scores = make (reader, t * reader->p.heads * reader->sequence);
      kept[3] = make (reader, t * reader->p.heads * reader->sequence); /* softmax */
      drop (reader, &scores);
    }
  kept[4] = make (reader, t * w); /* attention output */
  guint64 projection = make (reader, t * w);
  kept[5] = make (reader, t * w); /* residual 1 */
  drop (reader, &projection);
  kept[6] = make (reader, t * w); /* norm 2 */
  kept[7] = make (reader, 2 * t);
  kept[8] = make (reader, t * h); /* before activation */
  kept[9] = make (reader, t * h); /* after activation */
  guint64 down = make (reader, t * w);
  kept[10] = make (reader, t * w); /* residual 2: the next layer's input */
  drop (reader, &down);
}

static void
drop_kept (Reader *reader, Layer *layer, gboolean output_too)
{
  for (guint i = 0; i < KEPT_PER_LAYER; i++)
    if (i != 10 || output_too)
      drop (reader, &layer->kept[i]);
}

static void
forward (Reader *reader)
{
  guint64 input = make (reader, reader->tokens * reader->p.width); /* embedding */
  for (guint64 l = 0; l < reader->p.layers; l++)
    {
      Layer *layer = &reader->layers[l];
      layer->input = input;
      forward_layer (reader, layer);
      input = layer->kept[10];
      if (reader->p.recompute)
        drop_kept (reader, layer, FALSE);
      layer->kept[10] = 0; /* the next layer owns this block as its input */
    }
  reader->layers[reader->p.layers].input = input;
}

static void
gradient (Reader *reader, Layer *layer, guint i)
{
  if (layer->gradient[i] == 0)
    layer->gradient[i] = make (reader, layer->size[i]);
}

/* Backward through one layer: frees the gradient of its output, returns that of its input. */
static guint64
backward_layer (Reader *reader, Layer *layer, guint64 output_gradient)
{
  guint64 t = reader->tokens, w = reader->p.width, h = reader->p.hidden;
  if (reader->p.recompute)
    {
      forward_layer (reader, layer);
      drop (reader, &layer->kept[10]);
    }
  guint64 hidden = make (reader, t * h);
  gradient (reader, layer, 7);
  drop (reader, &layer->kept[9]);
  guint64 activation = make (reader, t * h);
  drop (reader, &hidden);
  drop (reader, &layer->kept[8]);
  guint64 norm = make (reader, t * w);
  gradient (reader, layer, 5);
  gradient (reader, layer, 6);
  drop (reader, &activation);
  drop (reader, &layer->kept[6]);
  drop (reader, &layer->kept[7]);
  guint64 middle = make (reader, t * w);
  drop (reader, &norm);
  drop (reader, &output_gradient);
  drop (reader, &layer->kept[5]);
  guint64 attention = make (reader, t * w);
  gradient (reader, layer, 3);
  gradient (reader, layer, 4);
  guint64 scores = reader->p.flash ? 0 : make (reader, t * reader->p.heads * reader->sequence);
  guint64 qkv = make (reader, 3 * t * w);
  drop (reader, &scores);
  drop (reader, &attention);
  drop (reader, &layer->kept[4]);
  drop (reader, &layer->kept[3]);
  drop (reader, &layer->kept[2]);
  guint64 first = make (reader, t * w);
  gradient (reader, layer, 1);
  gradient (reader, layer, 2);
  drop (reader, &qkv);
  drop (reader, &layer->kept[0]);
  drop (reader, &layer->kept[1]);
  guint64 input_gradient = make (reader, t * w);
  gradient (reader, layer, 0);
  drop (reader, &first);
  drop (reader, &middle);
  drop (reader, &layer->input);
  return input_gradient;
}

static void
loss_and_backward (Reader *reader)
{
  Layer *head = &reader->layers[reader->p.layers];
  guint64 t = reader->tokens;
  guint64 normed = make (reader, t * reader->p.width);
  guint64 logits = make (reader, t * reader->p.vocabulary);
  guint64 log_softmax = make (reader, t * reader->p.vocabulary);
  guint64 loss = make (reader, 1);
  drop (reader, &logits);
  guint64 logits_gradient = make (reader, t * reader->p.vocabulary);
  drop (reader, &log_softmax);
  gradient (reader, head, 0);
  guint64 upstream = make (reader, t * reader->p.width);
  drop (reader, &logits_gradient);
  drop (reader, &normed);
  gradient (reader, head, 1);
  drop (reader, &head->input);
  for (guint64 l = reader->p.layers; l-- > 0;)
    upstream = backward_layer (reader, &reader->layers[l], upstream);
  drop (reader, &upstream);
  drop (reader, &loss);
}

static void
optimize (Reader *reader)
{
  guint states = reader->p.optimizer == ADAMW ? 2 : reader->p.optimizer == SGD ? 1 : 0;
  for (guint64 l = 0; l <= reader->p.layers; l++)
    for (guint i = 0; i < PARAMS_PER_LAYER; i++)
      {
        Layer *layer = &reader->layers[l];
        if (layer->size[i] == 0)
          continue;
        for (guint s = 0; s < states; s++)
          if (layer->state[i][s] == 0)
            layer->state[i][s] = gemem_events_alloc (&reader->parent, layer->size[i] * 4, 0);
        guint64 update = reader->p.optimizer != NONE ? make (reader, layer->size[i]) : 0;
        drop (reader, &update);
      }
}

static void
zero_gradients (Reader *reader)
{
  for (guint64 l = 0; l <= reader->p.layers; l++)
    for (guint i = 0; i < PARAMS_PER_LAYER; i++)
      drop (reader, &reader->layers[l].gradient[i]);
}

static void
drop_parameters (Reader *reader)
{
  zero_gradients (reader);
  for (guint64 l = 0; l <= reader->p.layers; l++)
    for (guint i = 0; i < PARAMS_PER_LAYER; i++)
      {
        drop (reader, &reader->layers[l].weight[i]);
        drop (reader, &reader->layers[l].state[i][0]);
        drop (reader, &reader->layers[l].state[i][1]);
      }
}

static gboolean
fill (GememGeneratorReader *parent)
{
  Reader *reader = (Reader *) parent;
  if (reader->step > reader->p.iterations + 1)
    return FALSE;
  if (reader->step == 0)
    make_parameters (reader);
  else if (reader->step <= reader->p.iterations)
    {
      guint64 less = reader->p.jitter > 0 ? gemem_rng_below (&reader->rng, reader->p.jitter + 1)
                                          : 0;
      reader->sequence = MAX (1, reader->p.sequence * (100 - less) / 100);
      reader->tokens = reader->sequence * reader->p.batch;
      gemem_events_mark (parent, GEMEM_EVENT_STEP, reader->step);
      zero_gradients (reader);
      forward (reader);
      loss_and_backward (reader);
      optimize (reader);
    }
  else
    drop_parameters (reader);
  reader->step++;
  return TRUE;
}

static void
free_parts (GememGeneratorReader *parent)
{
  g_free (((Reader *) parent)->layers);
}

/* The largest tensor must stay below 2^60 bytes, which no allocator could serve. */
static gboolean
sizes_fit (const Params *p)
{
  guint64 tokens, largest = 0, product;
  guint64 per_token = MAX (MAX (p->vocabulary, p->hidden),
                           MAX (3 * p->width, p->flash ? p->heads : p->heads * p->sequence));
  gboolean overflow = __builtin_mul_overflow (p->sequence, p->batch, &tokens)
                      || __builtin_mul_overflow (tokens, per_token, &product)
                      || __builtin_mul_overflow (product, p->bytes, &largest);
  return !overflow && largest < G_GUINT64_CONSTANT (1) << 60;
}

static GememTraceReader *
open_transformer (gconstpointer data, guint64 seed, GError **error)
{
  Params p = *(const Params *) data;
  if (p.hidden == 0)
    p.hidden = 4 * p.width;
  if (!sizes_fit (&p))
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                           "generator transformer-train: a tensor would have 2^60 bytes or more; "
                           "lower batch, sequence, vocabulary or heads");
      return NULL;
    }
  Reader *reader = gemem_generator_reader_new (sizeof *reader, fill, free_parts);
  reader->p = p;
  reader->layers = g_new0 (Layer, p.layers + 1);
  gemem_rng_init (&reader->rng, seed, "jitter");
  set_shapes (reader);
  return &reader->parent.parent;
}

const GememGenerator gemem_generator_transformer_train = {
  .base = {
    .name = "transformer-train",
    .aliases = "transformer",
    .summary = "Training steps of a decoder-only transformer",
    .origin = "gemem; shapes of Radford et al. 2019",
    .params = params,
    .params_size = sizeof (Params),
  },
  .open = open_transformer,
};

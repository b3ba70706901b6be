/* rlhf.c - generator `rlhf`: reinforcement learning in which rollouts and training take turns on
 * one GPU, the memory of the rollouts asleep while training runs.
 *
 * The rollouts are an inference engine: weights and a cache of keys and values in pools that can
 * sleep (vLLM's sleep mode), and short-lived activations.  Training keeps weights and optimizer
 * states; in a step gradients and activations grow and go, and the cache is emptied at its end.  In
 * step i rollouts run for `rollout_time`, then all of theirs sleeps, training runs for
 * `training_time`, and the weights wake before the cache does, as new weights come in between.
 * level=1 copies the weights to the host, level=2 only `buffers` bytes, since they are loaded anew.
 *
 * part=rollout and part=training are the two programs, with one clock, for --share-device;
 * part=both is one program that does both.
 * Memory: one step of events.  O(1) per event.
 */
#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "workloads/generator-reader.h"
#include "workloads/generator.h"

enum
{
  BOTH,
  ROLLOUT,
  TRAINING
};

enum
{
  POOL_WEIGHTS = 1,
  POOL_CACHE = 2
};

#define MOMENT 1000 /* ns between what follows at once */
#define PIECE 4096  /* requests of a rollout that are in memory at a time */

typedef struct
{
  guint64 steps, layers, weights, kv_cache, buffers, optimizer, activations, requests;
  guint64 rollout_time, training_time;
  int level, part;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "steps",
    .type = GEMEM_PARAM_UINT,
    .default_text = "3",
    .min = "1",
    .max = "1000000",
    FIELD (steps),
    .help = "Rounds of rollouts and training." },
  { .name = "part",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "both",
    .choices = "both|rollout|training",
    FIELD (part),
    .help = "One program that does both, or one of two that share the device." },
  { .name = "level",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "1",
    .choices = "1|2|0",
    FIELD (level),
    .help = "Sleep mode: weights copied to the host (1), dropped and loaded anew (2), or no sleep "
            "(0)." },
  { .name = "layers",
    .type = GEMEM_PARAM_UINT,
    .default_text = "16",
    .min = "1",
    .max = "4096",
    FIELD (layers),
    .help = "Layers of the model." },
  { .name = "weights",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "2GiB",
    .min = "1MiB",
    .max = "1PiB",
    FIELD (weights),
    .help = "Weights of the model, once for rollouts and once for training." },
  { .name = "kv_cache",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "6GiB",
    .min = "1MiB",
    .max = "1PiB",
    FIELD (kv_cache),
    .help = "Keys and values of the rollouts." },
  { .name = "buffers",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "16MiB",
    .max = "1PiB",
    FIELD (buffers),
    .help = "What level 2 keeps on the host: buffers that no checkpoint has." },
  { .name = "optimizer",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "4GiB",
    .min = "1MiB",
    .max = "1PiB",
    FIELD (optimizer),
    .help = "Optimizer states of training." },
  { .name = "activations",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "3GiB",
    .min = "1MiB",
    .max = "1PiB",
    FIELD (activations),
    .help = "Activations of a training step, about." },
  { .name = "requests",
    .type = GEMEM_PARAM_UINT,
    .default_text = "64",
    .min = "1",
    .max = "1000000",
    FIELD (requests),
    .help = "Batches that the rollouts of a step run." },
  { .name = "rollout_time",
    .type = GEMEM_PARAM_TIME,
    .default_text = "20s",
    .min = "1ms",
    FIELD (rollout_time),
    .help = "Time of the rollouts of a step." },
  { .name = "training_time",
    .type = GEMEM_PARAM_TIME,
    .default_text = "10s",
    .min = "1ms",
    FIELD (training_time),
    .help = "Time of the training of a step." },
  { NULL }
};

typedef struct
{
  GememGeneratorReader parent;
  Params params;
  GememRng rollouts, training;
  guint64 step;    /* made so far */
  guint64 begun;   /* ns at which the step began */
  guint64 request; /* of its rollout, made so far; 0: the step has not begun */
  gboolean set_up;
} Reader;

/* ---- events */

static GememTraceEvent *
add (Reader *reader, GememEventKind kind)
{
  GememTraceEvent event = { .kind = (guint8) kind, .time = reader->parent.time };

  g_array_append_val (reader->parent.events, event);
  return &g_array_index (reader->parent.events, GememTraceEvent, reader->parent.events->len - 1);
}

static void
add_tagged (Reader *reader, GememEventKind kind, guint32 pool, const char *tag)
{
  GememTraceEvent *event = add (reader, kind);

  event->pool = pool;
  event->tag = gemem_trace_info_intern (&reader->parent.parent.info, tag);
}

static guint64
allocate (Reader *reader, guint64 size, guint32 pool)
{
  const guint64 id = gemem_events_alloc (&reader->parent, MAX (size, 1), 0);

  g_array_index (reader->parent.events, GememTraceEvent, reader->parent.events->len - 1).pool =
      pool;
  return id;
}

/* About @size, by up to an eighth less. */
static guint64
vary (GememRng *rng, guint64 size)
{
  return MAX (size - gemem_rng_below (rng, size / 8 + 1), 1);
}

/* ---- the two programs */

static void
load_weights (Reader *reader, guint32 pool)
{
  for (guint64 i = 0; i < reader->params.layers; i++)
    {
      allocate (reader, reader->params.weights / reader->params.layers / 3, pool);
      allocate (reader, reader->params.weights / reader->params.layers * 2 / 3, pool);
    }
}

static void
set_up (Reader *reader)
{
  const Params *p = &reader->params;

  if (p->part != TRAINING)
    {
      add_tagged (reader, GEMEM_EVENT_REGION_BEGIN, POOL_WEIGHTS, "weights");
      load_weights (reader, POOL_WEIGHTS);
      add (reader, GEMEM_EVENT_REGION_END)->pool = POOL_WEIGHTS;
      g_array_index (reader->parent.events, GememTraceEvent, reader->parent.events->len - 1).aux =
          1;
      add_tagged (reader, GEMEM_EVENT_REGION_BEGIN, POOL_CACHE, "kv_cache");
      for (guint64 i = 0; i < p->layers; i++)
        allocate (reader, p->kv_cache / p->layers, POOL_CACHE);
      add (reader, GEMEM_EVENT_REGION_END)->pool = POOL_CACHE;
      g_array_index (reader->parent.events, GememTraceEvent, reader->parent.events->len - 1).aux =
          1;
    }
  if (p->part != ROLLOUT)
    {
      load_weights (reader, 0);
      for (guint64 i = 0; i < 2 * p->layers; i++)
        allocate (reader, p->optimizer / p->layers / 2, 0);
    }
}

/* The next requests of a rollout; FALSE: more follow. */
static gboolean
roll_out (Reader *reader)
{
  const Params *p = &reader->params;

  for (guint n = 0; n < PIECE && reader->request < p->requests; n++)
    {
      guint64 ids[3];
      reader->parent.time = reader->begun + p->rollout_time / (p->requests + 1) * ++reader->request;
      for (guint k = 0; k < G_N_ELEMENTS (ids); k++)
        ids[k] = allocate (reader, vary (&reader->rollouts, p->weights / p->layers / 4), 0);
      reader->parent.time += MOMENT;
      for (guint k = 0; k < G_N_ELEMENTS (ids); k++)
        gemem_events_free (&reader->parent, ids[k]);
    }
  if (reader->request < p->requests)
    return FALSE;
  reader->request = 0;
  reader->parent.time = reader->begun + p->rollout_time - MOMENT;
  if (p->level == 0)
    add (reader, GEMEM_EVENT_TRIM);
  else
    add_tagged (reader, GEMEM_EVENT_SLEEP, 0, p->level == 1 ? "weights" : "");
  if (p->level == 2)
    g_array_index (reader->parent.events, GememTraceEvent, reader->parent.events->len - 1).size =
        p->buffers;
  return TRUE;
}

/* Forwards, then backwards: activations go as gradients come. */
static void
train (Reader *reader)
{
  const Params *p = &reader->params;
  const guint64 pause = p->training_time / (2 * p->layers + 4);
  g_autofree guint64 *kept = g_new (guint64, p->layers), *gradients = g_new (guint64, p->layers);

  reader->parent.time = reader->begun + p->rollout_time;
  for (guint64 i = 0; i < p->layers; i++, reader->parent.time += pause)
    {
      const guint64 short_lived = allocate (
          reader, vary (&reader->training, p->activations / p->layers / 2), 0);
      kept[i] = allocate (reader, vary (&reader->training, p->activations / p->layers), 0);
      gemem_events_free (&reader->parent, short_lived);
    }
  for (guint64 i = p->layers; i-- > 0; reader->parent.time += pause)
    {
      gradients[i] = allocate (reader, p->weights / p->layers, 0);
      gemem_events_free (&reader->parent, kept[i]);
    }
  for (guint64 i = 0; i < p->layers; i++)
    gemem_events_free (&reader->parent, gradients[i]);
  add (reader, GEMEM_EVENT_TRIM);
}

static void
wake (Reader *reader)
{
  reader->parent.time = reader->begun + reader->params.rollout_time + reader->params.training_time
                        - 2 * MOMENT;
  add_tagged (reader, GEMEM_EVENT_WAKE, 0, "weights");
  reader->parent.time += MOMENT;
  add_tagged (reader, GEMEM_EVENT_WAKE, 0, "kv_cache");
}

static gboolean
fill (GememGeneratorReader *parent)
{
  Reader *reader = (Reader *) parent;
  const Params *p = &reader->params;

  if (!reader->set_up)
    {
      reader->set_up = TRUE;
      set_up (reader);
      return TRUE;
    }
  if (reader->request == 0)
    {
      if (reader->step >= p->steps)
        return FALSE;
      parent->time = reader->begun;
      gemem_events_mark (parent, GEMEM_EVENT_STEP, ++reader->step);
    }
  if (p->part != TRAINING && !roll_out (reader))
    return TRUE;
  if (p->part != ROLLOUT)
    train (reader);
  if (p->part != TRAINING && p->level != 0)
    wake (reader);
  reader->begun += p->rollout_time + p->training_time;
  return TRUE;
}

static GememTraceReader *
open_rlhf (gconstpointer data, guint64 seed, G_GNUC_UNUSED GError **error)
{
  static const int levels[] = { 1, 2, 0 }; /* in the order of the choices */
  Reader *reader = gemem_generator_reader_new (sizeof *reader, fill, NULL);

  reader->params = *(const Params *) data;
  reader->params.level = levels[reader->params.level];
  if (reader->params.part != TRAINING)
    reader->parent.parent.info.flags |= GEMEM_TRACE_HAS_SLEEP;
  gemem_rng_init (&reader->rollouts, seed, "rollouts");
  gemem_rng_init (&reader->training, seed, "training");
  return &reader->parent.parent;
}

const GememGenerator gemem_generator_rlhf = {
  .base = {
    .name = "rlhf",
    .summary = "Rollouts and training that take turns on one GPU, "
               "the rollouts' memory asleep meanwhile",
    .origin = "gemem, after vLLM's sleep mode (peers.md 1j)",
    .params = params,
    .params_size = sizeof (Params),
  },
  .open = open_rlhf,
};

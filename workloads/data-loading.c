/* data-loading.c - generator `data-loading`: batches copied to the device on a stream of their own,
 * ahead of the training that uses them.
 *
 * The loader allocates a batch on stream 1 and fills it; training uses it on stream 0
 * (record_stream), and the host, which runs ahead, frees it as soon as the step is queued.  Each
 * step of training makes activations and frees them in reverse order.  Images differ in size, so
 * batches do.
 *
 * Good for: what memory costs that one stream holds while another still uses it
 * (-d sim:event_latency=20ms), and allocators that keep streams apart beside those that do not.
 * Events per step: 2 * (layers + 2 + parts) and a use per part.  Memory: the batches ahead.
 */
#include "config.h"

#include "workloads/generator.h"
#include "workloads/steps.h"

#define TRAINING 0
#define LOADER 1

typedef struct
{
  guint64 steps, batch, parts, ahead, layers, jitter;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "steps",
    .type = GEMEM_PARAM_UINT,
    .default_text = "300",
    .min = "1",
    .aliases = "iterations",
    FIELD (steps),
    .help = "Steps of training." },
  { .name = "batch",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "96MiB",
    .min = "1KiB",
    .max = "1TiB",
    FIELD (batch),
    .help = "Bytes of a batch." },
  { .name = "parts",
    .type = GEMEM_PARAM_UINT,
    .default_text = "3",
    .min = "1",
    .max = "1000",
    FIELD (parts),
    .help = "Tensors of a batch; each has half the bytes of the one before it." },
  { .name = "ahead",
    .type = GEMEM_PARAM_UINT,
    .default_text = "2",
    .max = "1000",
    .aliases = "prefetch",
    FIELD (ahead),
    .help = "Batches that are loaded ahead of the one in use." },
  { .name = "layers",
    .type = GEMEM_PARAM_UINT,
    .default_text = "12",
    .min = "1",
    .max = "10000",
    FIELD (layers),
    .help = "Layers, each with an activation half as large as the batch." },
  { .name = "jitter",
    .type = GEMEM_PARAM_UINT,
    .default_text = "20",
    .max = "90",
    FIELD (jitter),
    .help = "Percent by which batches are larger or smaller than that." },
  { NULL }
};

typedef struct
{
  GememSteps parent;
  Params p;
  GArray *batches; /* guint64: bytes of the batches in `kept`, oldest first */
} Reader;

static void
load (Reader *reader)
{
  const guint64 bytes = gemem_steps_vary (&reader->parent, reader->p.batch, reader->p.jitter);

  for (guint64 part = 0; part < reader->p.parts; part++)
    gemem_steps_keep (&reader->parent, part < 63 ? bytes >> (part + 1) : 1, LOADER, 200000);
  g_array_append_val (reader->batches, bytes);
}

/* Uses the oldest batch and frees it while the work is still queued. */
static void
train (Reader *reader)
{
  GememSteps *steps = &reader->parent;
  const guint64 bytes = g_array_index (reader->batches, guint64, 0);
  const guint parts = (guint) reader->p.parts;
  const guint kept = steps->kept->len;

  for (guint i = 0; i < parts; i++)
    gemem_events_use (&steps->parent, g_array_index (steps->kept, guint64, i), TRAINING);
  for (guint64 layer = 0; layer < reader->p.layers; layer++)
    {
      const guint64 temporary = gemem_steps_alloc (steps, bytes / 4, TRAINING, 50000);
      gemem_steps_keep (steps, bytes / 2, TRAINING, 50000);
      gemem_events_free (&steps->parent, temporary);
    }
  for (guint i = 0; i < parts; i++)
    gemem_events_free (&steps->parent, g_array_index (steps->kept, guint64, i));
  gemem_steps_free_from (steps, kept);
  g_array_remove_range (steps->kept, 0, parts);
  g_array_remove_index (reader->batches, 0);
}

static void
run (GememSteps *steps)
{
  Reader *reader = (Reader *) steps;

  while (reader->batches->len <= reader->p.ahead
         && steps->step + reader->batches->len <= steps->steps)
    load (reader);
  train (reader);
}

static void
free_parts (GememSteps *steps)
{
  g_array_unref (((Reader *) steps)->batches);
}

static GememTraceReader *
open_data_loading (gconstpointer data, guint64 seed, G_GNUC_UNUSED GError **error)
{
  const Params *p = data;
  Reader *reader = gemem_steps_new (sizeof *reader, p->steps, seed, "data-loading", run);

  reader->p = *p;
  reader->batches = g_array_new (FALSE, FALSE, sizeof (guint64));
  reader->parent.free_parts = free_parts;
  return &reader->parent.parent.parent;
}

const GememGenerator gemem_generator_data_loading = {
  .base = { .name = "data-loading",
            .summary = "Batches loaded on a stream of their own and used on another: for what "
                       "waiting between streams costs",
            .origin = "gemem",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_data_loading,
};

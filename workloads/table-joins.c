/* table-joins.c - generator `table-joins`: joins of tables as in RAPIDS, partition by partition:
 * few huge columns among many tiny blocks.
 *
 * Each step joins one partition on one of several streams, in turn: it reads columns (huge), builds
 * a hash table (the next power of two), makes scalars, offsets and flags for each operator (tiny,
 * most of them short-lived, some kept until the partition is written), gathers the result columns,
 * and frees all but the result, which stays for `window` partitions.
 *
 * Good for: huge blocks of changing sizes on streams in turn: caches that keep what each stream had
 * (`pytorch-caching`, `cupy-pool`) hold several times what lives, shared regions and pages less;
 * and for the price of tiny blocks without a cache (`direct`).
 * Events per step: 2 * (2 * columns + 1 + tiny).  Memory: the results in the window.
 */
#include "config.h"

#include "base/units.h"
#include "workloads/generator.h"
#include "workloads/steps.h"

typedef struct
{
  guint64 steps, column, columns, tiny, window, streams, jitter;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "steps",
    .type = GEMEM_PARAM_UINT,
    .default_text = "200",
    .min = "1",
    .aliases = "partitions|iterations",
    FIELD (steps),
    .help = "Partitions that are joined." },
  { .name = "column",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "256MiB",
    .min = "1KiB",
    .max = "1TiB",
    FIELD (column),
    .help = "Bytes of a column of a partition." },
  { .name = "columns",
    .type = GEMEM_PARAM_UINT,
    .default_text = "4",
    .min = "1",
    .max = "1000",
    FIELD (columns),
    .help = "Columns that are read and that the result has." },
  { .name = "tiny",
    .type = GEMEM_PARAM_UINT,
    .default_text = "120",
    .max = "100000",
    FIELD (tiny),
    .help = "Blocks of 8 bytes to 64 KiB per partition." },
  { .name = "window",
    .type = GEMEM_PARAM_UINT,
    .default_text = "3",
    .min = "1",
    .max = "1000",
    FIELD (window),
    .help = "Partitions whose results are kept." },
  { .name = "streams",
    .type = GEMEM_PARAM_UINT,
    .default_text = "2",
    .min = "1",
    .max = "64",
    FIELD (streams),
    .help = "Streams, in turn." },
  { .name = "jitter",
    .type = GEMEM_PARAM_UINT,
    .default_text = "50",
    .max = "90",
    FIELD (jitter),
    .help = "Percent by which partitions are larger or smaller." },
  { NULL }
};

typedef struct
{
  GememSteps parent;
  Params p;
  GArray *passing; /* guint64: ids of blocks that end with the partition */
} Reader;

static void
pass (Reader *reader, guint64 bytes, guint64 stream)
{
  const guint64 id = gemem_steps_alloc (&reader->parent, bytes, stream, 10000);

  g_array_append_val (reader->passing, id);
}

/* Tiny blocks of an operator: every fourth lives as long as the partition, one of 64
 * as the result. */
static void
add_tiny (Reader *reader, guint64 n, guint64 stream)
{
  GememSteps *steps = &reader->parent;

  for (guint64 i = 0; i < n; i++)
    {
      const guint64 bytes = gemem_rng_log_uniform (&steps->rng, 8, 64 * GEMEM_KIB);

      if (i % 64 == 63)
        gemem_steps_keep (steps, bytes, stream, 1000);
      else if (i % 4 == 3)
        pass (reader, bytes, stream);
      else
        gemem_events_free (&steps->parent, gemem_steps_alloc (steps, bytes, stream, 1000));
    }
}

static guint64
power_above (guint64 bytes)
{
  return G_GUINT64_CONSTANT (1) << g_bit_storage (bytes - 1);
}

static void
run (GememSteps *steps)
{
  Reader *reader = (Reader *) steps;
  const guint64 bytes = gemem_steps_vary (steps, reader->p.column, reader->p.jitter);
  const guint64 stream = steps->step % reader->p.streams, part = reader->p.tiny / 4;
  const guint result = (guint) (reader->p.columns + (reader->p.tiny - 2 * part) / 64
                                + part / 64 * 2);

  for (guint64 i = 0; i < reader->p.columns; i++)
    pass (reader, bytes, stream);
  add_tiny (reader, part, stream);
  pass (reader, power_above (bytes / 4), stream); /* the hash table */
  add_tiny (reader, reader->p.tiny - 2 * part, stream);
  for (guint64 i = 0; i < reader->p.columns; i++)
    gemem_steps_keep (steps, bytes / 2, stream, 10000);
  add_tiny (reader, part, stream);
  for (guint i = 0; i < reader->passing->len; i++)
    gemem_events_free (&steps->parent, g_array_index (reader->passing, guint64, i));
  g_array_set_size (reader->passing, 0);
  if (steps->step < reader->p.window)
    return;
  for (guint i = 0; i < result; i++)
    gemem_events_free (&steps->parent, g_array_index (steps->kept, guint64, i));
  g_array_remove_range (steps->kept, 0, result);
}

static void
free_parts (GememSteps *steps)
{
  g_array_unref (((Reader *) steps)->passing);
}

static GememTraceReader *
open_table_joins (gconstpointer data, guint64 seed, G_GNUC_UNUSED GError **error)
{
  const Params *p = data;
  Reader *reader = gemem_steps_new (sizeof *reader, p->steps, seed, "table-joins", run);

  reader->p = *p;
  reader->passing = g_array_new (FALSE, FALSE, sizeof (guint64));
  reader->parent.free_parts = free_parts;
  return &reader->parent.parent.parent;
}

const GememGenerator gemem_generator_table_joins = {
  .base = { .name = "table-joins",
            .summary =
                "Joins of tables, partition by partition: for few huge blocks among many tiny "
                "ones",
            .origin = "gemem",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_table_joins,
};

/* random.c - generator `random`: independent sizes and lifetimes from chosen distributions.
 *
 * Each allocation draws a size and the number of later allocations it survives; before each
 * allocation those whose lifetime has ended are freed, in the order of their end (ties: oldest
 * first).  Mean live blocks = mean lifetime.  At the end everything is freed, unless drain=no.
 * Memory: the live blocks.  O(log live) per event.  Sizes and lifetimes have separate random
 * streams, so that changing one distribution leaves the other's draws alone.
 */
#include "config.h"

#include "base/rng.h"
#include "base/slab.h"
#include "base/tree.h"
#include "base/units.h"
#include "workloads/generator-reader.h"
#include "workloads/generator.h"

enum
{
  FIXED,
  UNIFORM,
  LOG_UNIFORM,
  GEOMETRIC
};

typedef struct
{
  guint64 events, size_min, size_max, size_step, lifetime, streams, interval;
  int sizes, lifetimes;
  gboolean drain;
} Params;

#define FIELD(field) .offset = G_STRUCT_OFFSET (Params, field)

static const GememParam params[] = {
  { .name = "events",
    .type = GEMEM_PARAM_UINT,
    .default_text = "100000",
    .min = "1",
    .aliases = "n",
    FIELD (events),
    .help = "Number of allocations and frees before the final frees." },
  { .name = "sizes",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "log-uniform",
    .choices = "fixed|uniform|log-uniform",
    FIELD (sizes),
    .help = "Distribution of sizes between size_min and size_max (fixed: size_max)." },
  { .name = "size_min",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "512",
    .min = "1",
    FIELD (size_min),
    .help = "Smallest request." },
  { .name = "size_max",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "64MiB",
    .min = "1",
    .max = "1PiB",
    FIELD (size_max),
    .help = "Largest request." },
  { .name = "size_step",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "1",
    .min = "1",
    FIELD (size_step),
    .help = "Requests are rounded up to a multiple of this." },
  { .name = "lifetimes",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "geometric",
    .choices = "fixed|uniform|log-uniform|geometric",
    FIELD (lifetimes),
    .help = "Distribution of lifetimes, counted in allocations (fixed: first in, first out)." },
  { .name = "lifetime",
    .type = GEMEM_PARAM_UINT,
    .default_text = "500",
    .min = "1",
    .max = "100000000",
    .aliases = "live",
    FIELD (lifetime),
    .help = "Mean lifetime in allocations, which is the mean number of live blocks (uniform, "
            "log-uniform: twice this is the longest)." },
  { .name = "streams",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1",
    .min = "1",
    .max = "64",
    FIELD (streams),
    .help = "Streams, chosen evenly." },
  { .name = "interval",
    .type = GEMEM_PARAM_TIME,
    .default_text = "10us",
    FIELD (interval),
    .help = "Time between allocations." },
  { .name = "drain",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    FIELD (drain),
    .help = "Free what is left at the end." },
  { NULL }
};

typedef struct
{
  GememTreeNode node; /* (0, end, id) */
} Live;

typedef struct
{
  GememGeneratorReader parent;
  Params params;
  GememRng sizes, lifetimes, streams;
  GememTree live;
  GememSlab slab;
  guint64 made;        /* number of events so far */
  guint64 allocations; /* number of allocations: the clock of lifetimes */
} Reader;

#define PIECE 4096

static guint64
draw_size (Reader *reader)
{
  const Params *p = &reader->params;
  guint64 size = p->size_max;
  if (p->sizes == UNIFORM)
    size = gemem_rng_range (&reader->sizes, p->size_min, p->size_max);
  else if (p->sizes == LOG_UNIFORM)
    size = gemem_rng_log_uniform (&reader->sizes, p->size_min, p->size_max);
  return gemem_round_up (size, p->size_step);
}

static guint64
draw_lifetime (Reader *reader)
{
  const Params *p = &reader->params;
  switch (p->lifetimes)
    {
    case UNIFORM:
      return gemem_rng_range (&reader->lifetimes, 1, 2 * p->lifetime);
    case LOG_UNIFORM:
      return gemem_rng_log_uniform (&reader->lifetimes, 1, 2 * p->lifetime);
    case GEOMETRIC:
      return gemem_rng_geometric (&reader->lifetimes, p->lifetime);
    default:
      return p->lifetime;
    }
}

static void
free_first (Reader *reader, GememTreeNode *node)
{
  gemem_events_free (&reader->parent, node->address);
  gemem_tree_remove (&reader->live, node);
  gemem_slab_free (&reader->slab, node);
}

static void
allocate (Reader *reader)
{
  guint64 stream = reader->params.streams > 1
                       ? gemem_rng_below (&reader->streams, reader->params.streams)
                       : 0;
  Live *live = gemem_slab_alloc (&reader->slab);
  live->node.address = gemem_events_alloc (&reader->parent, draw_size (reader), stream);
  live->node.size = ++reader->allocations + draw_lifetime (reader);
  gemem_tree_insert (&reader->live, &live->node);
}

static gboolean
fill (GememGeneratorReader *parent)
{
  Reader *reader = (Reader *) parent;
  while (parent->events->len < PIECE && reader->made < reader->params.events)
    {
      GememTreeNode *first = gemem_tree_first (&reader->live);
      if (first != NULL && first->size <= reader->allocations + 1)
        free_first (reader, first);
      else
        {
          allocate (reader);
          parent->time += reader->params.interval;
        }
      reader->made++;
    }
  if (reader->made >= reader->params.events && reader->params.drain)
    for (GememTreeNode *first;
         parent->events->len < PIECE && (first = gemem_tree_first (&reader->live)) != NULL;)
      free_first (reader, first);
  return parent->events->len > 0;
}

static void
free_parts (GememGeneratorReader *parent)
{
  gemem_tree_clear (&((Reader *) parent)->live);
  gemem_slab_clear (&((Reader *) parent)->slab);
}

static GememTraceReader *
open_random (gconstpointer data, guint64 seed, GError **error)
{
  const Params *p = data;
  if (p->size_min > p->size_max)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "generator random: size_min=%" G_GUINT64_FORMAT
                   " is larger than size_max=%" G_GUINT64_FORMAT "; swap them or raise size_max",
                   p->size_min, p->size_max);
      return NULL;
    }
  Reader *reader = gemem_generator_reader_new (sizeof *reader, fill, free_parts);
  reader->params = *p;
  gemem_rng_init (&reader->sizes, seed, "sizes");
  gemem_rng_init (&reader->lifetimes, seed, "lifetimes");
  gemem_rng_init (&reader->streams, seed, "streams");
  gemem_slab_init (&reader->slab, sizeof (Live));
  return &reader->parent.parent;
}

const GememGenerator gemem_generator_random = {
  .base = {
    .name = "random",
    .summary = "Independent random sizes and lifetimes",
    .origin = "gemem",
    .params = params,
    .params_size = sizeof (Params),
  },
  .open = open_random,
};

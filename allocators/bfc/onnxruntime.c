/* onnxruntime.c - `ort-bfc`: the arena of ONNX Runtime (BFCArena), TensorFlow's BFC allocator as it
 * went on there.
 *
 * It begins with regions of 1 MiB, doubles them up to 1 GiB (or asks for exactly what a request
 * needs), and backs off like its ancestor, but not below 8 KiB.  Nothing is returned when memory is
 * short; a program can shrink the arena at the end of a run (`trim`), which returns idle regions,
 * except the first one where regions double.
 *
 * Invariants and cost: regions.h.
 * Origin: peers.md section 1h.  Not modelled: streams of chunks (all chunks may serve all streams),
 * Reserve() for initializers.
 */
#include "config.h"

#include "allocators/bfc/regions.h"
#include "base/units.h"

#define LEAST_REGION 8192
/* A request above this is refused at once; the real arena would remember it as the size of the next
 * region, as it does smaller ones, until the doubling of it never ends. */
#define UNLIMITED (G_GUINT64_CONSTANT (1) << 62)
#define LEFT_TO_IT "-1=18446744073709551615" /* a special word: the default of the real program */

enum
{
  STRATEGY_POWER_OF_TWO,
  STRATEGY_AS_REQUESTED
};

typedef struct
{
  guint64 limit, initial_chunk, max_dead, initial_growth, max_extend;
  int strategy;
} Params;

static const GememParam params[] = {
  { .name = "max_mem",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "unlimited",
    .sweep = "unlimited|64MiB|1GiB",
    .special = "unlimited=0|-1=0",
    .aliases = "limit|gpu_mem_limit",
    .offset = G_STRUCT_OFFSET (Params, limit),
    .help = "Most memory that the arena takes." },
  { .name = "arena_extend_strategy",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "kNextPowerOfTwo",
    .choices = "kNextPowerOfTwo|kSameAsRequested|0=kNextPowerOfTwo|1=kSameAsRequested|"
               "-1=kNextPowerOfTwo",
    .offset = G_STRUCT_OFFSET (Params, strategy),
    .help = "How much the arena asks the device for: twice as much each time, or what the request "
            "needs." },
  { .name = "initial_chunk_size_bytes",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "1MiB",
    .sweep = "64KiB|1MiB|16MiB",
    .min = "1",
    .special = LEFT_TO_IT,
    .offset = G_STRUCT_OFFSET (Params, initial_chunk),
    .help = "Size of the first region." },
  { .name = "max_dead_bytes_per_chunk",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "128MiB",
    .sweep = "1MiB|16MiB|128MiB",
    .min = "1",
    .special = LEFT_TO_IT,
    .offset = G_STRUCT_OFFSET (Params, max_dead),
    .help = "A chunk less than twice as large as the request is split if it would waste as much." },
  { .name = "initial_growth_chunk_size_bytes",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "2MiB",
    .sweep = "1MiB|2MiB|16MiB",
    .min = "256",
    .special = LEFT_TO_IT,
    .offset = G_STRUCT_OFFSET (Params, initial_growth),
    .help = "Size of the next region after the arena was shrunk; a multiple of 256." },
  { .name = "max_power_of_two_extend_bytes",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "1GiB",
    .sweep = "4MiB|64MiB|1GiB",
    .min = "256",
    .special = LEFT_TO_IT,
    .offset = G_STRUCT_OFFSET (Params, max_extend),
    .help = "Regions do not double beyond this, unless a request needs more; a multiple of 256." },
  { NULL },
};

typedef struct
{
  GememBfc bfc;
  guint64 initial_growth, max_extend;
  gboolean doubles;
} OrtBfc;

extern const GememAllocatorClass gemem_ort_bfc_class;

/* Obtains a region of at least @size bytes; FALSE: limit or device refuse. */
static gboolean
extend (OrtBfc *self, guint64 size)
{
  GememBfc *bfc = &self->bfc;
  const guint64 available = gemem_bfc_available (bfc);
  guint64 wanted = size;

  if (size > available)
    return FALSE;
  if (self->doubles)
    {
      const gboolean grown = gemem_bfc_reach (bfc, size);

      wanted = MIN (bfc->next_region, available);
      if (!grown) /* even if the device refuses */
        bfc->next_region = MIN (2 * bfc->next_region, self->max_extend); /* below 2^64: UNLIMITED */
    }
  return gemem_bfc_add_region (bfc, wanted, size, LEAST_REGION);
}

static gboolean
ort_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  GememBfc *bfc = (GememBfc *) allocator;
  GememNeighbour *chunk;
  guint64 size;

  if (request->size > bfc->limit)
    return FALSE;
  size = gemem_align_up (MAX (request->size, 1), BFC_QUANTUM);
  chunk = gemem_bfc_find (bfc, size);
  if (chunk == NULL && extend ((OrtBfc *) allocator, size))
    chunk = gemem_bfc_find (bfc, size);
  if (chunk == NULL)
    return FALSE;
  gemem_bfc_hand_over (bfc, chunk, block);
  return TRUE;
}

/* Shrink(): the end of a run with memory.enable_memory_arena_shrinkage. */
static void
ort_trim (GememAllocator *allocator)
{
  OrtBfc *self = (OrtBfc *) allocator;
  GememBfc *bfc = &self->bfc;

  for (guint i = 0; i < bfc->regions->len;)
    {
      const GememBfcRegion *region = gemem_bfc_region (bfc, i);

      if (gemem_bfc_is_idle (region) && !(self->doubles && region->id == 0))
        {
          gemem_bfc_release_region (bfc, i);
          bfc->shrinkages++; /* of regions, not of calls */
        }
      else
        i++;
    }
  bfc->next_region = self->initial_growth;
}

/* As in the arena's statistics. */
static void
ort_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const GememBfc *bfc = (const GememBfc *) allocator;

  func ("InUse", bfc->live, "B", data);
  func ("TotalAllocated", bfc->pool, "B", data);
  func ("MaxInUse", bfc->peak_live, "B", data);
  func ("NumAllocs", bfc->allocations, "", data);
  func ("NumArenaExtensions", bfc->regions->len, "", data);
  func ("NumArenaShrinkages", bfc->shrinkages, "", data);
  func ("MaxAllocSize", bfc->largest, "B", data);
}

/* The real program keeps all but two settings in an int, of which the higher bits get lost, and -1
 * is its own default.  FALSE: it refuses the value, or it is zero, with which the real arena would
 * double it for ever, or crash where it splits nothing off a chunk. */
static gboolean
keep_int (const char *name, guint64 otherwise, guint64 *value, GError **error)
{
  const gint32 kept = (gint32) *value;

  *value = kept == -1 ? otherwise : (guint64) kept;
  if (kept == -1 || kept > 0)
    return TRUE;
  if (kept < 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "allocator ort-bfc: %s=%d: negative, as ONNX Runtime reads it, a number of 32 "
                 "bits; use less than 2 GiB, or -1 for its default",
                 name, kept);
  else
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
        "allocator ort-bfc: %s is 0, as ONNX Runtime reads it, a number of 32 bits, with which "
        "its arena crashes or never ends; use 1 to 2147483647, or -1 for its default",
        name);
  return FALSE;
}

static gboolean
resolve (Params *own, GError **error)
{
  if (own->max_extend == G_MAXUINT64)
    own->max_extend = GEMEM_GIB;
  if (own->max_extend > G_MAXINT64)
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                           "allocator ort-bfc: max_power_of_two_extend_bytes: negative, as ONNX "
                           "Runtime reads it; use less, or -1 for its default");
      return FALSE;
    }
  own->max_extend = MIN (own->max_extend, UNLIMITED);
  if (!keep_int ("initial_chunk_size_bytes", GEMEM_MIB, &own->initial_chunk, error)
      || !keep_int ("max_dead_bytes_per_chunk", 128 * GEMEM_MIB, &own->max_dead, error)
      || !keep_int ("initial_growth_chunk_size_bytes", 2 * GEMEM_MIB, &own->initial_growth, error))
    return FALSE;
  if (own->initial_growth % BFC_QUANTUM == 0 && own->max_extend % BFC_QUANTUM == 0)
    return TRUE;
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "allocator ort-bfc: initial_growth_chunk_size_bytes and "
                       "max_power_of_two_extend_bytes must be multiples of 256; with others ONNX "
                       "Runtime's arena fails an assertion of its own");
  return FALSE;
}

static GememAllocator *
ort_create (gconstpointer given, GememDevice *device, GError **error)
{
  Params own = *(const Params *) given;
  OrtBfc *self;

  if (!resolve (&own, error))
    return NULL;
  self = g_new0 (OrtBfc, 1);
  gemem_bfc_init (&self->bfc, &gemem_ort_bfc_class, device, sizeof (GememNeighbour));
  self->bfc.limit = own.limit != 0 ? MIN (own.limit, UNLIMITED) : UNLIMITED;
  self->bfc.max_waste = own.max_dead;
  self->bfc.next_region = gemem_align_up (MIN (self->bfc.limit, own.initial_chunk), BFC_QUANTUM);
  self->initial_growth = own.initial_growth;
  self->max_extend = own.max_extend;
  self->doubles = own.strategy == STRATEGY_POWER_OF_TWO;
  return &self->bfc.base;
}

const GememAllocatorClass gemem_ort_bfc_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ort-bfc",
  .aliases = "onnxruntime|ort",
  .summary = "ONNX Runtime's arena: best fit with coalescing over regions that double up to 1 GiB",
  .origin = "ONNX Runtime 1.32 (peers.md 1h)",
  .known_as = "BFCArena|OrtArenaCfg|memory.enable_memory_arena_shrinkage",
  .alignment = BFC_QUANTUM,
  .params = params,
  .params_size = sizeof (Params),
  .create = ort_create,
  .alloc = ort_alloc,
  .free = gemem_bfc_free,
  .prefetch = gemem_neighbours_prefetch,
  .trim = ort_trim,
  .largest_free = gemem_bfc_largest_free,
  .walk = gemem_bfc_walk,
  .check = gemem_bfc_check,
  .adopt = { gemem_bfc_adopt_segment, gemem_bfc_adopt_block, gemem_bfc_adopt_done },
  .destroy = gemem_bfc_destroy,
  .report.stats = ort_stats,
};

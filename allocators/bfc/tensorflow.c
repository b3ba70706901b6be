/* tensorflow.c - `tf-bfc`: the "best fit with coalescing" allocator of TensorFlow, XLA and JAX.
 *
 * Requests are rounded to 256 bytes.  Memory comes from the device in regions, each twice as large
 * as the one before (allow_growth), or in one that takes the whole limit; a refused region is asked
 * for again with 0.9 of its size, and so on.  The best fitting free chunk serves a request; it is
 * split if it is at least twice as large, or if more than a fixed amount would be wasted.  Regions
 * stay until, under garbage_collection, a request finds no memory: then all that are idle are
 * released.  It knows no streams or trimming, and of private pools only that they are one end of
 * the memory, under enable_spatial_partitioning.
 *
 * Invariants and cost: regions.h.
 * Origin: peers.md section 1b; examples T1 to T9.  Not modelled: alignments above 256 bytes (a
 * trace has none).
 */
#include "config.h"

#include "allocators/bfc/regions.h"
#include "allocators/bfc/stamps.h"
#include "base/units.h"

#define FIRST_REGION (2 * GEMEM_MIB)
#define MAX_WASTE (128 * GEMEM_MIB)
#define MUCH 9e18 /* a waste that no chunk has; more would leave 64 bits */

typedef struct
{
  guint64 limit, next_region;
  double fragmentation_fraction;
  gboolean allow_growth, garbage_collection, coalesce_regions, timestamped, partitioned;
} Params;

static const GememParam params[] = {
  { .name = "limit",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "device",
    .sweep = "device|1GiB|4GiB|16GiB",
    .special = "device=0",
    .aliases = "memory_limit",
    .offset = G_STRUCT_OFFSET (Params, limit),
    .help = "Most memory that regions may take; device: all of it.  JAX takes 75 %." },
  { .name = "allow_growth",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .aliases = "TF_FORCE_GPU_ALLOW_GROWTH",
    .offset = G_STRUCT_OFFSET (Params, allow_growth),
    .help = "Regions grow with the demand; no: the first request takes the whole limit, which is "
            "what TensorFlow and JAX do on a GPU unless told otherwise." },
  { .name = "garbage_collection",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .aliases = "TF_ENABLE_GPU_GARBAGE_COLLECTION",
    .offset = G_STRUCT_OFFSET (Params, garbage_collection),
    .help = "When a request finds no memory, regions without a live chunk are released and the "
            "device is asked again." },
  { .name = "fragmentation_fraction",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "0",
    .sweep = "0|0.01|0.05|0.1",
    .aliases = "internal_fragmentation_fraction",
    .offset = G_STRUCT_OFFSET (Params, fragmentation_fraction),
    .help = "A chunk less than twice as large as the request is split if it would waste at least "
            "this part of the limit; 0 or less: if it would waste 128 MiB." },
  { .name = "coalesce_regions",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (Params, coalesce_regions),
    .help = "A region that begins where another ends becomes part of it, as with the sub-allocator "
            "over virtual memory." },
  { .name = "timestamped_allocator",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (Params, timestamped),
    .help =
        "Frees are stamped, and freed chunks merge only when the safe frontier has passed them: "
        "the stamp of the last free before the host waited for stream 0, the compute stream. "
        "Requests on other streams take only chunks that were freed before it." },
  { .name = "enable_spatial_partitioning",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .conflicts = "timestamped_allocator|coalesce_regions|curr_region_allocation_bytes",
    .offset = G_STRUCT_OFFSET (Params, partitioned),
    .help =
        "Requests of private pools are served from the upper end of the memory, others from the "
        "lower one, as in XLA of 2026; needs allow_growth=no." },
  { .name = "curr_region_allocation_bytes",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "first",
    .special = "first=0",
    .sweep = "first|64MiB|1GiB",
    .max = "1024PiB",
    .offset = G_STRUCT_OFFSET (Params, next_region),
    .help = "Size of the next region, where a program goes on from a recorded state (the dump of "
            "TensorFlow names it so); first: that of an allocator without regions." },
  { NULL },
};

typedef struct
{
  GememBfcStamps stamps;
  gboolean collects;
  gboolean special; /* with parts or timestamps: no free chunk is as good as another of its size */
} TfBfc;

extern const GememAllocatorClass gemem_tf_bfc_class;

/* Obtains a region of at least @size bytes; FALSE: limit or device refuse. */
static gboolean
extend (GememBfc *bfc, guint64 size)
{
  const guint64 available = gemem_bfc_available (bfc);
  gboolean grown;

  if (size > available)
    return FALSE;
  grown = gemem_bfc_reach (bfc, size);
  if (!gemem_bfc_add_region (bfc, MIN (bfc->next_region, available), size, 0))
    return FALSE;
  if (!grown && bfc->next_region <= G_MAXUINT64 / 4)
    bfc->next_region *= 2;
  return TRUE;
}

/* Releases all idle regions, if that could make place for @size bytes under the limit. */
static gboolean
release_idle (GememBfc *bfc, guint64 size)
{
  guint64 idle = 0;

  for (guint i = 0; i < bfc->regions->len; i++)
    idle += gemem_bfc_is_idle (gemem_bfc_region (bfc, i)) ? gemem_bfc_region (bfc, i)->size : 0;
  if (idle == 0 || size > bfc->limit - bfc->pool + idle)
    return FALSE;
  for (guint i = 0; i < bfc->regions->len;)
    if (gemem_bfc_is_idle (gemem_bfc_region (bfc, i)))
      gemem_bfc_release_region (bfc, i);
    else
      i++;
  bfc->base.retries++;
  return TRUE;
}

/* A request under timestamps; NULL: out of memory.  The compute stream takes any chunk, since its
 * work is in order; other streams one that the frontier had passed when it was freed. */
static GememNeighbour *
find_stamped (GememBfc *bfc, guint64 size, guint64 stream)
{
  GememBfcStamps *stamps = (GememBfcStamps *) bfc;
  const guint64 before = stream != 0 ? stamps->frontier : 0;
  GememNeighbour *chunk;

  gemem_bfc_merge_waiting (bfc);
  chunk = gemem_bfc_find_before (bfc, size, before);
  if (chunk == NULL && extend (bfc, size))
    chunk = gemem_bfc_find_before (bfc, size, before);
  if (chunk == NULL && before == 0 && gemem_bfc_force (bfc, size))
    chunk = gemem_bfc_find_before (bfc, size, before);
  if (chunk == NULL && ((TfBfc *) bfc)->collects && release_idle (bfc, size) && extend (bfc, size))
    chunk = gemem_bfc_find_before (bfc, size, before);
  return chunk;
}

/* The host waited for @stream. */
static void
tf_sync (GememAllocator *allocator, guint64 stream)
{
  GememBfcStamps *stamps = (GememBfcStamps *) allocator;

  if (stream == 0 || stream == G_MAXUINT64)
    stamps->frontier = ++stamps->counter;
}

static GememNeighbour *
find (GememBfc *bfc, const GememRequest *request, guint64 size)
{
  if (bfc->rejoin != NULL)
    return gemem_bfc_find_at (bfc, request->pool != 0 ? BFC_UPPER : BFC_LOWER, size);
  return gemem_bfc_find (bfc, size);
}

/* A request that no free chunk serves as it is, or of an allocator with parts or timestamps; NULL:
 * out of memory. */
static G_GNUC_NO_INLINE GememNeighbour *
find_elsewhere (GememBfc *bfc, const GememRequest *request, guint64 size)
{
  GememNeighbour *chunk;

  if (bfc->stamped)
    return find_stamped (bfc, gemem_align_up (CLAMP (request->size, 1, G_MAXINT64), BFC_QUANTUM),
                         request->stream);
  if (request->size > bfc->limit)
    return NULL;
  chunk = find (bfc, request, size);
  if (chunk == NULL && extend (bfc, size))
    chunk = find (bfc, request, size);
  if (chunk == NULL && ((TfBfc *) bfc)->collects && release_idle (bfc, size) && extend (bfc, size))
    chunk = find (bfc, request, size);
  return chunk;
}

static gboolean
tf_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  GememBfc *bfc = (GememBfc *) allocator;
  const guint64 size = gemem_align_up (MAX (request->size, 1), BFC_QUANTUM);
  GememNeighbour *chunk = NULL;

  if (G_LIKELY (!((TfBfc *) bfc)->special && request->size <= bfc->limit))
    chunk = gemem_bfc_find (bfc, size);
  if (G_UNLIKELY (chunk == NULL))
    chunk = find_elsewhere (bfc, request, size);
  if (chunk == NULL)
    return FALSE;
  gemem_bfc_hand_over (bfc, chunk, block);
  return TRUE;
}

/* Other streams than the compute stream pass over chunks that the frontier had not passed; what
 * will merge first is not foreseen. */
static guint64
tf_largest_free (GememAllocator *allocator, guint64 stream)
{
  const GememBfc *bfc = (const GememBfc *) allocator;

  return bfc->stamped && stream != 0
             ? gemem_bfc_largest_before (bfc, ((const GememBfcStamps *) bfc)->frontier)
             : gemem_bfc_largest_free (allocator, stream);
}

/* As in TensorFlow's and JAX's memory statistics. */
static void
tf_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const GememBfc *bfc = (const GememBfc *) allocator;

  func ("num_allocs", bfc->allocations, "", data);
  func ("bytes_in_use", bfc->live, "B", data);
  func ("peak_bytes_in_use", bfc->peak_live, "B", data);
  func ("largest_alloc_size", bfc->largest, "B", data);
  func ("bytes_limit", bfc->limit, "B", data);
  func ("pool_bytes", bfc->pool, "B", data);
  func ("peak_pool_bytes", bfc->peak_pool, "B", data);
  func ("largest_free_block_bytes", gemem_bfc_largest_free (allocator, 0), "B", data);
  func ("regions", bfc->regions->len, "", data);
}

static void
tf_destroy (GememAllocator *allocator)
{
  gemem_bfc_stamps_clear ((GememBfcStamps *) allocator);
  gemem_bfc_destroy (allocator);
}

static GememAllocator *
tf_create (gconstpointer given, GememDevice *device, GError **error)
{
  const Params *own = given;
  GememDeviceInfo info = { 0 };
  TfBfc *self;
  GememBfc *bfc;

  if (own->partitioned && own->allow_growth)
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                           "allocator tf-bfc: enable_spatial_partitioning needs allow_growth=no");
      return NULL;
    }
  self = g_new0 (TfBfc, 1);
  bfc = &self->stamps.bfc;
  gemem_device_info (device, &info);
  gemem_bfc_init (bfc, &gemem_tf_bfc_class, device,
                  own->timestamped ? sizeof (GememBfcStampedChunk) : sizeof (GememNeighbour));
  bfc->stamped = own->timestamped;
  bfc->rejoin = own->partitioned ? gemem_bfc_rejoin : NULL;
  gemem_bfc_stamps_init (&self->stamps);
  bfc->limit = MIN (own->limit != 0 ? own->limit : info.total, G_MAXINT64);
  bfc->max_waste = own->fragmentation_fraction > 0
                       ? (guint64) MIN (own->fragmentation_fraction * (double) bfc->limit, MUCH)
                       : MAX_WASTE;
  bfc->next_region = gemem_align_up (
      own->allow_growth ? MIN (bfc->limit, FIRST_REGION) : bfc->limit, BFC_QUANTUM);
  if (own->next_region != 0)
    bfc->next_region = gemem_align_up (own->next_region, BFC_QUANTUM);
  bfc->coalesces = own->coalesce_regions;
  self->collects = own->garbage_collection;
  self->special = own->timestamped || own->partitioned;
  return &bfc->base;
}

static const GememForm forms[] = {
  { "tensorflow", GEMEM_FORM_VARIABLES, NULL, "allow_growth|garbage_collection" },
  { "jax", GEMEM_FORM_VARIABLES, NULL, NULL }, /* which reads none of TensorFlow's (0.11.2, dry) */
  { NULL },
};

const GememAllocatorClass gemem_tf_bfc_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "tf-bfc",
  .aliases = "bfc|tensorflow|tf|xla|jax",
  .summary = "TensorFlow's, XLA's and JAX's best fit with coalescing over growing regions",
  .origin = "TensorFlow 2.21, 2.22 (peers.md 1b)",
  .forms = forms,
  .known_as = "BFCAllocator|GPU_0_bfc|TF_GPU_ALLOCATOR",
  .alignment = BFC_QUANTUM,
  .params = params,
  .params_size = sizeof (Params),
  .create = tf_create,
  .alloc = tf_alloc,
  .free = gemem_bfc_free,
  .prefetch = gemem_neighbours_prefetch,
  .largest_free = tf_largest_free,
  .walk = gemem_bfc_walk,
  .check = gemem_bfc_check,
  .streams.sync = tf_sync,
  .adopt = { gemem_bfc_adopt_segment, gemem_bfc_adopt_block, gemem_bfc_adopt_done },
  .destroy = tf_destroy,
  .report.stats = tf_stats,
};

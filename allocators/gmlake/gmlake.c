/* gmlake.c - `gmlake`: PyTorch's caching allocator with GMLake's stitching, where free blocks that
 * together suffice are shown as one by a second mapping of their memory.
 *
 * The small pool, rounding, splitting and merging are PyTorch's (2.0).  A request of the large pool
 * tries (code) the best fitting block, then a fused block that is not too large, then stitching,
 * then new memory, then what can be released; the paper looks for an exact match among blocks and
 * fused blocks together first, and where stitching lacks memory takes only what is missing.
 *
 * Assumed: with `reAlloc` the code, too, takes what is missing before it asks for a whole segment;
 * private pools are not kept apart; a block that is freed while a recording says it was still in
 * use is free at once, unless streams were named that use it.
 * Not modelled: the free-memory callbacks, roundup_power2_divisions.
 *
 * Invariants: see gmlake.h; integers only in decisions, but for reuseLimit, one product of doubles.
 * Cost: O(log n) per request that the cache serves; stitching O(chunks).
 * Origin: peers.md section 1e.
 */
#include "config.h"

#include "allocators/gmlake/gmlake.h"

#define WHAT "allocator gmlake"
#define PARAM(field) .offset = G_STRUCT_OFFSET (GmlakeParams, field)

static const GememParam params[] = {
  { .name = "variant",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "code",
    .choices = "code|paper",
    PARAM (variant),
    .help = "Where they differ: as the released code decides, or as the paper says." },
  { .name = "vmmDefragment",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "1",
    .choices = "1|0|yes=1|no=0",
    PARAM (defragment),
    .help = "0: plain PyTorch, without chunks and stitching." },
  { .name = "fragLimit",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "512MiB",
    .sweep = "2MiB|64MiB|512MiB",
    PARAM (frag_limit),
    .help = "Smallest request that may be stitched." },
  { .name = "reuseLimit",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "10",
    .min = "0",
    .max = "1000000",
    .sweep = "1|2|10",
    PARAM (reuse_limit),
    .help = "A fused block serves a request if it is at most this many times as large; of the "
            "code." },
  { .name = "defragLevel",
    .type = GEMEM_PARAM_UINT,
    .default_text = "0",
    .max = "3",
    .sweep = "0|1|2|3",
    PARAM (defrag_level),
    .help =
        "When stitching is tried: 0 before new memory is asked for, 1 only after that failed, 2 "
        "after everything was released, 3 never; of the code." },
  { .name = "autoGC",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "1000",
    .unit = "GiB",
    .sweep = "1|10|1000",
    PARAM (auto_gc),
    .help = "Fused blocks that are not in use are collected when more than this is stitched." },
  { .name = "reAlloc",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "0",
    .choices = "0|1|no=0|yes=1",
    PARAM (realloc),
    .help =
        "1: where free blocks do not suffice, only what is missing is taken from the device; of "
        "the code, as the paper always does so." },
  { .name = "max_split_size_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "unlimited",
    .min = "20",
    .unit = "MiB",
    .special = "unlimited=18446744073709551615",
    PARAM (max_split_size),
    .help = "PyTorch's: blocks of at least this size are never split, nor given to smaller "
            "requests." },
  { .name = "garbage_collection_threshold",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "0",
    .min = "0",
    .max = "1",
    PARAM (garbage_collection_threshold),
    .help =
        "PyTorch's: above this part of the memory limit old cached segments are released first; "
        "0: off." },
  { .name = "per_process_memory_fraction",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "1",
    .min = "0",
    .max = "1",
    .conflicts = "memory_limit",
    PARAM (memory_fraction),
    .help = "Below 1: the memory limit, as a part of what the device reports as its memory." },
  { .name = "memory_limit",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "none",
    .special = "none=18446744073709551615",
    .conflicts = "per_process_memory_fraction",
    PARAM (memory_limit),
    .help = "The memory limit in bytes: the fraction, already multiplied." },
  { NULL }
};

extern const GememAllocatorClass gemem_gmlake_class;

/* ---- from the cache */

static guint64
round_size (const Gmlake *lake, guint64 size)
{
  const guint64 rounded = gemem_align_up (MAX (size, 1), GMLAKE_QUANTUM);

  return lake->vmm && rounded > GMLAKE_SMALL ? gemem_align_up (rounded, GMLAKE_CHUNK) : rounded;
}

/* The smallest block of at least @size bytes, if it may serve; it leaves the tree. */
static GmlakeBlock *
find_free (Gmlake *lake, GmlakePool *pool, guint64 size, guint64 stream, gboolean exact)
{
  const guint64 max_split = lake->params.max_split_size;
  GememTreeNode *node;

  pool->search_count += lake->gc && !exact;
  node = gemem_tree_fit (&pool->free, stream, size);
  if (node == NULL || node->group != stream || (exact && node->size != size)
      || (size < max_split && node->size >= max_split)
      || (size >= max_split && node->size - size >= GMLAKE_LARGE_SEGMENT))
    return NULL;
  gemem_tree_remove (&pool->free, node);
  lake->exact += node->size == size && !pool->small;
  return gemem_gmlake_block (node);
}

static GmlakeBlock *
find_fused (Gmlake *lake, guint64 size, guint64 stream, gboolean exact)
{
  GememTreeNode *node = gemem_tree_fit (&lake->whole, stream, size);
  GmlakeFused *fused;

  if (node == NULL || node->group != stream || (exact && node->size != size)
      || (!exact && (double) node->size > (double) size * lake->params.reuse_limit))
    return NULL;
  fused = gemem_gmlake_fused (gemem_gmlake_block (node));
  gemem_gmlake_reuse (lake, fused, size);
  return &fused->block;
}

/* What is there already: a block of the pool, in no tree, or a fused one in use. */
static GmlakeBlock *
find (Gmlake *lake, GmlakePool *pool, guint64 size, guint64 stream)
{
  const gboolean fusing = lake->vmm && !pool->small,
                 paper = fusing && lake->params.variant == GMLAKE_PAPER;
  GmlakeBlock *block = NULL;

  if (paper)
    {
      block = find_free (lake, pool, size, stream, TRUE);
      if (block == NULL)
        block = find_fused (lake, size, stream, TRUE);
    }
  if (block == NULL)
    block = find_free (lake, pool, size, stream, FALSE);
  if (block == NULL && fusing && !paper)
    block = find_fused (lake, size, stream, FALSE);
  return block;
}

static gboolean
should_split (const Gmlake *lake, const GmlakeBlock *block, guint64 size)
{
  const guint64 rest = block->base.node.size - size;

  if (block->segment->small)
    return rest >= GMLAKE_QUANTUM;
  return size < lake->params.max_split_size
         && (lake->vmm ? rest >= GMLAKE_CHUNK : rest > GMLAKE_SMALL);
}

/* ---- releasing */

/* An unsplit free block of plain or chunked memory goes back; the fused blocks that show it end. */
static guint64
release (Gmlake *lake, GmlakeBlock *block)
{
  const guint64 size = block->base.node.size;

  return gemem_neighbours_alone (&block->base) && gemem_gmlake_segment_release (lake, block) ? size
                                                                                             : 0;
}

/* PyTorch's garbage collection (peers.md 1a.8). */
static void
collect_garbage (Gmlake *lake)
{
  GmlakePool *pool = &lake->large;
  guint64 target = lake->reserved > lake->gc_trigger ? lake->reserved - lake->gc_trigger : 0;
  gboolean released = TRUE;
  guint64 ages = 0, count = 0;
  GememTreeNode *node, *next;

  for (node = gemem_tree_first (&pool->free); target > 0 && node != NULL;
       node = gemem_tree_next (node))
    if (gemem_neighbours_alone (&gemem_gmlake_block (node)->base))
      {
        ages += pool->search_count - gemem_gmlake_block (node)->gc_base;
        count++;
      }
  while (target > 0 && released && count > 0)
    {
      const guint64 all = ages, n = count; /* age >= all / n, without a division */

      released = FALSE;
      for (node = gemem_tree_first (&pool->free); node != NULL; node = next)
        {
          const guint64 age = pool->search_count - gemem_gmlake_block (node)->gc_base;
          guint64 size;

          next = gemem_tree_next (node);
          size = (unsigned __int128) age * n >= all ? release (lake, gemem_gmlake_block (node)) : 0;
          if (size == 0)
            continue;
          released = TRUE;
          ages -= age;
          count--;
          target -= MIN (target, size);
        }
    }
}

/* PyTorch's release of oversize blocks (peers.md 1a.7). */
static gboolean
release_available (Gmlake *lake, GmlakePool *pool, guint64 size, guint64 stream)
{
  const guint64 max_split = lake->params.max_split_size, key = MAX (size, max_split);
  GememTreeNode *node, *below;
  guint64 got = 0;

  if (max_split == GEMEM_UNLIMITED)
    return FALSE;
  node = gemem_tree_fit (&pool->free, stream, key);
  if (node != NULL && node->group == stream)
    return release (lake, gemem_gmlake_block (node)) > 0;
  for (node = gemem_tree_before (&pool->free, stream, key, 0);
       node != NULL && got < key && node->size >= max_split && node->group == stream; node = below)
    {
      below = gemem_tree_previous (node);
      got += release (lake, gemem_gmlake_block (node));
    }
  return got >= key;
}

static void
release_pool (Gmlake *lake, GmlakePool *pool)
{
  GememTreeNode *next;

  for (GememTreeNode *node = gemem_tree_first (&pool->free); node != NULL; node = next)
    {
      next = gemem_tree_next (node);
      release (lake, gemem_gmlake_block (node));
    }
}

static void
release_all (Gmlake *lake)
{
  gemem_gmlake_synchronize (lake);
  release_pool (lake, &lake->large);
  release_pool (lake, &lake->small);
}

/* ---- the ladder */

/* Stitching at moment @time of the ladder; NULL: not now, or not possible. */
static GmlakeBlock *
stitch (Gmlake *lake, const GmlakePool *pool, guint64 size, guint64 stream, guint64 time)
{
  const gboolean paper = lake->params.variant == GMLAKE_PAPER;

  if (!lake->vmm || pool->small || size < lake->params.frag_limit
      || (paper ? time > 0 : time < lake->params.defrag_level))
    return NULL;
  return gemem_gmlake_stitch (lake, size, stream, time == 0 && (paper || lake->params.realloc));
}

/* New memory for a request of @size bytes. */
static GmlakeBlock *
ask_device (Gmlake *lake, const GmlakePool *pool, guint64 size, guint64 stream)
{
  guint64 wanted = 2 * GEMEM_MIB;

  if (!pool->small)
    wanted = size < GMLAKE_MIN_LARGE ? GMLAKE_LARGE_SEGMENT : gemem_align_up (size, 2 * GEMEM_MIB);
  return gemem_gmlake_segment_new (lake, wanted, pool->small, stream);
}

/* Serves what the cache cannot; NULL: out of memory. */
static GmlakeBlock *
obtain (Gmlake *lake, GmlakePool *pool, guint64 size, guint64 stream)
{
  GmlakeBlock *block = stitch (lake, pool, size, stream, 0);
  guint64 before;

  if (block != NULL)
    return block;
  if (lake->gc)
    collect_garbage (lake);
  block = ask_device (lake, pool, size, stream);
  if (block == NULL && release_available (lake, pool, size, stream))
    {
      lake->base.retries++;
      block = ask_device (lake, pool, size, stream);
    }
  if (block == NULL)
    block = stitch (lake, pool, size, stream, 1);
  if (block != NULL)
    return block;
  before = lake->reserved;
  release_all (lake);
  lake->num_alloc_retries++;
  lake->base.retries += lake->reserved != before;
  block = ask_device (lake, pool, size, stream);
  return block != NULL ? block : stitch (lake, pool, size, stream, 2);
}

/* ---- the class */

static gboolean
gmlake_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *result)
{
  Gmlake *lake = (Gmlake *) allocator;
  const guint64 size = request->size < GMLAKE_TOO_LARGE ? round_size (lake, request->size) : 0;
  GmlakePool *pool = gemem_gmlake_pool (lake, size <= GMLAKE_SMALL);
  GmlakeBlock *block = NULL;

  gemem_gmlake_process_events (lake);
  if (size != 0)
    block = find (lake, pool, size, request->stream);
  if (size != 0 && block == NULL)
    block = obtain (lake, pool, size, request->stream);
  if (G_UNLIKELY (block == NULL))
    {
      lake->num_ooms++;
      return FALSE;
    }
  if (block->segment != NULL)
    {
      if (should_split (lake, block, size))
        {
          gemem_gmlake_insert (lake, gemem_gmlake_cut (lake, block, size));
          lake->splits += !pool->small;
        }
      gemem_gmlake_make_used (lake, block, GMLAKE_LIVE);
    }
  block->requested = request->size;
  block->allocated = block->segment != NULL ? block->base.node.size : size;
  gemem_gmlake_stat_add (&lake->allocated, block->allocated);
  gemem_gmlake_stat_add (&lake->active, block->allocated);
  gemem_gmlake_stat_add (&lake->requested, request->size);
  *result = (GememBlock){ block->base.node.address, block->allocated, block };
  return TRUE;
}

static void
gmlake_free (GememAllocator *allocator, const GememBlock *freed,
             G_GNUC_UNUSED gboolean completion_follows)
{
  Gmlake *lake = (Gmlake *) allocator;
  GmlakeBlock *block = freed->handle;

  lake->allocated.current -= block->allocated;
  gemem_gmlake_end_use (lake, block);
}

static void
gmlake_use (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  gemem_gmlake_add_use ((Gmlake *) allocator, block->handle, stream);
}

static void
gmlake_trim (GememAllocator *allocator)
{
  release_all ((Gmlake *) allocator);
}

/* ---- life */

static gboolean
check_params (const GmlakeParams *own, const GememDeviceInfo *info, GError **error)
{
  const gboolean virtual_memory = info->virtual_memory && info->granularity <= GMLAKE_CHUNK;
  const char *problem = NULL;

  if (own->garbage_collection_threshold >= 1)
    problem = "garbage_collection_threshold is too large; use a number below 1, or 0 for none";
  else if (own->memory_fraction < 1 && info->total >= GEMEM_UNLIMITED)
    problem = "per_process_memory_fraction: the device has no limit to take a part of; give it a "
              "capacity";
  else if (own->defragment == 0 && !virtual_memory)
    problem = "this is a device without virtual memory; use one that has it, or vmmDefragment=0";
  if (problem != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, WHAT ": %s", problem);
  return problem == NULL;
}

static GememAllocator *
gmlake_create (gconstpointer given, GememDevice *device, GError **error)
{
  const GmlakeParams *own = given;
  GememDeviceInfo info = { 0 };
  Gmlake *lake;

  gemem_device_info (device, &info);
  if (!check_params (own, &info, error))
    return NULL;
  lake = g_new0 (Gmlake, 1);
  lake->base.klass = &gemem_gmlake_class;
  lake->base.device = device;
  lake->params = *own;
  lake->vmm = own->defragment == 0; /* the first choice is 1 */
  lake->granularity = info.granularity;
  lake->limit = own->memory_limit;
  if (own->memory_fraction < 1)
    lake->limit = (guint64) (own->memory_fraction * (double) info.total);
  lake->gc = lake->limit != GEMEM_UNLIMITED && own->garbage_collection_threshold > 0;
  if (lake->gc)
    lake->gc_trigger = (guint64) (own->garbage_collection_threshold * (double) lake->limit);
  lake->small.small = TRUE;
  lake->sources = g_ptr_array_new ();
  lake->queues = g_array_new (FALSE, TRUE, sizeof (GmlakeQueue));
  gemem_slab_init (&lake->block_slab, sizeof (GmlakeBlock));
  gemem_slab_init (&lake->fused_slab, sizeof (GmlakeFused));
  gemem_slab_init (&lake->segment_slab, sizeof (GmlakeSegment));
  gemem_slab_init (&lake->run_slab, sizeof (GmlakeRun));
  gemem_slab_init (&lake->use_slab, sizeof (GmlakeUse));
  gemem_slab_init (&lake->event_slab, sizeof (GmlakeEvent));
  return &lake->base;
}

static void
gmlake_destroy (GememAllocator *allocator)
{
  Gmlake *lake = (Gmlake *) allocator;

  gemem_gmlake_fused_clear (lake);
  gemem_gmlake_segments_clear (lake);
  gemem_tree_clear (&lake->small.free);
  gemem_tree_clear (&lake->large.free);
  gemem_tree_clear (&lake->whole);
  gemem_tree_clear (&lake->whole_order);
  gemem_tree_clear (&lake->fragmented);
  gemem_slab_clear (&lake->block_slab);
  gemem_slab_clear (&lake->fused_slab);
  gemem_slab_clear (&lake->segment_slab);
  gemem_slab_clear (&lake->run_slab);
  gemem_slab_clear (&lake->use_slab);
  gemem_slab_clear (&lake->event_slab);
  g_ptr_array_unref (lake->sources);
  g_array_unref (lake->queues);
  g_free (lake);
}

static void
gmlake_notes (gconstpointer given, GememNoteFunc func, gpointer data)
{
  const GmlakeParams *own = given;

  if (own->variant == GMLAKE_PAPER
      && (own->defrag_level != 0 || own->realloc != 0 || own->reuse_limit != 10))
    func ("gmlake: reuseLimit, defragLevel and reAlloc are the code's and have no effect with "
          "variant=paper; leave them out, or use variant=code",
          data);
  if (own->defragment != 0 /* the first choice is 1 */
      && (own->frag_limit != 512 * GEMEM_MIB || own->auto_gc != 1000 * GEMEM_GIB))
    func ("gmlake: fragLimit and autoGC have no effect with vmmDefragment=0; leave them out, or "
          "use vmmDefragment=1",
          data);
}

const GememAllocatorClass gemem_gmlake_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "gmlake",
  .summary = "GMLake: PyTorch's caching allocator that stitches free blocks by virtual memory",
  .origin = "GMLake, code of 2024 on PyTorch 2.0, and its paper (peers.md 1e)",
  .known_as = "GMLake|pBlock|sBlock|vmmDefragment",
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_VIRTUAL_MEMORY,
  .alignment = GMLAKE_QUANTUM,
  .params = params,
  .params_size = sizeof (GmlakeParams),
  .create = gmlake_create,
  .notes = gmlake_notes,
  .alloc = gmlake_alloc,
  .free = gmlake_free,
  .trim = gmlake_trim,
  .prefetch = gemem_neighbours_prefetch,
  .largest_free = gemem_gmlake_largest_free,
  .walk = gemem_gmlake_walk,
  .check = gemem_gmlake_check,
  .destroy = gmlake_destroy,
  .streams = { .use = gmlake_use },
  .report.stats = gemem_gmlake_stats,
};

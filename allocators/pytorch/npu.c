/* npu.c - `torch-npu`: the caching allocator of torch_npu, which is PyTorch's as it went on for
 * Ascend.
 *
 * It decides as caching.c does, with 32 bytes of padding on every request, blocks that begin at
 * multiples of 16 KiB in expandable segments, pages of 1 GiB where asked for, events that can be
 * polled lazily, and requests that can be rejected without releasing anything.  Beside it stand the
 * workspaces of operators.  This file holds what is not a constant: workspaces, pages kept when the
 * cache is emptied, uses that the program takes back (erase_stream), the uncached mode.
 *
 * A trace says a workspace by its pool: requests of pool `workspace_pool` are workspaces.  A use is
 * taken back by an event stream-free of a block that lives; after its free the trace has no name
 * for it, and a recording tells when the free was complete.
 * Not modelled: allocate_with_aligned(), whose requests are in a trace as they reach malloc.
 *
 * Invariants: caching.h, npu.h.
 * Cost: that of caching.c; with workspaces O(streams) more per request of them and per free.
 * Origin: peers.md section 1g.
 */
#include "config.h"

#include "allocators/pytorch/npu.h"
#include "allocators/spans.h"

typedef struct
{
  Caching caching;
  NpuWorkspaces workspaces;
  guint64 workspace_pool; /* NPU_NO_POOL: none */
  gboolean keeps_pages;   /* what the program empties goes to the pools, not to the device */
  gboolean erases;        /* uses can be taken back */
  guint waits;            /* NpuVersion.waits */
} Npu;

/* ---- requests */

/* PYTORCH_NO_NPU_MEMORY_CACHING: a call of the device for each request. */
static gboolean
alloc_uncached (Caching *caching, const GememRequest *request, GememBlock *out)
{
  CachingPool *pool = gemem_caching_pool (caching, request->pool, FALSE);
  CachingBlock *block = NULL;

  if (request->size < CACHING_TOO_LARGE)
    block = gemem_caching_segment_new (caching, pool, request->size + caching->settings.pad,
                                       request->stream);
  if (block == NULL)
    {
      caching->num_ooms++;
      return FALSE;
    }
  gemem_caching_hand_out (caching, block, request->size, out);
  return TRUE;
}

static gboolean
npu_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *out)
{
  Npu *npu = (Npu *) allocator;

  if (G_UNLIKELY (request->pool == npu->workspace_pool))
    return gemem_npu_workspace_alloc (&npu->workspaces, allocator, request, out);
  if (G_UNLIKELY (npu->caching.settings.uncached))
    return alloc_uncached (&npu->caching, request, out);
  return gemem_caching_alloc (allocator, request, out);
}

static void
npu_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  Npu *npu = (Npu *) allocator;

  if (G_UNLIKELY (npu->workspaces.blocks->len > 0)
      && gemem_npu_workspace_free (&npu->workspaces, block))
    return;
  gemem_caching_free (allocator, block, completion_follows && !npu->caching.settings.uncached);
  /* a recorded state can hold split ones */
  if (G_UNLIKELY (npu->caching.settings.uncached) && !gemem_caching_is_split (block->handle))
    gemem_caching_release (&npu->caching, block->handle);
}

static void
npu_prefetch (GememAllocator *allocator, const GememBlock *live)
{
  if (((Npu *) allocator)->workspaces.blocks->len == 0)
    gemem_caching_prefetch (allocator, live);
}

/* ---- streams */

static gboolean
has_uses (const Npu *npu, const GememBlock *block)
{
  return !npu->caching.settings.uncached && !gemem_npu_is_workspace (&npu->workspaces, block);
}

static void
npu_completed (GememAllocator *allocator, const GememBlock *block)
{
  if (has_uses ((Npu *) allocator, block))
    gemem_caching_completed (allocator, block);
}

/* A use on the block's own stream is one, too. */
static void
npu_used (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  Npu *npu = (Npu *) allocator;

  if (has_uses (npu, block))
    gemem_caching_add_use (&npu->caching, block->handle, stream);
}

/* erase_stream: @block is no longer used by @stream. */
static void
npu_erase (GememAllocator *allocator, const GememBlock *block, guint64 stream)
{
  Npu *npu = (Npu *) allocator;

  if (npu->erases && has_uses (npu, block))
    gemem_caching_remove_use (&npu->caching, block->handle, stream);
}

/* ---- releasing */

/* Before everything is released. */
static void
before_release (Caching *caching)
{
  Npu *npu = (Npu *) caching;

  for (guint i = 0; i < npu->waits; i++)
    gemem_device_sync (caching->base.device);
  gemem_npu_workspaces_empty (&npu->workspaces, caching->base.device);
}

/* emptyCacheImpl(check_error, free_physical) */
static void
npu_trim (GememAllocator *allocator)
{
  Npu *npu = (Npu *) allocator;

  if (npu->caching.holding)
    before_release (&npu->caching);
  npu->caching.keeps_pages = npu->keeps_pages;
  gemem_caching_trim (allocator);
  npu->caching.keeps_pages = FALSE;
}

/* ---- reports */

static void
npu_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Npu *npu = (const Npu *) allocator;
  g_autoptr (GArray) spans = NULL;

  if (npu->workspaces.held == 0)
    {
      gemem_caching_walk (allocator, func, data);
      return;
    }
  spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));
  gemem_caching_walk (allocator, gemem_spans_append, spans);
  for (guint i = 0; i < npu->workspaces.blocks->len; i++)
    {
      const NpuWorkspace *workspace = g_ptr_array_index (npu->workspaces.blocks, i);
      const GememSpan span = { .address = workspace->address,
                               .size = workspace->size,
                               .segment = workspace->address,
                               .segment_size = workspace->size,
                               .stream = workspace->stream,
                               .pool = (guint32) npu->workspace_pool,
                               .state = workspace->live ? GEMEM_SPAN_LIVE : GEMEM_SPAN_FREE,
                               .user = workspace->address };

      if (workspace->address != 0)
        gemem_spans_append (&span, spans);
    }
  gemem_spans_sort (spans);
  for (guint i = 0; i < spans->len; i++)
    func (&g_array_index (spans, GememSpan, i), data);
}

static void
npu_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Npu *npu = (const Npu *) allocator;
  const CachingStat *workspaces = &npu->workspaces.allocated;

  gemem_caching_stats (allocator, func, data);
  func ("num_sync_all_streams", npu->caching.num_sync_all_streams, "", data);
  func ("num_oom_rejections", npu->caching.num_oom_rejections, "", data);
  if (npu->workspace_pool == NPU_NO_POOL)
    return;
  func ("workspace.allocated_bytes.current", workspaces->current, "B", data);
  func ("workspace.allocated_bytes.peak", workspaces->peak, "B", data);
  func ("workspace.reserved_bytes.current", npu->workspaces.held, "B", data);
}

/* ---- life */

static GememAllocator *
npu_create (gconstpointer given, GememDevice *device, GError **error)
{
  const NpuParams *params = given;
  CachingSettings settings;
  Npu *npu;

  if (!gemem_npu_settings_resolve (params, device, &settings, error))
    return NULL;
  npu = (Npu *) gemem_caching_new (sizeof (Npu), &settings, device, "torch-npu", error);
  if (npu == NULL)
    return NULL;
  npu->caching.before_release = before_release;
  gemem_npu_workspaces_init (&npu->workspaces);
  npu->workspace_pool = params->workspace_pool;
  npu->keeps_pages = params->keep_pages;
  npu->erases = params->reuse != 0;
  npu->waits = gemem_npu_versions[params->common.version].waits;
  return &npu->caching.base;
}

static void
npu_destroy (GememAllocator *allocator)
{
  gemem_npu_workspaces_clear (&((Npu *) allocator)->workspaces, allocator->device);
  gemem_caching_destroy (allocator);
}

static gboolean
npu_reads (gconstpointer params, const char *key)
{
  return (int) gemem_npu_since (key) <= ((const NpuParams *) params)->common.version;
}

static const GememForm forms[] = {
  { "torch-npu", GEMEM_FORM_STRING, "PYTORCH_NPU_ALLOC_CONF",
    "expandable_segments|max_split_size_mb|garbage_collection_threshold|roundup_power2_divisions|"
    "large_segment_size_mb|max_non_split_rounding_mb|page_size|segment_size_mb|base_addr_aligned_"
    "kb",
    .reads = npu_reads },
  { NULL },
};

const GememAllocatorClass gemem_torch_npu_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "torch-npu",
  .aliases = "torch_npu|pytorch-npu",
  .summary =
      "torch_npu's caching allocator: PyTorch's on Ascend, with padding and 16 KiB alignment",
  .origin = "torch_npu 2.1.0.post10 to 2.14.0 (peers.md 1g)",
  .forms = forms,
  .known_as = "NPUCachingAllocator|NPUWorkspaceAllocator|erase_stream",
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_POOLS,
  .alignment = CACHING_QUANTUM,
  .params = gemem_npu_params,
  .params_size = sizeof (NpuParams),
  .create = npu_create,
  .alloc = npu_alloc,
  .free = npu_free,
  .notes = gemem_npu_notes,
  .unfold = gemem_npu_settings_unfold,
  .prefetch = npu_prefetch,
  .trim = npu_trim,
  .release_pool = gemem_caching_release_pool,
  .redirect = gemem_caching_redirected,
  .largest_free = gemem_caching_largest_free,
  .walk = npu_walk,
  .check = gemem_caching_check,
  .destroy = npu_destroy,
  .streams = { .complete = npu_completed, .use = npu_used, .free = npu_erase },
  .adopt = { .segment = gemem_caching_adopt_segment,
             .block = gemem_caching_adopt_block,
             .done = gemem_caching_adopt_done },
  .report.stats = npu_stats,
};

/* async.c - `cuda-async`: CUDA's stream-ordered allocator (cudaMallocAsync) with a pool's
 * attributes; see async.h.
 *
 * Origin: peers.md 1d.
 */
#include "config.h"

#include "allocators/cuda/async.h"
#include "base/units.h"

#define WHAT "allocator cuda-async"
#define RANGE_MAX (G_GUINT64_CONSTANT (1) << 46)
#define CHUNK (32 * GEMEM_MIB) /* as measured */
#define RANGE_TIMES 2          /* as much as the device has */

typedef struct
{
  GememCudaPoolParams pool;
} Params;

static const GememParam params[] = { GEMEM_CUDA_POOL_THRESHOLD_ROW (Params, pool, "0"),
                                     GEMEM_CUDA_POOL_ROWS (Params, pool),
                                     { NULL } };

extern const GememAllocatorClass gemem_cuda_async_class;

/* ---- any pool */

static gboolean
is_power (guint64 value)
{
  return value != 0 && (value & (value - 1)) == 0;
}

static gboolean
check_params (const GememCudaPoolParams *own, const char *what, gboolean virtual_memory,
              GError **error)
{
  const char *problem = NULL;

  if (!is_power (own->growth))
    problem = "growth is no power of two; use one, as in 32MiB";
  else if (!virtual_memory)
    problem = "this is a device without virtual memory, which CUDA's pools need; use one that has "
              "it";
  if (problem != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: %s", what, problem);
  return problem == NULL;
}

/* The greatest size of a pool that was made with @max_size. */
static guint64
whole_chunks (guint64 max_size, guint64 growth)
{
  return max_size == 0 || max_size > G_MAXINT64 ? GEMEM_UNLIMITED
                                                : gemem_align_up (max_size, growth);
}

GememAllocator *
gemem_cuda_pool_new (const GememAllocatorClass *klass, const char *what,
                     const GememCudaPoolParams *given, GememDevice *device, GError **error)
{
  GememDeviceInfo info = { 0 };
  GememCudaPool *pool;

  gemem_device_info (device, &info);
  if (!check_params (given, what, info.virtual_memory, error))
    return NULL;
  pool = g_new0 (GememCudaPool, 1);
  pool->base.klass = klass;
  pool->base.device = device;
  if (given->growth != CHUNK)
    pool->base.approximation = "CUDA's pools were measured with chunks of 32 MiB, none with this "
                               "growth; leave growth out";
  pool->params = *given;
  pool->params.growth = MAX (given->growth, info.granularity);
  pool->params.max_size = whole_chunks (given->max_size, pool->params.growth);
  pool->stale = given->release_threshold != 0;
  pool->granularity = info.granularity;
  pool->range_size = MIN (MIN (info.total, RANGE_MAX / RANGE_TIMES) * RANGE_TIMES, RANGE_MAX);
  pool->range_size = gemem_align_up (MAX (pool->range_size, pool->params.growth),
                                     pool->params.growth);
  pool->pages = g_array_new (FALSE, TRUE, sizeof (GememPage));
  pool->idle = g_ptr_array_new ();
  gemem_cuda_order_init (pool);
  gemem_slab_init (&pool->block_slab, sizeof (GememCudaBlock));
  gemem_slab_init (&pool->use_slab, sizeof (GememCudaUse));
  return &pool->base;
}

void
gemem_cuda_pool_destroy (GememAllocator *allocator)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;

  gemem_cuda_pool_clear_memory (pool);
  gemem_cuda_order_clear (pool);
  gemem_tree_clear (&pool->lists);
  gemem_slab_clear (&pool->block_slab);
  gemem_slab_clear (&pool->use_slab);
  g_array_unref (pool->pages);
  g_ptr_array_unref (pool->idle);
  g_free (pool);
}

/* ---- the class */

static GememAllocator *
create (gconstpointer given, GememDevice *device, GError **error)
{
  const Params *own = given;

  return gemem_cuda_pool_new (&gemem_cuda_async_class, WHAT, &own->pool, device, error);
}

GememAllocator *
gemem_cuda_async_new (const char *what, guint64 release_threshold, GememDevice *device,
                      GError **error)
{
  Params own;

  gemem_params_set_defaults (params, &own);
  own.pool.release_threshold = release_threshold;
  return gemem_cuda_pool_new (&gemem_cuda_async_class, what, &own.pool, device, error);
}

/* cudaMemPoolSetAttribute(), which leaves the unit, and what @text does not name of the greatest
 * size: a recording names that once it knows it. */
static gboolean
configure (GememAllocator *allocator, const char *text, GError **error)
{
  GememCudaPool *pool = (GememCudaPool *) allocator;
  const GememParamContext context = { 0 };
  g_autoptr (GPtrArray) settings = gemem_settings_parse (text, error);
  Params own;

  if (settings == NULL || !gemem_params_apply (params, &own, &context, WHAT, settings, error))
    return FALSE;
  own.pool.growth = pool->params.growth;
  own.pool.max_size = gemem_settings_override (params, settings,
                                               gemem_params_find (params, "max_size"))
                          ? whole_chunks (own.pool.max_size, own.pool.growth)
                          : pool->params.max_size;
  if (own.pool.release_threshold != pool->params.release_threshold)
    gemem_cuda_pool_set_threshold (pool, own.pool.release_threshold);
  pool->params = own.pool;
  return TRUE;
}

static const GememForm forms[] = {
  { "tensorflow", GEMEM_FORM_VARIABLES, "TF_GPU_ALLOCATOR=cuda_malloc_async", "" },
  { NULL },
};

const GememAllocatorClass gemem_cuda_async_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "cuda-async",
  .aliases = "cudaMallocAsync",
  .summary = "CUDA's stream-ordered pool (cudaMallocAsync), as an H100 decides",
  .origin = "CUDA's cudaMemPool, measured on an H100, driver 580.159.04 (peers.md 1d)",
  .forms = forms,
  .known_as = "cudaMallocAsync|cuMemAllocAsync|cudaMemPool|cudaMallocFromPoolAsync",
  .params = params,
  .params_size = sizeof (Params),
  .create = create,
  .configure = configure,
  GEMEM_CUDA_POOL_MEMBERS,
};

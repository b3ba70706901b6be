/* cuda-async.c - `rmm-cuda-async`: RMM's cuda_async_memory_resource, a CUDA pool of its own whose
 * release threshold is unlimited (async.h).
 *
 * The initial size is allocated and freed once on the default stream, as by RMM; if it is
 * refused, RMM throws.
 * Origin: peers.md 1d.
 */
#include "config.h"

#include "allocators/cuda/async.h"
#include "allocators/rmm/upstream.h"

#define WHAT "allocator rmm-cuda-async"

typedef struct
{
  GememCudaPoolParams pool;
  guint64 initial;
} Params;

static const GememParam params[] = {
  { .name = "initial_pool_size",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    .sweep = "0|64MiB|1GiB",
    .aliases = "initial",
    .offset = G_STRUCT_OFFSET (Params, initial),
    .help = "Bytes that the pool holds from the beginning: allocated and freed once on the default "
            "stream." },
  GEMEM_CUDA_POOL_THRESHOLD_ROW (Params, pool, "unlimited"),
  GEMEM_CUDA_POOL_ROWS (Params, pool),
  { NULL }
};

extern const GememAllocatorClass gemem_rmm_cuda_async_class;

static GememAllocator *
create (gconstpointer given, GememDevice *device, GError **error)
{
  const Params *own = given;
  const GememRequest first = { .size = own->initial };
  GememAllocator *pool;
  GememBlock block;

  if (own->pool.max_size != 0 && own->initial > own->pool.max_size)
    {
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                           WHAT ": initial_pool_size is above max_size; lower it, or raise the "
                                "other");
      return NULL;
    }
  pool = gemem_cuda_pool_new (&gemem_rmm_cuda_async_class, WHAT, &own->pool, device, error);
  if (pool == NULL || own->initial == 0)
    return pool;
  if (gemem_cuda_pool_alloc (pool, &first, &block))
    gemem_cuda_pool_free (pool, &block, FALSE);
  else
    gemem_rmm_cannot_begin (pool, NULL, "initial_pool_size", own->initial);
  return pool;
}

static const GememForm forms[] = {
  { "rmm", GEMEM_FORM_CALL,
    "rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource(%s))", "" },
  { NULL },
};

const GememAllocatorClass gemem_rmm_cuda_async_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "rmm-cuda-async",
  .summary = "RMM's cuda_async_memory_resource: a CUDA pool that keeps its memory",
  .origin = "RMM 24.12 to 26.10 over CUDA's pools (peers.md 1d)",
  .forms = forms,
  .known_as = "cuda_async_memory_resource|CudaAsyncMemoryResource",
  .params = params,
  .params_size = sizeof (Params),
  .create = create,
  GEMEM_CUDA_POOL_MEMBERS,
};

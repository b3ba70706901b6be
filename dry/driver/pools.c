/* pools.c - stream-ordered memory of the stand-in driver.
 *
 * A pool keeps freed blocks and reuses them for requests of the same size: at once in the stream of
 * the free, elsewhere when the free is done. Without such a block the pool allocates one from the
 * device. At each synchronisation the pool releases blocks above its threshold, oldest first. Work
 * may use a block between the allocation and the free in the order of its stream.
 */
#include "config.h"

#include <unistd.h>

#include "dry/driver/driver.h"

#define ALIGNMENT 512

StandinPool *
standin_pool_new (StandinDevice *device)
{
  StandinPool *pool = standin_object_add (g_new0 (StandinPool, 1), KIND_POOL, NULL);
  pool->device = device;
  pool->unused = g_ptr_array_new ();
  return pool;
}

/* The first use creates the default pool. */
static StandinPool *
default_pool (StandinDevice *device)
{
  if (device->default_pool == NULL)
    {
      device->default_pool = standin_pool_new (device);
      device->default_pool->own = TRUE;
    }
  return device->default_pool;
}

static StandinPool *
current_pool (StandinDevice *device)
{
  return device->pool != NULL ? device->pool : default_pool (device);
}

/* ---- blocks */

static void
release_block (StandinPool *pool, guint index)
{
  StandinSpan *span = g_ptr_array_remove_index (pool->unused, index);

  pool->reserved -= span->size;
  gemem_device_free (standin_enter_device (pool->device), span->node.address, span->size);
  standin_leave_device (pool->device);
  standin_span_remove (span);
}

/* Releases unused blocks, oldest first, while the pool holds more than @keep. */
static void
trim (StandinPool *pool, guint64 keep)
{
  for (guint i = 0; i < pool->unused->len && pool->reserved > keep;)
    {
      const StandinSpan *span = g_ptr_array_index (pool->unused, i);
      if (span->freed <= standin.now)
        release_block (pool, i);
      else
        i++;
    }
}

void
standin_pools_trim (StandinDevice *device)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, standin.objects);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((StandinObject *) value)->kind == KIND_POOL && ((StandinPool *) value)->device == device)
      trim (value, ((StandinPool *) value)->threshold);
}

static void
run_begin (StandinWork *work)
{
  work->span->live = TRUE;
}

static void
run_end (StandinWork *work)
{
  work->span->live = FALSE;
}

/* Removes an unused block of @size that @stream may use now from the pool; NULL: none. */
static StandinSpan *
take_unused (StandinPool *pool, guint64 size, const StandinStream *stream)
{
  for (guint i = pool->unused->len; i-- > 0;)
    {
      StandinSpan *span = g_ptr_array_index (pool->unused, i);
      if (span->size == size
          && (span->freed <= standin.now || (stream != NULL && span->stream == stream->object.id)))
        return g_ptr_array_remove_index (pool->unused, i);
    }
  return NULL;
}

static StandinSpan *
new_block (StandinPool *pool, guint64 size)
{
  StandinDevice *device = pool->device;
  guint64 address = 0;
  StandinSpan *span;

  if (pool->limit == 0 || pool->reserved + size <= pool->limit)
    {
      address = gemem_device_malloc (standin_enter_device (device), size, 0);
      if (address == 0 && pool->unused->len > 0)
        {
          trim (pool, 0);
          address = gemem_device_malloc (standin_enter_device (device), size, 0);
        }
      standin_leave_device (device);
    }
  if (address == 0)
    return NULL;
  if (pool->reserved_high == 0)
    gemem_dry_note ("pools",
                    "of CUDA keep memory by their own rules; here they use it for requests "
                    "of the same size");
  pool->reserved += size;
  pool->reserved_high = MAX (pool->reserved_high, pool->reserved);
  span = standin_span_add (KIND_POOLED, address, size, device, standin_bytes_new (size));
  span->pool = pool;
  span->live = FALSE;
  return span;
}

/* Makes @span the program's. */
static void
hand_out (StandinSpan *span)
{
  span->owned = TRUE;
  span->pool->used += span->size;
  span->pool->used_high = MAX (span->pool->used_high, span->pool->used);
}

static guint64
rounded (guint64 size)
{
  return (size + ALIGNMENT - 1) & ~(guint64) (ALIGNMENT - 1);
}

StandinPool *
standin_graph_pool (StandinDevice *device)
{
  if (device->graph_pool == NULL)
    {
      device->graph_pool = standin_pool_new (device);
      device->graph_pool->own = TRUE;
      device->graph_pool->threshold = G_MAXUINT64;
    }
  return device->graph_pool;
}

StandinSpan *
standin_pool_take (StandinPool *pool, guint64 size)
{
  StandinSpan *span = take_unused (pool, rounded (size), NULL);

  if (span == NULL && (span = new_block (pool, rounded (size))) == NULL)
    return NULL;
  hand_out (span);
  span->live = TRUE;
  return span;
}

static CUresult
allocate (StandinEntry entry, CUdeviceptr *place, size_t wanted, gboolean from_pool,
          CUmemoryPool pool_handle, CUstream handle)
{
  StandinWork work = { .run = run_begin, .node = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
  StandinStream *stream;
  StandinPool *pool;
  guint64 size = rounded (wanted);

  STANDIN_BEGIN (entry, NEEDS_CONTEXT);
  if (!standin.pools)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (place == NULL || wanted == 0)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "%zu bytes, or no place for the result",
                           wanted);
  if ((stream = standin_stream (handle)) == NULL || stream->object.context != standin_context ())
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no stream of this context");
  if (standin.dry && stream->capture != NULL && !from_pool)
    pool = standin_graph_pool (standin_context ()->device);
  else
    pool = from_pool ? standin_object (pool_handle, KIND_POOL)
                     : current_pool (standin_context ()->device);
  if (pool == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no such pool");
  work.span = take_unused (pool, size, stream);
  if (work.span == NULL && (work.span = new_block (pool, size)) == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  hand_out (work.span);
  if (standin.dry)
    work.span->live = TRUE; /* also in a graph */
  standin_enqueue (stream, 0, &work);
  *place = work.span->node.address;
  return CUDA_SUCCESS;
}

CUresult
standin_pool_free (StandinSpan *span, StandinStream *stream, gboolean ordered)
{
  StandinWork work = { .run = run_end, .node = CU_GRAPH_NODE_TYPE_MEM_FREE, .span = span };

  span->owned = FALSE;
  span->pool->used -= span->size;
  g_ptr_array_add (span->pool->unused, span);
  if (ordered)
    {
      standin_enqueue (stream, 0, &work);
      span->freed = stream->busy;
      span->stream = stream->object.id;
    }
  else
    {
      span->live = FALSE;
      span->freed = standin.now;
    }
  return standin_context_state ();
}

static CUresult
free_block (StandinEntry entry, CUdeviceptr address, CUstream handle)
{
  StandinStream *stream;
  StandinSpan *span;

  STANDIN_BEGIN (entry, RETURNS);
  if (!standin.pools)
    return CUDA_ERROR_NOT_SUPPORTED;
  /* By the manual an error of the default streams, 0 to 2, alone: another one has a context. */
  if (standin_context () == NULL ? handle <= CU_STREAM_PER_THREAD : !standin_context ()->alive)
    return standin_misuse (CUDA_ERROR_INVALID_CONTEXT, "no context is current to this thread");
  if (address == 0)
    return standin_context_state ();
  /* The manual does not ask for a stream of the current context; the strict stand-in does. */
  if ((stream = standin_stream (handle)) == NULL
      || (!standin.dry && standin_context () != NULL
          && stream->object.context != standin_context ()))
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no stream of this context");
  if ((span = standin_span_start (address, KIND_POOLED)) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is no allocation of a pool", address);
  return standin_pool_free (span, stream, TRUE);
}

CUresult CUDAAPI
cuMemAllocAsync (CUdeviceptr *address, size_t size, CUstream stream)
{
  return allocate (ENTRY_cuMemAllocAsync, address, size, FALSE, NULL, stream);
}

CUresult CUDAAPI
cuMemAllocAsync_ptsz (CUdeviceptr *address, size_t size, CUstream stream)
{
  return allocate (ENTRY_cuMemAllocAsync_ptsz, address, size, FALSE, NULL,
                   standin_per_thread (stream));
}

CUresult CUDAAPI
cuMemAllocFromPoolAsync (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream)
{
  return allocate (ENTRY_cuMemAllocFromPoolAsync, address, size, TRUE, pool, stream);
}

CUresult CUDAAPI
cuMemAllocFromPoolAsync_ptsz (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream)
{
  return allocate (ENTRY_cuMemAllocFromPoolAsync_ptsz, address, size, TRUE, pool,
                   standin_per_thread (stream));
}

CUresult CUDAAPI
cuMemFreeAsync (CUdeviceptr address, CUstream stream)
{
  return free_block (ENTRY_cuMemFreeAsync, address, stream);
}

CUresult CUDAAPI
cuMemFreeAsync_ptsz (CUdeviceptr address, CUstream stream)
{
  return free_block (ENTRY_cuMemFreeAsync_ptsz, address, standin_per_thread (stream));
}

/* ---- pools */

#define SUPPORTED() \
  if (!standin.pools) \
  return CUDA_ERROR_NOT_SUPPORTED
#define DEVICE(number) \
  StandinDevice *device = standin_device (number); \
  if (device == NULL) \
  return standin_misuse (CUDA_ERROR_INVALID_DEVICE, "device %d, of %u", number, standin.n_devices)
#define POOL(handle) \
  StandinPool *pool = standin_object (handle, KIND_POOL); \
  if (pool == NULL) \
  return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no such pool")

static CUresult
give (CUmemoryPool *handle, const StandinPool *pool)
{
  if (handle == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the result");
  *handle = STANDIN_HANDLE (CUmemoryPool, pool);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGetDefaultMemPool (CUmemoryPool *handle, CUdevice number)
{
  BEGIN (cuDeviceGetDefaultMemPool, NEEDS_INIT);
  SUPPORTED ();
  DEVICE (number);
  return give (handle, default_pool (device));
}

CUresult CUDAAPI
cuDeviceGetMemPool (CUmemoryPool *handle, CUdevice number)
{
  BEGIN (cuDeviceGetMemPool, NEEDS_INIT);
  SUPPORTED ();
  DEVICE (number);
  return give (handle, current_pool (device));
}

CUresult CUDAAPI
cuDeviceSetMemPool (CUdevice number, CUmemoryPool handle)
{
  BEGIN (cuDeviceSetMemPool, NEEDS_INIT);
  SUPPORTED ();
  DEVICE (number);
  POOL (handle);
  if (pool->device != device)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "a pool of another device");
  device->pool = pool;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemPoolCreate (CUmemoryPool *handle, const CUmemPoolProps *properties)
{
  StandinDevice *device;
  StandinPool *pool;

  BEGIN (cuMemPoolCreate, NEEDS_INIT);
  SUPPORTED ();
  if (handle == NULL || properties == NULL || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED
      || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE
      || (device = standin_device (properties->location.id)) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "properties, or no place for the result");
  pool = standin_pool_new (device);
  pool->limit = properties->maxSize;
  return give (handle, pool);
}

CUresult CUDAAPI
cuMemPoolDestroy (CUmemoryPool handle)
{
  BEGIN (cuMemPoolDestroy, RETURNS);
  SUPPORTED ();
  POOL (handle);
  if (pool->own)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "a device's default pool is not destroyed");
  if (pool->used > 0)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE,
                           "the pool still has %" G_GUINT64_FORMAT " bytes in use", pool->used);
  for (guint i = 0; i < pool->unused->len; i++)
    standin_wait_until (((StandinSpan *) g_ptr_array_index (pool->unused, i))->freed);
  trim (pool, 0);
  if (pool->device->pool == pool)
    pool->device->pool = NULL;
  standin_object_remove (pool);
  g_ptr_array_unref (pool->unused);
  g_free (pool);
  return standin_context_state ();
}

CUresult CUDAAPI
cuMemPoolTrimTo (CUmemoryPool handle, size_t keep)
{
  BEGIN (cuMemPoolTrimTo, NEEDS_INIT);
  SUPPORTED ();
  POOL (handle);
  trim (pool, keep);
  return CUDA_SUCCESS;
}

/* The field of a pool's 64-bit attribute, or NULL. */
static guint64 *
attribute_of (StandinPool *pool, CUmemPool_attribute attribute)
{
  switch ((int) attribute)
    {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return &pool->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return &pool->reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return &pool->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return &pool->used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return &pool->used_high;
    default:
      return NULL;
    }
}

/* TRUE for the attributes that allow ways of reuse: they can be set, and have no effect here. */
static gboolean
is_reuse (CUmemPool_attribute attribute)
{
  return attribute == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
         || attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC
         || attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult CUDAAPI
cuMemPoolGetAttribute (CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
  const guint64 *place;

  BEGIN (cuMemPoolGetAttribute, NEEDS_INIT);
  SUPPORTED ();
  POOL (handle);
  place = attribute_of (pool, attribute);
  if (value == NULL || (place == NULL && !is_reuse (attribute)))
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "attribute %d, or no place for the result",
                           (int) attribute);
  if (place != NULL)
    *(cuuint64_t *) value = *place;
  else
    *(int *) value = 1;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemPoolSetAttribute (CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
  guint64 *place;
  gboolean high = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
                  || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;

  BEGIN (cuMemPoolSetAttribute, NEEDS_INIT);
  SUPPORTED ();
  POOL (handle);
  if (value == NULL
      || (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD && !high && !is_reuse (attribute))
      || (high && *(cuuint64_t *) value != 0))
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "attribute %d cannot be set so",
                           (int) attribute);
  if ((place = attribute_of (pool, attribute)) != NULL)
    *place = *(cuuint64_t *) value;
  if (standin.dry && attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    {
      g_autofree char *text = g_strdup_printf ("%d %d %" G_GUINT64_FORMAT, (int) getpid (),
                                               pool->device->ordinal, pool->threshold);
      gemem_dry_note ("threshold", text);
    }
  return CUDA_SUCCESS;
}

/* ---- memory of graphs */

/* The field of a 64-bit attribute; NULL: no such attribute. */
static guint64 *
graph_attribute (StandinPool *pool, CUgraphMem_attribute attribute)
{
  return attribute == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT       ? &pool->used
         : attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH        ? &pool->used_high
         : attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT ? &pool->reserved
         : attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH    ? &pool->reserved_high
                                                               : NULL;
}

CUresult CUDAAPI
cuDeviceGetGraphMemAttribute (CUdevice number, CUgraphMem_attribute attribute, void *value)
{
  BEGIN (cuDeviceGetGraphMemAttribute, NEEDS_INIT);
  DEVICE (number);
  const guint64 *place = graph_attribute (standin_graph_pool (device), attribute);
  if (value == NULL || place == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "attribute %d, or no place for the result",
                           (int) attribute);
  *(cuuint64_t *) value = *place;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceSetGraphMemAttribute (CUdevice number, CUgraphMem_attribute attribute, void *value)
{
  BEGIN (cuDeviceSetGraphMemAttribute, NEEDS_INIT);
  DEVICE (number);
  guint64 *place = graph_attribute (standin_graph_pool (device), attribute);
  if (value == NULL || place == NULL
      || (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH
          && attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "attribute %d cannot be set", (int) attribute);
  *place = *(cuuint64_t *) value;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGraphMemTrim (CUdevice number)
{
  BEGIN (cuDeviceGraphMemTrim, NEEDS_INIT);
  DEVICE (number);
  trim (standin_graph_pool (device), 0);
  return CUDA_SUCCESS;
}

/* pools.c - stream-ordered memory of the stand-in driver.
 *
 * A pool keeps freed blocks and reuses them for requests of the same size: at once in the stream of
 * the free, elsewhere when the free is done. Without such a block the pool allocates one from the
 * device. At each synchronisation the pool releases blocks above its threshold, oldest first. Work
 * may use a block between the allocation and the free in the order of its stream.
 */
#include "config.h"

#include <unistd.h>

#include "dry/driver/calls.h"
#include "dry/driver/mode.h"
#include "dry/driver/pools.h"

#define ALIGNMENT 512
#define PAGE (G_GUINT64_CONSTANT (2) << 20)

static DriverPool *
pool_new (DriverDevice *device)
{
  DriverPool *pool = gemem_driver_object_add (g_new0 (DriverPool, 1), KIND_POOL, NULL);
  pool->device = device;
  pool->unused = g_ptr_array_new ();
  return pool;
}

/* The first use creates the default pool. */
static DriverPool *
default_pool (DriverDevice *device)
{
  if (device->default_pool == NULL)
    {
      device->default_pool = pool_new (device);
      device->default_pool->own = TRUE;
    }
  return device->default_pool;
}

static DriverPool *
current_pool (DriverDevice *device)
{
  return device->pool != NULL ? device->pool : default_pool (device);
}

/* ---- blocks */

static void
release_block (DriverPool *pool, guint index)
{
  DriverArea *area = g_ptr_array_remove_index (pool->unused, index);

  pool->reserved -= area->size;
  gemem_device_free (gemem_driver_enter_device (pool->device), area->node.address, area->size);
  gemem_driver_leave_device (pool->device);
  gemem_driver_area_remove (area);
}

/* Releases unused blocks, oldest first, while the pool holds more than @keep. */
static void
trim (DriverPool *pool, guint64 keep)
{
  for (guint i = 0; i < pool->unused->len && pool->reserved > keep;)
    {
      const DriverArea *area = g_ptr_array_index (pool->unused, i);
      if (area->freed <= gemem_driver.now)
        release_block (pool, i);
      else
        i++;
    }
}

void
gemem_driver_pools_trim (DriverDevice *device)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, gemem_driver.objects);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((DriverObject *) value)->kind == KIND_POOL && ((DriverPool *) value)->device == device)
      trim (value, ((DriverPool *) value)->threshold);
}

/* Releases what is unused in all pools of @device, whatever their thresholds; FALSE: nothing.  The
 * memory of graphs is no pool's. */
static gboolean
give_up (DriverDevice *device)
{
  GHashTableIter iter;
  gpointer value;
  guint64 before = 0, after = 0;

  g_hash_table_iter_init (&iter, gemem_driver.objects);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (((DriverObject *) value)->kind == KIND_POOL && ((DriverPool *) value)->device == device
        && value != device->graph_pool)
      {
        before += ((DriverPool *) value)->reserved;
        trim (value, 0);
        after += ((DriverPool *) value)->reserved;
      }
  return after < before;
}

guint64
gemem_driver_pools_malloc (DriverDevice *device, guint64 size)
{
  guint64 address = gemem_device_malloc (gemem_driver_enter_device (device), size, 0);

  if (address == 0 && give_up (device))
    address = gemem_device_malloc (gemem_driver_enter_device (device), size, 0);
  gemem_driver_leave_device (device);
  return address;
}

static void
run_begin (DriverWork *work)
{
  work->area->live = TRUE;
}

static void
run_end (DriverWork *work)
{
  work->area->live = FALSE;
}

/* Removes an unused block of @size that @stream may use now from the pool; NULL: none. */
static DriverArea *
take_unused (DriverPool *pool, guint64 size, const DriverStream *stream)
{
  for (guint i = pool->unused->len; i-- > 0;)
    {
      DriverArea *area = g_ptr_array_index (pool->unused, i);
      if (area->size == size
          && (area->freed <= gemem_driver.now
              || (stream != NULL && area->stream == stream->object.id)))
        return g_ptr_array_remove_index (pool->unused, i);
    }
  return NULL;
}

/* The part of the memory that a JAX which passes on its requests would have for them (dry/python/sitecustomize.py). */
static double
part_of_jax (void)
{
  const char *text = g_getenv ("XLA_CLIENT_MEM_FRACTION");
  double part;

  if (text == NULL)
    text = g_getenv ("XLA_PYTHON_CLIENT_MEM_FRACTION");
  part = text != NULL ? g_ascii_strtod (text, NULL) : 0;
  return part > 0 && part <= 1 ? part : GEMEM_DRY_JAX_PART;
}

/* Whether a TensorFlow of this process passes on its requests because the dry run chose so: it tells its pool, as the threshold, what
 * its own allocator may take. */
static gboolean
serves_tensorflow (const DriverPool *pool)
{
  const char *chosen = g_getenv (GEMEM_ENV_DRY_TF_GPU_ALLOCATOR);

  return chosen != NULL && g_strcmp0 (chosen, g_getenv ("TF_GPU_ALLOCATOR")) == 0
         && pool->threshold > 0;
}

/* What @pool may hold.  Of a JAX it is that part, in whole pages, and of a TensorFlow what it said, so that a program which is refused
 * memory is told so, and may go on with less. */
static guint64
limit_of (const DriverPool *pool)
{
  GememDeviceInfo info;

  if (pool->limit == 0 && serves_tensorflow (pool))
    return pool->threshold;
  if (pool->limit > 0 || g_getenv (GEMEM_ENV_DRY_JAX) == NULL)
    return pool->limit > 0 ? pool->limit : G_MAXUINT64;
  gemem_device_info (gemem_driver_enter_device (pool->device), &info);
  gemem_driver_leave_device (pool->device);
  return ((guint64) ((double) info.total * part_of_jax ()) / PAGE + 1) * PAGE;
}

static DriverArea *
new_block (DriverPool *pool, guint64 size)
{
  DriverDevice *device = pool->device;
  const guint64 limit = limit_of (pool);
  guint64 address = 0;
  DriverArea *area;

  if (pool->limit == 0 && pool->reserved + size > limit)
    trim (pool, 0);
  if (pool->reserved + size <= limit)
    {
      address = gemem_driver_pools_malloc (device, size);
      if (address == 0 && pool == device->graph_pool && pool->unused->len > 0)
        {
          trim (pool, 0);
          address = gemem_driver_pools_malloc (device, size);
        }
    }
  if (address == 0)
    return NULL;
  if (pool->reserved_high == 0)
    gemem_dry_note (GEMEM_DRY_NOTE_POOLS,
                    "of CUDA keep memory by their own rules; here they use it for requests "
                    "of the same size");
  pool->reserved += size;
  pool->reserved_high = MAX (pool->reserved_high, pool->reserved);
  area = gemem_driver_area_add (KIND_POOLED, address, size, device, gemem_driver_bytes_new (size));
  area->pool = pool;
  area->live = FALSE;
  return area;
}

/* Makes @area the program's. */
static void
hand_out (DriverArea *area)
{
  area->owned = TRUE;
  area->pool->used += area->size;
  area->pool->used_high = MAX (area->pool->used_high, area->pool->used);
}

static guint64
rounded (guint64 size)
{
  return (size + ALIGNMENT - 1) & ~(guint64) (ALIGNMENT - 1);
}

DriverPool *
gemem_driver_graph_pool (DriverDevice *device)
{
  if (device->graph_pool == NULL)
    {
      device->graph_pool = pool_new (device);
      device->graph_pool->own = TRUE;
      device->graph_pool->threshold = G_MAXUINT64;
    }
  return device->graph_pool;
}

DriverArea *
gemem_driver_pool_take (DriverPool *pool, guint64 size)
{
  DriverArea *area = take_unused (pool, rounded (size), NULL);

  if (area == NULL && (area = new_block (pool, rounded (size))) == NULL)
    return NULL;
  hand_out (area);
  area->live = TRUE;
  return area;
}

static CUresult
allocate (DriverEntry entry, CUdeviceptr *place, size_t wanted, gboolean from_pool,
          CUmemoryPool pool_handle, CUstream handle)
{
  DriverWork work = { .run = run_begin, .node = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
  DriverPool *pool;
  guint64 size = rounded (wanted);

  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  if (!gemem_driver.pools)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (place == NULL || wanted == 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "%zu bytes, or no place for the result",
                                wanted);
  OWN_STREAM (handle);
  if (gemem_driver.mode->lenient && stream->capture != NULL && !from_pool)
    pool = gemem_driver_graph_pool (gemem_driver_context ()->device);
  else
    pool = from_pool ? gemem_driver_object (pool_handle, KIND_POOL)
                     : current_pool (gemem_driver_context ()->device);
  if (pool == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such pool");
  work.area = take_unused (pool, size, stream);
  if (work.area == NULL && (work.area = new_block (pool, size)) == NULL)
    return CUDA_ERROR_OUT_OF_MEMORY;
  hand_out (work.area);
  if (gemem_driver.mode->at_once)
    work.area->live = TRUE; /* also in a graph */
  gemem_driver_enqueue (stream, 0, &work);
  *place = work.area->node.address;
  return CUDA_SUCCESS;
}

CUresult
gemem_driver_pool_free (DriverArea *area, DriverStream *stream, gboolean ordered)
{
  DriverWork work = { .run = run_end, .node = CU_GRAPH_NODE_TYPE_MEM_FREE, .area = area };

  area->owned = FALSE;
  area->pool->used -= area->size;
  g_ptr_array_add (area->pool->unused, area);
  if (ordered)
    {
      gemem_driver_enqueue (stream, 0, &work);
      area->freed = stream->busy;
      area->stream = stream->object.id;
    }
  else
    {
      area->live = FALSE;
      area->freed = gemem_driver.now;
    }
  return gemem_driver_context_state ();
}

static CUresult
free_block (DriverEntry entry, CUdeviceptr address, CUstream handle)
{
  DriverStream *stream;
  DriverArea *area;

  DRIVER_BEGIN (entry, RETURNS);
  if (!gemem_driver.pools)
    return CUDA_ERROR_NOT_SUPPORTED;
  /* By the manual an error of the default streams, 0 to 2, alone: another one has a context. */
  if (gemem_driver_context () == NULL ? handle <= CU_STREAM_PER_THREAD
                                      : !gemem_driver_context ()->alive)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_CONTEXT, "no context is current to this thread");
  if (address == 0)
    return gemem_driver_context_state ();
  /* The manual does not ask for a stream of the current context; the strict stand-in does. */
  if ((stream = gemem_driver_stream (handle)) == NULL
      || (!gemem_driver.mode->lenient && gemem_driver_context () != NULL
          && stream->object.context != gemem_driver_context ()))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no stream of this context");
  if ((area = gemem_driver_area_start (address, KIND_POOLED)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is no allocation of a pool",
                                address);
  return gemem_driver_pool_free (area, stream, TRUE);
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
                   gemem_driver_per_thread (stream));
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
                   gemem_driver_per_thread (stream));
}

CUresult CUDAAPI
cuMemFreeAsync (CUdeviceptr address, CUstream stream)
{
  return free_block (ENTRY_cuMemFreeAsync, address, stream);
}

CUresult CUDAAPI
cuMemFreeAsync_ptsz (CUdeviceptr address, CUstream stream)
{
  return free_block (ENTRY_cuMemFreeAsync_ptsz, address, gemem_driver_per_thread (stream));
}

/* ---- pools */

#define SUPPORTED() \
  if (!gemem_driver.pools) \
  return CUDA_ERROR_NOT_SUPPORTED
#define POOL(handle) \
  DriverPool *pool = gemem_driver_object (handle, KIND_POOL); \
  if (pool == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such pool")

static CUresult
give (CUmemoryPool *handle, const DriverPool *pool)
{
  PLACE (handle);
  *handle = DRIVER_HANDLE (CUmemoryPool, pool);
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
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "a pool of another device");
  device->pool = pool;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemPoolCreate (CUmemoryPool *handle, const CUmemPoolProps *properties)
{
  DriverDevice *device;
  DriverPool *pool;

  BEGIN (cuMemPoolCreate, NEEDS_INIT);
  SUPPORTED ();
  if (handle == NULL || properties == NULL || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED
      || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE
      || (device = gemem_driver_device (properties->location.id)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "properties, or no place for the result");
  pool = pool_new (device);
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
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "a device's default pool is not destroyed");
  if (pool->used > 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "the pool still has %" G_GUINT64_FORMAT " bytes in use",
                                pool->used);
  for (guint i = 0; i < pool->unused->len; i++)
    gemem_driver_wait_until (((DriverArea *) g_ptr_array_index (pool->unused, i))->freed);
  trim (pool, 0);
  if (pool->device->pool == pool)
    pool->device->pool = NULL;
  gemem_driver_object_remove (pool);
  g_ptr_array_unref (pool->unused);
  g_free (pool);
  return gemem_driver_context_state ();
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
attribute_of (DriverPool *pool, CUmemPool_attribute attribute)
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
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "attribute %d, or no place for the result", (int) attribute);
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
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "attribute %d cannot be set so",
                                (int) attribute);
  if ((place = attribute_of (pool, attribute)) != NULL)
    *place = *(cuuint64_t *) value;
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    {
      g_autofree char *text = g_strdup_printf ("%d %d %" G_GUINT64_FORMAT, (int) getpid (),
                                               pool->device->ordinal, pool->threshold);
      gemem_driver.mode->note (GEMEM_DRY_NOTE_THRESHOLD, text);
    }
  return CUDA_SUCCESS;
}

/* ---- memory of graphs */

/* The field of a 64-bit attribute; NULL: no such attribute. */
static guint64 *
graph_attribute (DriverPool *pool, CUgraphMem_attribute attribute)
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
  const guint64 *place = graph_attribute (gemem_driver_graph_pool (device), attribute);
  if (value == NULL || place == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "attribute %d, or no place for the result", (int) attribute);
  *(cuuint64_t *) value = *place;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceSetGraphMemAttribute (CUdevice number, CUgraphMem_attribute attribute, void *value)
{
  BEGIN (cuDeviceSetGraphMemAttribute, NEEDS_INIT);
  DEVICE (number);
  guint64 *place = graph_attribute (gemem_driver_graph_pool (device), attribute);
  if (value == NULL || place == NULL
      || (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH
          && attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "attribute %d cannot be set",
                                (int) attribute);
  *place = *(cuuint64_t *) value;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGraphMemTrim (CUdevice number)
{
  BEGIN (cuDeviceGraphMemTrim, NEEDS_INIT);
  DEVICE (number);
  trim (gemem_driver_graph_pool (device), 0);
  return CUDA_SUCCESS;
}

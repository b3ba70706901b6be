/* cuda.c - the CUDA device: memory of an NVIDIA GPU through its driver; settings, creation and end.
 *
 * Why: the same engine and the same allocators on real memory.  The contract of device.h holds: out
 * of memory is an ordinary result, and a refused call leaves nothing behind.  Any other error of
 * the driver fails the device (gemem_device_failure()): the error is kept with CUDA's name and
 * text, nothing more is allocated, and allocated memory stays until the end.
 *
 * Capacity: `capacity` bounds the held bytes, counted as by the simulated device; without it the
 * driver decides.  info() reports the lesser of both.  Time: a real device has no modelled clock.
 * `now` is the trace's time, and calls cost nothing unless `profile` prices them; then modelled and
 * measured latency can be compared.  Which GPU: every call makes the GPU's primary context current
 * in the calling thread, and restores the thread's own afterwards; devices on several GPUs, and
 * programs with their own contexts, do not interfere.
 *
 * Invariants: everything obtained from the driver is released at the end, in this order: wait until
 * the device is idle, memory, streams and events, pool, context.  Cost: two lookups besides the
 * driver's work; no heap allocation per call once the maps have grown.
 */
#include "config.h"

#include "base/error.h"
#include "base/units.h"

#ifdef HAVE_CUDA
#include "devices/cuda/gpu.h"
#else
#include "devices/device-private.h"

typedef struct
{
  guint64 gpu, capacity, release_threshold;
  int mode, streams;
  char *profile;
} GememCudaParams;
#endif

#define UNSET (G_MAXUINT64 - 1) /* represents a word in the table; no valid size */
#define UNSET_TEXT "18446744073709551614"

#define FIELD(name) .offset = G_STRUCT_OFFSET (GememCudaParams, name)

static const GememParam params[] = {
  { .name = "gpu",
    .type = GEMEM_PARAM_UINT,
    .default_text = "device",
    .special = "device=65536",
    .max = "65535",
    FIELD (gpu),
    .help = "Which GPU, as the driver counts them; cuda:1 is short for cuda:gpu=1. Without it the "
            "GPU that has the number of the trace's device." },
  { .name = "mode",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "malloc",
    .choices = "malloc|vmm|async",
    FIELD (mode),
    .help = "How plain allocations are made: cuMemAlloc, a range with a page of its own, or a "
            "stream-ordered pool." },
  { .name = "capacity",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "device",
    .special = "device=" UNSET_TEXT,
    FIELD (capacity),
    .help = "Most bytes that are held, at most those of the GPU; without it as many as the driver "
            "gives." },
  { .name = "release_threshold",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    .special = "unlimited=18446744073709551615",
    FIELD (release_threshold),
    .help = "With mode=async: bytes that the pool keeps instead of giving them back when the "
            "device waits." },
  { .name = "streams",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "made",
    .choices = "made|handles",
    FIELD (streams),
    .help = "Whether a stream's number stands for one that is made when first used, or is the "
            "program's own CUstream." },
  { .name = "profile",
    .type = GEMEM_PARAM_STRING,
    .flags = GEMEM_PARAM_NAME_OR_FILE,
    FIELD (profile),
    .help = "Cost profile that prices the calls, for modelled latencies beside measured ones; "
            "without it calls cost nothing." },
  { .name = NULL }
};

#ifndef HAVE_CUDA

static GememDevice *
cuda_create (G_GNUC_UNUSED gconstpointer given, G_GNUC_UNUSED int ordinal, GError **error)
{
  g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE,
                       "device cuda: gemem was built without the CUDA Toolkit's headers; build "
                       "with --with-cuda, or use a simulated device, for "
                       "example -d sim:profile=h200");
  return NULL;
}

const GememDeviceClass gemem_cuda_class = {
  .name = "cuda",
  .summary = "an NVIDIA GPU (this build has no CUDA)",
  .params = params,
  .params_size = sizeof (GememCudaParams),
  .create = cuda_create,
  .real = TRUE,
};

#else

static void
cuda_info (GememDevice *device, GememDeviceInfo *info)
{
  GememCuda *self = (GememCuda *) device;
  size_t available = 0, total = 0;
  guint64 used = device->held + self->late, left = self->limit > used ? self->limit - used : 0;
  GEMEM_CUDA_ENTER (self);

  GEMEM_CUDA_DO (self, cuMemGetInfo, &available, &total);
  info->total = device->capacity;
  info->free = MIN (available, left);
  info->granularity = self->granularity;
  info->virtual_memory = self->virtual_memory;
}

static char *
cuda_identify (GememDevice *device)
{
  GememCuda *self = (GememCuda *) device;
  char name[256] = "";
  int version = 0;

  GEMEM_CUDA_DO (self, cuDeviceGetName, name, sizeof name, self->gpu);
  GEMEM_CUDA_DO (self, cuDriverGetVersion, &version);
  return g_strdup_printf ("%s, CUDA %d.%d", name, version / 1000, version % 1000 / 10);
}

static guint64
cuda_cost (GememDevice *device, GememDeviceCall call, guint64 size)
{
  const GememCuda *self = (const GememCuda *) device;
  const GememCallCost *cost = self->profile != NULL ? &self->profile->calls[call] : NULL;

  if (cost == NULL)
    return 0;
  if (call <= GEMEM_CALL_FREE && self->in_page && cost->shared_ns != 0)
    return cost->shared_ns;
  return gemem_call_cost_ns (cost, size, self->granularity)
         + gemem_call_live_ns (cost, call <= GEMEM_CALL_FREE
                                         ? gemem_idmap_count (self->blocks)
                                         : gemem_mappings_live (&self->mappings, call));
}

/* ---- creation and end */

static void
cuda_destroy (GememDevice *device)
{
  GememCuda *self = (GememCuda *) device;

  if (self->context != NULL)
    {
      GEMEM_CUDA_ENTER (self);
      GEMEM_CUDA_DO (self, cuCtxSynchronize);
      gemem_cuda_give_memory_back (self);
      GEMEM_CUDA_DO (self, cuCtxSynchronize); /* waits for frees queued on streams */
      gemem_cuda_touch_end (self);
      gemem_cuda_occupy_end (self);
      gemem_cuda_destroy_streams (self);
      if (self->pool != NULL)
        GEMEM_CUDA_DO (self, cuMemPoolDestroy, self->pool);
    }
  if (self->context != NULL)
    GEMEM_CUDA_DO (self, cuDevicePrimaryCtxRelease, self->gpu);
  g_clear_error (&device->failure);
  gemem_mappings_clear (&self->mappings);
  gemem_idmap_free (self->blocks);
  gemem_idmap_free (self->shared);
  gemem_idmap_free (self->stream_places);
  g_array_unref (self->streams);
  if (self->profile != NULL)
    gemem_profile_free (self->profile);
  g_free (self->params.profile);
  g_free (self);
}

static gboolean
attribute (GememCuda *self, CUdevice_attribute which)
{
  int value = 0;
  return GEMEM_CUDA_DO (self, cuDeviceGetAttribute, &value, which, self->gpu) && value != 0;
}

static gboolean
find_gpu (GememCuda *self, GError **error)
{
  int count = 0;

  if (!GEMEM_CUDA_DO (self, cuDeviceGetCount, &count))
    return FALSE;
  if (self->params.gpu >= (guint64) count)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE,
                   "device cuda:%" G_GUINT64_FORMAT
                   ": no such GPU, the driver finds %d, counted from 0; give another number",
                   self->params.gpu, count);
      return FALSE;
    }
  return GEMEM_CUDA_DO (self, cuDeviceGet, &self->gpu, (int) self->params.gpu);
}

static gboolean
lacks (const GememCuda *self, const char *what, GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE,
               "device cuda:%" G_GUINT64_FORMAT
               ": this GPU or its driver has no %s; use mode=malloc",
               self->params.gpu, what);
  return FALSE;
}

static gboolean
make_pool (GememCuda *self)
{
  const CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                    .id = self->gpu } };
  cuuint64_t threshold = self->params.release_threshold;

  return GEMEM_CUDA_DO (self, cuMemPoolCreate, &self->pool, &properties)
         && GEMEM_CUDA_DO (self, cuMemPoolSetAttribute, self->pool,
                           CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
}

/* Reads the GPU's capabilities and memory.  FALSE with @error or with the device failed. */
static gboolean
look_around (GememCuda *self, GError **error)
{
  const CUmemAllocationProp page = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                   .id = self->gpu } };
  size_t granularity = 2 * GEMEM_MIB, available, total;

  self->virtual_memory = attribute (self, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
  if (self->params.mode == GEMEM_CUDA_VMM && !self->virtual_memory)
    return lacks (self, "virtual memory, which mode=vmm needs", error);
  if (self->params.mode == GEMEM_CUDA_ASYNC
      && !attribute (self, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
    return lacks (self, "memory pools, which mode=async needs", error);
  if (!GEMEM_CUDA_DO (self, cuMemGetInfo, &available, &total)
      || (self->virtual_memory
          && !GEMEM_CUDA_DO (self, cuMemGetAllocationGranularity, &granularity, &page,
                             CU_MEM_ALLOC_GRANULARITY_MINIMUM)))
    return FALSE;
  self->granularity = self->mappings.granularity = granularity;
  self->limit = self->params.capacity < total ? self->params.capacity : G_MAXUINT64;
  self->base.capacity = self->params.capacity = MIN (self->params.capacity, total);
  return TRUE;
}

static gboolean
begin (GememCuda *self, GError **error)
{
  if (!find_gpu (self, error)
      || !GEMEM_CUDA_DO (self, cuDevicePrimaryCtxRetain, &self->context, self->gpu))
    return FALSE;
  GEMEM_CUDA_ENTER (self);
  return look_around (self, error) && (self->params.mode != GEMEM_CUDA_ASYNC || make_pool (self))
         && self->base.failure == NULL;
}

/* The profile is read before the driver is loaded: a wrong name is an error on any machine. */
static gboolean
set_costs (GememCuda *self, GError **error)
{
  if (self->params.profile == NULL)
    return TRUE;
  self->profile = gemem_profile_load (self->params.profile, error);
  if (self->profile == NULL)
    return FALSE;
  self->base.hit_ns = self->profile->hit_ns;
  self->base.cost_numbers = self->profile->numbers;
  self->base.cost_guesses = self->profile->guesses;
  return TRUE;
}

static GememDevice *
cuda_create (gconstpointer given, int ordinal, GError **error)
{
  GememCuda *self = g_new0 (GememCuda, 1);

  self->params = *(const GememCudaParams *) given;
  if (self->params.gpu > G_MAXUINT16)
    self->params.gpu = (guint64) ordinal;
  self->params.profile = g_strdup (self->params.profile);
  self->base.klass = &gemem_cuda_class;
  self->base.params = &self->params;
  self->base.waits = self->params.mode == GEMEM_CUDA_ASYNC ? 0 : 1u << GEMEM_CALL_FREE;
  self->blocks = gemem_idmap_new (sizeof (GememCudaBlock));
  self->shared = gemem_idmap_new (sizeof (guint64));
  self->stream_places = gemem_idmap_new (sizeof (guint64));
  self->streams = g_array_new (FALSE, TRUE, sizeof (GememCudaStream));
  gemem_mappings_init (&self->mappings, 1);
  if (set_costs (self, error) && (self->driver = gemem_cuda_driver (error)) != NULL
      && begin (self, error))
    {
      g_rec_mutex_init (&self->base.lock);
      return &self->base;
    }
  if (self->base.failure != NULL)
    {
      g_clear_error (error);
      g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE, self->base.failure->message);
    }
  cuda_destroy (&self->base);
  return NULL;
}

const GememDeviceClass gemem_cuda_class = {
  .name = "cuda",
  .summary = "an NVIDIA GPU, by number: cuda:0; modes malloc, vmm, async",
  .params = params,
  .params_size = sizeof (GememCudaParams),
  .create = cuda_create,
  .malloc = gemem_cuda_malloc,
  .free = gemem_cuda_free,
  .reserve = gemem_cuda_reserve,
  .release = gemem_cuda_release,
  .create_page = gemem_cuda_create_page,
  .destroy_page = gemem_cuda_destroy_page,
  .map = gemem_cuda_map,
  .unmap = gemem_cuda_unmap,
  .memset = gemem_cuda_memset,
  .event_record = gemem_cuda_event_record,
  .event_query = gemem_cuda_event_query,
  .event_sync = gemem_cuda_event_sync,
  .stream_sync = gemem_cuda_stream_sync,
  .device_sync = gemem_cuda_sync,
  .info = cuda_info,
  .destroy = cuda_destroy,
  .cost = cuda_cost,
  .identify = cuda_identify,
  .real = TRUE,
  .probe = { .touch = gemem_cuda_touch,
             .fill = gemem_cuda_fill,
             .verify = gemem_cuda_verify,
             .finding = gemem_cuda_finding,
             .occupy = gemem_cuda_occupy },
};

#endif

/* shared-flags.h - flags that several allocators of PaddlePaddle have: their rows in the tables of
 * parameters, cudaMalloc under FLAGS_gpu_memory_limit_mb, and the check of FLAGS_alignment_size.
 *
 * Origin: paddle.md sections 1.1 and 2.8.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/flags.h"
#include "base/paddle-versions.h"

/* The rows store into `memory_limit`, `retry_time`, `alignment` and `stream_safe` of @Type. */
#define GEMEM_PADDLE_LIMIT_ROW(Type, text) \
  { \
    .name = "gpu_memory_limit_mb", .type = GEMEM_PARAM_SIZE, .default_text = "0", .unit = "MiB", \
    .aliases = "FLAGS_gpu_memory_limit_mb", .offset = G_STRUCT_OFFSET (Type, memory_limit), \
    .help = text \
  }
#define GEMEM_PADDLE_RETRY_ROW(Type, standard, words, text) \
  { \
    .name = "gpu_allocator_retry_time", .type = GEMEM_PARAM_TIME, .default_text = standard, \
    .unit = "ms", .special = words, .aliases = "FLAGS_gpu_allocator_retry_time", \
    .offset = G_STRUCT_OFFSET (Type, retry_time), .help = text \
  }
#define GEMEM_PADDLE_ALIGNMENT_ROW(Type, names, text) \
  { \
    .name = "alignment_size", .type = GEMEM_PARAM_SIZE, .default_text = "256", \
    .sweep = "256|512|4KiB|64KiB|1MiB|2MiB", .min = "256", .max = "1GiB", .aliases = names, \
    .offset = G_STRUCT_OFFSET (Type, alignment), .help = text \
  }
#define GEMEM_PADDLE_STREAM_SAFE_ROW(Type) \
  { \
    .name = "use_stream_safe_cuda_allocator", .type = GEMEM_PARAM_BOOL, .default_text = "yes", \
    .aliases = "FLAGS_use_stream_safe_cuda_allocator", \
    .offset = G_STRUCT_OFFSET (Type, stream_safe), \
    .help = \
        "A freed block that other streams use waits until they are done (since 2.3).  Default " \
        "in 2.3-3.x: yes." \
  }

/* Further bytes that this process may hold under @limit. */
static inline guint64
gemem_paddle_left (const GememDevice *device, guint64 limit)
{
  return limit - MIN (limit, device->held);
}

/* TRUE if this process may hold @size further bytes under @limit. */
static inline gboolean
gemem_paddle_within (const GememDevice *device, guint64 size, guint64 limit)
{
  return size <= gemem_paddle_left (device, limit);
}

/* cudaMalloc; refuses without a device call if this process would hold more than @limit bytes. */
static inline guint64
gemem_paddle_malloc (GememDevice *device, guint64 size, guint64 stream, guint64 limit)
{
  return gemem_paddle_within (device, size, limit) ? gemem_device_malloc (device, size, stream) : 0;
}

/* FLAGS_alignment_size of the allocator named @who must be a power of two. */
static inline gboolean
gemem_paddle_check_power_of_two (const char *who, guint64 alignment, GError **error)
{
  if ((alignment & (alignment - 1)) == 0)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: alignment_size is not a power of two; use 256, 512, 1KiB, ...", who);
  return FALSE;
}

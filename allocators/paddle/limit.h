/* limit.h - cudaMalloc under FLAGS_gpu_memory_limit_mb, and the check of FLAGS_alignment_size:
 * shared by the allocators of PaddlePaddle.
 *
 * Origin: paddle.md section 2.8.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/flags.h"

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

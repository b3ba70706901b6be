/* paddle.h - what the allocators of PaddlePaddle share besides chunk-size.h: rounding, cudaMalloc
 * under a limit, and the refusal of flags that the chosen preset does not know or that have no good
 * value.
 *
 * Origin: spec/paddle.md, head (up) and section 2.8 (FLAGS_gpu_memory_limit_mb).
 */
#pragma once

#include "allocators/allocator.h"
#include "base/flags.h"

/* up(n, unit) of the specification, for any unit; the caller makes sure that it does not
 * overflow. */
static inline guint64
gemem_paddle_round_up (guint64 n, guint64 unit)
{
  guint64 rest = n % unit;
  return rest == 0 ? n : n + (unit - rest);
}

/* Bytes more that this process may hold under @limit. */
static inline guint64
gemem_paddle_left (const GememDevice *device, guint64 limit)
{
  return limit - MIN (limit, device->held);
}

/* TRUE if this process may hold @size bytes more under @limit. */
static inline gboolean
gemem_paddle_within (const GememDevice *device, guint64 size, guint64 limit)
{
  return size <= gemem_paddle_left (device, limit);
}

/* cudaMalloc; refused without a call when this process would hold more than @limit bytes. */
static inline guint64
gemem_paddle_malloc (GememDevice *device, guint64 size, guint64 stream, guint64 limit)
{
  return gemem_paddle_within (device, size, limit) ? gemem_device_malloc (device, size, stream) : 0;
}

/* FLAGS_alignment_size of the allocator @who: a power of two. */
static inline gboolean
gemem_paddle_check_alignment (const char *who, guint64 alignment, GError **error)
{
  if ((alignment & (alignment - 1)) == 0)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: alignment_size is not a power of two; use 256, 512, 1KiB, ...", who);
  return FALSE;
}

/* Settings that only some presets (or places) have. */
typedef GememFlag GememPaddleFlag;
#define gemem_paddle_check_flags gemem_check_flags

/* paddle.h - what the allocators of PaddlePaddle share besides chunk-size.h: rounding, cudaMalloc under a limit, and the refusal
 * of flags that the chosen preset does not know.
 *
 * Origin: spec/paddle.md, head (up) and section 2.8 (FLAGS_gpu_memory_limit_mb).
 */
#pragma once

#include "allocators/allocator.h"
#include "sim/core/flags.h"

/* up(n, unit) of the specification, for any unit; the caller makes sure that it does not overflow. */
static inline guint64
gemem_paddle_round_up (guint64 n, guint64 unit)
{
  guint64 rest = n % unit;
  return rest == 0 ? n : n + (unit - rest);
}

/* cudaMalloc; refused without a call when this process would hold more than @limit bytes. */
static inline guint64
gemem_paddle_malloc (GememDevice *device, guint64 size, guint64 stream, guint64 limit)
{
  if (device->held > limit || size > limit - device->held)
    return 0;
  return gemem_device_malloc (device, size, stream);
}

/* Settings that only some presets (or places) have. */
typedef GememFlag GememPaddleFlag;
#define gemem_paddle_check_flags gemem_check_flags

/* auto-growth-params.h - the flags of PaddlePaddle's auto_growth strategy (auto-growth.c) as a
 * parameter table, and which of them go together.
 *
 * Origin: paddle.md sections 1.1 (defaults and versions) and 3.1.
 */
#pragma once

#include "allocators/allocator.h"

typedef struct
{
  int preset; /* GememPaddlePreset, once resolved */
  guint64 chunk;
  gboolean free_idle_chunk, free_when_no_cache_hit;
  guint64 memory_limit;
  guint64 retry_time;
  guint64 alignment;
  gboolean stream_safe; /* once resolved: StreamSafe is there */
  gboolean v2;
  guint64 warm_up;
  guint64 small_pool, small_chunk, large_chunk, small_pre_alloc, large_pre_alloc;
} GememPaddleAutoGrowthParams;

extern const GememParam gemem_paddle_auto_growth_params[];

/* Refuses (GEMEM_ERROR_USAGE) what the preset does not know and what other settings override; turns
 * `preset` from an index of the choices into a GememPaddlePreset. */
gboolean gemem_paddle_auto_growth_params_resolve (GememPaddleAutoGrowthParams *params,
                                                  GError **error);

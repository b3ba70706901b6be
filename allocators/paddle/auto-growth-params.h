/* auto-growth-params.h - the flags of PaddlePaddle's auto_growth strategy (auto-growth.c) as a
 * parameter table, and the check that the chosen flags are compatible.
 *
 * Origin: paddle.md sections 1.1 (defaults and versions) and 3.1.
 */
#pragma once

#include "allocators/allocator.h"

typedef struct
{
  int version; /* index of the choices until resolved, then GememPaddleVersion */
  guint64 chunk;
  gboolean free_idle_chunk, free_when_no_cache_hit;
  guint64 memory_limit;
  guint64 retry_time;
  guint64 alignment;
  gboolean stream_safe; /* valid once resolved: StreamSafe is active */
  /* once resolved: chunks come from an aligning allocator; each stream has a pool of its own */
  gboolean aligned, per_stream;
  gboolean v2;
  guint64 warm_up;
  guint64 small_pool, small_chunk, large_chunk, small_pre_alloc, large_pre_alloc;
} GememPaddleAutoGrowthParams;

extern const GememParam gemem_paddle_auto_growth_params[];

/* Refuses (GEMEM_ERROR_USAGE) settings that the version does not know and settings that
 * others override; fills in what follows from the version. */
gboolean gemem_paddle_auto_growth_params_resolve (GememPaddleAutoGrowthParams *params,
                                                  GError **error);

/* auto-growth-watch.c - see auto-growth-watch.h. */
#include "config.h"

#include "allocators/paddle/auto-growth-watch.h"
#include "base/units.h"

guint64
gemem_paddle_auto_growth_least_chunk (const GememPaddleAutoGrowthParams *params, gboolean small)
{
  const guint64 large = params->small_pool != 0 ? params->large_chunk : params->chunk;

  return gemem_round_up (small ? params->small_chunk : large, params->alignment);
}

guint64
gemem_paddle_auto_growth_answer (gconstpointer data, guint asked, guint64 a, guint64 b)
{
  const GememPaddleAutoGrowthParams *params = data;

  switch ((AutoGrowthAsked) asked)
    {
    case AUTO_GROWTH_ASK_ROUND:
      return a > G_MAXUINT64 - 2 * params->alignment ? 0 : gemem_round_up (a, params->alignment);
    case AUTO_GROWTH_ASK_SMALL:
      return a <= params->small_pool;
    case AUTO_GROWTH_ASK_CHUNK:
      return MAX (a, gemem_paddle_auto_growth_least_chunk (params, b != 0));
    case AUTO_GROWTH_ASK_MISS:
      return params->free_when_no_cache_hit;
    case AUTO_GROWTH_ASK_RELEASE:
    default:
      return params->free_idle_chunk;
    }
}

/* Chunks are as long as the alignment asks where it is added to each, and where some are taken in advance. */
gboolean
gemem_paddle_auto_growth_same_rules (const GememPaddleAutoGrowthParams *a,
                                     const GememPaddleAutoGrowthParams *b)
{
  const gboolean aligns = a->aligned || a->small_pre_alloc + a->large_pre_alloc > 0;

  return a->memory_limit == b->memory_limit && a->retry_time == b->retry_time
         && a->stream_safe == b->stream_safe && a->aligned == b->aligned
         && a->per_stream == b->per_stream && a->v2 == b->v2 && (!a->v2 || a->warm_up == b->warm_up)
         && a->small_pre_alloc == b->small_pre_alloc && a->large_pre_alloc == b->large_pre_alloc
         && (!aligns || a->alignment == b->alignment);
}

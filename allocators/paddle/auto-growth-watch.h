/* auto-growth-watch.h - the questions that the flags of `paddle-auto-growth` answer in a run (questions.h).
 *
 * Invariants: what a flag decides and no question asks is in gemem_paddle_auto_growth_same_rules().
 */
#pragma once

#include "allocators/paddle/auto-growth-params.h"

typedef enum
{
  AUTO_GROWTH_ASK_ROUND, /* a request of `a` bytes -> the size of its block; 0: it is refused */
  AUTO_GROWTH_ASK_SMALL, /* a block of `a` bytes -> it belongs to the small pool */
  AUTO_GROWTH_ASK_CHUNK, /* a miss of `a` bytes in the small pool (`b` = 1) or the large one -> bytes of the chunk */
  AUTO_GROWTH_ASK_MISS, /* a miss while chunks are idle, or the device refuses -> they are returned first */
  AUTO_GROWTH_ASK_RELEASE, /* a free that leaves chunks idle -> they are returned */
} AutoGrowthAsked;

/* A GememAnswerFunc; @params: GememPaddleAutoGrowthParams, resolved. */
guint64 gemem_paddle_auto_growth_answer (gconstpointer params, guint asked, guint64 a, guint64 b);

/* The least chunk of the small pool, or of the large one. */
guint64 gemem_paddle_auto_growth_least_chunk (const GememPaddleAutoGrowthParams *params,
                                              gboolean small);

/* Whether both decide alike what no question asks. */
gboolean gemem_paddle_auto_growth_same_rules (const GememPaddleAutoGrowthParams *a,
                                              const GememPaddleAutoGrowthParams *b);

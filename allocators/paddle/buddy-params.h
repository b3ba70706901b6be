/* buddy-params.h - the flags of PaddlePaddle's buddy allocator (buddy.c) as a parameter table, and which of them go together.
 *
 * Origin: spec/paddle.md sections 1.1 (defaults and versions) and 2.1.
 */
#pragma once

#include "allocators/allocator.h"

typedef enum
{
  GEMEM_PADDLE_PLACE_GPU,
  GEMEM_PADDLE_PLACE_CPU,
  GEMEM_PADDLE_PLACE_PINNED,
} GememPaddlePlace;

typedef struct
{
  int preset, place;
  guint64 total, available;
  double fraction;
  guint64 initial, reallocate;
  gboolean free_idle_memory;
  guint64 memory_limit;
  guint64 retry_time;
  double cpu_fraction;
  guint64 cpu_initial;
  double pinned_fraction;
} GememPaddleBuddyParams;

extern const GememParam gemem_paddle_buddy_params[];

/* Refuses (GEMEM_ERROR_USAGE) what the preset or the place does not know and what other settings override; fills in what depends on
 * the preset. */
gboolean gemem_paddle_buddy_params_resolve (GememPaddleBuddyParams *params, GError **error);

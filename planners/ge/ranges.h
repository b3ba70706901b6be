/* ranges.h - strategies, and their size classes (ge-static.md 3). */
#pragma once

#include "planners/ge/model.h"

/* 3.3 */
typedef struct
{
  const char *name;
  gboolean single_range; /* max-block: one range, the largest size */
  gboolean use_range, ascending, first_release, priority, level2;
} GeStrategy;

/* The size classes of @strategy (guint64, ascending); empty: a block has the size of its tensor,
 * rounded up (1.2).  Free with g_array_unref(). */
GArray *gemem_ge_strategy_ranges (const GeModel *model, const GeStrategy *strategy);

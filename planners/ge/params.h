/* params.h - parameter tables of the GE planners; the settings themselves are in options.h. */
#pragma once

#include "base/params.h"
#include "planners/ge/options.h"

/* `ge-block`: a ReuseStrategy with free fields (ge-static.md 3.3). */
typedef struct
{
  GeOptions common;
  gboolean use_range, ascending_sort, reuse_first_release, memory_priority_mode;
} GeBlockOptions;

extern const GememParam ge_params[];
/* memory_priority=yes: the range strategies exist only in that mode */
extern const GememParam ge_priority_params[];
extern const GememParam ge_extend_params[]; /* static_memory_policy=2 */
extern const GememParam ge_block_params[];

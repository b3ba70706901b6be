/* params.h - parameter tables of the GE planners; options.h has the settings. */
#pragma once

#include "base/params.h"
#include "base/rules.h"
#include "planners/ge/options.h"

/* `ge-block`: a ReuseStrategy whose fields are parameters (ge-static.md 3.3). */
typedef struct
{
  GeOptions common;
  gboolean use_range, ascending_sort, reuse_first_release, memory_priority_mode;
} GeBlockOptions;

extern const GememParam gemem_ge_params[];
/* memory_priority=yes, the only mode with range strategies */
extern const GememParam gemem_ge_priority_params[];
extern const GememParam gemem_ge_extend_params[]; /* static_memory_policy=2 */
extern const GememParam gemem_ge_block_params[];

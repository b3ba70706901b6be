/* params.c - the parameter tables of the GE planners (ge-static.md appendix C). */
#include "config.h"

#include "planners/ge/options.h"

#define PRIORITY "no"
#define POLICY "unset"
const GememParam gemem_ge_params[] = {
#include "planners/ge/params.def"
  { NULL },
};

const GememParam gemem_ge_block_params[] = {
#include "planners/ge/params.def"
  { .name = "use_range",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (GeBlockOptions, use_range),
    .help = "Blocks have the size of a class, not of their tensor." },
  { .name = "ascending_sort",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .offset = G_STRUCT_OFFSET (GeBlockOptions, ascending_sort),
    .help = "Of blocks of one size, pack those with few tensors and early ones first." },
  { .name = "reuse_first_release",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (GeBlockOptions, reuse_first_release),
    .help = "Take the oldest free block, not the newest." },
  { .name = "memory_priority_mode",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .offset = G_STRUCT_OFFSET (GeBlockOptions, memory_priority_mode),
    .help = "Pack across streams by life times." },
  { NULL },
};
#undef PRIORITY
#undef POLICY

#define PRIORITY "yes"
#define POLICY "unset"
const GememParam gemem_ge_priority_params[] = {
#include "planners/ge/params.def"
  { NULL },
};
#undef PRIORITY
#undef POLICY

#define PRIORITY "no"
#define POLICY "2"
const GememParam gemem_ge_extend_params[] = {
#include "planners/ge/params.def"
  { NULL },
};

/* params.c - the parameter tables of the GE planners (ge-static.md appendix C).
 *
 * Every setting has the name of the field in our vectors and files, and the real option's name as
 * an alias.
 */
#include "config.h"

#include "planners/ge/params.h"

/* clang-format off */
#define AT(field) .offset = G_STRUCT_OFFSET (GeOptions, field)

/* The one list; the tables differ in two defaults. */
#define COMMON(priority, policy) \
  { .name = "memory_priority", .type = GEMEM_PARAM_CHOICE, .default_text = priority, \
    .choices = "no|yes|MemoryPriority=yes|false=no|true=yes|off=no|on=yes|0=no|1=yes", \
    .aliases = "ge.exec.memoryOptimizationPolicy", \
    AT (memory_priority), \
    .help = "Prefer less memory over reuse that is easy to follow: six candidates instead of " \
            "two, and reuse across streams." }, \
  { .name = "disable_reuse", .type = GEMEM_PARAM_BOOL, .default_text = "no", \
    .aliases = "ge.exec.disableReuseMemory|disable_reuse_memory", \
    AT (disable_reuse), .help = "Give every tensor memory of its own." }, \
  { .name = "static_memory_policy", .type = GEMEM_PARAM_UINT, .default_text = policy, .max = "4", \
    .aliases = "ge.exec.staticMemoryPolicy|GE_USE_STATIC_MEMORY", AT (static_memory_policy), \
    .help = "0; 1 and 2: memory that can be extended; 3: dynamic; 4: both.  1, 2 and 4 cut " \
            "batches at split_limit." }, \
  { .name = "split_limit", .type = GEMEM_PARAM_SIZE, .default_text = "400MiB", AT (split_limit), \
    .help = "Largest part of a batch that stays in one piece where memory can be extended." }, \
  { .name = "atomic_clean_policy", .type = GEMEM_PARAM_UINT, .default_text = "0", .max = "1", \
    .aliases = "ge.exec.atomicCleanPolicy", \
    AT (atomic_clean_policy), \
    .help = "0: one operator clears all memory that must be clear; 1: every operator clears " \
            "its own." }, \
  { .name = "input_reuse", .type = GEMEM_PARAM_STRING, \
    .aliases = "ge.exec.inputReuseMemIndexes", AT (input_reuse), \
    .help = "Inputs of the graph whose memory may be used again, as \"0,1\"." }, \
  { .name = "output_reuse", .type = GEMEM_PARAM_STRING, \
    .aliases = "ge.exec.outputReuseMemIndexes", AT (output_reuse), \
    .help = "Outputs of the graph whose memory may be used before, as \"0,1\"." }, \
  { .name = "feature_base_refreshable", .type = GEMEM_PARAM_BOOL, .default_text = "no", \
    .aliases = "ge.featureBaseRefreshable", \
    AT (feature_base_refreshable), \
    .help = "The address of the feature map may change between runs." }, \
  { .name = "io_mem_alloc_mode", .type = GEMEM_PARAM_CHOICE, .default_text = "ByApp", \
    .choices = "ByApp|ByGE", \
    .aliases = "ge.exec.graphIOMemAllocMode", AT (io_mem_alloc_mode), \
    .help = "Who gives memory to large inputs and outputs of the graph." }, \
  { .name = "input_fusion_size", .type = GEMEM_PARAM_SIZE, .default_text = "0", \
    .aliases = "ge.exec.input_fusion_size", \
    AT (input_fusion_size), \
    .help = "With ByGE: the largest input or output that the caller still supplies." }, \
  { .name = "build_graph_mode", .type = GEMEM_PARAM_CHOICE, .default_text = "online", \
    .choices = "online|offline", \
    .aliases = "ge.buildGraphMode", \
    AT (build_graph_mode), .help = "Offline graphs may take shapes of batches from the caller." }, \
  { .name = "static_model_addr_fixed", .type = GEMEM_PARAM_BOOL, .default_text = "no", \
    .aliases = "ge.exec.static_model_addr_fixed", \
    AT (static_model_addr_fixed), \
    .help = "Collectives of a static part of a dynamic graph keep their addresses." }, \
  { .name = "op_no_reuse_mem", .type = GEMEM_PARAM_STRING, .aliases = "OP_NO_REUSE_MEM", \
    AT (op_no_reuse_mem), \
    .help = "Names and types of nodes whose memory is not shared, at most ten, with commas." }, \
  { .name = "segment_limit", .type = GEMEM_PARAM_SIZE, .default_text = "auto", \
    .special = "auto=0", AT (segment_limit), \
    .help = "Largest segment of blocks that the run time places together; auto: 512 B, or 200 " \
            "MiB in a dynamic graph." }, \
  { .name = "device_memory", .type = GEMEM_PARAM_SIZE, .default_text = "unlimited", \
    .special = "unlimited=0", \
    .aliases = "ge.hardwareInfo.memory_size", \
    AT (device_memory), .help = "Refuse graphs that need more, but for memory_priority." }, \
  { .name = "quirks", .type = GEMEM_PARAM_BOOL, .default_text = "yes", AT (quirks), \
    .help = "Do what looks accidental in the real planner as well: its unstable sort, lost " \
            "flags, and what it forgets." }

const GememParam gemem_ge_params[] = { COMMON ("no", "0"), { NULL } };
const GememParam ge_priority_params[] = { COMMON ("yes", "0"), { NULL } };
const GememParam ge_extend_params[] = { COMMON ("no", "2"), { NULL } };

#define OWN(field) .offset = G_STRUCT_OFFSET (GeBlockOptions, field)
const GememParam ge_block_params[] = {
  COMMON ("no", "0"),
  { .name = "use_range", .type = GEMEM_PARAM_BOOL, .default_text = "no", OWN (use_range),
    .help = "Blocks have the size of a class, not of their tensor." },
  { .name = "ascending_sort", .type = GEMEM_PARAM_BOOL, .default_text = "yes", OWN (ascending_sort),
    .help = "Of blocks of one size, pack those with few tensors and early ones first." },
  { .name = "reuse_first_release", .type = GEMEM_PARAM_BOOL, .default_text = "no",
    OWN (reuse_first_release),
    .help = "Take the oldest free block, not the newest." },
  { .name = "memory_priority_mode", .type = GEMEM_PARAM_BOOL, .default_text = "no",
    OWN (memory_priority_mode),
    .help = "Pack across streams by life times." },
  { NULL },
};

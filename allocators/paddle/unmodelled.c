/* unmodelled.c - see unmodelled.h.
 *
 * The parameter tables hold the flags that are modelled.  A flag that becomes modelled is removed
 * here (a test finds names in both).
 * Origin: paddle.md sections 1.1, 1.2, 5.4, 7, 8, 9 and 12.
 */
#include "config.h"

#include "allocators/paddle/unmodelled.h"
#include "base/params.h"

const GememPaddleUnmodelled gemem_paddle_unmodelled[] = {
  { "benchmark", NULL, "measures and prints; every report here has the peaks" },
  { "dump_chunk_info", NULL, "only prints; --map shows what lies where" },
  { "enable_gpu_memory_usage_log", NULL, "only prints; every report here has the peaks" },
  { "enable_subgraph_optimize", "false",
    "lets memory_optimize work within sub-blocks, which its planners leave alone as Paddle's "
    "default does" },
  { "local_exe_sub_scope_limit", "256",
    "bounds how many scopes are kept (since 1.6), not memory of an allocator" },
  { "log_memory_stats", NULL, "only prints; --events writes the bytes after each request" },
  { "memory_optimize_debug", "", "keeps one output out of the passes, to find errors" },
  { "print_allocator_trace_info", NULL, "only prints; --allocator-report and --events say more" },
  { "use_auto_growth_pinned_allocator", "false",
    "puts auto_growth in the place of the buddy of pinned memory; "
    "paddle-auto-growth:alignment_size=64KiB decides alike" },
  { "use_cuda_malloc_async_allocator", "false",
    "leaves memory to the pools of the CUDA driver (cudaMallocAsync), which is not PaddlePaddle's "
    "doing" },
  { "use_cuda_managed_memory", "false",
    "lets the driver move memory between host and device, which no device here does" },
  { "use_multi_scale_virtual_memory_auto_growth", "false",
    "is newer than what the allocators here are written from; use_virtual_memory_auto_growth is "
    "its predecessor" },
  { NULL, NULL, NULL },
};

const GememPaddleUnmodelled *
gemem_paddle_unmodelled_find (const char *key)
{
  const char *name = g_ascii_strncasecmp (key, "FLAGS_", 6) == 0 ? key + 6 : key;

  for (const GememPaddleUnmodelled *flag = gemem_paddle_unmodelled; flag->name != NULL; flag++)
    if (gemem_name_equal (flag->name, name))
      return flag;
  return NULL;
}

/* auto-growth-params.c - the table of auto-growth-params.h and its rules.
 *
 * Every flag has its name in Paddle; FLAGS_NAME and the short keys of the vector files are
 * aliases.  A flag that would have no effect under the chosen version is refused rather than
 * ignored.  Sizes accept any number of bytes, where Paddle takes whole MiB.
 * Origin: paddle.md section 1.1.
 */
#include "config.h"

#include "allocators/paddle/auto-growth-params.h"
#include "allocators/paddle/shared-flags.h"

typedef GememPaddleAutoGrowthParams Params;

#define POOL_SIZE(field_name, field, values, text) \
  { \
    .name = field_name, .type = GEMEM_PARAM_SIZE, .default_text = "0", .unit = "MiB", \
    .sweep = values, .aliases = "FLAGS_" field_name, .offset = G_STRUCT_OFFSET (Params, field), \
    .help = text \
  }

const GememParam gemem_paddle_auto_growth_params[] = {
  GEMEM_PADDLE_VERSION_ROW (
      Params, version, GEMEM_PADDLE_VERSIONS_SINCE_1_6, "3.x", "2.0|2.2|2.6|3.x",
      "Release of Paddle.  Until 2.0 one pool, since 2.1 a pool per stream; until 2.2 aligned "
      "chunks (2.3 and 2.4 are unknown and taken as 2.5); 3.x: also small and large pools."),
  { .name = "auto_growth_chunk_size_in_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "0",
    .sweep = "0|2|8|32|64|128|256|512|1024",
    .unit = "MiB",
    .aliases = "chunk_mb|FLAGS_auto_growth_chunk_size_in_mb",
    .offset = G_STRUCT_OFFSET (Params, chunk),
    .help = "Least size of a chunk; 0: the rounded request (a flag since 2.5).  Default in "
            "2.5-3.x: 0." },
  { .name = "free_idle_chunk",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "FLAGS_free_idle_chunk",
    .offset = G_STRUCT_OFFSET (Params, free_idle_chunk),
    .help = "Return idle chunks to the device after every free (read-only at run time).  Default "
            "in 1.6-3.x: no." },
  { .name = "free_when_no_cache_hit",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "FLAGS_free_when_no_cache_hit",
    .offset = G_STRUCT_OFFSET (Params, free_when_no_cache_hit),
    .help = "Return idle chunks before a new one is taken, instead of after the device has refused "
            "(read-only at run time).  "
            "Default in 1.6-3.x: no." },
  GEMEM_PADDLE_LIMIT_ROW (
      Params,
      "Most memory this process may hold; 0: no limit (since 1.8).  Default in 1.8-3.x: 0."),
  GEMEM_PADDLE_RETRY_ROW (
      Params, "10000", NULL,
      "Virtual time to wait before the one repetition of a request that found no memory; 0: "
      "none.  Default in 1.6-3.x: 10000."),
  GEMEM_PADDLE_ALIGNMENT_ROW (
      Params, "alignment|FLAGS_alignment_size",
      "Rounding unit of requests and, until 2.2, of the aligning allocator below. "
      "A power of two: 256 on CUDA, 64KiB for pinned memory. A flag in 3.x, which Paddle "
      "reads on other devices than CUDA's only; before, a rule that may be tried.  "
      "Default in 1.6-3.x: 256."),
  GEMEM_PADDLE_STREAM_SAFE_ROW (Params),
  { .name = "use_auto_growth_v2",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "FLAGS_use_auto_growth_v2",
    .offset = G_STRUCT_OFFSET (Params, v2),
    .help = "While it warms up only free blocks of exactly the size serve; then the idle chunks go "
            "back, once.  Default in 3.x: no." },
  { .name = "auto_growth_v2_warm_up",
    .type = GEMEM_PARAM_UINT,
    .default_text = "1000",
    .sweep = "0|100|1000|10000|100000",
    .max = "1000000000000",
    .offset = G_STRUCT_OFFSET (Params, warm_up),
    .help = "Requests for which use_auto_growth_v2 warms up; a program says so itself, a recording "
            "does not." },
  POOL_SIZE ("small_pool_size_in_mb", small_pool, "0|1|2|4|8|16",
             "Requests up to this size have a pool of their own; 0: one pool.  Default in 3.x: 0."),
  POOL_SIZE ("small_pool_auto_growth_chunk_size_in_mb", small_chunk, "0|2|8|16|32|64",
             "Least size of a chunk of the small pool.  Default in 3.x: 0."),
  POOL_SIZE ("large_pool_auto_growth_chunk_size_in_mb", large_chunk, "0|64|128|256|512|1024",
             "Least size of a chunk of the large pool.  Default in 3.x: 0."),
  POOL_SIZE ("small_pool_pre_alloc_in_mb", small_pre_alloc, "0|16|64|256",
             "Chunk taken for the small pool at a stream's first request.  Default in 3.x: 0."),
  POOL_SIZE ("large_pool_pre_alloc_in_mb", large_pre_alloc, "0|512|1024|4096|16384",
             "Chunk taken for the large pool at a stream's first request.  Default in 3.x: 0."),
  { NULL },
};

gboolean
gemem_paddle_auto_growth_params_resolve (Params *params, GError **error)
{
  const GememPaddleVersion version = (GememPaddleVersion) params->version + GEMEM_PADDLE_1_6;
  gboolean pools = version == GEMEM_PADDLE_3_X && params->small_pool != 0;
  const char *why_no_pools = "needs two pools; choose version=3.x and set small_pool_size_in_mb";
  const GememFlag flags[] = {
    { "use_stream_safe_cuda_allocator", !params->stream_safe, version >= GEMEM_PADDLE_2_3,
      "came with 2.3; choose version=2.3 or later" },
    { "auto_growth_chunk_size_in_mb", params->chunk != 0, version >= GEMEM_PADDLE_2_5 && !pools,
      "is a flag since 2.5, and small_pool_size_in_mb replaces it by one size per pool; choose "
      "version=2.5 or later, or set the pools' sizes" },
    { "gpu_memory_limit_mb", params->memory_limit != 0, version >= GEMEM_PADDLE_1_8,
      "counts since 1.8 (1.7.0 ignores it); choose version=1.8 or later" },
    { "use_auto_growth_v2", params->v2, version == GEMEM_PADDLE_3_X,
      "exists in 3.x; choose version=3.x" },
    { "auto_growth_v2_warm_up", params->warm_up != 1000, params->v2,
      "belongs to use_auto_growth_v2; switch that on" },
    { "small_pool_size_in_mb", params->small_pool != 0, pools,
      "exists in 3.x; choose version=3.x" },
    { "small_pool_auto_growth_chunk_size_in_mb", params->small_chunk != 0, pools, why_no_pools },
    { "large_pool_auto_growth_chunk_size_in_mb", params->large_chunk != 0, pools, why_no_pools },
    { "small_pool_pre_alloc_in_mb", params->small_pre_alloc != 0, pools, why_no_pools },
    { "large_pool_pre_alloc_in_mb", params->large_pre_alloc != 0, pools, why_no_pools },
  };
  if (!gemem_check_flags ("paddle-auto-growth", flags, G_N_ELEMENTS (flags), error))
    return FALSE;
  params->stream_safe = params->stream_safe && version >= GEMEM_PADDLE_2_3;
  params->aligned = version <= GEMEM_PADDLE_2_2; /* 2.3 and 2.4 unknown; gone in 2.5.2 */
  params->per_stream = version >= GEMEM_PADDLE_2_1;
  guint64 largest = MAX (
      MAX (params->chunk, params->small_chunk),
      MAX (params->large_chunk, MAX (params->small_pre_alloc, params->large_pre_alloc)));
  if (largest > G_MAXUINT64 / 2)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "paddle-auto-growth: a chunk size is beyond any device; use at most 8 EiB");
      return FALSE;
    }
  if (!gemem_paddle_check_power_of_two ("paddle-auto-growth", params->alignment, error))
    return FALSE;
  params->version = (int) version;
  return TRUE;
}

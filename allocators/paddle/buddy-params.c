/* buddy-params.c - the table of buddy.h and its rules.
 *
 * Every flag has its name in Paddle; FLAGS_NAME and the short keys of the vector files are
 * aliases.  A flag that would have no effect under the chosen version or place is refused rather
 * than ignored.  Sizes accept any number of bytes, where Paddle takes whole MiB.
 * Origin: paddle.md section 1.1.
 */
#include "config.h"

#include "allocators/paddle/buddy.h"

typedef GememPaddleBuddyParams Params;

#define RETRY_BY_VERSION G_MAXUINT64                   /* "default" of the row */
#define RETRY_DEFAULT G_GUINT64_CONSTANT (10000000000) /* ns */

const GememParam gemem_paddle_buddy_params[] = {
  GEMEM_PADDLE_VERSION_ROW (Params, chunk.version, GEMEM_PADDLE_VERSIONS, "2.0", "1.3|1.5|2.0",
                            "Release of Paddle; since 1.6 they decide alike, but "
                            "gpu_memory_limit_mb counts since 1.8."),
  { .name = "place",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "gpu",
    .choices = "gpu|cpu|pinned",
    .offset = G_STRUCT_OFFSET (Params, place),
    .help = "Kind of memory: rounding unit 256 B (gpu), 4 KiB (cpu) or 64 KiB (pinned), and its "
            "chunk size." },
  GEMEM_PADDLE_BUDDY_SIZE_ROWS,
  { .name = "free_idle_memory",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "no",
    .aliases = "FLAGS_free_idle_memory",
    .offset = G_STRUCT_OFFSET (Params, free_idle_memory),
    .help = "Return free chunks to the device while (used + max_chunk) * 2 < free. "
            "The documentation of 1.4 and 1.5 still lists it, no code reads it; as documented it "
            "works in every version.  Default in 1.2-1.3: no." },
  GEMEM_PADDLE_BUDDY_LIMIT_ROWS,
  { .name = "fraction_of_cpu_memory_to_use",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "1",
    .sweep = "0.1|0.25|0.5|1",
    .min = "0",
    .max = "1",
    .aliases = "FLAGS_fraction_of_cpu_memory_to_use",
    .offset = G_STRUCT_OFFSET (Params, cpu_fraction),
    .help = "Part of the physical memory of which a 32nd bounds the chunk size, as documented the "
            "whole (place=cpu).  Default in 1.2-2.6: 1." },
  { .name = "initial_cpu_memory_in_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "500",
    .sweep = "50|100|500|1000|5000",
    .unit = "MiB",
    .aliases = "FLAGS_initial_cpu_memory_in_mb",
    .offset = G_STRUCT_OFFSET (Params, cpu_initial),
    .help = "Upper bound of the chunk size (place=cpu; a build of 1.x with MKLDNN had 5000).  "
            "Default in 1.2-2.6: 500." },
  { .name = "fraction_of_cuda_pinned_memory_to_use",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "0.5",
    .sweep = "0.1|0.25|0.5|1",
    .min = "0",
    .max = "1",
    .aliases = "FLAGS_fraction_of_cuda_pinned_memory_to_use",
    .offset = G_STRUCT_OFFSET (Params, pinned_fraction),
    .help = "Part of the physical memory that may be pinned; a 256th of it is the chunk size "
            "(place=pinned).  Default in 1.2-3.x: 0.5." },
  { .name = "use_pinned_memory",
    .type = GEMEM_PARAM_BOOL,
    .default_text = "yes",
    .aliases = "FLAGS_use_pinned_memory",
    .offset = G_STRUCT_OFFSET (Params, use_pinned_memory),
    .help = "The pages of the host's chunks are locked (place=cpu; statistic `locked`); no size "
            "and no address depends on it.  Default in 1.2-2.6: yes." },
  { NULL },
};

/* The manual's "greater than 0". */
static gboolean
check_above_zero (const char *who, const char *flag, gboolean zero, GError **error)
{
  if (zero)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: %s=0 is refused by the manual, which has 'greater than 0'; leave it out, or "
                 "choose rules=as-built",
                 who, flag);
  return !zero;
}

gboolean
gemem_paddle_chunk_rule_resolve (GememPaddleChunkRule *rule, int platform, const char *who,
                                 GError **error)
{
  const gboolean documented = rule->rules == GEMEM_RULES_DOCUMENTED;

  if (!check_above_zero (who, "fraction_of_gpu_memory_to_use", documented && rule->fraction == 0,
                         error)
      || !check_above_zero (who, "initial_gpu_memory_in_mb", documented && rule->initial == 0,
                            error)
      || !check_above_zero (who, "reallocate_gpu_memory_in_mb", documented && rule->reallocate == 0,
                            error))
    return FALSE;
  rule->initial = rule->initial != GEMEM_PADDLE_UNSET ? rule->initial : 0;
  rule->reallocate = rule->reallocate != GEMEM_PADDLE_UNSET ? rule->reallocate : 0;
  if (rule->fraction == g_ascii_strtod (GEMEM_PADDLE_FRACTION_DEFAULT, NULL))
    rule->fraction = platform == GEMEM_PADDLE_WINDOWS ? GEMEM_PADDLE_FRACTION_WINDOWS
                     : documented                     ? GEMEM_PADDLE_FRACTION_DOCUMENTED
                                                      : rule->fraction;
  return TRUE;
}

gboolean
gemem_paddle_buddy_params_resolve (Params *params, GError **error)
{
  Params defaults;
  gemem_params_set_defaults (gemem_paddle_buddy_params, &defaults);
  gboolean gpu = params->place == GEMEM_PADDLE_PLACE_GPU,
           cpu = params->place == GEMEM_PADDLE_PLACE_CPU;
  gboolean pinned = params->place == GEMEM_PADDLE_PLACE_PINNED;
  const int version = params->chunk.version;
  gboolean since_1_4 = gpu && version >= GEMEM_PADDLE_1_4,
           since_1_6 = gpu && version >= GEMEM_PADDLE_1_6;
  const gboolean initial = gemem_paddle_size_is_set (params->chunk.initial),
                 reallocate = gemem_paddle_size_is_set (params->chunk.reallocate);
  gboolean by_fraction = gpu && !(initial && reallocate);
  const GememFlag flags[] = {
    { "available", params->available != 0, gpu,
      "is read on the GPU only; drop it or choose place=gpu" },
    { "platform", params->platform != GEMEM_PADDLE_LINUX, by_fraction,
      "says which default fraction_of_gpu_memory_to_use has, which is not asked here; drop it" },
    { "fraction_of_gpu_memory_to_use", params->chunk.fraction != defaults.chunk.fraction,
      by_fraction,
      "counts on the GPU where initial_gpu_memory_in_mb or reallocate_gpu_memory_in_mb is 0; drop "
      "it or set one of them to 0" },
    { "initial_gpu_memory_in_mb", initial, since_1_4,
      "exists on the GPU since 1.4; choose version=1.4 or later" },
    { "reallocate_gpu_memory_in_mb", reallocate, since_1_4,
      "exists on the GPU since 1.4; choose version=1.4 or later" },
    { "free_idle_memory", params->free_idle_memory,
      gpu && (version < GEMEM_PADDLE_1_4 || params->chunk.rules == GEMEM_RULES_DOCUMENTED),
      "works on the GPU until 1.3 only; choose version=1.3, or rules=documented" },
    { "gpu_memory_limit_mb", params->memory_limit != 0, gpu && version >= GEMEM_PADDLE_1_8,
      "counts on the GPU since 1.8 (1.7.0 ignores it); choose version=1.8 or later" },
    { "gpu_allocator_retry_time", params->retry_time != RETRY_BY_VERSION && params->retry_time != 0,
      since_1_6, "wraps this allocator on the GPU since 1.6; choose version=1.6 or later" },
    { "fraction_of_cpu_memory_to_use", params->cpu_fraction != defaults.cpu_fraction, cpu,
      "counts on the host only; choose place=cpu" },
    { "initial_cpu_memory_in_mb", params->cpu_initial != defaults.cpu_initial, cpu,
      "counts on the host only; choose place=cpu" },
    { "fraction_of_cuda_pinned_memory_to_use", params->pinned_fraction != defaults.pinned_fraction,
      pinned, "counts for pinned memory only; choose place=pinned" },
    { "use_pinned_memory", !params->use_pinned_memory, cpu,
      "locks pages of the CPU allocator; choose place=cpu" },
  };
  if (cpu && version == GEMEM_PADDLE_3_X && params->chunk.rules == GEMEM_RULES_AS_BUILT)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "paddle-buddy: memory of the host is plain malloc since 3.x; choose "
                   "version=2.6 or rules=documented, or paddle:version=3.x,place=cpu");
      return FALSE;
    }
  if (!gemem_check_flags ("paddle-buddy", flags, G_N_ELEMENTS (flags), error)
      || !gemem_paddle_chunk_rule_resolve (&params->chunk, params->platform, "paddle-buddy", error))
    return FALSE;
  if (params->retry_time == RETRY_BY_VERSION)
    params->retry_time = since_1_6 ? RETRY_DEFAULT : 0;
  return TRUE;
}

/* buddy-params.c - the table of buddy-params.h and its rules.
 *
 * Every flag has its name in Paddle; FLAGS_NAME and the short keys of the vector files are
 * aliases.  A flag that would have no effect under the chosen preset or place is refused rather
 * than ignored.  Sizes accept any number of bytes, where Paddle takes whole MiB.
 * Origin: paddle.md section 1.1.
 */
#include "config.h"

#include "allocators/paddle/buddy-params.h"
#include "allocators/paddle/chunk-size.h"
#include "allocators/paddle/limit.h"

typedef GememPaddleBuddyParams Params;

#define RETRY_BY_PRESET G_MAXUINT64                    /* "default" of the row */
#define RETRY_DEFAULT G_GUINT64_CONSTANT (10000000000) /* ns */

const GememParam gemem_paddle_buddy_params[] = {
  { .name = "preset",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "P16",
    .choices = "P13|P14|P16|P2|P3|P2/P3=P3",
    .offset = G_STRUCT_OFFSET (Params, preset),
    .help = "Version of Paddle: P13 (1.2-1.3), P14 (1.4-1.5), P16 (1.6-2.0), P2 (2.1-2.6), P3 "
            "(3.x); the last three decide alike." },
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
    .help = "Return free chunks to the device while (used + max_chunk) * 2 < free (the "
            "documentation of 1.4 and 1.5 still lists it, no code "
            "reads it).  Default in P13: no." },
  GEMEM_PADDLE_BUDDY_LIMIT_ROWS,
  { .name = "fraction_of_cpu_memory_to_use",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "1",
    .sweep = "0.1|0.25|0.5|1",
    .min = "0",
    .max = "1",
    .aliases = "FLAGS_fraction_of_cpu_memory_to_use",
    .offset = G_STRUCT_OFFSET (Params, cpu_fraction),
    .help = "Part of the physical memory of which a 32nd bounds the chunk size (place=cpu; the "
            "documentation omits the 32nd).  "
            "Default in P13-P2: 1." },
  { .name = "initial_cpu_memory_in_mb",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "500",
    .sweep = "50|100|500|1000|5000",
    .unit = "MiB",
    .aliases = "FLAGS_initial_cpu_memory_in_mb",
    .offset = G_STRUCT_OFFSET (Params, cpu_initial),
    .help = "Upper bound of the chunk size (place=cpu; a build of 1.x with MKLDNN had 5000).  "
            "Default in P13-P2: 500." },
  { .name = "fraction_of_cuda_pinned_memory_to_use",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "0.5",
    .sweep = "0.1|0.25|0.5|1",
    .min = "0",
    .max = "1",
    .aliases = "FLAGS_fraction_of_cuda_pinned_memory_to_use",
    .offset = G_STRUCT_OFFSET (Params, pinned_fraction),
    .help = "Part of the physical memory that may be pinned; a 256th of it is the chunk size "
            "(place=pinned).  Default in P13-P3: 0.5." },
  { NULL },
};

gboolean
gemem_paddle_buddy_params_resolve (Params *params, GError **error)
{
  Params defaults;
  gemem_params_set_defaults (gemem_paddle_buddy_params, &defaults);
  gboolean gpu = params->place == GEMEM_PADDLE_PLACE_GPU,
           cpu = params->place == GEMEM_PADDLE_PLACE_CPU;
  gboolean pinned = params->place == GEMEM_PADDLE_PLACE_PINNED;
  gboolean since_p14 = gpu && params->preset >= GEMEM_PADDLE_P14,
           since_p16 = gpu && params->preset >= GEMEM_PADDLE_P16;
  gboolean by_fraction = gpu && (params->initial == 0 || params->reallocate == 0);
  const GememFlag flags[] = {
    { "available", params->available != 0, gpu,
      "is read on the GPU only; drop it or choose place=gpu" },
    { "fraction_of_gpu_memory_to_use", params->fraction != defaults.fraction, by_fraction,
      "counts on the GPU where initial_gpu_memory_in_mb or reallocate_gpu_memory_in_mb is 0; drop "
      "it or set one of them to 0" },
    { "initial_gpu_memory_in_mb", params->initial != 0, since_p14,
      "exists on the GPU since 1.4; choose preset=P14 or later" },
    { "reallocate_gpu_memory_in_mb", params->reallocate != 0, since_p14,
      "exists on the GPU since 1.4; choose preset=P14 or later" },
    { "free_idle_memory", params->free_idle_memory, gpu && params->preset == GEMEM_PADDLE_P13,
      "works on the GPU until 1.3 only; choose preset=P13" },
    { "gpu_memory_limit_mb", params->memory_limit != 0, since_p16,
      "exists on the GPU since 2.0; choose preset=P16 or later" },
    { "gpu_allocator_retry_time", params->retry_time != RETRY_BY_PRESET && params->retry_time != 0,
      since_p16, "wraps this allocator on the GPU since 1.6; choose preset=P16 or later" },
    { "fraction_of_cpu_memory_to_use", params->cpu_fraction != defaults.cpu_fraction, cpu,
      "counts on the host only; choose place=cpu" },
    { "initial_cpu_memory_in_mb", params->cpu_initial != defaults.cpu_initial, cpu,
      "counts on the host only; choose place=cpu" },
    { "fraction_of_cuda_pinned_memory_to_use", params->pinned_fraction != defaults.pinned_fraction,
      pinned, "counts for pinned memory only; choose place=pinned" },
  };
  if (!gemem_check_flags ("paddle-buddy", flags, G_N_ELEMENTS (flags), error))
    return FALSE;
  if (params->retry_time == RETRY_BY_PRESET)
    params->retry_time = since_p16 ? RETRY_DEFAULT : 0;
  return TRUE;
}

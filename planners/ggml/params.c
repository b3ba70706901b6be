/* params.c - see params.h. */
#include "config.h"

#include "base/error.h"
#include "planners/ggml/offsets.h"

#define FIELD(field) .offset = G_STRUCT_OFFSET (GgmlParams, field)

const GememParam gemem_ggml_params[] = {
  { .name = "alignment",
    .type = GEMEM_PARAM_SIZE,
    .default_text = "128",
    .min = "32",
    .max = "1GiB",
    .sweep = "32|128",
    FIELD (alignment),
    .help = "Offsets and sizes are multiples of this power of two: 32 on CPUs, 128 with CUDA and "
            "CANN." },
  { .name = "max_chunk",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "none",
    .max = "1024TiB",
    .sweep = "none|64MiB|1GiB",
    .special = "none=0",
    FIELD (max_chunk),
    .help = "Largest buffer that the backend makes, unless one tensor needs more; further buffers "
            "follow, at most 16." },
  { NULL },
};

gboolean
gemem_ggml_params_check (const GgmlParams *params, GError **error)
{
  if ((params->alignment & (params->alignment - 1)) == 0)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "alignment=%" G_GUINT64_FORMAT ": not a power of two; give 32 or 128",
               params->alignment);
  return FALSE;
}

guint64
gemem_ggml_params_max_chunk (const GgmlParams *params)
{
  return params->max_chunk != 0 ? params->max_chunk : GGML_ENDLESS;
}

/* params.h - the settings that the planner and the allocator `ggml-alloc` share. */
#pragma once

#include "base/params.h"

typedef struct
{
  guint64 alignment;
  guint64 max_chunk; /* 0: none */
} GgmlParams;

extern const GememParam gemem_ggml_params[];

/* FALSE if the alignment is no power of two.  GEMEM_ERROR_USAGE, without the name of the owner. */
gboolean gemem_ggml_params_check (const GgmlParams *params, GError **error);
/* As gemem_ggml_offsets_init() takes it. */
guint64 gemem_ggml_params_max_chunk (const GgmlParams *params);

/* params.h - the parameters that all PaddlePaddle planners have, and names with a special
 * meaning. */
#pragma once

#include "base/params.h"

#define PADDLE_ALIGNMENT 256 /* bytes; that of PaddlePaddle's allocators (paddle.md 2, 3) */
#define PADDLE_EMPTY "@EMPTY@"

/* Choices of a setting that is no or yes, before further ones. */
#define PADDLE_BOOL_CHOICES "no|yes|false=no|true=yes|off=no|on=yes|0=no|1=yes"

#define PADDLE_ALIGNMENT_PARAM(Struct) \
  { \
    .name = "alignment", .type = GEMEM_PARAM_SIZE, .default_text = G_STRINGIFY (PADDLE_ALIGNMENT), \
    .min = "1", .max = "1GiB", .offset = G_STRUCT_OFFSET (Struct, alignment), \
    .help = "Offsets are multiples of this power of two." \
  }

/* FALSE with GEMEM_ERROR_USAGE if @alignment is not a power of two. */
gboolean gemem_paddle_check_plan_alignment (guint64 alignment, GError **error);

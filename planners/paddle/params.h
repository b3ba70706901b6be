/* params.h - the parameters that all PaddlePaddle planners have, and names with a special
 * meaning. */
#pragma once

#include "base/params.h"

#define PADDLE_ALIGNMENT 256 /* bytes; that of PaddlePaddle's allocators (paddle.md 2, 3) */
#define PADDLE_EMPTY "@EMPTY@"

/* Releases with the Python transpilers, in the order of PADDLE_ERA_CHOICES (paddle.md 13.2).  1.0
 * to 1.2 decide alike, and so do 1.3 to 1.5, but for a default. */
enum
{
  PADDLE_ERA_1_3,
  PADDLE_ERA_1_4,
  PADDLE_ERA_1_5,
  PADDLE_ERA_1_2,
  PADDLE_ERA_1_1,
  PADDLE_ERA_1_0,
  PADDLE_ERA_2019_02, /* as developed on 2019-02-01: as 1.3, but element types are not compared */
};
#define PADDLE_ERA_CHOICES "1.3|1.4|1.5|1.2|1.1|1.0|2019-02-01"

static inline gboolean
gemem_paddle_is_old_era (int era)
{
  return era >= PADDLE_ERA_1_2 && era <= PADDLE_ERA_1_0;
}

/* Choices of a setting that is no or yes, before further ones. */
#define PADDLE_BOOL_CHOICES "no|yes|false=no|true=yes|off=no|on=yes|0=no|1=yes"

#define PADDLE_ALIGNMENT_PARAM(Struct) \
  { \
    .name = "alignment", .type = GEMEM_PARAM_SIZE, .default_text = G_STRINGIFY (PADDLE_ALIGNMENT), \
    .min = "1", .max = "1GiB", .offset = G_STRUCT_OFFSET (Struct, alignment), \
    .help = "Offsets are multiples of this power of two." \
  }

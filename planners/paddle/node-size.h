/* node-size.h - which variables the C++ passes of PaddlePaddle 1.4 and 1.5 share, and the size by
 * which they compare (paddle.md 8.4). */
#pragma once

#include "planners/paddle/program.h"

enum
{
  PADDLE_PLACE_GPU,
  PADDLE_PLACE_CPU,
};

#define PADDLE_PLACE_PARAM(Struct) \
  { \
    .name = "place", .type = GEMEM_PARAM_CHOICE, .default_text = "gpu", .choices = "gpu|cpu", \
    .offset = G_STRUCT_OFFSET (Struct, place), \
    .help = "Build whose least number of elements worth sharing counts: 256 with CUDA (gpu), " \
            "4096 without (cpu)." \
  }

/* Bytes: elements times the size of an element. */
guint64 gemem_paddle_node_size (const PaddleVariable *variable);
/* TRUE if the variable may share: a dense tensor that does not persist, with a shape, large enough
 * for @place, not created in host memory. */
gboolean gemem_paddle_is_reusable (const PaddleProgram *program, guint32 variable, int place);

/* The skip set of the passes: variables named by op_role_var attributes, and variables that send,
 * recv, prefetch and operators with sub-blocks touch. */
void gemem_paddle_skip_for_passes (const PaddleProgram *program, guint8 *skip);

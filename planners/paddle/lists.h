/* lists.h - the straight lists of operators that PaddlePaddle's planners walk, each with a
 * control-flow graph of its own, and the variables that are dead after each operator
 * (paddle.md 8.1). */
#pragma once

#include "planners/paddle/program.h"

typedef struct
{
  guint32 *nodes;     /* in execution order */
  guint32 n, forward; /* the first `forward` are the forward part */
} PaddleList;

/* The lists of 8.1: the global block, then the sub-blocks of while and conditional_block (and
 * parallel_do, @old) that the global block owns, each followed by the block of its gradient
 * operator.  Of each kind first those with a gradient operator, in the order of these, then the
 * others (paddle.md 13.2).  A gradient block listed before the end of its forward block is left
 * out.  GArray of PaddleList; element 0 is the global block. */
GArray *gemem_paddle_lists (const PaddleProgram *program, gboolean old);
/* TRUE if the operator is of a kind that owns such a block. */
gboolean gemem_paddle_owns_list (const GememNode *node, gboolean old);

/* The variables that die at the operator at each position i of a list: dying[first[i] ..  first[i +
 * 1]), in arbitrary order. */
typedef struct
{
  guint32 *first, *dying;
  guint8 *live_in;  /* per variable: live when the list begins */
  guint8 *live_out; /* at write_at[i] + k: write k of position i is live after its operator */
  guint32 *write_at;
} PaddleLiveness;

PaddleLiveness *gemem_paddle_liveness_new (const PaddleProgram *program, const PaddleList *list);
void gemem_paddle_liveness_free (PaddleLiveness *liveness);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PaddleLiveness, gemem_paddle_liveness_free)

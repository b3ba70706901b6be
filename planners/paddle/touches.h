/* touches.h - which operators touch a variable, and whether all of them are known to be over before
 * another operator begins.
 *
 * Why: planners that share memory between two variables directly (in-place, buffer sharing) need no
 * list.  In a graph of one stream the order is that of the nodes; with several streams every single
 * operator must be known to be over (graphs/order.h).  An unnamed variable with several items is
 * over only where its lifetime says so: other items may lie in its memory.
 * Memory: O(inputs + items).
 * Cost: O(1) per question for one stream, else O(operators that touch the variable).
 */
#pragma once

#include "graphs/order.h"
#include "planners/paddle/program.h"

typedef struct
{
  const PaddleProgram *program;
  GememGraphOrder *order; /* NULL for one stream */
  /* per variable: nodes[first[v] .. first[v] + n[v]) touch it, ascending, none twice */
  guint32 *first, *n;
  guint32 *nodes;
} PaddleTouches;

PaddleTouches *gemem_paddle_touches_new (const PaddleProgram *program);
void gemem_paddle_touches_free (PaddleTouches *touches);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PaddleTouches, gemem_paddle_touches_free)

/* TRUE if all operators that touch @variable, except @node, are known to be over when @node begins,
 * and no later operator touches it. */
gboolean gemem_paddle_is_over (const PaddleTouches *touches, guint32 variable, guint32 node);
/* TRUE if @node is the first operator that touches @variable, and writes all of it, so that the
 * variable may lie in another one's memory. */
gboolean gemem_paddle_is_first (const PaddleTouches *touches, guint32 variable, guint32 node);

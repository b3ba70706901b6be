/* skip.h - skip sets of the PaddlePaddle planners: a flag per variable that says that it neither
 * gives nor takes memory; and which variables are valid at an operator (paddle.md 8.1, 8.4). */
#pragma once

#include "planners/paddle/lists.h"

void gemem_paddle_skip (guint32 variable, guint8 *skip); /* may be GEMEM_NONE */
/* All that a node reads and writes. */
void gemem_paddle_skip_node (const PaddleProgram *program, guint32 node, guint8 *skip);
/* Variables that operators of different lists touch. */
void gemem_paddle_skip_foreign (const PaddleProgram *program, const GArray *lists, guint8 *skip);
/* Those that @names lists, with commas between; brackets around are allowed.  @what: the
 * parameter.  Errors: GEMEM_ERROR_USAGE for a name that is no variable of the graph, and for an
 * empty one. */
gboolean gemem_paddle_skip_names (const PaddleProgram *program, const char *names, const char *what,
                                  guint8 *skip, GError **error);
/* The skip set of the Python transpilers (8.1): what operators with a list of their own (and any
 * that owns blocks) touch, outputs forced into host memory (@old: of fill_constant only), gradients
 * of optimized parameters (@skip_grads), variables of two lists, @names.  Errors: as
 * gemem_paddle_skip_names(). */
gboolean gemem_paddle_skip_for_transpiler (const PaddleProgram *program, const GArray *lists,
                                           gboolean old, gboolean skip_grads, const char *names,
                                           guint8 *skip, GError **error);

/* TRUE if @node finds the variable: in its own block; a backward operator also in the blocks around
 * it. */
gboolean gemem_paddle_is_found (const PaddleProgram *program, guint32 node, gboolean backward,
                                const PaddleVariable *variable);
/* "Valid" of 8.1, but for the skip set: found, a dense tensor with a shape that does not
 * persist. */
gboolean gemem_paddle_is_valid (const PaddleProgram *program, guint32 node, gboolean backward,
                                guint32 variable);

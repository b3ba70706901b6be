/* skip.h - skip sets of the PaddlePaddle planners: a flag per variable that excludes it from
 * sharing memory; and which variables are valid at an operator (paddle.md 8.1, 8.4). */
#pragma once

#include "planners/paddle/lists.h"

void gemem_paddle_skip (guint32 variable, guint8 *skip); /* @variable may be GEMEM_NONE */
/* Skips all variables that a node reads and writes. */
void gemem_paddle_skip_node (const PaddleProgram *program, guint32 node, guint8 *skip);
/* Skips variables that operators of different lists, or of a list and of a block without one,
 * touch. @listed: not where the operator that owns the block itself lists the variable. */
void gemem_paddle_skip_foreign (const PaddleProgram *program, const GArray *lists, gboolean listed,
                                guint8 *skip);

typedef struct
{
  gboolean old; /* releases up to 1.2 */
  int rules;    /* GememRules; what skip_grads means */
  gboolean skip_grads;
  const char *names; /* skip_opt_set */
} PaddleSkipSettings;

/* The skip set of the Python transpilers (8.1, 13.2): variables touched by operators with a list,
 * outputs forced into host memory (@old: only of fill_constant), variables of two lists, `names`.
 * With skip_grads the gradients of optimized parameters, that is the second of op_role_var of each
 * operator of the global block whose role is Optimize and nothing else; in the manual's words: all
 * variables that the backward part writes.  Errors: GEMEM_ERROR_USAGE for a name
 * in `names` that is no variable of the graph, also for an empty one. */
gboolean gemem_paddle_skip_for_transpiler (const PaddleProgram *program, const GArray *lists,
                                           const PaddleSkipSettings *settings, guint8 *skip,
                                           GError **error);

/* TRUE if @node finds the variable: in its own block; a backward operator also in enclosing
 * blocks. */
gboolean gemem_paddle_is_found (const PaddleProgram *program, guint32 node, gboolean backward,
                                const PaddleVariable *variable);
/* "Valid" of 8.1, without the skip set: found, a dense tensor with a shape that does not
 * persist. */
gboolean gemem_paddle_is_valid (const PaddleProgram *program, guint32 node, gboolean backward,
                                guint32 variable);

/* Whether the program has a variable @name, which setting @what names.  GEMEM_ERROR_USAGE. */
gboolean gemem_paddle_check_name (const PaddleProgram *program, const char *name, const char *what,
                                  GError **error);

/* walk.h - the walk over a list of operators that gives the memory of dead variables to new ones
 * (paddle.md 8.1, 8.4).
 *
 * At each operator its outputs look for memory in the pool; then the variables that are dead after
 * it enter the pool, in the order of their names.  So memory that becomes free at an operator
 * serves the next ones only.  What differs between the planners is in PaddleRules.
 */
#pragma once

#include "planners/paddle/lists.h"
#include "planners/paddle/rewrite.h"

typedef struct _PaddleWalk PaddleWalk;

/* Where the planners differ. */
typedef struct
{
  /* The operator neither takes memory nor gives any. */
  gboolean (*skips) (const PaddleWalk *walk, guint32 node);
  /* An output of that name may lie in the memory of another variable. */
  gboolean (*may_take) (const PaddleWalk *walk, guint32 node, guint32 name);
  /* The dead variable enters the pool. */
  gboolean (*may_give) (const PaddleWalk *walk, guint32 node, guint32 name);
  /* The position in the pool of what @name takes; GEMEM_NONE.  May print. */
  guint32 (*find) (PaddleWalk *walk, guint32 node, guint32 name);
  guint32 (*place) (PaddleWalk *walk, guint32 name); /* where in the pool it is put */
  /* A name is dead with the first of its variables (8.4), not with the last (8.1). */
  gboolean first_ends;
} PaddleRules;

struct _PaddleWalk
{
  const PaddleProgram *program;
  PaddleRewrite *rewrite;
  const PaddleRules *rules;
  gpointer settings; /* of the planner, what its rules need besides */
  guint8 *skip;      /* per variable: in the skip set; filled by who uses the walk */
  /* the list */
  guint32 list, forward; /* its number; how many of its operators are forward */
  guint32 position;
  guint32 counter; /* of printed renames */
  PaddleNames names;
  GArray *pool;              /* guint32: names */
  guint8 *in_pool, *written; /* per name: is in the pool; is written by an operator of the list */
  guint32 *read_at;          /* per name: last position + 1 that reads it */
  /* per name: number of what equals it; per class: entries in the pool */
  guint32 *class, *n_pooled;
};

/* @compare: of two PaddleVariable **; 0 if one may take the memory of the other exactly.  Variables
 * that compare equal are a class. */
PaddleWalk *gemem_paddle_walk_new (const PaddleProgram *program, PaddleRewrite *rewrite,
                                   const PaddleRules *rules, GCompareFunc compare,
                                   gpointer settings);
void gemem_paddle_walk_free (PaddleWalk *walk);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PaddleWalk, gemem_paddle_walk_free)

/* Applies the rules to one list.  The rewrite keeps the pool of list 0.  O((operators + edges) x
 * log) and what find() and place() cost; moving the pool's entries is 4 bytes each. */
void gemem_paddle_walk_list (PaddleWalk *walk, guint32 number, const PaddleList *list);

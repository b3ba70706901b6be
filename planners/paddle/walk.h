/* walk.h - the walk over a list of operators in which new variables take the memory of dead ones
 * (paddle.md 8.1, 8.4).
 *
 * At each operator its outputs first take memory from the pool; then the variables that die at the
 * operator enter the pool, in the order of their names or in that of its inputs.  So the memory of
 * dying variables serves later operators only.  PaddleRules holds the differences between the
 * planners.
 */
#pragma once

#include "planners/paddle/lists.h"
#include "planners/paddle/rewrite.h"

typedef struct _PaddleWalk PaddleWalk;

/* The differences between the planners. */
typedef struct
{
  /* TRUE if the operator neither takes from the pool nor adds to it. */
  gboolean (*skips) (const PaddleWalk *walk, guint32 node);
  /* TRUE if an output of that name may lie in the memory of another variable. */
  gboolean (*may_take) (const PaddleWalk *walk, guint32 node, guint32 name);
  /* TRUE if the dead variable enters the pool. */
  gboolean (*may_give) (const PaddleWalk *walk, guint32 node, guint32 name);
  /* The position in the pool of the entry that @name takes; GEMEM_NONE: none.  May print. */
  guint32 (*find) (PaddleWalk *walk, guint32 node, guint32 name);
  guint32 (*place) (PaddleWalk *walk, guint32 name); /* position at which it enters the pool */
  /* A name is dead when its first variable is (8.4), not its last (8.1). */
  gboolean first_ends;
  gboolean moves;   /* a renamed name comes last in its operator's lists (13.2) */
  gboolean as_read; /* dying names enter the pool in the order of the inputs, not sorted */
} PaddleRules;

struct _PaddleWalk
{
  const PaddleProgram *program;
  PaddleRewrite *rewrite;
  const PaddleRules *rules;
  gpointer settings; /* of the planner, for its rules */
  guint8 *skip;      /* per variable: in the skip set; filled by the caller */
  /* the current list */
  guint32 list, forward; /* its number; number of its forward operators */
  guint32 position;
  guint32 counter; /* of printed renames */
  PaddleNames names;
  GArray *pool;              /* guint32: names */
  guint8 *in_pool, *written; /* per name: is in the pool; is written by an operator of the list */
  guint32 *read_at;          /* per name: 1 + the last position that reads it */
  /* per name: its class; per class: entries in the pool */
  guint32 *class, *n_pooled;
};

/* @compare: compares two PaddleVariable **; 0 if one may take the memory of the other exactly.
 * Variables that compare equal form a class. */
PaddleWalk *gemem_paddle_walk_new (const PaddleProgram *program, PaddleRewrite *rewrite,
                                   const PaddleRules *rules, GCompareFunc compare,
                                   gpointer settings);
void gemem_paddle_walk_free (PaddleWalk *walk);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PaddleWalk, gemem_paddle_walk_free)

/* Applies the rules to one list.  The rewrite keeps the pool of list 0.  O((operators + edges) x
 * log), plus the cost of find() and place(); moving the pool's entries costs 4 bytes each. */
void gemem_paddle_walk_list (PaddleWalk *walk, guint32 number, const PaddleList *list);

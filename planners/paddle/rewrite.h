/* rewrite.h - a program after variables took over the memory (and the names) of dead ones, and the
 * plan that it means.
 *
 * What the renaming planners share: names that change from one operator on (8.1 "rename x -> c in
 * ops i.."), the walk over a list with its pool of dead variables (walk.c), and the layout of what
 * is left.
 *
 * Names.  Every variable begins with its own name.  A rename gives the name `to` to all that is
 * called `from` at this point; both are one group from here on, and part no more.  The name `from`
 * may come back when something takes the memory of the dead variable of that name.
 *
 * Plan.  PaddlePaddle without garbage collection keeps every variable to the end of the run.  So
 * each variable that is left has its own memory, one after another in the order of the first item
 * that lies in it, as large as the largest of its items; spaces are separate.
 *
 * Cost: a rename is O(1) (amortised, inverse Ackermann); names O(variables) memory.
 */
#pragma once

#include "planners/paddle/program.h"

typedef struct
{
  guint32 *parent; /* groups of variables that have one name */
  guint32 *name;   /* per root: the variable whose name it bears */
  guint32 *named;  /* per name: a variable of the group that bears it, or GEMEM_NONE */
  guint32 *n_live; /* per root: how many of its variables are live; kept by who uses it */
} PaddleNames;

void gemem_paddle_names_init (PaddleNames *names, guint32 n);
void gemem_paddle_names_clear (PaddleNames *names);
guint32 gemem_paddle_names_group (PaddleNames *names, guint32 variable);
/* The name of @variable at this point. */
guint32 gemem_paddle_name (PaddleNames *names, guint32 variable);
/* What is called @from is called @to from here on. */
void gemem_paddle_rename (PaddleNames *names, guint32 from, guint32 to);

typedef struct
{
  guint32 list, op; /* number of the list, position in it */
  guint32 from, to;
  guint32 index, pool_size; /* of the pool, before the removal */
} PaddleRename;

typedef struct
{
  GArray *renames; /* PaddleRename */
  guint32 *inputs; /* per input of the graph: the variable after the renames, or GEMEM_NONE */
  guint32 *items;  /* per item */
  GArray *pool;    /* guint32: what is left in the pool of the global block, in its order */
  GPtrArray *log;  /* what PaddlePaddle prints; at most PADDLE_LOG_LINES */
} PaddleRewrite;

#define PADDLE_LOG_LINES 1000000

/* As it stands: nothing renamed. */
PaddleRewrite *gemem_paddle_rewrite_new (const PaddleProgram *program);
void gemem_paddle_rewrite_free (PaddleRewrite *rewrite);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PaddleRewrite, gemem_paddle_rewrite_free)

/* What @node reads and writes, by the names as they are now. */
void gemem_paddle_rewrite_node (const PaddleProgram *program, PaddleNames *names, guint32 node,
                                PaddleRewrite *rewrite);
void gemem_paddle_log (PaddleRewrite *rewrite, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* The plan (layout.c); takes the log over.  Where the renames would lose a value, or write over an
 * input that the operator does not allow it on, the name gets other memory from there on, and the
 * log says so: PaddlePaddle's passes do not see that a dead name is written again later. */
GememPlan *gemem_paddle_rewrite_plan (const PaddleProgram *program, PaddleRewrite *rewrite,
                                      const char *planner, guint64 alignment);

/* ---- the walk (walk.c) */

typedef struct _PaddleWalk PaddleWalk;

/* Where the planners differ. */
typedef struct
{
  /* operators that neither take nor give */
  gboolean (*skips) (const PaddleWalk *walk, guint32 node);
  /* an output's memory may be another's */
  gboolean (*may_take) (const PaddleWalk *walk, guint32 node, guint32 name);
  /* a dead variable goes into the pool */
  gboolean (*may_give) (const PaddleWalk *walk, guint32 node, guint32 name);
  /* The position in the pool of what @name takes; GEMEM_NONE.  May print. */
  guint32 (*find) (PaddleWalk *walk, guint32 node, guint32 name);
  guint32 (*place) (PaddleWalk *walk, guint32 name); /* where in the pool it is put */
  /* Names die with the first of the variables that bear them (8.4), not with the last (8.1). */
  gboolean dies_once;
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

/* @compare: of two PaddleVariable *, by all that is equal where one could replace the other
 * exactly; what is not tells classes apart. */
PaddleWalk *gemem_paddle_walk_new (const PaddleProgram *program, PaddleRewrite *rewrite,
                                   const PaddleRules *rules, GCompareFunc compare,
                                   gpointer settings);
void gemem_paddle_walk_free (PaddleWalk *walk);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PaddleWalk, gemem_paddle_walk_free)

/* Applies the rules to one list.  The rewrite keeps the pool of list 0.  O((operators + edges) x
 * log) and what find() and place() cost; moving the pool's entries is 4 bytes each. */
void gemem_paddle_walk_list (PaddleWalk *walk, guint32 number, const PaddleList *list);

/* ---- skip sets (skip.c): a flag per variable */

void gemem_paddle_skip (guint32 variable, guint8 *skip); /* GEMEM_NONE: nothing */
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

/* Is the variable found from @node: in its own block, from a backward operator also in the blocks
 * around it. */
gboolean gemem_paddle_is_found (const PaddleProgram *program, guint32 node, gboolean backward,
                                const PaddleVariable *variable);
/* "Valid" of 8.1, but for the skip set: found, a dense tensor with a shape that does not
 * persist. */
gboolean gemem_paddle_is_valid (const PaddleProgram *program, guint32 node, gboolean backward,
                                guint32 variable);

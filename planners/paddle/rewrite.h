/* rewrite.h - a program whose new variables took the memory and the names of dead ones (paddle.md
 * 8.1), and the plan of such a program (layout.c).
 *
 * Names.  Every variable begins with its own name.  A rename gives the name `to` to all variables
 * that have the name `from` at this point; both become one group.  A name whose variables are dead
 * is used again when a variable takes their memory.  In the operators' lists of names a name that
 * changes moves to the end (paddle.md 13.2); `moved` remembers when.
 *
 * Plan.  PaddlePaddle without garbage collection keeps every variable to the end of the run.  So
 * each remaining name has its own memory, as large as the largest of its items, in the order of the
 * first item in it; spaces are separate.
 *
 * Cost: a rename is O(1) (amortised, inverse Ackermann); names O(variables) memory.
 */
#pragma once

#include "planners/paddle/program.h"

typedef struct
{
  /* groups of variables that have one name: trees over variables, then over joined groups */
  guint32 *parent;
  guint32 *name;   /* per root: the variable whose name the group has */
  guint32 *named;  /* per name: the root of the group with that name, or GEMEM_NONE */
  guint32 *n_live; /* per root: how many of its variables are live; kept by the caller */
  guint32 *moved;  /* the last rename of a tree; a variable's is the largest up to its root */
  guint32 n_variables, n_groups, n_renames;
} PaddleNames;

void gemem_paddle_names_init (PaddleNames *names, guint32 n);
void gemem_paddle_names_clear (PaddleNames *names);
guint32 gemem_paddle_names_group (PaddleNames *names, guint32 variable);
/* The name of @variable at this point. */
guint32 gemem_paddle_name (PaddleNames *names, guint32 variable);
/* When the name of @variable changed last: a number that grows with each rename; 0: never. */
guint32 gemem_paddle_moved (PaddleNames *names, guint32 variable);
/* Begins anew, after gemem_paddle_names_restart(): @variable has its own name again.  Variables
 * that are not reset may not be asked for. */
void gemem_paddle_names_restart (PaddleNames *names);
void gemem_paddle_names_reset (PaddleNames *names, guint32 variable);
/* Renames @from to @to for the operators that follow. */
void gemem_paddle_rename (PaddleNames *names, guint32 from, guint32 to);

typedef struct
{
  guint32 list, op; /* number of the list, position in it */
  guint32 from, to;
  guint32 index, pool_size; /* in the pool, before the removal; entries of the pool then */
} PaddleRename;

typedef struct
{
  GArray *renames; /* PaddleRename */
  guint32 *inputs; /* per input of the graph: the variable after the renames, or GEMEM_NONE */
  guint32 *items;  /* per item */
  GArray *pool;    /* guint32: the final pool of the global block, in its order */
  GPtrArray *log;  /* lines that PaddlePaddle prints; at most PADDLE_LOG_LINES */
} PaddleRewrite;

#define PADDLE_LOG_LINES 1000000

/* A rewrite of the program without renames. */
PaddleRewrite *gemem_paddle_rewrite_new (const PaddleProgram *program);
void gemem_paddle_rewrite_free (PaddleRewrite *rewrite);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PaddleRewrite, gemem_paddle_rewrite_free)

/* Stores the current names of the variables that @node reads and writes. */
void gemem_paddle_rewrite_node (const PaddleProgram *program, PaddleNames *names, guint32 node,
                                PaddleRewrite *rewrite);
void gemem_paddle_log (PaddleRewrite *rewrite, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* The plan of @rewrite, which is freed (layout.c).  PaddlePaddle's passes overlook
 * that a dead name is written again later.  Where the renames would therefore lose a value, or
 * write over an input that the operator does not allow, the name gets other memory from there on,
 * and the log says so. */
GememPlan *gemem_paddle_rewrite_plan (const PaddleProgram *program, PaddleRewrite *rewrite,
                                      const char *planner, guint64 alignment);

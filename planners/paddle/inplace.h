/* inplace.h - sharing the buffer of an input with an output of the same operator: paddle.md 7, and
 * 8.5 for the pass that precedes the cross-operator pass. */
#pragma once

#include "planners/paddle/rewrite.h"
#include "planners/paddle/touches.h"

enum
{
  PADDLE_INPLACE_1_4, /* the whitelist says which operators may */
  PADDLE_INPLACE_1_5, /* the whitelist says which operators may not */
  PADDLE_INPLACE_1_6, /* no whitelist */
};

typedef struct
{
  gboolean enable_inplace_whitelist;
  int version;
  int rules;                   /* GememRules; documented: as in 1.5 whatever the version */
  char *memory_optimize_debug; /* an output of this name is never moved */
  int place;                   /* PADDLE_PLACE_* */
  guint64 alignment;
} PaddleInplace;

/* Which variables share a buffer. */
typedef struct
{
  const PaddleProgram *program;
  PaddleTouches *touches;
  PaddleNames names; /* variables that share a buffer have the name of the first */
  guint8 *gave;      /* per variable: another variable lies in its buffer */
  guint8 *took;      /* per variable: lies in the buffer of another */
  /* per variable: number of reads and of writes by the current operator */
  guint32 *n_reads, *n_writes;
  GArray *renames; /* PaddleRename; list, index and pool_size 0; `op` is the node */
} PaddleSharing;

void gemem_paddle_sharing_init (PaddleSharing *sharing, const PaddleProgram *program);
void gemem_paddle_sharing_clear (PaddleSharing *sharing);
/* From @node on, @out lies in the buffer of @in. */
void gemem_paddle_share (PaddleSharing *sharing, guint32 node, guint32 in, guint32 out);

/* Runs the pass over the operators in planning order.  @rewrite (may be NULL) gets the names as
 * they are at each operator. */
void gemem_paddle_inplace (PaddleSharing *sharing, const PaddleInplace *settings,
                           PaddleRewrite *rewrite);

/* Requirement of the passes of 1.6 for both sides of a pair: a dense tensor that does not persist,
 * has bytes, and is touched by one block only. */
gboolean gemem_paddle_is_shareable (const PaddleProgram *program, guint32 variable,
                                    const guint8 *foreign);
/* Adds @by to n_reads and n_writes for each read and write of @node: 1 before its pairs are tried,
 * -1 afterwards. */
void gemem_paddle_count_node (PaddleSharing *sharing, guint32 node, int by);

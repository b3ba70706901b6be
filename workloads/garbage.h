/* garbage.h - PaddlePaddle's garbage collector as lowerings use it: a queue with a threshold, and
 * the selection of the tensors that are collected.
 *
 * After each node the tensors of which it was the last user become garbage together; then, once per
 * node, if the queue has `threshold` bytes or more, all of it is freed and the sum starts at 0.
 * With a threshold of at most 1 byte everything is freed at once.  The rest is freed at the end of
 * the step.  Fraction F in (0, 1): only the largest tensors (bytes without padding, -1 counting as
 * 1; ties in program order) are collected, as long as the sum of the selected ones is below (i64)
 * (F x the sum of all); 0: none, 1: all.  Both sums count a tensor once for each of its last
 * operators (last-users.c).  A tensor is freed only if it is selected for all of its last
 * operators: otherwise its count does not reach zero.  As the manual has it: F x the number of
 * tensors are collected, rounded down, each tensor counting once.  Origin: paddle.md 1.2 (reported
 * sizes), 5.1, 5.3, E19.
 */
#pragma once

#include "base/rules.h"
#include "workloads/lower.h"

typedef struct
{
  guint64 threshold, sum;
  /* The allocator reports sizes rounded up to a multiple of `unit`, and `extra` bytes more. */
  guint64 unit, extra;
  GArray *queue;  /* guint32, storages */
  guint8 *spared; /* by storage: TRUE: not collected; NULL: all are collected */
  void (*release) (GememLower *lower, guint32 storage); /* its memory may be freed */
} GememGarbage;

/* @rules: GEMEM_RULES_DOCUMENTED: the fraction is one of the tensors' number. */
void gemem_garbage_init (GememGarbage *garbage, GememLower *lower, guint64 threshold,
                         double fraction, GememRules rules);
void gemem_garbage_clear (GememGarbage *garbage);
/* @storage had its last user.  Call from GememLower.release. */
void gemem_garbage_add (GememGarbage *garbage, GememLower *lower, guint32 storage);
/* The end of a step: frees what is queued. */
void gemem_garbage_end (GememGarbage *garbage, GememLower *lower);
/* Empties the queue without freeing. */
void gemem_garbage_forget (GememGarbage *garbage);

/* ---- last-users.c: the operators after which graph executors treat a variable as garbage */

typedef struct
{
  guint32 storage, node;
} GememLastUser;

/* GArray of GememLastUser, of all storages but workspaces; those of one storage ordered by node. */
GArray *gemem_last_users (const GememLower *lower);

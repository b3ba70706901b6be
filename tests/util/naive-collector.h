/* naive-collector.h - PaddlePaddle's garbage collector and temporary allocator, naively: lists, and
 * every pair of operators.
 *
 * Input: the storages whose last user has run. Output: the slot in which each storage is freed (the
 * r-th node that runs; n: the end of the step), and which workspaces are new allocations. Origin:
 * paddle.md 1.2, 4, 5.1-5.3. Cost: O(nodes^3).
 */
#pragma once

#include "workloads/lower-paddle.h"

typedef struct _NaiveCollector NaiveCollector;

/* Over the @n nodes @running, in order; the collector borrows all pointers. */
NaiveCollector *naive_collector_new (const GememLower *lower, const GememLowerPaddle *params,
                                     const guint32 *running, guint32 n);
void naive_collector_free (NaiveCollector *collector);
/* A step begins: nothing is queued. */
void naive_collector_begin (NaiveCollector *collector);
/* The node of @slot allocates and releases its workspaces (P13, P14). */
void naive_collector_workspaces (NaiveCollector *collector, guint32 slot);
/* Storage @i, of @size bytes, had its last user in the slot that naive_collector_end_node() is
 * about to end. */
void naive_collector_add (NaiveCollector *collector, guint32 i, guint64 size);
void naive_collector_end_node (NaiveCollector *collector, guint32 slot);
/* The step ends. */
void naive_collector_end (NaiveCollector *collector);
/* Slot in which storage @i is freed (n + 1: with its scope), and slot in which a workspace is
 * allocated (GEMEM_NONE: it reuses the memory of another). */
guint32 naive_collector_gone (const NaiveCollector *collector, guint32 i);
guint32 naive_collector_came (const NaiveCollector *collector, guint32 i);

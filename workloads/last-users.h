/* last-users.h - the operators after which PaddlePaddle's graph executors treat a variable as
 * garbage.
 *
 * These are the readers of a storage's last version, or its writer if it has no reader, without
 * those on which another of them depends through data or control edges.  A storage is garbage after
 * all of its last operators.  Streams do not count: these executors run every operator that is
 * ready.
 *
 * Method: a bit for each of 64 storages at a time is propagated backwards along the edges.  Cost:
 * O(nodes + edges), and O(edges between their users) for every 64 storages with several users after
 * the last write.  Origin: paddle.md 5.2, 5.3.
 */
#pragma once

#include "workloads/lower.h"

typedef struct
{
  guint32 storage, node;
} GememLastUser;

/* GArray of GememLastUser, of all storages but workspaces; those of one storage ordered by node. */
GArray *gemem_last_users (const GememLower *lower);

/* last-users.h - after which operators PaddlePaddle's graph executors count a variable down to
 * garbage.
 *
 * These are the users of a storage's last version, or its writer if it has no reader, without those
 * that another of them depends on by data or control edges.  A storage is garbage after all of its
 * last operators.  Streams do not count:
 * these executors run what is ready.
 *
 * Method: a bit for each of 64 storages at a time is carried backwards along the edges.
 * Cost: O(nodes + edges), and O(edges between their users) for every 64 storages with several users
 * after the last write.
 * Origin: paddle.md 5.2, 5.3.
 */
#pragma once

#include "workloads/lower.h"

typedef struct
{
  guint32 storage, node;
} GememLastUser;

/* GArray of GememLastUser, of all storages but workspaces; those of one storage by node. */
GArray *gemem_last_users (const GememLower *lower);

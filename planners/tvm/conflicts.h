/* conflicts.h - how many boxes conflict with a box, and the order by size that TVM's planners begin
 * with.
 *
 * Invariant: two boxes conflict if their columns meet; a box never with itself.
 * Cost: 8 bytes a column; O(1) a box.
 */
#pragma once

#include "base/macros.h"
#include "planners/boxes.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  guint32 *begun; /* boxes that begin before the column */
  guint32 *ended; /* boxes that end at or before it */
} GememTvmConflicts;

GememTvmConflicts *gemem_tvm_conflicts_new (const GememBoxes *boxes);
void gemem_tvm_conflicts_free (GememTvmConflicts *conflicts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememTvmConflicts, gemem_tvm_conflicts_free)

static inline guint32
gemem_tvm_conflicts (const GememTvmConflicts *conflicts, const GememBox *box)
{
  return conflicts->begun[box->last] - conflicts->ended[box->first] - 1;
}

/* Size and conflicts, descending, then id; @conflicts: GememTvmConflicts. */
GememBoxKey gemem_tvm_by_size (const GememBox *box, gpointer conflicts);

GEMEM_END_DECLS

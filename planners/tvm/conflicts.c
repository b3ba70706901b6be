/* conflicts.c - see conflicts.h. */
#include "config.h"

#include "planners/tvm/conflicts.h"

GememTvmConflicts *
gemem_tvm_conflicts_new (const GememBoxes *boxes)
{
  GememTvmConflicts *conflicts = g_new (GememTvmConflicts, 1);

  conflicts->begun = g_new0 (guint32, (gsize) boxes->columns + 2);
  conflicts->ended = g_new0 (guint32, (gsize) boxes->columns + 2);
  for (guint32 i = 0; i < boxes->n; i++)
    {
      conflicts->begun[boxes->boxes[i].first + 1]++;
      conflicts->ended[boxes->boxes[i].last]++;
    }
  for (guint32 c = 1; c <= boxes->columns; c++)
    {
      conflicts->begun[c] += conflicts->begun[c - 1];
      conflicts->ended[c] += conflicts->ended[c - 1];
    }
  return conflicts;
}

void
gemem_tvm_conflicts_free (GememTvmConflicts *conflicts)
{
  if (conflicts == NULL)
    return;
  g_free (conflicts->begun);
  g_free (conflicts->ended);
  g_free (conflicts);
}

GememBoxKey
gemem_tvm_by_size (const GememBox *box, gpointer conflicts)
{
  return (GememBoxKey){ ~(guint64) box->size, ~(guint64) gemem_tvm_conflicts (conflicts, box), 0 };
}

/* segments.c - the segments of the plan, which the run time may map one by one.
 *
 * Top-level blocks are gathered until a segment would reach the limit; groups of continuous memory
 * stay in one segment.
 * Cost: linear in blocks.  Origin: ge-static.md 8.1.
 */
#include "config.h"

#include "planners/ge/ge-private.h"

#define STATIC_LIMIT G_GUINT64_CONSTANT (512)
#define DYNAMIC_LIMIT (200 * GEMEM_MIB)

static guint64
limit_of (const GeModel *model)
{
  if (model->options->segment_limit != 0)
    return model->options->segment_limit;
  return model->dynamic_root ? DYNAMIC_LIMIT : STATIC_LIMIT;
}

/* Adds a segment unless it is empty; that of the graph's inputs and outputs is kept even then. */
static void
add_segment (GememPlan *plan, guint64 base, guint64 end, gboolean fixed, gboolean zero_copy)
{
  const GememPlanSegment segment = { .space = GEMEM_MEMORY_HBM,
                                     .base = base,
                                     .size = end - base,
                                     .fixed = fixed,
                                     .zero_copy = zero_copy };

  if (end > base || zero_copy)
    g_array_append_val (plan->segments, segment);
}

static void
add_feature_map (const GeAssigner *a, GememPlan *plan, guint64 end)
{
  const guint64 limit = limit_of (a->model);
  const GeBlock *start = NULL;
  gboolean in_group = FALSE, fixed = FALSE;

  for (guint i = 0; i < a->blocks->len; i++)
    {
      const GeBlock *block = a->blocks->pdata[i];

      if (block->space != GE_SPACE_HBM || block->child || block->zc)
        continue;
      if (start != NULL && ((block->head - start->head < limit && !block->first) || in_group))
        {
          in_group = in_group && !block->last;
          fixed |= block->fixed;
          continue;
        }
      if (start != NULL)
        add_segment (plan, start->head, block->head, fixed, FALSE);
      start = block;
      fixed = block->fixed;
      in_group = block->first && !block->last;
    }
  if (start != NULL)
    add_segment (plan, start->head, end, fixed, FALSE);
}

void
gemem_ge_segments (const GeAssigner *a, GememPlan *plan, guint64 feature_map, guint64 cleared)
{
  const guint64 total = a->counters[GE_SPACE_HBM];

  add_feature_map (a, plan, feature_map);
  add_segment (plan, feature_map, cleared, FALSE, FALSE);
  if (total <= limit_of (a->model))
    {
      gboolean fixed = FALSE;

      for (guint i = 0; i < plan->segments->len; i++)
        fixed |= g_array_index (plan->segments, GememPlanSegment, i).fixed;
      g_array_set_size (plan->segments, 0);
      add_segment (plan, 0, cleared, fixed, FALSE);
    }
  add_segment (plan, cleared, total, FALSE, TRUE);
}

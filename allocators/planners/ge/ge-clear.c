/* ge-clear.c - memory that must be zero before an operator runs (ge-static.md 6); see the end of ge-block.h. */
#include "config.h"

#include "allocators/planners/ge/ge-block.h"

gboolean
ge_clear_is_central (G_GNUC_UNUSED GeAssigner *a, G_GNUC_UNUSED const GeRequest *request)
{
  return FALSE;
}

gboolean
ge_clear_is_central_workspace (G_GNUC_UNUSED const GeModel *model, G_GNUC_UNUSED guint32 node, G_GNUC_UNUSED guint32 workspace)
{
  return FALSE;
}

void
ge_clear_place (G_GNUC_UNUSED GeAssigner *a)
{
}

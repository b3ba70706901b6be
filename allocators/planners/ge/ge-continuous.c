/* ge-continuous.c - continuous memory in the GE assigners (ge-static.md 5); see the end of ge-block.h. */
#include "config.h"

#include "allocators/planners/ge/ge-block.h"

GeContinuous *
ge_continuous_new (G_GNUC_UNUSED const GeModel *model)
{
  return NULL;
}

void
ge_continuous_free (G_GNUC_UNUSED GeContinuous *continuous)
{
}

gboolean
ge_continuous_chain (G_GNUC_UNUSED GeAssigner *a, G_GNUC_UNUSED GeRequest *request)
{
  return FALSE;
}

void
ge_continuous_role (G_GNUC_UNUSED GeAssigner *a, G_GNUC_UNUSED GeRequest *request)
{
}

gboolean
ge_continuous_not_needed (G_GNUC_UNUSED GeAssigner *a, G_GNUC_UNUSED const GeRequest *request)
{
  return FALSE;
}

gboolean
ge_continuous_output (G_GNUC_UNUSED GeAssigner *a, G_GNUC_UNUSED GeRequest *request)
{
  return FALSE;
}

void
ge_continuous_record (G_GNUC_UNUSED GeAssigner *a, G_GNUC_UNUSED const GeRequest *request, G_GNUC_UNUSED GeBlock *block)
{
}

gboolean
ge_continuous_end (G_GNUC_UNUSED GeAssigner *a, G_GNUC_UNUSED GeRequest *request, G_GNUC_UNUSED guint32 *end)
{
  return FALSE;
}

guint64
ge_continuous_total (G_GNUC_UNUSED GeAssigner *a, const GeRequest *request)
{
  return request->size;
}

void
ge_continuous_to_tail (G_GNUC_UNUSED GeAssigner *a)
{
}

void
ge_continuous_chain_offsets (G_GNUC_UNUSED GeAssigner *a)
{
}

/* clear.h - memory that one memset at the head of the graph clears (ge-static.md 6.1, 6.2). */
#pragma once

#include "planners/ge/state.h"

enum /* GeAssigner.cleared */
{
  GE_CLEARED_WANTED = 1, /* gemem_ge_clear_place() must place it */
  GE_CLEARED_PLACED,
};

/* 6.1: TRUE if it gets no block; gemem_ge_clear_place() assigns its offset. */
gboolean gemem_ge_clear_is_central (GeAssigner *assigner, const GeRequest *request);
gboolean gemem_ge_clear_is_central_workspace (const GeModel *model, guint32 node,
                                              guint32 workspace);
/* 6.2: after the feature map and the buffer pools. */
void gemem_ge_clear_place (GeAssigner *assigner);

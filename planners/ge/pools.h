/* pools.h - free blocks that wait for another occupant (ge-static.md 2.5). */
#pragma once

#include "planners/ge/state.h"

/* Adds @block, whose last occupant has left, unless it can never be taken. */
void gemem_ge_pools_push (GeAssigner *assigner, GeBlock *block);
/* Removes and returns a block of @size bytes on @stream that suits @request; NULL: none.  @data,
 * @central: attributes of the new occupant (6.5). */
GeBlock *gemem_ge_pools_take (GeAssigner *assigner, const GeRequest *request, guint64 size,
                              gint32 stream, gboolean data, gboolean central);
void gemem_ge_pools_free (GePools *pools);

/* apply.h - a block for an output or a workspace (ge-static.md 2.5). */
#pragma once

#include "planners/ge/state.h"

/* Returns a pooled or new block for the @size bytes of @request (`real` of 2.5); never NULL.  @zc:
 * zero-copy (7.1).  May lower request->begin and set request->end_request. */
GeBlock *gemem_ge_apply (GeAssigner *assigner, GeRequest *request, guint64 size, gboolean zc);
/* Appends @request to the occupants of @block; @flags: GE_OCCUPANT_*. */
void gemem_ge_add_occupant (GeAssigner *assigner, GeBlock *block, const GeRequest *request,
                            gint32 stream, guint64 real, guint8 flags);
/* The size of a block for @size bytes (1.2, 3.2). */
guint64 gemem_ge_block_size (const GeAssigner *assigner, guint64 size);

/* release.h - consumers leave their blocks (ge-static.md 2.7). */
#pragma once

#include "planners/ge/state.h"

/* A consumer on @consumer_stream leaves @block.  After the last one the block's end is known and it
 * enters its pool.  @no_release: the block is never reused. */
void gemem_ge_release (GeAssigner *assigner, GeBlock *block, gint32 consumer_stream,
                       gboolean no_release);

/* release.h - consumers leave their blocks (ge-static.md 2.7). */
#pragma once

#include "planners/ge/state.h"

/* A consumer on @consumer_stream leaves @block; after the last one the end of its life is known and
 * it goes to its pool.  @no_release: it is never reused. */
void ge_release (GeAssigner *assigner, GeBlock *block, gint32 consumer_stream, gboolean no_release);

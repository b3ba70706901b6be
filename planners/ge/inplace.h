/* inplace.h - which outputs may be written over an input of their node (ge-static.md 8.3). */
#pragma once

#include "planners/ge/model.h"

typedef struct
{
  guint32 tensor, input; /* an output, and an input index of its node */
} GeInplacePair;

/* TRUE if any node declares such outputs. */
gboolean gemem_ge_inplace_is_declared (const GeModel *model);
/* Appends the usable pairs to @pairs, by node id.  @classes: per anchor, its alias class,
 * represented by any of its anchors; @streams: effective streams, not normalised. */
void gemem_ge_inplace_pairs (const GeModel *model, const gint64 *streams, const guint32 *classes,
                             GArray *pairs);

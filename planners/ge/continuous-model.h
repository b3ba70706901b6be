/* continuous-model.h - properties of continuous and cleared memory, found before planning. */
#pragma once

#include "planners/ge/model.h"

/* Fills takes_nopadding and takes_padded (5), cascade (2.8), central_out (6.5). */
void gemem_ge_model_fill_continuous (GeModel *model);

/* 5: depth-first search from consumer @consumer (in edge order) of @tensor through references for
 * an input of a node with the predicate (GE_NOPADDING_IN or GE_PADDED_IN); FALSE: none.  O(1). */
gboolean gemem_ge_find_continuous (const GeModel *model, guint32 tensor, guint32 consumer,
                                   guint32 predicate, guint32 *node, guint32 *input);

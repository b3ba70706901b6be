/* streams.h - the effective stream of every node (ge-static.md 1.3, 1.4, 7.6). */
#pragma once

#include "planners/ge/model.h"

/* Effective stream ids per node, not normalised (1.3); g_free(). */
gint64 *gemem_ge_model_effective_streams (const GeModel *model);
/* Normalises @ids (1.4) and fills streams, nodes[].stream, GE_DIFF_PRIOR, GE_MERGE_TAINTED and
 * output_stream (7.6).  Errors: GEMEM_ERROR_INPUT: more than GE_STREAMS_MAX streams. */
gboolean gemem_ge_model_fill_streams (GeModel *model, gint64 *ids, GError **error);

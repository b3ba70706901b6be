/* continuous.h - between the files of continuous memory: continuous.c (sides, ends, groups),
 * padded-outputs.c, and chains.c (outputs that flow side by side into inputs side by side). */
#pragma once

#include "planners/ge/block.h"

typedef struct _GeChains GeChains;

/* NULL if the graph has none (5.5). */
GeChains *ge_chains_new (const GeModel *model);
void ge_chains_free (GeChains *chains);
/* The output belongs to a chain: its first output allocates all, the others nothing.  FALSE: it
 * does not belong to one. */
gboolean ge_chains_allocate (GeAssigner *assigner, GeChains *chains, GeRequest *request);
/* After placement: every member at the head of its chain plus what comes before it. */
void ge_chains_place (GeAssigner *assigner, const GeChains *chains);

/* A block for outputs that lie side by side, @request->size bytes in all, allocated by the output
 * of @request; never zero-copy. */
GeBlock *ge_continuous_allocate (GeAssigner *assigner, GeRequest *request);
/* How many streams are set in the words of @streams. */
guint32 ge_count_streams (const GeModel *model, const guint64 *streams);

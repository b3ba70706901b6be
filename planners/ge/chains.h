/* chains.h - outputs that lie side by side and flow into inputs side by side (ge-static.md 5.5). */
#pragma once

#include "planners/ge/state.h"

typedef struct _GeChains GeChains;

/* NULL if the graph has none. */
GeChains *ge_chains_new (const GeModel *model);
void ge_chains_free (GeChains *chains);
/* The output belongs to a chain: its first output allocates all, the others nothing.  FALSE: it
 * does not belong to one. */
gboolean ge_chains_allocate (GeAssigner *assigner, GeChains *chains, GeRequest *request);
/* After placement: every member at the head of its chain plus what comes before it. */
void ge_chains_place (GeAssigner *assigner, const GeChains *chains);

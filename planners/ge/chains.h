/* chains.h - outputs that lie side by side and flow into inputs side by side (ge-static.md 5.5). */
#pragma once

#include "planners/ge/state.h"

typedef struct _GeChains GeChains;

/* NULL if the graph has none. */
GeChains *gemem_ge_chains_new (const GeModel *model);
void gemem_ge_chains_free (GeChains *chains);
/* FALSE: the output belongs to no chain.  TRUE: the first output of its chain has allocated memory
 * for all, any other output nothing. */
gboolean gemem_ge_chains_allocate (GeAssigner *assigner, GeChains *chains, GeRequest *request);
/* After placement: places every member at the head of its chain plus the sizes before it. */
void gemem_ge_chains_place (GeAssigner *assigner, const GeChains *chains);

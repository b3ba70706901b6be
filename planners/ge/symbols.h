/* symbols.h - alias classes: anchors that must share one address (ge-static.md 1.6). */
#pragma once

#include "planners/ge/model.h"

/* Fills is_reference, referenced_input, origin, symbols (members and names), members, symbol_of,
 * including in-place pairs (8.3).  @streams: effective, not normalised. */
void gemem_ge_model_fill_symbols (GeModel *model, const gint64 *streams);

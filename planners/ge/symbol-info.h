/* symbol-info.h - size, memory type and flags of symbols (ge-static.md 1.2, 2.2). */
#pragma once

#include "planners/ge/model.h"

/* Fills size, type and flags of the symbols, and multi_same_out. */
void gemem_ge_model_fill_symbol_info (GeModel *model);

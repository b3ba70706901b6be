/* zero-copy.h - which tensors the caller may supply at run time (ge-static.md 7.1, 7.4). */
#pragma once

#include "planners/ge/model.h"

/* 7.1.  @continuous: the output is part of continuous memory; @noalign: its bytes without padding,
 * for ByGE. */
gboolean gemem_ge_is_zero_copy (const GeModel *model, guint32 node, guint32 output,
                                gboolean continuous, guint64 noalign);
/* 7.4: TRUE if every node of the symbol of @tensor accepts changing addresses. */
gboolean gemem_ge_symbol_refreshable (const GeModel *model, guint32 tensor);

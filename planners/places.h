/* places.h - whether the places that items have to have agree, and whether what is in use fits into a capacity:
 * said with the items that conflict, before anything is searched.
 */
#pragma once

#include "base/lifetimes.h"

GEMEM_BEGIN_DECLS

/* FALSE if a place is no multiple of the item's alignment, or two items with places share bytes while both are in
 * use.  Errors: GEMEM_ERROR_INPUT, which names them.  O(n log n). */
gboolean gemem_lifetimes_check_places (const GememLifetimes *lifetimes, GError **error);

/* FALSE if, by the largest load or a place, items need more than @capacity bytes; the items are those of @space.
 * Errors: GEMEM_ERROR_FAILED, which names the largest of them.  O(n log n). */
gboolean gemem_lifetimes_check_capacity (const GememLifetimes *lifetimes, guint32 space,
                                         guint64 alignment, guint64 capacity, GError **error);

GEMEM_END_DECLS

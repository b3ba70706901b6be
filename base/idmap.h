/* idmap.h - open-addressing map from a 64-bit id (or address) to a fixed-size record, for the event
 * path.
 *
 * Why not GHashTable: one cache line per lookup, no allocation per entry, no pointer-keyed order.
 * Memory follows the number of live entries (it grows, and shrinks with some delay), not the number
 * ever inserted.
 * Iteration order never affects a decision or an output; a caller that needs an order sorts.
 *
 * Invariants: any 64-bit key is allowed; records are copied by value and move when the map changes,
 * so a pointer from lookup or insert is valid until the next insert or remove.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct _GememIdMap GememIdMap;

/* @record_size: bytes per record, a multiple of 8 (0: a set). */
GememIdMap *gemem_idmap_new (gsize record_size);
/* Frees @map (may be NULL) with its records. */
void gemem_idmap_free (GememIdMap *map);
/* Number of entries.  O(1). */
guint64 gemem_idmap_count (const GememIdMap *map);
/* The record of @key, or NULL.  O(1). */
gpointer gemem_idmap_lookup (const GememIdMap *map, guint64 key);
/* The record of @key, with *@existed = TRUE; a new @key gets a zeroed record and *@existed = FALSE.
 * @existed may be NULL.  Amortised O(1). */
gpointer gemem_idmap_insert (GememIdMap *map, guint64 key, gboolean *existed);
/* Removes @key and copies its record to @record unless NULL; FALSE if @key was absent. */
gboolean gemem_idmap_remove (GememIdMap *map, guint64 key, gpointer record);
/* Removes all entries. */
void gemem_idmap_clear (GememIdMap *map);
/* Prefetches the slot of @key, for loops that know later keys in advance. */
void gemem_idmap_prefetch (const GememIdMap *map, guint64 key);
/* Visits all entries: *@position starts at 0; FALSE at the end.  No insert or remove between. */
gboolean gemem_idmap_next (const GememIdMap *map, gsize *position, guint64 *key, gpointer *record);

GEMEM_END_DECLS

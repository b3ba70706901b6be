/* idset.h - a set of 64-bit ids that are mostly dense: one bit per id, in words found through an
 * idmap.
 *
 * For ids that must be kept until the end (recorded stream events); a record per id would make
 * memory grow with the length of a trace.
 * Cost: one lookup; 16 bytes for 64 consecutive ids.
 */
#pragma once

#include "base/idmap.h"

typedef struct
{
  GememIdMap *words; /* id / 64 -> guint64 */
} GememIdSet;

static inline void
gemem_idset_init (GememIdSet *set)
{
  set->words = gemem_idmap_new (sizeof (guint64));
}

static inline void
gemem_idset_clear (GememIdSet *set)
{
  gemem_idmap_free (set->words);
}

static inline void
gemem_idset_add (GememIdSet *set, guint64 id)
{
  *(guint64 *) gemem_idmap_insert (set->words, id / 64, NULL) |= G_GUINT64_CONSTANT (1) << id % 64;
}

static inline gboolean
gemem_idset_contains (const GememIdSet *set, guint64 id)
{
  const guint64 *word = gemem_idmap_lookup (set->words, id / 64);

  return word != NULL && (*word >> id % 64 & 1) != 0;
}

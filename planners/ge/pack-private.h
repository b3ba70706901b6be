/* pack-private.h - the parts of level 2 (ge-static.md 4.1): what happens between two blocks
 * (pack-pair.c), and the order of B (pack-sort.c); pack.c is the loop over pairs. */
#pragma once

#include "planners/ge/state.h"

typedef struct _GeSortKey GeSortKey;

typedef struct
{
  GeAssigner *a;
  GPtrArray *clones; /* of the pair being packed, in order */
  GByteArray *moved; /* scratch: which occupants are split off */
  GeSortKey *keys;   /* scratch of ge_pack_sort(), two halves */
  guint n_keys;      /* in a half */
} GePacker;

/* pack(p, c) of 4.1 at depth 0; clones are appended to packer->clones. */
void ge_pack_pair (GePacker *packer, GeBlock *p, GeBlock *c);

/* Sorts B from position @first on. */
void ge_pack_sort (GePacker *packer, guint first);

/* Bytes that one more child may have somewhere in @block or its children, at most. */
guint64 ge_pack_max_child (GeBlock *block);

/* begin, end and traits of @block, to be called when its occupants changed. */
void ge_pack_refresh (const GeModel *model, GeBlock *block);

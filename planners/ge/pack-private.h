/* pack-private.h - shared by the parts of level 2 (ge-static.md 4.1): pack.c loops over pairs of
 * blocks, pack-pair.c packs one pair, pack-sort.c orders B. */
#pragma once

#include "planners/ge/state.h"

typedef struct _GeSortKey GeSortKey;

typedef struct
{
  GeAssigner *a;
  GPtrArray *clones; /* of the pair being packed, in order */
  GByteArray *moved; /* scratch: which occupants move to the clone */
  GeSortKey *keys;   /* scratch of gemem_ge_pack_sort(), two halves */
  guint n_keys;      /* per half */
} GePacker;

/* pack(p, c) of 4.1 at depth 0; clones are appended to packer->clones. */
void gemem_ge_pack_pair (GePacker *packer, GeBlock *p, GeBlock *c);

/* Sorts B from position @first on. */
void gemem_ge_pack_sort (GePacker *packer, guint first);

/* Upper limit in bytes of a further child in @block or below. */
guint64 gemem_ge_pack_max_child (GeBlock *block);

/* Updates begin, end and traits of @block after its occupants changed. */
void gemem_ge_pack_refresh (const GeModel *model, GeBlock *block);

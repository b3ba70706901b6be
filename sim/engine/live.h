/* live.h - the engine's record of each live id, and the walks over all of them.
 *
 * One 64-byte record per id, from its ALLOC to its FREE or FREE_COMPLETED, in a hash table with
 * chains.  Every event looks one id up and then reads its record, so the key is in the record, and
 * the table holds pointers alone: eight share a cache line, and a removal moves nothing
 * (base/idmap.h, which has to close gaps, took twice the time here).  The slot is taken from the
 * top bits of id * 2^64/phi, which spread dense ids, that readers assign, and addresses evenly.
 * Free records are reused last in, first out.  Ids can be chosen so that all take one slot: a table
 * with a long chain is spread anew by another multiplier.  The walks are off the event path and
 * cost O(n log n) in the number of live blocks.
 *
 * Invariants: at most a quarter as many records as slots; after as many removals as slots that left
 * fewer than a 32nd the table is halved, so that memory follows the number of live ids, and a table
 * that was large once does not stay cold.
 */
#pragma once

#include "base/slab.h"
#include "base/spread.h"
#include "sim/engine/accounts.h"

enum
{
  GEMEM_LIVE_UNSERVED = 1 << 0,  /* the request failed or was of 0 bytes: there is no block */
  GEMEM_LIVE_REQUESTED = 1 << 1, /* its free was requested; the completion is still to come */
  /* REQUESTED, and the allocator has no complete(), so it freed the block at the request; or the
   * record is unused */
  GEMEM_LIVE_GONE = 1 << 2,
  GEMEM_LIVE_HOST = 1 << 3, /* the block is host memory, which the device's accounting excludes */
  GEMEM_LIVE_ASLEEP =
      1 << 4, /* the block's memory sleeps, and is in no account meanwhile (sleep.c) */
};

typedef struct _GememLive GememLive;
struct _GememLive
{
  GememBlock block;
  union
  {
    guint64 requested;
    GememLive *next; /* of the unused records */
  };
  guint32 stream; /* index of the account */
  guint32 flags;
  guint64 id;
  GememLive *chained; /* the next one of this slot */
};

typedef struct
{
  GememLive **slots;
  GememSpread spread;
  guint shift;               /* 64 - log2 of their number */
  gsize count, grow, shrink; /* records; from, and below, which the number of slots is looked at */
  gsize calm;                /* removals that left fewer than `shrink` */
  GememLive *unused;
  GememSlab slab;
} GememLiveTable;

void gemem_live_init (GememLiveTable *table);
void gemem_live_clear (GememLiveTable *table); /* frees everything */
/* What is left of add and take: private. */
void gemem_live_grow (GememLiveTable *table);
void gemem_live_calm (GememLiveTable *table);
void gemem_live_spread (GememLiveTable *table);
/* The first record after @live in no order, NULL: the first; NULL at the end.  Nothing may be added
 * or taken between. */
const GememLive *gemem_live_next (const GememLiveTable *table, const GememLive *live);

#define GEMEM_LIVE_CHAIN 32 /* records that a chain does not reach by chance */

/* The first pointer of the chain in which @id would be. */
static inline GememLive **
gemem_live_slot (const GememLiveTable *table, guint64 id)
{
  return &table->slots[(id * table->spread.multiplier) >> table->shift];
}

/* The pointer to the record of @id, or the NULL at the end of its chain. */
static inline GememLive **
gemem_live_place (const GememLiveTable *table, guint64 id)
{
  GememLive **place = gemem_live_slot (table, id);

  while (*place != NULL && (*place)->id != id)
    place = &(*place)->chained;
  return place;
}

/* Makes @live the first record of @slot. */
static inline void
gemem_live_chain (GememLiveTable *table, GememLive **slot, GememLive *live)
{
  live->chained = *slot;
  *slot = live;
  table->count++;
}

/* Adds @live, the id of which is not in the table. */
static inline void
gemem_live_put (GememLiveTable *table, GememLive *live)
{
  if (G_UNLIKELY (table->count >= table->grow))
    gemem_live_grow (table);
  gemem_live_chain (table, gemem_live_slot (table, live->id), live);
}

/* The record of @id: a new one with no flags set, or the old one and *existed = TRUE. */
static inline GememLive *
gemem_live_add (GememLiveTable *table, guint64 id, gboolean *existed)
{
  GememLive **slot, *live;
  guint before = 0; /* in its chain */

  if (G_UNLIKELY (table->count >= table->grow))
    gemem_live_grow (table);
  slot = gemem_live_slot (table, id);
  for (live = *slot; live != NULL && live->id != id; live = live->chained)
    before++;
  *existed = live != NULL;
  if (G_UNLIKELY (live != NULL))
    return live;
  live = table->unused;
  if (G_LIKELY (live != NULL))
    table->unused = live->next;
  else
    live = gemem_slab_alloc (&table->slab);
  live->flags = 0;
  live->id = id;
  if (G_UNLIKELY (before > GEMEM_LIVE_CHAIN))
    {
      gemem_live_spread (table);
      slot = gemem_live_slot (table, id);
    }
  gemem_live_chain (table, slot, live);
  return live;
}

/* The record of @id or NULL. */
static inline GememLive *
gemem_live_find (const GememLiveTable *table, guint64 id)
{
  return *gemem_live_place (table, id);
}

/* Removes @id; NULL: it was not there.  The caller frees the record with gemem_live_recycle(). */
static inline GememLive *
gemem_live_take (GememLiveTable *table, guint64 id)
{
  GememLive **place = gemem_live_place (table, id), *live = *place;

  if (G_UNLIKELY (live == NULL))
    return NULL;
  *place = live->chained;
  if (G_UNLIKELY (--table->count < table->shrink))
    gemem_live_calm (table);
  return live;
}

static inline void
gemem_live_recycle (GememLiveTable *table, GememLive *live)
{
  live->flags = GEMEM_LIVE_GONE;
  live->next = table->unused;
  table->unused = live;
}

/* A live block, for walks. */
typedef struct
{
  guint64 address, id;
  const GememLive *live;
} GememLiveRow;

/* All ids that hold a block, ascending by address (@by_id: by id); valid until the table
 * changes. */
GArray *gemem_live_rows (const GememLiveTable *table, gboolean by_id);

/* The same in place of what @rows holds. */
void gemem_live_rows_into (GArray *rows, const GememLiveTable *table, gboolean by_id);

/* How many these are. */
guint gemem_live_count (const GememLiveTable *table);

/* The first of @rows, which are by address, that is not below @address; NULL: none. */
const GememLiveRow *gemem_live_row_from (const GArray *rows, guint64 address);

/* Every span of @allocator: GArray of GememSpan. */
GArray *gemem_spans_of (GememAllocator *allocator);

/* The same in place of what @spans holds. */
void gemem_spans_into (GArray *spans, GememAllocator *allocator);

/* The address of the block of @span as the program sees it. */
static inline guint64
gemem_span_user (const GememSpan *span)
{
  return span->user != 0 ? span->user : span->address;
}

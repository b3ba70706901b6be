/* live.h - the engine's record of each live id, and the walks over all of them.
 *
 * One 48-byte record per id, from its ALLOC to its FREE or FREE_COMPLETED.  The idmap holds
 * pointers, so that its table is small and four entries share a cache line; free records are reused
 * last in, first out.  The walks are off the event path and cost O(n log n) in the number of live
 * blocks.
 */
#pragma once

#include "base/idmap.h"
#include "base/slab.h"
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
};

typedef struct
{
  GememIdMap *map; /* id -> GememLive* */
  GememLive *unused;
  GememSlab slab;
} GememLiveTable;

void gemem_live_init (GememLiveTable *table);
void gemem_live_clear (GememLiveTable *table); /* frees everything */

/* The record of @id: a new one with no flags set, or the old one and *existed = TRUE. */
static inline GememLive *
gemem_live_add (GememLiveTable *table, guint64 id, gboolean *existed)
{
  GememLive **place = gemem_idmap_insert (table->map, id, existed);
  GememLive *live = table->unused;

  if (G_UNLIKELY (*existed))
    return *place;
  if (G_LIKELY (live != NULL))
    table->unused = live->next;
  else
    live = gemem_slab_alloc (&table->slab);
  live->flags = 0;
  live->id = id;
  return *place = live;
}

/* The record of @id or NULL. */
static inline GememLive *
gemem_live_find (const GememLiveTable *table, guint64 id)
{
  GememLive **place = gemem_idmap_lookup (table->map, id);
  return place != NULL ? *place : NULL;
}

/* Removes @id; NULL: it was not there.  The caller frees the record with gemem_live_recycle(). */
static inline GememLive *
gemem_live_take (GememLiveTable *table, guint64 id)
{
  GememLive *live;
  return G_LIKELY (gemem_idmap_remove (table->map, id, &live)) ? live : NULL;
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

/* Every span of @allocator: GArray of GememSpan. */
GArray *gemem_spans_of (GememAllocator *allocator);

/* The address of the block of @span as the program sees it. */
static inline guint64
gemem_span_user (const GememSpan *span)
{
  return span->user != 0 ? span->user : span->address;
}

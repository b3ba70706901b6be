/* live.h - what the engine keeps of each id that is alive, and the walks that need all of them: checks, audit, segment map.
 *
 * One 40-byte record per id in an idmap, from its ALLOC to its FREE or FREE_COMPLETED.  Everything below the record is off the
 * event path and costs O(n log n) in the number of live blocks.
 */
#pragma once

#include "sim/core/idmap.h"
#include "sim/engine/accounts.h"

enum
{
  GEMEM_LIVE_UNSERVED = 1 << 0,  /* the request failed or was of 0 bytes: there is no block                        */
  GEMEM_LIVE_REQUESTED = 1 << 1, /* the program let go; a completion is to come                                    */
  GEMEM_LIVE_GONE = 1 << 2,      /* thereof: the allocator has no complete(), the block went back at the request   */
};

typedef struct
{
  GememBlock block;
  guint64    requested;
  guint32    stream; /* index of the account */
  guint32    flags;
} GememLive;

/* A live block, for walks. */
typedef struct
{
  guint64 address, id;
  const GememLive *live;
} GememLiveRow;

/* All ids that hold a block, ascending by address (@by_id: by id); valid until the map changes. */
GArray *gemem_live_rows (const GememIdMap *map, gboolean by_id);

/* Every span of @allocator: GArray of GememSpan. */
GArray *gemem_spans_of (GememAllocator *allocator);

/* walk() and check() of the allocator against the books; GEMEM_ERROR_INVARIANT. */
gboolean gemem_verify (GememAllocator *allocator, const GememIdMap *map, const GememAccounts *accounts, GError **error);

/* Fills @spans (GememMapSpan) with what lies where now. */
void gemem_map_take (GememAllocator *allocator, const GememIdMap *map, GArray *spans);

/* active-blocks.h - GE's ActiveMemoryAllocator as it is built: the static graphs of a session share
 * blocks.
 *
 * What: the segments of a graph are placed in the existing blocks, largest into largest, as if
 * these were empty, since graphs of a session do not run at once.  What does not fit gets new
 * blocks. Nothing is returned before the last graph is unloaded; under policy 4 not even then what
 * is no part of the session's range.
 * Threads: load, unload, bind and unbind lock the device (recursively, as in the real system).
 * Invariants: `blocks` descend by size, equal ones, up to 16, in order of age; used <= total.
 * Cost: O(blocks * segments) per load.
 * Origin: ge-runtime.md 3.
 */
#pragma once

#include "allocators/ge/session-range.h"

typedef struct
{
  guint64 address, total;
  guint64 used;   /* by the latest load */
  gboolean fresh; /* made by the latest load */
  gboolean plain; /* of the device, not of the session's range */
} GeActiveBlock;

/* A segment of the latest load, or several that were merged. */
typedef struct
{
  guint64 offset, size;
  guint64 address; /* 0: none yet */
  guint32 flags;   /* GEMEM_GRAPH_SEGMENT_* */
} GeActiveSegment;

/* What a graph uses of a block, from its beginning. */
typedef struct
{
  guint64 address, used;
  gboolean plain;
} GeActivePiece;

typedef struct
{
  GememDevice *device;
  GeSessionRange *range; /* policy 4; NULL: policy 2 */
  GArray *blocks;        /* GeActiveBlock */
  GArray *segments;      /* GeActiveSegment: of the latest load */
  GArray *active;        /* GeActivePiece: of the latest load */
  GArray *leaked;        /* GeActiveBlock: plain blocks of policy 4, never freed */
  guint64 load_count, peak, max_address;
} GeActive;

void gemem_ge_active_init (GeActive *active, GememDevice *device, GeSessionRange *range);
void gemem_ge_active_clear (GeActive *active);

/* MallocMemory: where the graph begins, set to 0 on @stream; 0: the device refused, and the graph
 * is not loaded.  Pages of the session's range are bound as far as they can be: that some are
 * refused is no failure (3.3), the graph then has no memory there. */
guint64 gemem_ge_active_load (GeActive *active, const GememGraphSegment *segments, guint n,
                              guint64 stream);
/* FreeMemory: that of the last graph returns everything.  It ends no binding, so that pages which
 * are still bound are lost (5.9). */
void gemem_ge_active_unload (GeActive *active);

/* Binds pages to the pieces of a graph before a run, and unbinds them after it; without a range
 * nothing happens.  FALSE: refused; then all of @pieces were unbound, also those that had not been
 * reached, which takes pages of other graphs away (3.3). */
gboolean gemem_ge_active_bind (GeActive *active, const GArray *pieces);
void gemem_ge_active_unbind (GeActive *active, const GArray *pieces);

/* Bytes of the blocks that are plain device allocations. */
guint64 gemem_ge_active_plain (const GeActive *active);

/* streams.h - GE's level-2 pools: one for each stream of a model, over one L1 pool, and blocks that
 * several streams share.
 *
 * See streams.c for the rules; this is what the streams*.c files share.
 * Invariants: every root block of an L2 pool is a live block of the L1 pool; an occupied span of an
 * L2 pool is the block of a wrapper (`user`) that is not SPARE; a PENDING block has no holder and
 * no row of zeros; entries of a local list ascend by `seq`.
 * Memory: 24 bytes for each entry of a local list.  Entries whose block was recycled, or that were
 * sent to all streams, are removed once they may be half of the list.  An event is 112 bytes until
 * it, or the device, was waited for.
 */
#pragma once

#include "allocators/ge/borrow.h"
#include "allocators/ge/stack.h"

typedef struct
{
  GeStackParams stack;
  int streams; /* GE_STREAMS_* */
  guint64 max_runtime_core_number, enable_dynamic_shape_multi_stream;
} GeStreamsParams;

enum
{
  GE_STREAMS_MULTI,
  GE_STREAMS_SINGLE,
};

/* {version, block} of 2.4.  The mask of destinations follows from the place of `seq` among the
 * marks in `sent`. */
typedef struct
{
  GeStreamBlock *block;
  guint64 version;
  guint64 seq;
} GeLocalEntry;

/* Blocks on which a stream has ended its last hold, as long as others do not know. */
typedef struct
{
  GArray *entries;              /* GeLocalEntry */
  guint64 next;                 /* seq of the entry to come */
  guint64 dropped;              /* entries before it had been sent to all other streams */
  guint kept;                   /* entries that the last sweep left */
  guint64 sent[GE_STREAMS_MAX]; /* entries before it were sent to that stream */
} GeLocalList;

typedef struct
{
  GeL1 l2; /* first: the walk asks a pool for its stream; not used with GE_STREAMS_SINGLE */
  GeSpanPool *pool; /* of l2, or the L1 pool */
  guint number;     /* the logical stream: streams count in the order of their first appearance */
  GeLocalList local;
  GeBorrowPool borrow;
} GeStream;

typedef struct _GeAttached GeAttached;
typedef struct _GeEvent GeEvent; /* streams-events.c */

typedef struct
{
  GeStack stack; /* first */
  gboolean single;
  gboolean walks; /* memory that L1 lacks is recycled from all L2 pools */
  GeL1 *l1;       /* or NULL, before the first request */
  GeStream *streams[GE_STREAMS_MAX];
  guint n_streams;
  GememIdMap *by_handle; /* stream -> GeStream * */
  GeStream *last;        /* of the latest request */
  guint64 last_handle;
  GememSlab blocks, wide, attached, event_slab;
  GeStreamBlock *spare;              /* wrappers, the latest first */
  GememIdMap *events;                /* event -> GeEvent * */
  GeEvent *first_event, *last_event; /* in the order of their records */
  guint64 stamp;                     /* of the latest borrow recycle */
  guint64 borrowed_bytes, pending_bytes;
  guint64 birth_recycles, local_recycles, borrow_recycles, borrows;
} GeStreams;

/* streams-recycle.c.  Birth recycle; @block is in no event. */
void gemem_ge_streams_birth_recycle (GeStreams *self, GeStreamBlock *block);
/* Birth or borrow recycle: @stream knows that no stream holds @block. */
void gemem_ge_streams_recycle (GeStreams *self, GeStreamBlock *block, guint stream);
/* The logical stream of @handle, or NULL. */
GeStream *gemem_ge_streams_find (const GeStreams *self, guint64 handle);

/* streams-events.c */
void gemem_ge_streams_events_init (GeStreams *self);
void gemem_ge_streams_events_clear (GeStreams *self);
/* Local recycle. */
void gemem_ge_streams_local_recycle (GeStreams *self, GeStream *stream, GeStreamBlock *block);
/* SendEvents on @from; @to NULL: for whoever waits. */
void gemem_ge_streams_send (GeStreams *self, guint64 id, GeStream *from, GeStream *to);
/* WaitEvents on @on. */
void gemem_ge_streams_wait (GeStreams *self, guint64 id, GeStream *on);
/* LastWaitEvents. */
void gemem_ge_streams_last_wait (GeStreams *self);

/* streams-report.c: members of the class. */
void gemem_ge_streams_describe (const GeSpan *span, GememSpan *out);
guint64 gemem_ge_streams_largest_free (GememAllocator *allocator, guint64 stream);
gboolean gemem_ge_streams_check (GememAllocator *allocator, GError **error);
void gemem_ge_streams_stats (GememAllocator *allocator, GememStatFunc func, gpointer data);

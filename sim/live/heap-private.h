/* heap-private.h - a heap, as its files see it: heap.c, pools.c, heap-report.c,
 * heap-events.c. */
#pragma once

#include "sim/engine/run.h"
#include "sim/live/heap.h"
#include "sim/live/waiting.h"

/* A live block, by address. */
typedef struct
{
  guint64 id, stream;
  guint64 *users; /* other streams that used it */
  guint32 n_users;
  guint32 pool;
} GememHeapBlock;

struct _GememHeap
{
  GememRun *run;
  GememJob job;
  GPtrArray *specs;
  char *device;
  guint64 (*clock) (void);
  guint64 start, now; /* of the clock; ns since the start, of the event in work */
  guint64 last_id, last_stream;
  GememIdMap *streams; /* handle of the program -> number */
  GememIdMap *blocks;  /* address -> GememHeapBlock */
  GememWaiting waiting;
  GememRecording *recording;
  GememDeviceObserver watch;
  void (*name_stream) (GememDevice *device, guint64 stream, guint64 handle);

  /* pools.c */
  guint pools_open;  /* begun and not ended: the program may be capturing */
  GememIdMap *pools; /* pool -> how often it was begun and not released */
  GArray *kept;      /* GememHeapBlock, freed: until their pool is released, or no pool is open */
};

/* GememDeviceObserverFunc, of the heap @data: what the allocator obtains and returns while it serves an
 * event comes before that event in the recording. */
void gemem_heap_note_call (gpointer data, const GememDeviceNote *note);
/* One event to the engine, then to the recording, with what the allocator decided. */
gboolean gemem_heap_feed (GememHeap *heap, GememTraceEvent *event, GError **error);
/* Returns @block, which is no longer in `blocks`, now or when its streams are done. */
gboolean gemem_heap_release (GememHeap *heap, GememHeapBlock *block, GError **error);
/* Returns the blocks whose streams are done; @wait: at least one block, if there is one that waits.
 * *@any: there was one. */
gboolean gemem_heap_release_ready (GememHeap *heap, gboolean wait, gboolean *any, GError **error);

static inline gboolean
gemem_heap_knows_streams (const GememHeap *heap)
{
  return (heap->run->klass->capabilities & GEMEM_CAP_STREAMS) != 0;
}

void gemem_heap_pools_init (GememHeap *heap);
void gemem_heap_pools_clear (GememHeap *heap);
/* Takes a freed block over that must not go back yet. */
gboolean gemem_heap_pool_keeps (GememHeap *heap, GememHeapBlock *block);

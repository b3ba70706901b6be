/* heap-private.h - the internals of a heap, shared by heap.c, pools.c, heap-report.c and
 * heap-events.c. */
#pragma once

#include "sim/engine/run.h"
#include "sim/live/heap.h"
#include "sim/live/waiting.h"

/* A live block, by address. */
typedef struct
{
  guint64 id, stream;
  guint64 *users; /* other streams that used the block */
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
  guint64 start, now; /* start: the clock at creation; now: ns from start to the current event */
  guint64 last_id, last_stream;
  GememIdMap *streams; /* handle of the program -> stream number */
  GememIdMap *blocks;  /* address -> GememHeapBlock */
  GememWaiting waiting;
  GememRecording *recording;
  GememDeviceObserver observer;
  void (*name_stream) (GememDevice *device, guint64 stream, guint64 handle);

  /* pools.c */
  guint pools_open;  /* begun and not ended: the program may be capturing */
  GememIdMap *pools; /* pool -> begins minus releases */
  GArray *kept;      /* GememHeapBlock, freed: until the pool is released, or no pool is open */
};

/* GememDeviceObserverFunc, of the heap @data: the device calls with which the allocator serves an
 * event precede that event in the recording. */
void gemem_heap_note_call (gpointer data, const GememDeviceNote *note);
/* Feeds one event to the engine, then records it with the allocator's decision. */
gboolean gemem_heap_feed (GememHeap *heap, GememTraceEvent *event, GError **error);
/* Returns @block, removed from `blocks`, to the allocator, now or when its streams are done. */
gboolean gemem_heap_release (GememHeap *heap, GememHeapBlock *block, GError **error);
/* Returns the blocks whose streams are done to the allocator.  @wait: waits for at least one block,
 * if any is pending.  *@any: one was returned. */
gboolean gemem_heap_release_ready (GememHeap *heap, gboolean wait, gboolean *any, GError **error);

static inline gboolean
gemem_heap_knows_streams (const GememHeap *heap)
{
  return (heap->run->klass->capabilities & GEMEM_CAP_STREAMS) != 0;
}

void gemem_heap_pools_init (GememHeap *heap);
void gemem_heap_pools_clear (GememHeap *heap);
/* Keeps a freed block that must not return to the allocator yet; FALSE: it may return. */
gboolean gemem_heap_pool_keeps (GememHeap *heap, GememHeapBlock *block);

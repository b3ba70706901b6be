/* heap.h - an allocator of the registry at work: a running program asks, the engine serves,
 * accounts and measures.
 *
 * One heap is one device.  What the program does becomes the events of a trace, fed one by one to
 * the engine's own loop (sim/engine/run.h): the decisions, the accounts, the latencies and the
 * reasons of failures are those of a replay because they are made by the same code, and a recording
 * of the events (recording.h) replays to the same decisions.
 *
 * When is memory free?  A program frees a block while streams may still use it; a recording knows
 * when they were done, a program at work must find out. The heap does, with device events: the
 * allocator gets a block that other streams used (gemem_heap_use_on_stream) back when they are done
 * with it, and no earlier, so that what it does on its own (ladders that take for granted that the
 * device was waited for) is safe on real memory.  An allocator that does not know streams (no
 * GEMEM_CAP_STREAMS) gets no block back before its own stream is done either, once there are
 * several. Private pools (CUDA graphs): their memory must stay as it was while the graph lives.
 * Allocators with GEMEM_CAP_POOLS see to it; of others, what is freed in a pool is kept until the
 * pool is released.  While a pool is open on the device the program may be capturing: no event is
 * recorded or asked for.
 *
 * Invariants: an address is live once; nothing is decided by the value of a pointer or handle
 * (streams are numbered as they come, ids ascend).
 * Not locked: the caller lets in one thread at a time.  Cost per call: that of an event of the
 * engine, one look-up, two or three readings of the clock.
 */
#pragma once

#include "sim/engine/replay.h"
#include "sim/live/recording.h"

typedef struct _GememHeap GememHeap;

typedef struct
{
  const char *allocator; /* "NAME[:key=value,...]": one allocator */
  const char *device;    /* "cuda:0", "sim:capacity=80GiB" */
  int ordinal;
  guint64 capacity;          /* bytes to use of it; 0: as it says itself */
  guint64 (*clock) (void);   /* ns, monotonic */
  GememRecording *recording; /* or NULL; shared by the heaps of a program */
  /* Optional: @stream of the device is the program's stream @handle; before anything else is done
   * with @stream. */
  void (*name_stream) (GememDevice *device, guint64 stream, guint64 handle);
} GememHeapOptions;

/* Errors: those of making allocator and device; GEMEM_ERROR_USAGE if @options->allocator stands for
 * several. */
GememHeap *gemem_heap_new (const GememHeapOptions *options, GError **error);
/* Releases everything, what is live included.  @error NULL: without looking whether all came back
 * (GEMEM_ERROR_INVARIANT). */
gboolean gemem_heap_close (GememHeap *heap, GError **error);

/* The address of @size > 0 bytes for the program's @stream, in @pool (0: none); 0: out of memory,
 * after all that is waiting was waited for, or with @error: the engine or the allocator refused. */
guint64 gemem_heap_alloc (GememHeap *heap, guint64 size, guint64 stream, guint32 pool,
                          GError **error);
/* Errors: GEMEM_ERROR_INPUT if @address is no live block. */
gboolean gemem_heap_free (GememHeap *heap, guint64 address, GError **error);
/* Work that uses the live block at @address was queued on @stream.  Errors as before. */
gboolean gemem_heap_use_on_stream (GememHeap *heap, guint64 address, guint64 stream,
                                   GError **error);
/* What it takes memory from. */
GememDevice *gemem_heap_device (const GememHeap *heap);
/* TRUE if a live block begins at @address. */
gboolean gemem_heap_has (const GememHeap *heap, guint64 address);
/* The allocator releases what it does not need (empty_cache). */
gboolean gemem_heap_trim (GememHeap *heap, GError **error);

/* Requests for @pool begin, or end; they may come several times and must be even.  Released: as
 * often as begun; then its memory may go. */
void gemem_heap_pool_begin (GememHeap *heap, guint32 pool);
gboolean gemem_heap_pool_end (GememHeap *heap, GError **error);
gboolean gemem_heap_pool_release (GememHeap *heap, guint32 pool, GError **error);

/* Where the memory around @address was obtained, and its size; 0: nowhere here.  O(blocks). */
guint64 gemem_heap_segment (GememHeap *heap, guint64 address, guint64 *size);

/* Why the last request failed, for people: one line without a full stop; NULL: none did, or too
 * many.  g_free(). */
char *gemem_heap_explain (GememHeap *heap);
/* The names that gemem_heap_stat() knows, NULL-terminated. */
extern const char *const gemem_heap_stats[];
/* "live", "peak_reserved" ... now; peaks since the last gemem_heap_reset_peaks().  G_MAXUINT64: no
 * such name. */
guint64 gemem_heap_stat (GememHeap *heap, const char *name);
void gemem_heap_reset_peaks (GememHeap *heap);
/* Everything that was found out, once; calls nothing of the device.  After it only
 * gemem_heap_close() may come. */
GememResult *gemem_heap_result (GememHeap *heap);

/* heap.h - a registered allocator serving a running program: the program requests, the engine
 * serves, accounts and measures.
 *
 * One heap is one device.  The program's calls become the events of a trace, fed one by one to the
 * engine's own loop (sim/engine/run.h).  Decisions, accounting, latencies and reasons of failures
 * therefore come from the code that replays use, and a recording of the events (recording.h)
 * replays to the same decisions.
 *
 * When is memory free?  A program frees a block while streams may still use it; a recording knows
 * when they were done, a running program must find out.  The heap uses device events: a block that
 * other streams used (gemem_heap_use_on_stream) returns to the allocator only when they are done
 * with it, so that allocator ladders which assume a wait for the device are safe on real memory.
 * An allocator that does not know streams (no GEMEM_CAP_STREAMS) also gets a block only when the
 * block's own stream is done, once there are several streams.  Private pools (CUDA graphs): their
 * memory must stay unchanged while the graph exists.  Allocators with GEMEM_CAP_POOLS ensure this;
 * for others, the heap keeps blocks freed in a pool until the pool is released.  While a pool is
 * open on the device the program may be capturing: no event is recorded or queried.
 *
 * Invariants: an address is live once; no decision depends on the value of a pointer or handle
 * (streams are numbered in order of first use, ids ascend).  Not locked: the caller serialises all
 * calls.  Cost per call: one event of the engine, one lookup, two or three readings of the clock.
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
  guint64 capacity;          /* bytes of it to use; 0: the device's own capacity */
  guint64 (*clock) (void);   /* ns, monotonic */
  GememRecording *recording; /* or NULL; shared by the heaps of a program */
  /* Optional: tells the device that its @stream is the program's stream @handle, before any other
   * use of @stream. */
  void (*name_stream) (GememDevice *device, guint64 stream, guint64 handle);
} GememHeapOptions;

/* Errors: those of creating allocator and device; GEMEM_ERROR_USAGE if @options->allocator names
 * several. */
GememHeap *gemem_heap_new (const GememHeapOptions *options, GError **error);
/* Releases everything, including live blocks.  @error NULL: does not check that all memory was
 * returned (GEMEM_ERROR_INVARIANT). */
gboolean gemem_heap_close (GememHeap *heap, GError **error);

/* The address of @size > 0 bytes for the program's @stream, in @pool (0: none).  0: out of memory,
 * after waiting for all pending blocks; or, with @error, the engine or the allocator refused. */
guint64 gemem_heap_alloc (GememHeap *heap, guint64 size, guint64 stream, guint32 pool,
                          GError **error);
/* Errors: GEMEM_ERROR_INPUT if @address is no live block. */
gboolean gemem_heap_free (GememHeap *heap, guint64 address, GError **error);
/* Work that uses the live block at @address was queued on @stream.  Errors as before. */
gboolean gemem_heap_use_on_stream (GememHeap *heap, guint64 address, guint64 stream,
                                   GError **error);
/* The device from which the heap obtains memory. */
GememDevice *gemem_heap_device (const GememHeap *heap);
/* TRUE if a live block begins at @address. */
gboolean gemem_heap_has (const GememHeap *heap, guint64 address);
/* Makes the allocator release what it does not need (empty_cache). */
gboolean gemem_heap_trim (GememHeap *heap, GError **error);

/* Requests for @pool begin, or end.  Calls nest and must be balanced.  The pool's memory may be
 * released after as many releases as begins. */
void gemem_heap_pool_begin (GememHeap *heap, guint32 pool);
gboolean gemem_heap_pool_end (GememHeap *heap, GError **error);
gboolean gemem_heap_pool_release (GememHeap *heap, guint32 pool, GError **error);

/* Address and size of the segment that contains @address; 0: not in this heap.  O(blocks). */
guint64 gemem_heap_segment (GememHeap *heap, guint64 address, guint64 *size);

/* Why the last request failed, for people: one line without a full stop.  NULL: none failed, or
 * more failed than are kept.  g_free(). */
char *gemem_heap_explain (GememHeap *heap);
/* The names that gemem_heap_stat() knows, NULL-terminated. */
extern const char *const gemem_heap_stats[];
/* The value now of a name such as "live" or "peak_reserved"; peaks since the last
 * gemem_heap_reset_peaks().  G_MAXUINT64: unknown name. */
guint64 gemem_heap_stat (GememHeap *heap, const char *name);
void gemem_heap_reset_peaks (GememHeap *heap);
/* The result; may be called once, makes no device call.  Afterwards only gemem_heap_close() may be
 * called. */
GememResult *gemem_heap_result (GememHeap *heap);

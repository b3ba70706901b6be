/* recorder.h - the interfaces between the parts of libgemem-record.so.
 *
 * The library runs inside programs that do not expect it.  It therefore uses no GLib, malloc, exit
 * handler or signal handler, keeps no descriptor open, prints only one line if the recording cannot
 * be written, and preserves errno.
 *
 * How a call becomes a record: the wrapper (hooks.c, calls.c) finds the real function (resolve.c),
 * enters (only the outermost call of a thread is recorded, not the driver calls that the runtime
 * makes within it), calls the real function, and adds one record to the thread's block (journal.c).
 * An allocation is numbered after the real call, a free before it.  Numbers therefore order a free
 * before the allocation that reuses its address, on any thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/abi.h"
#include "traces/journal/format.h"

/* ---- journal.c */

/* State of a thread.  Without constructor and destructor, so that it is valid before main() and
 * after exit(). */
typedef struct
{
  bool inside;     /* the thread is within a recorded call */
  bool registered; /* another thread gets the block when this thread ends */
  bool serves;     /* a request of an allocator above the calls (requests.c) */
  uint32_t above;  /* the stack of that request; 0: none */
  uint32_t number; /* 0: nothing recorded yet */
  uint32_t used;   /* slots of `block` */
  JournalRecord *block;
} RecorderThread;

extern _Thread_local RecorderThread gemem_recorder_thread
    __attribute__ ((tls_model ("initial-exec")));

/* The moment of a call: its position in the order of all calls, and its time. */
typedef struct
{
  uint64_t sequence, time;
  uint32_t stack;
} Moment;

/* Whether this process is recorded; the first call opens the journal.  Cost after that: one
 * load. */
bool gemem_recorder_ready (void);
/* Takes a number, the time and (if enabled and @stack) the call stack.  FALSE if the record cannot
 * be stored. */
bool gemem_recorder_moment (Moment *moment, bool stack);
/* Counts the records before and behind which work of a stream is not the same (calls-work.c); never
 * 0. */
uint64_t gemem_recorder_epoch (void);
/* Adds @record; the caller has set p to s, device and call. */
void gemem_recorder_add (const Moment *moment, JournalRecord record);
/* Adds @record (p to s and call are set) with @size bytes of @data in the slots after it; false if
 * they cannot be stored. */
bool gemem_recorder_add_data (JournalRecord record, const void *data, uint32_t size);
/* The header of the journal; valid only between gemem_recorder_moment() and the end of the call. */
JournalHeader *gemem_recorder_header (void);

/* ---- stacks.c */

/* Reads and returns the requested depth of stacks; 0: none. */
uint32_t gemem_recorder_stacks_init (void);
/* The number of the calling thread's stack, which is in the journal; 0: stacks are disabled. */
uint32_t gemem_recorder_stack (void);

/* ---- lines.c */

/* Has Python's main thread say where it is, as soon as it can. */
void gemem_recorder_ask_line (void);

/* ---- hooks.c */

typedef struct
{
  const char *name; /* as exported */
  const char *base; /* name for cuGetProcAddress; NULL: not available there */
  int since;        /* CUDA version from which `base` means this function */
  bool per_thread;  /* stream 0 is the per-thread default stream */
  void *wrapper;
  _Atomic (void *) real;
} Hook;

extern Hook gemem_recorder_hooks[];
extern const int gemem_recorder_hook_count;

/* ---- resolve.c */

typedef void *(*RecorderLookup) (void *, const char *);

/* The dlsym() of the C library. */
RecorderLookup gemem_recorder_dlsym (void);
/* Looks up @name after this library in the global scope; NULL, with dlerror() set: not there. */
void *gemem_recorder_behind (const char *name);
/* Whether the addresses @a and @b are in one object. */
bool gemem_recorder_same_object (const void *a, const void *b);
/* The real function of @hook for a caller at @caller; NULL if there is none. */
void *gemem_recorder_real (Hook *hook, const void *caller);
/* A function of the driver that is not hooked; NULL if the driver is not loaded. */
void *gemem_recorder_driver_function (const char *name);
/* What to return to a program that found @real for @hook itself: @real or the wrapper. */
void *gemem_recorder_adopt (Hook *hook, void *real);

/* ---- driver.c; only after a call of the program has succeeded */

uint16_t gemem_recorder_current_device (void);
/* Device @number, named by the program itself. */
uint16_t gemem_recorder_device (int number);
uint64_t gemem_recorder_context (void);
uint64_t gemem_recorder_free_bytes (void); /* free bytes of the current device; 0: unknown */
/* Whether work queued on @stream is captured into a graph (@per_thread: stream 0 is the per-thread
 * default stream). */
bool gemem_recorder_is_capturing (Handle stream, bool per_thread);
bool gemem_recorder_is_active (int device); /* its primary context is active; true if unknown */

/* Marks symbols visible to other objects (together with recorder.map, for the linker). */
#define EXPORT __attribute__ ((visibility ("default")))

/* recorder.h - what the parts of libgemem-record.so share.
 *
 * The library lives inside programs that know nothing of it, so: no GLib, no malloc, no exit
 * handlers, no signal handlers, no descriptor kept open, nothing printed but one line when the
 * recording cannot be written.  errno is left as it was.
 *
 * How a call becomes a record: the wrapper (hooks.c, calls.c) finds the real function (resolve.c),
 * enters (one call of the outermost API a thread is in is recorded, what the runtime asks of the
 * driver beneath is not), calls it, and adds one record to the thread's block (journal.c). Records
 * of what gives memory are numbered after the real call, of what takes it away before: numbers
 * therefore order a free before the allocation that gets the same address, on whatever thread it
 * happens.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "traces/journal-format.h"
#include "traces/record/abi.h"

/* ---- journal.c */

/* State of a thread.  No constructor, no destructor: it is there before main() and after exit(). */
typedef struct
{
  bool inside;     /* within a recorded call */
  bool registered; /* its block goes to another thread when it ends */
  uint32_t number; /* 0: has recorded nothing yet */
  uint32_t used;   /* slots of `block` */
  JournalRecord *block;
} RecorderThread;

extern _Thread_local RecorderThread recorder_thread __attribute__ ((tls_model ("initial-exec")));

/* When a call happened: its place in the order of all calls. */
typedef struct
{
  uint64_t sequence, time;
  uint32_t stack;
} Moment;

/* Whether this process is to be recorded; opens the journal when first asked.  Cost when it is
 * open: a load. */
bool recorder_ready (void);
/* Takes a number, the time and (if wanted) the call stack.  FALSE if there is no place for a
 * record. */
bool recorder_moment (Moment *moment);
/* Adds @record, in which p to s, device and call are filled in. */
void recorder_add (const Moment *moment, JournalRecord record);
/* The number of a string with @size bytes, after adding it; 0 if there was no place. */
uint32_t recorder_add_string (const char *text, uint32_t size);
/* The header of the journal; only between a recorder_moment() and the end of the call. */
JournalHeader *recorder_header (void);

/* ---- stacks.c */

/* Reads how deep stacks shall be (0: none). */
void recorder_stacks_init (void);
/* The string of the stack of the calling thread; 0: none are wanted. */
uint32_t recorder_stack (void);

/* ---- resolve.c */

typedef struct
{
  const char *name; /* as exported */
  const char *base; /* as cuGetProcAddress knows it; NULL: not through there */
  int since;        /* CUDA version from which `base` means this function */
  bool per_thread;  /* stream 0 is the thread's */
  void *wrapper;
  _Atomic (void *) real;
} Hook;

extern Hook recorder_hooks[];
extern const int recorder_hook_count;

/* The function behind @hook for a caller at @caller; NULL: there is none. */
void *recorder_real (Hook *hook, const void *caller);
/* A function of the driver, if that is loaded; NULL otherwise. */
void *recorder_driver_function (const char *name);
/* What a program gets that was given @real for @symbol by the driver's own lookup: @real or the
 * wrapper around it. */
void *recorder_wrap_driver (const char *symbol, void *real, int version, bool per_thread);
/* The same for the entry point whose exported name is @hook's. */
void *recorder_adopt (Hook *hook, void *real);

/* ---- driver.c; only after a call of the program has succeeded */

uint16_t recorder_current_device (void);
/* Device @number, which the program named itself. */
uint16_t recorder_device (int number);
uint64_t recorder_context (void);
uint64_t recorder_free_bytes (void); /* of the current device; 0: unknown */
/* Whether what is queued on @stream becomes part of a graph (@per_thread: stream 0 is the
 * thread's). */
bool recorder_is_capturing (Handle stream, bool per_thread);
bool recorder_is_active (int device); /* its primary context; true where that is unknown */

/* Marks what other objects may see (with recorder.map, which says it to the linker). */
#define EXPORT __attribute__ ((visibility ("default")))

/* slots.h - a transparent allocator for tests of the engine: one segment of 16 slots of 256 bytes,
 * first fit.
 *
 * It allocates the segment (4096 bytes) at its first request. Its rules can be computed by hand, so
 * every measure of the engine has an exact expectation. Each call is noted in `slots_log`, and the
 * allocator can be told to break its promises.
 */
#pragma once

#include "allocators/allocator.h"

#define SLOT 256
#define SLOTS 16

extern const GememAllocatorClass slots_class; /* with complete(): freed blocks wait for it */
extern const GememAllocatorClass slots_at_once_class; /* without complete() */

/* What was called, in order, since slots_reset(): "alloc 100;free;complete;use 3;sync
 * 7;trim;adopt-segment;adopt-block;adopt-done;". */
extern GString *slots_log;

/* Faults to commit. */
typedef struct
{
  gboolean hide_last; /* walk leaves out the last live block */
  gboolean overlap;   /* walk reports a span twice */
  gboolean keep;      /* destroy does not return the segment */
  gboolean bad_check; /* check fails */
  /* each request allocates 1000 more bytes on the device and releases them at once */
  gboolean transient;
  guint64 refuse_from, refuse_to; /* requests fail on a device whose capacity lies in [from, to) */
} SlotsFaults;

extern SlotsFaults slots_faults;

void slots_reset (void);

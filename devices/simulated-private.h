/* simulated-private.h - the simulated device, as its files see it: simulated-places.c (which
 * addresses are taken), virtual.c (ranges, pages, mappings) and recorded-calls.c (a log of calls)
 * stand below simulated.c (settings, allocations, streams). */
#pragma once

#include "devices/device-private.h"
#include "devices/mappings.h"
#include "devices/profile.h"
#include "devices/space.h"

typedef struct
{
  guint64 capacity, total, available, reserved_by_others, granularity;
  guint64 base, step, va_base, va_step, event_latency;
  int address, reuse, va, va_reuse, free_synchronises;
  gboolean virtual_memory;
  char *profile, *calls;
} GememSimulatedParams;

/* Where one kind of address comes from. */
typedef struct
{
  guint64 floor; /* nothing below; moves up when addresses are not reused */
  guint64 step;  /* every range starts and ends on a multiple */
  gboolean reuse;
} GememRegion;

/* Recorded places, in the order in which they are allocated. */
typedef struct _GememExpected GememExpected;
struct _GememExpected
{
  GememExpected *next;
  guint64 address, size;
};

typedef struct
{
  GememExpected *first, *last;
} GememExpectations;

typedef struct
{
  GememDevice base;
  GememSimulatedParams params; /* effective: capacity and granularity filled in */
  GememProfile *profile;
  int policy; /* `address`, or `recorded` if there is a log of calls */
  /* most bytes that can be held: capacity - reserved_by_others, or what a recording says */
  guint64 limit;
  GememSpace space; /* of allocations and ranges together, so that they never overlap */
  GememRegion allocations, ranges;
  guint64 window;     /* bump: [allocations.floor, window) is taken from the space ahead of need */
  GememIdMap *blocks; /* address -> size and GememKept: live allocations */

  /* address policy `recorded` */
  GememExpectations expected_blocks, expected_ranges;
  GememSlab expected_slab;
  GByteArray *answers; /* of event queries, as in the log of calls; NULL: there is no log */
  gsize answered;

  /* outstanding work */
  GememIdMap *streams; /* stream -> ns at which its work is done */
  guint64 busy_until;  /* the latest of them */

  GememMappings mappings; /* virtual memory: virtual.c */
} GememSimulated;

/* The host waits until @time. */
static inline void
gemem_simulated_wait_until (GememSimulated *self, guint64 time)
{
  if (self->base.now < time)
    self->base.now = time;
}

/* The host waits for all outstanding work if the profile says so of @call. */
static inline void
gemem_simulated_wait (GememSimulated *self, GememDeviceCall call)
{
  if (self->profile->calls[call].synchronises)
    gemem_simulated_wait_until (self, self->busy_until);
}

/* TRUE if @size more bytes can be held. */
static inline gboolean
gemem_simulated_may_hold (const GememSimulated *self, guint64 size)
{
  return size <= self->limit && self->base.held <= self->limit - size;
}

/* ---- simulated-places.c */

/* Takes @size bytes: the address, or 0.  *@kept: what to return to the space
 * later, 0 if it is never reused. */
guint64 gemem_region_take (GememSpace *space, GememRegion *region, guint64 size, guint64 alignment,
                           guint64 *kept);
/* Gives the window back, before anyone but bump takes from the space. */
void gemem_simulated_settle (GememSimulated *self);
/* Adds a place to @expected; what is placed without a record goes above it. */
void gemem_simulated_expect (GememSimulated *self, GememExpectations *expected, guint64 address,
                             guint64 size);
void gemem_simulated_keep_above (GememSimulated *self, guint64 address, guint64 size);
/* The next place of @expected, if it has @size bytes and is free; 0: no, which is counted. */
guint64 gemem_simulated_take_expected (GememSimulated *self, GememExpectations *expected,
                                       guint64 size);

/* ---- recorded-calls.c */

/* Has @self return the addresses, and answer event queries, as the log of calls at @path (--calls)
 * says.  GEMEM_ERROR_INPUT with file and line, GEMEM_ERROR_FAILED. */
gboolean gemem_simulated_load_calls (GememSimulated *self, const char *path, GError **error);

/* ---- virtual.c */

guint64 gemem_virtual_reserve (GememDevice *device, guint64 size, guint64 alignment);
void gemem_virtual_release (GememDevice *device, guint64 address, guint64 size);
GememPage gemem_virtual_create_page (GememDevice *device, guint64 size);
void gemem_virtual_destroy_page (GememDevice *device, GememPage page, guint64 size);
gboolean gemem_virtual_map (GememDevice *device, guint64 address, GememPage page, guint64 offset,
                            guint64 size);
gboolean gemem_virtual_unmap (GememDevice *device, guint64 address, guint64 size);

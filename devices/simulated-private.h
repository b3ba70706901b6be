/* simulated-private.h - internals of the simulated device.  simulated.c (settings, allocations,
 * streams) uses simulated-places.c (taken addresses), virtual.c (ranges, pages, mappings) and
 * recorded-calls.c (a log of calls). */
#pragma once

#include "base/rng.h"
#include "devices/arenas.h"
#include "devices/device-private.h"
#include "devices/mappings.h"
#include "devices/profile.h"
#include "devices/space.h"

typedef struct
{
  guint64 capacity, total, available, reserved_by_others, granularity, at_least;
  guint64 base, step, va_base, va_step, event_latency, seed;
  int driver, address, reuse, va, va_reuse, free_synchronises;
  gboolean virtual_memory;
  char *profile, *calls, *gpu;
} GememSimulatedParams;

/* The source of one kind of address. */
typedef struct
{
  guint64 floor; /* lowest address; rises when addresses are not reused */
  guint64 step;  /* every range starts and ends on a multiple */
  gboolean reuse;
  gboolean open_end; /* what a range leaves of its last step is free: a recording may use it */
} GememRegion;

/* Recorded addresses, in the order of allocation. */
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

typedef struct _GememSimulated GememSimulated;
struct _GememSimulated
{
  GememDevice base;
  GememSimulatedParams params; /* effective: capacity and granularity filled in */
  GememProfile *profile;
  int policy; /* `address`, or `recorded` if there is a log of calls */
  /* most bytes that can be held: capacity - reserved_by_others, or a recorded limit */
  guint64 limit;
  GememSpace space; /* one for allocations and ranges, so that they never overlap */
  GememRegion allocations, ranges;
  guint64 window;      /* bump: [allocations.floor, window) was taken from the space in advance */
  guint64 ceiling;     /* descending: the next block ends there */
  GememRng rng;        /* random */
  GememArenas *arenas; /* cuda; else NULL */
  gboolean in_page;    /* the last malloc or free was in a page that it neither made nor freed */
  GememIdMap *blocks;  /* address -> size and GememKept: live allocations */

  /* address policy `recorded` */
  GememExpectations expected_blocks, expected_ranges;
  GememSlab expected_slab;
  guint64 mapped, mapped_end; /* what was mapped last, where no range began yet; 0: nothing */
  gboolean mapped_whole;      /* only a range that is as long ends there */
  GByteArray *answers;        /* to event queries, from the log of calls; NULL: no log */
  gsize answered;

  /* outstanding work */
  GememIdMap *streams; /* stream -> ns at which its work is done */
  guint64 busy_until;  /* the latest of these times */

  GememMappings mappings;  /* virtual memory: virtual.c */
  gboolean shared_ranges;  /* one ends where another one was let begin */
  GememSimulated *sharing; /* the next in the ring of those with one memory; itself: alone */
};

/* Bytes that all devices of the ring hold. */
static inline guint64
gemem_simulated_held (const GememSimulated *self)
{
  guint64 held = self->base.held;

  for (const GememSimulated *each = self->sharing; each != self; each = each->sharing)
    held += each->base.held;
  return held;
}

/* Makes the host wait until @time. */
static inline void
gemem_simulated_wait_until (GememSimulated *self, guint64 time)
{
  if (self->base.now < time)
    self->base.now = time;
}

/* Makes the host wait for all outstanding work if the profile says so of @call. */
static inline void
gemem_simulated_wait (GememSimulated *self, GememDeviceCall call)
{
  if (self->profile->calls[call].synchronises)
    gemem_simulated_wait_until (self, self->busy_until);
}

/* TRUE if @size more bytes can be held: a recorded limit is that of one program, the capacity that
 * of all that share it. */
static inline gboolean
gemem_simulated_may_hold (const GememSimulated *self, guint64 size)
{
  return size <= self->limit && self->base.held <= self->limit - size
         && (G_LIKELY (self->sharing == self)
             || gemem_simulated_held (self)
                    <= self->params.capacity - self->params.reserved_by_others - size);
}

/* Keeps the most that was asked for at once, which is less than what is held in shared pages. */
static inline void
gemem_simulated_note_asked (GememSimulated *self)
{
  const guint64 asked = self->base.held - self->base.beyond;

  self->base.peak_asked = MAX (self->base.peak_asked, asked);
}

/* ---- simulated-places.c */

/* Takes @size bytes: the address, or 0.  *@kept: bytes to return to the space later, 0 if the
 * address is never reused. */
guint64 gemem_region_take (GememSpace *space, GememRegion *region, guint64 size, guint64 alignment,
                           guint64 *kept);
/* Returns the window to the space, before any other policy takes from it. */
void gemem_simulated_settle (GememSimulated *self);
/* Adds an address to @expected; allocations without a record are placed above it. */
void gemem_simulated_expect (GememSimulated *self, GememExpectations *expected, guint64 address,
                             guint64 size);
void gemem_simulated_keep_above (GememSimulated *self, guint64 address, guint64 size);
/* The next address of @expected, if it has @size bytes and is free; else 0, which is counted. */
guint64 gemem_simulated_take_expected (GememSimulated *self, GememExpectations *expected,
                                       guint64 size);

/* ---- recorded-calls.c */

/* Makes @self return the addresses, and answer event queries, as in the log of calls at @path
 * (--calls).  GEMEM_ERROR_INPUT with file and line, GEMEM_ERROR_FAILED. */
gboolean gemem_simulated_load_calls (GememSimulated *self, const char *path, int ordinal,
                                     GError **error);

/* ---- virtual.c */

guint64 gemem_virtual_reserve (GememDevice *device, guint64 size, guint64 alignment);
void gemem_virtual_release (GememDevice *device, guint64 address, guint64 size);
GememPage gemem_virtual_create_page (GememDevice *device, guint64 size);
void gemem_virtual_destroy_page (GememDevice *device, GememPage page, guint64 size);
gboolean gemem_virtual_map (GememDevice *device, guint64 address, GememPage page, guint64 offset,
                            guint64 size);
gboolean gemem_virtual_unmap (GememDevice *device, guint64 address, guint64 size);

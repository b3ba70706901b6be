/* arenas.h - which addresses CUDA's driver gives: `address=cuda` of the simulated device.
 *
 * Why: allocators choose among equal free blocks by address, so peaks depend on the order in which
 * the driver lays them out.  The rules are those of one H100 (80 GB, driver 580.159.04, CUDA 13.0,
 * Linux), found by comparing a model with logs (cuda-driver.md 1); nobody has measured another card.
 *
 * Requests of 2 MiB and more are blocks of whole pages.  Blocks lie in arenas of whole slots of
 * 32 MiB: the newest arena with a hole that is large enough, in it the smallest such hole, of equal
 * ones the lowest; else a new arena, in the highest gap that is long enough.  Smaller requests
 * share pages: the smallest piece that is large enough, of equal ones the oldest.  A reservation
 * takes the lowest hole of the newest arena, or a new arena in a zone of its own.
 *
 * What a process has at its start is that of the measured ones: F, whose last 24 MiB are free, and L,
 * with 2 MiB at its end.  L's other 414 MiB are the context's local memory (an inference): they move
 * when a program begins to compute.  Other mappings of the process, libraries and code, which move
 * arenas in a real one, are unknown here.
 *
 * Invariants: a page is a block of one page; holes of an arena do not touch; an arena and a page go
 * with what they held last.  Cost: O(log holes + log arenas) per call; no heap allocation per call
 * once the slabs have grown.
 */
#pragma once

#include "base/tree.h"
#include "devices/space.h"

#define GEMEM_ARENAS_PAGE G_GUINT64_CONSTANT (0x200000)
/* The end of F: below every mapping of a real process, so that what a recording began with is above
 * what is placed later. */
#define GEMEM_ARENAS_TOP G_GUINT64_CONSTANT (0x700000000000)

/* Free ranges: by size, and by address. */
typedef struct
{
  GememTree fit;
  GememGap *gaps;
} GememHoles;

typedef struct
{
  GememHoles holes, pieces; /* of arenas, of pages */
  GememGap *ranks;  /* arenas, the newest first, each as long as its longest hole in pages */
  GememTree arenas; /* by address */
  GememSpace high;  /* what the process has free there, mirrored: the highest first */
  GememSpace *low;  /* the zone of reservations; not owned */
  GememSlab hole_slab, arena_slab;
  guint64 serial; /* of the newest arena */
  guint64 births; /* of pieces */
  guint64 local;  /* where L's local memory is; 0: it has moved */
} GememArenas;

/* As at the start of a process.  Takes all of @low between 7/8 of GEMEM_ARENAS_TOP and that. */
void gemem_arenas_init (GememArenas *self, GememSpace *low);
void gemem_arenas_clear (GememArenas *self);

/* The bytes by which the device's free memory falls with a request of @size bytes: 0 in a page that
 * exists. */
guint64 gemem_arenas_need (const GememArenas *self, guint64 size);
/* cuMemAlloc of @size > 0 bytes: the address, or 0 if no gap is long enough. */
guint64 gemem_arenas_take (GememArenas *self, guint64 size);
/* cuMemFree of it: the bytes that the device has back. */
guint64 gemem_arenas_give (GememArenas *self, guint64 address, guint64 size);

/* cuMemAddressReserve and cuMemAddressFree. */
guint64 gemem_arenas_reserve (GememArenas *self, guint64 size, guint64 alignment);
void gemem_arenas_release (GememArenas *self, guint64 address, guint64 size);

/* The program begins to compute: the local memory moves, once. */
void gemem_arenas_compute (GememArenas *self);

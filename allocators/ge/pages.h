/* pages.h - GE's PhysicalMemoryAllocator: physical pages of a device, shared by all pools and sessions, unmapped as late as possible.
 *
 * What: a page that nobody uses waits on a stack and stays mapped where it was; whoever needs memory gets the page it had last, else the most
 * recently returned one, else a new one from the device.  Pages go back to the device only with the whole pool of pages.
 * Invariants: an address shows one page at most; a page on the stack twice does not exist; `held` bytes are the pages' sizes.
 * Cost: O(1) per page taken, returned or mapped; release of a range O(its pages).  Origin: shared/spec/ge-runtime.md 4.
 */
#pragma once

#include "sim/core/idmap.h"
#include "sim/device/device.h"

#define GE_NO_PAGE G_MAXUINT32

typedef struct
{
  GememPage page;
  guint64   home; /* where it was last mapped for somebody who took it with gemem_ge_pages_take() */
  guint32   ref;  /* users: 0 or 1 */
  guint8    in_free;
} GePhysical;

typedef struct
{
  GememDevice *device;
  guint64      page_size;
  GArray      *pages;  /* GePhysical                                            */
  GArray      *free;   /* guint32: stack; entries may have been taken meanwhile */
  GememIdMap  *mapped; /* address -> guint64: the page it shows                 */
} GePages;

void gemem_ge_pages_init (GePages *pages, GememDevice *device, guint64 page_size);
/* Returns every page to the device.  The ranges must have been released. */
void gemem_ge_pages_clear (GePages *pages);

/* MallocPhysical: @last, the page that was at @address before, if nobody has it; else a returned one; else a new one; mapped at @address.
 * GE_NO_PAGE when the device refuses. */
guint32 gemem_ge_pages_take (GePages *pages, guint32 last, guint64 address);
/* FreePhysical: the page stays with the pool, and mapped. */
void gemem_ge_pages_give (GePages *pages, guint32 page);

/* Shows @page at @address too.  FALSE when the device refuses. */
gboolean gemem_ge_pages_map (GePages *pages, guint64 address, guint32 page);
/* Unmaps what is mapped in the range, and releases it. */
void gemem_ge_pages_release (GePages *pages, guint64 address, guint64 size);

/* The page that @address shows, or GE_NO_PAGE. */
guint32 gemem_ge_pages_at (const GePages *pages, guint64 address);

/* pages.h - GE's PhysicalMemoryAllocator: physical pages of a device, shared by all pools and
 * sessions, unmapped as late as possible.
 *
 * What: a page without user is kept on a free stack and stays mapped where it was.  A user that
 * needs memory gets the page it had last, else the most recently returned one, else a new one from
 * the device.  Every range of addresses is a user of the page pool.  Pages return to the device
 * only when the last user has left, so that pools and sessions exchange memory without the driver.
 * Threads: any number of ranges, of several allocators and threads, may use one pool: every
 * function takes the lock of the device (gemem_device_lock), which is a recursive mutex in the real
 * system.
 * Invariants: an address maps one page at most; `maps` counts the addresses that map a page; a page
 * is on the stack once at most; without users only pages exist that a user did not return, and
 * those are lost (5.9).
 * Cost: O(1) per page taken, returned or mapped; release of a range O(its pages).
 * Origin: ge-runtime.md 4.
 */
#pragma once

#include "base/idmap.h"
#include "base/units.h"
#include "devices/device.h"

#define GE_NO_PAGE G_MAXUINT32

#define GE_SMALL_PAGE (2 * GEMEM_MIB) /* kDrvPageSize */
#define GE_LARGE_PAGE (8 * GEMEM_MIB) /* kLargePageSize: wherever policy 3 or 4 is on */
#define GE_HUGE_PAGE GEMEM_GIB        /* kDrv1GPageSize: variables, if the option asks for it */

/* Option ge.variableUse1gHugePage. */
typedef enum
{
  GE_1G_NO,
  GE_1G_ONLY, /* "1": pages of 1 GiB of the driver's 1G type, or failure */
  /* "2": once the driver refuses the 1G type, this and all later pages (of 1 GiB still) are of the
   * 2M type */
  GE_1G_FIRST,
} Ge1gOption;

typedef struct
{
  GememPage page; /* 0: returned to the device */
  guint64 home;   /* where gemem_ge_pages_take() mapped it last */
  guint32 ref;    /* users: 0 or 1 */
  guint32 maps;   /* addresses that map it */
  guint8 in_free;
  guint8 lost; /* its user is gone and did not return it (5.9): used for ever */
} GePhysical;

typedef struct
{
  GememDevice *device;
  guint64 page_size;
  Ge1gOption option;
  gboolean fell_back; /* GE_1G_FIRST: to the 2M type */
  guint64 users;
  GArray *pages;      /* GePhysical */
  GArray *free;       /* guint32: stack; entries may have been taken meanwhile */
  GememIdMap *mapped; /* address -> guint64: the page it maps */
  GememIdMap *parts; /* address / GE_PART pages -> guint64: how many of `mapped` lie there; not 0 */
} GePages;

#define GE_TOTAL_UNKNOWN (30 * GEMEM_GIB) /* assumed of a device that does not say (1.1) */

/* Bytes of device memory: @total if given, else what the device reports, or @fallback where it has
 * no limit (1.1, 5.9). */
guint64 gemem_ge_device_memory (guint64 total, GememDevice *device, guint64 fallback);

/* @option matters for pages of 1 GiB only. */
void gemem_ge_pages_init (GePages *pages, GememDevice *device, guint64 page_size,
                          Ge1gOption option);
/* Returns every page to the device.  The ranges must have been closed. */
void gemem_ge_pages_clear (GePages *pages);

/* Initialize: one more user.  The first one fixes the page size; FALSE when @page_size is
 * another. */
gboolean gemem_ge_pages_enter (GePages *pages, guint64 page_size);
/* Finalize without a range: when the last user leaves, pages that have no user and are mapped
 * nowhere return to the device. */
void gemem_ge_pages_leave (GePages *pages);
/* Initialize and ReserveMemAddress: the address of @size bytes, with one more user; 0, and nothing
 * changed, when refused. */
guint64 gemem_ge_pages_open (GePages *pages, guint64 page_size, guint64 size);
/* Finalize: ends both. */
void gemem_ge_pages_close (GePages *pages, guint64 address, guint64 size);

/* ReserveMemAddress alone, for a user that has entered; 0 when refused. */
guint64 gemem_ge_pages_reserve (GePages *pages, guint64 size);
/* ReleaseMemAddress: unmaps what is mapped in the range on the device, and releases the range. */
void gemem_ge_pages_release (GePages *pages, guint64 address, guint64 size);

/* MallocPhysical, and MapMem: takes *last, the page that was at @address before, if it has no user;
 * else, with @reuse, a returned one; else a new one; and maps it at @address.  GE_NO_PAGE when the
 * device refuses, and when *last has another user although @address does not map it any more.
 * *last becomes the page taken; where the device refuses a new one, the number that this would have
 * had, which counts as no page until there is one of that number. */
guint32 gemem_ge_pages_take (GePages *pages, guint32 *last, guint64 address, gboolean reuse);
/* FreePhysical: the page stays with the pool, and mapped. */
void gemem_ge_pages_give (GePages *pages, guint32 page);
/* The user of @page is gone without returning it. */
void gemem_ge_pages_lose (GePages *pages, guint32 page);

/* MapMem: maps @page at @address too.  FALSE when the device refuses. */
gboolean gemem_ge_pages_map (GePages *pages, guint64 address, guint32 page);

/* The page that @address maps, or GE_NO_PAGE. */
guint32 gemem_ge_pages_at (const GePages *pages, guint64 address);
/* TRUE if @page exists, has no user and is still mapped at @address, so that taking it there needs
 * no device call. */
gboolean gemem_ge_pages_waits_at (const GePages *pages, guint32 page, guint64 address);
/* Bytes of the pages that are lost. */
guint64 gemem_ge_pages_lost (const GePages *pages);
/* The invariants above; @what names the owner in the message.  GEMEM_ERROR_INVARIANT. */
gboolean gemem_ge_pages_check (const GePages *pages, const char *what, GError **error);

/* session-range.h - GE's ExpandableActiveMemoryAllocator: one growing range of addresses of a
 * session; and FixedBaseExpandableAllocator: the same range allocated to every caller.
 *
 * What: as many addresses as the device has memory are reserved at the first use; pages of a shared
 * pool (pages.h) are put under what is used.  A piece of the range may return its pages while it is
 * idle, and takes pages, perhaps others, before it is used again; its addresses never change.
 * Threads: as in the real system all functions lock (recursively), here the device, so that several
 * threads may have ranges on one device.  Who reads the members of a range holds that lock.
 * Invariants: a page's `ref` is the number of bindings that touch it; it has memory exactly while
 * ref > 0; `phys` is that memory in bytes.
 * Cost: O(pages of the piece).
 * Origin: ge-runtime.md 5.9, 5.10.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/ge/pages.h"

typedef struct
{
  guint32 page; /* physical page, or GE_NO_PAGE */
  guint32 last; /* the physical page it had before, or GE_NO_PAGE */
  guint32 ref;
} GeSessionPage;

typedef struct
{
  GePages *pages;
  guint64 page_size;
  guint64 total;        /* bytes to reserve */
  gboolean reuse;       /* takes pages that others returned; else only new ones and those it had */
  guint64 base, size;   /* 0: not reserved */
  guint64 used;         /* bytes allocated */
  guint64 used_count;   /* of gemem_ge_session_share() */
  guint64 phys;         /* bytes of the pages in use */
  gboolean unsupported; /* the device refused to reserve: all later requests are refused */
  GArray *records;      /* GeSessionPage: from the base to the highest page used so far */
} GeSessionRange;

/* @total: bytes of addresses, rounded up to the page size that @pages has now. */
void gemem_ge_session_init (GeSessionRange *range, GePages *pages, guint64 total, gboolean reuse);
/* Releases pages and addresses; the range can be used again, and will lie elsewhere. */
void gemem_ge_session_reset (GeSessionRange *range);
void gemem_ge_session_clear (GeSessionRange *range);

/* MallocMemory(incremental): @bytes behind what is used, backed.  0: refused, nothing changed. */
guint64 gemem_ge_session_append (GeSessionRange *range, guint64 bytes);
/* MallocMemory: the base, with @bytes behind it backed; every caller gets the same.  0: refused. */
guint64 gemem_ge_session_share (GeSessionRange *range, guint64 bytes);
/* FreeMemory: ends one share; the end of the last one resets the range. */
void gemem_ge_session_unshare (GeSessionRange *range);

/* Puts pages under a piece that was appended; FALSE: the device refused, nothing changed. */
gboolean gemem_ge_session_bind (GeSessionRange *range, guint64 address, guint64 bytes);
/* Recycle: ends one binding of the piece; its pages wait in the pool. */
void gemem_ge_session_unbind (GeSessionRange *range, guint64 address, guint64 bytes);

/* Bytes that an append could allocate without a call of the device. */
guint64 gemem_ge_session_free_bytes (const GeSessionRange *range);
/* A page has memory exactly while it has users; @what names the owner.  GEMEM_ERROR_INVARIANT. */
gboolean gemem_ge_session_check (const GeSessionRange *range, const char *what, GError **error);

/* The pages of the range in order of their addresses: OVERHEAD where they are in use (graphs share
 * them), FREE where they are in the page pool. */
void gemem_ge_session_walk (const GeSessionRange *range, GememSpanFunc func, gpointer data);
/* Pages in the page pool that are mapped nowhere, as their range was released: FREE, at addresses
 * beyond all real ones (2^63 and up). */
void gemem_ge_session_walk_lost (const GePages *pages, GememSpanFunc func, gpointer data);

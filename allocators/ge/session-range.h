/* session-range.h - GE's ExpandableActiveMemoryAllocator: one growing range of addresses of a
 * session; and FixedBaseExpandableAllocator: the same range allocated to every caller.
 *
 * What: as many addresses as the device has memory are reserved at the first use; pages of a shared
 * pool (pages.h) are put under what is used, by the rules of range.h.  A piece of the range may
 * return its pages while it is idle, and takes pages, perhaps others, before it is used again; its
 * addresses never change.  Whoever binds pages that another graph uses too may be refused, and what
 * a refusal leaves behind is what the real system leaves: pages with memory and without user, and
 * at the end of the range pages that are lost.
 * Threads: as in the real system all functions lock (recursively), here the device, so that several
 * threads may have ranges on one device.  Who reads the members of a range holds that lock.
 * Invariants: a page with users has memory, shown at its own place and nowhere else; `backing.phys`
 * is all such memory in bytes, idle pages included.
 * Cost: O(pages of the piece).
 * Origin: ge-runtime.md 5.9, 5.10.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/ge/range.h"

typedef struct
{
  GeRange backing;      /* base 0: not reserved */
  guint64 total;        /* bytes of the device; reserved rounded up to pages */
  guint64 used;         /* bytes allocated */
  guint64 used_count;   /* of gemem_ge_session_share() */
  gboolean unsupported; /* more was asked for at first, or the device refused to reserve: all later
                           requests are refused */
  GArray *pieces;       /* guint64: where each appended piece ends, as offset */
} GeSessionRange;

/* @total: the largest first request; bytes of addresses, rounded up to the page size that @pages
 * has now.  Without @reuse the range takes no pages that others returned. */
void gemem_ge_session_init (GeSessionRange *range, GePages *pages, guint64 total, gboolean reuse);
/* FreeMemory: unbinds each piece, then all pages, and releases the addresses; the range can
 * be used again, and will lie elsewhere.  What was bound more often is lost to the page pool. */
void gemem_ge_session_reset (GeSessionRange *range);
void gemem_ge_session_clear (GeSessionRange *range);

/* MallocMemory(incremental): @bytes behind what is used, backed.  0: refused; the next one begins
 * at the same place. */
guint64 gemem_ge_session_append (GeSessionRange *range, guint64 bytes);
/* MallocMemory: the base, with @bytes behind it backed; every caller gets the same.  0: refused. */
guint64 gemem_ge_session_share (GeSessionRange *range, guint64 bytes);
/* FreeMemory: ends one share; the end of the last one resets the range. */
void gemem_ge_session_unshare (GeSessionRange *range);

/* Puts pages under @bytes at @address, which may lie outside of the range: then nothing is to do.
 * FALSE: refused by the device, or because a page in the middle is in use (5.9). */
gboolean gemem_ge_session_bind (GeSessionRange *range, guint64 address, guint64 bytes);
/* Recycle: ends one binding of the piece; its pages wait in the pool. */
void gemem_ge_session_unbind (GeSessionRange *range, guint64 address, guint64 bytes);

/* Bytes that an append could allocate without a call of the device. */
guint64 gemem_ge_session_free_bytes (const GeSessionRange *range);
/* A page with users has memory in its place; @what names the owner.  GEMEM_ERROR_INVARIANT. */
gboolean gemem_ge_session_check (const GeSessionRange *range, const char *what, GError **error);

/* The pages of the range in order of their addresses: OVERHEAD where they are in use (graphs share
 * them), FREE where they are idle or in the page pool. */
void gemem_ge_session_walk (const GeSessionRange *range, GememSpanFunc func, gpointer data);
/* Pages of the page pool that are mapped nowhere, as their range was released: FREE, or OVERHEAD
 * where they are lost, at addresses beyond all real ones (2^63 and up). */
void gemem_ge_session_walk_lost (const GePages *pages, GememSpanFunc func, gpointer data);

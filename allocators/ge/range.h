/* range.h - the backing of one virtual range with large physical pages: GE's
 * ExpandableActiveMemoryAllocatorImp.
 *
 * What: a pool cuts blocks from a reserved range of addresses, or a session appends pieces to one.
 * This module puts physical pages under a block when it is allocated and keeps them when it is
 * freed.  Before it takes new memory it may gather idle pages that lie elsewhere in the range,
 * which the pool then maps at addresses of their own (NEW_VA).  A block that would cover pages
 * which are mapped elsewhere is refused (USING), and the pool looks further down.  A session knows
 * neither reaction: both are failures there (5.9).
 * Invariants: a record counts the blocks that touch its page (`ref`); `phys` is the number of pages
 * held, in bytes; a record says that it is on the free stack if it was put there once it has been
 * taken from it (a stack that outlives its range may have entries twice, 5.9).  The order of the
 * stack and the integer test of 5.3 decide addresses and follow the real system exactly.
 * Cost: amortised O(pages of the block).
 * Origin: ge-runtime.md 5.1 to 5.7, 5.9.
 */
#pragma once

#include "allocators/ge/pages.h"

/* One page of the range. */
typedef struct
{
  guint32 page;     /* physical page, or GE_NO_PAGE */
  guint32 last;     /* the physical page it had before, see gemem_ge_pages_take() */
  guint32 ref;      /* blocks of the range that touch it */
  guint32 maps;     /* addresses at which its physical page is mapped; 0 with memory: 5.6 */
  guint8 using;     /* allocated, in its place or (with ref 0) in a new-VA block */
  guint8 in_free;   /* on the free stack */
  guint8 recycled;  /* its memory was returned: next time it gets memory in place */
  guint8 elsewhere; /* a live new-VA block has it mapped */
} GeRecord;

extern const GeRecord gemem_ge_unused_record;

#define GE_CHUNK 256 /* records; a range of 4 TiB has half a million, of which few are used */

typedef struct
{
  GePages *pages;
  guint64 base, size, page_size;
  GeRecord **chunks; /* of GE_CHUNK records each; NULL: none of them was ever used */
  guint32 n_chunks;  /* no record above these was ever used, so that a large range costs nothing */
  guint32 n_records; /* what lies above them was never used */
  gboolean reuse;    /* takes pages that others returned; else only new ones and those it had */
  GArray *free;      /* guint32: stack of records */
  GArray *list;      /* guint32: pa_list, records of the latest request */
  guint64 phys;      /* bytes */
  /* of the pool, at its latest success; of a session always 0 */
  guint64 theory_min;
} GeRange;

typedef enum
{
  GE_BACKED,
  GE_BACK_FAILED, /* the device refused; nothing is kept */
  /* part of it is mapped elsewhere; *reuse: bytes from the top that are in the way */
  GE_BACK_USING,
  /* `list` holds the pages to map at new addresses; *reuse: bytes of the block to hide */
  GE_BACK_NEW_VA,
} GeBacking;

/* FALSE: the device has no virtual memory, or refuses; nothing is changed. */
gboolean gemem_ge_range_init (GeRange *range, GePages *pages, guint64 size);
void gemem_ge_range_clear (GeRange *range);

/* A range of a session: without addresses, of pages of @page_size, whose stack stays from one set
 * of addresses to the next.  gemem_ge_range_open() gets @size bytes of them (FALSE: refused), with
 * records up to the highest page used only; gemem_ge_range_close() releases them, and what has a
 * user then is lost. */
void gemem_ge_range_prepare (GeRange *range, GePages *pages, guint64 page_size, gboolean reuse);
gboolean gemem_ge_range_open (GeRange *range, guint64 size);
void gemem_ge_range_close (GeRange *range);
void gemem_ge_range_dispose (GeRange *range);

static inline gboolean
gemem_ge_range_contains (const GeRange *range, guint64 address)
{
  return address - range->base < range->size;
}

/* The record of page @i, which is below n_records; what was never used has one that
 * is not written. */
static inline GeRecord *
gemem_ge_range_record (const GeRange *range, guint64 i)
{
  GeRecord *chunk = i / GE_CHUNK < range->n_chunks ? range->chunks[i / GE_CHUNK] : NULL;

  return chunk != NULL ? &chunk[i % GE_CHUNK] : (GeRecord *) &gemem_ge_unused_record;
}

/* @i, or where its record was never used, the next page of which this may not be so. */
static inline guint64
gemem_ge_range_used_from (const GeRange *range, guint64 i)
{
  if (i / GE_CHUNK >= range->n_chunks)
    return G_MAXUINT32;
  return range->chunks[i / GE_CHUNK] != NULL ? i : (i / GE_CHUNK + 1) * GE_CHUNK;
}

/* MallocPhysicalMemory for the block of @bytes at @address. */
GeBacking gemem_ge_range_back (GeRange *range, guint64 address, guint64 bytes, guint64 *reuse);
/* The block is freed: its pages become idle. */
void gemem_ge_range_unback (GeRange *range, guint64 address, guint64 bytes);
/* Returns the memory of pages that only the idle span [@address, @address + @bytes) touches to the
 * page pool. */
void gemem_ge_range_recycle (GeRange *range, guint64 address, guint64 bytes);
/* The same for a piece of a session, which knows no idle spans (5.9): pages without a further user
 * are put on the stack and return to the page pool at once; the entry of the stack stays. */
void gemem_ge_range_unbind (GeRange *range, guint64 address, guint64 bytes);

/* ---- new-VA blocks: lists of records whose pages are mapped together elsewhere */

/* Marks all of @records as used; FALSE, with nothing marked, if one is used already. */
gboolean gemem_ge_range_claim (GeRange *range, const guint32 *records, guint n);
/* Undoes a claim: the pages become idle. */
void gemem_ge_range_unclaim (GeRange *range, const guint32 *records, guint n);
/* Pages that were gathered but are not needed become idle. */
void gemem_ge_range_push (GeRange *range, const guint32 *records, guint n);
/* Maps the pages of @records one after another at fresh addresses and claims them; 0 when the
 * device refuses. */
guint64 gemem_ge_range_map_elsewhere (GeRange *range, const guint32 *records, guint n);
/* Ends that: releases the addresses. */
void gemem_ge_range_unmap_elsewhere (GeRange *range, guint64 address, const guint32 *records,
                                     guint n);

/* range.c - see range.h; the section numbers are those of ge-runtime.md. */
#include "config.h"

#include "allocators/ge/range.h"
#include "base/units.h"

const GeRecord gemem_ge_unused_record = { .page = GE_NO_PAGE, .last = GE_NO_PAGE };

/* ---- life */

void
gemem_ge_range_prepare (GeRange *range, GePages *pages, guint64 page_size, gboolean reuse)
{
  *range = (GeRange){ .pages = pages, .page_size = page_size, .reuse = reuse };
  range->free = g_array_new (FALSE, FALSE, sizeof (guint32));
  range->list = g_array_new (FALSE, FALSE, sizeof (guint32));
}

void
gemem_ge_range_dispose (GeRange *range)
{
  g_array_unref (range->free);
  g_array_unref (range->list);
}

gboolean
gemem_ge_range_open (GeRange *range, guint64 size)
{
  const guint64 rounded = gemem_round_up (size, range->page_size);

  range->base = gemem_ge_pages_open (range->pages, range->page_size, rounded);
  range->size = range->base != 0 ? rounded : 0;
  return range->base != 0;
}

static guint32
chunks_of (guint32 n_records)
{
  return (n_records + GE_CHUNK - 1) / GE_CHUNK;
}

/* Records up to @n, at least. */
static void
grow (GeRange *range, guint32 n)
{
  range->n_records = MAX (range->n_records, n);
}

static void
grow_chunks (GeRange *range, guint32 needed)
{
  const guint32 had = range->n_chunks;

  if (needed <= had)
    return;
  range->n_chunks = MIN (MAX (needed, 2 * had), chunks_of (range->n_records));
  range->chunks = g_renew (GeRecord *, range->chunks, range->n_chunks);
  for (guint32 i = had; i < range->n_chunks; i++)
    range->chunks[i] = NULL;
}

/* Memory for the records @first to @last. */
static void
make_records (GeRange *range, guint32 first, guint32 last)
{
  grow_chunks (range, last / GE_CHUNK + 1);
  for (guint32 c = first / GE_CHUNK; c <= last / GE_CHUNK; c++)
    if (range->chunks[c] == NULL)
      {
        range->chunks[c] = g_new (GeRecord, GE_CHUNK);
        for (guint i = 0; i < GE_CHUNK; i++)
          range->chunks[c][i] = gemem_ge_unused_record;
      }
}

/* What ends the use of a page's memory: the page is lost, or returns to the page pool. */
static void
end_pages (GeRange *range, void (*end) (GePages *pages, guint32 page))
{
  for (guint32 c = 0; c < range->n_chunks; c++)
    for (guint i = 0; range->chunks[c] != NULL && i < GE_CHUNK; i++)
      if (range->chunks[c][i].page != GE_NO_PAGE)
        {
          end (range->pages, range->chunks[c][i].page);
          range->chunks[c][i].page = GE_NO_PAGE;
        }
}

void
gemem_ge_range_close (GeRange *range)
{
  end_pages (range, gemem_ge_pages_lose);
  gemem_ge_pages_close (range->pages, range->base, range->size);
  for (guint32 c = 0; c < range->n_chunks; c++)
    g_free (range->chunks[c]);
  g_clear_pointer (&range->chunks, g_free);
  range->n_chunks = range->n_records = 0;
  range->base = range->size = range->phys = 0;
}

gboolean
gemem_ge_range_init (GeRange *range, GePages *pages, guint64 size)
{
  GeRange opened;

  gemem_ge_range_prepare (&opened, pages, pages->page_size, TRUE);
  if (!gemem_ge_range_open (&opened, size))
    {
      gemem_ge_range_dispose (&opened);
      return FALSE;
    }
  grow (&opened, (guint32) (opened.size / opened.page_size));
  *range = opened;
  return TRUE;
}

void
gemem_ge_range_clear (GeRange *range)
{
  end_pages (range, gemem_ge_pages_give);
  gemem_ge_range_close (range);
  gemem_ge_range_dispose (range);
}

/* ---- the free stack */

static gboolean
is_free (const GeRecord *record)
{
  return record->ref == 0 && !record->using && record->page != GE_NO_PAGE;
}

static void
push (GeRange *range, guint32 i)
{
  GeRecord *record = gemem_ge_range_record (range, i);

  if (record->in_free || !is_free (record))
    return;
  record->in_free = TRUE;
  g_array_append_val (range->free, i);
}

/* The record freed last that is still free, or GE_NO_PAGE. */
static guint32
pop (GeRange *range)
{
  while (range->free->len > 0)
    {
      const guint32 i = g_array_index (range->free, guint32, range->free->len - 1);

      g_array_set_size (range->free, range->free->len - 1);
      if (i >= range->n_records) /* of addresses before these (5.9), and not used yet */
        continue;
      GeRecord *record = gemem_ge_range_record (range, i);

      if (record->in_free) /* else it is of earlier addresses, and perhaps not used yet */
        record->in_free = FALSE;
      if (is_free (record))
        return i;
    }
  return GE_NO_PAGE;
}

/* ---- pages under records */

static gboolean
is_backed (const GeRange *range, gint64 i)
{
  return gemem_ge_range_record (range, i)->page != GE_NO_PAGE;
}

/* A page of memory in its own place, used by one block. */
static gboolean
obtain (GeRange *range, guint32 i)
{
  GeRecord *record = gemem_ge_range_record (range, i);
  const guint32 page = gemem_ge_pages_take (range->pages, &record->last,
                                            range->base + i * range->page_size, range->reuse);

  if (page == GE_NO_PAGE)
    return FALSE;
  record->page = page;
  record->ref = record->maps = 1;
  record->using = TRUE;
  record->recycled = FALSE;
  range->phys += range->page_size;
  return TRUE;
}

/* 5.1: one mapping of the page of record @i fewer; after the last one the memory goes to the page
 * pool. */
static void
release (GeRange *range, guint32 i)
{
  GeRecord *record = gemem_ge_range_record (range, i);

  if (record->maps > 0)
    record->maps--;
  if (record->page == GE_NO_PAGE || record->maps > 0)
    return;
  gemem_ge_pages_give (range->pages, record->page);
  record->page = GE_NO_PAGE;
  record->recycled = TRUE;
  range->phys -= range->page_size;
}

/* One user fewer after a failure (5.7).  A gathered page has none: it keeps its memory, and is on
 * no stack. */
static void
undo (GeRange *range, guint32 i)
{
  GeRecord *record = gemem_ge_range_record (range, i);

  if (record->ref > 0 && --record->ref == 0)
    release (range, i);
  if (record->ref == 0)
    record->using = FALSE;
}

/* ---- 5.3 */

/* What one request knows while it walks its pages from the top down. */
typedef struct
{
  GeRange *range;
  gint64 ib, ie; /* first and last page; `ib` rises when pages were gathered */
  guint64 need, tail, reuse, gathered;
  gboolean recycle;
} Walk;

/* Idle pages instead of new memory, if that keeps the pool's efficiency from falling below 99 %. */
static void
gather (Walk *w)
{
  GeRange *range = w->range;
  guint32 q;

  w->recycle = range->theory_min * 100 / (range->phys + range->page_size) < 99;
  while (w->recycle && range->list->len < w->need && (q = pop (range)) != GE_NO_PAGE)
    {
      gemem_ge_range_record (range, q)->using = TRUE;
      g_array_append_val (range->list, q);
      w->gathered++;
    }
  if (w->gathered == 0)
    return;
  w->ib = w->ie - (gint64) (w->need - w->gathered);
  if (w->tail == 0 && w->ib < w->ie)
    w->ib++;
}

/* A record without memory.  FALSE: the walk is over (with *failed set: the device refused). */
static gboolean
fill_hole (Walk *w, gint64 i, gboolean *failed)
{
  GeRange *range = w->range;
  const guint32 index = (guint32) i;
  gboolean hole;

  if (!gemem_ge_range_record (range, i)->recycled && !w->recycle)
    gather (w);
  if ((w->gathered > 0 && range->list->len == w->need) || i < w->ib)
    return FALSE;
  hole = !is_backed (range, w->ib);
  *failed = !obtain (range, index);
  if (*failed)
    return FALSE;
  w->reuse += range->page_size;
  if (hole)
    g_array_append_val (range->list, index);
  return TRUE;
}

/* A record with memory.  FALSE: a new-VA block has it. */
static gboolean
use_again (Walk *w, gint64 i)
{
  GeRecord *record = gemem_ge_range_record (w->range, i);
  const guint32 index = (guint32) i;

  if (record->ref > 0 && (i == w->ib || i == w->ie))
    {
      record->ref++; /* shared with a neighbour */
      return TRUE;
    }
  if (record->using)
    return FALSE;
  record->using = TRUE;
  record->ref++;
  w->reuse += w->range->page_size;
  if (!is_backed (w->range, w->ib))
    g_array_append_val (w->range->list, index);
  return TRUE;
}

/* 5.7: returns what was taken for pages above @i, and for the list. */
static GeBacking
fail (Walk *w, gint64 i)
{
  for (gint64 j = w->ie; j > i; j--)
    undo (w->range, (guint32) j);
  for (guint j = 0; j < w->range->list->len; j++)
    undo (w->range, g_array_index (w->range->list, guint32, j));
  return GE_BACK_FAILED;
}

/* 5.4: releases the pages above the obstacle @in_use; *reuse: how much of the top is in the way. */
static GeBacking
yield (Walk *w, gint64 in_use, guint64 bytes, guint64 *reuse)
{
  GeRange *range = w->range;
  gint64 e = w->ie;
  guint64 counted = w->tail;

  *reuse = bytes;
  if (e > 0 && w->tail > 0)
    gemem_ge_range_record (range, e--)->ref--;
  if (!is_backed (range, w->ib))
    {
      *reuse = w->tail;
      for (gint64 i = e; i >= 0 && is_backed (range, i); i--)
        *reuse += range->page_size;
    }
  for (gint64 i = e; i > in_use && counted < *reuse; i--, counted += range->page_size)
    if (gemem_ge_range_record (range, i)->ref > 0 && gemem_ge_range_record (range, i)->using)
      {
        gemem_ge_range_record (range, i)->ref--;
        gemem_ge_range_record (range, i)->using = FALSE;
        push (range, (guint32) i);
      }
  return GE_BACK_USING;
}

/* 5.5, the part about pages.  A list that is too short is a failure, which only a session meets:
 * there, pages that are not in the list keep the user that the walk gave them (5.9). */
static GeBacking
collect (Walk *w, guint64 *reuse)
{
  GeRange *range = w->range;

  for (guint j = 0; j < range->list->len; j++)
    {
      GeRecord *record = gemem_ge_range_record (range, g_array_index (range->list, guint32, j));

      if (record->ref > 0)
        record->ref--;
      record->using = FALSE;
    }
  if (w->tail > 0)
    gemem_ge_range_record (range, w->ie)->ref--;
  *reuse = w->reuse + w->tail;
  return range->list->len == w->need ? GE_BACK_NEW_VA : GE_BACK_FAILED;
}

GeBacking
gemem_ge_range_back (GeRange *range, guint64 address, guint64 bytes, guint64 *reuse)
{
  const guint64 offset = address - range->base, end = offset + bytes;
  Walk w = { .range = range,
             .ib = (gint64) (offset / range->page_size),
             .ie = (gint64) ((end - 1) / range->page_size) };
  gboolean failed = FALSE;

  grow (range, (guint32) w.ie + 1);
  make_records (range, (guint32) w.ib, (guint32) w.ie);
  w.need = (bytes + range->page_size - 1) / range->page_size;
  w.tail = w.ib < w.ie && gemem_ge_range_record (range, w.ie)->ref > 0 ? end % range->page_size : 0;
  g_array_set_size (range->list, 0);
  *reuse = 0;
  for (gint64 i = w.ie; i >= w.ib; i--)
    {
      if (is_backed (range, i))
        {
          if (!use_again (&w, i))
            return yield (&w, i, bytes, reuse);
        }
      else if (!fill_hole (&w, i, &failed))
        {
          if (failed)
            return fail (&w, i);
          break;
        }
    }
  return w.recycle && w.gathered > 0 ? collect (&w, reuse) : GE_BACKED;
}

/* ---- 5.6 */

void
gemem_ge_range_unback (GeRange *range, guint64 address, guint64 bytes)
{
  const guint64 offset = address - range->base;

  for (guint64 i = offset / range->page_size; i <= (offset + bytes - 1) / range->page_size; i++)
    if (--gemem_ge_range_record (range, i)->ref == 0)
      {
        gemem_ge_range_record (range, i)->using = FALSE;
        push (range, (guint32) i);
      }
}

void
gemem_ge_range_recycle (GeRange *range, guint64 address, guint64 bytes)
{
  const guint64 offset = address - range->base;

  if (bytes == 0)
    return;
  for (guint64 i = gemem_ge_range_used_from (range, offset / range->page_size);
       i <= (offset + bytes - 1) / range->page_size; i = gemem_ge_range_used_from (range, i + 1))
    if (is_free (gemem_ge_range_record (range, i)))
      release (range, (guint32) i);
}

/* ---- 5.9 */

void
gemem_ge_range_unbind (GeRange *range, guint64 address, guint64 bytes)
{
  const guint64 offset = address - range->base;

  if (bytes == 0)
    return;
  for (guint64 i = offset / range->page_size;
       i <= (offset + bytes - 1) / range->page_size && i < range->n_records; i++)
    {
      GeRecord *record = gemem_ge_range_record (range, i);

      if (record->page == GE_NO_PAGE || (record->ref > 0 && --record->ref > 0))
        continue;
      record->using = FALSE;
      push (range, (guint32) i);
      release (range, (guint32) i);
    }
}

/* ---- new-VA blocks */

void
gemem_ge_range_push (GeRange *range, const guint32 *records, guint n)
{
  for (guint j = 0; j < n; j++)
    push (range, records[j]);
}

void
gemem_ge_range_unclaim (GeRange *range, const guint32 *records, guint n)
{
  for (guint j = 0; j < n; j++)
    {
      gemem_ge_range_record (range, records[j])->using = FALSE;
      gemem_ge_range_record (range, records[j])->elsewhere = FALSE;
      push (range, records[j]);
    }
}

gboolean
gemem_ge_range_claim (GeRange *range, const guint32 *records, guint n)
{
  for (guint j = 0; j < n; j++)
    {
      GeRecord *record = gemem_ge_range_record (range, records[j]);

      if (record->using)
        {
          gemem_ge_range_unclaim (range, records, j);
          return FALSE;
        }
      record->using = record->elsewhere = TRUE;
    }
  return TRUE;
}

guint64
gemem_ge_range_map_elsewhere (GeRange *range, const guint32 *records, guint n)
{
  const guint64 size = n * range->page_size, address = gemem_ge_pages_reserve (range->pages, size);

  if (address == 0)
    return 0;
  for (guint j = 0; j < n; j++)
    if (!gemem_ge_pages_map (range->pages, address + j * range->page_size,
                             gemem_ge_range_record (range, records[j])->page))
      {
        gemem_ge_pages_release (range->pages, address, size);
        return 0;
      }
  for (guint j = 0; j < n; j++)
    {
      GeRecord *record = gemem_ge_range_record (range, records[j]);

      record->using = record->elsewhere = TRUE;
      record->maps++;
    }
  return address;
}

void
gemem_ge_range_unmap_elsewhere (GeRange *range, guint64 address, const guint32 *records, guint n)
{
  for (guint j = 0; j < n; j++)
    if (gemem_ge_range_record (range, records[j])->page != GE_NO_PAGE
        && gemem_ge_range_record (range, records[j])->maps > 0)
      gemem_ge_range_record (range, records[j])
          ->maps--; /* even at 0 it keeps its memory: its home frees it */
  gemem_ge_pages_release (range->pages, address, n * range->page_size);
}

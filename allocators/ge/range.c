/* range.c - see range.h; the section numbers are those of ge-runtime.md. */
#include "config.h"

#include "allocators/ge/range.h"
#include "base/units.h"

gboolean
gemem_ge_range_init (GeRange *range, GePages *pages, guint64 size)
{
  const guint64 page = pages->page_size;
  const guint64 rounded = gemem_round_up (size, page);
  const guint64 base = gemem_ge_pages_open (pages, page, rounded);

  if (base == 0)
    return FALSE;
  *range = (GeRange){ .pages = pages, .base = base, .size = rounded, .page_size = page };
  range->n_records = (guint32) (rounded / page);
  range->records = g_new0 (GeRecord, range->n_records);
  for (guint32 i = 0; i < range->n_records; i++)
    range->records[i].page = range->records[i].last = GE_NO_PAGE;
  range->free = g_array_new (FALSE, FALSE, sizeof (guint32));
  range->list = g_array_new (FALSE, FALSE, sizeof (guint32));
  return TRUE;
}

void
gemem_ge_range_clear (GeRange *range)
{
  for (guint32 i = 0; i < range->n_records; i++)
    if (range->records[i].page != GE_NO_PAGE)
      gemem_ge_pages_give (range->pages, range->records[i].page);
  gemem_ge_pages_close (range->pages, range->base, range->size);
  g_free (range->records);
  g_array_unref (range->free);
  g_array_unref (range->list);
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
  GeRecord *record = &range->records[i];

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
      range->records[i].in_free = FALSE;
      if (is_free (&range->records[i]))
        return i;
    }
  return GE_NO_PAGE;
}

/* ---- pages under records */

static gboolean
is_backed (const GeRange *range, gint64 i)
{
  return range->records[i].page != GE_NO_PAGE;
}

/* A page of memory in its own place, used by one block. */
static gboolean
obtain (GeRange *range, guint32 i)
{
  GeRecord *record = &range->records[i];
  const guint32 page = gemem_ge_pages_take (range->pages, record->last,
                                            range->base + i * range->page_size, TRUE);

  if (page == GE_NO_PAGE)
    return FALSE;
  record->page = record->last = page;
  record->ref = record->maps = 1;
  record->using = TRUE;
  record->recycled = FALSE;
  range->phys += range->page_size;
  return TRUE;
}

/* One mapping of the page of record @i fewer; after the last one the memory goes to the page
 * pool. */
static gboolean
drop_map (GeRange *range, guint32 i)
{
  GeRecord *record = &range->records[i];

  if (--record->maps > 0)
    return FALSE;
  gemem_ge_pages_give (range->pages, record->page);
  record->page = GE_NO_PAGE;
  range->phys -= range->page_size;
  return TRUE;
}

/* One user fewer after a failure (5.7). */
static void
undo (GeRange *range, guint32 i)
{
  GeRecord *record = &range->records[i];

  if (record->ref > 0)
    record->ref--;
  if (record->ref > 0 || record->page == GE_NO_PAGE)
    return;
  record->using = FALSE;
  if (record->maps == 1)
    drop_map (range, i);
  else
    push (range, i); /* an idle new-VA block has it mapped too */
}

/* ---- 5.3 */

/* What one request knows while it walks its pages from the top down. */
typedef struct
{
  GeRange *range;
  gint64 ib, ie; /* first and last page; `ib` rises when pages were gathered */
  gint64 low;    /* the lowest page that the block counts as touched */
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
      range->records[q].using = TRUE;
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

  if (!range->records[i].recycled && !w->recycle)
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
  GeRecord *record = &w->range->records[i];
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
    range->records[e--].ref--;
  if (!is_backed (range, w->ib))
    {
      *reuse = w->tail;
      for (gint64 i = e; i >= 0 && is_backed (range, i); i--)
        *reuse += range->page_size;
    }
  for (gint64 i = e; i > in_use && counted < *reuse; i--, counted += range->page_size)
    if (range->records[i].ref > 0 && range->records[i].using)
      {
        range->records[i].ref--;
        range->records[i].using = FALSE;
        push (range, (guint32) i);
      }
  return GE_BACK_USING;
}

/* 5.5, the part about pages.  Pages that the walk touched before it gathered are not in the list;
 * they become idle. */
static GeBacking
collect (Walk *w, guint64 *reuse)
{
  GeRange *range = w->range;

  for (guint j = 0; j < range->list->len; j++)
    {
      GeRecord *record = &range->records[g_array_index (range->list, guint32, j)];

      if (record->ref > 0)
        record->ref--;
      record->using = FALSE;
    }
  for (gint64 i = w->ie; i >= w->low; i--)
    if (range->records[i].using && --range->records[i].ref == 0)
      {
        range->records[i].using = FALSE;
        push (range, (guint32) i);
      }
  *reuse = w->reuse + w->tail;
  if (range->list->len == w->need)
    return GE_BACK_NEW_VA;
  gemem_ge_range_push (range, (const guint32 *) (gconstpointer) range->list->data,
                       range->list->len);
  return GE_BACK_FAILED;
}

GeBacking
gemem_ge_range_back (GeRange *range, guint64 address, guint64 bytes, guint64 *reuse)
{
  const guint64 offset = address - range->base, end = offset + bytes;
  Walk w = { .range = range,
             .ib = (gint64) (offset / range->page_size),
             .ie = (gint64) ((end - 1) / range->page_size) };
  gboolean failed = FALSE;

  w.low = w.ie + 1;
  w.need = (bytes + range->page_size - 1) / range->page_size;
  w.tail = w.ib < w.ie && range->records[w.ie].ref > 0 ? end % range->page_size : 0;
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
      w.low = i;
    }
  return w.recycle && w.gathered > 0 ? collect (&w, reuse) : GE_BACKED;
}

/* ---- 5.6 */

void
gemem_ge_range_unback (GeRange *range, guint64 address, guint64 bytes)
{
  const guint64 offset = address - range->base;

  for (guint64 i = offset / range->page_size; i <= (offset + bytes - 1) / range->page_size; i++)
    if (--range->records[i].ref == 0)
      {
        range->records[i].using = FALSE;
        push (range, (guint32) i);
      }
}

void
gemem_ge_range_recycle (GeRange *range, guint64 address, guint64 bytes)
{
  const guint64 offset = address - range->base;

  if (bytes == 0)
    return;
  for (guint64 i = offset / range->page_size; i <= (offset + bytes - 1) / range->page_size; i++)
    if (is_free (&range->records[i]) && drop_map (range, (guint32) i))
      range->records[i].recycled = TRUE;
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
      range->records[records[j]].using = FALSE;
      range->records[records[j]].elsewhere = FALSE;
      push (range, records[j]);
    }
}

gboolean
gemem_ge_range_claim (GeRange *range, const guint32 *records, guint n)
{
  for (guint j = 0; j < n; j++)
    {
      GeRecord *record = &range->records[records[j]];

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
                             range->records[records[j]].page))
      {
        gemem_ge_pages_release (range->pages, address, size);
        return 0;
      }
  for (guint j = 0; j < n; j++)
    {
      GeRecord *record = &range->records[records[j]];

      record->using = record->elsewhere = TRUE;
      record->maps++;
    }
  return address;
}

void
gemem_ge_range_unmap_elsewhere (GeRange *range, guint64 address, const guint32 *records, guint n)
{
  for (guint j = 0; j < n; j++)
    if (range->records[records[j]].page != GE_NO_PAGE)
      drop_map (range, records[j]);
  gemem_ge_pages_release (range->pages, address, n * range->page_size);
}

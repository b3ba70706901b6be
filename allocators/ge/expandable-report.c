/* expandable-report.c - spans and invariants of a pool with a virtual range.
 *
 * A page of the range has memory in its place, or its memory is mapped in a new-VA block, or it has
 * none.  Memory that no pool uses waits in the page pool and is reported where it was used last.
 * The check includes what GE's own VA/PA self-check verifies (5.8): no page serves two blocks, and
 * each is mapped where its block is.
 * Cost: O(spans + pages of the range that were ever used) to walk, and O(pages of the range) to check; not on the event path.
 * Origin: ge-runtime.md 5.
 */
#include "config.h"

#include "allocators/ge/expandable-pool.h"

/* ---- walk */

/* TRUE if the address of page @i holds memory of the page pool that no user has. */
static gboolean
keeps_returned (const GeRange *range, guint64 i)
{
  const guint64 address = range->base + i * range->page_size;
  const guint32 page = gemem_ge_pages_at (range->pages, address);
  const GePhysical *physical;

  if (page == GE_NO_PAGE || gemem_ge_range_record (range, i)->page != GE_NO_PAGE)
    return FALSE;
  physical = &g_array_index (range->pages->pages, GePhysical, page);
  return physical->ref == 0 && physical->home == address;
}

static GememSpanState
state_of (const GeRange *range, guint64 i)
{
  const GeRecord *record = gemem_ge_range_record (range, i);

  if (keeps_returned (range, i))
    return GEMEM_SPAN_FREE;
  if (record->page == GE_NO_PAGE || record->elsewhere)
    return GEMEM_SPAN_UNMAPPED;
  return record->using && record->ref == 0 ? GEMEM_SPAN_OVERHEAD : GEMEM_SPAN_FREE;
}

/* An idle or hidden piece: one report per run of pages in the same state. */
static void
walk_idle (const GeRange *range, GememSpan *span, guint64 end, GememSpanFunc func, gpointer data)
{
  while (span->address < end)
    {
      guint64 i = (span->address - range->base) / range->page_size;

      span->state = state_of (range, i);
      do
        i = MAX (i + 1,
                 span->state == GEMEM_SPAN_UNMAPPED ? gemem_ge_range_used_from (range, i) : 0);
      while (range->base + i * range->page_size < end && state_of (range, i) == span->state);
      span->size = MIN (range->base + i * range->page_size, end) - span->address;
      func (span, data);
      span->address += span->size;
    }
}

void
gemem_ge_expandable_walk (const GeSpanPool *pool, guint64 stream, GememSpanFunc func, gpointer data)
{
  const GeExpandable *x = pool->expandable;
  const GeRange *range = &x->range;
  GememSpan out = { .segment = range->base, .segment_size = range->size, .stream = stream };

  for (const GeSpan *span = x->root.first; span != NULL; span = span->next)
    {
      const guint64 size = (guint64) span->pages << pool->config.page_shift;

      out.address = span->address;
      out.user = 0;
      if (!span->occupied || span->hidden)
        {
          walk_idle (range, &out, span->address + size, func, data);
          continue;
        }
      out.size = size;
      out.state = GEMEM_SPAN_LIVE;
      out.user = span->address;
      func (&out, data);
    }
  for (const GeNewVa *v = x->all; v != NULL; v = v->all_next)
    {
      out.segment = out.address = v->span.address;
      out.segment_size = out.size = v->n * range->page_size;
      out.state = v->span.occupied ? GEMEM_SPAN_LIVE : GEMEM_SPAN_UNMAPPED;
      out.user = v->span.occupied ? v->span.address : 0;
      func (&out, data);
    }
}

/* ---- check */

/* How many blocks of the range touch each page. */
static guint32 *
count_refs (const GeSpanPool *pool)
{
  const GeRange *range = &pool->expandable->range;
  guint32 *refs = g_new0 (guint32, range->n_records);

  for (const GeSpan *span = pool->expandable->root.first; span != NULL; span = span->next)
    {
      const guint64 offset = span->address - range->base,
                    end = offset + ((guint64) span->pages << pool->config.page_shift);

      for (guint64 i = offset / range->page_size;
           span->occupied && !span->hidden && i * range->page_size < end; i++)
        refs[i]++;
    }
  return refs;
}

static gboolean
check_record (const GeRange *range, guint32 i, guint32 refs, const char *what, GError **error)
{
  const GeRecord *record = gemem_ge_range_record (range, i);
  const gboolean backed = record->page != GE_NO_PAGE;

  if (record->ref != refs)
    return GE_BROKEN ("%s: page %u of the range is touched by %u blocks, its record says %u", what,
                      i, refs, record->ref);
  if (refs > 0 && !(backed && record->using))
    return GE_BROKEN ("%s: page %u of the range has a block but no memory", what, i);
  if (record->elsewhere && !(backed && record->using && refs == 0))
    return GE_BROKEN ("%s: page %u of the range is shown elsewhere and used in its place", what, i);
  if (backed
      && gemem_ge_pages_at (range->pages, range->base + i * range->page_size) != record->page)
    return GE_BROKEN ("%s: page %u of the range is not mapped in its place", what, i);
  return TRUE;
}

/* The pages of a new-VA block in use are marked `elsewhere`, and mapped at its addresses. */
static gboolean
check_new_va (const GeRange *range, const GeNewVa *v, const char *what, GError **error)
{
  for (guint i = 0; v->span.occupied && i < v->n; i++)
    {
      const guint64 address = v->span.address + i * range->page_size;
      const GeRecord *record = gemem_ge_range_record (range, v->records[i]);

      if (!record->elsewhere)
        return GE_BROKEN ("%s: page %u of the range is shown at 0x%" G_GINT64_MODIFIER
                          "x, but not lent",
                          what, v->records[i], address);
      if (gemem_ge_pages_at (range->pages, address) != record->page)
        return GE_BROKEN ("%s: page %u of the range is not mapped at 0x%" G_GINT64_MODIFIER
                          "x, where it is lent to",
                          what, v->records[i], address);
    }
  return TRUE;
}

gboolean
gemem_ge_expandable_check (const GeSpanPool *pool, const char *what, GError **error)
{
  const GeExpandable *x = pool->expandable;
  g_autofree guint32 *refs = count_refs (pool);
  guint64 backed = 0, elsewhere = 0, shown = 0;

  for (guint32 i = 0; i < x->range.n_records; i++)
    {
      if (!check_record (&x->range, i, refs[i], what, error))
        return FALSE;
      backed += gemem_ge_range_record (&x->range, i)->page != GE_NO_PAGE;
      elsewhere += gemem_ge_range_record (&x->range, i)->elsewhere;
    }
  for (const GeNewVa *v = x->all; v != NULL; v = v->all_next)
    {
      if (!check_new_va (&x->range, v, what, error))
        return FALSE;
      shown += v->span.occupied ? v->n : 0;
    }
  if (backed * x->range.page_size != x->range.phys || shown != elsewhere || x->held->len != 0)
    return GE_BROKEN ("%s: the range holds %" G_GUINT64_FORMAT " pages, %" G_GUINT64_FORMAT
                      " shown elsewhere, %u spans aside; its books say %" G_GUINT64_FORMAT
                      ", %" G_GUINT64_FORMAT " and none",
                      what, backed, shown, x->held->len, x->range.phys / x->range.page_size,
                      elsewhere);
  return TRUE;
}

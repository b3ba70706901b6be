/* active-report.c - what `ge-active` says of itself: spans, invariants, statistics.  Not on the event path.
 *
 * Static memory is shared by graphs and is no block of the program: it is reported as OVERHEAD.  Memory that waits in the page pool and shows
 * nowhere, since the range it was in has been given up, is reported behind all addresses.
 */
#include "config.h"

#include "allocators/ge/active.h"
#include "sim/core/error.h"

static void
append_span (const GememSpan *span, gpointer data)
{
  g_array_append_vals (data, span, 1);
}

static void
append_plain (GArray *spans, guint64 address, guint64 size)
{
  const GememSpan span = { .address = address, .size = size, .segment = address, .segment_size = size, .state = GEMEM_SPAN_OVERHEAD };

  g_array_append_val (spans, span);
}

static int
by_address (gconstpointer a, gconstpointer b)
{
  const GememSpan *x = a, *y = b;

  if (x->segment != y->segment)
    return x->segment < y->segment ? -1 : 1;
  return (x->address > y->address) - (x->address < y->address);
}

void
gemem_ge_active_report_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const GeSession *self = (const GeSession *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  gemem_ge_stack_walk (&self->stack->base, append_span, spans);
  if (self->size > 0)
    append_plain (spans, self->address, self->size);
  for (guint i = 0; i < self->active.blocks->len; i++)
    {
      const GeActiveBlock *block = &g_array_index (self->active.blocks, GeActiveBlock, i);
      if (block->plain)
        append_plain (spans, block->address, block->total);
    }
  if (self->paged)
    gemem_ge_session_walk (&self->range, append_span, spans);
  gemem_ge_session_walk (&self->fixed, append_span, spans);
  gemem_ge_session_walk_lost (self->fixed.pages, append_span, spans);
  g_array_sort (spans, by_address);
  for (guint i = 0; i < spans->len; i++)
    func (&g_array_index (spans, GememSpan, i), data);
}

/* Blocks descend by size and are not overfull. */
static gboolean
check_blocks (const GeActive *active, GError **error)
{
  guint64 before = G_MAXUINT64;

  for (guint i = 0; i < active->blocks->len; i++)
    {
      const GeActiveBlock *block = &g_array_index (active->blocks, GeActiveBlock, i);

      if (block->used > block->total || block->total > before)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT, "ge-active: block %u of %" G_GUINT64_FORMAT " bytes is overfull or out of order", i,
                       block->total);
          return FALSE;
        }
      before = block->total;
    }
  return TRUE;
}

/* A page has memory exactly while it has users. */
static gboolean
check_range (const GeSessionRange *range, GError **error)
{
  guint64 phys = 0;

  for (guint i = 0; i < range->records->len; i++)
    {
      const GeSessionPage *page = &g_array_index (range->records, GeSessionPage, i);

      if ((page->ref > 0) != (page->page != GE_NO_PAGE))
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT, "ge-active: page %u of the session's range has %u users and %s memory", i, page->ref,
                       page->ref > 0 ? "no" : "still");
          return FALSE;
        }
      phys += page->ref > 0 ? range->pages->page_size : 0;
    }
  if (phys == range->phys)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "ge-active: the session's range has %" G_GUINT64_FORMAT " bytes under it, %" G_GUINT64_FORMAT " were counted", phys, range->phys);
  return FALSE;
}

gboolean
gemem_ge_active_report_check (GememAllocator *allocator, GError **error)
{
  const GeSession *self = (const GeSession *) allocator;

  return gemem_ge_stack_check (&self->stack->base, error) && check_blocks (&self->active, error)
         && check_range (&self->fixed, error) && (!self->paged || check_range (&self->range, error));
}

void
gemem_ge_active_report_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const GeSession *self = (const GeSession *) allocator;

  func ("static.load_count", self->documented ? self->loads : self->active.load_count, "", data);
  func ("static.peak", self->documented ? self->size : self->active.peak, "B", data);
  func ("static.blocks", self->documented ? self->size > 0 : self->active.blocks->len, "", data);
  func ("static.fixed", self->fixed.used, "B", data);
  if (self->paged)
    {
      func ("static.used", self->range.used, "B", data);
      func ("static.phys", self->range.phys, "B", data);
      func ("static.virtual_memory_unsupported", self->range.unsupported, "", data);
    }
  gemem_ge_stack_stats (&self->stack->base, func, data);
}

/* session-range.c - see session-range.h. */
#include "config.h"

#include "allocators/ge/session-range.h"
#include "base/error.h"
#include "base/units.h"

#define NOWHERE (G_GUINT64_CONSTANT (1) << 63)

void
gemem_ge_session_init (GeSessionRange *range, GePages *pages, guint64 total, gboolean reuse)
{
  const guint64 page = pages->page_size;

  *range = (GeSessionRange){
    .pages = pages, .page_size = page, .total = gemem_round_up (total, page), .reuse = reuse
  };
  range->records = g_array_new (FALSE, FALSE, sizeof (GeSessionPage));
}

static GeSessionPage *
record (const GeSessionRange *range, guint64 i)
{
  return &g_array_index (range->records, GeSessionPage, i);
}

void
gemem_ge_session_reset (GeSessionRange *range)
{
  if (range->base == 0)
    return;
  gemem_device_lock (range->pages->device);
  for (guint i = 0; i < range->records->len; i++)
    if (record (range, i)->ref > 0)
      gemem_ge_pages_give (range->pages, record (range, i)->page);
  gemem_ge_pages_close (range->pages, range->base, range->size);
  g_array_set_size (range->records, 0);
  range->base = range->size = range->used = range->used_count = range->phys = 0;
  gemem_device_unlock (range->pages->device);
}

void
gemem_ge_session_clear (GeSessionRange *range)
{
  gemem_ge_session_reset (range);
  g_array_unref (range->records);
}

/* ---- backing */

static void
drop (GeSessionRange *range, guint64 i)
{
  GeSessionPage *page = record (range, i);

  if (--page->ref > 0)
    return;
  gemem_ge_pages_give (range->pages, page->page);
  page->page = GE_NO_PAGE;
  range->phys -= range->page_size;
}

/* One more user of page @i. */
static gboolean
add_user (GeSessionRange *range, guint64 i)
{
  GeSessionPage *page = record (range, i);

  if (page->ref == 0)
    {
      const guint32 taken = gemem_ge_pages_take (range->pages, page->last,
                                                 range->base + i * range->page_size, range->reuse);

      if (taken == GE_NO_PAGE)
        return FALSE;
      page->page = page->last = taken;
      range->phys += range->page_size;
    }
  page->ref++;
  return TRUE;
}

/* All or nothing; from the top down, as in all ranges. */
static gboolean
bind (GeSessionRange *range, guint64 address, guint64 bytes)
{
  const GeSessionPage none = { GE_NO_PAGE, GE_NO_PAGE, 0 };
  const guint64 first = (address - range->base) / range->page_size;
  const guint64 end = (address - range->base + bytes - 1) / range->page_size + 1;

  while (range->records->len < end)
    g_array_append_val (range->records, none);
  for (guint64 i = end; i-- > first;)
    if (!add_user (range, i))
      {
        for (guint64 j = end; --j > i;) /* 5.7 */
          drop (range, j);
        return FALSE;
      }
  return TRUE;
}

gboolean
gemem_ge_session_bind (GeSessionRange *range, guint64 address, guint64 bytes)
{
  gboolean bound;

  gemem_device_lock (range->pages->device);
  bound = bind (range, address, bytes);
  gemem_device_unlock (range->pages->device);
  return bound;
}

void
gemem_ge_session_unbind (GeSessionRange *range, guint64 address, guint64 bytes)
{
  const guint64 first = (address - range->base) / range->page_size;
  const guint64 last = (address - range->base + bytes - 1) / range->page_size;

  gemem_device_lock (range->pages->device);
  for (guint64 i = first; i <= last; i++)
    drop (range, i);
  gemem_device_unlock (range->pages->device);
}

/* ---- requests */

static gboolean
reserve (GeSessionRange *range)
{
  if (range->base != 0 || range->unsupported)
    return !range->unsupported;
  range->base = gemem_ge_pages_open (range->pages, range->page_size, range->total);
  range->size = range->base != 0 ? range->total : 0;
  range->unsupported = range->base == 0;
  return !range->unsupported;
}

static guint64
append (GeSessionRange *range, guint64 bytes)
{
  guint64 address;

  if (!reserve (range) || bytes > range->size - range->used)
    return 0;
  address = range->base + range->used;
  if (!bind (range, address, bytes))
    return 0;
  range->used += bytes;
  return address;
}

guint64
gemem_ge_session_append (GeSessionRange *range, guint64 bytes)
{
  guint64 address;

  gemem_device_lock (range->pages->device);
  address = append (range, bytes);
  gemem_device_unlock (range->pages->device);
  return address;
}

guint64
gemem_ge_session_share (GeSessionRange *range, guint64 bytes)
{
  guint64 address = 0;

  gemem_device_lock (range->pages->device);
  if (reserve (range) && bytes <= range->size
      && (bytes <= range->used || append (range, bytes - range->used) != 0))
    {
      range->used_count++;
      address = range->base;
    }
  gemem_device_unlock (range->pages->device);
  return address;
}

void
gemem_ge_session_unshare (GeSessionRange *range)
{
  gemem_device_lock (range->pages->device);
  if (--range->used_count == 0)
    gemem_ge_session_reset (range);
  gemem_device_unlock (range->pages->device);
}

/* ---- questions */

/* TRUE if page @i has memory, or gets the page that it had without a device call. */
static gboolean
is_ready (const GeSessionRange *range, guint64 i)
{
  const guint64 address = range->base + i * range->page_size;

  return i < range->records->len
         && (record (range, i)->ref > 0
             || gemem_ge_pages_waits_at (range->pages, record (range, i)->last, address));
}

guint64
gemem_ge_session_free_bytes (const GeSessionRange *range)
{
  guint64 i = range->used / range->page_size;

  while (is_ready (range, i))
    i++;
  return i * range->page_size > range->used ? i * range->page_size - range->used : 0;
}

gboolean
gemem_ge_session_check (const GeSessionRange *range, const char *what, GError **error)
{
  guint64 phys = 0;

  for (guint i = 0; i < range->records->len; i++)
    {
      const GeSessionPage *page = record (range, i);

      if ((page->ref > 0) != (page->page != GE_NO_PAGE))
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       "%s: page %u of the session's range has %u users and %s memory", what, i,
                       page->ref, page->ref > 0 ? "no" : "still");
          return FALSE;
        }
      phys += page->ref > 0 ? range->page_size : 0;
    }
  if (phys == range->phys)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "%s: the session's range has %" G_GUINT64_FORMAT
               " bytes under it, %" G_GUINT64_FORMAT " were counted",
               what, phys, range->phys);
  return FALSE;
}

/* ---- walks */

/* A page in the page pool may be mapped at several addresses: it counts where it was used last. */
static gboolean
is_home (const GePages *pages, guint32 page, guint64 address)
{
  return gemem_ge_pages_waits_at (pages, page, address)
         && g_array_index (pages->pages, GePhysical, page).home == address;
}

static GememSpanState
state_of (const GeSessionRange *range, guint64 i)
{
  const guint64 address = range->base + i * range->page_size;
  const guint32 page = gemem_ge_pages_at (range->pages, address);

  if (i < range->records->len && record (range, i)->ref > 0)
    return GEMEM_SPAN_OVERHEAD;
  return is_home (range->pages, page, address) ? GEMEM_SPAN_FREE : GEMEM_SPAN_UNMAPPED;
}

void
gemem_ge_session_walk (const GeSessionRange *range, GememSpanFunc func, gpointer data)
{
  const guint64 page = range->page_size, end = range->base + range->size;
  GememSpan span = { .address = range->base, .segment = range->base, .segment_size = range->size };

  while (span.address < end)
    {
      guint64 i = (span.address - range->base) / page;

      span.state = state_of (range, i);
      for (i++; i < range->records->len && state_of (range, i) == span.state; i++)
        ;
      /* what lies behind the records has no memory */
      span.size = i < range->records->len || span.state != GEMEM_SPAN_UNMAPPED
                      ? range->base + i * page - span.address
                      : end - span.address;
      func (&span, data);
      span.address += span.size;
    }
}

void
gemem_ge_session_walk_lost (const GePages *pages, GememSpanFunc func, gpointer data)
{
  for (guint32 i = 0; i < pages->pages->len; i++)
    {
      const GePhysical *physical = &g_array_index (pages->pages, GePhysical, i);
      const guint64 address = NOWHERE + i * pages->page_size;
      const GememSpan span = { .address = address,
                               .size = pages->page_size,
                               .segment = address,
                               .segment_size = pages->page_size,
                               .state = GEMEM_SPAN_FREE };

      if (physical->page != 0 && physical->ref == 0 && !is_home (pages, i, physical->home))
        func (&span, data);
    }
}

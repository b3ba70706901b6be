/* session-range.c - see session-range.h. */
#include "config.h"

#include "allocators/ge/session-range.h"
#include "base/error.h"

#define NOWHERE (G_GUINT64_CONSTANT (1) << 63)

void
gemem_ge_session_init (GeSessionRange *range, GePages *pages, guint64 total, gboolean reuse)
{
  *range = (GeSessionRange){ .total = total };
  gemem_ge_range_prepare (&range->backing, pages, pages->page_size, reuse);
  range->pieces = g_array_new (FALSE, FALSE, sizeof (guint64));
}

static void
lock (const GeSessionRange *range)
{
  gemem_device_lock (range->backing.pages->device);
}

static void
unlock (const GeSessionRange *range)
{
  gemem_device_unlock (range->backing.pages->device);
}

static void
reset (GeSessionRange *range)
{
  const guint64 base = range->backing.base;
  guint64 begin = 0;

  if (base == 0)
    return;
  for (guint i = 0; i < range->pieces->len; i++)
    {
      const guint64 end = g_array_index (range->pieces, guint64, i);

      gemem_ge_range_unbind (&range->backing, base + begin, end - begin);
      begin = end;
    }
  gemem_ge_range_unbind (&range->backing, base, range->backing.size);
  gemem_ge_range_close (&range->backing);
  g_array_set_size (range->pieces, 0);
  range->used = range->used_count = 0;
}

void
gemem_ge_session_reset (GeSessionRange *range)
{
  lock (range);
  reset (range);
  unlock (range);
}

void
gemem_ge_session_clear (GeSessionRange *range)
{
  gemem_ge_session_reset (range);
  gemem_ge_range_dispose (&range->backing);
  g_array_unref (range->pieces);
}

/* ---- backing */

static gboolean
bind (GeSessionRange *range, guint64 address, guint64 bytes)
{
  guint64 unused;

  if (bytes == 0 || !gemem_ge_range_contains (&range->backing, address))
    return TRUE;
  return bytes <= range->backing.base + range->backing.size - address
         && gemem_ge_range_back (&range->backing, address, bytes, &unused) == GE_BACKED;
}

gboolean
gemem_ge_session_bind (GeSessionRange *range, guint64 address, guint64 bytes)
{
  gboolean bound;

  lock (range);
  bound = bind (range, address, bytes);
  unlock (range);
  return bound;
}

void
gemem_ge_session_unbind (GeSessionRange *range, guint64 address, guint64 bytes)
{
  lock (range);
  if (gemem_ge_range_contains (&range->backing, address))
    gemem_ge_range_unbind (&range->backing, address, bytes);
  unlock (range);
}

/* ---- requests */

/* @bytes: those of the first request. */
static gboolean
reserve (GeSessionRange *range, guint64 bytes)
{
  if (range->backing.base == 0 && !range->unsupported)
    range->unsupported = bytes > range->total
                         || !gemem_ge_range_open (&range->backing, range->total);
  return !range->unsupported;
}

static guint64
append (GeSessionRange *range, guint64 bytes)
{
  guint64 address;

  if (!reserve (range, bytes) || bytes > range->backing.size - range->used)
    return 0;
  address = range->backing.base + range->used;
  if (!bind (range, address, bytes))
    return 0;
  range->used += bytes;
  if (bytes > 0)
    g_array_append_val (range->pieces, range->used);
  return address;
}

guint64
gemem_ge_session_append (GeSessionRange *range, guint64 bytes)
{
  guint64 address;

  lock (range);
  address = append (range, bytes);
  unlock (range);
  return address;
}

guint64
gemem_ge_session_share (GeSessionRange *range, guint64 bytes)
{
  guint64 address = 0;

  lock (range);
  if (reserve (range, bytes) && bytes <= range->backing.size
      && (bytes <= range->used || append (range, bytes - range->used) != 0))
    {
      range->used_count++;
      address = range->backing.base;
    }
  unlock (range);
  return address;
}

void
gemem_ge_session_unshare (GeSessionRange *range)
{
  lock (range);
  if (--range->used_count == 0)
    reset (range);
  unlock (range);
}

/* ---- questions */

static const GeRecord *
record (const GeSessionRange *range, guint64 i)
{
  return gemem_ge_range_record (&range->backing, i);
}

static gboolean
is_idle (const GeRecord *page)
{
  return page->page != GE_NO_PAGE && page->ref == 0;
}

/* TRUE if page @i has memory, or gets the page that it had without a device call. */
static gboolean
is_ready (const GeSessionRange *range, guint64 i)
{
  const guint64 address = range->backing.base + i * range->backing.page_size;

  return i < range->backing.n_records
         && (record (range, i)->page != GE_NO_PAGE
             || gemem_ge_pages_waits_at (range->backing.pages, record (range, i)->last, address));
}

guint64
gemem_ge_session_free_bytes (const GeSessionRange *range)
{
  const guint64 page = range->backing.page_size;
  guint64 i = range->used / page;

  while (is_ready (range, i))
    i++;
  return i * page > range->used ? i * page - range->used : 0;
}

gboolean
gemem_ge_session_check (const GeSessionRange *range, const char *what, GError **error)
{
  const GeRange *backing = &range->backing;
  guint64 phys = 0;

  for (guint32 i = 0; i < backing->n_records; i++)
    {
      const GeRecord *page = record (range, i);

      if (page->ref > 0 && page->page == GE_NO_PAGE)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       "%s: page %u of the session's range has %u users and no memory", what, i,
                       page->ref);
          return FALSE;
        }
      if (page->page != GE_NO_PAGE
          && (page->maps != 1
              || gemem_ge_pages_at (backing->pages, backing->base + i * backing->page_size)
                     != page->page))
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       "%s: page %u of the session's range has memory that is not in its place",
                       what, i);
          return FALSE;
        }
      phys += page->page != GE_NO_PAGE ? backing->page_size : 0;
    }
  if (phys == backing->phys)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "%s: the session's range has %" G_GUINT64_FORMAT
               " bytes under it, %" G_GUINT64_FORMAT " were counted",
               what, phys, backing->phys);
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
  const guint64 address = range->backing.base + i * range->backing.page_size;
  GePages *pages = range->backing.pages;

  if (i < range->backing.n_records && record (range, i)->page != GE_NO_PAGE)
    return is_idle (record (range, i)) ? GEMEM_SPAN_FREE : GEMEM_SPAN_OVERHEAD;
  return is_home (pages, gemem_ge_pages_at (pages, address), address) ? GEMEM_SPAN_FREE
                                                                      : GEMEM_SPAN_UNMAPPED;
}

void
gemem_ge_session_walk (const GeSessionRange *range, GememSpanFunc func, gpointer data)
{
  const guint64 base = range->backing.base, page = range->backing.page_size,
                end = base + range->backing.size;
  const guint32 n = range->backing.n_records;
  GememSpan span = { .address = base, .segment = base, .segment_size = range->backing.size };

  while (span.address < end)
    {
      guint64 i = (span.address - base) / page;

      span.state = state_of (range, i);
      for (i++; i < n && state_of (range, i) == span.state; i++)
        ;
      /* what lies behind the records has no memory */
      span.size = i < n || span.state != GEMEM_SPAN_UNMAPPED ? base + i * page - span.address
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
                               .state = physical->lost ? GEMEM_SPAN_OVERHEAD : GEMEM_SPAN_FREE };

      if (physical->lost
          || (physical->page != 0 && physical->ref == 0 && !is_home (pages, i, physical->home)))
        func (&span, data);
    }
}

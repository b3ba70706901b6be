/* pages.c - see pages.h; static functions expect the device to be locked. */
#include "config.h"

#include "allocators/ge/pages.h"
#include "base/error.h"

guint64
gemem_ge_device_memory (guint64 total, GememDevice *device, guint64 fallback)
{
  GememDeviceInfo info = { 0 };

  if (total > 0)
    return total;
  gemem_device_info (device, &info);
  return info.total > 0 && info.total >> 48 == 0 ? info.total : fallback;
}

void
gemem_ge_pages_init (GePages *pages, GememDevice *device, guint64 page_size, Ge1gOption option)
{
  *pages = (GePages){ .device = device, .page_size = page_size, .option = option };
  pages->pages = g_array_new (FALSE, FALSE, sizeof (GePhysical));
  pages->free = g_array_new (FALSE, FALSE, sizeof (guint32));
  pages->mapped = gemem_idmap_new (sizeof (guint64));
  pages->parts = gemem_idmap_new (sizeof (guint64));
}

static GePhysical *
at (const GePages *pages, guint32 page)
{
  return &g_array_index (pages->pages, GePhysical, page);
}

static gboolean
exists (const GePages *pages, guint32 page)
{
  return page < pages->pages->len;
}

static void
return_to_device (GePages *pages, GePhysical *physical)
{
  gemem_device_destroy_page (pages->device, physical->page, pages->page_size);
  physical->page = 0;
}

void
gemem_ge_pages_clear (GePages *pages)
{
  gemem_device_lock (pages->device);
  for (guint i = 0; i < pages->pages->len; i++)
    if (at (pages, i)->page != 0)
      return_to_device (pages, at (pages, i));
  g_array_unref (pages->pages);
  g_array_unref (pages->free);
  gemem_idmap_free (pages->mapped);
  gemem_idmap_free (pages->parts);
  gemem_device_unlock (pages->device);
}

/* ---- users and their ranges */

/* The first user, while no page of another size is left over, decides. */
static gboolean
enter (GePages *pages, guint64 page_size)
{
  if (pages->page_size != page_size && pages->users == 0 && pages->pages->len == 0)
    pages->page_size = page_size;
  if (pages->page_size != page_size)
    return FALSE;
  pages->users++;
  return TRUE;
}

static void
leave (GePages *pages)
{
  guint kept = 0;

  GEMEM_CHECK (pages->users > 0);
  if (--pages->users > 0)
    return;
  for (guint i = 0; i < pages->pages->len; i++)
    {
      GePhysical *physical = at (pages, i);

      if (physical->page != 0 && physical->ref == 0 && physical->maps == 0)
        return_to_device (pages, physical);
      kept += physical->page != 0;
    }
  if (kept > 0)
    return;
  g_array_set_size (pages->pages, 0);
  g_array_set_size (pages->free, 0);
}

gboolean
gemem_ge_pages_enter (GePages *pages, guint64 page_size)
{
  gboolean entered;

  gemem_device_lock (pages->device);
  entered = enter (pages, page_size);
  gemem_device_unlock (pages->device);
  return entered;
}

void
gemem_ge_pages_leave (GePages *pages)
{
  gemem_device_lock (pages->device);
  leave (pages);
  gemem_device_unlock (pages->device);
}

guint64
gemem_ge_pages_reserve (GePages *pages, guint64 size)
{
  guint64 address;

  gemem_device_lock (pages->device);
  address = gemem_device_reserve (pages->device, size, 0);
  gemem_device_unlock (pages->device);
  return address;
}

guint64
gemem_ge_pages_open (GePages *pages, guint64 page_size, guint64 size)
{
  guint64 address = 0;

  gemem_device_lock (pages->device);
  if (enter (pages, page_size))
    {
      address = gemem_device_reserve (pages->device, size, 0);
      if (address == 0)
        leave (pages);
    }
  gemem_device_unlock (pages->device);
  return address;
}

void
gemem_ge_pages_close (GePages *pages, guint64 address, guint64 size)
{
  gemem_device_lock (pages->device);
  gemem_ge_pages_release (pages, address, size);
  leave (pages);
  gemem_device_unlock (pages->device);
}

/* ---- mappings */

static guint32
mapped_at (const GePages *pages, guint64 address)
{
  const guint64 *page = gemem_idmap_lookup (pages->mapped, address);

  return page != NULL ? (guint32) *page : GE_NO_PAGE;
}

/* A range of 4 TiB has half a million addresses, few of which map a page. */
#define GE_PART 4096

static guint64
part_of (const GePages *pages, guint64 address)
{
  return address / (GE_PART * pages->page_size);
}

static gboolean
map (GePages *pages, guint64 address, guint32 page)
{
  gboolean existed;
  guint64 *entry;

  if (mapped_at (pages, address) == page)
    return TRUE;
  if (!gemem_device_map (pages->device, address, at (pages, page)->page, 0, pages->page_size))
    return FALSE;
  entry = gemem_idmap_insert (pages->mapped, address, &existed);
  *entry = page;
  if (!existed)
    ++*(guint64 *) gemem_idmap_insert (pages->parts, part_of (pages, address), NULL);
  at (pages, page)->maps++;
  return TRUE;
}

/* FALSE when the device refuses. */
static gboolean
unmap (GePages *pages, guint64 address)
{
  const guint32 page = mapped_at (pages, address);

  if (page == GE_NO_PAGE)
    return TRUE;
  if (!gemem_device_unmap (pages->device, address, pages->page_size))
    return FALSE;
  gemem_idmap_remove (pages->mapped, address, NULL);
  if (--*(guint64 *) gemem_idmap_lookup (pages->parts, part_of (pages, address)) == 0)
    gemem_idmap_remove (pages->parts, part_of (pages, address), NULL);
  at (pages, page)->maps--;
  return TRUE;
}

void
gemem_ge_pages_release (GePages *pages, guint64 address, guint64 size)
{
  const guint64 part = GE_PART * pages->page_size, end = address + size;

  gemem_device_lock (pages->device);
  for (guint64 at = address; at < end; at += pages->page_size)
    if (gemem_idmap_lookup (pages->parts, part_of (pages, at)) == NULL)
      at += gemem_round_up (part - at % part, pages->page_size) - pages->page_size;
    else if (!unmap (pages, at))
      unmap (pages, at); /* once more: what stays mapped cannot be released */
  gemem_device_release (pages->device, address, size);
  gemem_device_unlock (pages->device);
}

gboolean
gemem_ge_pages_map (GePages *pages, guint64 address, guint32 page)
{
  gboolean mapped;

  gemem_device_lock (pages->device);
  mapped = map (pages, address, page);
  gemem_device_unlock (pages->device);
  return mapped;
}

/* ---- pages */

/* The most recently returned page that has no user, or GE_NO_PAGE. */
static guint32
pop (GePages *pages)
{
  while (pages->free->len > 0)
    {
      const guint32 page = g_array_index (pages->free, guint32, pages->free->len - 1);

      g_array_set_size (pages->free, pages->free->len - 1);
      at (pages, page)->in_free = FALSE;
      if (at (pages, page)->ref == 0 && at (pages, page)->page != 0)
        return page;
    }
  return GE_NO_PAGE;
}

static void
give (GePages *pages, guint32 page)
{
  at (pages, page)->ref = 0;
  if (at (pages, page)->in_free)
    return;
  at (pages, page)->in_free = TRUE;
  g_array_append_val (pages->free, page);
}

void
gemem_ge_pages_give (GePages *pages, guint32 page)
{
  gemem_device_lock (pages->device);
  give (pages, page);
  gemem_device_unlock (pages->device);
}

void
gemem_ge_pages_lose (GePages *pages, guint32 page)
{
  gemem_device_lock (pages->device);
  at (pages, page)->lost = TRUE;
  gemem_device_unlock (pages->device);
}

/* The driver's part of the option: the size is 1 GiB in both cases, the type of the memory differs,
 * and is all that a driver may be out of. */
static GememPage
create_page (GePages *pages)
{
  GememPage page = gemem_device_create_page (pages->device, pages->page_size);

  if (page != 0 || pages->page_size != GE_HUGE_PAGE || pages->option != GE_1G_FIRST
      || pages->fell_back)
    return page;
  pages->fell_back = TRUE;
  return gemem_device_create_page (pages->device, pages->page_size);
}

/* A new page, mapped at @address; GE_NO_PAGE, and nothing kept, when the device refuses.  *last
 * remembers the number of a page that it did not give. */
static guint32
create (GePages *pages, guint32 *last, guint64 address)
{
  const guint32 number = pages->pages->len;
  const GePhysical page = { .page = create_page (pages) };

  if (page.page == 0)
    {
      *last = number;
      return GE_NO_PAGE;
    }
  g_array_append_val (pages->pages, page);
  if (map (pages, address, number))
    return number;
  gemem_device_destroy_page (pages->device, page.page, pages->page_size);
  g_array_set_size (pages->pages, number);
  return GE_NO_PAGE;
}

/* A page that is not the caller's *last, mapped at @address, or GE_NO_PAGE. */
static guint32
take_other (GePages *pages, guint32 *last, guint64 address, gboolean reuse)
{
  guint32 page;

  /* The last page's mapping was only lazily undone. */
  if (exists (pages, *last) && (mapped_at (pages, address) != *last || !unmap (pages, address)))
    return GE_NO_PAGE;
  page = reuse ? pop (pages) : GE_NO_PAGE;
  if (page == GE_NO_PAGE)
    return create (pages, last, address);
  if (map (pages, address, page))
    return page;
  give (pages, page);
  return GE_NO_PAGE;
}

guint32
gemem_ge_pages_take (GePages *pages, guint32 *last, guint64 address, gboolean reuse)
{
  guint32 page;

  gemem_device_lock (pages->device);
  if (!exists (pages, *last) || at (pages, *last)->ref > 0)
    page = take_other (pages, last, address, reuse);
  else
    page = map (pages, address, *last) ? *last : GE_NO_PAGE;
  if (page != GE_NO_PAGE)
    {
      *last = page;
      at (pages, page)->ref = 1;
      at (pages, page)->home = address;
    }
  gemem_device_unlock (pages->device);
  return page;
}

/* ---- questions */

guint32
gemem_ge_pages_at (const GePages *pages, guint64 address)
{
  guint32 page;

  gemem_device_lock (pages->device);
  page = mapped_at (pages, address);
  gemem_device_unlock (pages->device);
  return page;
}

gboolean
gemem_ge_pages_waits_at (const GePages *pages, guint32 page, guint64 address)
{
  gboolean waits;

  gemem_device_lock (pages->device);
  waits = exists (pages, page) && at (pages, page)->ref == 0 && mapped_at (pages, address) == page;
  gemem_device_unlock (pages->device);
  return waits;
}

guint64
gemem_ge_pages_lost (const GePages *pages)
{
  guint64 n = 0;

  gemem_device_lock (pages->device);
  for (guint32 i = 0; i < pages->pages->len; i++)
    n += at (pages, i)->lost;
  gemem_device_unlock (pages->device);
  return n * pages->page_size;
}

/* What is wrong, or NULL. */
static const char *
first_problem (const GePages *pages)
{
  g_autofree guint32 *shown = g_new0 (guint32, pages->pages->len + 1),
                     *stacked = g_new0 (guint32, pages->pages->len + 1);
  gsize position = 0;
  guint64 address;
  gpointer page;

  while (gemem_idmap_next (pages->mapped, &position, &address, &page))
    shown[*(guint64 *) page]++;
  for (guint i = 0; i < pages->free->len; i++)
    stacked[g_array_index (pages->free, guint32, i)]++;
  for (guint32 i = 0; i < pages->pages->len; i++)
    {
      const GePhysical *physical = at (pages, i);

      if (physical->maps != shown[i])
        return "a page is shown at another number of addresses than it counts";
      if (stacked[i] != (physical->in_free ? 1u : 0u))
        return "a page is on the stack more or less often than it says";
      if (physical->page != 0 && physical->ref == 0 && !physical->in_free)
        return "a page that nobody has is not on the stack";
      if (physical->page == 0 && (physical->ref > 0 || physical->maps > 0))
        return "a page that went back to the device is in use";
      if (physical->lost && physical->ref == 0)
        return "a lost page is free";
    }
  return NULL;
}

gboolean
gemem_ge_pages_check (const GePages *pages, const char *what, GError **error)
{
  const char *problem;

  gemem_device_lock (pages->device);
  problem = first_problem (pages);
  gemem_device_unlock (pages->device);
  if (problem == NULL)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT, "%s: page pool: %s", what, problem);
  return FALSE;
}

/* pages.c - see pages.h. */
#include "config.h"

#include "allocators/ge/pages.h"

void
gemem_ge_pages_init (GePages *pages, GememDevice *device, guint64 page_size)
{
  pages->device = device;
  pages->page_size = page_size;
  pages->pages = g_array_new (FALSE, FALSE, sizeof (GePhysical));
  pages->free = g_array_new (FALSE, FALSE, sizeof (guint32));
  pages->mapped = gemem_idmap_new (sizeof (guint64));
}

static GePhysical *
at (const GePages *pages, guint32 page)
{
  return &g_array_index (pages->pages, GePhysical, page);
}

void
gemem_ge_pages_clear (GePages *pages)
{
  for (guint i = 0; i < pages->pages->len; i++)
    gemem_device_destroy_page (pages->device, at (pages, i)->page, pages->page_size);
  g_array_unref (pages->pages);
  g_array_unref (pages->free);
  gemem_idmap_free (pages->mapped);
}

guint32
gemem_ge_pages_at (const GePages *pages, guint64 address)
{
  const guint64 *page = gemem_idmap_lookup (pages->mapped, address);

  return page != NULL ? (guint32) *page : GE_NO_PAGE;
}

gboolean
gemem_ge_pages_map (GePages *pages, guint64 address, guint32 page)
{
  if (gemem_ge_pages_at (pages, address) == page)
    return TRUE;
  if (!gemem_device_map (pages->device, address, at (pages, page)->page, 0, pages->page_size))
    return FALSE;
  *(guint64 *) gemem_idmap_insert (pages->mapped, address, NULL) = page;
  return TRUE;
}

/* FALSE when the device refuses. */
static gboolean
unmap (GePages *pages, guint64 address)
{
  if (gemem_ge_pages_at (pages, address) == GE_NO_PAGE)
    return TRUE;
  if (!gemem_device_unmap (pages->device, address, pages->page_size))
    return FALSE;
  gemem_idmap_remove (pages->mapped, address, NULL);
  return TRUE;
}

/* The most recently returned page that nobody took again, or GE_NO_PAGE. */
static guint32
pop (GePages *pages)
{
  while (pages->free->len > 0)
    {
      const guint32 page = g_array_index (pages->free, guint32, pages->free->len - 1);

      g_array_set_size (pages->free, pages->free->len - 1);
      at (pages, page)->in_free = FALSE;
      if (at (pages, page)->ref == 0)
        return page;
    }
  return GE_NO_PAGE;
}

/* A new page, mapped at @address and in use; GE_NO_PAGE, and nothing kept, when the device refuses. */
static guint32
create (GePages *pages, guint64 address)
{
  const guint32 number = pages->pages->len;
  GePhysical page = { .page = gemem_device_create_page (pages->device, pages->page_size), .home = address, .ref = 1 };

  if (page.page == 0)
    return GE_NO_PAGE;
  g_array_append_val (pages->pages, page);
  if (gemem_ge_pages_map (pages, address, number))
    return number;
  gemem_device_destroy_page (pages->device, page.page, pages->page_size);
  g_array_set_size (pages->pages, number);
  return GE_NO_PAGE;
}

guint32
gemem_ge_pages_take (GePages *pages, guint32 last, guint64 address)
{
  guint32 page = last != GE_NO_PAGE && at (pages, last)->ref == 0 ? last : GE_NO_PAGE;

  if (page == GE_NO_PAGE)
    {
      if (!unmap (pages, address)) /* the last page's mapping was only lazily undone */
        return GE_NO_PAGE;
      page = pop (pages);
    }
  if (page == GE_NO_PAGE)
    return create (pages, address);
  if (!gemem_ge_pages_map (pages, address, page))
    {
      gemem_ge_pages_give (pages, page);
      return GE_NO_PAGE;
    }
  at (pages, page)->ref = 1;
  at (pages, page)->home = address;
  return page;
}

void
gemem_ge_pages_give (GePages *pages, guint32 page)
{
  at (pages, page)->ref = 0;
  if (at (pages, page)->in_free)
    return;
  at (pages, page)->in_free = TRUE;
  g_array_append_val (pages->free, page);
}

void
gemem_ge_pages_release (GePages *pages, guint64 address, guint64 size)
{
  for (guint64 offset = 0; offset < size; offset += pages->page_size)
    if (!unmap (pages, address + offset))
      unmap (pages, address + offset); /* once more: what stays mapped cannot be released */
  gemem_device_release (pages->device, address, size);
}

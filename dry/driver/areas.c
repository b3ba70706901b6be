/* areas.c - the memory behind addresses: areas by address, and the bytes of each, allocated
 * at the first access.
 *
 * An area is an allocation, host memory, memory from a pool, or a mapping of a page; several
 * mappings of one page share its bytes.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>

#include "dry/driver/areas.h"
#include "dry/driver/remembered.h"

/* From this size on bytes are mapped from the kernel, where untouched pages cost nothing. */
#define MAP_FROM (1 << 20)

DriverBytes *
gemem_driver_bytes_new (guint64 size)
{
  DriverBytes *bytes = g_new0 (DriverBytes, 1);
  bytes->references = 1;
  bytes->size = size;
  return bytes;
}

void
gemem_driver_bytes_unref (DriverBytes *bytes)
{
  if (--bytes->references > 0)
    return;
  if (bytes->data != NULL && !bytes->borrowed)
    {
      if (bytes->size >= MAP_FROM)
        munmap (bytes->data, bytes->size);
      else
        g_free (bytes->data);
    }
  g_free (bytes);
}

gboolean
gemem_driver_bytes_try (DriverBytes *bytes)
{
  if (bytes->data == NULL && bytes->size < MAP_FROM)
    bytes->data = g_malloc0 (bytes->size);
  else if (bytes->data == NULL)
    {
      gpointer data = mmap (NULL, bytes->size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      bytes->data = data != MAP_FAILED ? data : NULL;
    }
  return bytes->data != NULL;
}

static guint8 *
bytes_data (DriverBytes *bytes)
{
  if (!gemem_driver_bytes_try (bytes))
    g_error ("stand-in libcuda: this machine has no %" G_GUINT64_FORMAT " bytes", bytes->size);
  return bytes->data;
}

DriverPage *
gemem_driver_page_new (DriverDevice *device, guint64 size)
{
  DriverPage *page = gemem_driver_object_add (g_new0 (DriverPage, 1), KIND_PAGE, NULL);

  page->device = device;
  page->size = size;
  page->owners = 1;
  page->bytes = gemem_driver_bytes_new (size);
  return page;
}

DriverPage *
gemem_driver_page (CUmemGenericAllocationHandle handle)
{
  DriverPage *page = gemem_driver_object ((gconstpointer) (guintptr) handle, KIND_PAGE);
  return page != NULL && page->owners > 0 ? page : NULL;
}

DriverArea *
gemem_driver_area_add (DriverKind kind, guint64 address, guint64 size, DriverDevice *device,
                       DriverBytes *bytes)
{
  DriverArea *area = g_new0 (DriverArea, 1);

  area->node.address = address;
  area->kind = kind;
  area->size = size;
  area->number = ++gemem_driver.areas_made;
  area->device = device;
  area->bytes = bytes;
  area->access = device != NULL ? 1u << device->ordinal : G_MAXUINT32;
  area->owned = area->live = TRUE;
  gemem_tree_insert (&gemem_driver.areas, &area->node);
  if (device != NULL && kind != KIND_MAPPING) /* that of a range, which may be another device's */
    gemem_driver_saw_address (device, address, size);
  return area;
}

void
gemem_driver_area_remove (DriverArea *area)
{
  gemem_driver_forget (area->node.address, area->size);
  gemem_tree_remove (&gemem_driver.areas, &area->node);
  gemem_driver_bytes_unref (area->bytes);
  g_free (area);
}

DriverArea *
gemem_driver_area_at (guint64 address)
{
  GememTreeNode *node = gemem_tree_at_or_before (&gemem_driver.areas, 0, 0, address);
  DriverArea *area;

  if (node == NULL)
    return NULL;
  area = GEMEM_TREE_ENTRY (node, DriverArea, node);
  return address - area->node.address < area->size ? area : NULL;
}

DriverArea *
gemem_driver_area_start (guint64 address, DriverKind kind)
{
  DriverArea *area = gemem_driver_area_at (address);
  return area != NULL && area->node.address == address && area->kind == kind && area->owned ? area
                                                                                            : NULL;
}

/* TRUE if work on @device may use the bytes of @area. */
static gboolean
may_use (const DriverArea *area, const DriverDevice *device)
{
  guint32 who = device != NULL ? 1u << device->ordinal : G_MAXUINT32;

  if (!area->live)
    return FALSE;
  if (area->kind == KIND_ALLOCATION && device != NULL)
    return (device->peers & area->access) != 0;
  return (area->access & who) != 0;
}

gboolean
gemem_driver_may_use (const DriverDevice *device, guint64 address, guint64 size, guint64 *wrong)
{
  while (size > 0)
    {
      const DriverArea *area = gemem_driver_area_at (address);
      guint64 here;

      if (area == NULL || !may_use (area, device))
        {
          *wrong = address;
          return FALSE;
        }
      here = MIN (size, area->size - (address - area->node.address));
      address += here;
      size -= here;
    }
  return TRUE;
}

guint8 *
gemem_driver_translate (const DriverDevice *device, guint64 address, guint64 want,
                        guint64 *together)
{
  DriverArea *area = gemem_driver_area_at (address);
  guint64 offset;

  if (area == NULL || !may_use (area, device))
    return NULL;
  offset = address - area->node.address;
  *together = MIN (want, area->size - offset);
  return bytes_data (area->bytes) + offset;
}

void
gemem_driver_saw_address (DriverDevice *device, guint64 address, guint64 size)
{
  device->lowest = MIN (device->lowest, address);
  device->highest = MAX (device->highest, address + size);
}

gboolean
gemem_driver_is_device_address (guint64 address)
{
  for (guint i = 0; i < gemem_driver.n_devices; i++)
    if (address >= gemem_driver.devices[i].lowest && address < gemem_driver.devices[i].highest)
      return TRUE;
  return FALSE;
}

void
gemem_driver_device_free (DriverArea *area)
{
  if (area->kind != KIND_ALLOCATION)
    return;
  gemem_device_free (gemem_driver_enter_device (area->device), area->node.address, area->size);
  gemem_driver_leave_device (area->device);
}

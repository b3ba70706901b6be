/* virtual.c - virtual memory of the stand-in driver: ranges of addresses, pages, mappings
 * and access rights.
 *
 * A page lives while a handle or a mapping holds it. Before cuMemSetAccess no device can access a
 * mapping. A call that does not name whole mappings is refused, and so is what the driver refuses:
 * odd sizes, ranges still mapped, offsets into pages.
 *
 * The simulated device of the current context provides the addresses of a range, that of the page's
 * location the page. If both are one device, it is also asked for the mapping (and can refuse it),
 * else the page is kept on its device until its last mapping is removed.
 */
#include "config.h"

#include "dry/driver/areas.h"
#include "dry/driver/calls.h"
#include "dry/driver/remembered.h"
#include "dry/driver/streams.h"

#define SUPPORTED() \
  if (!gemem_driver.virtual_memory) \
  return CUDA_ERROR_NOT_SUPPORTED

static DriverDevice *
range_device (void)
{
  return gemem_driver_context () != NULL && gemem_driver_context ()->alive
             ? gemem_driver_context ()->device
             : &gemem_driver.devices[0];
}

static gboolean
is_multiple (guint64 value, const DriverDevice *device)
{
  return value % device->granularity == 0;
}

/* The device of @location, or NULL. */
static DriverDevice *
device_at (const CUmemLocation *location)
{
  return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? gemem_driver_device (location->id) : NULL;
}

/* ---- ranges */

CUresult CUDAAPI
cuMemAddressReserve (CUdeviceptr *place, size_t size, size_t alignment, CUdeviceptr wish,
                     unsigned long long flags)
{
  DriverDevice *device;
  DriverRange *range;
  guint64 address;

  BEGIN (cuMemAddressReserve, NEEDS_INIT);
  SUPPORTED ();
  device = range_device ();
  if (place == NULL || size == 0 || !is_multiple (size, device)
      || (alignment & (alignment - 1)) != 0 || flags != 0)
    return gemem_driver_misuse (
        CUDA_ERROR_INVALID_VALUE,
        "%zu bytes are no multiple of the granularity, or alignment %zu, flags, "
        "or no place for the result",
        size, alignment);
  address = gemem_device_reserve (gemem_driver_enter_device (device), size, alignment);
  gemem_driver_leave_device (device);
  if (address == 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  range = g_new0 (DriverRange, 1);
  range->node.address = address;
  range->size = size;
  range->device = device;
  gemem_tree_insert (&gemem_driver.ranges, &range->node);
  gemem_driver_saw_address (device, address, size);
  *place = address;
  return CUDA_SUCCESS;
}

/* The range that contains @address, or NULL. */
static DriverRange *
range_at (guint64 address)
{
  GememTreeNode *node = gemem_tree_lower_bound (&gemem_driver.ranges, 0, 0, address);
  DriverRange *range;

  if (node == NULL || node->address != address)
    node = gemem_tree_before (&gemem_driver.ranges, 0, 0, address);
  if (node == NULL)
    return NULL;
  range = GEMEM_TREE_ENTRY (node, DriverRange, node);
  return address - range->node.address < range->size ? range : NULL;
}

/* TRUE if a mapping lies anywhere in [@address, @address + @size). */
static gboolean
is_mapped (guint64 address, guint64 size)
{
  GememTreeNode *node = gemem_tree_lower_bound (&gemem_driver.areas, 0, 0, address);
  return gemem_driver_area_at (address) != NULL || (node != NULL && node->address - address < size);
}

CUresult CUDAAPI
cuMemAddressFree (CUdeviceptr address, size_t size)
{
  DriverRange *range;

  BEGIN (cuMemAddressFree, RETURNS);
  SUPPORTED ();
  range = range_at (address);
  if (range == NULL || range->node.address != address || range->size != size)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "0x%llx with %zu bytes is no reserved range", address, size);
  if (is_mapped (address, size))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "range 0x%llx still has mappings",
                                address);
  gemem_driver_wait_as_device (range->device, GEMEM_CALL_RELEASE);
  gemem_device_release (gemem_driver_enter_device (range->device), address, size);
  gemem_driver_leave_device (range->device);
  gemem_tree_remove (&gemem_driver.ranges, &range->node);
  g_free (range);
  return gemem_driver_context_state ();
}

/* ---- pages */

/* The device that @properties name; NULL: none. */
static DriverDevice *
page_device (const CUmemAllocationProp *properties)
{
  return properties != NULL && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED
             ? device_at (&properties->location)
             : NULL;
}

CUresult CUDAAPI
cuMemGetAllocationGranularity (size_t *granularity, const CUmemAllocationProp *properties,
                               CUmemAllocationGranularity_flags option)
{
  const DriverDevice *device;

  BEGIN (cuMemGetAllocationGranularity, NEEDS_INIT);
  SUPPORTED ();
  device = page_device (properties);
  if (granularity == NULL || device == NULL
      || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM
          && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "properties, option, or no place for the result");
  *granularity = device->granularity;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemCreate (CUmemGenericAllocationHandle *handle, size_t size,
             const CUmemAllocationProp *properties, unsigned long long flags)
{
  DriverDevice *device;
  DriverPage *page;
  GememPage number;

  BEGIN (cuMemCreate, NEEDS_INIT);
  SUPPORTED ();
  device = page_device (properties);
  if (device == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "properties that name no pinned memory of a device that is there");
  if (handle == NULL || size == 0 || !is_multiple (size, device) || flags != 0)
    return gemem_driver_misuse (
        CUDA_ERROR_INVALID_VALUE,
        "%zu bytes are no multiple of the granularity, or flags, or no place for the result", size);
  gemem_driver_wait_as_device (device, GEMEM_CALL_CREATE);
  number = gemem_device_create_page (gemem_driver_enter_device (device), size);
  gemem_driver_leave_device (device);
  if (number == 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  page = gemem_driver_page_new (device, size);
  page->page = number;
  *handle = page->object.id;
  return CUDA_SUCCESS;
}

static void
drop_page (DriverPage *page)
{
  if (page->page != 0 && page->owners == 0 && page->foreign == 0)
    {
      gemem_driver_wait_as_device (page->device, GEMEM_CALL_DESTROY);
      gemem_device_destroy_page (gemem_driver_enter_device (page->device), page->page, page->size);
      gemem_driver_leave_device (page->device);
      page->page = 0;
    }
  if (page->owners > 0 || page->mappings > 0)
    return;
  gemem_driver_bytes_unref (page->bytes);
  gemem_driver_object_remove (page);
  g_free (page);
}

CUresult CUDAAPI
cuMemRelease (CUmemGenericAllocationHandle handle)
{
  DriverPage *page;

  BEGIN (cuMemRelease, RETURNS);
  SUPPORTED ();
  if ((page = gemem_driver_page (handle)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such page, or released before");
  page->owners--;
  drop_page (page);
  return gemem_driver_context_state ();
}

CUresult CUDAAPI
cuMemGetAllocationPropertiesFromHandle (CUmemAllocationProp *properties,
                                        CUmemGenericAllocationHandle handle)
{
  const DriverPage *page;

  BEGIN (cuMemGetAllocationPropertiesFromHandle, NEEDS_INIT);
  SUPPORTED ();
  if (properties == NULL || (page = gemem_driver_page (handle)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "no such page, or no place for the result");
  *properties = (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
                                                     .id = page->device->ordinal } };
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemRetainAllocationHandle (CUmemGenericAllocationHandle *handle, void *memory)
{
  DriverArea *area;

  BEGIN (cuMemRetainAllocationHandle, NEEDS_INIT);
  SUPPORTED ();
  area = gemem_driver_area_at ((guintptr) memory);
  if (handle == NULL || area == NULL || area->page == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "%p is not mapped, or no place for the result", memory);
  area->page->owners++;
  *handle = area->page->object.id;
  return CUDA_SUCCESS;
}

/* ---- mappings */

CUresult CUDAAPI
cuMemMap (CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
          unsigned long long flags)
{
  DriverRange *range;
  DriverPage *page;
  DriverArea *area;

  BEGIN (cuMemMap, NEEDS_INIT);
  SUPPORTED ();
  if ((page = gemem_driver_page (handle)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such page, or released before");
  if (size == 0 || !is_multiple (size, page->device) || !is_multiple (address, page->device)
      || offset != 0 || flags != 0)
    return gemem_driver_misuse (
        CUDA_ERROR_INVALID_VALUE,
        "0x%llx with %zu bytes from %zu: not in multiples of the granularity, "
        "or offset or flags that are not 0",
        address, size, offset);
  if (size != page->size)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "%zu bytes of a page of %" G_GUINT64_FORMAT, size, page->size);
  range = range_at (address);
  if (range == NULL || range->size - (address - range->node.address) < size)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "0x%llx with %zu bytes is not in one reserved range", address,
                                size);
  if (is_mapped (address, size))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx with %zu bytes is mapped already",
                                address, size);
  if (range->device == page->device && !page->imported)
    {
      gboolean ok;
      gemem_driver_wait_as_device (page->device, GEMEM_CALL_MAP);
      ok = gemem_device_map (gemem_driver_enter_device (page->device), address, page->page, 0,
                             size);
      gemem_driver_leave_device (page->device);
      if (!ok)
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
  else
    page->foreign++;
  page->mappings++;
  if (page->mappings > 1)
    gemem_driver_forget_page (page); /* what was written by one address may change by another */
  page->bytes->references++;
  area = gemem_driver_area_add (KIND_MAPPING, address, size, page->device, page->bytes);
  area->page = page;
  area->access = 0;
  return CUDA_SUCCESS;
}

/* TRUE if [@address, @address + @size) is one or several whole mappings without a hole. */
static gboolean
is_whole_mappings (guint64 address, guint64 size)
{
  while (size > 0)
    {
      const DriverArea *area = gemem_driver_area_at (address);
      if (area == NULL || area->page == NULL || area->node.address != address || area->size > size)
        return FALSE;
      address += area->size;
      size -= area->size;
    }
  return TRUE;
}

/* Unmaps @area; FALSE: an injected refusal. */
static gboolean
unmap (DriverArea *area)
{
  DriverPage *page = area->page;
  DriverDevice *device = range_at (area->node.address)->device;

  gemem_driver_wait_as_device (device, GEMEM_CALL_UNMAP);
  if (device == page->device && !page->imported)
    {
      gboolean ok = gemem_device_unmap (gemem_driver_enter_device (device), area->node.address,
                                        area->size);
      gemem_driver_leave_device (device);
      if (!ok)
        return FALSE;
    }
  else
    page->foreign--;
  page->mappings--;
  gemem_driver_area_remove (area);
  drop_page (page);
  return TRUE;
}

CUresult CUDAAPI
cuMemUnmap (CUdeviceptr address, size_t size)
{
  BEGIN (cuMemUnmap, RETURNS);
  SUPPORTED ();
  if (size == 0 || !is_whole_mappings (address, size))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "0x%llx with %zu bytes is not one or several whole mappings",
                                address, size);
  for (guint64 done = 0, each; done < size; done += each)
    {
      DriverArea *area = gemem_driver_area_at (address + done);
      each = area->size;
      if (!unmap (area))
        return CUDA_ERROR_UNKNOWN;
    }
  return gemem_driver_context_state ();
}

CUresult CUDAAPI
cuMemSetAccess (CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count)
{
  BEGIN (cuMemSetAccess, NEEDS_INIT);
  SUPPORTED ();
  if (size == 0 || !is_whole_mappings (address, size))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "0x%llx with %zu bytes is not one or several whole mappings",
                                address, size);
  if (access == NULL || count == 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "nobody named");
  for (gsize i = 0; i < count; i++)
    if (device_at (&access[i].location) == NULL)
      return gemem_driver_misuse (CUDA_ERROR_INVALID_DEVICE, "a location that is no device");
  for (guint64 done = 0; done < size;)
    {
      DriverArea *area = gemem_driver_area_at (address + done);
      for (gsize i = 0; i < count; i++)
        if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
          area->access &= ~(1u << access[i].location.id);
        else
          area->access |= 1u << access[i].location.id;
      done += area->size;
    }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemGetAccess (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
  const DriverDevice *device;
  const DriverArea *area;

  BEGIN (cuMemGetAccess, NEEDS_INIT);
  SUPPORTED ();
  area = gemem_driver_area_at (address);
  if (flags == NULL || location == NULL || (device = device_at (location)) == NULL || area == NULL
      || area->page == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "0x%llx is not mapped, or a location that is no device", address);
  *flags = (area->access & (1u << device->ordinal)) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                         : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

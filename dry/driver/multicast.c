/* multicast.c - multicast objects, in dry runs: addresses whose writes NVSwitch hands to the memory of
 * several devices.
 *
 * An object is a page that belongs to nobody (areas.h): mapping it takes nothing of a device.  What is
 * bound to it are pages that the program made itself, which are counted where they were made.
 *
 * Invariant: only between devices that reach each other by NVSwitch of the third generation or later
 * (compute capability 9.0), as CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED says.
 *
 * Origin: the driver API's manual, "Multicast Object Management"; the recommended granularity, which it does
 * not tell, from NCCL's messages in public reports: buffers of 1 536 MiB and little more are bound with
 * 2 147 483 648 bytes, so it is 512 MiB.
 */
#include "config.h"

#include "dry/driver/areas.h"
#include "dry/driver/calls.h"
#include "dry/driver/devices.h"
#include "dry/driver/mode.h"
#include "dry/driver/remembered.h"

#define RECOMMENDED (G_GUINT64_CONSTANT (512) << 20)

#define MULTICAST_ONLY() \
  if (!gemem_driver.mode->lenient \
      || !gemem_driver_device_attribute (NULL, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED)) \
  return CUDA_ERROR_NOT_SUPPORTED

static DriverPage *
find (CUmemGenericAllocationHandle handle, gboolean multicast)
{
  DriverPage *page = gemem_driver_page (handle);
  return page != NULL && page->multicast == multicast ? page : NULL;
}

CUresult CUDAAPI
cuMulticastGetGranularity (size_t *granularity, const CUmulticastObjectProp *properties,
                           CUmulticastGranularity_flags option)
{
  BEGIN (cuMulticastGetGranularity, NEEDS_INIT);
  MULTICAST_ONLY ();
  PLACE (granularity);
  PLACE (properties);
  if (option != CU_MULTICAST_GRANULARITY_MINIMUM && option != CU_MULTICAST_GRANULARITY_RECOMMENDED)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "option %u", option);
  *granularity = option == CU_MULTICAST_GRANULARITY_MINIMUM ? gemem_driver.devices[0].granularity
                                                            : RECOMMENDED;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMulticastCreate (CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *properties)
{
  DriverPage *page;

  BEGIN (cuMulticastCreate, NEEDS_INIT);
  MULTICAST_ONLY ();
  PLACE (handle);
  PLACE (properties);
  if (properties->numDevices == 0 || properties->size == 0 || properties->flags != 0
      || properties->size % gemem_driver.devices[0].granularity != 0)
    return gemem_driver_misuse (
        CUDA_ERROR_INVALID_VALUE,
        "%u devices, %zu bytes that are no multiple of the granularity, or flags",
        properties->numDevices, properties->size);
  page = gemem_driver_page_new (&gemem_driver.devices[0], properties->size);
  page->imported = page->multicast = TRUE;
  *handle = page->object.id;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMulticastAddDevice (CUmemGenericAllocationHandle handle, CUdevice device)
{
  BEGIN (cuMulticastAddDevice, NEEDS_INIT);
  MULTICAST_ONLY ();
  if (gemem_driver_device (device) == NULL)
    return CUDA_ERROR_INVALID_DEVICE;
  if (find (handle, TRUE) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no multicast object");
  return CUDA_SUCCESS;
}

static CUresult
bind (CUmemGenericAllocationHandle handle, size_t offset, size_t size, guint64 bound)
{
  const DriverPage *object = find (handle, TRUE);
  const guint64 granularity = gemem_driver.devices[0].granularity;

  if (object == NULL || size == 0 || size % granularity != 0 || offset % granularity != 0
      || offset > object->size || size > object->size - offset || size > bound)
    return gemem_driver_misuse (
        CUDA_ERROR_INVALID_VALUE,
        "no multicast object, or %zu bytes from %zu are not in it, or not in what is "
        "bound",
        size, offset);
  return CUDA_SUCCESS;
}

/* From now on others write to it. */
static void
share (DriverPage *page)
{
  page->exported = TRUE;
  gemem_driver_forget_page (page);
}

CUresult CUDAAPI
cuMulticastBindMem (CUmemGenericAllocationHandle handle, size_t offset,
                    CUmemGenericAllocationHandle memory, size_t memory_offset, size_t size,
                    unsigned long long flags)
{
  DriverPage *page;

  BEGIN (cuMulticastBindMem, NEEDS_INIT);
  MULTICAST_ONLY ();
  page = find (memory, FALSE);
  if (page == NULL || memory_offset > page->size || flags != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE,
                                "no page, or an offset behind it, or flags");
  share (page);
  return bind (handle, offset, size, page->size - memory_offset);
}

CUresult CUDAAPI
cuMulticastBindAddr (CUmemGenericAllocationHandle handle, size_t offset, CUdeviceptr memory,
                     size_t size, unsigned long long flags)
{
  DriverArea *area;

  BEGIN (cuMulticastBindAddr, NEEDS_INIT);
  MULTICAST_ONLY ();
  area = gemem_driver_area_at (memory);
  if (area == NULL || area->page == NULL || area->page->multicast || flags != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is not mapped, or flags", memory);
  share (area->page);
  return bind (handle, offset, size, area->size - (memory - area->node.address));
}

CUresult CUDAAPI
cuMulticastUnbind (CUmemGenericAllocationHandle handle, CUdevice device, size_t offset, size_t size)
{
  BEGIN (cuMulticastUnbind, RETURNS);
  MULTICAST_ONLY ();
  return bind (handle, offset, size, size);
}

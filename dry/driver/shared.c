/* shared.c - memory and events of other processes, in dry runs: handles that a program sends
 * from one process to another.
 *
 * A handle says how large the memory is. The process that opens it gets addresses, and takes nothing
 * from its device: the memory counts where it was allocated. An event of another process is complete.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dry/driver/areas.h"
#include "dry/driver/calls.h"
#include "dry/driver/devices.h"
#include "dry/driver/mode.h"
#include "dry/driver/remembered.h"

#define MAGIC 0x67656d656d64ULL

/* What is in a handle, or in the file behind one. */
typedef struct
{
  guint64 magic, size;
  gint32 place, process; /* DriverDevice.place */
  guint64 address;
  guint32 multicast; /* of a page: DriverPage */
} Shared;

/* The device whose addresses memory of GPU @place gets here: links lead to GPUs that the process does not see, too. */
static DriverDevice *
home_of (gint32 place)
{
  return &gemem_driver.devices[MAX (gemem_driver_device_at ((guint) place), 0)];
}

/* ---- allocations */

CUresult CUDAAPI
cuIpcGetMemHandle (CUipcMemHandle *handle, CUdeviceptr address)
{
  DriverArea *area;
  Shared shared;

  BEGIN (cuIpcGetMemHandle, NEEDS_INIT);
  LENIENT_ONLY ();
  PLACE (handle);
  if ((area = gemem_driver_area_at (address)) == NULL || area->kind != KIND_ALLOCATION)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is no allocation", address);
  shared = (Shared){ .magic = MAGIC,
                     .size = area->size,
                     .place = area->device->place,
                     .process = getpid (),
                     .address = area->node.address };
  memset (handle, 0, sizeof *handle);
  memcpy (handle, &shared, sizeof shared);
  area->exported = TRUE;
  gemem_driver_forget (area->node.address, area->size);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuIpcOpenMemHandle_v2 (CUdeviceptr *place, CUipcMemHandle handle, unsigned int flags)
{
  DriverDevice *device;
  guint64 address, size;
  Shared shared;

  BEGIN (cuIpcOpenMemHandle_v2, NEEDS_CONTEXT);
  LENIENT_ONLY ();
  PLACE (place);
  memcpy (&shared, &handle, sizeof shared);
  if (shared.magic != MAGIC || shared.process == getpid ())
    return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no handle of another process");
  device = home_of (shared.place);
  size = (shared.size + device->granularity - 1) / device->granularity * device->granularity;
  address = gemem_device_reserve (gemem_driver_enter_device (device), size, 0);
  gemem_driver_leave_device (device);
  if (address == 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  gemem_driver_area_add (KIND_IMPORTED, address, shared.size, device,
                         gemem_driver_bytes_new (shared.size))
      ->context = gemem_driver_context ();
  *place = address;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuIpcCloseMemHandle (CUdeviceptr address)
{
  DriverDevice *device;
  DriverArea *area;
  guint64 size;

  BEGIN (cuIpcCloseMemHandle, RETURNS);
  if ((area = gemem_driver_area_start (address, KIND_IMPORTED)) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx was not opened", address);
  device = area->device;
  size = (area->size + device->granularity - 1) / device->granularity * device->granularity;
  gemem_device_release (gemem_driver_enter_device (device), address, size);
  gemem_driver_leave_device (device);
  gemem_driver_area_remove (area);
  return CUDA_SUCCESS;
}

/* ---- pages */

CUresult CUDAAPI
cuMemExportToShareableHandle (void *place, CUmemGenericAllocationHandle handle,
                              CUmemAllocationHandleType type, unsigned long long flags)
{
  DriverPage *page;
  Shared shared = { .magic = MAGIC };
  int file;

  BEGIN (cuMemExportToShareableHandle, NEEDS_INIT);
  LENIENT_ONLY ();
  PLACE (place);
  page = gemem_driver_object ((gconstpointer) (guintptr) handle, KIND_PAGE);
  if (page == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such page");
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_NOT_SUPPORTED;
  shared.size = page->size;
  shared.place = page->device->place;
  shared.multicast = page->multicast;
  file = memfd_create ("gemem-dry-page", MFD_CLOEXEC);
  if (file < 0 || pwrite (file, &shared, sizeof shared, 0) != sizeof shared)
    return CUDA_ERROR_OPERATING_SYSTEM;
  *(int *) place = file;
  page->exported = TRUE;
  gemem_driver_forget_page (page);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemImportFromShareableHandle (CUmemGenericAllocationHandle *handle, void *from,
                                CUmemAllocationHandleType type)
{
  DriverPage *page;
  Shared shared;

  BEGIN (cuMemImportFromShareableHandle, NEEDS_INIT);
  LENIENT_ONLY ();
  PLACE (handle);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (pread ((int) (gintptr) from, &shared, sizeof shared, 0) != sizeof shared
      || shared.magic != MAGIC)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no handle of a page");
  page = gemem_driver_page_new (home_of (shared.place), shared.size);
  page->imported = TRUE;
  page->multicast = shared.multicast != 0;
  *handle = page->object.id;
  return CUDA_SUCCESS;
}

/* ---- events */

CUresult CUDAAPI
cuIpcGetEventHandle (CUipcEventHandle *handle, CUevent event)
{
  BEGIN (cuIpcGetEventHandle, NEEDS_INIT);
  LENIENT_ONLY ();
  PLACE (handle);
  if (gemem_driver_object (event, KIND_EVENT) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no such event");
  memset (handle, 0, sizeof *handle);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuIpcOpenEventHandle (CUevent *place, CUipcEventHandle handle)
{
  DriverEvent *event;

  BEGIN (cuIpcOpenEventHandle, NEEDS_CONTEXT);
  LENIENT_ONLY ();
  PLACE (place);
  event = gemem_driver_object_add (g_new0 (DriverEvent, 1), KIND_EVENT, gemem_driver_context ());
  event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  *place = DRIVER_HANDLE (CUevent, event);
  return CUDA_SUCCESS;
}

/* ---- pools: every device may use the memory of every pool */

CUresult CUDAAPI
cuMemPoolSetAccess (CUmemoryPool handle, const CUmemAccessDesc *access, size_t n)
{
  BEGIN (cuMemPoolSetAccess, NEEDS_INIT);
  LENIENT_ONLY ();
  if (gemem_driver_object (handle, KIND_POOL) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such pool");
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemPoolGetAccess (CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
  BEGIN (cuMemPoolGetAccess, NEEDS_INIT);
  LENIENT_ONLY ();
  PLACE (flags);
  if (gemem_driver_object (handle, KIND_POOL) == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such pool");
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

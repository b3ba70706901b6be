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

#include "dry/driver/driver.h"

#define MAGIC 0x67656d656d64ULL

/* What is in a handle, or in the file behind one. */
typedef struct
{
  guint64 magic, size;
  gint32 place, process; /* StandinDevice.place */
  guint64 address;
  guint32 multicast; /* of a page: StandinPage */
} Shared;

#define DRY_ONLY() \
  if (!standin.dry) \
  return CUDA_ERROR_NOT_SUPPORTED

/* The device whose addresses memory of GPU @place gets here: links lead to GPUs that the process does not see, too. */
static StandinDevice *
home_of (gint32 place)
{
  return &standin.devices[MAX (standin_device_at ((guint) place), 0)];
}

/* ---- allocations */

CUresult CUDAAPI
cuIpcGetMemHandle (CUipcMemHandle *handle, CUdeviceptr address)
{
  StandinSpan *span;
  Shared shared;

  BEGIN (cuIpcGetMemHandle, NEEDS_INIT);
  DRY_ONLY ();
  PLACE (handle);
  if ((span = standin_span_at (address)) == NULL || span->kind != KIND_ALLOCATION)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is no allocation", address);
  shared = (Shared){ .magic = MAGIC,
                     .size = span->size,
                     .place = span->device->place,
                     .process = getpid (),
                     .address = span->node.address };
  memset (handle, 0, sizeof *handle);
  memcpy (handle, &shared, sizeof shared);
  span->exported = TRUE;
  standin_forget (span->node.address, span->size);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuIpcOpenMemHandle_v2 (CUdeviceptr *place, CUipcMemHandle handle, unsigned int flags)
{
  StandinDevice *device;
  guint64 address, size;
  Shared shared;

  BEGIN (cuIpcOpenMemHandle_v2, NEEDS_CONTEXT);
  DRY_ONLY ();
  PLACE (place);
  memcpy (&shared, &handle, sizeof shared);
  if (shared.magic != MAGIC || shared.process == getpid ())
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no handle of another process");
  device = home_of (shared.place);
  size = (shared.size + device->granularity - 1) / device->granularity * device->granularity;
  address = gemem_device_reserve (standin_enter_device (device), size, 0);
  standin_leave_device (device);
  if (address == 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  standin_span_add (KIND_IMPORTED, address, shared.size, device, standin_bytes_new (shared.size))
      ->context = standin_context ();
  *place = address;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuIpcCloseMemHandle (CUdeviceptr address)
{
  StandinDevice *device;
  StandinSpan *span;
  guint64 size;

  BEGIN (cuIpcCloseMemHandle, RETURNS);
  if ((span = standin_span_start (address, KIND_IMPORTED)) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx was not opened", address);
  device = span->device;
  size = (span->size + device->granularity - 1) / device->granularity * device->granularity;
  gemem_device_release (standin_enter_device (device), address, size);
  standin_leave_device (device);
  standin_span_remove (span);
  return CUDA_SUCCESS;
}

/* ---- pages */

CUresult CUDAAPI
cuMemExportToShareableHandle (void *place, CUmemGenericAllocationHandle handle,
                              CUmemAllocationHandleType type, unsigned long long flags)
{
  StandinPage *page;
  Shared shared = { .magic = MAGIC };
  int file;

  BEGIN (cuMemExportToShareableHandle, NEEDS_INIT);
  DRY_ONLY ();
  PLACE (place);
  page = standin_object ((gconstpointer) (guintptr) handle, KIND_PAGE);
  if (page == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no such page");
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
  standin_forget_page (page);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemImportFromShareableHandle (CUmemGenericAllocationHandle *handle, void *from,
                                CUmemAllocationHandleType type)
{
  StandinPage *page;
  Shared shared;

  BEGIN (cuMemImportFromShareableHandle, NEEDS_INIT);
  DRY_ONLY ();
  PLACE (handle);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (pread ((int) (gintptr) from, &shared, sizeof shared, 0) != sizeof shared
      || shared.magic != MAGIC)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no handle of a page");
  page = standin_object_add (g_new0 (StandinPage, 1), KIND_PAGE, NULL);
  page->device = home_of (shared.place);
  page->size = shared.size;
  page->owners = 1;
  page->imported = TRUE;
  page->multicast = shared.multicast != 0;
  page->bytes = standin_bytes_new (shared.size);
  *handle = page->object.id;
  return CUDA_SUCCESS;
}

/* ---- events */

CUresult CUDAAPI
cuIpcGetEventHandle (CUipcEventHandle *handle, CUevent event)
{
  BEGIN (cuIpcGetEventHandle, NEEDS_INIT);
  DRY_ONLY ();
  PLACE (handle);
  if (standin_object (event, KIND_EVENT) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_HANDLE, "no such event");
  memset (handle, 0, sizeof *handle);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuIpcOpenEventHandle (CUevent *place, CUipcEventHandle handle)
{
  StandinEvent *event;

  BEGIN (cuIpcOpenEventHandle, NEEDS_CONTEXT);
  DRY_ONLY ();
  PLACE (place);
  event = standin_object_add (g_new0 (StandinEvent, 1), KIND_EVENT, standin_context ());
  event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  *place = STANDIN_HANDLE (CUevent, event);
  return CUDA_SUCCESS;
}

/* ---- pools: every device may use the memory of every pool */

CUresult CUDAAPI
cuMemPoolSetAccess (CUmemoryPool handle, const CUmemAccessDesc *access, size_t n)
{
  BEGIN (cuMemPoolSetAccess, NEEDS_INIT);
  DRY_ONLY ();
  if (standin_object (handle, KIND_POOL) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no such pool");
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemPoolGetAccess (CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
  BEGIN (cuMemPoolGetAccess, NEEDS_INIT);
  DRY_ONLY ();
  PLACE (flags);
  if (standin_object (handle, KIND_POOL) == NULL)
    return standin_misuse (CUDA_ERROR_INVALID_VALUE, "no such pool");
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

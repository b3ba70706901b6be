/* regions.c - copies and memsets of regions in two and three dimensions, and copies between
 * devices: one row after the other, each as copies.c does it.
 */
#include "config.h"

#include "dry/driver/calls.h"
#include "dry/driver/copies.h"

/* One side of a copy. */
typedef struct
{
  guint64 start, pitch, height;
} Side;

/* The address where a side begins; FALSE: an array, of which there are none. */
static gboolean
find_side (Side *side, CUmemorytype type, guint64 host, guint64 device, guint64 x, guint64 y,
           guint64 z)
{
  if (type == CU_MEMORYTYPE_ARRAY)
    return FALSE;
  side->start = (type == CU_MEMORYTYPE_HOST ? host : device) + (z * side->height + y) * side->pitch
                + x;
  return TRUE;
}

static CUresult
copy_rows (DriverEntry entry, CUDA_MEMCPY3D copy, gboolean wait, CUstream handle)
{
  const CUDA_MEMCPY3D *what = &copy;
  Side from, to;

  from = (Side){ .pitch = what->srcPitch != 0 ? what->srcPitch : what->WidthInBytes,
                 .height = what->srcHeight != 0 ? what->srcHeight : what->Height };
  to = (Side){ .pitch = what->dstPitch != 0 ? what->dstPitch : what->WidthInBytes,
               .height = what->dstHeight != 0 ? what->dstHeight : what->Height };
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  if (!find_side (&from, what->srcMemoryType, (guintptr) what->srcHost, what->srcDevice,
                  what->srcXInBytes, what->srcY, what->srcZ)
      || !find_side (&to, what->dstMemoryType, (guintptr) what->dstHost, what->dstDevice,
                     what->dstXInBytes, what->dstY, what->dstZ))
    return CUDA_ERROR_NOT_SUPPORTED;
  if (from.pitch < what->WidthInBytes || to.pitch < what->WidthInBytes)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "a pitch that is less than the width");
  for (guint64 z = 0; z < what->Depth; z++)
    for (guint64 y = 0; y < what->Height; y++)
      {
        CUresult result = gemem_driver_copy (to.start + (z * to.height + y) * to.pitch,
                                             from.start + (z * from.height + y) * from.pitch,
                                             what->WidthInBytes, wait, handle);
        if (result != CUDA_SUCCESS)
          return result;
      }
  return CUDA_SUCCESS;
}

static CUDA_MEMCPY3D
from_2d (const CUDA_MEMCPY2D *what)
{
  return (CUDA_MEMCPY3D){
    .srcXInBytes = what->srcXInBytes,
    .srcY = what->srcY,
    .srcMemoryType = what->srcMemoryType,
    .srcHost = what->srcHost,
    .srcDevice = what->srcDevice,
    .srcPitch = what->srcPitch,
    .dstXInBytes = what->dstXInBytes,
    .dstY = what->dstY,
    .dstMemoryType = what->dstMemoryType,
    .dstHost = what->dstHost,
    .dstDevice = what->dstDevice,
    .dstPitch = what->dstPitch,
    .WidthInBytes = what->WidthInBytes,
    .Height = what->Height,
    .Depth = 1,
  };
}

static CUDA_MEMCPY3D
from_peer (const CUDA_MEMCPY3D_PEER *what)
{
  return (CUDA_MEMCPY3D){
    .srcXInBytes = what->srcXInBytes,
    .srcY = what->srcY,
    .srcZ = what->srcZ,
    .srcMemoryType = what->srcMemoryType,
    .srcHost = what->srcHost,
    .srcDevice = what->srcDevice,
    .srcPitch = what->srcPitch,
    .srcHeight = what->srcHeight,
    .dstXInBytes = what->dstXInBytes,
    .dstY = what->dstY,
    .dstZ = what->dstZ,
    .dstMemoryType = what->dstMemoryType,
    .dstHost = what->dstHost,
    .dstDevice = what->dstDevice,
    .dstPitch = what->dstPitch,
    .dstHeight = what->dstHeight,
    .WidthInBytes = what->WidthInBytes,
    .Height = what->Height,
    .Depth = what->Depth,
  };
}

/* The calls for one way to describe a region: at once, and on a stream. */
#define COPY(symbol, async, type, convert) \
  CUresult CUDAAPI symbol (const type *what) \
  { \
    return what != NULL ? copy_rows (ENTRY_##symbol, convert (what), TRUE, NULL) \
                        : CUDA_ERROR_INVALID_VALUE; \
  } \
  CUresult CUDAAPI async (const type *what, CUstream stream) \
  { \
    return what != NULL ? copy_rows (ENTRY_##async, convert (what), FALSE, stream) \
                        : CUDA_ERROR_INVALID_VALUE; \
  }

#define SAME(what) (*(what))
COPY (cuMemcpy2D_v2, cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, from_2d)
COPY (cuMemcpy3D_v2, cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, SAME)
COPY (cuMemcpy3DPeer, cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER, from_peer)

CUresult CUDAAPI
cuMemcpy2DUnaligned_v2 (const CUDA_MEMCPY2D *what)
{
  return what != NULL ? copy_rows (ENTRY_cuMemcpy2DUnaligned_v2, from_2d (what), TRUE, NULL)
                      : CUDA_ERROR_INVALID_VALUE;
}

static CUresult
copy_peer (DriverEntry entry, CUdeviceptr to, CUdeviceptr from, size_t size, gboolean wait,
           CUstream stream)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  return gemem_driver_copy (to, from, size, wait, stream);
}

CUresult CUDAAPI
cuMemcpyPeer (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
              size_t size)
{
  return copy_peer (ENTRY_cuMemcpyPeer, to, from, size, TRUE, NULL);
}

CUresult CUDAAPI
cuMemcpyPeerAsync (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                   size_t size, CUstream stream)
{
  return copy_peer (ENTRY_cuMemcpyPeerAsync, to, from, size, FALSE, stream);
}

/* ---- memset */

static CUresult
fill_rows (DriverEntry entry, CUdeviceptr address, guint64 pitch, guint32 value, guint unit,
           size_t width, size_t height, CUstream handle)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  STREAM (handle);
  if (address % unit != 0 || pitch % unit != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is not aligned to %u", address,
                                unit);
  for (size_t y = 0; y < height; y++)
    {
      DriverWork work = { .run = gemem_driver_run_memset,
                          .node = CU_GRAPH_NODE_TYPE_MEMSET,
                          .to = address + y * pitch,
                          .value = value,
                          .unit = unit,
                          .size = (guint64) width * unit };
      gemem_driver_enqueue (stream, gemem_driver_work_ns (work.size), &work);
    }
  return CUDA_SUCCESS;
}

#define FILL(symbol, type, unit) \
  CUresult CUDAAPI symbol##_v2 (CUdeviceptr address, size_t pitch, type value, size_t width, \
                                size_t height) \
  { \
    return fill_rows (ENTRY_##symbol##_v2, address, pitch, value, unit, width, height, NULL); \
  } \
  CUresult CUDAAPI symbol##Async (CUdeviceptr address, size_t pitch, type value, size_t width, \
                                  size_t height, CUstream stream) \
  { \
    return fill_rows (ENTRY_##symbol##Async, address, pitch, value, unit, width, height, stream); \
  }

FILL (cuMemsetD2D8, unsigned char, 1)
FILL (cuMemsetD2D16, unsigned short, 2)
FILL (cuMemsetD2D32, unsigned int, 4)

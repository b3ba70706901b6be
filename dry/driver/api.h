/* api.h - the part of the CUDA driver API that dry offers and its tests use, by the
 * names of the public documentation, so that neither needs CUDA's headers.
 *
 * Enumerations are unsigned numbers here: they are as large, and passed alike. The values stand in
 * api.def, the functions in api-functions.h. api-check.c compares all three with
 * CUDA's own headers where these are installed.
 *
 * With DRIVER_API_LATEST defined before, names without a version mean the latest one, as they do
 * with CUDA's headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CUDA_VERSION 13000 /* whose values these are */
#define CUDAAPI

enum
{
#define DRIVER_CONSTANT(name, value) name = value,
#include "dry/driver/api.def"
#undef DRIVER_CONSTANT
};

typedef unsigned int CUresult, CUdevice_attribute, CUpointer_attribute, CUfunction_attribute,
    CUlimit, CUfunc_cache, CUmemorytype, CUjit_option, CUgraphNodeType, CUlaunchAttributeID,
    CUstreamCaptureStatus, CUstreamCaptureMode, CUdriverProcAddressQueryResult,
    CUdevice_P2PAttribute, CUmemAllocationHandleType, CUmemAccess_flags, CUmemLocationType,
    CUmemAllocationType, CUmemAllocationGranularity_flags, CUmulticastGranularity_flags,
    CUgraphExecUpdateResult, CUmemPool_attribute, CUgraphMem_attribute, CUarray_format,
    CUgraphInstantiateResult, CUlibraryOption, CUexecAffinityType, CUjitInputType,
    CUmoduleLoadingMode, CUfunctionLoadingState, CUsharedconfig;

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr, CUmemGenericAllocationHandle;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUarray_st *CUarray;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUuserObject_st *CUuserObject;
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUctxCreateParams_st CUctxCreateParams;

#define CU_STREAM_LEGACY ((CUstream) 1)
#define CU_STREAM_PER_THREAD ((CUstream) 2)
#define CU_LAUNCH_PARAM_END ((void *) 0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *) 1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *) 2)

typedef struct
{
  char bytes[16];
} CUuuid;

/* From one process to another. */
typedef struct
{
  char reserved[64];
} CUipcMemHandle, CUipcEventHandle;

/* ---- launches */

typedef union
{
  char pad[64];
  struct
  {
    unsigned int x, y, z;
  } clusterDim;
} CUlaunchAttributeValue;

typedef struct
{
  CUlaunchAttributeID id;
  char pad[4];
  CUlaunchAttributeValue value;
} CUlaunchAttribute;

typedef struct
{
  unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute *attrs;
  unsigned int numAttrs;
} CUlaunchConfig;

typedef void (*CUhostFn) (void *data);
typedef void (*CUstreamCallback) (CUstream stream, CUresult status, void *data);
typedef size_t (*CUoccupancyB2DSize) (int block_threads);

/* ---- memory */

typedef struct
{
  CUmemLocationType type;
  int id;
} CUmemLocation;

typedef struct
{
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void *win32HandleMetaData;
  struct
  {
    unsigned char compressionType, gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
} CUmemAllocationProp;

typedef struct
{
  CUmemLocation location;
  CUmemAccess_flags flags;
} CUmemAccessDesc;

typedef struct
{
  unsigned int numDevices;
  size_t size;
  unsigned long long handleTypes, flags;
} CUmulticastObjectProp;

typedef struct
{
  CUmemAllocationType allocType;
  CUmemAllocationHandleType handleTypes;
  CUmemLocation location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
} CUmemPoolProps;

/* ---- copies of regions */

typedef struct
{
  size_t srcXInBytes, srcY;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  size_t srcPitch, dstXInBytes, dstY;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  size_t dstPitch, WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct
{
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void *reserved0;
  size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void *reserved1;
  size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef struct
{
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  CUcontext srcContext;
  size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  CUcontext dstContext;
  size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D_PEER;

/* ---- graphs */

typedef struct CUgraphEdgeData_st CUgraphEdgeData;

typedef struct
{
  CUfunction func;
  unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void **kernelParams, **extra;
} CUDA_KERNEL_NODE_PARAMS_v1;

typedef struct
{
  CUfunction func;
  unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void **kernelParams, **extra;
  CUkernel kern;
  CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS; /* its versions 2 and 3 */

typedef struct
{
  CUdeviceptr dst;
  size_t pitch;
  unsigned int value, elementSize;
  size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;

typedef struct
{
  CUdeviceptr dst;
  size_t pitch;
  unsigned int value, elementSize;
  size_t width, height;
  CUcontext ctx;
} CUDA_MEMSET_NODE_PARAMS_v2;

typedef struct
{
  int flags, reserved;
  CUcontext copyCtx;
  CUDA_MEMCPY3D copyParams;
} CUDA_MEMCPY_NODE_PARAMS;

typedef struct
{
  CUhostFn fn;
  void *userData;
} CUDA_HOST_NODE_PARAMS;

typedef struct
{
  CUmemPoolProps poolProps;
  const CUmemAccessDesc *accessDescs;
  size_t accessDescCount, bytesize;
  CUdeviceptr dptr;
} CUDA_MEM_ALLOC_NODE_PARAMS;

typedef struct
{
  CUgraphNodeType type;
  int reserved0[3];
  union
  {
    long long reserved1[29];
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY_NODE_PARAMS memcpy;
    CUDA_MEMSET_NODE_PARAMS_v2 memset;
    CUDA_HOST_NODE_PARAMS host;
    struct
    {
      CUgraph graph;
    } graph;
    struct
    {
      CUevent event;
    } eventWait, eventRecord;
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    struct
    {
      CUdeviceptr dptr;
    } free;
  };
  long long reserved2;
} CUgraphNodeParams;

typedef struct
{
  cuuint64_t flags;
  CUstream hUploadStream;
  CUgraphNode hErrNode_out;
  CUgraphInstantiateResult result_out;
} CUDA_GRAPH_INSTANTIATE_PARAMS;

typedef struct
{
  CUgraphExecUpdateResult result;
  CUgraphNode errorNode, errorFromNode;
} CUgraphExecUpdateResultInfo;

#define DRIVER_FIELD(type, field, offset) \
  _Static_assert(offsetof (type, field) == (offset), #type "." #field " is where it must be");
#define DRIVER_SIZE(type, size) \
  _Static_assert(sizeof (type) == (size), #type " has the size that it must have");
#include "dry/driver/api-layouts.def"
#undef DRIVER_FIELD
#undef DRIVER_SIZE

#include "dry/driver/api-functions.h"

#ifdef DRIVER_API_LATEST
#define cuCtxPopCurrent cuCtxPopCurrent_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuCtxCreate cuCtxCreate_v4
#define cuCtxDestroy cuCtxDestroy_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2
#define cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemAllocPitch cuMemAllocPitch_v2
#define cuMemFree cuMemFree_v2
#define cuMemGetAddressRange cuMemGetAddressRange_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuMemHostRegister cuMemHostRegister_v2
#define cuMemcpyDtoD cuMemcpyDtoD_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemsetD16 cuMemsetD16_v2
#define cuMemsetD32 cuMemsetD32_v2
#define cuMemsetD8 cuMemsetD8_v2
#define cuStreamBeginCapture cuStreamBeginCapture_v2
#define cuStreamDestroy cuStreamDestroy_v2
#define cuGetProcAddress cuGetProcAddress_v2
#define cuLinkCreate cuLinkCreate_v2
#define cuMemcpy2D cuMemcpy2D_v2
#define cuModuleGetGlobal cuModuleGetGlobal_v2
#endif

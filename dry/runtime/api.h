/* api.h - the part of the CUDA runtime's binary interface that dry runs implement, so that it is
 * built without CUDA's headers.
 *
 * Names are our own (RuntimeExtent is cudaExtent), so that api-check.c can compare these
 * definitions with NVIDIA's headers, of 12 and of 13, where they are installed. Streams, events,
 * graphs, pools, functions and arrays are the driver's, as they are in NVIDIA's runtime. Where a
 * structure grew, the part that all versions share is declared.
 *
 * Origin: the CUDA runtime API's reference manual and headers.
 */
#pragma once

#include <stddef.h>

/* ---- results that the driver does not have, as numbers of cudaError_t; the others
 * are CUresult's */

enum
{
  RUNTIME_SUCCESS = 0,
  RUNTIME_INVALID_VALUE = 1,
  RUNTIME_INITIALIZATION_ERROR = 3,
  RUNTIME_INVALID_CONFIGURATION = 9,
  RUNTIME_INVALID_PITCH = 12,
  RUNTIME_INVALID_SYMBOL = 13,
  RUNTIME_INVALID_COPY_DIRECTION = 21,
  RUNTIME_MISSING_CONFIGURATION = 52,
  RUNTIME_INVALID_DEVICE_FUNCTION = 98,
  RUNTIME_INVALID_DEVICE = 101,
  RUNTIME_SYMBOL_NOT_FOUND = 500,
  RUNTIME_NOT_READY = 600,
  RUNTIME_NOT_SUPPORTED = 801,
};

/* ---- kinds */

enum /* cudaMemcpyKind */
{
  RUNTIME_HOST_TO_HOST,
  RUNTIME_HOST_TO_DEVICE,
  RUNTIME_DEVICE_TO_HOST,
  RUNTIME_DEVICE_TO_DEVICE,
  RUNTIME_BY_ADDRESS,
};

enum /* cudaMemoryType */
{
  RUNTIME_UNREGISTERED,
  RUNTIME_HOST,
  RUNTIME_DEVICE,
  RUNTIME_MANAGED,
};

enum /* cudaFuncAttribute */
{
  RUNTIME_SET_DYNAMIC_SHARED = 8,
  RUNTIME_SET_CARVEOUT = 9,
  RUNTIME_SET_END = 16, /* those of 13.0 are below */
};

#define RUNTIME_NO_POINTER_DEVICE \
  (-2) /* cudaInvalidDeviceId, the device of memory that CUDA does not know */
#define RUNTIME_IPC_HANDLE_BYTES 64

/* ---- structures */

typedef struct /* dim3, passed by value */
{
  unsigned x, y, z;
} RuntimeDim3;

typedef struct /* cudaExtent */
{
  size_t width, height, depth;
} RuntimeExtent;

typedef struct /* cudaPos */
{
  size_t x, y, z;
} RuntimePosition;

typedef struct /* cudaPitchedPtr */
{
  void *address;
  size_t pitch, width, height;
} RuntimePitched;

/* cudaChannelFormatDesc: bits of each component; kind 0 signed, 1 unsigned, 2 float. */
typedef struct
{
  int x, y, z, w, kind;
} RuntimeChannel;

typedef struct /* cudaMemcpy3DParms */
{
  void *from_array;
  RuntimePosition from_position;
  RuntimePitched from;
  void *to_array;
  RuntimePosition to_position;
  RuntimePitched to;
  RuntimeExtent extent;
  int kind;
} RuntimeCopy3D;

typedef struct /* cudaMemcpy3DPeerParms */
{
  void *from_array;
  RuntimePosition from_position;
  RuntimePitched from;
  int from_device;
  void *to_array;
  RuntimePosition to_position;
  RuntimePitched to;
  int to_device;
  RuntimeExtent extent;
} RuntimePeerCopy3D;

typedef struct /* cudaPointerAttributes; 13 has reserved fields after them */
{
  int type, device;
  void *device_address, *host_address;
} RuntimePointer;

typedef struct /* cudaFuncAttributes */
{
  size_t shared, constant, local;
  int threads, registers, ptx_version, binary_version, cache_mode, dynamic_shared, carveout;
  int cluster_must_be_set, cluster_width, cluster_height, cluster_depth, cluster_policy,
      cluster_non_portable;
  int reserved[16];
} RuntimeFunction;

typedef struct /* cudaLaunchConfig_t */
{
  RuntimeDim3 grid, block;
  size_t shared;
  void *stream;
  void *attributes;
  unsigned n_attributes;
} RuntimeLaunch;

typedef struct /* cudaKernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v1 */
{
  void *function;
  RuntimeDim3 grid, block;
  unsigned shared;
  void **parameters, **extra;
} RuntimeKernelNode;

typedef struct /* cudaMemLocation */
{
  int type, id;
} RuntimeLocation;

typedef struct /* cudaIpcMemHandle_t, cudaIpcEventHandle_t */
{
  char bytes[RUNTIME_IPC_HANDLE_BYTES];
} RuntimeIpcHandle;

typedef struct /* cudaUUID_t */
{
  char bytes[16];
} RuntimeUuid;

/* ---- cudaDeviceProp: the layouts of 12 and of 13 */

/* The fields between the name and the end of the part that 12 and 13 share: P is in both,
 * P12 in 12 only. */
#define RUNTIME_PROPERTIES_FIELDS(P, P12) \
  P (size_t, totalGlobalMem) \
  P (size_t, sharedMemPerBlock) \
  P (int, regsPerBlock) \
  P (int, warpSize) \
  P (size_t, memPitch) \
  P (int, maxThreadsPerBlock) \
  P (int, maxThreadsDim[3]) \
  P (int, maxGridSize[3]) \
  P12 (int, clockRate) \
  P (size_t, totalConstMem) \
  P (int, major) \
  P (int, minor) \
  P (size_t, textureAlignment) \
  P (size_t, texturePitchAlignment) \
  P12 (int, deviceOverlap) \
  P (int, multiProcessorCount) \
  P12 (int, kernelExecTimeoutEnabled) \
  P (int, integrated) \
  P (int, canMapHostMemory) \
  P12 (int, computeMode) \
  P (int, maxTexture1D) \
  P (int, maxTexture1DMipmap) \
  P12 (int, maxTexture1DLinear) \
  P (int, maxTexture2D[2]) \
  P (int, maxTexture2DMipmap[2]) \
  P (int, maxTexture2DLinear[3]) \
  P (int, maxTexture2DGather[2]) \
  P (int, maxTexture3D[3]) \
  P (int, maxTexture3DAlt[3]) \
  P (int, maxTextureCubemap) \
  P (int, maxTexture1DLayered[2]) \
  P (int, maxTexture2DLayered[3]) \
  P (int, maxTextureCubemapLayered[2]) \
  P (int, maxSurface1D) \
  P (int, maxSurface2D[2]) \
  P (int, maxSurface3D[3]) \
  P (int, maxSurface1DLayered[2]) \
  P (int, maxSurface2DLayered[3]) \
  P (int, maxSurfaceCubemap) \
  P (int, maxSurfaceCubemapLayered[2]) \
  P (size_t, surfaceAlignment) \
  P (int, concurrentKernels) \
  P (int, ECCEnabled) \
  P (int, pciBusID) \
  P (int, pciDeviceID) \
  P (int, pciDomainID) \
  P (int, tccDriver) \
  P (int, asyncEngineCount) \
  P (int, unifiedAddressing) \
  P12 (int, memoryClockRate) \
  P (int, memoryBusWidth) \
  P (int, l2CacheSize) \
  P (int, persistingL2CacheMaxSize) \
  P (int, maxThreadsPerMultiProcessor) \
  P (int, streamPrioritiesSupported) \
  P (int, globalL1CacheSupported) \
  P (int, localL1CacheSupported) \
  P (size_t, sharedMemPerMultiprocessor) \
  P (int, regsPerMultiprocessor) \
  P (int, managedMemory) \
  P (int, isMultiGpuBoard) \
  P (int, multiGpuBoardGroupID) \
  P (int, hostNativeAtomicSupported) \
  P12 (int, singleToDoublePrecisionPerfRatio) \
  P (int, pageableMemoryAccess) \
  P (int, concurrentManagedAccess) \
  P (int, computePreemptionSupported) \
  P (int, canUseHostPointerForRegisteredMem) \
  P (int, cooperativeLaunch) \
  P12 (int, cooperativeMultiDeviceLaunch) \
  P (size_t, sharedMemPerBlockOptin) \
  P (int, pageableMemoryAccessUsesHostPageTables) \
  P (int, directManagedMemAccessFromHost) \
  P (int, maxBlocksPerMultiProcessor) \
  P (int, accessPolicyMaxWindowSize) \
  P (size_t, reservedSharedMemPerBlock) \
  P (int, hostRegisterSupported) \
  P (int, sparseCudaArraySupported) \
  P (int, hostRegisterReadOnlySupported) \
  P (int, timelineSemaphoreInteropSupported) \
  P (int, memoryPoolsSupported) \
  P (int, gpuDirectRDMASupported) \
  P (unsigned, gpuDirectRDMAFlushWritesOptions) \
  P (int, gpuDirectRDMAWritesOrdering) \
  P (unsigned, memoryPoolSupportedHandleTypes) \
  P (int, deferredMappingCudaArraySupported) \
  P (int, ipcEventSupported) \
  P (int, clusterLaunch) \
  P (int, unifiedFunctionPointers)

#define RUNTIME_FIELD(type, name) type name;
#define RUNTIME_NO_FIELD(type, name)

typedef struct /* cudaDeviceProp of 12; until reservedSharedMemPerBlock also that of 11 */
{
  char name[256];
  RuntimeUuid uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  RUNTIME_PROPERTIES_FIELDS (RUNTIME_FIELD, RUNTIME_FIELD)
  int reserved[63];
} RuntimeProperties12;

typedef struct /* cudaDeviceProp of 13 */
{
  char name[256];
  RuntimeUuid uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  RUNTIME_PROPERTIES_FIELDS (RUNTIME_FIELD, RUNTIME_NO_FIELD)
  int deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;
  unsigned gpuPciDeviceID, gpuPciSubsystemID;
  int hostNumaMultinodeIpcSupported;
  int reserved[56];
} RuntimeProperties13;

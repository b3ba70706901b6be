/* api-functions.h - prototypes of the driver's functions that are written here; part of
 * api.h, and checked against CUDA's own by api-check.c. */
#pragma once

#pragma GCC visibility push(default)

CUresult cuInit (unsigned int);
CUresult cuDriverGetVersion (int *);
CUresult cuGetErrorName (CUresult, const char **);
CUresult cuGetErrorString (CUresult, const char **);
CUresult cuGetProcAddress (const char *, void **, int, cuuint64_t);
CUresult cuGetProcAddress_v2 (const char *, void **, int, cuuint64_t,
                              CUdriverProcAddressQueryResult *);
CUresult cuGetExportTable (const void **, const CUuuid *);
CUresult cuDeviceGet (CUdevice *, int);
CUresult cuDeviceGetCount (int *);
CUresult cuDeviceGetName (char *, int, CUdevice);
CUresult cuDeviceGetUuid (CUuuid *, CUdevice);
CUresult cuDeviceGetUuid_v2 (CUuuid *, CUdevice);
CUresult cuDeviceTotalMem_v2 (size_t *, CUdevice);
CUresult cuDeviceGetAttribute (int *, CUdevice_attribute, CUdevice);
CUresult cuDeviceGetPCIBusId (char *, int, CUdevice);
CUresult cuDeviceComputeCapability (int *, int *, CUdevice);
CUresult cuDeviceCanAccessPeer (int *, CUdevice, CUdevice);
CUresult cuDevicePrimaryCtxRetain (CUcontext *, CUdevice);
CUresult cuDevicePrimaryCtxRelease_v2 (CUdevice);
CUresult cuDevicePrimaryCtxReset_v2 (CUdevice);
CUresult cuDevicePrimaryCtxSetFlags_v2 (CUdevice, unsigned int);
CUresult cuDevicePrimaryCtxGetState (CUdevice, unsigned int *, int *);
CUresult cuCtxCreate_v2 (CUcontext *, unsigned int, CUdevice);
CUresult cuCtxCreate_v4 (CUcontext *, CUctxCreateParams *, unsigned int, CUdevice);
CUresult cuCtxDestroy_v2 (CUcontext);
CUresult cuCtxGetCurrent (CUcontext *);
CUresult cuCtxSetCurrent (CUcontext);
CUresult cuCtxPushCurrent_v2 (CUcontext);
CUresult cuCtxPopCurrent_v2 (CUcontext *);
CUresult cuCtxGetDevice (CUdevice *);
CUresult cuCtxGetFlags (unsigned int *);
CUresult cuCtxSynchronize (void);
CUresult cuCtxGetDevice_v2 (CUdevice *, CUcontext);
CUresult cuCtxSynchronize_v2 (CUcontext);
CUresult cuCtxGetApiVersion (CUcontext, unsigned int *);
CUresult cuCtxGetStreamPriorityRange (int *, int *);
CUresult cuCtxEnablePeerAccess (CUcontext, unsigned int);
CUresult cuCtxDisablePeerAccess (CUcontext);
CUresult cuMemGetInfo_v2 (size_t *, size_t *);
CUresult cuMemAlloc_v2 (CUdeviceptr *, size_t);
CUresult cuMemAllocPitch_v2 (CUdeviceptr *, size_t *, size_t, size_t, unsigned int);
CUresult cuMemFree_v2 (CUdeviceptr);
CUresult cuMemGetAddressRange_v2 (CUdeviceptr *, size_t *, CUdeviceptr);
CUresult cuMemAllocManaged (CUdeviceptr *, size_t, unsigned int);
CUresult cuMemAllocHost_v2 (void **, size_t);
CUresult cuMemHostAlloc (void **, size_t, unsigned int);
CUresult cuMemFreeHost (void *);
CUresult cuMemHostGetDevicePointer_v2 (CUdeviceptr *, void *, unsigned int);
CUresult cuMemHostGetFlags (unsigned int *, void *);
CUresult cuMemHostRegister_v2 (void *, size_t, unsigned int);
CUresult cuMemHostUnregister (void *);
CUresult cuPointerGetAttribute (void *, CUpointer_attribute, CUdeviceptr);
CUresult cuPointerGetAttributes (unsigned int, CUpointer_attribute *, void **, CUdeviceptr);
CUresult cuMemGetAllocationGranularity (size_t *, const CUmemAllocationProp *,
                                        CUmemAllocationGranularity_flags);
CUresult cuMemAddressReserve (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
CUresult cuMemAddressFree (CUdeviceptr, size_t);
CUresult cuMemCreate (CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                      unsigned long long);
CUresult cuMemRelease (CUmemGenericAllocationHandle);
CUresult cuMemMap (CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
CUresult cuMemUnmap (CUdeviceptr, size_t);
CUresult cuMemSetAccess (CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
CUresult cuMemGetAccess (unsigned long long *, const CUmemLocation *, CUdeviceptr);
CUresult cuMemRetainAllocationHandle (CUmemGenericAllocationHandle *, void *);
CUresult cuMemGetAllocationPropertiesFromHandle (CUmemAllocationProp *,
                                                 CUmemGenericAllocationHandle);
CUresult cuDeviceGetDefaultMemPool (CUmemoryPool *, CUdevice);
CUresult cuDeviceGetMemPool (CUmemoryPool *, CUdevice);
CUresult cuDeviceSetMemPool (CUdevice, CUmemoryPool);
CUresult cuMemPoolCreate (CUmemoryPool *, const CUmemPoolProps *);
CUresult cuMemPoolDestroy (CUmemoryPool);
CUresult cuMemPoolSetAttribute (CUmemoryPool, CUmemPool_attribute, void *);
CUresult cuMemPoolGetAttribute (CUmemoryPool, CUmemPool_attribute, void *);
CUresult cuMemPoolTrimTo (CUmemoryPool, size_t);
CUresult cuMemAllocAsync (CUdeviceptr *, size_t, CUstream);
CUresult cuMemAllocFromPoolAsync (CUdeviceptr *, size_t, CUmemoryPool, CUstream);
CUresult cuMemFreeAsync (CUdeviceptr, CUstream);
CUresult cuMemAllocAsync_ptsz (CUdeviceptr *, size_t, CUstream);
CUresult cuMemAllocFromPoolAsync_ptsz (CUdeviceptr *, size_t, CUmemoryPool, CUstream);
CUresult cuMemFreeAsync_ptsz (CUdeviceptr, CUstream);
CUresult cuMemsetD8_v2 (CUdeviceptr, unsigned char, size_t);
CUresult cuMemsetD16_v2 (CUdeviceptr, unsigned short, size_t);
CUresult cuMemsetD32_v2 (CUdeviceptr, unsigned int, size_t);
CUresult cuMemsetD8Async (CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuMemsetD16Async (CUdeviceptr, unsigned short, size_t, CUstream);
CUresult cuMemsetD32Async (CUdeviceptr, unsigned int, size_t, CUstream);
CUresult cuMemsetD8_v2_ptds (CUdeviceptr, unsigned char, size_t);
CUresult cuMemsetD16_v2_ptds (CUdeviceptr, unsigned short, size_t);
CUresult cuMemsetD32_v2_ptds (CUdeviceptr, unsigned int, size_t);
CUresult cuMemsetD8Async_ptsz (CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuMemsetD16Async_ptsz (CUdeviceptr, unsigned short, size_t, CUstream);
CUresult cuMemsetD32Async_ptsz (CUdeviceptr, unsigned int, size_t, CUstream);
CUresult cuMemcpy (CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemcpyAsync (CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyHtoD_v2 (CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2 (void *, CUdeviceptr, size_t);
CUresult cuMemcpyDtoD_v2 (CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemcpyHtoDAsync_v2 (CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2 (void *, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyDtoDAsync_v2 (CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpy_ptds (CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemcpyAsync_ptsz (CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyHtoD_v2_ptds (CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2_ptds (void *, CUdeviceptr, size_t);
CUresult cuMemcpyDtoD_v2_ptds (CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemcpyHtoDAsync_v2_ptsz (CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2_ptsz (void *, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyDtoDAsync_v2_ptsz (CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuStreamCreate (CUstream *, unsigned int);
CUresult cuStreamCreateWithPriority (CUstream *, unsigned int, int);
CUresult cuStreamDestroy_v2 (CUstream);
CUresult cuStreamQuery (CUstream);
CUresult cuStreamSynchronize (CUstream);
CUresult cuStreamWaitEvent (CUstream, CUevent, unsigned int);
CUresult cuStreamGetFlags (CUstream, unsigned int *);
CUresult cuStreamGetPriority (CUstream, int *);
CUresult cuStreamGetCtx (CUstream, CUcontext *);
CUresult cuStreamGetGreenCtx (CUstream, CUgreenCtx *);
CUresult cuStreamIsCapturing (CUstream, CUstreamCaptureStatus *);
CUresult cuStreamQuery_ptsz (CUstream);
CUresult cuStreamSynchronize_ptsz (CUstream);
CUresult cuStreamWaitEvent_ptsz (CUstream, CUevent, unsigned int);
CUresult cuStreamGetFlags_ptsz (CUstream, unsigned int *);
CUresult cuStreamGetPriority_ptsz (CUstream, int *);
CUresult cuStreamGetCtx_ptsz (CUstream, CUcontext *);
CUresult cuStreamIsCapturing_ptsz (CUstream, CUstreamCaptureStatus *);
CUresult cuStreamBeginCapture_v2 (CUstream, CUstreamCaptureMode);
CUresult cuStreamEndCapture (CUstream, CUgraph *);
CUresult cuStreamBeginCapture_v2_ptsz (CUstream, CUstreamCaptureMode);
CUresult cuStreamEndCapture_ptsz (CUstream, CUgraph *);
CUresult cuGraphDestroy (CUgraph);
CUresult cuThreadExchangeStreamCaptureMode (CUstreamCaptureMode *);
CUresult cuEventCreate (CUevent *, unsigned int);
CUresult cuEventDestroy_v2 (CUevent);
CUresult cuEventRecord (CUevent, CUstream);
CUresult cuEventRecordWithFlags (CUevent, CUstream, unsigned int);
CUresult cuEventQuery (CUevent);
CUresult cuEventSynchronize (CUevent);
CUresult cuEventElapsedTime (float *, CUevent, CUevent);
CUresult cuEventElapsedTime_v2 (float *, CUevent, CUevent);
CUresult cuEventRecord_ptsz (CUevent, CUstream);
CUresult cuEventRecordWithFlags_ptsz (CUevent, CUstream, unsigned int);
CUresult cuModuleLoadData (CUmodule *, const void *);
CUresult cuModuleLoadDataEx (CUmodule *, const void *, unsigned int, CUjit_option *, void **);
CUresult cuModuleLoadFatBinary (CUmodule *, const void *);
CUresult cuModuleUnload (CUmodule);
CUresult cuModuleGetFunction (CUfunction *, CUmodule, const char *);
CUresult cuModuleGetFunctionCount (unsigned *, CUmodule);
CUresult cuModuleEnumerateFunctions (CUfunction *, unsigned, CUmodule);
CUresult cuFuncGetAttribute (int *, CUfunction_attribute, CUfunction);
CUresult cuLaunchKernel (CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
                         unsigned int, unsigned int, unsigned int, CUstream, void **, void **);
CUresult cuLaunchKernel_ptsz (CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
                              unsigned int, unsigned int, unsigned int, CUstream, void **, void **);
CUresult cuModuleLoad (CUmodule *, const char *);
CUresult cuModuleGetGlobal_v2 (CUdeviceptr *, size_t *, CUmodule, const char *);
CUresult cuModuleGetLoadingMode (CUmoduleLoadingMode *);
CUresult cuLibraryLoadData (CUlibrary *, const void *, CUjit_option *, void **, unsigned int,
                            CUlibraryOption *, void **, unsigned int);
CUresult cuLibraryLoadFromFile (CUlibrary *, const char *, CUjit_option *, void **, unsigned int,
                                CUlibraryOption *, void **, unsigned int);
CUresult cuLibraryUnload (CUlibrary);
CUresult cuLibraryGetKernel (CUkernel *, CUlibrary, const char *);
CUresult cuLibraryGetKernelCount (unsigned *, CUlibrary);
CUresult cuLibraryEnumerateKernels (CUkernel *, unsigned, CUlibrary);
CUresult cuLibraryGetModule (CUmodule *, CUlibrary);
CUresult cuLibraryGetGlobal (CUdeviceptr *, size_t *, CUlibrary, const char *);
CUresult cuKernelGetFunction (CUfunction *, CUkernel);
CUresult cuKernelGetAttribute (int *, CUfunction_attribute, CUkernel, CUdevice);
CUresult cuKernelSetAttribute (CUfunction_attribute, int, CUkernel, CUdevice);
CUresult cuKernelSetCacheConfig (CUkernel, CUfunc_cache, CUdevice);
CUresult cuKernelGetName (const char **, CUkernel);
CUresult cuKernelGetLibrary (CUlibrary *, CUkernel);
CUresult cuFuncGetModule (CUmodule *, CUfunction);
CUresult cuFuncGetName (const char **, CUfunction);
CUresult cuFuncIsLoaded (CUfunctionLoadingState *, CUfunction);
CUresult cuFuncLoad (CUfunction);
CUresult cuFuncSetAttribute (CUfunction, CUfunction_attribute, int);
CUresult cuFuncSetCacheConfig (CUfunction, CUfunc_cache);
CUresult cuFuncSetSharedMemConfig (CUfunction, CUsharedconfig);
CUresult cuLaunchKernelEx (const CUlaunchConfig *, CUfunction, void **, void **);
CUresult cuLaunchKernelEx_ptsz (const CUlaunchConfig *, CUfunction, void **, void **);
CUresult cuLaunchCooperativeKernel (CUfunction, unsigned int, unsigned int, unsigned int,
                                    unsigned int, unsigned int, unsigned int, unsigned int,
                                    CUstream, void **);
CUresult cuLaunchCooperativeKernel_ptsz (CUfunction, unsigned int, unsigned int, unsigned int,
                                         unsigned int, unsigned int, unsigned int, unsigned int,
                                         CUstream, void **);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor (int *, CUfunction, int, size_t);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (int *, CUfunction, int, size_t,
                                                               unsigned int);
CUresult cuOccupancyMaxPotentialBlockSize (int *, int *, CUfunction, CUoccupancyB2DSize, size_t,
                                           int);
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags (int *, int *, CUfunction, CUoccupancyB2DSize,
                                                    size_t, int, unsigned int);
CUresult cuOccupancyAvailableDynamicSMemPerBlock (size_t *, CUfunction, int, int);
CUresult cuOccupancyMaxPotentialClusterSize (int *, CUfunction, const CUlaunchConfig *);
CUresult cuOccupancyMaxActiveClusters (int *, CUfunction, const CUlaunchConfig *);
CUresult cuGraphCreate (CUgraph *, unsigned int);
CUresult cuGraphClone (CUgraph *, CUgraph);
CUresult cuGraphAddKernelNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                               const CUDA_KERNEL_NODE_PARAMS_v1 *);
CUresult cuGraphAddKernelNode_v2 (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                                  const CUDA_KERNEL_NODE_PARAMS *);
CUresult cuGraphAddMemcpyNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                               const CUDA_MEMCPY3D *, CUcontext);
CUresult cuGraphAddMemsetNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                               const CUDA_MEMSET_NODE_PARAMS *, CUcontext);
CUresult cuGraphAddChildGraphNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraph);
CUresult cuGraphAddEmptyNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
CUresult cuGraphAddEventRecordNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUevent);
CUresult cuGraphAddEventWaitNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUevent);
CUresult cuGraphAddHostNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                             const CUDA_HOST_NODE_PARAMS *);
CUresult cuGraphAddMemAllocNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
                                 CUDA_MEM_ALLOC_NODE_PARAMS *);
CUresult cuGraphAddMemFreeNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUdeviceptr);
CUresult cuGraphAddNode (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraphNodeParams *);
CUresult cuGraphAddNode_v2 (CUgraphNode *, CUgraph, const CUgraphNode *, const CUgraphEdgeData *,
                            size_t, CUgraphNodeParams *);
CUresult cuGraphGetNodes (CUgraph, CUgraphNode *, size_t *);
CUresult cuGraphGetRootNodes (CUgraph, CUgraphNode *, size_t *);
CUresult cuGraphNodeGetType (CUgraphNode, CUgraphNodeType *);
CUresult cuGraphKernelNodeGetParams (CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v1 *);
CUresult cuGraphKernelNodeGetParams_v2 (CUgraphNode, CUDA_KERNEL_NODE_PARAMS *);
CUresult cuGraphKernelNodeSetParams (CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1 *);
CUresult cuGraphKernelNodeSetParams_v2 (CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *);
CUresult cuGraphMemcpyNodeGetParams (CUgraphNode, CUDA_MEMCPY3D *);
CUresult cuGraphMemcpyNodeSetParams (CUgraphNode, const CUDA_MEMCPY3D *);
CUresult cuGraphMemsetNodeGetParams (CUgraphNode, CUDA_MEMSET_NODE_PARAMS *);
CUresult cuGraphMemsetNodeSetParams (CUgraphNode, const CUDA_MEMSET_NODE_PARAMS *);
CUresult cuGraphHostNodeGetParams (CUgraphNode, CUDA_HOST_NODE_PARAMS *);
CUresult cuGraphHostNodeSetParams (CUgraphNode, const CUDA_HOST_NODE_PARAMS *);
CUresult cuGraphChildGraphNodeGetGraph (CUgraphNode, CUgraph *);
CUresult cuGraphEventRecordNodeGetEvent (CUgraphNode, CUevent *);
CUresult cuGraphEventRecordNodeSetEvent (CUgraphNode, CUevent);
CUresult cuGraphEventWaitNodeGetEvent (CUgraphNode, CUevent *);
CUresult cuGraphEventWaitNodeSetEvent (CUgraphNode, CUevent);
CUresult cuGraphMemAllocNodeGetParams (CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS *);
CUresult cuGraphMemFreeNodeGetParams (CUgraphNode, CUdeviceptr *);
CUresult cuGraphInstantiate_v2 (CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
CUresult cuGraphInstantiateWithFlags (CUgraphExec *, CUgraph, unsigned long long);
CUresult cuGraphInstantiateWithParams (CUgraphExec *, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS *);
CUresult cuGraphInstantiateWithParams_ptsz (CUgraphExec *, CUgraph,
                                            CUDA_GRAPH_INSTANTIATE_PARAMS *);
CUresult cuGraphExecDestroy (CUgraphExec);
CUresult cuGraphExecGetFlags (CUgraphExec, cuuint64_t *);
CUresult cuGraphExecUpdate_v2 (CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *);
CUresult cuGraphLaunch (CUgraphExec, CUstream);
CUresult cuGraphLaunch_ptsz (CUgraphExec, CUstream);
CUresult cuGraphUpload (CUgraphExec, CUstream);
CUresult cuUserObjectCreate (CUuserObject *, void *, CUhostFn, unsigned int, unsigned int);
CUresult cuUserObjectRetain (CUuserObject, unsigned int);
CUresult cuUserObjectRelease (CUuserObject, unsigned int);
CUresult cuGraphRetainUserObject (CUgraph, CUuserObject, unsigned int, unsigned int);
CUresult cuGraphReleaseUserObject (CUgraph, CUuserObject, unsigned int);
CUresult cuDeviceGetGraphMemAttribute (CUdevice, CUgraphMem_attribute, void *);
CUresult cuDeviceSetGraphMemAttribute (CUdevice, CUgraphMem_attribute, void *);
CUresult cuDeviceGraphMemTrim (CUdevice);
CUresult cuGraphInstantiateWithFlags (CUgraphExec *, CUgraph, unsigned long long);
CUresult cuLaunchHostFunc (CUstream, CUhostFn, void *);
CUresult cuLaunchHostFunc_ptsz (CUstream, CUhostFn, void *);
CUresult cuStreamAddCallback (CUstream, CUstreamCallback, void *, unsigned int);
CUresult cuStreamAddCallback_ptsz (CUstream, CUstreamCallback, void *, unsigned int);
CUresult cuStreamWriteValue32_v2 (CUstream, CUdeviceptr, cuuint32_t, unsigned int);
CUresult cuStreamWriteValue64_v2 (CUstream, CUdeviceptr, cuuint64_t, unsigned int);
CUresult cuStreamWaitValue32_v2 (CUstream, CUdeviceptr, cuuint32_t, unsigned int);
CUresult cuStreamWaitValue64_v2 (CUstream, CUdeviceptr, cuuint64_t, unsigned int);
CUresult cuStreamGetId (CUstream, unsigned long long *);
CUresult cuStreamGetDevice (CUstream, CUdevice *);
CUresult cuStreamGetAttribute (CUstream, CUlaunchAttributeID, CUlaunchAttributeValue *);
CUresult cuStreamGetCaptureInfo (CUstream, CUstreamCaptureStatus *, cuuint64_t *);
CUresult cuStreamGetCaptureInfo_v2 (CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                                    const CUgraphNode **, size_t *);
CUresult cuStreamGetCaptureInfo_v3 (CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                                    const CUgraphNode **, const CUgraphEdgeData **, size_t *);
CUresult cuStreamUpdateCaptureDependencies (CUstream, CUgraphNode *, size_t, unsigned int);
CUresult cuStreamUpdateCaptureDependencies_v2 (CUstream, CUgraphNode *, const CUgraphEdgeData *,
                                               size_t, unsigned int);
CUresult cuMemcpy2DUnaligned_v2 (const CUDA_MEMCPY2D *);
CUresult cuMemcpyPeer (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t);
CUresult cuMemcpyPeerAsync (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
CUresult cuMemcpy2D_v2 (const CUDA_MEMCPY2D *);
CUresult cuMemcpy2DAsync_v2 (const CUDA_MEMCPY2D *, CUstream);
CUresult cuMemcpy3D_v2 (const CUDA_MEMCPY3D *);
CUresult cuMemcpy3DAsync_v2 (const CUDA_MEMCPY3D *, CUstream);
CUresult cuMemcpy3DPeer (const CUDA_MEMCPY3D_PEER *);
CUresult cuMemcpy3DPeerAsync (const CUDA_MEMCPY3D_PEER *, CUstream);
CUresult cuMemsetD2D8_v2 (CUdeviceptr, size_t, unsigned char, size_t, size_t);
CUresult cuMemsetD2D8Async (CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream);
CUresult cuMemsetD2D16_v2 (CUdeviceptr, size_t, unsigned short, size_t, size_t);
CUresult cuMemsetD2D16Async (CUdeviceptr, size_t, unsigned short, size_t, size_t, CUstream);
CUresult cuMemsetD2D32_v2 (CUdeviceptr, size_t, unsigned int, size_t, size_t);
CUresult cuMemsetD2D32Async (CUdeviceptr, size_t, unsigned int, size_t, size_t, CUstream);
CUresult cuCtxGetLimit (size_t *, CUlimit);
CUresult cuCtxSetLimit (CUlimit, size_t);
CUresult cuCtxGetCacheConfig (CUfunc_cache *);
CUresult cuCtxGetSharedMemConfig (CUsharedconfig *);
CUresult cuCtxGetId (CUcontext, unsigned long long *);
CUresult cuDeviceGetByPCIBusId (CUdevice *, const char *);
CUresult cuDeviceGetP2PAttribute (int *, CUdevice_P2PAttribute, CUdevice, CUdevice);
CUresult cuDeviceGetExecAffinitySupport (int *, CUexecAffinityType, CUdevice);
CUresult cuLinkCreate_v2 (unsigned int, CUjit_option *, void **, CUlinkState *);
CUresult cuLinkAddData_v2 (CUlinkState, CUjitInputType, void *, size_t, const char *, unsigned int,
                           CUjit_option *, void **);
CUresult cuLinkAddFile_v2 (CUlinkState, CUjitInputType, const char *, unsigned int, CUjit_option *,
                           void **);
CUresult cuLinkComplete (CUlinkState, void **, size_t *);
CUresult cuLinkDestroy (CUlinkState);
CUresult cuIpcGetMemHandle (CUipcMemHandle *, CUdeviceptr);
CUresult cuIpcOpenMemHandle_v2 (CUdeviceptr *, CUipcMemHandle, unsigned int);
CUresult cuIpcCloseMemHandle (CUdeviceptr);
CUresult cuMemExportToShareableHandle (void *, CUmemGenericAllocationHandle,
                                       CUmemAllocationHandleType, unsigned long long);
CUresult cuMemImportFromShareableHandle (CUmemGenericAllocationHandle *, void *,
                                         CUmemAllocationHandleType);
CUresult cuIpcGetEventHandle (CUipcEventHandle *, CUevent);
CUresult cuIpcOpenEventHandle (CUevent *, CUipcEventHandle);
CUresult cuMemPoolSetAccess (CUmemoryPool, const CUmemAccessDesc *, size_t);
CUresult cuMemPoolGetAccess (CUmemAccess_flags *, CUmemoryPool, CUmemLocation *);
CUresult cuMulticastGetGranularity (size_t *, const CUmulticastObjectProp *,
                                    CUmulticastGranularity_flags);
CUresult cuMulticastCreate (CUmemGenericAllocationHandle *, const CUmulticastObjectProp *);
CUresult cuMulticastAddDevice (CUmemGenericAllocationHandle, CUdevice);
CUresult cuMulticastBindMem (CUmemGenericAllocationHandle, size_t, CUmemGenericAllocationHandle,
                             size_t, size_t, unsigned long long);
CUresult cuMulticastBindAddr (CUmemGenericAllocationHandle, size_t, CUdeviceptr, size_t,
                              unsigned long long);
CUresult cuMulticastUnbind (CUmemGenericAllocationHandle, CUdevice, size_t, size_t);
CUresult cuStreamWriteValue32 (CUstream, CUdeviceptr, cuuint32_t, unsigned int);
CUresult cuStreamWriteValue64 (CUstream, CUdeviceptr, cuuint64_t, unsigned int);

#pragma GCC visibility pop

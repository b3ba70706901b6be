/* api-check.c - compares api.h and properties.def with CUDA's own headers at compile time, of 12 or
 * of 13; compiled only if these headers are installed.
 */
#include "config.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

#include "dry/runtime/api.h"

#define SAME_SIZE(theirs, own) \
  _Static_assert(sizeof (theirs) == sizeof (own), #theirs " is as large as api.h says")
#define SAME_PLACE(theirs, field, own, own_field) \
  _Static_assert(offsetof (theirs, field) == offsetof (own, own_field) \
                     && sizeof (((theirs *) 0)->field) == sizeof (((own *) 0)->own_field), \
                 #theirs "." #field " is where api.h says")
#define SAME_VALUE(theirs, own) \
  _Static_assert((int) (theirs) == (int) (own), #theirs " is the number in api.h")

SAME_VALUE (cudaErrorInvalidValue, RUNTIME_INVALID_VALUE);
SAME_VALUE (cudaErrorInitializationError, RUNTIME_INITIALIZATION_ERROR);
SAME_VALUE (cudaErrorInvalidConfiguration, RUNTIME_INVALID_CONFIGURATION);
SAME_VALUE (cudaErrorInvalidPitchValue, RUNTIME_INVALID_PITCH);
SAME_VALUE (cudaErrorInvalidSymbol, RUNTIME_INVALID_SYMBOL);
SAME_VALUE (cudaErrorInvalidMemcpyDirection, RUNTIME_INVALID_COPY_DIRECTION);
SAME_VALUE (cudaErrorMissingConfiguration, RUNTIME_MISSING_CONFIGURATION);
SAME_VALUE (cudaErrorInvalidDeviceFunction, RUNTIME_INVALID_DEVICE_FUNCTION);
SAME_VALUE (cudaErrorInvalidDevice, RUNTIME_INVALID_DEVICE);
SAME_VALUE (cudaErrorSymbolNotFound, RUNTIME_SYMBOL_NOT_FOUND);
SAME_VALUE (cudaErrorNotReady, RUNTIME_NOT_READY);
SAME_VALUE (cudaErrorNotSupported, RUNTIME_NOT_SUPPORTED);

SAME_VALUE (cudaMemcpyHostToHost, RUNTIME_HOST_TO_HOST);
SAME_VALUE (cudaMemcpyDeviceToDevice, RUNTIME_DEVICE_TO_DEVICE);
SAME_VALUE (cudaMemcpyDefault, RUNTIME_BY_ADDRESS);
SAME_VALUE (cudaMemoryTypeUnregistered, RUNTIME_UNREGISTERED);
SAME_VALUE (cudaMemoryTypeHost, RUNTIME_HOST);
SAME_VALUE (cudaMemoryTypeDevice, RUNTIME_DEVICE);
SAME_VALUE (cudaMemoryTypeManaged, RUNTIME_MANAGED);
SAME_VALUE (cudaInvalidDeviceId, RUNTIME_NO_POINTER_DEVICE);
SAME_VALUE (cudaFuncAttributeMaxDynamicSharedMemorySize, RUNTIME_SET_DYNAMIC_SHARED);
SAME_VALUE (cudaFuncAttributePreferredSharedMemoryCarveout, RUNTIME_SET_CARVEOUT);

SAME_SIZE (struct cudaExtent, RuntimeExtent);
SAME_SIZE (struct cudaPos, RuntimePosition);
SAME_SIZE (struct cudaPitchedPtr, RuntimePitched);
SAME_PLACE (struct cudaPitchedPtr, xsize, RuntimePitched, width);
SAME_SIZE (struct cudaChannelFormatDesc, RuntimeChannel);
SAME_SIZE (struct cudaMemcpy3DParms, RuntimeCopy3D);
SAME_PLACE (struct cudaMemcpy3DParms, dstPtr, RuntimeCopy3D, to);
SAME_PLACE (struct cudaMemcpy3DParms, kind, RuntimeCopy3D, kind);
SAME_SIZE (struct cudaMemcpy3DPeerParms, RuntimePeerCopy3D);
SAME_PLACE (struct cudaMemcpy3DPeerParms, dstDevice, RuntimePeerCopy3D, to_device);
SAME_PLACE (struct cudaPointerAttributes, hostPointer, RuntimePointer, host_address);
SAME_SIZE (struct cudaFuncAttributes, RuntimeFunction);
SAME_PLACE (struct cudaFuncAttributes, maxDynamicSharedSizeBytes, RuntimeFunction, dynamic_shared);
SAME_PLACE (struct cudaFuncAttributes, requiredClusterDepth, RuntimeFunction, cluster_depth);
SAME_SIZE (cudaLaunchConfig_t, RuntimeLaunch);
SAME_PLACE (cudaLaunchConfig_t, numAttrs, RuntimeLaunch, n_attributes);
SAME_SIZE (struct cudaMemLocation, RuntimeLocation);
SAME_SIZE (cudaIpcMemHandle_t, RuntimeIpcHandle);
SAME_SIZE (cudaIpcEventHandle_t, RuntimeIpcHandle);

#if CUDART_VERSION >= 13000
typedef RuntimeProperties13 Properties;
#define RUNTIME_PROPERTY_12(field, name, attribute)
#else
typedef RuntimeProperties12 Properties;
#define RUNTIME_PROPERTY_12 RUNTIME_PROPERTY
#endif
SAME_SIZE (struct cudaDeviceProp, Properties);
#define RUNTIME_PROPERTY(field, name, attribute) \
  SAME_PLACE (struct cudaDeviceProp, field, Properties, field); \
  SAME_VALUE (cudaDevAttr##name, attribute);
#define cudaDevAttrUnifiedFunctionPointers cudaDevAttrReserved129 /* as the driver calls it */
#include "dry/runtime/properties.def"

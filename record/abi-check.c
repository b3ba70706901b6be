/* abi-check.c - compares abi.h with CUDA's own headers at compile time; compiled only if these
 * headers are installed. */
#include "config.h"

#include <cuda.h>
#include <stddef.h>

#include "record/abi.h"
#include "traces/journal/format.h"

#define SAME_PLACE(record) \
  _Static_assert(offsetof (record, location.type) == offsetof (Properties, location_type) \
                     && offsetof (record, location.id) == offsetof (Properties, location), \
                 "the location is where abi.h says")

_Static_assert(sizeof (CUdeviceptr) == sizeof (Address) && sizeof (CUstream) == sizeof (Handle)
                   && sizeof (CUmemGenericAllocationHandle) == sizeof (Handle),
               "addresses and handles have the size of a pointer");
_Static_assert(sizeof (CUresult) == sizeof (int) && CUDA_ERROR_OUT_OF_MEMORY == OUT_OF_MEMORY
                   && CUDA_ERROR_NOT_INITIALIZED == NOT_INITIALIZED,
               "results are numbers");
_Static_assert(CU_MEM_LOCATION_TYPE_DEVICE == LOCATION_DEVICE, "a location on a device");
_Static_assert(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM == ENTRY_PER_THREAD
                   && CU_GET_PROC_ADDRESS_LEGACY_STREAM == ENTRY_LEGACY,
               "flags of look-ups");
SAME_PLACE (CUmemAllocationProp);
SAME_PLACE (CUmemPoolProps);
_Static_assert(CU_MEM_ALLOCATION_TYPE_PINNED == KIND_PINNED
                   && sizeof (CUmemLocation) == sizeof (Location)
                   && offsetof (CUmemLocation, id) == offsetof (Location, id),
               "locations");

#define SAME_FIELD(record, field, own, own_field) \
  _Static_assert(offsetof (record, field) == offsetof (own, own_field), \
                 #record "." #field " is where abi.h says")
#if CUDA_VERSION >= 13000
SAME_FIELD (CUmemPoolProps, maxSize, PoolProperties, max_size);
#endif
#define SAME_FORMAT(format, own) \
  _Static_assert((int) CU_AD_FORMAT_##format == (int) ARRAY_##own, "formats of arrays")
SAME_FORMAT (UNSIGNED_INT8, UINT8);
SAME_FORMAT (UNSIGNED_INT16, UINT16);
SAME_FORMAT (UNSIGNED_INT32, UINT32);
SAME_FORMAT (SIGNED_INT8, SINT8);
SAME_FORMAT (SIGNED_INT16, SINT16);
SAME_FORMAT (SIGNED_INT32, SINT32);
SAME_FORMAT (HALF, HALF);
SAME_FORMAT (FLOAT, FLOAT);
SAME_FIELD (CUDA_ARRAY_DESCRIPTOR, Height, Array, height);
SAME_FIELD (CUDA_ARRAY_DESCRIPTOR, Format, Array, format);
SAME_FIELD (CUDA_ARRAY_DESCRIPTOR, NumChannels, Array, channels);
SAME_FIELD (CUDA_ARRAY3D_DESCRIPTOR, Depth, Array3D, depth);
SAME_FIELD (CUDA_ARRAY3D_DESCRIPTOR, Format, Array3D, format);
SAME_FIELD (CUDA_ARRAY3D_DESCRIPTOR, NumChannels, Array3D, channels);
SAME_FIELD (CUDA_ARRAY3D_DESCRIPTOR, Flags, Array3D, flags);
#if CUDA_VERSION >= 11060
_Static_assert((CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING) == ARRAY_MAPPED_LATER,
               "flags of arrays");
#endif
#if CUDA_VERSION >= 11040
SAME_FIELD (CUDA_MEM_ALLOC_NODE_PARAMS, dptr, AllocNode, address);
_Static_assert(CU_GRAPH_NODE_TYPE_MEM_ALLOC == NODE_TYPE_ALLOC
                   && CU_GRAPH_NODE_TYPE_MEM_FREE == NODE_TYPE_FREE,
               "types of nodes");
#endif
_Static_assert(CU_STREAM_NON_BLOCKING == STREAM_NON_BLOCKING, "flags of streams");
_Static_assert((int) CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES == JOURNAL_POOL_FOLLOW
                   && (int) CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC == JOURNAL_POOL_OPPORTUNISTIC
                   && (int) CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES
                          == JOURNAL_POOL_INTERNAL
                   && (int) CU_MEMPOOL_ATTR_RELEASE_THRESHOLD == JOURNAL_POOL_THRESHOLD,
               "attributes of pools");
#if CUDA_VERSION >= 11080
SAME_FIELD (CUlaunchConfig, hStream, Launch, stream);
#endif
#if CUDA_VERSION >= 12020
SAME_FIELD (CUgraphNodeParams, alloc, Node, alloc);
SAME_FIELD (CUgraphNodeParams, free, Node, free);
#endif

/* abi-check.c - compares abi.h with CUDA's own headers, at compile time; compiled only where they are there. */
#include "config.h"

#include <cuda.h>
#include <stddef.h>

#include "traces/record/abi.h"

#define SAME_PLACE(record) \
  _Static_assert (offsetof (record, location.type) == offsetof (Properties, location_type) \
                      && offsetof (record, location.id) == offsetof (Properties, location), \
                  "the location is where abi.h says")

_Static_assert (sizeof (CUdeviceptr) == sizeof (Address) && sizeof (CUstream) == sizeof (Handle)
                    && sizeof (CUmemGenericAllocationHandle) == sizeof (Handle),
                "addresses and handles have the size of a pointer");
_Static_assert (sizeof (CUresult) == sizeof (int) && CUDA_ERROR_OUT_OF_MEMORY == OUT_OF_MEMORY
                    && CUDA_ERROR_NOT_INITIALIZED == NOT_INITIALIZED,
                "results are numbers");
_Static_assert (CU_MEM_LOCATION_TYPE_DEVICE == LOCATION_DEVICE, "a location on a device");
_Static_assert (CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM == ENTRY_PER_THREAD && CU_GET_PROC_ADDRESS_LEGACY_STREAM == ENTRY_LEGACY,
                "flags of look-ups");
SAME_PLACE (CUmemAllocationProp);
SAME_PLACE (CUmemPoolProps);

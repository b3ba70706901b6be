/* api-check.c - compares nvml.h with NVML's own header at compile time; compiled only if CUDA's
 * headers are installed, and does nothing where NVML's is not among them. */
#include "config.h"

#if __has_include(<nvml.h>)
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include <stddef.h>

#define SAME(own_offset, type, field) \
  _Static_assert(offsetof (type, field) == (own_offset), #type "." #field " is as in nvml.h")
SAME (16, nvmlMemory_t, used);
SAME (8, nvmlProcessInfo_v1_t, usedGpuMemory);
SAME (8, nvmlProcessInfo_t, usedGpuMemory);
SAME (20, nvmlProcessInfo_t, computeInstanceId);
SAME (32, nvmlMemory_v2_t, used);
SAME (4, nvmlUtilization_t, memory);
SAME (20, nvmlPciInfo_t, bus);
SAME (36, nvmlPciInfo_t, busId);
SAME (16, nvmlFieldValue_t, latencyUsec);
SAME (32, nvmlFieldValue_t, value);
#ifdef nvmlGpuFabricInfo_v2
SAME (28, nvmlGpuFabricInfo_v2_t, state);
SAME (32, nvmlGpuFabricInfo_v2_t, healthMask);
_Static_assert(NVML_GPU_FABRIC_STATE_NOT_SUPPORTED == 0, "the state is as in nvml.h");
#endif
_Static_assert(sizeof (nvmlMemory_v2_t) == 40 && sizeof (nvmlPciInfo_t) == 68, "sizes");
_Static_assert(NVML_ERROR_INVALID_ARGUMENT == 2 && NVML_ERROR_NOT_FOUND == 6
                   && NVML_ERROR_INSUFFICIENT_SIZE == 7 && NVML_ERROR_UNKNOWN == 999
                   && NVML_ERROR_NOT_SUPPORTED == 3 && NVML_P2P_STATUS_OK == 0
                   && NVML_P2P_STATUS_GPU_NOT_SUPPORTED == 2 && NVML_NVLINK_CAP_VALID == 5
                   && NVML_NVLINK_DEVICE_TYPE_SWITCH == 2 && NVML_FI_DEV_NVLINK_LINK_COUNT == 91
                   && NVML_FI_DEV_NVLINK_GET_STATE == 165 && NVML_VALUE_TYPE_UNSIGNED_INT == 1,
               "values");
#endif

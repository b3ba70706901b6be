/* test-dry-links.c - how devices of dry runs reach each other: what driver and management library say of it, GPU by
 * GPU, and multicast objects, which take no memory.
 *
 * Every scenario runs in a process of its own, which opens libgemem-dry.so for the GPU that it names.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#define DRIVER_API_LATEST
#include "dry/driver/api.h"
#include "dry/nvml/nvml.h"
#include "tests/util/scenarios.h"
#include "tests/util/testutil.h"

#define MIB ((size_t) 1 << 20)

/* clang-format off */
#define FUNCTIONS(F) \
  F (cuInit) F (cuDevicePrimaryCtxRetain) F (cuCtxSetCurrent) F (cuCtxEnablePeerAccess) \
  F (cuDeviceCanAccessPeer) F (cuDeviceGetP2PAttribute) F (cuDeviceGetAttribute) F (cuMemGetInfo) \
  F (cuMemAddressReserve) F (cuMemCreate) F (cuMemMap) F (cuMemUnmap) F (cuMemAlloc) F (cuMemcpy) F (cuMemRelease) \
  F (cuMemExportToShareableHandle) F (cuMemImportFromShareableHandle) F (cuMulticastGetGranularity) \
  F (cuMulticastCreate) F (cuMulticastAddDevice) F (cuMulticastBindMem) F (cuMulticastUnbind) \
  F (nvmlDeviceGetHandleByIndex_v2) F (nvmlDeviceGetP2PStatus) F (nvmlDeviceGetNvLinkState) \
  F (nvmlDeviceGetNvLinkCapability) F (nvmlDeviceGetNvLinkRemotePciInfo) F (nvmlDeviceGetFieldValues) \
  F (nvmlDeviceGetNvLinkRemoteDeviceType) F (nvmlDeviceGetCurrPcieLinkGeneration) \
  F (nvmlDeviceGetPcieLinkMaxSpeed) F (nvmlDeviceGetGpuFabricInfoV) F (nvmlDeviceGetHandleByPciBusId)
/* clang-format on */

static struct
{
#define MEMBER(name) __typeof__ (name) *name;
  FUNCTIONS (MEMBER)
#undef MEMBER
} cu;

#define STRINGIFY(name) #name /* of what the name stands for */
#define SYMBOL(name) STRINGIFY (name)
#define IS(code, call) g_assert_cmpint (call, ==, code)
#define OK(call) IS (0, call)

static CUcontext
begin (void)
{
  CUcontext context, other;
  gpointer library = test_open_library (".libs/libgemem-dry.so", RTLD_NOW | RTLD_LOCAL);

#define LOAD(name) \
  *(gpointer *) &cu.name = dlsym (library, SYMBOL (name)); \
  g_assert_nonnull (cu.name);
  FUNCTIONS (LOAD)
#undef LOAD
  OK (cu.cuInit (0));
  OK (cu.cuDevicePrimaryCtxRetain (&context, 0));
  OK (cu.cuDevicePrimaryCtxRetain (&other, 1));
  OK (cu.cuCtxSetCurrent (context));
  return other;
}

/* Eight GPUs of 18 links each to NVSwitch. */
static void
scenario_switch (void)
{
  NvmlFabric fabric = { .version = 2, .state = 9 };
  NvmlFieldValue fields[] = {
    { .field = 91 }, { .field = 165, .scope = 17 }, { .field = 165, .scope = 18 }, { .field = 1 }
  };
  const CUcontext context = begin ();
  NvmlDevice first, last;
  NvmlOldPciInfo remote, same;
  unsigned value = 0;
  int status = -1, can = -1;

  OK (cu.nvmlDeviceGetHandleByIndex_v2 (0, &first));
  OK (cu.nvmlDeviceGetHandleByPciBusId ("00000000:08:00.0", &last));
  OK (cu.nvmlDeviceGetP2PStatus (first, last, 0, &status));
  g_assert_cmpint (status, ==, 0);
  OK (cu.cuDeviceCanAccessPeer (&can, 0, 7));
  g_assert_cmpint (can, ==, 1);
  OK (cu.cuDeviceGetP2PAttribute (&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 7));
  g_assert_cmpint (can, ==, 1);
  OK (cu.cuCtxEnablePeerAccess (context, 0));
  OK (cu.nvmlDeviceGetNvLinkState (first, 17, &value));
  g_assert_cmpuint (value, ==, 1);
  IS (NVML_BAD_ARGUMENT, cu.nvmlDeviceGetNvLinkState (first, 18, &value));
  OK (cu.nvmlDeviceGetNvLinkCapability (first, 0, 0, &value));
  g_assert_cmpuint (value, ==, 1);
  OK (cu.nvmlDeviceGetNvLinkRemoteDeviceType (first, 0, &value));
  g_assert_cmpuint (value, ==, 2);
  OK (cu.nvmlDeviceGetNvLinkRemotePciInfo (first, 0, &remote));
  OK (cu.nvmlDeviceGetNvLinkRemotePciInfo (last, 17, &same));
  g_assert_cmpstr (remote.legacy, ==, same.legacy);
  OK (cu.nvmlDeviceGetFieldValues (first, G_N_ELEMENTS (fields), fields));
  g_assert_cmpuint (fields[0].value, ==, 18);
  g_assert_cmpuint (fields[1].value, ==, 1);
  OK (fields[1].result);
  IS (NVML_UNSUPPORTED, fields[2].result);
  IS (NVML_UNSUPPORTED, fields[3].result);
  OK (cu.nvmlDeviceGetCurrPcieLinkGeneration (first, &value));
  g_assert_cmpuint (value, ==, 5);
  OK (cu.nvmlDeviceGetPcieLinkMaxSpeed (first, &value));
  g_assert_cmpuint (value, ==, 32000);
  OK (cu.nvmlDeviceGetGpuFabricInfoV (first, &fabric));
  g_assert_cmpuint (fabric.state, ==, 0); /* none of several machines */
}

/* Boards that reach each other by PCIe, and boards that do not. */
static void
boards (int reach)
{
  const CUcontext context = begin ();
  NvmlDevice first, second;
  unsigned value;
  int status = -1, can = -1;

  OK (cu.nvmlDeviceGetHandleByIndex_v2 (0, &first));
  OK (cu.nvmlDeviceGetHandleByIndex_v2 (1, &second));
  OK (cu.nvmlDeviceGetP2PStatus (first, second, 1, &status));
  g_assert_cmpint (status, ==, reach ? 0 : 2);
  IS (NVML_UNSUPPORTED, cu.nvmlDeviceGetNvLinkState (first, 0, &value));
  OK (cu.cuDeviceCanAccessPeer (&can, 0, 1));
  g_assert_cmpint (can, ==, reach);
  OK (cu.cuDeviceGetP2PAttribute (&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  g_assert_cmpint (can, ==, reach);
  IS (reach ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
      cu.cuCtxEnablePeerAccess (context, 0));
  OK (cu.cuDeviceGetAttribute (&can, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
  g_assert_cmpint (can, ==, 0);
}

static void
scenario_bus (void)
{
  boards (1);
}

static void
scenario_apart (void)
{
  CUmemGenericAllocationHandle object;

  boards (0);
  IS (CUDA_ERROR_NOT_SUPPORTED,
      cu.cuMulticastCreate (&object, &(CUmulticastObjectProp){ .numDevices = 2, .size = 2 * MIB }));
}

static size_t
used (void)
{
  size_t available, total;
  OK (cu.cuMemGetInfo (&available, &total));
  return total - available;
}

/* An object takes nothing, here and in the process that gets it; what is bound to it counts once. */
static void
scenario_multicast (void)
{
  const CUmulticastObjectProp what = { .numDevices = 2, .size = 4 * MIB };
  const CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
  CUmemGenericAllocationHandle object, imported, page;
  CUdeviceptr range;
  size_t granularity;
  int file, has = 0;

  begin ();
  OK (cu.cuDeviceGetAttribute (&has, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
  g_assert_cmpint (has, ==, 1);
  OK (cu.cuMulticastGetGranularity (&granularity, &what, CU_MULTICAST_GRANULARITY_MINIMUM));
  g_assert_cmpuint (granularity, ==, 2 * MIB);
  OK (cu.cuMulticastGetGranularity (&granularity, &what, CU_MULTICAST_GRANULARITY_RECOMMENDED));
  g_assert_cmpuint (granularity, ==, 512 * MIB);
  OK (cu.cuMulticastCreate (&object, &what));
  OK (cu.cuMulticastAddDevice (object, 0));
  OK (cu.cuMemExportToShareableHandle (&file, object, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  OK (cu.cuMemImportFromShareableHandle (&imported, (void *) (gintptr) file,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  OK (cu.cuMulticastAddDevice (imported, 1));
  OK (cu.cuMemAddressReserve (&range, 4 * MIB, 0, 0, 0));
  OK (cu.cuMemMap (range, 4 * MIB, 0, imported, 0));
  g_assert_cmpuint (used (), ==, 0);
  OK (cu.cuMemCreate (&page, 2 * MIB, &properties, 0));
  OK (cu.cuMulticastBindMem (imported, 2 * MIB, page, 0, 2 * MIB, 0));
  IS (CUDA_ERROR_INVALID_VALUE, cu.cuMulticastBindMem (imported, 4 * MIB, page, 0, 2 * MIB, 0));
  IS (CUDA_ERROR_INVALID_VALUE, cu.cuMulticastBindMem (imported, 0, page, 0, 4 * MIB, 0));
  IS (CUDA_ERROR_INVALID_VALUE, cu.cuMulticastBindMem (page, 0, page, 0, 2 * MIB, 0));
  IS (CUDA_ERROR_INVALID_VALUE, cu.cuMulticastBindMem (imported, 0, object, 0, 2 * MIB, 0));
  g_assert_cmpuint (used (), ==, 2 * MIB);
  OK (cu.cuMulticastUnbind (imported, 0, 2 * MIB, 2 * MIB));
  OK (cu.cuMemUnmap (range, 4 * MIB));
  OK (cu.cuMemRelease (imported));
  OK (cu.cuMemRelease (object));
  OK (cu.cuMemRelease (page));
  g_assert_cmpuint (used (), ==, 0);
}

/* Memory of one device in a range of another's does not make the host's addresses between both devices'. */
static void
scenario_across (void)
{
  const CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
  const CUcontext second = begin ();
  g_autofree int *host = g_new0 (int, 16);
  CUmemGenericAllocationHandle page;
  CUdeviceptr range, other;

  OK (cu.cuMemAddressReserve (&range, 2 * MIB, 0, 0, 0));
  OK (cu.cuMemCreate (&page, 2 * MIB, &properties, 0));
  OK (cu.cuMemMap (range, 2 * MIB, 0, page, 0));
  OK (cu.cuCtxSetCurrent (second));
  OK (cu.cuMemAlloc (&other, MIB));
  host[1] = 7;
  OK (cu.cuMemcpy (other, (CUdeviceptr) (guintptr) host, 64));
  host[1] = 0;
  OK (cu.cuMemcpy ((CUdeviceptr) (guintptr) host, other, 64));
  g_assert_cmpint (host[1], ==, 7);
}

static const TestScenario scenarios[] = {
  { "across", scenario_across, "h100", "2" },
  { "switch", scenario_switch, "h100", "8" },
  { "bus", scenario_bus, "l40s", "2" },
  { "apart", scenario_apart, "rtx4090", "2" },
  { "multicast", scenario_multicast, "h100", "2" },
};

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  test_add_scenarios ("dry-links", scenarios, G_N_ELEMENTS (scenarios));
  return g_test_run ();
}

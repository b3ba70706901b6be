/* test-dry-nvml.c - NVML in dry runs: beside CUDA and without it, over fork(), and which GPUs it shows when
 * $CUDA_VISIBLE_DEVICES hides some from the driver.
 *
 * Every scenario runs in a process of its own, which opens libgemem-dry.so.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRIVER_API_LATEST
#include "dry/driver/api.h"
#include "dry/nvml/nvml.h"
#include "tests/util/scenarios.h"
#include "tests/util/testutil.h"

#define GIB ((size_t) 1 << 30)

/* clang-format off */
#define FUNCTIONS(F) \
  F (cuCtxSetCurrent) F (cuDeviceGetAttribute) F (cuDeviceGetByPCIBusId) F (cuDeviceGetCount) \
  F (cuDeviceGetPCIBusId) F (cuDevicePrimaryCtxRetain) F (cuInit) F (cuMemAlloc) \
  F (nvmlDeviceGetArchitecture) F (nvmlDeviceGetComputeMode) \
  F (nvmlDeviceGetComputeRunningProcesses_v3) F (nvmlDeviceGetCurrPcieLinkGeneration) \
  F (nvmlDeviceGetGpuFabricInfoV) F (nvmlDeviceGetHandleByIndex_v2) \
  F (nvmlDeviceGetHandleByPciBusId_v2) F (nvmlDeviceGetHandleByUUID) \
  F (nvmlDeviceGetMemoryInfo) F (nvmlDeviceGetPowerUsage) F (nvmlDeviceGetUUID) F (nvmlInit_v2)
/* clang-format on */

static struct
{
#define MEMBER(name) __typeof__ (name) *name;
  FUNCTIONS (MEMBER)
#undef MEMBER
} cu;

#define STRINGIFY(name) #name /* of what the name stands for */
#define SYMBOL(name) STRINGIFY (name)
#define OK(call) g_assert_cmpint (call, ==, CUDA_SUCCESS)
#define REFUSED(code, call) g_assert_cmpint (call, ==, code)

static void
open_library (void)
{
  gpointer library = test_open_library (".libs/libgemem-dry.so", RTLD_NOW | RTLD_LOCAL);

#define LOAD(name) *(gpointer *) &cu.name = test_symbol (library, SYMBOL (name));
  FUNCTIONS (LOAD)
#undef LOAD
}

/* Opens the library, and makes the context of device 0 current. */
static void
begin (void)
{
  CUcontext context;

  open_library ();
  OK (cu.cuInit (0));
  OK (cu.cuDevicePrimaryCtxRetain (&context, 0));
  OK (cu.cuCtxSetCurrent (context));
}

/* NVML is no part of CUDA: it starts in a child of a process that uses CUDA, and CUDA in a child of one that uses NVML alone. */
static int
child_says (int (*what) (void))
{
  pid_t child = fork ();
  int status;

  if (child == 0)
    _exit (what ());
  g_assert_cmpint (waitpid (child, &status, 0), ==, child);
  return WEXITSTATUS (status);
}

static int
start_nvml (void)
{
  NvmlDevice device;

  return cu.nvmlInit_v2 () != 0 ? 100
                                : cu.nvmlDeviceGetHandleByPciBusId_v2 ("0000:01:00.0", &device);
}

static int
start_cuda (void)
{
  return cu.cuInit (0);
}

static void
scenario_forks (void)
{
  int n;

  open_library ();
  OK (start_nvml ());
  g_assert_cmpint (child_says (start_cuda), ==, 0);
  REFUSED (CUDA_ERROR_NOT_INITIALIZED, cu.cuDeviceGetCount (&n));
  OK (cu.cuInit (0));
  OK (cu.cuDeviceGetCount (&n));
  g_assert_cmpint (child_says (start_cuda), ==, CUDA_ERROR_NOT_INITIALIZED);
  g_assert_cmpint (child_says (start_nvml), ==, 0);
}

static void
scenario_nvml (void)
{
  NvmlProcess3 processes[2] = { 0 };
  unsigned int count = 0;
  NvmlFabric fabric = { .version = 2u << 24 | sizeof fabric, .state = 1, .clique = 1 };
  NvmlDevice device, same;
  guint generation, numbers[] = { 1, 1, 1 };
  NvmlMemory memory;
  CUdeviceptr address;
  char uuid[64];

  begin ();
  OK (cu.cuMemAlloc (&address, GIB));
  OK (cu.nvmlInit_v2 ());
  OK (cu.nvmlDeviceGetHandleByIndex_v2 (0, &device));
  g_assert_cmpint (cu.nvmlDeviceGetHandleByIndex_v2 (1, &same), ==, 2);
  OK (cu.nvmlDeviceGetUUID (device, uuid, sizeof uuid));
  g_assert_cmpuint (strlen (uuid), ==, 40);
  OK (cu.nvmlDeviceGetHandleByUUID (uuid, &same));
  g_assert_true (same == device);
  OK (cu.nvmlDeviceGetMemoryInfo (device, &memory));
  g_assert_cmpuint (memory.used, ==, GIB);
  g_assert_cmpuint (memory.free + memory.used, ==, memory.total);
  OK (cu.nvmlDeviceGetCurrPcieLinkGeneration (device, &generation));
  g_assert_cmpuint (generation, ==, 5); /* without a name it is an H100 */
  OK (cu.nvmlDeviceGetGpuFabricInfoV (device, &fabric));
  g_assert_cmpuint (fabric.version, ==, 2u << 24 | sizeof fabric);
  g_assert_cmpuint (fabric.state + fabric.clique, ==, 0);
  OK (cu.nvmlDeviceGetArchitecture (device, &numbers[0]));
  OK (cu.nvmlDeviceGetComputeMode (device, &numbers[1]));
  OK (cu.nvmlDeviceGetPowerUsage (device, &numbers[2]));
  g_assert_cmpuint (numbers[0], ==,
                    9); /* Hopper, which several processes may use, and which draws no power */
  g_assert_cmpuint (numbers[1] + numbers[2], ==, 0);
  g_assert_cmpint (cu.nvmlDeviceGetComputeRunningProcesses_v3 (device, &count, NULL), ==,
                   7); /* how many are there? */
  g_assert_cmpuint (count, ==, 1);
  count = G_N_ELEMENTS (processes);
  OK (cu.nvmlDeviceGetComputeRunningProcesses_v3 (device, &count, processes));
  g_assert_cmpuint (count, ==, 1);
  g_assert_cmpuint (processes[0].plain.pid, ==, (guint) getpid ());
  g_assert_cmpuint (processes[0].plain.used, ==, GIB);
  g_assert_cmpuint (processes[0].gpu_instance & processes[0].compute_instance, ==, G_MAXUINT);
  g_assert_cmpuint (processes[1].plain.pid, ==, 0);
}

/* $CUDA_VISIBLE_DEVICES is that of the process; the management library shows the machine, which has as many GPUs as are named. */
static void
scenario_visible (void)
{
  guint64 used[6] = { 0 };
  CUdeviceptr address;
  NvmlDevice device;
  NvmlMemory memory;
  CUdevice found;
  char bus[16];
  int number;

  g_setenv ("CUDA_VISIBLE_DEVICES", "5, 2,GPU-7374616e-642d-696e-2031,00,-1,4", TRUE);
  begin ();
  OK (cu.cuMemAlloc (&address, GIB));
  OK (cu.cuDeviceGetCount (&number));
  g_assert_cmpint (number, ==, 4);
  OK (cu.cuDeviceGetPCIBusId (bus, sizeof bus, 0));
  g_assert_cmpstr (bus, ==, "0000:06:00.0");
  OK (cu.cuDeviceGetAttribute (&number, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1));
  g_assert_cmpint (number, ==, 3);
  OK (cu.cuDeviceGetByPCIBusId (&found, "0000:02:00.0"));
  g_assert_cmpint (found, ==, 2);
  REFUSED (CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGetByPCIBusId (&found, "0000:05:00.0"));
  for (guint i = 0; i < 6; i++)
    {
      OK (cu.nvmlDeviceGetHandleByIndex_v2 (i, &device));
      OK (cu.nvmlDeviceGetMemoryInfo (device, &memory));
      used[i] = memory.used;
    }
  g_assert_cmpuint (used[5], ==, GIB);
  g_assert_cmpuint (used[0] + used[1] + used[2] + used[3] + used[4], ==, 0);
  g_assert_cmpint (cu.nvmlDeviceGetHandleByIndex_v2 (6, &device), ==, 2);
}

static const TestScenario scenarios[] = {
  { "nvml", scenario_nvml },
  { "forks", scenario_forks },
  { "visible", scenario_visible, NULL, "2", " 0 5\n 1 2\n 2 1\n 3 0\n" },
};

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  test_add_scenarios ("dry-nvml", scenarios, G_N_ELEMENTS (scenarios));
  return g_test_run ();
}

/* attributes.c - what the driver, the runtime and NVML say of a GPU, one fact a line: what the dry
 * run's devices answer (dry/driver/device-attributes.def, devices/gpus.def) is compared with it.
 *
 *   attributes [-r LIBCUDART] [ORDINAL]
 *
 * Needs no header of CUDA and links with nothing of it: what is not there is said to be missing.
 *
 *   device name|total_memory VALUE
 *   driver cuda|kernel VALUE           the CUDA that the driver knows; the kernel driver, of NVML
 *   attribute NUMBER VALUE|error CODE  cuDeviceGetAttribute, of each number from 1 to 150
 *   multicast DEVICES minimum|recommended VALUE|error CODE  granularity of an object of 1 or 2 devices
 *   runtime missing|version VALUE|error CODE
 *   property OFFSET VALUE              each word of cudaDeviceProp that is not 0: byte, 32 bits
 *   nvml missing|error CODE
 *   memory WHEN WHAT BYTES             free, total (cuMemGetInfo), or total, reserved, used, free,
 *                                      processes (a number) of NVML; WHEN: start, context, module, launch
 *
 * The first word names the source, so that two files are compared line by line.  The steps in WHEN
 * are one after the other in this process; nothing else is on the GPU, or differences mean nothing.
 * Exit status: 0, 1 where the driver fails, 2 wrong use, 77 no GPU. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
  ATTRIBUTES = 150,
  PROPERTIES = 4096, /* more than any version of cudaDeviceProp has */
  PROCESSES = 64
};

/* Functions of the driver: all give 0 or the number of an error. */
#define DRIVER_CALLS(CALL) \
  CALL (cuInit, (unsigned) ) \
  CALL (cuDriverGetVersion, (int *) ) \
  CALL (cuDeviceGet, (int *, int) ) \
  CALL (cuDeviceGetName, (char *, int, int) ) \
  CALL (cuDeviceGetPCIBusId, (char *, int, int) ) \
  CALL (cuDeviceTotalMem_v2, (size_t *, int) ) \
  CALL (cuDeviceGetAttribute, (int *, int, int) ) \
  CALL (cuDevicePrimaryCtxRetain, (void **, int) ) \
  CALL (cuCtxSetCurrent, (void *) ) \
  CALL (cuMemGetInfo_v2, (size_t *, size_t *) ) \
  CALL (cuModuleLoadData, (void **, const void *) ) \
  CALL (cuModuleGetFunction, (void **, void *, const char *) ) \
  CALL (cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                         unsigned, void *, void **, void **) ) \
  CALL (cuCtxSynchronize, (void) )

#define CALL(name, arguments) int (*name) arguments;
static struct
{
  DRIVER_CALLS (CALL)
} cu;
#undef CALL

static struct
{
  void *library;
  void *device;
} nvml;

static void
check (int code, const char *what)
{
  if (code == 0)
    return;
  fprintf (stderr, "attributes: %s: error %d\n", what, code);
  exit (code == 100 ? 77 : 1); /* CUDA_ERROR_NO_DEVICE */
}

static void *
open_driver (void)
{
  void *library = dlopen ("libcuda.so.1", RTLD_NOW);
  if (library == NULL)
    {
      fprintf (stderr, "attributes: %s\n", dlerror ());
      exit (77);
    }
#define CALL(name, arguments) *(void **) &cu.name = dlsym (library, #name);
  DRIVER_CALLS (CALL)
#undef CALL
  return library;
}

/* One call of another library, looked up by name; -1 where it has none of that name. */
#define ASK(library, name, arguments, ...) \
  ({ \
    int (*function) arguments; \
    *(void **) &function = dlsym (library, name); \
    function == NULL ? -1 : function (__VA_ARGS__); \
  })

/* ---- NVML */

static void
open_nvml (int device)
{
  char bus[32] = "";
  nvml.library = dlopen ("libnvidia-ml.so.1", RTLD_NOW);
  if (nvml.library == NULL)
    {
      puts ("nvml missing");
      return;
    }
  check (cu.cuDeviceGetPCIBusId (bus, sizeof bus, device), "cuDeviceGetPCIBusId");
  int code = ASK (nvml.library, "nvmlInit_v2", (void) );
  if (code == 0)
    code = ASK (nvml.library, "nvmlDeviceGetHandleByPciBusId_v2", (const char *, void **), bus,
                &nvml.device);
  if (code != 0)
    printf ("nvml error %d\n", code);
  char text[96] = "";
  if (code == 0
      && ASK (nvml.library, "nvmlSystemGetDriverVersion", (char *, unsigned), text, sizeof text)
             == 0)
    printf ("driver kernel %s\n", text);
}

static void
nvml_memory (const char *when)
{
  struct
  {
    unsigned version;
    unsigned long long total, reserved, free, used;
  } memory = { .version = sizeof memory | 2 << 24 };
  struct
  {
    unsigned pid;
    unsigned long long used;
    unsigned instances[2];
  } processes[PROCESSES];
  unsigned n = PROCESSES;
  if (ASK (nvml.library, "nvmlDeviceGetMemoryInfo_v2", (void *, void *), nvml.device, &memory) == 0)
    printf ("memory %s nvml-total %llu\nmemory %s nvml-reserved %llu\n"
            "memory %s nvml-used %llu\nmemory %s nvml-free %llu\n",
            when, memory.total, when, memory.reserved, when, memory.used, when, memory.free);
  if (ASK (nvml.library, "nvmlDeviceGetComputeRunningProcesses_v3", (void *, unsigned *, void *),
           nvml.device, &n, processes)
      != 0)
    return;
  printf ("memory %s nvml-processes %u\n", when, n);
  for (unsigned i = 0; i < n; i++)
    if (processes[i].pid == (unsigned) getpid ())
      printf ("memory %s nvml-own %llu\n", when, processes[i].used);
}

/* ---- the driver and the runtime */

static void
memory (const char *when, int has_context)
{
  size_t free_bytes, total;
  if (has_context && cu.cuMemGetInfo_v2 (&free_bytes, &total) == 0)
    printf ("memory %s free %zu\nmemory %s total %zu\n", when, free_bytes, when, total);
  if (nvml.device != NULL)
    nvml_memory (when);
}

static void
say_device (int device)
{
  char name[256];
  size_t total;
  int version;
  check (cu.cuDeviceGetName (name, sizeof name, device), "cuDeviceGetName");
  check (cu.cuDeviceTotalMem_v2 (&total, device), "cuDeviceTotalMem");
  check (cu.cuDriverGetVersion (&version), "cuDriverGetVersion");
  printf ("device name %s\ndevice total_memory %zu\ndriver cuda %d\n", name, total, version);
}

static void
say_attributes (int device)
{
  for (int i = 1; i <= ATTRIBUTES; i++)
    {
      int value = 0, code = cu.cuDeviceGetAttribute (&value, i, device);
      if (code != 0)
        printf ("attribute %d error %d\n", i, code);
      else
        printf ("attribute %d %d\n", i, value);
    }
}

/* cuMulticastGetGranularity(), which the manual gives no values for. */
static void
say_multicast (void *library)
{
  static const char *const names[] = { "minimum", "recommended" };
  for (unsigned devices = 1; devices <= 2; devices++)
    for (int which = 0; which < 2; which++)
      {
        struct
        {
          unsigned devices;
          size_t size;
          unsigned long long handles, flags;
        } object = { .devices = devices, .size = (size_t) 2 << 20 };
        size_t bytes = 0;
        int code = ASK (library, "cuMulticastGetGranularity", (size_t *, const void *, int), &bytes,
                        &object, which);
        if (code != 0)
          printf ("multicast %u %s error %d\n", devices, names[which], code);
        else
          printf ("multicast %u %s %zu\n", devices, names[which], bytes);
      }
}

static void *
open_runtime (const char *path)
{
  const char *const names[] = { "libcudart.so.13", "libcudart.so.12", "libcudart.so" };
  if (path != NULL)
    return dlopen (path, RTLD_NOW);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    {
      void *library = dlopen (names[i], RTLD_NOW);
      if (library != NULL)
        return library;
    }
  return NULL;
}

/* The properties of the runtime's own layout: version 12 calls it _v2. */
static void
say_properties (const char *path, int ordinal)
{
  static uint32_t words[PROPERTIES / 4];
  void *library = open_runtime (path);
  int version = 0;
  if (library == NULL || ASK (library, "cudaRuntimeGetVersion", (int *), &version) != 0)
    {
      puts ("runtime missing");
      return;
    }
  printf ("runtime version %d\n", version);
  const char *call = dlsym (library, "cudaGetDeviceProperties_v2") != NULL
                         ? "cudaGetDeviceProperties_v2"
                         : "cudaGetDeviceProperties";
  int code = ASK (library, call, (void *, int), words, ordinal);
  if (code != 0)
    printf ("runtime error %d\n", code);
  for (size_t i = 0; code == 0 && i < sizeof words / sizeof *words; i++)
    if (words[i] != 0)
      printf ("property %zu %lu\n", 4 * i, (unsigned long) words[i]);
}

static const char kernel[] = ".version 6.4\n.target sm_75\n.address_size 64\n"
                             ".visible .entry nothing()\n{\n  ret;\n}\n";

/* What a context, a module and a first launch take.  The driver's memory is unknown without context. */
static void
say_context (int device)
{
  void *context, *module, *function;
  memory ("start", 0);
  check (cu.cuDevicePrimaryCtxRetain (&context, device), "cuDevicePrimaryCtxRetain");
  check (cu.cuCtxSetCurrent (context), "cuCtxSetCurrent");
  memory ("context", 1);
  int code = cu.cuModuleLoadData (&module, kernel);
  if (code == 0)
    code = cu.cuModuleGetFunction (&function, module, "nothing");
  if (code != 0)
    {
      printf ("memory module error %d\n", code);
      return;
    }
  memory ("module", 1);
  check (cu.cuLaunchKernel (function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
  check (cu.cuCtxSynchronize (), "cuCtxSynchronize");
  memory ("launch", 1);
}

int
main (int argc, char **argv)
{
  const char *runtime = NULL;
  int option, device, ordinal;
  while ((option = getopt (argc, argv, "r:")) != -1)
    if (option == 'r')
      runtime = optarg;
    else
      return 2;
  ordinal = optind < argc ? atoi (argv[optind]) : 0;
  void *driver = open_driver ();
  check (cu.cuInit (0), "cuInit");
  check (cu.cuDeviceGet (&device, ordinal), "cuDeviceGet");
  puts ("# gemem-attributes: 1");
  say_device (device);
  open_nvml (device);
  say_attributes (device);
  say_multicast (driver);
  say_context (device);
  say_properties (runtime, ordinal);
  return ferror (stdout) || fclose (stdout) ? 1 : 0;
}

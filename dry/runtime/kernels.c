/* kernels.c - the program's own kernels and variables: what the code made by nvcc registers when a
 * library is loaded, call configurations, launches, and what is known about a kernel.
 *
 * A library registers each of its fat binaries, then each kernel with the address of a function
 * of the host by which the program names it. There are a hundred thousand in PyTorch, so
 * registration stores pointers only; a binary becomes a library of the driver, and a kernel a
 * handle of it, at the first use. A launch checks its configuration as NVIDIA's runtime does, and
 * is then the driver's.
 *
 * Invariants: the strings and images that are registered belong to the program's library and live
 * until it unregisters them; an address that is registered again means the newer one. Entries are
 * never freed, so that one found under the lock may be used after it. The driver's lock is taken
 * inside this one, never the other way.
 */
#include "config.h"

#include "dry/driver/foreign.h"
#include "dry/driver/remembered.h"
#include "dry/runtime/runtime.h"

#define DEPTH 16 /* nested call configurations */

/* A fat binary; its handle is the address of this. */
typedef struct
{
  const void *image;
  CUlibrary library;   /* NULL: not used yet */
  GSList *managed;     /* Variable, not allocated yet */
  const void *caller;  /* the code that registered it */
  gboolean of_library; /* that the dry run loaded (gemem_dry_in_library()) */
} Binary;

typedef struct
{
  Binary *binary;
  const char *name;
  CUkernel handle; /* NULL: not used yet */
} Kernel;

typedef struct
{
  Binary *binary;
  const char *name;
  size_t size;
  void **managed; /* where the program finds the address of a managed variable, or NULL */
} Variable;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *kernels;   /* function of the host -> Kernel */
static GHashTable *variables; /* variable of the host -> Variable */

/* ---- registration */

static void
put (GHashTable **table, const void *key, gpointer value)
{
  pthread_mutex_lock (&mutex);
  if (*table == NULL)
    *table = g_hash_table_new (NULL, NULL);
  g_hash_table_replace (*table, (gpointer) key, value);
  pthread_mutex_unlock (&mutex);
}

/* Declares an exported function that returns something else than a result, and begins
 * its definition. */
#define REGISTRATION(type, name, parameters) \
  RUNTIME_EXPORT type name parameters; \
  type name parameters

REGISTRATION (void **, __cudaRegisterFatBinary, (const void *image))
{
  Binary *binary = g_new0 (Binary, 1);
  binary->image = image;
  binary->caller = __builtin_return_address (0);
  binary->of_library = gemem_dry_in_library (0);
  return (void **) binary;
}

REGISTRATION (void, __cudaRegisterFatBinaryEnd, (void **handle))
{
}

/* Kernels stay known, but not what their image says: another library may be loaded
 * at its address. */
REGISTRATION (void, __cudaUnregisterFatBinary, (void **handle))
{
  Binary *binary = (Binary *) handle;

  pthread_mutex_lock (&mutex);
  if (binary->library != NULL)
    cuLibraryUnload (binary->library);
  binary->library = NULL;
  pthread_mutex_unlock (&mutex);
}

REGISTRATION (void, __cudaRegisterFunction,
              (void **handle, const void *host, char *device, const char *name, int thread_limit,
               void *thread, void *block, RuntimeDim3 *block_size, RuntimeDim3 *grid_size,
               int *warp_size))
{
  Kernel *kernel = g_new0 (Kernel, 1);
  kernel->binary = (Binary *) handle;
  kernel->name = name;
  put (&kernels, host, kernel);
}

static Variable *
add_variable (void **handle, const void *host, const char *name, size_t size)
{
  Variable *variable = g_new0 (Variable, 1);
  variable->binary = (Binary *) handle;
  variable->name = name;
  variable->size = size;
  put (&variables, host, variable);
  return variable;
}

REGISTRATION (void, __cudaRegisterVar,
              (void **handle, const void *host, char *device, const char *name, int is_extern,
               size_t size, int is_constant, int is_global))
{
  add_variable (handle, host, name, size);
}

REGISTRATION (void, __cudaRegisterManagedVar,
              (void **handle, void **host, char *device, const char *name, int is_extern,
               size_t size, int is_constant, int is_global))
{
  Binary *binary = (Binary *) handle;
  Variable *variable = add_variable (handle, host, name, size);

  variable->managed = host;
  pthread_mutex_lock (&mutex);
  binary->managed = g_slist_prepend (binary->managed, variable);
  pthread_mutex_unlock (&mutex);
}

/* Memory of the program stays where it is. */
REGISTRATION (void, __cudaRegisterHostVar,
              (void **handle, const char *name, void *host, size_t size))
{
}

/* Called before the program uses a managed variable: allocates those of the binary. */
REGISTRATION (char, __cudaInitModule, (void **handle))
{
  Binary *binary = (Binary *) handle;
  CUdeviceptr address;
  int result = gemem_runtime_ready ();

  pthread_mutex_lock (&mutex);
  while (binary->managed != NULL && result == RUNTIME_SUCCESS)
    {
      Variable *variable = binary->managed->data;
      result = (int) cuMemAllocManaged (&address, MAX (variable->size, 1), CU_MEM_ATTACH_GLOBAL);
      if (result == RUNTIME_SUCCESS)
        {
          *variable->managed = (void *) (guintptr) address;
          binary->managed = g_slist_delete_link (binary->managed, binary->managed);
        }
    }
  pthread_mutex_unlock (&mutex);
  return gemem_runtime_result (result) == RUNTIME_SUCCESS;
}

/* ---- the driver's handles */

/* The library of @binary, with the lock held. */
static int
load (Binary *binary)
{
  if (binary->library != NULL)
    return RUNTIME_SUCCESS;
  return (int) cuLibraryLoadData (&binary->library, binary->image, NULL, NULL, 0, NULL, NULL, 0);
}

static int
find_kernel (Kernel *kernel)
{
  const GememDryMaker by = gemem_dry_maker (kernel->binary->caller);

  if (by < GEMEM_DRY_N_MAKERS)
    gemem_dry_within (by, 1);
  gemem_dry_in_library (kernel->binary->of_library);
  int result = load (kernel->binary);
  if (result == RUNTIME_SUCCESS)
    result = (int) cuLibraryGetKernel (&kernel->handle, kernel->binary->library, kernel->name);
  gemem_dry_in_library (-kernel->binary->of_library);
  if (by < GEMEM_DRY_N_MAKERS)
    gemem_dry_within (by, -1);
  return result;
}

int
gemem_runtime_function (const void *function, CUfunction *found)
{
  int result = RUNTIME_SUCCESS;
  const char *name;
  Kernel *kernel;

  pthread_mutex_lock (&mutex);
  kernel = kernels != NULL ? g_hash_table_lookup (kernels, function) : NULL;
  if (kernel != NULL && kernel->handle == NULL)
    result = find_kernel (kernel);
  pthread_mutex_unlock (&mutex);
  *found = kernel != NULL ? (CUfunction) kernel->handle : (CUfunction) function;
  if (kernel == NULL && cuFuncGetName (&name, *found) != CUDA_SUCCESS)
    result = RUNTIME_INVALID_DEVICE_FUNCTION;
  return result;
}

int
gemem_runtime_symbol (const void *symbol, CUdeviceptr *address, size_t *size)
{
  size_t in_image;
  Variable *variable;
  int result;

  pthread_mutex_lock (&mutex);
  variable = variables != NULL ? g_hash_table_lookup (variables, symbol) : NULL;
  result = variable == NULL ? RUNTIME_INVALID_SYMBOL : load (variable->binary);
  pthread_mutex_unlock (&mutex);
  if (result != RUNTIME_SUCCESS)
    return result;
  *size = variable->size;
  if (variable->managed == NULL)
    return (int) cuLibraryGetGlobal (address, &in_image, variable->binary->library, variable->name);
  *address = (guintptr) *variable->managed;
  return *address != 0 ? RUNTIME_SUCCESS
                       : RUNTIME_INVALID_SYMBOL; /* its module was not initialised */
}

/* ---- what is known about a kernel */

/* Defines a function about the kernel @function, of which @call with the driver's
 * @handle is the rest. */
#define KERNEL_CALL(name, parameters, call) \
  RUNTIME (name, parameters) \
  { \
    CUfunction handle; \
    int result = gemem_runtime_ready (); \
    if (result == RUNTIME_SUCCESS) \
      result = gemem_runtime_function (function, &handle); \
    return gemem_runtime_result (result == RUNTIME_SUCCESS ? (int) (call) : result); \
  }

static int
describe (RuntimeFunction *place, CUfunction function)
{
  if (place == NULL)
    return RUNTIME_INVALID_VALUE;
  memset (place, 0, /* 11 has no fields behind the carve-out */
          gemem_runtime_version () < 12000 ? offsetof (RuntimeFunction, cluster_must_be_set)
                                           : sizeof *place);
#define RUNTIME_ATTRIBUTE(field, attribute) \
  { \
    int value; \
    CUresult result = cuFuncGetAttribute (&value, attribute, function); \
    if (result != CUDA_SUCCESS) \
      return (int) result; \
    place->field = value; \
  }
  RUNTIME_ATTRIBUTE (threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
  RUNTIME_ATTRIBUTE (shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
  RUNTIME_ATTRIBUTE (constant, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)
  RUNTIME_ATTRIBUTE (local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
  RUNTIME_ATTRIBUTE (registers, CU_FUNC_ATTRIBUTE_NUM_REGS)
  RUNTIME_ATTRIBUTE (ptx_version, CU_FUNC_ATTRIBUTE_PTX_VERSION)
  RUNTIME_ATTRIBUTE (binary_version, CU_FUNC_ATTRIBUTE_BINARY_VERSION)
  RUNTIME_ATTRIBUTE (dynamic_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
  RUNTIME_ATTRIBUTE (carveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
#undef RUNTIME_ATTRIBUTE
  return RUNTIME_SUCCESS;
}

KERNEL_CALL (cudaFuncGetAttributes, (RuntimeFunction * place, const void *function),
             describe (place, handle))
/* The numbers of the attributes are the driver's. */
KERNEL_CALL (cudaFuncSetAttribute, (const void *function, unsigned attribute, int value),
             cuFuncSetAttribute (handle, attribute, value))
KERNEL_CALL (cudaKernelSetAttributeForDevice,
             (const void *function, unsigned attribute, int value, int device),
             cuKernelSetAttribute (attribute, value, (CUkernel) handle, device))
KERNEL_CALL (cudaFuncGetName, (const char **name, const void *function),
             cuFuncGetName (name, handle))
KERNEL_CALL (cudaOccupancyMaxActiveBlocksPerMultiprocessor,
             (int *blocks, const void *function, int threads, size_t shared),
             cuOccupancyMaxActiveBlocksPerMultiprocessor (blocks, handle, threads, shared))
KERNEL_CALL (cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
             (int *blocks, const void *function, int threads, size_t shared, unsigned flags),
             cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (blocks, handle, threads, shared,
                                                                   flags))
KERNEL_CALL (cudaOccupancyAvailableDynamicSMemPerBlock,
             (size_t * shared, const void *function, int blocks, int threads),
             cuOccupancyAvailableDynamicSMemPerBlock (shared, handle, blocks, threads))

/* A kernel as a handle: the driver's, so that both APIs take it. */
static int
store_handle (CUfunction *place, CUfunction handle)
{
  if (place == NULL)
    return RUNTIME_INVALID_VALUE;
  *place = handle;
  return RUNTIME_SUCCESS;
}

KERNEL_CALL (__cudaGetKernel, (CUfunction * place, const void *function),
             store_handle (place, handle))
KERNEL_CALL (cudaGetKernel, (CUfunction * place, const void *function),
             store_handle (place, handle))
KERNEL_CALL (cudaGetFuncBySymbol, (CUfunction * place, const void *function),
             store_handle (place, handle))

/* ---- call configurations: kernel<<<grid, block, shared, stream>>> */

typedef struct
{
  RuntimeDim3 grid, block;
  size_t shared;
  CUstream stream;
} Configuration;

static __thread Configuration pushed[DEPTH];
static __thread guint n_pushed;

REGISTRATION (unsigned, __cudaPushCallConfiguration,
              (RuntimeDim3 grid, RuntimeDim3 block, size_t shared, CUstream stream))
{
  if (n_pushed == DEPTH)
    return 1;
  pushed[n_pushed++] = (Configuration){ grid, block, shared, stream };
  return 0;
}

RUNTIME (__cudaPopCallConfiguration,
         (RuntimeDim3 * grid, RuntimeDim3 *block, size_t *shared, CUstream *stream))
{
  if (n_pushed == 0)
    return gemem_runtime_result (RUNTIME_MISSING_CONFIGURATION);
  n_pushed--;
  *grid = pushed[n_pushed].grid;
  *block = pushed[n_pushed].block;
  *shared = pushed[n_pushed].shared;
  *stream = pushed[n_pushed].stream;
  return RUNTIME_SUCCESS;
}

/* ---- launches */

static gboolean
is_possible (RuntimeDim3 grid, RuntimeDim3 block)
{
  return grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= G_MAXINT32 && grid.y <= 65535
         && grid.z <= 65535 && block.x > 0 && block.y > 0 && block.z > 0 && block.x <= 1024
         && block.y <= 1024 && block.z <= 64 && block.x * block.y * block.z <= 1024;
}

static int
launch (CUfunction function, RuntimeDim3 grid, RuntimeDim3 block, void **arguments, size_t shared,
        CUstream stream)
{
  if (!is_possible (grid, block))
    return RUNTIME_INVALID_CONFIGURATION;
  return (int) cuLaunchKernel (function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                               (unsigned) shared, stream, arguments, NULL);
}

#define LAUNCH \
  (const void *function, RuntimeDim3 grid, RuntimeDim3 block, void **arguments, size_t shared, \
   CUstream stream)

KERNEL_CALL (cudaLaunchKernel, LAUNCH, launch (handle, grid, block, arguments, shared, stream))
KERNEL_CALL (cudaLaunchKernel_ptsz, LAUNCH,
             launch (handle, grid, block, arguments, shared, runtime_per_thread (stream)))
KERNEL_CALL (cudaLaunchCooperativeKernel, LAUNCH,
             launch (handle, grid, block, arguments, shared, stream))
KERNEL_CALL (cudaLaunchCooperativeKernel_ptsz, LAUNCH,
             launch (handle, grid, block, arguments, shared, runtime_per_thread (stream)))

/* Of a handle from __cudaGetKernel. */
RUNTIME_STREAM_CALL (__cudaLaunchKernel,
                     (CUfunction handle, RuntimeDim3 grid, RuntimeDim3 block, void **arguments,
                      size_t shared, CUstream stream),
                     launch (handle, grid, block, arguments, shared, stream))

static int
launch_configured (const RuntimeLaunch *configuration, CUfunction function, void **arguments,
                   gboolean per_thread)
{
  if (configuration == NULL)
    return RUNTIME_INVALID_VALUE;
  return launch (function, configuration->grid, configuration->block, arguments,
                 configuration->shared,
                 per_thread ? runtime_per_thread (configuration->stream) : configuration->stream);
}

KERNEL_CALL (cudaLaunchKernelExC,
             (const RuntimeLaunch *configuration, const void *function, void **arguments),
             launch_configured (configuration, handle, arguments, FALSE))
KERNEL_CALL (cudaLaunchKernelExC_ptsz,
             (const RuntimeLaunch *configuration, const void *function, void **arguments),
             launch_configured (configuration, handle, arguments, TRUE))

/* ---- clusters, of the driver's form of a configuration */

static int
ask_clusters (int *answer, CUfunction function, const RuntimeLaunch *configuration,
              CUresult CUDAAPI (*ask) (int *, CUfunction, const CUlaunchConfig *))
{
  CUlaunchConfig config = { 0 };

  if (configuration == NULL)
    return RUNTIME_INVALID_VALUE;
  config.gridDimX = configuration->grid.x;
  config.gridDimY = configuration->grid.y;
  config.gridDimZ = configuration->grid.z;
  config.blockDimX = configuration->block.x;
  config.blockDimY = configuration->block.y;
  config.blockDimZ = configuration->block.z;
  config.sharedMemBytes = (unsigned) MIN (configuration->shared, G_MAXUINT);
  config.hStream = configuration->stream;
  config.attrs = (CUlaunchAttribute *) configuration->attributes; /* numbered and laid out alike */
  config.numAttrs = configuration->n_attributes;
  return (int) ask (answer, function, &config);
}

KERNEL_CALL (cudaOccupancyMaxPotentialClusterSize,
             (int *size, const void *function, const RuntimeLaunch *configuration),
             ask_clusters (size, handle, configuration, cuOccupancyMaxPotentialClusterSize))
KERNEL_CALL (cudaOccupancyMaxActiveClusters,
             (int *clusters, const void *function, const RuntimeLaunch *configuration),
             ask_clusters (clusters, handle, configuration, cuOccupancyMaxActiveClusters))

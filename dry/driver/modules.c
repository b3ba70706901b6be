/* modules.c - modules, libraries and functions of the stand-in driver.
 *
 * No code is loaded: what an image is and which functions it has decides the mode (mode.h); dry runs take every image and find
 * every function, and what it needs comes from the image (images.h) where that says it. A library is a module of no context, and its
 * kernels are functions of no context. A global variable gets an address at the first question.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/areas.h"
#include "dry/driver/calls.h"
#include "dry/driver/foreign.h"
#include "dry/driver/mode.h"
#include "dry/driver/remembered.h"

/* Where the addresses of variables begin, from the device's own part of the address space (init.c). */
#define VARIABLES_BASE (G_GUINT64_CONSTANT (1) << 46)
#define GLOBAL_UNKNOWN 65536 /* bytes of a variable whose size the image does not say */

typedef struct
{
  DriverObject object;
  gconstpointer image;             /* of images.h; NULL in strict mode */
  GememReplaySource *source;       /* that it was compiled from; NULL: not known */
  GHashTable *functions, *globals; /* name -> DriverFunction, DriverArea */
} DriverModule;

/* ---- modules and libraries */

static void
finish_function (gpointer object)
{
  g_free (((DriverFunction *) object)->name);
}

static void
remove_function (gpointer function)
{
  gemem_driver_object_remove (function);
  gemem_driver_object_free (function);
}

static void
finish_module (gpointer object)
{
  DriverModule *module = object;

  g_hash_table_unref (module->functions);
  g_hash_table_unref (module->globals);
  if (module->image != NULL)
    gemem_dry_image_forget (module->image);
}

static DriverModule *
new_module (gconstpointer image, DriverContext *context)
{
  DriverModule *module = gemem_driver_object_add (g_new0 (DriverModule, 1), KIND_MODULE, context);

  module->functions = g_hash_table_new (g_str_hash, g_str_equal);
  module->globals = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                           (GDestroyNotify) gemem_driver_area_remove);
  module->image = image;
  module->object.finish = finish_module;
  return module;
}

static CUresult
load (guint64 *handle, const void *image, DriverContext *context)
{
  gconstpointer kept;
  CUresult loaded;

  if (handle == NULL || image == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no image, or no place for the result");
  if ((loaded = gemem_driver.mode->load (image, &kept)) != CUDA_SUCCESS)
    return loaded;
  DriverModule *module = new_module (kept, context);
  module->source = gemem_replay_source_of (image);
  *handle = module->object.id;
  return CUDA_SUCCESS;
}

static CUresult
load_file (guint64 *handle, const char *path, DriverContext *context)
{
  g_autofree char *content = NULL;

  if (path == NULL || !g_file_get_contents (path, &content, NULL, NULL))
    return gemem_driver_misuse (CUDA_ERROR_FILE_NOT_FOUND, "%s", path != NULL ? path : "no name");
  return load (handle, content, context);
}

CUresult CUDAAPI
cuModuleLoad (CUmodule *module, const char *path)
{
  BEGIN (cuModuleLoad, NEEDS_CONTEXT);
  return load_file ((guint64 *) module, path, gemem_driver_context ());
}

CUresult CUDAAPI
cuModuleLoadData (CUmodule *module, const void *image)
{
  BEGIN (cuModuleLoadData, NEEDS_CONTEXT);
  return load ((guint64 *) module, image, gemem_driver_context ());
}

CUresult CUDAAPI
cuModuleLoadDataEx (CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                    void **values)
{
  BEGIN (cuModuleLoadDataEx, NEEDS_CONTEXT);
  if (count > 0 && (options == NULL || values == NULL))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "options that are not there");
  return load ((guint64 *) module, image, gemem_driver_context ());
}

CUresult CUDAAPI
cuModuleLoadFatBinary (CUmodule *module, const void *image)
{
  BEGIN (cuModuleLoadFatBinary, NEEDS_CONTEXT);
  return load ((guint64 *) module, image, gemem_driver_context ());
}

CUresult CUDAAPI
cuLibraryLoadData (CUlibrary *library, const void *image, CUjit_option *options, void **values,
                   unsigned int count, CUlibraryOption *more, void **more_values,
                   unsigned int more_count)
{
  BEGIN (cuLibraryLoadData, NEEDS_INIT);
  return load ((guint64 *) library, image, NULL);
}

CUresult CUDAAPI
cuLibraryLoadFromFile (CUlibrary *library, const char *path, CUjit_option *options, void **values,
                       unsigned int count, CUlibraryOption *more, void **more_values,
                       unsigned int more_count)
{
  BEGIN (cuLibraryLoadFromFile, NEEDS_INIT);
  return load_file ((guint64 *) library, path, NULL);
}

#define MODULE(handle) \
  DriverModule *module = gemem_driver_object (handle, KIND_MODULE); \
  if (module == NULL) \
  return gemem_driver_misuse (CUDA_ERROR_INVALID_HANDLE, "no such module")

static CUresult
unload (DriverModule *module)
{
  g_autoptr (GList) functions = g_hash_table_get_values (module->functions);

  if (module->object.context != NULL)
    gemem_driver_wait_context (module->object.context);
  g_list_foreach (functions, (GFunc) (void (*) (void)) remove_function, NULL);
  gemem_driver_object_remove (module);
  gemem_driver_object_free (module);
  return gemem_driver_context_state ();
}

CUresult CUDAAPI
cuModuleUnload (CUmodule handle)
{
  BEGIN (cuModuleUnload, RETURNS);
  MODULE (handle);
  return unload (module);
}

CUresult CUDAAPI
cuLibraryUnload (CUlibrary handle)
{
  BEGIN (cuLibraryUnload, RETURNS);
  MODULE (handle);
  return unload (module);
}

CUresult CUDAAPI
cuLibraryGetModule (CUmodule *place, CUlibrary handle)
{
  BEGIN (cuLibraryGetModule, NEEDS_CONTEXT);
  MODULE (handle);
  *place = DRIVER_HANDLE (CUmodule, module);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuModuleGetLoadingMode (CUmoduleLoadingMode *mode)
{
  BEGIN (cuModuleGetLoadingMode, NEEDS_INIT);
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

/* ---- functions */

static CUresult
find_function (guint64 *handle, DriverModule *module, const char *name)
{
  const GememGpu *gpu = gemem_dry_gpu ();
  DriverFunction *function;

  if (handle == NULL || name == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no name, or no place for the result");
  function = g_hash_table_lookup (module->functions, name);
  if (function == NULL)
    {
      function = g_new0 (DriverFunction, 1);
      function->name = g_strdup (name);
      if (!gemem_driver.mode->find (module->image, function))
        {
          g_free (function->name);
          g_free (function);
          return CUDA_ERROR_NOT_FOUND;
        }
      gemem_driver_object_add (function, KIND_FUNCTION, module->object.context);
      function->object.finish = finish_function;
      function->module = &module->object;
      function->source = module->source;
      function->dynamic_limit = gpu->shared_per_block
                                - (function->needs != NULL ? function->needs->static_shared : 0);
      function->of_library = gemem_dry_in_library (0);
      function->foreign = !function->of_library && !gemem_dry_within (GEMEM_DRY_FRAMEWORK, 0);
      function->mathematics = gemem_dry_within (GEMEM_DRY_MATHEMATICS, 0);
      g_hash_table_insert (module->functions, function->name, function);
    }
  *handle = function->object.id;
  return CUDA_SUCCESS;
}

/* find_function() for the code at @caller: what PyTorch compiles while it runs (lcm, digamma) is its own, too, and
 * what cuDNN makes then (attention) is cuDNN's. */
static CUresult
find_function_for (guint64 *place, DriverModule *module, const char *name, gconstpointer caller)
{
  const GememDryMaker by = gemem_dry_maker (caller);

  if (by < GEMEM_DRY_N_MAKERS)
    gemem_dry_within (by, 1);
  const CUresult result = find_function (place, module, name);
  if (by < GEMEM_DRY_N_MAKERS)
    gemem_dry_within (by, -1);
  return result;
}

CUresult CUDAAPI
cuModuleGetFunction (CUfunction *place, CUmodule handle, const char *name)
{
  BEGIN (cuModuleGetFunction, NEEDS_CONTEXT);
  MODULE (handle);
  return find_function_for ((guint64 *) place, module, name, __builtin_return_address (0));
}

CUresult CUDAAPI
cuLibraryGetKernel (CUkernel *place, CUlibrary handle, const char *name)
{
  BEGIN (cuLibraryGetKernel, NEEDS_INIT);
  MODULE (handle);
  return find_function_for ((guint64 *) place, module, name, __builtin_return_address (0));
}

/* ---- all functions of a module */

/* Their names, NULL in strict mode, which has no images; free with g_strfreev(). */
static char **
names_of (const DriverModule *module)
{
  return module->image != NULL ? gemem_dry_kernel_names (module->image, gemem_driver_capability ())
                               : NULL;
}

static CUresult
count_functions (unsigned *count, const DriverModule *module)
{
  g_auto (GStrv) names = names_of (module);

  if (count == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the result");
  *count = names != NULL ? g_strv_length (names) : 0;
  return CUDA_SUCCESS;
}

static CUresult
list_functions (guint64 *places, unsigned n, DriverModule *module, gconstpointer caller)
{
  g_auto (GStrv) names = names_of (module);
  CUresult result = CUDA_SUCCESS;

  if (places == NULL && n > 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no place for the result");
  for (unsigned i = 0; names != NULL && names[i] != NULL && i < n && result == CUDA_SUCCESS; i++)
    result = find_function_for (&places[i], module, names[i], caller);
  return result;
}

CUresult CUDAAPI
cuModuleGetFunctionCount (unsigned *count, CUmodule handle)
{
  BEGIN (cuModuleGetFunctionCount, NEEDS_CONTEXT);
  MODULE (handle);
  return count_functions (count, module);
}

CUresult CUDAAPI
cuLibraryGetKernelCount (unsigned *count, CUlibrary handle)
{
  BEGIN (cuLibraryGetKernelCount, NEEDS_INIT);
  MODULE (handle);
  return count_functions (count, module);
}

CUresult CUDAAPI
cuModuleEnumerateFunctions (CUfunction *places, unsigned n, CUmodule handle)
{
  BEGIN (cuModuleEnumerateFunctions, NEEDS_CONTEXT);
  MODULE (handle);
  return list_functions ((guint64 *) places, n, module, __builtin_return_address (0));
}

CUresult CUDAAPI
cuLibraryEnumerateKernels (CUkernel *places, unsigned n, CUlibrary handle)
{
  BEGIN (cuLibraryEnumerateKernels, NEEDS_INIT);
  MODULE (handle);
  return list_functions ((guint64 *) places, n, module, __builtin_return_address (0));
}

/* ---- what a function needs */

typedef struct
{
  const DriverFunction *function;
  const GememDryKernel *compiled; /* NULL: it is not compiled here */
} Compilation;

static void
compile (gpointer data)
{
  Compilation *compilation = data;
  const DriverFunction *function = compilation->function;

  compilation->compiled = gemem_dry_kernel_compiled (
      ((const DriverModule *) function->module)->image, function->name, gemem_driver_capability ());
}

const GememDryKernel *
gemem_driver_function_needs (const DriverFunction *function)
{
  static const GememDryKernel unknown;
  const GememDryKernel *needs = function->needs;
  Compilation compilation = { function, NULL };

  if (needs != NULL && (needs->registers > 0 || needs->idle))
    return needs;
  if (needs != NULL)
    gemem_driver_outside (compile, &compilation); /* nvJitLink calls the driver */
  if (compilation.compiled != NULL && compilation.compiled->registers > 0)
    return compilation.compiled;
  if (!function->of_library)
    gemem_driver.mode->note (GEMEM_DRY_NOTE_KERNEL, function->name);
  return needs != NULL ? needs : &unknown;
}

int
gemem_driver_function_threads (const DriverFunction *function)
{
  return function->needs != NULL ? gemem_dry_max_threads (function->needs, gemem_dry_gpu ()) : 1024;
}

/* An attribute that came after this driver: programs ask for one to see whether there is it (Triton 3.8), so that it is no misuse. */
static gboolean
is_known (CUfunction_attribute attribute)
{
  return (int) attribute >= 0
         && attribute <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
}

static CUresult
get_attribute (int *value, CUfunction_attribute attribute, gconstpointer handle)
{
  PLACE (value);
  FUNCTION (handle);
  if (!is_known (attribute))
    return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    *value = gemem_driver.mode->lenient ? function->dynamic_limit : 0;
  else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
    *value = gemem_driver.mode->lenient ? function->carveout : 0;
  else
    {
      const GememDryKernel *needs = gemem_driver_function_needs (function);

      *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
                   ? gemem_driver_function_threads (function)
               : attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? needs->static_shared
               : attribute == CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES  ? needs->constant
               : attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES  ? needs->local
               : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS          ? needs->registers
               : attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION       ? needs->ptx_version
               : attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION    ? needs->binary_version
                                                                  : 0;
    }
  return CUDA_SUCCESS;
}

static CUresult
set_attribute (CUfunction_attribute attribute, int value, gconstpointer handle)
{
  FUNCTION (handle);
  if (!is_known (attribute))
    return CUDA_ERROR_INVALID_VALUE;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    {
      int most = gemem_dry_gpu ()->shared_per_block_optin
                 - (function->needs != NULL ? function->needs->static_shared : 0);
      if (value < 0 || value > most)
        return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "%d bytes of shared memory, of %d",
                                    value, most);
      function->dynamic_limit = value;
    }
  else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
    function->carveout = value;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuFuncGetAttribute (int *value, CUfunction_attribute attribute, CUfunction handle)
{
  BEGIN (cuFuncGetAttribute, NEEDS_CONTEXT);
  return get_attribute (value, attribute, handle);
}

CUresult CUDAAPI
cuFuncSetAttribute (CUfunction handle, CUfunction_attribute attribute, int value)
{
  BEGIN (cuFuncSetAttribute, NEEDS_CONTEXT);
  return set_attribute (attribute, value, handle);
}

CUresult CUDAAPI
cuKernelGetAttribute (int *value, CUfunction_attribute attribute, CUkernel handle, CUdevice device)
{
  BEGIN (cuKernelGetAttribute, NEEDS_INIT);
  return get_attribute (value, attribute, handle);
}

CUresult CUDAAPI
cuKernelSetAttribute (CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device)
{
  BEGIN (cuKernelSetAttribute, NEEDS_INIT);
  return set_attribute (attribute, value, handle);
}

/* Questions about a function, which is the same object as a kernel of a library. */
#define ASK(symbol, handle_type, type, needs, answer) \
  CUresult CUDAAPI symbol (type *place, handle_type handle) \
  { \
    BEGIN (symbol, needs); \
    PLACE (place); \
    FUNCTION (handle); \
    *place = answer; \
    return CUDA_SUCCESS; \
  }

ASK (cuKernelGetFunction, CUkernel, CUfunction, NEEDS_CONTEXT, DRIVER_HANDLE (CUfunction, function))
ASK (cuKernelGetName, CUkernel, const char *, NEEDS_INIT, function->name)
ASK (cuKernelGetLibrary, CUkernel, CUlibrary, NEEDS_INIT, (CUlibrary) function->module->id)
ASK (cuFuncGetModule, CUfunction, CUmodule, NEEDS_INIT, (CUmodule) function->module->id)
ASK (cuFuncGetName, CUfunction, const char *, NEEDS_INIT, function->name)
ASK (cuFuncIsLoaded, CUfunction, CUfunctionLoadingState, NEEDS_INIT,
     CU_FUNCTION_LOADING_STATE_LOADED)

CUresult CUDAAPI
cuFuncLoad (CUfunction handle)
{
  BEGIN (cuFuncLoad, NEEDS_CONTEXT);
  FUNCTION (handle);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuFuncSetCacheConfig (CUfunction handle, CUfunc_cache config)
{
  BEGIN (cuFuncSetCacheConfig, NEEDS_CONTEXT);
  FUNCTION (handle);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuFuncSetSharedMemConfig (CUfunction handle, CUsharedconfig config)
{
  BEGIN (cuFuncSetSharedMemConfig, NEEDS_CONTEXT);
  FUNCTION (handle);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuKernelSetCacheConfig (CUkernel handle, CUfunc_cache config, CUdevice device)
{
  BEGIN (cuKernelSetCacheConfig, NEEDS_INIT);
  FUNCTION (handle);
  return CUDA_SUCCESS;
}

/* ---- global variables */

/* Memory of @size bytes for a variable. On a GPU it is part of what loading a module takes, which is
 * no allocation of the program: it has addresses of its own, and takes nothing from the capacity. */
static DriverArea *
variable_area (DriverDevice *device, guint64 size)
{
  static guint64 used[DRIVER_DEVICES_MAX];
  guint64 address = VARIABLES_BASE + ((guint64) device->ordinal << 48) + used[device->ordinal];

  size = MAX (size, 1);
  used[device->ordinal] += (size + 511) / 512 * 512;
  return gemem_driver_area_add (KIND_VARIABLE, address, size, device,
                                gemem_driver_bytes_new (size));
}

static DriverArea *
new_global (const DriverModule *module, const char *name, gboolean *known)
{
  guint64 size = 0;

  *known = gemem_dry_symbol (module->image, name, gemem_driver_capability (), &size);
  if (!*known
      && gemem_dry_image_state (module->image, gemem_driver_capability (), NULL)
             == GEMEM_DRY_IMAGE_READ)
    return NULL;
  if (!*known)
    {
      gemem_dry_note (GEMEM_DRY_NOTE_VARIABLE, name);
      size = GLOBAL_UNKNOWN;
    }
  return variable_area (gemem_driver_context ()->device, size);
}

static CUresult
find_global (CUdeviceptr *address, size_t *size, DriverModule *module, const char *name)
{
  DriverArea *area;
  gboolean known;

  if (name == NULL || (address == NULL && size == NULL))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no name, or no place for the result");
  if (!gemem_driver.mode->lenient)
    return CUDA_ERROR_NOT_FOUND;
  area = g_hash_table_lookup (module->globals, name);
  if (area == NULL)
    {
      if ((area = new_global (module, name, &known)) == NULL)
        return CUDA_ERROR_NOT_FOUND;
      if (module->source != NULL)
        gemem_replay_source_lose (module->source);
      g_hash_table_insert (module->globals, g_strdup (name), area);
    }
  if (address != NULL)
    *address = area->node.address;
  if (size != NULL)
    *size = area->size;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuModuleGetGlobal_v2 (CUdeviceptr *address, size_t *size, CUmodule handle, const char *name)
{
  BEGIN (cuModuleGetGlobal_v2, NEEDS_CONTEXT);
  MODULE (handle);
  return find_global (address, size, module, name);
}

CUresult CUDAAPI
cuLibraryGetGlobal (CUdeviceptr *address, size_t *size, CUlibrary handle, const char *name)
{
  BEGIN (cuLibraryGetGlobal, NEEDS_CONTEXT);
  MODULE (handle);
  return find_global (address, size, module, name);
}

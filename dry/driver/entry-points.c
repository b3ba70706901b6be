/* entry-points.c - the functions of the stand-in driver by name and version, for cuGetProcAddress, and the names of its errors. */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "dry/driver/calls.h"
#include "dry/driver/foreign.h"
#include "dry/driver/mode.h"
#include "dry/driver/remembered.h"
#include "dry/driver/tables.h"

typedef struct
{
  const char *name;
  int version;
  gboolean per_thread;
  gpointer function;
} EntryPoint;

static const EntryPoint entries[] = {
#define DRIVER_ENTRY(name, symbol, version) { #name, version, FALSE, (gpointer) symbol },
#define DRIVER_ENTRY_PER_THREAD(name, symbol, version) { #name, version, TRUE, (gpointer) symbol },
#include "dry/driver/entry-points.def"
#define DRIVER_ENTRY_ALSO(name, symbol, version) { #name, version, FALSE, (gpointer) symbol },
#include "dry/driver/entry-points.def"
};

/* The older names jump to the newer ones: an alias would have to stand beside each function. */
#define DRIVER_ENTRY_OLDER(name, symbol) \
  __asm__(".text\n\t.globl " #name "\n\t.type " #name ", @function\n" #name ":\n\tjmp " #symbol \
          "@PLT\n\t.size " #name ", . - " #name);
#include "dry/driver/entry-points.def"

static const struct
{
  int code;
  const char *name, *text; /* name NULL: an error of the runtime alone; text NULL: not known */
} errors[] = {
#define DRY_ERROR(number, driver_name, runtime_name, text) { number, driver_name, text },
#include "dry/driver/errors.def"
#undef DRY_ERROR
};

/* ---- errors */

static CUresult
describe (CUresult error, const char **text, gboolean name)
{
  if (text == NULL)
    return CUDA_ERROR_INVALID_VALUE;
  *text = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    if (errors[i].code == (int) error)
      *text = name || errors[i].text == NULL ? errors[i].name : errors[i].text;
  return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI
cuGetErrorName (CUresult error, const char **text)
{
  BEGIN (cuGetErrorName, NEEDS_NOTHING);
  return describe (error, text, TRUE);
}

CUresult CUDAAPI
cuGetErrorString (CUresult error, const char **text)
{
  BEGIN (cuGetErrorString, NEEDS_NOTHING);
  return describe (error, text, FALSE);
}

/* ---- functions by name and version */

/* The newest symbol of @name that is not newer than @version; *known: the name exists in some
 * version. */
static gpointer
find_function (const char *name, int version, gboolean per_thread, gboolean *known)
{
  const EntryPoint *best = NULL;
  gpointer other;
  int since = 0;

  *known = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      const EntryPoint *entry = &entries[i];
      if (strcmp (entry->name, name) != 0 || entry->version > gemem_driver.version)
        continue;
      *known = TRUE;
      if (entry->version > version || (entry->per_thread && !per_thread))
        continue;
      if (best == NULL || (entry->per_thread && !best->per_thread)
          || (entry->per_thread == best->per_thread && entry->version > best->version))
        best = entry;
    }
  other = gemem_driver.mode->lenient && gemem_driver.libraries != NULL
              ? gemem_driver.libraries->absent (name, version, &since)
              : NULL;
  if (other != NULL && (best == NULL || since > best->version))
    {
      *known = TRUE;
      return other;
    }
  return best != NULL ? best->function : NULL;
}

static CUresult
get_function (const char *name, void **function, int version, cuuint64_t flags,
              CUdriverProcAddressQueryResult *status)
{
  gboolean known;

  if (name == NULL || *name == '\0' || function == NULL
      || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "name, place or flags");
  if (version > gemem_driver.version)
    return CUDA_ERROR_INVALID_VALUE; /* no misuse: tells programs that the driver is too old */
  *function = find_function (name, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                             &known);
  if (status != NULL)
    *status = *function != NULL ? CU_GET_PROC_ADDRESS_SUCCESS
              : known           ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != NULL || status != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI
cuGetProcAddress (const char *name, void **function, int version, cuuint64_t flags)
{
  BEGIN (cuGetProcAddress, NEEDS_NOTHING);
  return get_function (name, function, version, flags, NULL);
}

CUresult CUDAAPI
cuGetProcAddress_v2 (const char *name, void **function, int version, cuuint64_t flags,
                     CUdriverProcAddressQueryResult *status)
{
  BEGIN (cuGetProcAddress_v2, NEEDS_NOTHING);
  return get_function (name, function, version, flags, status);
}

/* Tables of unnamed functions: the real driver has many for CUDA's own libraries, the stand-in
 * few (tables.h).  A runtime that is linked into a program does not start without others, and one of
 * those proves that the driver is NVIDIA's (cudaErrorIntegrityChecksFailed).  Where its functions are
 * found (dry/launch/linked.c), audit.c has put ours in their place; else this is where it ends. */
CUresult CUDAAPI
cuGetExportTable (const void **table, const CUuuid *id)
{
  static gboolean told;

  BEGIN (cuGetExportTable, NEEDS_NOTHING);
  if (table == NULL || id == NULL)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no table, or no place for it");
  *table = gemem_driver_table (id);
  if (*table != NULL)
    return CUDA_SUCCESS;
  if (gemem_driver.mode->lenient && !told && !gemem_dry_in_library (0))
    {
      const gconstpointer caller = __builtin_return_address (0);
      Dl_info info;

      told = TRUE;
      if (gemem_dry_maker (caller) != GEMEM_DRY_MATHEMATICS)
        g_printerr (
            "gemem: %s has CUDA's runtime linked in (libcudart_static), and its functions were "
            "not found in it; do not strip it, or link it with nvcc -cudart shared\n",
            dladdr (caller, &info) != 0 ? info.dli_fname : "this program");
      gemem_dry_note (GEMEM_DRY_NOTE_MISSING, "cuGetExportTable libcuda.so.1");
    }
  return CUDA_ERROR_NOT_FOUND;
}

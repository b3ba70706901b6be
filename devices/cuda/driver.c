/* driver.c - see driver.h. */
#include "config.h"

#include <dlfcn.h>

#include "base/error.h"
#include "devices/cuda/driver.h"

#define LIBRARY "libcuda.so.1"
#define OLDEST 11030 /* the first version with cuGetProcAddress */
#define ADVICE "use a simulated device, for example -d sim:profile=h200"

typedef CUresult (CUDAAPI *FindOld) (const char *symbol, void **function, int version,
                                     cuuint64_t flags);
typedef CUresult (CUDAAPI *FindNew) (const char *symbol, void **function, int version,
                                     cuuint64_t flags, gpointer status);

static const struct
{
  const char *name;
  int version;
  gsize offset;
} calls[] = {
#define GEMEM_CUDA_CALL(call, since) { #call, since, G_STRUCT_OFFSET (GememCudaDriver, call) },
#include "devices/cuda/calls.def"
#undef GEMEM_CUDA_CALL
};

static gboolean
refuse (GError **error, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE, "device cuda: %s; " ADVICE, text);
  return FALSE;
}

char *
gemem_cuda_result_text (const GememCudaDriver *driver, CUresult result)
{
  const char *name = NULL, *text = NULL;

  if (driver->cuGetErrorName (result, &name) != CUDA_SUCCESS || name == NULL)
    return g_strdup_printf ("error %d", (int) result);
  if (driver->cuGetErrorString (result, &text) != CUDA_SUCCESS || text == NULL)
    text = "no description";
  return g_strdup_printf ("%s: %s", name, text);
}

static gboolean
check_version (void *library, GError **error)
{
  CUresult (CUDAAPI * get_version) (int *version);
  int version = 0;

  *(gpointer *) &get_version = dlsym (library, "cuDriverGetVersion");
  if (get_version == NULL || get_version (&version) != CUDA_SUCCESS)
    return refuse (error, LIBRARY " does not say which version it is (cuDriverGetVersion)");
  if (version < OLDEST)
    return refuse (error, "the driver is too old: it is for CUDA %d.%d, and 11.3 is needed",
                   version / 1000, version % 1000 / 10);
  return TRUE;
}

static gboolean
find_calls (void *library, GememCudaDriver *driver, GError **error)
{
  FindNew find_new;
  FindOld find_old;

  *(gpointer *) &find_new = dlsym (library, "cuGetProcAddress_v2");
  *(gpointer *) &find_old = dlsym (library, "cuGetProcAddress");
  if (find_new == NULL && find_old == NULL)
    return refuse (error, LIBRARY " has no cuGetProcAddress");
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      void **place = G_STRUCT_MEMBER_P (driver, calls[i].offset);
      CUresult result = find_new != NULL
                            ? find_new (calls[i].name, place, calls[i].version, 0, NULL)
                            : find_old (calls[i].name, place, calls[i].version, 0);
      if (result != CUDA_SUCCESS || *place == NULL)
        return refuse (error, "the driver is too old or too new: it has no %s", calls[i].name);
    }
  return TRUE;
}

static gboolean
begin (void *library, GememCudaDriver *driver, GError **error)
{
  g_autofree char *text = NULL;
  CUresult result;

  if (library == NULL)
    return refuse (error, "no NVIDIA driver on this machine (%s)", dlerror ());
  if (!check_version (library, error) || !find_calls (library, driver, error))
    return FALSE;
  result = driver->cuInit (0);
  if (result == CUDA_SUCCESS)
    return TRUE;
  text = gemem_cuda_result_text (driver, result);
  return refuse (error, "cuInit: %s", text);
}

/* Retried after a failure.  The library is never closed: it has its own threads. */
const GememCudaDriver *
gemem_cuda_driver (GError **error)
{
  static GMutex lock;
  static void *library;
  static gboolean ready;
  static GememCudaDriver driver;
  gboolean done;

  g_mutex_lock (&lock);
  if (library == NULL)
    library = dlopen (LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  if (!ready)
    ready = begin (library, &driver, error);
  done = ready;
  g_mutex_unlock (&lock);
  return done ? &driver : NULL;
}

/* cublas-installed.c - NVIDIA's own cuBLAS beside the stand-in, where it is installed: a handle of the stand-in has one of its,
 * which takes of the device what cuBLAS takes for a handle.
 *
 * Why: it is no request to an allocator, so that only the library knows it (64 MiB and 129 KiB on an H100, of cuBLAS 13.1).  What
 * multiplies stays the stand-in's.
 *
 * The launcher names the file in $GEMEM_DRY_CUBLAS_INSTALLED (dry/launch/installed.c).
 *
 * Invariants: any thread.  Where the library makes no handle, the stand-in's has none, unless memory was refused.
 */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "dry/driver/remembered.h"
#include "dry/libraries/cublas.h"

static int (*create) (void **handle), (*destroy) (void *handle);
static char *soname;

/* The cuBLASLt of the cuBLAS at @path: where the program asks for none, the one that lies beside it. */
static gpointer
open_below (const char *path)
{
  const char *named = g_getenv (GEMEM_ENV_DRY_CUBLASLT_INSTALLED);
  g_autofree char *folder = g_path_get_dirname (path), *name = g_path_get_basename (path);
  const char *version = strstr (name, ".so");
  g_autofree char *beside = g_strdup_printf ("%s/libcublasLt%s", folder,
                                             version != NULL ? version : "");

  return gemem_library_open_beside (named != NULL && *named != '\0' ? named : beside);
}

static void
load (void)
{
  const char *path = g_getenv (GEMEM_ENV_DRY_CUBLAS_INSTALLED);
  gpointer library, its;

  if (path == NULL || *path == '\0' || (its = open_below (path)) == NULL
      || (library = gemem_library_open_beside (path)) == NULL)
    return;
  gemem_library_bind (library, "cublasLt", its);
  soname = g_path_get_basename (path);
  *(void **) &create = dlsym (library, "cublasCreate_v2");
  *(void **) &destroy = dlsym (library, "cublasDestroy_v2");
}

int
cublas_installed_create (void **own)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  int result;

  *own = NULL;
  pthread_once (&once, load);
  if (create == NULL || destroy == NULL)
    return CUBLAS_SUCCESS;
  gemem_dry_in_library (1);
  result = create (own);
  gemem_dry_in_library (-1);
  if (result == CUBLAS_SUCCESS)
    gemem_dry_note (GEMEM_DRY_NOTE_INSTALLED, soname);
  else
    *own = NULL;
  return result == CUBLAS_ALLOC_FAILED ? result : CUBLAS_SUCCESS;
}

void
cublas_installed_destroy (void *own)
{
  if (own == NULL)
    return;
  gemem_dry_in_library (1);
  destroy (own);
  gemem_dry_in_library (-1);
}

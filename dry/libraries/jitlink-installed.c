/* jitlink-installed.c - NVIDIA's own nvJitLink, where it is installed: it compiles PTX in place of the driver (dry/images/images.h).
 *
 * Why: how many registers such a kernel has decides how many blocks a multiprocessor takes, and by that libraries choose kernels
 * and workspaces, as cuFFT does.  Its version is the program's; the driver's compiler may be another.
 *
 * The launcher names the file in $GEMEM_DRY_JITLINK_INSTALLED (dry/launch/installed.c).
 *
 * Invariants: any thread, one at a time, and not under the driver's lock, as nvJitLink calls the driver.  A library that is not
 * there, or does not know the GPU, compiles nothing.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "dry/driver/remembered.h"
#include "dry/libraries/jitlink.h"
#include "dry/libraries/library.h"

#define PTX 2 /* of nvJitLinkInputType */

static int (*create) (void **link, guint32 n, const char **options), (*destroy) (void **link),
    (*add) (void *link, int type, const void *data, size_t size, const char *name),
    (*complete) (void *link), (*size_of) (void *link, size_t *size), (*take) (void *link, void *to);
static char *soname;

/* Its functions have the version of CUDA in their names; those of a first minor version stay. */
static gpointer
function (gpointer library, const char *name, const char *major)
{
  g_autofree char *full = g_strdup_printf ("__%s_%s_0", name, major);
  return dlsym (library, full);
}

static gboolean
load (void)
{
  const char *path = g_getenv (GEMEM_ENV_DRY_JITLINK_INSTALLED);
  g_autofree char *name = path != NULL ? g_path_get_basename (path) : NULL;
  const char *version = name != NULL ? strstr (name, ".so.") : NULL;
  g_autofree char *major = version != NULL ? g_strdup (version + strlen (".so.")) : NULL;
  gpointer library;

  if (major == NULL || (library = gemem_library_open_beside (path)) == NULL)
    return FALSE;
  major[strcspn (major, ".")] = '\0';
  *(void **) &create = function (library, "nvJitLinkCreate", major);
  *(void **) &destroy = function (library, "nvJitLinkDestroy", major);
  *(void **) &add = function (library, "nvJitLinkAddData", major);
  *(void **) &complete = function (library, "nvJitLinkComplete", major);
  *(void **) &size_of = function (library, "nvJitLinkGetLinkedCubinSize", major);
  *(void **) &take = function (library, "nvJitLinkGetLinkedCubin", major);
  soname = g_steal_pointer (&name);
  return create != NULL && destroy != NULL && add != NULL && complete != NULL && size_of != NULL
         && take != NULL;
}

/* The code of @link, which is complete. */
static guint8 *
code_of (void *link, gsize *size)
{
  size_t bytes = 0;
  guint8 *code;

  if (size_of (link, &bytes) != 0 || bytes == 0 || (code = g_try_malloc (bytes)) == NULL)
    return NULL;
  if (take (link, code) != 0)
    g_clear_pointer (&code, g_free);
  *size = bytes;
  return code;
}

/* The code of @ptx; NULL: none. */
static guint8 *
compile (const char *ptx, int sm, gsize *size)
{
  g_autofree char *option = g_strdup_printf ("-arch=sm_%d", sm);
  const char *options[] = { option };
  guint8 *code = NULL;
  void *link;

  if (create (&link, 1, options) != 0)
    return NULL;
  if (add (link, PTX, ptx, strlen (ptx) + 1, "kernels") == 0 && complete (link) == 0)
    code = code_of (link, size);
  destroy (&link);
  return code;
}

guint8 *
gemem_library_compile (const char *ptx, int sm, gsize *size)
{
  static int loaded = -1;
  guint8 *code;

  if (loaded < 0)
    loaded = load ();
  if (!loaded)
    return NULL;
  gemem_dry_in_library (1);
  code = compile (ptx, sm, size);
  gemem_dry_in_library (-1);
  if (code != NULL)
    gemem_dry_note (GEMEM_DRY_NOTE_INSTALLED, soname);
  return code;
}

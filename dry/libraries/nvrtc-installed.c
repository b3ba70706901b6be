/* nvrtc-installed.c - NVIDIA's own NVRTC, where it is installed: it makes PTX of what the program
 * compiled, for kernels whose results the program reads (dry/replay/replay.h).  What the program
 * itself gets is the stand-in's (compilers.c).
 *
 * The launcher names the file in $GEMEM_DRY_NVRTC_INSTALLED (dry/launch/installed.c).
 *
 * Invariants: one thread at a time, as replay.h has it.  Options that ask for code of a GPU ask for
 * PTX here.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "dry/driver/remembered.h"
#include "dry/libraries/library.h"
#include "dry/libraries/nvrtc.h"
#include "dry/protocol/protocol.h"

static int (*create) (void **program, const char *source, const char *name, int n_headers,
                      const char *const *headers, const char *const *names),
    (*destroy) (void **program), (*add_name) (void *program, const char *expression),
    (*compile) (void *program, int n, const char *const *options),
    (*size_of) (void *program, size_t *size), (*take) (void *program, char *to),
    (*name_of) (void *program, const char *expression, const char **name);

/* It looks for its headers, a library of their own, where it lies itself, which it cannot know
 * here. */
static void
load_builtins (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  GDir *files = g_dir_open (folder, 0, NULL);

  for (const char *name; files != NULL && (name = g_dir_read_name (files)) != NULL;)
    if (g_str_has_prefix (name, "libnvrtc-builtins.so."))
      {
        g_autofree char *file = g_build_filename (folder, name, NULL);
        dlopen (file, RTLD_NOW | RTLD_LOCAL);
      }
  if (files != NULL)
    g_dir_close (files);
}

static gboolean
load (void)
{
  const char *path = g_getenv (GEMEM_ENV_DRY_NVRTC_INSTALLED);
  gpointer library;

  if (path == NULL || *path == '\0' || (library = gemem_library_open_beside (path)) == NULL)
    return FALSE;
  load_builtins (path);
  *(void **) &create = dlsym (library, "nvrtcCreateProgram");
  *(void **) &destroy = dlsym (library, "nvrtcDestroyProgram");
  *(void **) &add_name = dlsym (library, "nvrtcAddNameExpression");
  *(void **) &compile = dlsym (library, "nvrtcCompileProgram");
  *(void **) &size_of = dlsym (library, "nvrtcGetPTXSize");
  *(void **) &take = dlsym (library, "nvrtcGetPTX");
  *(void **) &name_of = dlsym (library, "nvrtcGetLoweredName");
  return create != NULL && destroy != NULL && add_name != NULL && compile != NULL && size_of != NULL
         && take != NULL && name_of != NULL;
}

/* "-arch=sm_90" as "-arch=compute_90"; free with g_strfreev(). */
static char **
for_ptx (guint n, const char *const *options)
{
  char **changed = g_new0 (char *, n + 1);

  for (guint i = 0; i < n; i++)
    {
      const char *at = strstr (options[i], "arch=sm_");
      changed[i] = at != NULL ? g_strdup_printf ("%.*sarch=compute_%s", (int) (at - options[i]),
                                                 options[i], at + strlen ("arch=sm_"))
                              : g_strdup (options[i]);
    }
  return changed;
}

static char *
code_of (void *program, guint n, const char *const *expressions, char **names)
{
  size_t size = 0;
  char *code;

  if (size_of (program, &size) != 0 || size == 0)
    return NULL;
  code = g_malloc0 (size + 1);
  for (guint i = 0; i < n; i++)
    {
      const char *name;
      g_clear_pointer (&names[i], g_free);
      if (name_of (program, expressions[i], &name) == 0)
        names[i] = g_strdup (name);
    }
  if (take (program, code) != 0)
    g_clear_pointer (&code, g_free);
  return code;
}

char *
gemem_library_compile_source (const char *source, guint n_options, const char *const *options,
                              guint n_expressions, const char *const *expressions, char **names)
{
  static int loaded = -1;
  g_auto (GStrv) changed = for_ptx (n_options, options);
  void *program = NULL;
  char *code = NULL;

  if (loaded < 0)
    loaded = load ();
  if (!loaded)
    return NULL;
  gemem_dry_in_library (1);
  if (create (&program, source, "kernels.cu", 0, NULL, NULL) == 0)
    {
      for (guint i = 0; i < n_expressions; i++)
        add_name (program, expressions[i]);
      if (compile (program, (int) n_options, (const char *const *) changed) == 0)
        code = code_of (program, n_expressions, expressions, names);
      destroy (&program);
    }
  gemem_dry_in_library (-1);
  return code;
}

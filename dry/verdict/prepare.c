/* prepare.c - what a program needs to run dry: the folder of its run, and an environment in which
 * every CUDA library is ours.
 *
 *   LD_PRELOAD = libgemem-record.so : libgemem-dry.so : libgemem-dry-cudnn.so, -solvers.so and -rand.so, unless
 *                these libraries are installed : an object for each library of NVIDIA's that the
 *                program's files ask for (dry/launch/launch.h)
 *   LD_AUDIT   = libgemem-dry-audit.so, for libraries that are opened by name, and linked-in runtimes
 *   PYTHONPATH = a folder with sitecustomize.py, which switches PyTorch's memory history on
 *
 * The program's files are those of program.c and, because Python programs open most of their libraries
 * by name, the folders where its Python looks for modules.  What follows from these files, variables
 * that name libraries and their versions, is found before the program starts and again by each Python
 * that looks elsewhere (gemem_library_print_environment()); GEMEM_DRY_ROOTS says for which it was found, and
 * GEMEM_DRY_FOUND which variables these are, so that what the user set is kept.
 */
#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "dry/launch/launch.h"
#include "dry/protocol/protocol.h"
#include "dry/verdict/python-texts.h"
#include "dry/verdict/verdict.h"

#define LIBRARY "libgemem-dry.so"
#define AUDIT "libgemem-dry-audit.so"

/* ---- the environment */

/* "A:B:C" of the files in @folder, in the order of their names. */
static char *
join_files (const char *folder)
{
  g_autoptr (GPtrArray) paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (strstr (name, ".so") != NULL && !g_str_has_suffix (name, GEMEM_DRY_OPENED))
      g_ptr_array_add (paths, g_build_filename (folder, name, NULL));
  g_ptr_array_sort (paths, gemem_dry_compare_names);
  g_ptr_array_add (paths, NULL);
  return g_strjoinv (":", (char **) paths->pdata);
}

static char **
set_number (char **environment, const char *name, guint64 number)
{
  g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, number);
  return g_environ_setenv (environment, name, text, TRUE);
}

/* Writes sitecustomize.py and what it uses into a folder of its own. */
static gboolean
write_python (DryRun *run, GError **error)
{
  g_autofree char *folder = g_build_filename (run->folder.path, "python", NULL);

  g_mkdir (folder, 0700);
  for (guint i = 0; i < G_N_ELEMENTS (python_texts); i++)
    {
      g_autofree char *file = g_build_filename (folder, python_texts[i].name, NULL);
      if (!g_file_set_contents (file, python_texts[i].text, -1, error))
        {
          g_prefix_error (error, "name another file with -o: ");
          return FALSE;
        }
    }
  run->python = gemem_launcher_list_path (g_steal_pointer (&folder), &run->links, error);
  return run->python != NULL;
}

/* Puts that folder before $PYTHONPATH. */
static char **
set_python (char **environment, const DryOptions *options, const DryRun *run)
{
  const char *before = g_environ_getenv (environment, "PYTHONPATH");
  const gboolean more = before != NULL && *before != '\0';
  g_autofree char *path = g_strconcat (run->python, more ? ":" : NULL, before, NULL);

  if (options->fill_host)
    environment = g_environ_setenv (environment, GEMEM_ENV_DRY_FILL_HOST, "1", TRUE);
  if (options->values != NULL)
    {
      g_autofree char *values = g_strjoinv ("\n", options->values);
      environment = g_environ_setenv (environment, GEMEM_ENV_DRY_VALUES, values, TRUE);
    }
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_SNAPSHOTS, run->folder.path, TRUE);
  return g_environ_setenv (environment, "PYTHONPATH", path, TRUE);
}

/* Kernels that are compiled in a dry run have no code.  What keeps compiled kernels from run to run
 * must not keep these, or a later run on a GPU would compute nothing. */
static char **
set_compilers (char **environment, const DryRun *run)
{
  static const char *const folders[] = { "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR",
                                         "VLLM_CACHE_ROOT" };
  /* named as PyTorch names its own: what lies there is no line of the program (traces/origin.c) */
  g_autofree char *folder = g_build_filename (run->folder.path, "torchinductor_dry", NULL);

  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    environment = g_environ_setenv (environment, folders[i], folder, TRUE);
  environment = g_environ_setenv (environment, "USE_PYTORCH_KERNEL_CACHE", "0", TRUE);
  environment = g_environ_setenv (environment, "JAX_ENABLE_COMPILATION_CACHE", "false", TRUE);
  return g_environ_setenv (environment, "CUPY_CACHE_IN_MEMORY", "1", TRUE);
}

/* ---- what follows from the files of the program */

/* Sets @name unless the user did. */
static char **
set_found (char **environment, const char *name, const char *value)
{
  const char *before = g_environ_getenv (environment, GEMEM_ENV_DRY_FOUND);
  g_autofree char *found = g_strconcat (before != NULL ? before : "", before != NULL ? ":" : "",
                                        name, NULL);

  if (g_environ_getenv (environment, name) != NULL)
    return environment;
  environment = g_environ_setenv (environment, name, value, TRUE);
  return g_environ_setenv (environment, GEMEM_ENV_DRY_FOUND, found, TRUE);
}

static char **
unset_found (char **environment)
{
  const char *found = g_environ_getenv (environment, GEMEM_ENV_DRY_FOUND);
  g_auto (GStrv) names = g_strsplit (found != NULL ? found : "", ":", -1);

  for (char **name = names; *name != NULL; name++)
    environment = g_environ_unsetenv (environment, *name);
  return g_environ_unsetenv (environment, GEMEM_ENV_DRY_FOUND);
}

/* Tells our libraries which versions those are that the program was built for, and Triton, which links
 * what it makes with a driver, in which folder that lies. */
static char **
set_versions (char **environment, char **roots, const char *stubs)
{
  g_auto (GStrv) versions = gemem_dry_versions ((const char *const *) roots);

  for (char **version = versions; version != NULL && *version != NULL; version++)
    {
      g_auto (GStrv) sides = g_strsplit (*version, "=", 2);
      if (sides[0] != NULL && sides[1] != NULL)
        environment = set_found (environment, sides[0], sides[1]);
    }
  return set_found (environment, "TRITON_LIBCUDA_PATH", stubs);
}

/* Lets audit.c, the library @audit, read the list in the folder @stubs. */
static char **
set_audit (char **environment, const char *audit, const char *stubs)
{
  g_autofree char *list = g_build_filename (stubs, GEMEM_DRY_LIST, NULL);
  const char *before = g_environ_getenv (environment, "LD_AUDIT");

  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_LIST, list, TRUE);
  if (before != NULL && g_str_has_prefix (before, audit))
    return environment; /* of this Python's first start */
  g_autofree char *all = g_strconcat (audit, before != NULL ? ":" : NULL, before, NULL);
  return g_environ_setenv (environment, "LD_AUDIT", all, TRUE);
}

/* Sets *@path to that of the library @name, *@links as gemem_launcher_list_path(). */
static gboolean
find_library (const char *name, char **path, char **links, GError **error)
{
  char *found = gemem_launcher_find (name, GEMEM_PKGLIBDIR);
  if (found == NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                 "%s was not found in " GEMEM_PKGLIBDIR "; install gemem whole", name);
  *path = found != NULL ? gemem_launcher_list_path (found, links, error) : NULL;
  return *path != NULL;
}

/* The paths of libgemem-dry.so and of the modules of libraries.def, each like find_library(). */
static char **
find_libraries (char **links, GError **error)
{
  g_auto (GStrv) modules = gemem_dry_modules ();
  g_auto (GStrv) paths = g_new0 (char *, g_strv_length (modules) + 2);

  if (!find_library (LIBRARY, &paths[0], links, error))
    return NULL;
  for (guint i = 0; modules[i] != NULL; i++)
    if (!find_library (modules[i], &paths[i + 1], links, error))
      return NULL;
  return g_steal_pointer (&paths);
}

/* The folder of what stands for the libraries that @roots ask for: in the user's cache or, where that
 * cannot be written, in @folder, that of the run. */
static char *
make_stubs (char **roots, char **libraries, GememDryInstalled **installed, const char *folder,
            char **links, GError **error)
{
  const gboolean wanted = g_getenv (GEMEM_ENV_DRY_STAND_INS) == NULL;
  g_autoptr (GError) inner = NULL;

  *installed = gemem_dry_installed_new (wanted);
  char *stubs = gemem_dry_stubs ((const char *const *) roots, (const char *const *) libraries,
                                 *installed, NULL, &inner);
  if (stubs == NULL)
    {
      gemem_dry_installed_free (*installed);
      *installed = gemem_dry_installed_new (wanted);
      stubs = gemem_dry_stubs ((const char *const *) roots, (const char *const *) libraries,
                               *installed, folder, error);
      if (stubs != NULL)
        gemem_launcher_say ("%s; made for this run alone", inner->message);
    }
  return stubs != NULL ? gemem_launcher_list_path (stubs, links, error) : NULL;
}

/* "A:B" of the files that are preloaded: @recorder, of @libraries those whose module does not run by itself,
 * and those in the folder @stubs. */
static char *
join_preloaded (const char *recorder, char **libraries, const GememDryInstalled *installed,
                const char *stubs)
{
  g_autofree char *files = join_files (stubs);
  GString *all = g_string_new (recorder);

  for (; *libraries != NULL; libraries++)
    {
      g_autofree char *module = g_path_get_basename (*libraries);
      if (!gemem_dry_installed_runs (installed, module))
        g_string_append_printf (all, ":%s", *libraries);
    }
  if (*files != '\0')
    g_string_append_printf (all, ":%s", files);
  return g_string_free (all, FALSE);
}

/* Tells the verdict, by way of libgemem-dry.so, which libraries run by themselves and why others do not. */
static char **
set_installed (char **environment, const GememDryInstalled *installed)
{
  g_autofree char *names = gemem_dry_installed_names (installed);
  g_autofree char *problems = gemem_dry_installed_problems (installed);
  const struct
  {
    const char *library, *variable;
  } beside[] = { { "libnccl.so", GEMEM_ENV_DRY_NCCL_INSTALLED },
                 { "libcublas.so", GEMEM_ENV_DRY_CUBLAS_INSTALLED },
                 { "libcublasLt.so", GEMEM_ENV_DRY_CUBLASLT_INSTALLED },
                 { "libnvJitLink.so", GEMEM_ENV_DRY_JITLINK_INSTALLED },
                 { "libnvrtc.so", GEMEM_ENV_DRY_NVRTC_INSTALLED } };

  for (guint i = 0; i < G_N_ELEMENTS (beside); i++)
    {
      const char *path = gemem_dry_installed_beside (installed, beside[i].library);
      environment = g_environ_setenv (environment, beside[i].variable, path != NULL ? path : "",
                                      TRUE);
    }
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_INSTALLED, names != NULL ? names : "",
                                  TRUE);
  return g_environ_setenv (environment, GEMEM_ENV_DRY_NOT_RUN, problems != NULL ? problems : "",
                           TRUE);
}

/* Makes what stands for the libraries that @roots ask for, and lets @environment, which is consumed,
 * load it.  @folder: that of the run; *@links: as gemem_launcher_list_path().  NULL with @error. */
static char **
load_libraries (char **environment, char **roots, const char *folder, char **links, GError **error)
{
  g_autofree char *recorder = NULL, *audit = NULL, *stubs = NULL;
  g_autoptr (GememDryInstalled) installed = NULL;
  g_auto (GStrv) libraries = find_libraries (links, error);

  if (libraries == NULL || !find_library (GEMEM_LAUNCHER_RECORDER, &recorder, links, error)
      || !find_library (AUDIT, &audit, links, error)
      || (stubs = make_stubs (roots, libraries, &installed, folder, links, error)) == NULL)
    {
      g_strfreev (environment);
      return NULL;
    }
  g_autofree char *all = join_preloaded (recorder, libraries, installed, stubs);
  g_autofree char *known = g_strjoinv (":", roots);
  environment = set_audit (gemem_launcher_preload (environment, all), audit, stubs);
  environment = set_installed (environment, installed);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_ROOTS, known, TRUE);
  return set_versions (environment, roots, stubs);
}

int
gemem_library_print_environment (char **folders)
{
  g_autoptr (GError) error = NULL;
  char **environment = unset_found (g_get_environ ());
  const char *own = g_environ_getenv (environment, GEMEM_ENV_DRY_PRELOADED);

  environment = g_environ_setenv (environment, "LD_PRELOAD", own != NULL ? own : "", TRUE);
  g_autofree char *links = g_strdup (g_environ_getenv (environment, GEMEM_ENV_DRY_LINKS));
  environment = load_libraries (environment, folders,
                                g_environ_getenv (environment, GEMEM_ENV_DRY_SNAPSHOTS), &links,
                                &error);
  if (environment == NULL)
    {
      gemem_launcher_say ("%s", error->message);
      return 1;
    }
  for (char **variable = environment; *variable != NULL; variable++)
    fwrite (*variable, 1, strlen (*variable) + 1, stdout);
  g_strfreev (environment);
  return fflush (stdout) == 0 ? 0 : 1;
}

/* ---- the run */

/* What torchrun would tell one rank, and our part of Python that the others are not there. */
static char **
set_rank (char **environment, const DryOptions *options)
{
  const guint64 local = MIN (options->gpus, options->world), rank = options->rank;

  environment = set_number (environment, GEMEM_ENV_DRY_RANK, rank);
  environment = set_number (environment, GEMEM_ENV_DRY_WORLD, options->world);
  environment = set_number (environment, "RANK", rank);
  environment = set_number (environment, "WORLD_SIZE", options->world);
  environment = set_number (environment, "LOCAL_RANK", rank % local);
  environment = set_number (environment, "LOCAL_WORLD_SIZE", local);
  environment = set_number (environment, "GROUP_RANK", rank / local);
  environment = g_environ_setenv (environment, "MASTER_ADDR", "127.0.0.1", TRUE);
  return g_environ_setenv (environment, "MASTER_PORT", "29500", TRUE);
}

static char **
make_environment (const DryOptions *options, DryRun *run, char **roots, GError **error)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *device = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT
                                             ",reserved_by_others=%" G_GUINT64_FORMAT,
                                             options->capacity, options->context);
  g_autofree char *notes = g_build_filename (run->folder.path, DRY_NOTES_FILE, NULL);
  const char *preloaded = g_getenv ("LD_PRELOAD");
  char **environment;

  if (options->stand_ins)
    g_setenv (GEMEM_ENV_DRY_STAND_INS, "1", TRUE);
  environment = load_libraries (g_get_environ (), roots, run->folder.path, &run->links, error);
  if (environment == NULL)
    return NULL;
  environment = gemem_launcher_record (environment, run->folder.path, options->stacks);
  if (run->links != NULL)
    environment = g_environ_setenv (environment, GEMEM_ENV_DRY_LINKS, run->links, TRUE);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY, "1", TRUE);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_GPU, options->gpu->name, TRUE);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_GPCS, options->gpcs, TRUE);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_LAUNCHER, self != NULL ? self : "",
                                  TRUE);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_PRELOADED,
                                  preloaded != NULL ? preloaded : "", TRUE);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRIVER, device, TRUE);
  environment = set_number (environment, GEMEM_ENV_DRIVER_DEVICES, (guint64) options->gpus);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_NOTES, notes, TRUE);
  environment = set_number (environment, GEMEM_ENV_DRY_WORKSPACES,
                            options->with_workspaces ? options->workspaces : 0);
  environment = set_number (environment, GEMEM_ENV_DRY_NUMBERS, options->number);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_TRUTHS,
                                  options->truths != NULL ? options->truths : "", TRUE);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_DRAW, options->redraw ? "2" : "1",
                                  TRUE);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_LATE, options->late ? "1" : "0", TRUE);
  environment = g_environ_setenv (environment, GEMEM_ENV_DRY_TIMES,
                                  options->fastest != NULL ? options->fastest : "", TRUE);
  environment = g_environ_unsetenv (environment, "CUDA_VISIBLE_DEVICES"); /* of this machine */
  environment = g_environ_unsetenv (environment, GEMEM_ENV_DRY_WORLD);
  if (options->until != NULL) /* its output is no terminal, and Python would keep it back */
    environment = g_environ_setenv (environment, "PYTHONUNBUFFERED", "1", TRUE);
  if (options->world > 0)
    environment = set_rank (environment, options);
  return set_python (set_compilers (environment, run), options, run);
}

DryRun *
gemem_library_run_new (const DryOptions *options, char **arguments, GError **error)
{
  g_autoptr (GPtrArray) roots = gemem_library_program_roots (arguments, error);
  DryRun *run;

  if (roots == NULL)
    return NULL;
  run = g_new0 (DryRun, 1);
  g_autofree char *name = g_strconcat (options->output, ".recording-XXXXXX", NULL);
  if (!gemem_folder_make (&run->folder, name))
    gemem_error_set_errno (error, errno, options->output, "name another file with -o");
  else if (write_python (run, error))
    run->environment = make_environment (options, run, (char **) roots->pdata, error);
  if (run->environment == NULL)
    g_clear_pointer (&run, gemem_library_run_free);
  return run;
}

void
gemem_library_run_free (DryRun *run)
{
  gemem_folder_clear (&run->folder, gemem_launcher_is_recording);
  gemem_launcher_remove_links (run->links);
  g_free (run->python);
  g_free (run->notes_text);
  g_clear_pointer (&run->notes, g_array_unref);
  g_strfreev (run->environment);
  g_free (run);
}

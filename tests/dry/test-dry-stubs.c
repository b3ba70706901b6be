/* test-dry-stubs.c - the shared objects that stand for NVIDIA's libraries in a dry run: a program that
 * asks for functions and an object of them (tests/programs/dry-asks.c) runs over them; damaged files
 * in a folder that is searched; the cache under several processes; versions from metadata; results of
 * library functions.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dry/launch/launch.h"
#include "tests/util/testutil.h"

static const char *folder; /* the test's own */

static char *
built (const char *name)
{
  return g_build_filename (g_getenv ("GEMEM_BUILDDIR"), name, NULL);
}

static char *
stubs_of (const char *root)
{
  g_autofree char *library = built (".libs/libgemem-dry.so");
  g_autofree char *cudnn = built (".libs/libgemem-dry-cudnn.so");
  g_autofree char *solvers = built (".libs/libgemem-dry-solvers.so");
  const char *const roots[] = { root, NULL }, *const libraries[] = { library, cudnn, solvers,
                                                                     NULL };
  g_autoptr (GememDryInstalled) installed = gemem_dry_installed_new (FALSE);
  GError *error = NULL;
  char *result = gemem_dry_stubs (roots, libraries, installed, NULL, &error);

  g_assert_no_error (error);
  return result;
}

/* LD_PRELOAD for a program that runs over @stubs. */
static char *
preload (const char *stubs)
{
  g_autofree char *library = built (".libs/libgemem-dry.so");
  g_autofree char *cudnn = built (".libs/libgemem-dry-cudnn.so");
  g_autofree char *solvers = built (".libs/libgemem-dry-solvers.so");
  GString *all = g_string_new (NULL);
  g_autoptr (GDir) dir = g_dir_open (stubs, 0, NULL);
  const char *name;

  g_string_printf (all, "%s:%s:%s", library, cudnn, solvers);
  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)) != NULL)
    if (strstr (name, ".so") != NULL && !g_str_has_suffix (name, GEMEM_DRY_OPENED))
      g_string_append_printf (all, ":%s/%s", stubs, name);
  return g_string_free (all, FALSE);
}

static void
run_over (const char *stubs, gboolean bind_now, char **out, char **err, char **notes)
{
  g_autofree char *program = built ("tests/programs/dry-asks");
  g_autofree char *objects = preload (stubs);
  g_autofree char *file = g_build_filename (folder, "notes", NULL);
  char *arguments[] = { program, NULL };
  char **environment = g_get_environ ();
  GError *error = NULL;
  int status;

  g_unlink (file);
  environment = g_environ_setenv (environment, "LD_PRELOAD", objects, TRUE);
  environment = g_environ_setenv (environment, "GEMEM_DRY", "1", TRUE);
  environment = g_environ_setenv (environment, "GEMEM_DRY_NOTES", file, TRUE);
  if (bind_now)
    environment = g_environ_setenv (environment, "LD_BIND_NOW", "1", TRUE);
  g_spawn_sync (NULL, arguments, environment, G_SPAWN_DEFAULT, NULL, NULL, out, err, &status,
                &error);
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
  g_assert_true (g_file_get_contents (file, notes, NULL, NULL));
  g_strfreev (environment);
}

static guint
count (const char *text, const char *part)
{
  guint n = 0;
  for (; (text = strstr (text, part)) != NULL; text++)
    n++;
  return n;
}

static void
test_program (gconstpointer bind_now)
{
  g_autofree char *program = built ("tests/programs/dry-asks");
  g_autofree char *out = NULL, *err = NULL, *notes = NULL, *stubs = NULL;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  g_test_skip ("a sanitizer must be loaded before what is preloaded");
  return;
#endif
  stubs = stubs_of (program);
  run_over (stubs, bind_now != NULL, &out, &err, &notes);
  g_assert_cmpstr (out, ==,
                   "create 0 1\n"
                   "harmless 0 0\n"
                   "missing 15 15 3\n"
                   "weak 15 3\n"
                   "object 0 0\n"
                   "written 7\n"
                   "cublasDestroy_v2 in libcublas.so.12 1\n"
                   "cublasMadeUp in libcublas.so.12 1\n"
                   "cublasOnlyNamed in libcublas.so.12 1\n"
                   "cublas1MadeHere in libcublas.so.12 0\n"
                   "cuInit in libcuda.so.1 1\n"
                   "nvmlInit_v2 in libnvidia-ml.so.1 1\n");
  g_assert_cmpuint (count (err, "cublasMadeUp (libcublas.so.12)"), ==, 1);
  g_assert_nonnull (strstr (err, "CUBLAS_STATUS_NOT_SUPPORTED"));
  g_assert_nonnull (strstr (notes, "missing cublasMadeUp libcublas.so.12\n"));
  g_assert_nonnull (strstr (notes, "missing ncclMadeUp libnccl.so.2\n"));
  g_assert_nonnull (strstr (notes, "harmless 4001 cublasStrsm_v2\n"));
  g_assert_nonnull (strstr (notes, "failed 2 cublasMadeUp\n"));
}

/* A name that the program defines is asked of no library, unless another object looks it up. */
static void
test_defined (void)
{
  g_autofree char *program = built ("tests/programs/dry-asks");
  g_autofree char *module = built ("tests/programs/.libs/record-stubs.so");
  const char *const roots[] = { program, module, NULL };
  g_autoptr (GememDryInstalled) installed = gemem_dry_installed_new (FALSE);
  g_autoptr (GPtrArray) libraries = gemem_dry_scan (roots, NULL, installed);
  guint named = 0, stubbed = 0;

  for (guint i = 0; i < libraries->len; i++)
    {
      const GememDryLibrary *library = libraries->pdata[i];
      for (guint j = 0; j < library->symbols->len; j++)
        {
          const char *name = ((const GememDryWanted *) library->symbols->pdata[j])->name;
          named += strcmp (name, "cublasOnlyNamed") == 0;
          stubbed += strcmp (name, "cublasOnlyStubbed") == 0;
        }
    }
  g_assert_cmpuint (named, ==, 1);
  g_assert_cmpuint (stubbed, ==, 0);
}

/* ---- damaged files */

static void
write_file (const char *name, gconstpointer data, gsize size)
{
  g_autofree char *path = g_build_filename (folder, "damaged", name, NULL);
  g_autofree char *parent = g_path_get_dirname (path);
  g_mkdir_with_parents (parent, 0755);
  g_assert_true (g_file_set_contents (path, data, (gssize) size, NULL));
}

static guint
wanted_of (const char *root)
{
  const char *const roots[] = { root, NULL };
  g_autoptr (GememDryInstalled) installed = gemem_dry_installed_new (FALSE);
  g_autoptr (GPtrArray) found = gemem_dry_scan (roots, NULL, installed);
  guint n = 0;

  for (guint i = 0; i < found->len; i++)
    n += ((const GememDryLibrary *) found->pdata[i])->symbols->len;
  return n;
}

static void
test_damaged (void)
{
  g_autofree char *program = built ("tests/programs/dry-asks");
  g_autofree char *whole = g_build_filename (folder, "damaged", NULL);
  g_autofree char *bytes = NULL;
  gsize size;
  GRand *random = g_rand_new_with_seed (17);

  g_assert_true (g_file_get_contents (program, &bytes, &size, NULL));
  g_assert_cmpuint (wanted_of (program), >=, 7);
  write_file ("empty.so", "", 0);
  write_file ("deep/text.so", "not an object\n", 14);
  g_assert_cmpuint (wanted_of (whole), ==, 0);
  for (gsize n = 1; n < size; n += MAX (1, size / 60)) /* cut off */
    {
      write_file ("cut.so", bytes, n);
      wanted_of (whole);
    }
  for (guint i = 0; i < 300; i++) /* headers and tables with wrong bytes */
    {
      g_autofree char *copy = g_memdup2 (bytes, size);
      const gsize most = i % 2 == 0 ? MIN (size, 1024) : size;
      for (guint j = 0; j < 8; j++)
        {
          const gint32 at = g_rand_int_range (random, 0, (gint32) most);
          copy[at] = (char) g_rand_int (random);
        }
      write_file ("cut.so", copy, size);
      wanted_of (whole);
    }
  write_file ("cut.so", bytes, size);
  g_assert_cmpuint (wanted_of (whole), >=, 7);
  g_rand_free (random);
}

/* ---- the cache */

static void
test_cache (void)
{
  g_autofree char *program = built ("tests/programs/dry-asks");
  g_autofree char *first = stubs_of (program), *parent = g_path_get_dirname (first);
  g_autofree char *file = g_build_filename (first, "libcublas.so.12", NULL);
  pid_t processes[4];

  for (guint round = 0; round < 5; round++)
    {
      g_assert_cmpint (g_unlink (file), ==, 0); /* an incomplete folder is made again */
      for (guint i = 0; i < G_N_ELEMENTS (processes); i++)
        if ((processes[i] = fork ()) == 0)
          {
            g_autofree char *again = stubs_of (program);
            _exit (strcmp (again, first) == 0 && g_file_test (file, G_FILE_TEST_EXISTS) ? 0 : 1);
          }
      for (guint i = 0; i < G_N_ELEMENTS (processes); i++)
        {
          int status;
          g_assert_cmpint (waitpid (processes[i], &status, 0), ==, processes[i]);
          g_assert_cmpint (status, ==, 0);
        }
    }
  g_autoptr (GDir) dir = g_dir_open (parent, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name (dir)) != NULL)
    g_assert_null (strstr (name, "partial"));
}

static void
test_unwritable (void)
{
  const char *const roots[] = { "/nowhere", NULL };
  const char *const libraries[] = { "/nowhere/libgemem-dry.so", NULL };
  g_autoptr (GememDryInstalled) installed = gemem_dry_installed_new (TRUE);
  GError *error = NULL;

  g_assert_null (gemem_dry_stubs (roots, libraries, installed, NULL, &error));
  g_assert_nonnull (error);
  g_assert_nonnull (strstr (error->message, "/nowhere/libgemem-dry.so"));
  g_error_free (error);
}

/* ---- versions */

static void
put (const char *package, const char *text)
{
  g_autofree char *path = g_build_filename (folder, "site", package, "METADATA", NULL);
  g_autofree char *parent = g_path_get_dirname (path);
  g_mkdir_with_parents (parent, 0755);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

/* Names of libraries that wheels bring along, as torchvision's and pynvvideocodec's do. */
static void
test_marked (void)
{
  static const char *const marked[] = { "libcudart.faf08d9a.so.13",
                                        "libcudart-c64a25f3.so.12.3.101", "libcudart-c64a25f3.so" },
                           *const others[] = { "libcudart.so.13",      "libcudart-c64a25f3x.so",
                                               "libcudart-64a25f3.so", "libcudart_c64a25f3.so.12",
                                               "c64a25f3.so",          ".so" };
  const guint row = gemem_dry_row_of_soname ("libcudart.so.12");

  g_assert_cmpuint (row, !=, GEMEM_DRY_NO_ROW);
  for (guint i = 0; i < G_N_ELEMENTS (marked); i++)
    {
      g_assert_cmpuint (gemem_dry_row_of_soname (marked[i]), ==, row);
      g_assert_true (gemem_dry_soname_is_marked (marked[i]));
    }
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    {
      g_assert_cmpuint (gemem_dry_row_of_soname (others[i]), ==, i == 0 ? row : GEMEM_DRY_NO_ROW);
      g_assert_false (gemem_dry_soname_is_marked (others[i]));
    }
}

static void
test_versions (void)
{
  g_autofree char *site = g_build_filename (folder, "site", NULL);
  const char *const roots[] = { "/nowhere", site, NULL };

  put ("torch-2.6.0.dist-info",
       "Name: torch\n"
       "Requires-Dist: nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system == \"Linux\"\n"
       "Requires-Dist: nvidia-cuda-nvrtc-cu12==12.4.127; platform_system == \"Linux\"\n"
       "Requires-Dist: nvidia-nccl-cu12>=2.0; extra == \"x\"\n"
       "Requires-Dist: cuda-toolkit[cublas,cudart]==13.0.2\n"
       "Requires-Dist: sympy==1.13.1\n\n"
       "Requires-Dist: nvidia-cufft-cu12==11.2.1.3 in the text\n");
  put ("nvidia_cudnn_cu12-9.5.1.17.dist-info", "Name: nvidia-cudnn-cu12\n");
  g_auto (GStrv) versions = gemem_dry_versions (roots);
  g_autofree char *all = g_strjoinv (" ", versions);
  g_assert_cmpstr (all, ==,
                   "GEMEM_DRY_CUDART=13.0.2 GEMEM_DRY_CUDNN=9.5.1.17 GEMEM_DRY_NCCL=2.0 "
                   "GEMEM_DRY_NVRTC=12.4.127");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  folder = test_tmpdir ();
  g_setenv ("XDG_CACHE_HOME", folder, TRUE);
  g_test_add_data_func ("/stubs/program", NULL, test_program);
  g_test_add_data_func ("/stubs/program-bound-at-once", "now", test_program);
  g_test_add_func ("/stubs/defined", test_defined);
  g_test_add_func ("/stubs/damaged", test_damaged);
  g_test_add_func ("/stubs/cache", test_cache);
  g_test_add_func ("/stubs/unwritable", test_unwritable);
  g_test_add_func ("/stubs/marked", test_marked);
  g_test_add_func ("/stubs/versions", test_versions);
  return g_test_run ();
}

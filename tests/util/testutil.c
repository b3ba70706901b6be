/* testutil.c - see testutil.h. */
#include "config.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/testutil.h"

static const char *
environment (const char *name, const char *fallback)
{
  const char *value = g_getenv (name);
  return value != NULL && *value != '\0' ? value : fallback;
}

char *
test_shared_path (const char *relative)
{
  g_autofree char *path = g_build_filename (environment ("GEMEM_SHARED", "../shared"), relative,
                                            NULL);
  const char *require = environment ("GEMEM_REQUIRE", "");

  if (g_file_test (path, G_FILE_TEST_EXISTS))
    return g_steal_pointer (&path);
  if (strstr (require, "shared") != NULL)
    {
      g_test_message ("%s is missing, and GEMEM_REQUIRE=shared forbids to skip", path);
      g_test_fail ();
      return NULL;
    }
  g_autofree char *reason = g_strdup_printf ("no %s (configure --with-shared=DIR)", path);
  g_test_skip (reason);
  return NULL;
}

char *
test_source_path (const char *relative)
{
  return g_build_filename (environment ("GEMEM_SRCDIR", "."), relative, NULL);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

GPtrArray *
test_shared_files (const char *dir, const char *suffix)
{
  g_autofree char *path = test_shared_path (dir);
  if (path == NULL)
    return NULL;
  GPtrArray *files = g_ptr_array_new_with_free_func (g_free);
  GDir *handle = g_dir_open (path, 0, NULL);
  const char *name;
  g_assert_nonnull (handle);
  while ((name = g_dir_read_name (handle)) != NULL)
    if (g_str_has_suffix (name, suffix))
      g_ptr_array_add (files, g_build_filename (path, name, NULL));
  g_dir_close (handle);
  g_ptr_array_sort (files, compare_names);
  g_assert_cmpuint (files->len, >, 0);
  return files;
}

static char *tmpdir;

static void
remove_tree (const char *path)
{
  GDir *dir = g_dir_open (path, 0, NULL);
  const char *name;
  if (dir != NULL)
    {
      while ((name = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *child = g_build_filename (path, name, NULL);
          remove_tree (child);
        }
      g_dir_close (dir);
    }
  g_remove (path);
}

static void
remove_tmpdir (void)
{
  remove_tree (tmpdir);
  g_free (tmpdir);
}

const char *
test_tmpdir (void)
{
  if (tmpdir == NULL)
    {
      tmpdir = g_dir_make_tmp ("gemem-test-XXXXXX", NULL);
      g_assert_nonnull (tmpdir);
      atexit (remove_tmpdir);
    }
  return tmpdir;
}

gboolean
test_use_comma_locale (void)
{
  static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (setlocale (LC_ALL, names[i]) != NULL)
      return TRUE;

  g_autofree char *path = g_build_filename (test_tmpdir (), "de_DE.UTF-8", NULL);
  const char *argv[] = { "localedef", "-i", "de_DE", "-f", "UTF-8", path, NULL };
  g_spawn_sync (NULL, (char **) argv, NULL,
                G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                NULL, NULL, NULL, NULL, NULL);
  g_setenv ("LOCPATH", test_tmpdir (), TRUE);
  if (setlocale (LC_ALL, "de_DE.UTF-8") != NULL)
    return TRUE;
  g_test_skip ("no locale with a decimal comma is installed, and localedef cannot make one");
  return FALSE;
}

gpointer
test_open_library (const char *built, int flags)
{
  g_autofree char *path = g_build_filename (environment ("GEMEM_BUILDDIR", "."), built, NULL);
  gpointer library = dlopen (path, flags);

  if (library == NULL)
    g_error ("%s", dlerror ());
  return library;
}

gpointer
test_symbol (gpointer library, const char *name)
{
  gpointer symbol = dlsym (library, name);

  if (symbol == NULL)
    g_error ("%s is not there", name);
  return symbol;
}

void
test_assert_contains (const char *text, const char *part)
{
  if (strstr (text, part) == NULL)
    g_error ("not found:\n%s\nin:\n%s", part, text);
}

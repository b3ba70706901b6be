/* fuzz.c - the list of targets, their seeds, and what targets share: see fuzz.h. */
#include "config.h"

#include <string.h>

#include <glib/gstdio.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/named.h"
#include "tests/fuzz/fuzz.h"
#include "tests/util/testutil.h"

#define FUZZ_KIND(kind) extern const FuzzKind kind;
#include "tests/fuzz/targets.def"
#undef FUZZ_KIND

static const FuzzKind *const kinds[] = {
#define FUZZ_KIND(kind) &kind,
#include "tests/fuzz/targets.def"
#undef FUZZ_KIND
};

const GPtrArray *
fuzz_targets (void)
{
  static GPtrArray *targets;

  if (targets != NULL)
    return targets;
  targets = g_ptr_array_new ();
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    for (guint member = 0; kinds[i]->member (member) != NULL; member++)
      {
        FuzzTarget *target = g_new (FuzzTarget, 1);
        *target = (FuzzTarget){
          kinds[i], member, g_strdup_printf ("%s-%s", kinds[i]->name, kinds[i]->member (member))
        };
        g_ptr_array_add (targets, target);
      }
  return targets;
}

const FuzzTarget *
fuzz_target_find (const char *name)
{
  const GPtrArray *targets = fuzz_targets ();

  for (guint i = 0; i < targets->len; i++)
    {
      const FuzzTarget *target = targets->pdata[i];
      if (strcmp (target->name, name) == 0)
        return target;
    }
  return NULL;
}

gboolean
fuzz_run (const FuzzTarget *target, const guint8 *data, gsize size)
{
  g_autofree guint8 *copy = g_malloc (MAX (size, 1));

  if (size > 0)
    memcpy (copy, data, size);
  return target->kind->run (target->member, copy, size);
}

/* ---- seeds */

/* The bytes of the file @path, unpacked; NULL: too many. */
static GBytes *
read_file (const char *path)
{
  g_autoptr (GError) error = NULL;
  GememInput *input = gemem_input_open (path, &error);
  const guint8 *data;
  GBytes *bytes = NULL;

  if (input == NULL)
    return NULL;
  gssize size = gemem_input_fill (input, FUZZ_MOST_BYTES + 1, &data, &error);
  if (size > 0 && size <= FUZZ_MOST_BYTES)
    bytes = g_bytes_new (data, (gsize) size);
  gemem_input_close (input);
  return bytes;
}

static void
add_folder (GPtrArray *files, const char *path)
{
  GDir *dir = g_dir_open (path, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_build_filename (path, name, NULL));
  if (dir != NULL)
    g_dir_close (dir);
  g_ptr_array_sort (names, gemem_compare_texts);
  for (guint i = 0; i < names->len; i++)
    if (g_file_test (names->pdata[i], G_FILE_TEST_IS_DIR))
      add_folder (files, names->pdata[i]);
    else
      {
        GBytes *bytes = read_file (names->pdata[i]);
        if (bytes != NULL)
          g_ptr_array_add (files, bytes);
      }
}

/* The files of the tree that are inputs of something. */
static const GPtrArray *
tree_files (void)
{
  static const char *const folders[] = { "tests/data", "graphs/bundled", "workloads/sessions",
                                         "traces/recorded", "devices/profiles" };
  static GPtrArray *files;

  if (files != NULL)
    return files;
  files = g_ptr_array_new ();
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *path = test_source_path (folders[i]);
      add_folder (files, path);
    }
  return files;
}

GPtrArray *
fuzz_seeds (const FuzzTarget *target)
{
  GPtrArray *seeds = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  const GPtrArray *files = tree_files ();

  if (target->kind->seeds != NULL)
    target->kind->seeds (target->member, seeds);
  for (guint i = 0; i < files->len; i++)
    {
      gsize size;
      const guint8 *data = g_bytes_get_data (files->pdata[i], &size);
      if (fuzz_run (target, data, size))
        g_ptr_array_add (seeds, g_bytes_ref (files->pdata[i]));
    }
  return seeds;
}

void
fuzz_add_text (GPtrArray *seeds, const char *text)
{
  g_ptr_array_add (seeds, g_bytes_new (text, strlen (text)));
}

/* ---- for targets */

gboolean
fuzz_refused (GError *error)
{
  g_assert_nonnull (error);
  if (error->domain != GEMEM_ERROR || strchr (error->message, '\n') != NULL
      || !g_utf8_validate (error->message, -1, NULL))
    g_error ("a refusal in another form: %s", error->message);
  g_error_free (error);
  return FALSE;
}

const char *
fuzz_file (const guint8 *data, gsize size)
{
  static char *path;
  FILE *file;

  if (path == NULL)
    path = g_build_filename (test_tmpdir (), "input", NULL);
  file = g_fopen (path, "wb");
  g_assert_nonnull (file);
  g_assert_cmpuint (fwrite (data, 1, size, file), ==, size);
  g_assert_cmpint (fclose (file), ==, 0);
  return path;
}

char *
fuzz_text (const guint8 *data, gsize size)
{
  return g_strndup ((const char *) data, size);
}

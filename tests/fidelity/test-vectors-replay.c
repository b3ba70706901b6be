/* test-vectors-replay.c - the vector files through the whole chain: reader, settings of the first
 * line, device, engine, events log.
 *
 * Each file is replayed under the settings of its first line, with full checks. The engine's own
 * comparison must find every decision equal, and the events log must be, byte for byte, the log
 * derived from the vector file: every address, block size, failure and reserved figure.
 */
#include "config.h"

#include <string.h>

#include "sim/engine/replay.h"
#include "tests/util/event-source.h"
#include "tests/util/testutil.h"
#include "tests/util/vectors.h"

typedef struct
{
  char *address; /* "" : failed */
  guint64 size, block;
} Row;

static void
free_row (gpointer data)
{
  g_free (((Row *) data)->address);
  g_free (data);
}

static guint64
figure (const char *result, const char *key)
{
  g_autofree char *pattern = g_strdup_printf (" %s=", key);
  const char *found = strstr (result, pattern);
  g_assert_nonnull (found);
  return g_ascii_strtoull (found + strlen (pattern), NULL, 10);
}

static void
expect_alloc (GString *log, GHashTable *rows, guint64 seq, char **words, const char *result)
{
  Row *row = g_new0 (Row, 1);
  gboolean failed = g_str_has_prefix (result, " NULL");

  row->size = g_ascii_strtoull (words[2], NULL, 10);
  row->block = failed ? 0 : figure (result, "size");
  row->address = failed ? g_strdup ("") : g_strndup (result + 1, strcspn (result + 1, " "));
  g_hash_table_insert (rows, g_strdup (words[1]), row);
  g_string_append_printf (log, "%" G_GUINT64_FORMAT ",alloc,%s,%" G_GUINT64_FORMAT ",%s,", seq,
                          words[1], row->size, row->address);
  if (!failed)
    g_string_append_printf (log, "%" G_GUINT64_FORMAT, row->block);
  g_string_append_printf (log, ",%" G_GUINT64_FORMAT ",0\n", figure (result, "reserved"));
}

/* One line of the file; @result is the text after the arrow, with its leading space. */
static void
expect_line (GString *log, GHashTable *rows, guint64 seq, const char *line)
{
  const char *arrow = strstr (line, " ->");
  g_autofree char *operation = g_strndup (line, (gsize) (arrow - line));
  g_auto (GStrv) words = g_strsplit (operation, " ", -1);
  const char *result = arrow + 3;

  g_assert_nonnull (arrow);
  if (g_str_equal (words[0], "a"))
    expect_alloc (log, rows, seq, words, result);
  else if (g_str_equal (words[0], "r"))
    g_string_append_printf (log, "%" G_GUINT64_FORMAT ",trim,,,,,%" G_GUINT64_FORMAT ",0\n", seq,
                            figure (result, "reserved"));
  else if (!g_str_has_prefix (result, " ?"))
    {
      const Row *row = g_hash_table_lookup (rows, words[1]);
      g_assert_nonnull (row);
      g_string_append_printf (log,
                              "%" G_GUINT64_FORMAT ",free,%s,%" G_GUINT64_FORMAT
                              ",%s,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",0\n",
                              seq, words[1], row->size, row->address, row->block,
                              figure (result, "reserved"));
    }
}

static char *
expected_log (const char *path)
{
  g_autofree char *text = test_read_text (path);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autoptr (GHashTable) rows = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_row);
  GString *log = g_string_new ("seq,kind,id,size,address,block,reserved,device\n");
  guint64 seq = 0;

  for (char **line = lines; *line != NULL; line++)
    if (**line != '#' && **line != '\0')
      expect_line (log, rows, seq++, *line);
  g_assert_cmpuint (seq, >=, 3000);
  return g_string_free (log, FALSE);
}

static void
compare_logs (const char *expected, const char *got)
{
  g_auto (GStrv) e = g_strsplit (expected, "\n", -1), g = g_strsplit (got, "\n", -1);

  for (guint i = 0; e[i] != NULL && g[i] != NULL; i++)
    g_assert_cmpstr (g[i], ==, e[i]);
  g_assert_cmpuint (g_strv_length (g), ==, g_strv_length (e));
}

static char *
allocator_of (const char *path)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = test_open_path ((gpointer) path, &error);
  char *name;

  g_assert_no_error (error);
  name = g_strdup (reader->info.allocator);
  gemem_trace_close (reader);
  g_assert_nonnull (name);
  return name;
}

static void
replay_vector (const char *path)
{
  g_autofree char *name = allocator_of (path), *expected = expected_log (path), *got = NULL;
  g_autofree char *log = g_build_filename (test_tmpdir (), "log.csv", NULL);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;
  GememResult *result;

  gemem_allocator_spec_parse (name, specs, &error);
  g_assert_no_error (error);
  GememJob job = { .allocator = specs->pdata[0],
                   .device_ordinal = -1,
                   .source = test_open_path,
                   .source_data = (gpointer) path,
                   .use_trace_settings = TRUE,
                   .events_path = log,
                   .full_checks = TRUE };
  result = gemem_job_run (&job, &error);
  g_assert_no_error (error);
  g_file_get_contents (log, &got, NULL, &error);
  g_assert_no_error (error);
  compare_logs (expected, got);
  g_assert_cmpuint (result->fidelity.first_difference, ==, G_MAXUINT64);
  g_assert_cmpuint (result->fidelity.compared, ==, result->allocs);
  g_assert_cmpuint (result->fidelity.equal, ==, result->allocs);
  g_assert_false (result->partial);
  gemem_result_free (result);
}

static void
test_folder (gconstpointer data)
{
  g_autofree char *folder = g_build_filename ("vectors", data, NULL);
  g_autoptr (GPtrArray) files = test_shared_files (folder, ".vec.gz");
  guint replayed = 0;

  for (guint i = 0; files != NULL && i < files->len; i++)
    {
      g_autofree char *base = g_path_get_basename (files->pdata[i]);
      if (g_str_has_prefix (base, "exp-") && g_str_equal (data, "ge-runtime"))
        continue; /* another allocator of that system */
      g_test_message ("%s", base);
      replay_vector (files->pdata[i]);
      replayed++;
    }
  g_assert_true (files == NULL || replayed >= 6);
}

int
main (int argc, char **argv)
{
  static const char *const folders[] = { "pytorch-caching", "paddle-buddy", "paddle-auto-growth",
                                         "ge-runtime" };

  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *name = g_strconcat ("/vectors-replay/", folders[i], NULL);
      g_test_add_data_func (name, folders[i], test_folder);
    }
  return g_test_run ();
}

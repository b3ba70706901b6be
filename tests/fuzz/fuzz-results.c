/* fuzz-results.c - results that are read again: JSON, and a SQLite database to which rows and runs are added, that is
 * merged into another one and read.
 */
#include "config.h"

#include "sim/report/database.h"
#include "sim/report/report.h"
#include "tests/fuzz/fuzz.h"
#include "tests/util/sample-result.h"
#include "tests/util/testutil.h"

static const char *const members[] = { "json",
#ifdef HAVE_SQLITE
                                       "sqlite",
#endif
                                       NULL };

enum
{
  JSON,
  SQLITE
};

static const char *
member_name (guint member)
{
  return members[member];
}

static GPtrArray *
new_results (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_result_free);
}

static GPtrArray *
sample_results (gboolean origins)
{
  GPtrArray *results = new_results ();

  g_ptr_array_add (results, test_sample_result ("t.gmt", "direct"));
  g_ptr_array_add (results, test_served_result ("t.gmt", "pytorch-caching"));
  if (origins)
    test_sample_origins (results->pdata[0]);
  return results;
}

#ifdef HAVE_SQLITE
/* Adds a run of a sweep to @path. */
static gboolean
add_run (const char *path, GError **error)
{
  g_autoptr (GememResult) result = test_served_result ("t.gmt", "direct");
  const GememRunNames names = { .key = "0", .trace = "t.gmt", .setting = "direct", .lower = "" };
  g_autoptr (GememDatabase) database = gemem_database_open (path, error);

  return database != NULL && gemem_database_append (database, &result, &names, 1, error);
}

static gboolean
merge (const char *path, GError **error)
{
  g_autofree char *to = g_build_filename (test_tmpdir (), "merged.sqlite", NULL);
  g_autoptr (GememDatabase) database = gemem_database_open (to, error);
  guint64 added;

  return database != NULL && gemem_database_merge (database, path, &added, error);
}

static gboolean
run_database (const char *path)
{
  g_autoptr (GPtrArray) results = new_results ();
  GError *error = NULL;

  g_ptr_array_add (results, test_served_result ("t.gmt", "direct"));
  if (!gemem_results_write_sqlite (path, (GememResult *const *) results->pdata, 1, &error)
      || !add_run (path, &error) || !gemem_results_read_database (path, results, &error)
      || !merge (path, &error))
    return fuzz_refused (error);
  return TRUE;
}
#endif

static gboolean
run_results (guint member, const guint8 *data, gsize size)
{
  g_autoptr (GPtrArray) results = new_results ();
  const char *path = fuzz_file (data, size);
  GError *error = NULL;

#ifdef HAVE_SQLITE
  if (member == SQLITE)
    return run_database (path);
#endif
  if (!gemem_results_read_json (path, results, &error))
    return fuzz_refused (error);
  for (GememReportFormat format = GEMEM_FORMAT_TABLE; format <= GEMEM_FORMAT_MARKDOWN; format++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      gemem_report_write (text, format, (GememResult *const *) results->pdata, results->len, NULL);
    }
  return TRUE;
}

static void
results_seeds (guint member, GPtrArray *seeds)
{
  for (guint origins = 0; origins < 2; origins++)
    {
      g_autoptr (GPtrArray) results = sample_results (origins != 0);
      GememResult *const *all = (GememResult *const *) results->pdata;
      g_autoptr (GString) text = g_string_new (NULL);

      if (member == JSON)
        {
          gemem_report_write (text, GEMEM_FORMAT_JSON, all, results->len, NULL);
          fuzz_add_text (seeds, text->str);
        }
      else
        {
          g_autofree char *path = g_build_filename (test_tmpdir (), "seed.sqlite", NULL);
          char *data;
          gsize size;
          g_assert_true (gemem_results_write_sqlite (path, all, results->len, NULL));
#ifdef HAVE_SQLITE
          g_assert_true (add_run (path, NULL));
#endif
          g_assert_true (g_file_get_contents (path, &data, &size, NULL));
          g_ptr_array_add (seeds, g_bytes_new_take (data, size));
        }
    }
}

const FuzzKind fuzz_results = { "results", member_name, run_results, results_seeds, NULL };

/* sqlite-read.c - reads databases of results: questions in SQL, and whole results for the other commands.
 *
 * Invariants: nothing is written, neither to the database nor to another one that a statement names.  A
 * question may take as long as it takes: it is the user's own.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sim/report/report-private.h"
#include "sim/report/sqlite-private.h"

#define MAGIC "SQLite format 3"
#define HEAD_SIZE 100     /* of a database */
#define APPLICATION_AT 68 /* there: big endian */

gboolean
gemem_is_database (const char *path)
{
  guint8 head[HEAD_SIZE] = { 0 };
  guint32 application;
  FILE *file = g_file_test (path, G_FILE_TEST_IS_REGULAR) ? fopen (path, "rb") : NULL;

  if (file == NULL)
    return FALSE;
  const gsize n = fread (head, 1, sizeof head, file);
  fclose (file);
  memcpy (&application, head + APPLICATION_AT, sizeof application);
  return n == sizeof head && memcmp (head, MAGIC, sizeof MAGIC) == 0
         && GUINT32_FROM_BE (application) == GEMEM_SQLITE_APPLICATION;
}

#ifdef HAVE_SQLITE

/* ---- questions */

/* A word alone is a view or a table. */
static char *
statement_of (const char *sql)
{
  g_autofree char *word = g_strstrip (g_strdup (sql));

  return *word == '\0' || word[strspn (word, G_CSET_a_2_z G_CSET_A_2_Z "_")] != '\0'
             ? g_strdup (sql)
             : g_strdup_printf ("SELECT * FROM \"%s\"", word);
}

static gboolean
refuse (const char *sql, const char *why, GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "query '%s': %s", sql, why);
  return FALSE;
}

static sqlite3_stmt *
prepare (GememDatabase *database, const char *sql, GError **error)
{
  g_autofree char *statement = statement_of (sql);
  const char *tail = "";
  sqlite3_stmt *row = NULL;

  if (sqlite3_prepare_v2 (database->db, statement, -1, &row, &tail) != SQLITE_OK)
    refuse (sql, sqlite3_errmsg (database->db), error);
  else if (row == NULL || tail[strspn (tail, " \t\r\n;")] != '\0')
    refuse (sql, "write one SELECT, or the name of a view", error);
  else if (!sqlite3_stmt_readonly (row) || sqlite3_column_count (row) == 0)
    refuse (sql, "it would change the database, or selects nothing; write a SELECT", error);
  else
    return row;
  sqlite3_finalize (row);
  return NULL;
}

static gboolean
give_names (sqlite3_stmt *row, GememRowFunc func, gpointer data)
{
  const guint n = (guint) sqlite3_column_count (row);
  g_autofree const char **texts = g_new0 (const char *, n);

  for (guint i = 0; i < n; i++)
    texts[i] = sqlite3_column_name (row, (int) i);
  return func (n, texts, NULL, data);
}

static GememCellKind
kind_of (sqlite3_stmt *row, int column)
{
  const int type = sqlite3_column_type (row, column);

  return type == SQLITE_NULL      ? GEMEM_CELL_NONE
         : type == SQLITE_INTEGER ? GEMEM_CELL_NUMBER
         : type == SQLITE_FLOAT && isfinite (sqlite3_column_double (row, column))
             ? GEMEM_CELL_NUMBER
             : GEMEM_CELL_TEXT;
}

static gboolean
give_row (sqlite3_stmt *row, GememRowFunc func, gpointer data)
{
  const guint n = (guint) sqlite3_column_count (row);
  g_autofree const char **texts = g_new0 (const char *, n);
  g_autofree GememCellKind *kinds = g_new0 (GememCellKind, n);

  for (guint i = 0; i < n; i++)
    {
      kinds[i] = kind_of (row, (int) i);
      texts[i] = sqlite3_column_type (row, (int) i) == SQLITE_BLOB
                     ? "(bytes)"
                     : (const char *) sqlite3_column_text (row, (int) i);
    }
  return func (n, texts, kinds, data);
}

gboolean
gemem_database_query (const char *path, const char *sql, GememRowFunc func, gpointer data,
                      GError **error)
{
  g_autoptr (GememDatabase) database = gemem_database_open_to_read (path, error);
  sqlite3_stmt *row;
  int step = SQLITE_ROW;

  if (database == NULL)
    return FALSE;
  sqlite3_progress_handler (database->db, 0, NULL, NULL);
  sqlite3_limit (database->db, SQLITE_LIMIT_ATTACHED, 0);
  row = prepare (database, sql, error);
  if (row == NULL)
    return FALSE;
  if (give_names (row, func, data))
    while ((step = sqlite3_step (row)) == SQLITE_ROW && give_row (row, func, data))
      ;
  if (step != SQLITE_ROW && step != SQLITE_DONE)
    gemem_sqlite_fail (database, "", error);
  sqlite3_finalize (row);
  return step == SQLITE_ROW || step == SQLITE_DONE;
}

/* ---- whole results */

#define NOT_OF_SWEEP "; name a database that 'gemem-sim sweep' wrote"

static gboolean
read_one (GememDatabase *database, sqlite3_stmt *row, GPtrArray *results, GError **error)
{
  const gsize size = (gsize) sqlite3_column_bytes (row, 0);
  g_autoptr (GBytes) bytes = g_bytes_new (sqlite3_column_blob (row, 0), size);

  return gemem_results_read_input (gemem_input_new_from_bytes (bytes, database->path), results,
                                   error);
}

gboolean
gemem_results_read_database (const char *path, GPtrArray *results, GError **error)
{
  g_autoptr (GememDatabase) database = gemem_database_open_to_read (path, error);
  const guint before = results->len;
  sqlite3_stmt *row = NULL;
  gboolean ok = TRUE;
  gint64 rows = 0;
  int step = SQLITE_DONE;

  if (database == NULL
      || !gemem_sqlite_number (database, "SELECT count (*) FROM details", &rows, NOT_OF_SWEEP,
                               error))
    return FALSE;
  gemem_sqlite_allow (database, (guint64) rows);
  if (sqlite3_prepare_v2 (database->db,
                          "SELECT result FROM results JOIN details USING (key) ORDER BY trace, "
                          "lower, device_ordinal, capacity, fits DESC, peak_reserved, setting, key",
                          -1, &row, NULL)
      != SQLITE_OK)
    return gemem_sqlite_fail (database, NOT_OF_SWEEP, error);
  while (ok && (step = sqlite3_step (row)) == SQLITE_ROW)
    ok = read_one (database, row, results, error);
  if (ok && step != SQLITE_DONE)
    ok = gemem_sqlite_fail (database, "", error);
  sqlite3_finalize (row);
  if (ok && results->len == before)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: holds no results", path);
      ok = FALSE;
    }
  while (!ok && results->len > before)
    gemem_result_free (g_ptr_array_steal_index (results, results->len - 1));
  return ok;
}

#endif

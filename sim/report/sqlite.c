/* sqlite.c - results in a SQLite database, for queries over many runs: a row per run in the table
 * `results`.
 *
 * The columns are the identity of a run (as in CSV, parameters as JSON objects), then one per
 * measure of measures.def.  Rows are only ever appended, all of one call in one transaction: a full
 * disk or a crash leaves either all of them or none.  A table of a gemem with fewer measures gets
 * the new columns, NULL in its old rows; NULL also stands for a measure that was not requested or
 * is unlimited.
 *
 * Cost: one statement per row; waits at most ten seconds for a database that another process uses.
 * A database may hold triggers of its owner.  One that does not come to an end, or asks for memory
 * without bound, is stopped: STEPS_MOST, TEXT_MOST.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "sim/report/measures.h"
#include "sim/report/report-private.h"
#include "sim/report/report.h"

#ifdef HAVE_SQLITE

#include <sqlite3.h>

#define BUSY_MS 10000
#define STEPS 1000        /* of SQLite's machine, between two looks at how many there were */
#define STEPS_MOST 50000  /* times STEPS; making the table takes about 1000 */
#define STEPS_PER_ROW 100 /* times STEPS, in addition; a row takes one */
#define TEXT_MOST (1 << 26)

typedef struct
{
  const char *path;
  sqlite3 *db;
  guint64 steps_left; /* times STEPS */
  GError **error;
} Database;

static const char *const identity[] = {
  "gemem TEXT",           "trace TEXT",      "trace_sha256 TEXT", "device_ordinal INTEGER",
  "allocator TEXT",       "label TEXT",      "parameters TEXT",   "device TEXT",
  "device_settings TEXT", "partial INTEGER", "failure TEXT",      "not_allowed TEXT",
};

/* SQLite quotes the file, which may hold any bytes. */
static gboolean
fail (Database *database)
{
  g_autofree char *why = g_strescape (
      database->db != NULL ? sqlite3_errmsg (database->db) : "out of memory", "\"\\");

  g_set_error (database->error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
               "%s: SQLite: %s; nothing was added, name another file or free some space",
               database->path, why);
  return FALSE;
}

static gboolean
execute (Database *database, const char *statement)
{
  return sqlite3_exec (database->db, statement, NULL, NULL, NULL) == SQLITE_OK || fail (database);
}

/* "peak_reserved INTEGER" */
static char *
measure_column (const GememMeasure *measure)
{
  return g_strdup_printf ("%s %s", measure->key, measure->real != NULL ? "REAL" : "INTEGER");
}

static gboolean
has_column (Database *database, const char *name, gboolean *has)
{
  sqlite3_stmt *row = NULL;
  if (sqlite3_prepare_v2 (database->db,
                          "SELECT 1 FROM pragma_table_info ('results') WHERE name = ?", -1, &row,
                          NULL)
      != SQLITE_OK)
    return fail (database);
  sqlite3_bind_text (row, 1, name, -1, SQLITE_TRANSIENT);
  int step = sqlite3_step (row);
  *has = step == SQLITE_ROW;
  sqlite3_finalize (row);
  return step == SQLITE_ROW || step == SQLITE_DONE || fail (database);
}

static gboolean
add_column (Database *database, const char *definition)
{
  g_autofree char *name = g_strndup (definition, strcspn (definition, " "));
  gboolean has = FALSE;
  if (!has_column (database, name, &has))
    return FALSE;
  g_autofree char *statement = g_strconcat ("ALTER TABLE results ADD COLUMN ", definition, NULL);
  return has || execute (database, statement);
}

/* Creates the table, or adds the columns it lacks. */
static gboolean
make_table (Database *database)
{
  if (!execute (database, "CREATE TABLE IF NOT EXISTS results (id INTEGER PRIMARY KEY)"))
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS (identity); i++)
    if (!add_column (database, identity[i]))
      return FALSE;
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    {
      g_autofree char *definition = measure_column (measure);
      if (!add_column (database, definition))
        return FALSE;
    }
  return TRUE;
}

/* "INSERT INTO results (gemem, ...) VALUES (?, ...)" with the columns in the order of
 * bind_row(). */
static char *
insert_statement (void)
{
  GString *names = g_string_new ("INSERT INTO results (");
  g_autoptr (GString) places = g_string_new (") VALUES (");
  for (gsize i = 0; i < G_N_ELEMENTS (identity); i++)
    {
      g_string_append_len (names, identity[i], (gssize) strcspn (identity[i], " "));
      g_string_append (names, ", ");
      g_string_append (places, "?, ");
    }
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    {
      g_string_append_printf (names, "%s%s", measure == gemem_measures ? "" : ", ", measure->key);
      g_string_append (places, measure == gemem_measures ? "?" : ", ?");
    }
  g_string_append_printf (names, "%s)", places->str);
  return g_string_free (names, FALSE);
}

/* SQLite's integers end at 2^63 - 1; larger values mean "unlimited" here and become NULL. */
static void
bind_measure (sqlite3_stmt *row, int place, const GememMeasure *measure, const GememResult *result)
{
  if (!gemem_measure_known (measure, result))
    sqlite3_bind_null (row, place);
  else if (measure->real != NULL)
    sqlite3_bind_double (row, place, measure->real (result));
  else if (measure->integer (result) > G_MAXINT64)
    sqlite3_bind_null (row, place);
  else
    sqlite3_bind_int64 (row, place, (sqlite3_int64) measure->integer (result));
}

static void
bind_settings (sqlite3_stmt *row, int place, const GPtrArray *settings)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gemem_json_append_settings (text, settings, FALSE, "");
  sqlite3_bind_text (row, place, text->str, (int) text->len, SQLITE_TRANSIENT);
}

static void
bind_row (sqlite3_stmt *row, const GememResult *result)
{
  int place = 1;
  sqlite3_bind_text (row, place++, PACKAGE_VERSION, -1, SQLITE_STATIC);
  sqlite3_bind_text (row, place++, result->trace, -1, SQLITE_TRANSIENT); /* NULL text is NULL */
  sqlite3_bind_text (row, place++, result->trace_sha256, -1, SQLITE_TRANSIENT);
  if (result->device_ordinal != GEMEM_DEVICE_HOST)
    sqlite3_bind_int (row, place, result->device_ordinal);
  place++; /* NULL: host memory */
  sqlite3_bind_text (row, place++, result->allocator, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text (row, place++, result->label, -1, SQLITE_TRANSIENT);
  bind_settings (row, place++, result->parameters);
  sqlite3_bind_text (row, place++, result->device, -1, SQLITE_TRANSIENT);
  bind_settings (row, place++, result->device_settings);
  sqlite3_bind_int (row, place++, result->partial);
  sqlite3_bind_text (row, place++, result->failure, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text (row, place++, result->not_allowed, -1, SQLITE_TRANSIENT);
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    bind_measure (row, place++, measure, result);
}

static gboolean
insert_rows (Database *database, GememResult *const *results, guint n)
{
  g_autofree char *statement = insert_statement ();
  sqlite3_stmt *row = NULL;
  gboolean ok = sqlite3_prepare_v2 (database->db, statement, -1, &row, NULL) == SQLITE_OK;
  for (guint i = 0; i < n && ok; i++)
    {
      bind_row (row, results[i]);
      ok = sqlite3_step (row) == SQLITE_DONE && sqlite3_reset (row) == SQLITE_OK;
    }
  if (!ok)
    fail (database);
  sqlite3_finalize (row);
  return ok;
}

/* A progress handler: not 0 ends the statement. */
static int
out_of_steps (void *data)
{
  Database *database = data;
  return database->steps_left == 0 || --database->steps_left == 0;
}

static void
set_limits (Database *database)
{
  sqlite3_progress_handler (database->db, STEPS, out_of_steps, database);
  sqlite3_limit (database->db, SQLITE_LIMIT_LENGTH, TEXT_MOST);
}

gboolean
gemem_results_write_sqlite (const char *path, GememResult *const *results, guint n, GError **error)
{
  Database database = { path, NULL, STEPS_MOST + (guint64) n * STEPS_PER_ROW, error };
  gboolean ok = sqlite3_open_v2 (path, &database.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                 NULL)
                    == SQLITE_OK
                && sqlite3_busy_timeout (database.db, BUSY_MS) == SQLITE_OK;
  if (ok)
    set_limits (&database);
  else
    fail (&database);
  ok = ok && execute (&database, "BEGIN IMMEDIATE") && make_table (&database)
       && insert_rows (&database, results, n) && execute (&database, "COMMIT");
  sqlite3_close (database.db); /* rolls back what was not committed */
  return ok;
}

#else

gboolean
gemem_results_write_sqlite (const char *path, GememResult *const *results, guint n, GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
               "%s: this gemem was built without SQLite; write CSV or JSON, or install "
               "libsqlite3-dev and configure again",
               path);
  return FALSE;
}

#endif

/* sqlite.c - results in a SQLite database, for queries over many runs: a row per run in the table
 * `results`.
 *
 * The columns are the identity of a run (as in CSV, parameters as JSON objects), then one per
 * measure of measures.def.  Rows are only ever appended, all of one call in one transaction: a full
 * disk or a crash leaves either all of them or none.  A table of a gemem with fewer measures gets
 * the new columns, NULL in its old rows; NULL also stands for a measure that was not requested or
 * is unlimited.  Runs of sweeps have a key, which is unique, and their whole result beside it.
 *
 * Cost: one statement per row; waits at most ten seconds for a database that another process uses.
 * A database may hold triggers of its owner.  One that does not come to an end, or asks for memory
 * without bound, is stopped: STEPS_MOST, TEXT_MOST.
 */
#include "config.h"

#include <gio/gio.h>
#include <string.h>

#include "base/error.h"
#include "sim/report/measures.h"
#include "sim/report/report-private.h"
#include "sim/report/report.h"
#include "sim/report/sqlite-private.h"

#ifdef HAVE_SQLITE

#define BUSY_MS 10000
#define STEPS 1000        /* of SQLite's machine, between two looks at how many there were */
#define STEPS_MOST 50000  /* times STEPS; making the table takes about 1000 */
#define STEPS_PER_ROW 100 /* times STEPS, in addition; a row takes one */
#define TEXT_MOST (1 << 26)

static const char *const identity[] = {
  "gemem TEXT",
  "trace TEXT",
  "trace_sha256 TEXT",
  "device_ordinal INTEGER",
  "allocator TEXT",
  "label TEXT",
  "parameters TEXT",
  "device TEXT",
  "device_settings TEXT",
  "partial INTEGER",
  "failure TEXT",
  "not_allowed TEXT",
  "key TEXT",
  "job TEXT",
  "setting TEXT",
  "lower TEXT",
  "repeat INTEGER",
  "warm_up INTEGER",
  "capacity INTEGER",
  "fits INTEGER",
  "doubt TEXT",
  "run_time INTEGER",
};

/* ---- statements */

/* SQLite quotes the file, which may hold any bytes. */
gboolean
gemem_sqlite_fail (const GememDatabase *database, const char *advice, GError **error)
{
  g_autofree char *why = g_strescape (
      database->db != NULL ? sqlite3_errmsg (database->db) : "out of memory", "\"\\");

  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "%s: SQLite: %s%s", database->path, why,
               advice);
  return FALSE;
}

static gboolean
fail (const GememDatabase *database, GError **error)
{
  return gemem_sqlite_fail (database, GEMEM_SQLITE_ADDED_NOT, error);
}

gboolean
gemem_sqlite_execute (GememDatabase *database, const char *statement, GError **error)
{
  return sqlite3_exec (database->db, statement, NULL, NULL, NULL) == SQLITE_OK
         || fail (database, error);
}

gboolean
gemem_sqlite_number (GememDatabase *database, const char *statement, gint64 *number,
                     const char *advice, GError **error)
{
  sqlite3_stmt *row = NULL;
  const gboolean ok = sqlite3_prepare_v2 (database->db, statement, -1, &row, NULL) == SQLITE_OK
                      && sqlite3_step (row) == SQLITE_ROW;

  if (ok)
    *number = sqlite3_column_int64 (row, 0);
  else
    gemem_sqlite_fail (database, advice, error);
  sqlite3_finalize (row);
  return ok;
}

/* A progress handler: not 0 ends the statement. */
static int
out_of_steps (void *data)
{
  GememDatabase *database = data;
  return database->steps_left == 0 || --database->steps_left == 0;
}

void
gemem_sqlite_allow (GememDatabase *database, guint64 rows)
{
  database->steps_left = STEPS_MOST + rows * STEPS_PER_ROW;
  sqlite3_progress_handler (database->db, STEPS, out_of_steps, database);
  sqlite3_limit (database->db, SQLITE_LIMIT_LENGTH, TEXT_MOST);
}

/* FALSE if a newer gemem made the tables. */
static gboolean
check_version (GememDatabase *database, const char *advice, GError **error)
{
  gint64 application, version;

  if (!gemem_sqlite_number (database, "PRAGMA application_id", &application, advice, error)
      || !gemem_sqlite_number (database, "PRAGMA user_version", &version, advice, error))
    return FALSE;
  if (application != GEMEM_SQLITE_APPLICATION || version <= GEMEM_DATABASE_VERSION)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
               "%s: made by a newer gemem, whose tables have version %" G_GINT64_FORMAT
               "; this one (" PACKAGE_VERSION ") knows version %d: use the newer one",
               database->path, version, GEMEM_DATABASE_VERSION);
  return FALSE;
}

/* @advice: behind what SQLite says. */
static GememDatabase *
open_as (const char *path, int flags, const char *advice, GError **error)
{
  g_autoptr (GememDatabase) database = g_new0 (GememDatabase, 1);
  gint64 objects;

  database->path = g_strdup (path);
  if (sqlite3_open_v2 (path, &database->db, flags, NULL) != SQLITE_OK
      || sqlite3_busy_timeout (database->db, BUSY_MS) != SQLITE_OK)
    {
      gemem_sqlite_fail (database, advice, error);
      return NULL;
    }
  gemem_sqlite_allow (database, 0);
  return gemem_sqlite_number (database, "SELECT count (*) FROM sqlite_master", &objects, advice,
                              error)
                 && check_version (database, advice, error)
             ? g_steal_pointer (&database)
             : NULL;
}

static GememDatabase *
open_to_write (const char *path, GError **error)
{
  return open_as (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, GEMEM_SQLITE_ADDED_NOT, error);
}

GememDatabase *
gemem_database_open_to_read (const char *path, GError **error)
{
  g_autoptr (GememDatabase) database = open_as (
      path, SQLITE_OPEN_READWRITE, "; name a database that 'gemem-sim sweep' wrote", error);

  return database != NULL && gemem_sqlite_execute (database, "PRAGMA query_only = 1", error)
             ? g_steal_pointer (&database)
             : NULL;
}

void
gemem_database_close (GememDatabase *database)
{
  if (database == NULL)
    return;
  sqlite3_close (database->db); /* rolls back what was not committed */
  g_free (database->path);
  g_free (database);
}

/* ---- tables */

/* "peak_reserved INTEGER" */
static char *
measure_column (const GememMeasure *measure)
{
  return g_strdup_printf ("%s %s", measure->key, measure->real != NULL ? "REAL" : "INTEGER");
}

static gboolean
has_column (GememDatabase *database, const char *name, gboolean *has, GError **error)
{
  sqlite3_stmt *row = NULL;
  if (sqlite3_prepare_v2 (database->db,
                          "SELECT 1 FROM pragma_table_info ('results') WHERE name = ?", -1, &row,
                          NULL)
      != SQLITE_OK)
    return fail (database, error);
  sqlite3_bind_text (row, 1, name, -1, SQLITE_TRANSIENT);
  int step = sqlite3_step (row);
  *has = step == SQLITE_ROW;
  sqlite3_finalize (row);
  return step == SQLITE_ROW || step == SQLITE_DONE || fail (database, error);
}

gboolean
gemem_sqlite_add_column (GememDatabase *database, const char *definition, GError **error)
{
  g_autofree char *name = g_strndup (definition, strcspn (definition, " "));
  gboolean has = FALSE;
  if (!has_column (database, name, &has, error))
    return FALSE;
  g_autofree char *statement = g_strconcat ("ALTER TABLE results ADD COLUMN ", definition, NULL);
  return has || gemem_sqlite_execute (database, statement, error);
}

/* Creates the table, or adds the columns it lacks. */
static gboolean
make_table (GememDatabase *database, GError **error)
{
  if (!gemem_sqlite_execute (database,
                             "CREATE TABLE IF NOT EXISTS results (id INTEGER PRIMARY KEY)", error))
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS (identity); i++)
    if (!gemem_sqlite_add_column (database, identity[i], error))
      return FALSE;
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    {
      g_autofree char *definition = measure_column (measure);
      if (!gemem_sqlite_add_column (database, definition, error))
        return FALSE;
    }
  return TRUE;
}

/* Marks a database that no program has marked as one of gemem's. */
static gboolean
mark (GememDatabase *database, GError **error)
{
  g_autofree char *marks = g_strdup_printf ("PRAGMA application_id = %d; PRAGMA user_version = %d",
                                            GEMEM_SQLITE_APPLICATION, GEMEM_DATABASE_VERSION);
  gint64 application = 0;

  return gemem_sqlite_number (database, "PRAGMA application_id", &application,
                              GEMEM_SQLITE_ADDED_NOT, error)
         && (application != 0 || gemem_sqlite_execute (database, marks, error));
}

GememDatabase *
gemem_database_open (const char *path, GError **error)
{
  g_autoptr (GememDatabase) database = open_to_write (path, error);

  return database != NULL && gemem_sqlite_execute (database, "BEGIN IMMEDIATE", error)
                 && mark (database, error) && make_table (database, error)
                 && gemem_sqlite_make_views (database, error)
                 && gemem_sqlite_execute (database, "COMMIT", error)
             ? g_steal_pointer (&database)
             : NULL;
}

/* ---- rows */

/* "INSERT INTO results (gemem, ...) VALUES (?, ...)" with the columns in the order of
 * bind_row(). */
static char *
insert_statement (gboolean keyed)
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
  g_string_append_printf (names, "%s)%s", places->str,
                          keyed ? " ON CONFLICT (key) DO NOTHING" : "");
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

/* NULL for what is larger than SQLite's integers: unlimited. */
static void
bind_number (sqlite3_stmt *row, int place, guint64 number)
{
  if (number > G_MAXINT64)
    sqlite3_bind_null (row, place);
  else
    sqlite3_bind_int64 (row, place, (sqlite3_int64) number);
}

static void
bind_text (sqlite3_stmt *row, int place, const char *text)
{
  sqlite3_bind_text (row, place, text, -1, SQLITE_TRANSIENT); /* NULL text is NULL */
}

/* How the run was asked for; all but the capacity is NULL outside sweeps. */
static void
bind_names (sqlite3_stmt *row, int place, const GememResult *result, const GememRunNames *names)
{
  if (!result->not_run)
    bind_number (row, place + 6, result->capacity);
  if (names == NULL)
    return;
  bind_text (row, place, names->key);
  bind_text (row, place + 1, names->job);
  bind_text (row, place + 2, names->setting);
  bind_text (row, place + 3, names->lower);
  bind_number (row, place + 4, names->repeat);
  bind_number (row, place + 5, names->warm_up);
  if (!result->not_run)
    sqlite3_bind_int (row, place + 7, gemem_result_is_complete (result) && names->doubt == NULL);
  bind_text (row, place + 8, names->doubt);
  bind_number (row, place + 9, names->run_time);
}

static void
bind_row (sqlite3_stmt *row, const GememResult *result, const GememRunNames *names)
{
  int place = 1;
  sqlite3_clear_bindings (row);
  sqlite3_bind_text (row, place++, PACKAGE_VERSION, -1, SQLITE_STATIC);
  bind_text (row, place++, names != NULL ? names->trace : result->trace);
  bind_text (row, place++, result->trace_sha256);
  if (result->device_ordinal != GEMEM_DEVICE_HOST)
    sqlite3_bind_int (row, place, result->device_ordinal);
  place++; /* NULL: host memory */
  bind_text (row, place++, result->allocator);
  bind_text (row, place++, result->label);
  bind_settings (row, place++, result->parameters);
  bind_text (row, place++, result->device);
  bind_settings (row, place++, result->device_settings);
  sqlite3_bind_int (row, place++, result->partial);
  bind_text (row, place++, result->failure);
  bind_text (row, place++, result->not_allowed);
  bind_names (row, place, result, names);
  place = 1 + G_N_ELEMENTS (identity);
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    bind_measure (row, place++, measure, result);
}

static gboolean
insert_rows (GememDatabase *database, GememResult *const *results, const GememRunNames *names,
             guint n, GError **error)
{
  g_autofree char *statement = insert_statement (names != NULL);
  sqlite3_stmt *row = NULL;
  gboolean ok = sqlite3_prepare_v2 (database->db, statement, -1, &row, NULL) == SQLITE_OK;
  for (guint i = 0; i < n && ok; i++)
    {
      bind_row (row, results[i], names != NULL ? &names[i] : NULL);
      ok = sqlite3_step (row) == SQLITE_DONE && sqlite3_reset (row) == SQLITE_OK;
    }
  if (!ok)
    fail (database, error);
  sqlite3_finalize (row);
  return ok;
}

/* The whole result as gemem_report_write() writes it as JSON, in gzip. */
static GBytes *
pack (GememResult *result)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GConverter)
      zip = G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1));
  g_autoptr (GOutputStream) memory = g_memory_output_stream_new_resizable (),
                            stream = g_converter_output_stream_new (memory, zip);

  gemem_report_write (text, GEMEM_FORMAT_JSON, &result, 1, NULL);
  g_output_stream_write_all (stream, text->str, text->len, NULL, NULL, NULL);
  g_output_stream_close (stream, NULL, NULL);
  return g_memory_output_stream_steal_as_bytes (G_MEMORY_OUTPUT_STREAM (memory));
}

static gboolean
insert_details (GememDatabase *database, GememResult *const *results, const GememRunNames *names,
                guint n, GError **error)
{
  sqlite3_stmt *row = NULL;
  gboolean ok = sqlite3_prepare_v2 (
                    database->db, "INSERT INTO details VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
                    -1, &row, NULL)
                == SQLITE_OK;

  for (guint i = 0; i < n && ok; i++)
    {
      g_autoptr (GBytes) packed = results[i]->not_run ? NULL : pack (results[i]);

      if (packed == NULL)
        continue;
      bind_text (row, 1, names[i].key);
      sqlite3_bind_blob (row, 2, g_bytes_get_data (packed, NULL), (int) g_bytes_get_size (packed),
                         SQLITE_TRANSIENT);
      ok = sqlite3_step (row) == SQLITE_DONE && sqlite3_reset (row) == SQLITE_OK;
    }
  if (!ok)
    fail (database, error);
  sqlite3_finalize (row);
  return ok;
}

gboolean
gemem_database_append (GememDatabase *database, GememResult *const *results,
                       const GememRunNames *names, guint n, GError **error)
{
  gemem_sqlite_allow (database, n);
  if (gemem_sqlite_execute (database, "BEGIN IMMEDIATE", error)
      && insert_rows (database, results, names, n, error)
      && (names == NULL || insert_details (database, results, names, n, error))
      && gemem_sqlite_execute (database, "COMMIT", error))
    return TRUE;
  sqlite3_exec (database->db, "ROLLBACK", NULL, NULL, NULL);
  return FALSE;
}

gboolean
gemem_database_has (GememDatabase *database, const char *key, gboolean *has, GError **error)
{
  sqlite3_stmt *row = NULL;
  int step = sqlite3_prepare_v2 (database->db, "SELECT 1 FROM results WHERE key = ?", -1, &row,
                                 NULL);

  gemem_sqlite_allow (database, 1);
  if (step == SQLITE_OK)
    {
      bind_text (row, 1, key);
      step = sqlite3_step (row);
    }
  *has = step == SQLITE_ROW;
  if (step != SQLITE_ROW && step != SQLITE_DONE)
    fail (database, error);
  sqlite3_finalize (row);
  return step == SQLITE_ROW || step == SQLITE_DONE;
}

gboolean
gemem_results_write_sqlite (const char *path, GememResult *const *results, guint n, GError **error)
{
  g_autoptr (GememDatabase) database = open_to_write (path, error);

  if (database == NULL)
    return FALSE;
  gemem_sqlite_allow (database, n);
  return gemem_sqlite_execute (database, "BEGIN IMMEDIATE", error) && make_table (database, error)
         && insert_rows (database, results, NULL, n, error)
         && gemem_sqlite_execute (database, "COMMIT", error);
}

#endif

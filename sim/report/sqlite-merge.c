/* sqlite-merge.c - one database of several that sweeps wrote, on one machine or on many.
 *
 * Invariants: a run that is there already stays as it is, so that merging again adds nothing, and the
 * order of the parts does not matter; a part is added wholly or not at all.  Rows without a key, of
 * compare --sqlite, cannot be told apart and stay where they are.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "sim/report/sqlite-private.h"

#ifdef HAVE_SQLITE

/* The names and types of gemem's columns: anything else may be written to do harm. */
static gboolean
is_word (const char *text)
{
  return text != NULL && *text != '\0'
         && text[strspn (text, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_")] == '\0';
}

/* Adds the column @name of @type to @columns, and to @database if it lacks it. */
static gboolean
take_column (GememDatabase *database, const GememDatabase *part, const char *name, const char *type,
             GString *columns, GError **error)
{
  g_autofree char *column = NULL;

  if (!is_word (name) || !is_word (type))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                   "%s: has a column that no gemem writes; nothing was added", part->path);
      return FALSE;
    }
  column = g_strdup_printf ("%s %s", name, type);
  g_string_append_printf (columns, "%s\"%s\"", columns->len > 0 ? ", " : "", name);
  return gemem_sqlite_add_column (database, column, error);
}

/* The same of all columns of @part. */
static gboolean
take_columns (GememDatabase *database, GememDatabase *part, GString *columns, GError **error)
{
  sqlite3_stmt *row = NULL;
  int step = sqlite3_prepare_v2 (
      part->db, "SELECT name, type FROM pragma_table_info ('results') WHERE name <> 'id'", -1, &row,
      NULL);
  gboolean taken = TRUE;

  while (taken && (step == SQLITE_OK || step == SQLITE_ROW)
         && (step = sqlite3_step (row)) == SQLITE_ROW)
    taken = take_column (database, part, (const char *) sqlite3_column_text (row, 0),
                         (const char *) sqlite3_column_text (row, 1), columns, error);
  sqlite3_finalize (row);
  return taken && (step == SQLITE_DONE || gemem_sqlite_fail (part, "", error));
}

static gboolean
attach (GememDatabase *database, const char *path, GError **error)
{
  char *statement = sqlite3_mprintf ("ATTACH %Q AS part", path);
  const gboolean ok = gemem_sqlite_execute (database, statement, error);

  sqlite3_free (statement);
  return ok;
}

/* Copies the rows of `part`; inside a transaction. */
static gboolean
copy (GememDatabase *database, GememDatabase *part, guint64 *added, GError **error)
{
  g_autoptr (GString) columns = g_string_new (NULL);
  g_autofree char *insert = NULL;

  if (!take_columns (database, part, columns, error) || !gemem_sqlite_make_views (database, error))
    return FALSE;
  insert = g_strdup_printf (
      "INSERT INTO main.results (%s) SELECT %s FROM part.results WHERE key IS "
      "NOT NULL ON CONFLICT (key) DO NOTHING",
      columns->str, columns->str);
  if (!gemem_sqlite_execute (database, insert, error))
    return FALSE;
  *added = (guint64) sqlite3_changes (database->db);
  return gemem_sqlite_execute (database,
                               "INSERT INTO main.details SELECT key, result FROM part.details "
                               "WHERE TRUE ON CONFLICT (key) DO NOTHING",
                               error);
}

gboolean
gemem_database_merge (GememDatabase *database, const char *path, guint64 *added, GError **error)
{
  g_autoptr (GememDatabase) part = gemem_database_open_to_read (path, error);
  gint64 rows = 0;
  gboolean ok;

  if (part == NULL
      || !gemem_sqlite_number (part, "SELECT count (key) FROM results", &rows,
                               GEMEM_SQLITE_ADDED_NOT, error)
      || !attach (database, path, error))
    return FALSE;
  gemem_sqlite_allow (part, 1);
  gemem_sqlite_allow (database, (guint64) rows);
  ok = gemem_sqlite_execute (database, "BEGIN IMMEDIATE", error)
       && copy (database, part, added, error) && gemem_sqlite_execute (database, "COMMIT", error);
  if (!ok)
    sqlite3_exec (database->db, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_exec (database->db, "DETACH part", NULL, NULL, NULL);
  return ok;
}

#endif

/* sqlite-searched.c - the replays of searches (`gemem-sim tune`) in the same databases, in the table `searched`.
 *
 * Why apart from `results`: most of these replays were stopped early, and their numbers are no measures of the
 * setting; no view may tell of them.
 *
 * Invariants: a row is written once and never changed; what a row says is checked by whoever takes it.
 */
#include "config.h"

#include <string.h>

#include "sim/report/sqlite-private.h"

#ifdef HAVE_SQLITE

#define VALUES G_N_ELEMENTS (((GememSearched *) NULL)->values)

static gboolean
fail (const GememDatabase *database, GError **error)
{
  return gemem_sqlite_fail (database, GEMEM_SQLITE_ADDED_NOT, error);
}

void
gemem_searched_clear (GememSearched *row)
{
  g_free (row->key);
  g_free (row->ended);
  g_free (row->why);
  g_free (row->alike);
}

static void
read_row (sqlite3_stmt *statement, GememSearched *row)
{
  int column = 0;

  row->ended = g_strdup ((const char *) sqlite3_column_text (statement, column++));
  for (guint v = 0; v < VALUES; v++)
    row->values[v] = (guint64) sqlite3_column_int64 (statement, column++);
  row->passes = (guint64) sqlite3_column_int64 (statement, column++);
  row->why = g_strdup ((const char *) sqlite3_column_text (statement, column++));
  row->alike = g_strdup ((const char *) sqlite3_column_text (statement, column));
}

gboolean
gemem_database_find_searched (GememDatabase *database, const char *key, GememSearched *row,
                              gboolean *found, GError **error)
{
  sqlite3_stmt *statement = NULL;
  int step = sqlite3_prepare_v2 (
      database->db,
      "SELECT ended, needs, device_calls, modelled_time, least_capacity, passes, why, alike "
      "FROM searched WHERE key = ?",
      -1, &statement, NULL);

  gemem_sqlite_allow (database, 1);
  memset (row, 0, sizeof *row);
  if (step == SQLITE_OK)
    {
      sqlite3_bind_text (statement, 1, key, -1, SQLITE_TRANSIENT);
      step = sqlite3_step (statement);
    }
  *found = step == SQLITE_ROW;
  if (*found)
    read_row (statement, row);
  else if (step != SQLITE_DONE)
    fail (database, error);
  sqlite3_finalize (statement);
  return step == SQLITE_ROW || step == SQLITE_DONE;
}

static gboolean
write_row (sqlite3_stmt *statement, const GememSearched *row)
{
  int place = 1;

  sqlite3_bind_text (statement, place++, row->key, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text (statement, place++, row->ended, -1, SQLITE_TRANSIENT);
  for (guint v = 0; v < VALUES; v++)
    sqlite3_bind_int64 (statement, place++, (sqlite3_int64) row->values[v]);
  sqlite3_bind_int64 (statement, place++, (sqlite3_int64) row->passes);
  sqlite3_bind_text (statement, place++, row->why, -1, SQLITE_TRANSIENT); /* NULL text is NULL */
  sqlite3_bind_text (statement, place, row->alike, -1, SQLITE_TRANSIENT);
  return sqlite3_step (statement) == SQLITE_DONE && sqlite3_reset (statement) == SQLITE_OK;
}

gboolean
gemem_database_keep_searched (GememDatabase *database, const GememSearched *rows, guint n,
                              GError **error)
{
  sqlite3_stmt *statement = NULL;
  gboolean ok;

  gemem_sqlite_allow (database, n);
  if (!gemem_sqlite_execute (database, "BEGIN IMMEDIATE", error))
    return FALSE;
  ok = sqlite3_prepare_v2 (database->db,
                           "INSERT INTO searched (key, ended, needs, device_calls, modelled_time, "
                           "least_capacity, passes, why, alike) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                           "ON CONFLICT (key) DO NOTHING",
                           -1, &statement, NULL)
       == SQLITE_OK;
  for (guint i = 0; i < n && ok; i++)
    ok = write_row (statement, &rows[i]);
  if (!ok)
    fail (database, error);
  sqlite3_finalize (statement);
  if (ok && gemem_sqlite_execute (database, "COMMIT", error))
    return TRUE;
  sqlite3_exec (database->db, "ROLLBACK", NULL, NULL, NULL);
  return FALSE;
}

#endif

/* sqlite-none.c - database.h of a gemem that was built without SQLite: every function says so.
 *
 * Invariants: no database is ever open.
 */
#include "config.h"

#include "base/error.h"
#include "sim/report/database.h"
#include "sim/report/report.h"

#ifndef HAVE_SQLITE

static gpointer
none (const char *path, GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
               "%s: this gemem was built without SQLite; write CSV or JSON, or install "
               "libsqlite3-dev and configure again",
               path);
  return NULL;
}

gboolean
gemem_results_write_sqlite (const char *path, GememResult *const *results, guint n, GError **error)
{
  return none (path, error) != NULL;
}

GememDatabase *
gemem_database_open (const char *path, GError **error)
{
  return none (path, error);
}

GememDatabase *
gemem_database_open_to_read (const char *path, GError **error)
{
  return none (path, error);
}

void
gemem_database_close (GememDatabase *database)
{
}

gboolean
gemem_database_has (GememDatabase *database, const char *key, gboolean *has, GError **error)
{
  return FALSE;
}

gboolean
gemem_database_append (GememDatabase *database, GememResult *const *results,
                       const GememRunNames *names, guint n, GError **error)
{
  return FALSE;
}

gboolean
gemem_database_merge (GememDatabase *database, const char *path, guint64 *added, GError **error)
{
  return FALSE;
}

void
gemem_searched_clear (GememSearched *row)
{
}

gboolean
gemem_database_find_searched (GememDatabase *database, const char *key, GememSearched *row,
                              gboolean *found, GError **error)
{
  return FALSE;
}

gboolean
gemem_database_keep_searched (GememDatabase *database, const GememSearched *rows, guint n,
                              GError **error)
{
  return FALSE;
}

gboolean
gemem_results_read_database (const char *path, GPtrArray *results, GError **error)
{
  return none (path, error) != NULL;
}

gboolean
gemem_database_query (const char *path, const char *sql, GememRowFunc func, gpointer data,
                      GError **error)
{
  return none (path, error) != NULL;
}

#endif

/* sqlite-views.c - what databases of sweeps have beside the table of results: the views that people ask for, the
 * indexes that answer them, a table for the whole results, and one for the replays of searches.
 *
 * Why apart: a database that only compare --sqlite writes may belong to another program, and gets none of
 * this.
 *
 * Invariants: the views are those of this gemem, whichever one made the database; one that is as it should
 * be is not touched.
 */
#include "config.h"

#include <string.h>

#include "sim/report/measures.h"
#include "sim/report/sqlite-private.h"

const GememView gemem_database_views[] = {
#define GEMEM_VIEW(name, help, select) { #name, help },
#include "sim/report/views.def"
#undef GEMEM_VIEW
  { "runs", "every run, the best of a workload first, without measured times" }, { NULL, NULL }
};

#ifdef HAVE_SQLITE

/* What only databases of sweeps have. */
static const char *const of_sweeps[] = {
  "CREATE UNIQUE INDEX IF NOT EXISTS results_key ON results (key)",
  "CREATE INDEX IF NOT EXISTS results_workload ON results "
  "(trace, lower, device_ordinal, capacity, fits DESC, peak_reserved, setting)",
  "CREATE INDEX IF NOT EXISTS results_setting ON results "
  "(setting, capacity, fits, overhead, peak_reserved, trace)",
  "CREATE TABLE IF NOT EXISTS details (key TEXT PRIMARY KEY, result BLOB)",
  "CREATE TABLE IF NOT EXISTS searched (key TEXT PRIMARY KEY, ended TEXT, needs INTEGER, "
  "device_calls INTEGER, modelled_time INTEGER, least_capacity INTEGER, passes INTEGER, why TEXT, "
  "alike TEXT)",
};

static const char *const view_selects[] = {
#define GEMEM_VIEW(name, help, select) select,
#include "sim/report/views.def"
#undef GEMEM_VIEW
};

/* Whether a column is the same whenever and wherever the run is made. */
static gboolean
is_lasting (const char *column)
{
  const GememMeasure *measure = gemem_measures;

  while (measure->key != NULL && strcmp (measure->key, column) != 0)
    measure++;
  return strcmp (column, "id") != 0 && strcmp (column, "run_time") != 0
         && (measure->key == NULL || measure->rank != GEMEM_RANK_MEASURED);
}

/* The SELECT of the view `runs`; NULL with @error. */
static char *
select_runs (GememDatabase *database, GError **error)
{
  g_autoptr (GString) columns = g_string_new ("SELECT ");
  sqlite3_stmt *row = NULL;
  int step = sqlite3_prepare_v2 (database->db, "SELECT name FROM pragma_table_info ('results')", -1,
                                 &row, NULL);

  while (step == SQLITE_OK && (step = sqlite3_step (row)) == SQLITE_ROW)
    {
      const char *name = (const char *) sqlite3_column_text (row, 0);
      char *quoted = sqlite3_mprintf ("\"%w\"", name);

      if (is_lasting (name))
        g_string_append_printf (columns, "%s%s", columns->len > strlen ("SELECT ") ? ", " : "",
                                quoted);
      sqlite3_free (quoted);
      step = SQLITE_OK;
    }
  sqlite3_finalize (row);
  if (step != SQLITE_DONE)
    {
      gemem_sqlite_fail (database, GEMEM_SQLITE_ADDED_NOT, error);
      return NULL;
    }
  g_string_append (columns, " FROM results ORDER BY trace, lower, device_ordinal, capacity, "
                            "fits DESC, peak_reserved, setting, key");
  return g_string_free (g_steal_pointer (&columns), FALSE);
}

/* Makes the view @name, unless it is there as it should be. */
static gboolean
make_view (GememDatabase *database, const char *name, const char *select, GError **error)
{
  g_autofree char *drop = g_strdup_printf ("DROP VIEW IF EXISTS %s", name),
                  *make = g_strdup_printf ("CREATE VIEW %s AS %s", name, select);
  sqlite3_stmt *row = NULL;
  gboolean same = FALSE;

  if (sqlite3_prepare_v2 (database->db, "SELECT 1 FROM sqlite_master WHERE name = ? AND sql = ?",
                          -1, &row, NULL)
      == SQLITE_OK)
    {
      sqlite3_bind_text (row, 1, name, -1, SQLITE_TRANSIENT);
      sqlite3_bind_text (row, 2, make, -1, SQLITE_TRANSIENT);
      same = sqlite3_step (row) == SQLITE_ROW;
    }
  sqlite3_finalize (row);
  return same
         || (gemem_sqlite_execute (database, drop, error)
             && gemem_sqlite_execute (database, make, error));
}

gboolean
gemem_sqlite_make_views (GememDatabase *database, GError **error)
{
  g_autofree char *runs = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (of_sweeps); i++)
    if (!gemem_sqlite_execute (database, of_sweeps[i], error))
      return FALSE;
  runs = select_runs (database, error);
  if (runs == NULL || !make_view (database, "runs", runs, error))
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS (view_selects); i++)
    if (!make_view (database, gemem_database_views[i].name, view_selects[i], error))
      return FALSE;
  return TRUE;
}

#endif

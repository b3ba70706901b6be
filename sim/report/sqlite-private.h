/* sqlite-private.h - what the writer of databases, their merge and their readers share.
 *
 * Invariants: every statement of gemem ends: one that takes too many steps, as a trigger of a stranger
 * may, is interrupted (gemem_sqlite_allow()).
 */
#pragma once

#include "sim/report/database.h"

#define GEMEM_SQLITE_APPLICATION 0x67656d6d /* "gemm", PRAGMA application_id */

#ifdef HAVE_SQLITE

#include <sqlite3.h>

#define GEMEM_SQLITE_ADDED_NOT "; nothing was added, name another file or free some space"

struct _GememDatabase
{
  char *path;
  sqlite3 *db;
  guint64 steps_left; /* times STEPS of sqlite.c */
};

/* GEMEM_ERROR_FAILED: "PATH: SQLite: WHY", and @advice.  FALSE. */
gboolean gemem_sqlite_fail (const GememDatabase *database, const char *advice, GError **error);
gboolean gemem_sqlite_execute (GememDatabase *database, const char *statement, GError **error);
/* From here on, as many steps as writing @rows rows takes at most. */
void gemem_sqlite_allow (GememDatabase *database, guint64 rows);
/* The one number that @statement selects; @advice as above. */
gboolean gemem_sqlite_number (GememDatabase *database, const char *statement, gint64 *number,
                              const char *advice, GError **error);
/* Adds the column to `results` unless it is there; "NAME TYPE". */
gboolean gemem_sqlite_add_column (GememDatabase *database, const char *definition, GError **error);
/* Makes `details`, the indexes, `runs` with the columns that are there now, and the views of views.def. */
gboolean gemem_sqlite_make_views (GememDatabase *database, GError **error);

#endif

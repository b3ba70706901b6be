/* database.h - an SQLite database read from an input, as any other file is: by name, from a pipe that was kept, from memory.
 *
 * Why: exports of profilers are databases of gigabytes; SQLite reads the pages that it needs, and nothing is
 * written: no journal, no lock, no temporary file.
 *
 * Invariants: the file is not trusted.  Only tables are read, no views and no virtual tables; texts are at most 1 MiB
 * long; SQLite's steps are bounded by the size of the file, so that reading comes to an end.  Every error is
 * GEMEM_ERROR_INPUT "FILE: what; what to do", of one line.
 */
#pragma once

#include "base/io/input.h"

#ifdef HAVE_SQLITE

#include <sqlite3.h>

typedef struct _GememNsysDatabase GememNsysDatabase;

/* NULL with @error where the input is packed, or no database.  @input must outlive it. */
GememNsysDatabase *gemem_nsys_database_open (GememInput *input, GError **error);
void gemem_nsys_database_close (GememNsysDatabase *database);
/* Whether there is such a table, which is no view and no virtual table. */
gboolean gemem_nsys_database_has_table (GememNsysDatabase *database, const char *table);
gboolean gemem_nsys_database_has_column (GememNsysDatabase *database, const char *table,
                                         const char *column);
/* sqlite3_finalize(); NULL with @error. */
sqlite3_stmt *gemem_nsys_database_query (GememNsysDatabase *database, const char *query,
                                         GError **error);
/* 1: a row; 0: the end; -1: error. */
int gemem_nsys_database_step (GememNsysDatabase *database, sqlite3_stmt *rows, GError **error);

#endif

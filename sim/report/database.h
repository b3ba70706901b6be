/* database.h - results in a SQLite database, for questions over many runs: doc/sweep.md says what is in
 * it.
 *
 * Why one file for all: compare --sqlite appends its rows to the same table as sweeps, so that every
 * question can be asked of both.
 *
 * Invariants: all rows of one call are there, or none; a run that has a key is there once, whoever wrote
 * it and how often; nobody who reads changes anything.  Cost: a transaction per call; waits at most ten
 * seconds for a database that another process uses.
 */
#pragma once

#include "base/macros.h"
#include "sim/engine/result.h"

GEMEM_BEGIN_DECLS

#define GEMEM_DATABASE_VERSION 1 /* of the tables, PRAGMA user_version */

typedef struct _GememDatabase GememDatabase;

/* How a run of a sweep was asked for; texts are not copied. */
typedef struct
{
  const char *key;     /* names the run: the same in every database */
  const char *job;     /* group of the specification */
  const char *trace;   /* path, as it was found */
  const char *setting; /* the allocator as it was written, of lists one */
  const char *lower;   /* how a graph was lowered; "": the file is a trace */
  const char *doubt;   /* why the replay does not tell what the program needs; NULL: it does */
  guint repeat, warm_up;
  guint64 run_time; /* ns that the replay took; of all columns this one differs from run to run */
} GememRunNames;

/* Opens @path to write, and creates it if it is missing.  NULL with GEMEM_ERROR_FAILED that names the
 * file: also one that a newer gemem made, and where gemem was built without SQLite. */
GememDatabase *gemem_database_open (const char *path, GError **error);
/* Opens @path, which is there, and lets nobody write; what a writer that was killed had begun is taken
 * back first.  Errors as above. */
GememDatabase *gemem_database_open_to_read (const char *path, GError **error);
void gemem_database_close (GememDatabase *database);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememDatabase, gemem_database_close)

/* *@has: whether the run @key is there. */
gboolean gemem_database_has (GememDatabase *database, const char *key, gboolean *has,
                             GError **error);
/* Appends a row per result; @names: NULL, or one for each, and then also the result itself, which
 * gemem_results_read_database() returns. */
gboolean gemem_database_append (GememDatabase *database, GememResult *const *results,
                                const GememRunNames *names, guint n, GError **error);
/* Adds those runs of the database @path that are not there yet; *@added: how many. */
gboolean gemem_database_merge (GememDatabase *database, const char *path, guint64 *added,
                               GError **error);

/* ---- sqlite-searched.c */

/* A replay of a search, whose next process takes it from here.  gemem_searched_clear(). */
typedef struct
{
  char *key;         /* names it: the same in every database */
  char *ended;       /* how */
  guint64 values[4]; /* needs, device_calls, modelled_time, least_capacity */
  guint64 passes;    /* over the recording */
  char *why;         /* why it could not begin; NULL: it did */
  char *
      alike; /* '0' or '1' for each other setting: 1, it would have decided alike; NULL: none was asked of */
} GememSearched;

void gemem_searched_clear (GememSearched *row);
/* *@found: whether the replay @key is there; then @row is filled but for its key, with what may be wrong where not
 * gemem wrote it. */
gboolean gemem_database_find_searched (GememDatabase *database, const char *key, GememSearched *row,
                                       gboolean *found, GError **error);
/* Adds those that are not there, all in one transaction. */
gboolean gemem_database_keep_searched (GememDatabase *database, const GememSearched *rows, guint n,
                                       GError **error);

/* TRUE if the file @path is a database that a sweep wrote. */
gboolean gemem_is_database (const char *path);

/* Appends the results (GememResult) of the runs that sweeps wrote to @path to @results, in the order of
 * the view `runs`.  Errors as gemem_results_read_json(). */
gboolean gemem_results_read_database (const char *path, GPtrArray *results, GError **error);

/* ---- questions */

/* A view of every database: its name, and what it tells. */
typedef struct
{
  const char *name, *help;
} GememView;

extern const GememView gemem_database_views[]; /* ends with a NULL name */

typedef enum
{
  GEMEM_CELL_NONE, /* NULL */
  GEMEM_CELL_TEXT,
  GEMEM_CELL_NUMBER /* text that is a number of JSON */
} GememCellKind;

/* Takes a row: @texts of @n columns (NULL for NONE); the first call has the names of the columns and
 * @kinds NULL.  FALSE: no more. */
typedef gboolean (*GememRowFunc) (guint n, const char *const *texts, const GememCellKind *kinds,
                                  gpointer data);

/* Runs the one statement @sql, which reads, or "SELECT * FROM" the view that it names.  Errors:
 * GEMEM_ERROR_USAGE where @sql is wrong or writes, GEMEM_ERROR_FAILED. */
gboolean gemem_database_query (const char *path, const char *sql, GememRowFunc func, gpointer data,
                               GError **error);

GEMEM_END_DECLS

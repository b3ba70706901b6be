/* report.h - emitters over results: table, JSON, CSV, Markdown, manifest.
 *
 * All emitters read the same GememResult objects and the same list of measures (measures.def), so
 * that a column never has two definitions.  Text goes to a GString or a FILE name given by the
 * caller; the library never writes to stdout itself.  Output is deterministic: locale-free numbers,
 * no dates, no host names except in the manifest's "environment" part. */
#pragma once

#include "base/io/json-text.h"
#include "base/macros.h"
#include "sim/engine/result.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_FORMAT_TABLE,
  GEMEM_FORMAT_JSON,
  GEMEM_FORMAT_CSV,
  GEMEM_FORMAT_MARKDOWN
} GememReportFormat;

/* Finds the format @name ("table", "json", "csv", "markdown").  GEMEM_ERROR_USAGE lists the known
 * ones. */
gboolean gemem_report_format_parse (const char *name, GememReportFormat *format, GError **error);

/* The format @name; if that is NULL, the one that the ending of @path names (.json, .csv, .md,
 * .markdown; NULL: no file), else a table.  Errors as above. */
gboolean gemem_report_format_choose (const char *name, const char *path, GememReportFormat *format,
                                     GError **error);

typedef struct _GememMeasure GememMeasure; /* a measure of measures.def */

typedef struct
{
  gboolean details; /* a report for each result (replay), not a row each (compare) */
  gboolean verbose; /* in tables for people all measures, calls, statistics; else the answer */
  guint width;      /* terminal columns for the table; 0: unlimited */
  gboolean choices; /* runs are what the recorded program could choose: in tables the best first */
  guint no_choices; /* those that were left out: they are no better than what it has */
  gboolean without_timelines; /* JSON without them: for whoever has them otherwise */
  gboolean all; /* a row for every result, also for those that are equal in every measure */
  /* order of the results of a trace, the best first, in every format; NULL: as given, and in tables
   * for people (table, Markdown) what failed last */
  const GememMeasure *sort;
  gboolean reverse; /* the worst first */
  /* measures of table, Markdown and CSV, ending with NULL; NULL: in tables what the width allows,
   * in files all */
  const GememMeasure *const *columns;
} GememReportOptions;

/* Appends the report of the @n @results to @out.  @options: NULL for a comparison of any width.
 * O(results), plus the timelines and maps in JSON. */
void gemem_report_write (GString *out, GememReportFormat format, GememResult *const *results,
                         guint n, const GememReportOptions *options);

/* The origin of @results, as JSON (manifest.c): arguments @argv (NULL-terminated, or NULL),
 * effective parameters, hashes of the traces (reads their files), version, compiler; g_free(). */
char *gemem_manifest (GememResult *const *results, guint n, const char *const *argv);

/* TRUE if @a and @b belong to one group of a comparison: same trace, same device. */
gboolean gemem_report_same_group (const GememResult *a, const GememResult *b);

/* Name, title in tables, and definition of the measure @index of measures.def, in the order of the
 * tables; NULL past the end. */
const char *gemem_measure_name (guint index);
const char *gemem_measure_title (guint index);
const char *gemem_measure_help (guint index);
/* What the measure @index is called in PyTorch and elsewhere, '|' separated; NULL: nothing else. */
const char *gemem_measure_known_as (guint index);
/* The measure @name.  GEMEM_ERROR_USAGE suggests a name. */
const GememMeasure *gemem_measure_find (const char *name, GError **error);

/* TRUE if @name is a measure, and its unit is bytes. */
gboolean gemem_measure_is_bytes (const char *name);

/* Where results of one trace are of several devices, each of them names its device from now on,
 * device 0 too.  O(n^2). */
void gemem_results_name_devices (GememResult *const *results, guint n);
/* Tells each of @results what the program needs now, by the first run of the same trace and device that
 * has the recorded allocator and settings and served every request.  O(n^2). */
void gemem_results_find_now (GememResult *const *results, guint n);

/* Tells each of @results what the best placement of the same trace and device reserves, if there is a row of
 * it (gemem_result_is_optimal()).  O(n). */
void gemem_results_find_least (GememResult *const *results, guint n);

/* Appends @rows (GememIdleRow), which are idle of @reserved - @live bytes @when ("at the first failure"),
 * the first @max and one for all others.  Nothing where there are none.  @stream: of which the caches of
 * others are other ones. */
void gemem_report_idle_at (GString *out, const char *when, const GArray *rows, guint64 stream,
                           guint64 reserved, guint64 live, guint max);

/* Appends the results (GememResult, gemem_result_free()) in the file @path, which
 * gemem_report_write() wrote as JSON, to @results.  GEMEM_ERROR_FAILED: unreadable;
 * GEMEM_ERROR_INPUT: not JSON, another schema or version, a missing member; @results is then
 * unchanged. */
gboolean gemem_results_read_json (const char *path, GPtrArray *results, GError **error);

/* Appends ', "NAME": [...]', the array @name of @result as it stands in such a file. */
void gemem_json_append_array_member (GString *out, const char *name, const GememResult *result);

/* Appends a row per result to the table `results` of the SQLite database @path, which is created if
 * missing: all rows or none.  @n = 0 only creates the table, as a check.  GEMEM_ERROR_FAILED names
 * the file; also where gemem was built without SQLite. */
gboolean gemem_results_write_sqlite (const char *path, GememResult *const *results, guint n,
                                     GError **error);

/* Writes @length bytes of @text (-1: to its NUL) to @path: completely, or @path is unchanged.
 * GEMEM_ERROR_FAILED names the file. */
gboolean gemem_write_file (const char *path, const char *text, gssize length, GError **error);
/* The same of no text: FALSE if nothing can be written at @path, which is not touched; a full disk shows
 * only while writing. */
gboolean gemem_write_check (const char *path, GError **error);
/* Removes the temporary files of all that is being written, and holds up who would begin another:
 * for a program that ends at once.  Allocates nothing. */
void gemem_write_abandon (void);
/* Appends a sentence for each of @n @results whose histories (--histories) differ from it or from one another, at most
 * ten; nothing where none was asked for. */
void gemem_report_append_histories (GString *out, GememResult *const *results, guint n);
/* Creates the folder @path and missing ones above it; GEMEM_ERROR_FAILED names it. */
gboolean gemem_make_folder (const char *path, GError **error);

GEMEM_END_DECLS

/* report.h - emitters over results: table, JSON, CSV, Markdown, plots, segment map, manifest.
 *
 * All emitters read the same GememResult objects and the same list of measures (measures.def), so
 * that a column never has two definitions.  Text goes to a GString or a FILE name given by the
 * caller; the library never writes to stdout itself.
 * Output is deterministic: locale-free numbers, no dates, no host names except in the manifest's
 * "environment" part.
 */
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

/* GEMEM_ERROR_USAGE with the known formats. */
gboolean gemem_report_format_parse (const char *name, GememReportFormat *format, GError **error);

typedef struct
{
  gboolean details; /* one result in full (replay) instead of a row each (compare) */
  guint width;      /* terminal columns for the table; 0: unlimited */
} GememReportOptions;

/* Appends the report of @results to @out. */
void gemem_report_write (GString *out, GememReportFormat format, GememResult *const *results,
                         guint n, const GememReportOptions *options);

/* Writes DIR/<name>.dat, .gp and, when gnuplot is found, .svg and .png for: comparison, calls,
 * timeline, fragmentation, and, of two to six results of a trace, reserved; creates DIR.
 * @gnuplot: program, or NULL to search PATH; "" renders nothing.  *rendered: whether pictures were
 * made. */
gboolean gemem_plot_write (const char *dir, GememResult *const *results, guint n,
                           const char *gnuplot, gboolean *rendered, GError **error);

/* The timeline or comparison as text for a terminal (gnuplot `dumb`); GEMEM_ERROR_FAILED without
 * gnuplot. */
char *gemem_plot_dumb (GememResult *const *results, guint n, const char *name, guint columns,
                       guint rows, const char *gnuplot, GError **error);

/* What lies where at the reserved peak: a row per segment, a character per page, legend last. */
void gemem_map_text (GString *out, const GememResult *result, guint width);
/* The same as SVG, own writer, deterministic. */
void gemem_map_svg (GString *out, const GememResult *result);

/* arguments, effective parameters, trace hash (the files are read for it), version, compiler:
 * JSON. */
char *gemem_manifest (GememResult *const *results, guint n, const char *const *argv);

/* TRUE if @a and @b belong to one group of a comparison: same trace, same device of it. */
gboolean gemem_report_same_group (const GememResult *a, const GememResult *b);

/* The measures of measures.def in the order of the tables: name as in tables and files, and its
 * definition; NULL past the end. */
const char *gemem_measure_name (guint index);
const char *gemem_measure_help (guint index);

/* Appends to @results what `--format=json` wrote to @path.  GEMEM_ERROR_FAILED: cannot be read;
 * GEMEM_ERROR_INPUT: not JSON, another schema or version, something missing; @results is then as it
 * was. */
gboolean gemem_results_read_json (const char *path, GPtrArray *results, GError **error);

/* Appends a row per result to the table `results` of the SQLite database @path, which is made if it
 * is not there: all rows or none.
 * @n = 0 only makes the table, to see whether that can be done.  GEMEM_ERROR_FAILED names the file;
 * so it does where gemem was built without SQLite. */
gboolean gemem_results_write_sqlite (const char *path, GememResult *const *results, guint n,
                                     GError **error);

/* Writes @text to @path atomically; GEMEM_ERROR_FAILED names the file. */
gboolean gemem_write_file (const char *path, const char *text, gssize length, GError **error);
/* Makes the folder @path and those above it where they are missing; GEMEM_ERROR_FAILED names it. */
gboolean gemem_make_folder (const char *path, GError **error);

GEMEM_END_DECLS

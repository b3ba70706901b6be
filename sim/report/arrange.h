/* arrange.h - which rows a table for people has, and in which order. */
#pragma once

#include "sim/report/measures.h"

/* A row: a result, and the labels of all that are equal to it. */
typedef struct
{
  const GememResult *result; /* the first of them */
  GPtrArray *labels;         /* char *; at least one */
} GememReportRow;

/* @results in the order of @options (NULL: none): groups as they are; within a group by the
 * measure that is asked for, runs that did not serve everything last.  Without one the order is
 * kept, and @failed_last says whether such runs stand last.  GememResult, not owned;
 * g_ptr_array_unref().  O(n log n). */
GPtrArray *gemem_report_order (GememResult *const *results, guint n,
                               const GememReportOptions *options, gboolean failed_last);

/* The rows of the group @results in @table (GememReportRow; g_ptr_array_unref()): results that are
 * equal in every measure of the table (if not @options->verbose, of those shown) and in the columns of
 * @options share a row, unless @options->all.  The table of calls has no row for what did not run.
 * O(n * rows * measures). */
GPtrArray *gemem_report_rows (GememResult *const *results, guint n, GememTable table,
                              const GememReportOptions *options);

/* "ge = ge-scalable = ge-streams", or (@max > 0) as many names as fit @max characters, at least
 * one: "ge = ge-scalable + 1 more"; "ge:policy=0|2" where they differ in one value; g_free(). */
char *gemem_report_row_label (const GememReportRow *row, guint max);

/* TRUE if only the answer is shown: --verbose was not given. */
gboolean gemem_report_is_brief (const GememReportOptions *options);

/* ---- overall.c */

/* The standing (GememStanding) of each label that every one of the *@groups recordings of @results
 * has, the best first; g_array_unref().  NULL: there are fewer than two of either, a recording
 * stands twice, or least capacities were looked for. */
GArray *gemem_report_standings (GememResult *const *results, guint n, guint *groups);

/* Appends one table of all recordings, and a sentence.  FALSE: nothing, as there is only one, or they have no
 * two allocators in common. */
gboolean gemem_report_overall (GString *out, GememResult *const *results, guint n,
                               const GememReportOptions *options);

/* TRUE if a time is among the columns. */
gboolean gemem_report_shows_times (const GememReportOptions *options);

/* The columns of @table: those of @options for the first table (and none for the second), else the
 * measures that apply to @results.  GememMeasure; g_ptr_array_unref(). */
GPtrArray *gemem_report_columns (GememResult *const *results, guint n, GememTable table,
                                 const GememReportOptions *options);

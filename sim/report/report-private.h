/* report-private.h - what the emitters and the writers of JSON offer each other. */
#pragma once

#include "base/io/input.h"
#include "sim/engine/result.h"
#include "sim/report/report.h"

/* ---- the emitters behind gemem_report_write(), one file each */

/* @options: NULL for the defaults. */
void gemem_report_table (GString *out, GememResult *const *results, guint n,
                         const GememReportOptions *options);
/* @verbose: everything; else what fits a screen. */
void gemem_report_details (GString *out, const GememResult *result, gboolean verbose);
/* @points: with the timelines. */
void gemem_report_json (GString *out, GememResult *const *results, guint n, gboolean points);
void gemem_report_csv (GString *out, GememResult *const *results, guint n,
                       const GememReportOptions *options);
void gemem_report_markdown (GString *out, GememResult *const *results, guint n,
                            const GememReportOptions *options);

/* ---- statistics.c */

/* Appends @settings (GememSetting; NULL: none), a row each, below @title. */
void gemem_report_settings (GString *out, const char *title, const GPtrArray *settings);
/* The same of an allocator's own counters. */
void gemem_report_statistics (GString *out, const GPtrArray *stats);

/* ---- json.c: pieces of JSON shared by results and the manifest */

/* {"key": "value", ...}, a line each after @indent; @numbers: values that are plain numbers without
 * quotes. */
void gemem_json_append_settings (GString *out, const GPtrArray *settings, gboolean numbers,
                                 const char *indent);
/* "trace": ..., "label": ..., without braces and final comma. */
void gemem_json_append_identity (GString *out, const GememResult *result, const char *indent);

/* ---- programs.c: what the programs of a shared device (--share-device) had, each beside the sum */

/* Appends a table for each of @results that has programs: a row per program, and one of all together,
 * whose peaks are smaller than the sum of theirs where they are at different times; then what each
 * held when a request failed.  Nothing for ordinary results. */
void gemem_report_programs (GString *out, GememResult *const *results, guint n);
/* The same as Markdown, without the failures. */
void gemem_report_programs_markdown (GString *out, GememResult *const *results, guint n);

/* ---- json-read.c */

/* gemem_results_read_json() of @input, which it closes. */
gboolean gemem_results_read_input (GememInput *input, GPtrArray *results, GError **error);

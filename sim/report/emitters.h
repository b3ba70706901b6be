/* emitters.h - the emitters behind gemem_report_write(), one file each. */
#pragma once

#include "sim/report/report.h"

/* @options: NULL for the defaults. */
void gemem_report_table (GString *out, GememResult *const *results, guint n,
                         const GememReportOptions *options);
void gemem_report_details (GString *out, const GememResult *result);
void gemem_report_json (GString *out, GememResult *const *results, guint n);
void gemem_report_csv (GString *out, GememResult *const *results, guint n,
                       const GememReportOptions *options);
void gemem_report_markdown (GString *out, GememResult *const *results, guint n,
                            const GememReportOptions *options);

/* sample-result.h - small results made by hand, for the tests of the reports. */
#pragma once

#include "sim/report/report.h"

#define TEST_ODD_LABEL "p|y_2:a={\"q\"}\\,b\n" /* a label of what every format has to escape */

/* Peak reserved 4 GiB of 8; at the live peak 3 GiB live, 3.25 GiB allocated, 3.5 GiB reserved,
 * largest free block 192 MiB; lower bound 3.125 GiB: utilisation 75 %, overhead 1.28, fragmentation
 * 25 % at the live peak, 13.9 % on average. One avoidable failure, a timeline of three points, a map
 * of two segments. */
GememResult *test_sample_result (const char *trace, const char *label);
/* The same without the failure. */
GememResult *test_served_result (const char *trace, const char *label);
/* Adds origins to it: of the failed request, of the block in its way, of a live block of the map;
 * lists of four blocks at the peak (by a line, from before the recording, unknown, not even the
 * event known) and of one that is never freed. */
void test_sample_origins (GememResult *result);

void test_free_results (GememResult **results, guint n);
/* All of the report of @n @results; g_free(). */
char *test_report_of (GememReportFormat format, GememResult *const *results, guint n,
                      gboolean details, guint width);

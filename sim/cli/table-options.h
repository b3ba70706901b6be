/* table-options.h - the options that say which rows and columns a comparison shows. */
#pragma once

#include "sim/report/report.h"

extern const GOptionEntry gemem_table_entries[]; /* --all, --sort, --columns */

/* Fills @options, as those options say; what it points to lives as long as the program.
 * GEMEM_ERROR_USAGE: an unknown measure, with a suggestion. */
gboolean gemem_table_options (GememReportOptions *options, GError **error);

/* table-options.h - the options that say which rows and columns a comparison shows. */
#pragma once

#include "sim/report/report.h"

extern const GOptionEntry gemem_table_entries[]; /* --all, --sort, --columns */

extern gboolean gemem_table_verbose; /* of the option of all commands that report runs */
#define GEMEM_VERBOSE_ENTRY \
  { \
    "verbose", 'v', 0, G_OPTION_ARG_NONE, &gemem_table_verbose, \
        "All measures, device calls, statistics and parameters in tables for people", NULL \
  }

/* Fills @options, as those options say; what it points to lives as long as the program.
 * GEMEM_ERROR_USAGE: an unknown measure, with a suggestion. */
gboolean gemem_table_options (GememReportOptions *options, GError **error);

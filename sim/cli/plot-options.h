/* plot-options.h - the options that say how pictures look, of all commands that draw. */
#pragma once

#include "sim/plots/plots.h"

extern const GOptionEntry gemem_plot_entries[]; /* --plot-style, -format, -size, -axis */

/* Sets *style as those options say.  GEMEM_ERROR_USAGE. */
gboolean gemem_plot_options (GememPlotStyle *style, GError **error);

#define GEMEM_PLOTS_AS_TEXT "comparison|timeline|fragmentation"
/* Prints the plot @name, one of those, of @results in the width of the terminal. */
gboolean gemem_draw_results (GememResult *const *results, guint n, const char *name,
                             GError **error);

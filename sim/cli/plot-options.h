/* plot-options.h - the options that say how pictures look, of all commands that draw. */
#pragma once

#include "sim/plots/plots.h"

extern const GOptionEntry gemem_plot_entries[]; /* --plot-style, -format, -size, -axis */

/* Sets *style as those options say.  GEMEM_ERROR_USAGE. */
gboolean gemem_plot_options (GememPlotStyle *style, GError **error);

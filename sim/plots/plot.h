/* plot.h - every picture of a group of results by its kind. */
#pragma once

#include "sim/plots/group.h"

typedef enum
{
  GEMEM_PLOT_COMPARISON,
  GEMEM_PLOT_TIMELINE,
  GEMEM_PLOT_FRAGMENTATION,
  GEMEM_PLOT_CALLS,
  GEMEM_PLOT_MEASURED,
  GEMEM_PLOT_LATENCY,
  GEMEM_PLOT_PROGRAMS,
  GEMEM_PLOT_RESERVED, /* last: its script reads the data of the timeline and of the calls */
  GEMEM_PLOT_COUNT
} GememPlotKind;

/* The data file: comment lines, then rows; empty where the script reads data of others. */
void gemem_plot_data (GString *out, GememPlotKind kind, const GememPlotGroup *group);
/* The script, to be run in the folder of the data; it draws BASE.svg and BASE.png from BASE.dat. */
void gemem_plot_script (GString *out, GememPlotKind kind, const GememPlotGroup *group,
                        const char *base);

/* plan-command.h - shared by the parts of `gemem-sim plan`: inputs, outputs, checking. */
#pragma once

#include "sim/cli/source.h"
#include "sim/report/plan-report.h"

/* A graph, or the lifetimes of one device of a trace. */
typedef struct
{
  char *name;            /* "step.gmt", "step.gmt, device 1" */
  GememSourceFile *file; /* not owned */
  GememLifetimes *lifetimes;
  GememPlanInput input;
  gboolean partial;
} GememPlanSource;

/* ---- plan-command-sources.c */

/* Appends a GememPlanSource for each input in @file: the graph itself (unless --lower turns it into
 * a trace), or each device of the trace. */
gboolean gemem_plan_command_add_sources (GPtrArray *sources, GememSourceFile *file, guint threads,
                                         GError **error);
void gemem_plan_command_source_free (gpointer source);

/* ---- plan-command-outputs.c: --plan, --plots, --map */

extern const GOptionEntry gemem_plan_command_output_entries[];

/* Call before any work: checks that the outputs can be written, and that options for one plan have
 * one input. */
gboolean gemem_plan_command_check_outputs (const char *report, char **inputs, guint n_sources,
                                           GError **error);
/* Writes the outputs that the options ask for. */
gboolean gemem_plan_command_write_outputs (const GememPlanResult *results, guint n, GError **error);

/* ---- plan-command-rewrite.c: --rewrite */

/* Writes the graph of @best, with the variables that its plan shares, to @path.  Errors:
 * GEMEM_ERROR_USAGE if it is no graph or no renaming. */
gboolean gemem_plan_command_write_rewritten (const char *path, const GememPlanResult *best,
                                             GError **error);

/* ---- plan-command-trace.c: --trace and related options */

extern const GOptionEntry gemem_plan_command_trace_entries[];

const char *gemem_plan_command_trace_path (void); /* NULL: not requested */
/* Call before any work: checks that the options are compatible. */
gboolean gemem_plan_command_check_trace (GError **error);
/* Writes the session if requested; results of one input must be adjacent. */
gboolean gemem_plan_command_write_trace (const GememPlanResult *results, guint n, GError **error);

/* ---- plan-command-check.c: --check */

/* Exit status: 0 safe, 3 not; or @error. */
int gemem_plan_command_check_file (const char *path, char **inputs, GError **error);

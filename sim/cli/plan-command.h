/* plan-command.h - what the parts of `gemem-sim plan` share: inputs, outputs, checking. */
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

/* Appends GememPlanSource for everything in @file: the graph itself (unless --lower makes a trace
 * of it), or each device of the trace. */
gboolean gemem_plan_command_add_sources (GPtrArray *sources, GememSourceFile *file, guint threads,
                                         GError **error);
void gemem_plan_command_source_free (gpointer source);

/* ---- plan-command-outputs.c: --plan, --plots, --map */

extern const GOptionEntry gemem_plan_command_output_entries[];

/* Before any work: the outputs can be written, and there is one input if there is to be one
 * plan. */
gboolean gemem_plan_command_check_outputs (const char *report, char **inputs, guint n_sources,
                                           GError **error);
/* Writes what the options ask for. */
gboolean gemem_plan_command_write_outputs (const GememPlanResult *results, guint n, GError **error);

/* ---- plan-command-rewrite.c: --rewrite */

/* Writes to @path the graph of @best with the variables that its plan shares.  Errors:
 * GEMEM_ERROR_USAGE for what is no graph or no renaming. */
gboolean gemem_plan_command_write_rewritten (const char *path, const GememPlanResult *best,
                                             GError **error);

/* ---- plan-command-trace.c: --trace and what belongs to it */

extern const GOptionEntry gemem_plan_command_trace_entries[];

const char *gemem_plan_command_trace_path (void); /* NULL: none is wanted */
/* Before any work: the options fit together. */
gboolean gemem_plan_command_check_trace (GError **error);
/* Writes the session if one is wanted; results of one input stand together. */
gboolean gemem_plan_command_write_trace (const GememPlanResult *results, guint n, GError **error);

/* ---- plan-command-check.c: --check */

/* Exit status: 0 safe, 3 not; or @error. */
int gemem_plan_command_check_file (const char *path, char **inputs, GError **error);

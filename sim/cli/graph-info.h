/* graph-info.h - the reports of info and validate on graphs.  @path and @format (its name) are
 * those of the file. */
#pragma once

#include "graphs/graph.h"

/* graph-info.c */
void gemem_graph_info_table (GString *out, const char *path, const char *format,
                             const GememGraph *graph);
void gemem_graph_info_json (GString *out, const char *path, const char *format,
                            const GememGraph *graph);

/* graph-validate.c: the oddities of a valid graph, a line each; "PATH: valid (FORMAT)" last. */
void gemem_graph_validate (GString *out, const char *path, const char *format,
                           const GememGraph *graph);

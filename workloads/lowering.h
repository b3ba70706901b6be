/* lowering.h - turns a graph into a trace: allocations and frees under an execution policy.
 *
 * A lowering is a GememTraceReader over a graph (like a generator), so that every consumer of
 * traces accepts graphs.  A policy is one file and one line in lowerings.def.
 *
 * Ids of the events: item of the graph + 1; variables: number of items + 1 + variable (alive from
 * the start when persistable); additions of a policy (fused buffers, temporaries) come above.  Of
 * tensors that share memory the first allocates, the last user frees (a no-padding concat has the
 * id of its first piece, whichever is allocated first).  Every run (step) uses the same ids.
 */
#pragma once

#include "base/macros.h"
#include "base/named.h"
#include "graphs/graph.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  GememNamed base;
  /* Takes a reference to @graph; copies what it needs from @params. */
  GememTraceReader *(*open) (gconstpointer params, GememGraph *graph, GError **error);
} GememLowering;

const GememLowering *const *gemem_lowerings (void); /* NULL-terminated, from lowerings.def */
/* Opens "NAME[:key=value,...]" over @graph; NULL: the first of the list with its defaults.  Errors:
 * GEMEM_ERROR_USAGE, GEMEM_ERROR_INPUT. */
GememTraceReader *gemem_lowering_open (const char *spec, GememGraph *graph, GError **error);
gboolean gemem_lowering_check (const char *spec, GError **error);
/* Expands globs and value lists in @spec ("paddle:eager_delete_tensor_gb=-1|0|1") to lowerings:
 * NULL-terminated, each for gemem_lowering_open(); a single one as it was written.  *@labels: the
 * settings in which they differ ("eager_delete_tensor_gb=-1"); g_strfreev() both.  Errors:
 * GEMEM_ERROR_USAGE. */
char **gemem_lowering_expand (const char *spec, char ***labels, GError **error);
/* @spec, of one lowering (NULL: the default), with settings from the environment @variables
 * (GememSetting, as in gemem_allocator_spec_parse_with()): variables that the lowering reads are
 * added and noted in @used; those without effect when it lowers @graph go to @left_out, with the
 * reason as value.  g_free().  Errors: GEMEM_ERROR_USAGE. */
char *gemem_lowering_with_variables (const char *spec, GememGraph *graph,
                                     const GPtrArray *variables, GPtrArray *used,
                                     GPtrArray *left_out, GError **error);

GEMEM_END_DECLS

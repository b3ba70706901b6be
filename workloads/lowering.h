/* lowering.h - from a graph to a trace: what is allocated and freed when, under an execution
 * policy.
 *
 * A lowering is a GememTraceReader over a graph (like a generator), so that whatever replays traces
 * replays graphs.  A policy is one file and one line in lowerings.def.
 *
 * Ids of the events: item of the graph + 1; variables: number of items + 1 + variable (alive from
 * the start when persistable); what a policy adds (fused buffers, temporaries) comes above.  The
 * first of tensors that share memory allocates, the last user frees (pieces of a no-padding concat:
 * the id is that of the first piece, whichever is made first).  With several runs (steps) an id is
 * used again in each.
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
/* The lowerings that @spec stands for, with globs and value lists
 * ("paddle:eager_delete_tensor_gb=-1|0|1"): NULL-terminated, each for gemem_lowering_open(); a
 * single one as it was written.  *@labels: by what they differ ("eager_delete_tensor_gb=-1");
 * g_strfreev() both.
 * Errors: GEMEM_ERROR_USAGE. */
char **gemem_lowering_expand (const char *spec, char ***labels, GError **error);
/* @spec, of one lowering (NULL: the default), for a program with the environment @variables
 * (GememSetting, as of gemem_allocator_spec_parse_with()): each that the lowering reads is added,
 * and noted in @used; those that would have no effect when it lowers @graph go to @left_out, with
 * the reason as value.  g_free().  Errors: GEMEM_ERROR_USAGE. */
char *gemem_lowering_with_variables (const char *spec, GememGraph *graph,
                                     const GPtrArray *variables, GPtrArray *used,
                                     GPtrArray *left_out, GError **error);

GEMEM_END_DECLS

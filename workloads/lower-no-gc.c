/* lower-no-gc.c - lowering `no-gc`: tensors live to the end of the step; only workspaces are freed
 * earlier.
 *
 * It models a framework that keeps all variables in a scope until the run is over (PaddlePaddle
 * with garbage collection off, paddle.md 5.1).
 */
#include "config.h"

#include "workloads/lower.h"

typedef struct
{
  GememLowerParams common;
} Params;

static const GememParam params[] = { GEMEM_LOWER_PARAMS (Params), { NULL } };

static GememTraceReader *
open_no_gc (gconstpointer data, GememGraph *graph, GError **error)
{
  static const GememStorageRules rules = { 0 };
  const Params *p = data;
  GememLower *lower = gemem_lower_new (sizeof *lower, graph, &p->common, &rules, error);

  return (GememTraceReader *) lower;
}

const GememLowering gemem_lowering_no_gc = {
  .base = { .name = "no-gc",
            .aliases = "none",
            .summary = "Tensors live to the end of the step",
            .origin = "PaddlePaddle without garbage collection (paddle.md 5.1)",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_no_gc,
};

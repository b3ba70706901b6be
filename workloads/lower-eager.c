/* lower-eager.c - lowering `eager`: memory is allocated when a node runs and freed right after its
 * last user.
 *
 * Outputs and workspaces are allocated just before their node; workspaces are freed right after the
 * node, tensors after their last consumer; tensors without consumers at once.  Frameworks with
 * reference counts work so; live bytes are the minimum for the given order of work.
 */
#include "config.h"

#include "workloads/lower.h"

typedef struct
{
  GememLowerParams common;
} Params;

static const GememParam params[] = { GEMEM_LOWER_PARAMS (Params), { NULL } };

static GememTraceReader *
open_eager (gconstpointer data, GememGraph *graph, GError **error)
{
  static const GememStorageRules rules = { 0 };
  const Params *p = data;
  GememLower *lower = gemem_lower_new (sizeof *lower, graph, &p->common, &rules, error);

  if (lower != NULL)
    lower->release = gemem_lower_free;
  return (GememTraceReader *) lower;
}

const GememLowering gemem_lowering_eager = {
  .base = { .name = "eager",
            .aliases = "reference-counting",
            .summary = "Tensors are freed right after their last use",
            .origin = "reference counts (PyTorch eager mode)",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_eager,
};

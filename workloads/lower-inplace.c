/* lower-inplace.c - lowering `inplace`: like eager, but an output takes over the memory of an input
 * last used there.
 *
 * The operator determines the permitted pairs (graphs/overlay.h: attributes, PaddlePaddle's
 * whitelist).  The node must read the input exactly once and last, with all uses on the output's
 * stream; the input must be no variable and have the output's size.  The first fitting input is
 * taken, each once.  Origin: ge-static.md 8.3; paddle.md 7 (enable_inplace_whitelist).
 */
#include "config.h"

#include "workloads/lower.h"

typedef struct
{
  GememLowerParams common;
} Params;

static const GememParam params[] = { GEMEM_LOWER_PARAMS (Params), { NULL } };

static GememTraceReader *
open_inplace (gconstpointer data, GememGraph *graph, GError **error)
{
  static const GememStorageRules rules = { .inplace = TRUE };
  const Params *p = data;
  GememLower *lower = gemem_lower_new (sizeof *lower, graph, &p->common, &rules, error);

  if (lower != NULL)
    lower->release = gemem_lower_free;
  return (GememTraceReader *) lower;
}

const GememLowering gemem_lowering_inplace = {
  .base = { .name = "inplace",
            .aliases = "in-place",
            .summary = "Like eager, and outputs take over the memory of inputs that end",
            .origin = "ge-static.md 8.3, paddle.md 7",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_inplace,
};

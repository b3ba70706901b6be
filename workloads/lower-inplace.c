/* lower-inplace.c - lowering `inplace`: like eager, but an output takes over the memory of an input
 * that ends at the same node.
 *
 * Which pairs may is the operator's business (graphs/inplace.h: attributes, PaddlePaddle's
 * whitelist).  The input must be read there once, last, and on the output's stream only, be no
 * variable, and have the output's size.  The first input that fits is taken, each once.
 * Origin: ge-static.md 8.3; paddle.md 7 (enable_inplace_whitelist).
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

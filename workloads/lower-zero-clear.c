/* lower-zero-clear.c - lowering `zero-clear`: like eager, but memory that atomic nodes need cleared
 * is set by memsets.
 *
 * Policy 0 (centralised): memory to be cleared is allocated at the head of the step and set there,
 * so it is alive from then on; what one memset node clears is one buffer and one memset, as it is
 * one range of the plan.  P2P memory and outputs of the graph are no part of it; nodes with
 * need_gentask_atomic clear their own.  Policy 1 (separate): every atomic node clears its own
 * memory just before it runs, and allocates it as usual; each buffer is a memset.  Inputs to be
 * cleared (atomic_input_index) are left to their producers.  Origin: ge-static.md 6.1, 6.2, 6.4
 * (ge.exec.atomicCleanPolicy).
 */
#include "config.h"

#include "workloads/lower.h"

typedef struct
{
  GememLowerParams common;
  int policy;
} Params;

static const GememParam params[] = {
  GEMEM_LOWER_PARAMS (Params),
  { .name = "atomic_clean_policy",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "0",
    .choices = "0|1|central=0|separate=1",
    .aliases = "ge.exec.atomicCleanPolicy|policy",
    .offset = G_STRUCT_OFFSET (Params, policy),
    .help = "0: memory to be cleared lies together and is set at the head of the step, by one "
            "memset. 1: each node clears its own just before it runs: less memory, more memsets." },
  { NULL }
};

static GememTraceReader *
open_zero_clear (gconstpointer data, GememGraph *graph, GError **error)
{
  const Params *p = data;
  const GememStorageRules rules = { .clear = p->policy == 0 ? GEMEM_CLEAR_CENTRAL
                                                            : GEMEM_CLEAR_SEPARATE };
  GememLower *lower = gemem_lower_new (sizeof *lower, graph, &p->common, &rules, error);

  if (lower != NULL)
    lower->release = gemem_lower_free;
  return (GememTraceReader *) lower;
}

const GememLowering gemem_lowering_zero_clear = {
  .base = { .name = "zero-clear",
            .aliases = "atomic-clean",
            .summary = "Like eager, with the memsets of atomic nodes",
            .origin = "ge-static.md 6",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_zero_clear,
};

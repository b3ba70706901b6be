/* lower-gc.c - lowering `gc`: garbage is collected in batches, when its sum reaches a threshold;
 * see garbage.h.
 *
 * A variable that is rewritten is one memory from its first use to its last (5.2).  Only those of
 * PaddlePaddle's rules that apply to any graph are here; its flags, eras and executors are in the
 * lowering `paddle`.  Origin: paddle.md 5.1-5.3 (the fast mode, which is the default).
 */
#include "config.h"

#include "workloads/garbage.h"

typedef struct
{
  GememLowerParams common;
  guint64 threshold;
  double fraction;
  int rules;
} Params;

#define NEVER "18446744073709551615"

static const GememParam params[] = {
  GEMEM_LOWER_PARAMS (Params),
  { .name = "threshold",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    .sweep = "0|64MiB|256MiB|1GiB|never",
    .special = "never=" NEVER,
    .offset = G_STRUCT_OFFSET (Params, threshold),
    .help = "Garbage is collected when it has this many bytes (FLAGS_eager_delete_tensor_gb, there "
            "in GiB); never: off." },
  { .name = "memory_fraction_of_eager_deletion",
    .type = GEMEM_PARAM_DOUBLE,
    .default_text = "1",
    .sweep = "0|0.25|0.5|0.75|0.9|1",
    .min = "0",
    .max = "1",
    .aliases = "fraction|FLAGS_memory_fraction_of_eager_deletion",
    .offset = G_STRUCT_OFFSET (Params, fraction),
    .help = "Collect only the largest tensors, up to this fraction of all bytes.  Default in "
            "1.4-3.x: 1." },
  GEMEM_RULES_ROW (Params, rules,
                   "memory_fraction_of_eager_deletion is one of the number of tensors."),
  { NULL }
};

typedef struct
{
  GememLower parent;
  GememGarbage garbage;
} Reader;

static void
add_garbage (GememLower *lower, guint32 storage)
{
  gemem_garbage_add (&((Reader *) lower)->garbage, lower, storage);
}

/* At the end of the step everything queued has been freed. */
static void
forget (GememLower *lower)
{
  gemem_garbage_forget (&((Reader *) lower)->garbage);
}

static void
free_parts (GememLower *lower)
{
  gemem_garbage_clear (&((Reader *) lower)->garbage);
}

static GememTraceReader *
open_gc (gconstpointer data, GememGraph *graph, GError **error)
{
  static const GememStorageRules rules = { .whole_variables = TRUE };
  const Params *p = data;
  Reader *reader = gemem_lower_new (sizeof *reader, graph, &p->common, &rules, error);

  if (reader == NULL)
    return NULL;
  gemem_garbage_init (&reader->garbage, &reader->parent, p->threshold, p->fraction,
                      (GememRules) p->rules);
  reader->parent.release = add_garbage;
  reader->parent.end_step = forget;
  reader->parent.free_parts = free_parts;
  return &reader->parent.parent.parent;
}

const GememLowering gemem_lowering_gc = {
  .base = { .name = "gc",
            .aliases = "garbage-collection",
            .summary = "Garbage is collected when it reaches a threshold",
            .origin = "paddle.md 5.1-5.3",
            .params = params,
            .params_size = sizeof (Params) },
  .open = open_gc,
};

/* active.c - `ge-active`: memory of the Ascend Graph Engine under static memory policies 2 and 4,
 * static graphs and dynamic requests together.
 *
 * What: the graphs of the session share static memory (static.h).  rules=documented follows the
 * manual: one block, released and replaced when a graph needs a bigger one, so that it has the
 * largest graph's size: of the device (policy 2), or in pages, which a graph keeps between its runs
 * (policy 4).  Dynamic requests go to the stack of pools of ge-scalable (policy 2) or of
 * ge-expandable (policy 4; its pages come from the same page pool).
 * As built, an unload is FreeMemory alone, a run what a model does around it: pages that are bound
 * at an unload are lost (5.9), where the model of `ge` unbinds those of a graph that never ran.
 * `ge` is this and more: it also unloads graphs before a load that would not fit (CheckFreeMemory).
 * Cost: a load O(blocks * segments), a run O(its pages), dynamic requests as in their stack.
 * Origin: ge-runtime.md 3, 5.9, 7.2.
 */
#include "config.h"

#include "allocators/ge/beside.h"

typedef struct
{
  GeStackParams stack; /* first: the rows of the stack count from here */
  int policy, rules;
} Params;

static const GememParam params[] = {
  { .name = "policy",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "2",
    .choices = "2|4|1=2",
    .aliases = "static_memory_policy",
    .offset = G_STRUCT_OFFSET (Params, policy),
    .help = "Static memory policy: graphs share device memory (2, or 1, which is 2), or pages of 8 "
            "MiB in a virtual range, which dynamic memory may use between runs (4)." },
  GE_RULES_ROW (Params, rules, ""),
  GE_STACK_POOLS_ROW,
  GE_STACK_PARAM_ROWS,
  { NULL }
};

enum
{
  POLICY_2,
  POLICY_4
};

extern const GememAllocatorClass gemem_ge_active_class;

static GememAllocator *
create (gconstpointer data, GememDevice *device, GError **error)
{
  const Params *p = data;
  const gboolean paged = p->policy == POLICY_4;
  GeStaticOptions options = { .mode = p->rules == GEMEM_RULES_DOCUMENTED ? GE_STATIC_DOCUMENTED
                                                                         : GE_STATIC_ACTIVE };
  GeBeside *self = g_new0 (GeBeside, 1);

  if (!gemem_ge_beside_init (self, &gemem_ge_active_class, &p->stack, paged ? GE_LARGE_PAGE : 0,
                             device, error))
    {
      g_free (self);
      return NULL;
    }
  options.bare = TRUE;
  options.pages = self->stack->pages;
  options.total = gemem_ge_device_memory (p->stack.total, device, self->stack->config.threshold);
  gemem_ge_static_init (&self->memory, device, &options);
  return &self->base;
}

static void
destroy (GememAllocator *allocator)
{
  GeBeside *self = (GeBeside *) allocator;

  gemem_ge_static_clear (&self->memory);
  gemem_ge_run_order_clear (&self->order);
  gemem_ge_stack_destroy (&self->stack->base);
  g_free (self);
}

const GememAllocatorClass gemem_ge_active_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-active",
  .summary =
      "Ascend GE under policies 2 and 4: static graphs share memory, beside the dynamic pools",
  .origin = "Ascend Graph Engine of 2026-08-21; ge-runtime.md 3, 5.9, 7.2",
  .known_as = "ActiveMemoryAllocator|ExpandableActiveMemoryAllocator",
  GE_BESIDE_MEMBERS,
  .graphs.load = gemem_ge_beside_graph_load,
  .report = { .stats = gemem_ge_beside_stats, .text = gemem_ge_beside_report },
};

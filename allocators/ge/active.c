/* active.c - `ge-active`: memory of the Ascend Graph Engine under static memory policies 2 and 4,
 * static graphs and dynamic requests together.
 *
 * What: the graphs of the session share static memory (static.h).  policy2=documented follows the
 * user documentation of policy 2: one block, freed and replaced when a graph needs a bigger one, so
 * that reserved is the maximum over the graphs (exact size).  Dynamic requests go to the stack of
 * pools of ge-scalable (policy 2) or of ge-expandable (policy 4; its pages come from the same page
 * pool).
 * `ge` is this and more: it also unloads graphs before a load that would not fit (CheckFreeMemory).
 * Cost: a load O(blocks * segments), a run O(its pages), dynamic requests as in their stack.
 * Origin: ge-runtime.md 3, 5.9, 7.2.
 */
#include "config.h"

#include "allocators/ge/beside.h"

typedef struct
{
  GeStackParams stack; /* first: the rows of the stack count from here */
  int policy, policy2;
} GeActiveParams;

static const GememParam params[] = {
  { .name = "policy",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "2",
    .choices = "2|4",
    .aliases = "static_memory_policy",
    .offset = G_STRUCT_OFFSET (GeActiveParams, policy),
    .help = "Static memory policy: graphs share device memory (2), or pages of 8 MiB in a virtual "
            "range, which dynamic memory may use between "
            "runs (4)." },
  { .name = "policy2",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "documented",
    .choices = "documented|as-built",
    .offset = G_STRUCT_OFFSET (GeActiveParams, policy2),
    .help = "What policy 2 does when a graph needs more: release the memory and obtain a bigger "
            "block (documented), or keep all blocks and "
            "add what is missing, as the real system does (as-built). No effect on policy 4." },
  GE_STACK_POOLS_ROW,
  GE_STACK_PARAM_ROWS,
  { NULL }
};

enum
{
  POLICY_2,
  POLICY_4
};
enum
{
  DOCUMENTED,
  AS_BUILT
};

extern const GememAllocatorClass gemem_ge_active_class;

/* ---- life */

static GememAllocator *
create (gconstpointer data, GememDevice *device, GError **error)
{
  GeActiveParams p = *(const GeActiveParams *) data;
  const gboolean paged = p.policy == POLICY_4;
  GeStaticOptions options = { .mode = paged || p.policy2 == AS_BUILT ? GE_STATIC_ACTIVE
                                                                     : GE_STATIC_DOCUMENTED };
  GememAllocator *stack;
  GeBeside *self;

  p.stack.stack = GE_STACK_TWO;
  stack = gemem_ge_stack_create (&gemem_ge_active_class, &p.stack, paged ? GE_LARGE_PAGE : 0,
                                 device, error);
  if (stack == NULL)
    return NULL;
  self = g_new0 (GeBeside, 1);
  self->base.klass = &gemem_ge_active_class;
  self->base.device = device;
  self->stack = (GeStack *) stack;
  options.pages = self->stack->pages;
  options.total = gemem_ge_static_addresses (p.stack.total, device, self->stack->config.threshold);
  gemem_ge_static_init (&self->memory, device, &options);
  return &self->base;
}

static void
destroy (GememAllocator *allocator)
{
  GeBeside *self = (GeBeside *) allocator;

  gemem_ge_static_clear (&self->memory);
  gemem_ge_stack_destroy (&self->stack->base);
  g_free (self);
}

const GememAllocatorClass gemem_ge_active_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-active",
  .summary =
      "Ascend GE under policies 2 and 4: static graphs share memory, beside the dynamic pools",
  .origin = "Ascend Graph Engine of 2026-08-21, ActiveMemoryAllocator, "
            "ExpandableActiveMemoryAllocator; ge-runtime.md 3, 5.9, 7.2",
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_VIRTUAL_MEMORY,
  .alignment = 65536,
  .params = params,
  .params_size = sizeof (GeActiveParams),
  .create = create,
  .alloc = gemem_ge_beside_alloc,
  .free = gemem_ge_beside_free,
  .trim = gemem_ge_beside_trim,
  .largest_free = gemem_ge_beside_largest_free,
  .walk = gemem_ge_beside_walk,
  .check = gemem_ge_beside_check,
  .destroy = destroy,
  .graphs = { .load = gemem_ge_beside_graph_load,
              .run = gemem_ge_beside_graph_run,
              .unload = gemem_ge_beside_graph_unload,
              .bytes = gemem_ge_beside_graph_bytes,
              .walk = gemem_ge_beside_graph_walk },
  .report = { .stats = gemem_ge_beside_stats, .text = gemem_ge_beside_report },
};

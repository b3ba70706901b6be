/* active.c - `ge-active`: memory of the Ascend Graph Engine under static memory policies 2 and 4, static graphs and dynamic requests together.
 *
 * What: static memory of graphs is shared by the graphs of the session (static.h).  policy2=documented, what the user documentation says of
 * policy 2: one block, given back and replaced when a graph needs a bigger one, so that reserved is the maximum over the graphs (exact size).
 * Dynamic requests go to the stack of pools of ge-scalable (policy 2) or of ge-expandable (policy 4; its pages come from the same page pool).
 * The allocator alone: `ge` is the whole, which also unloads graphs before a load that would not fit (CheckFreeMemory).
 * Cost: a load O(blocks * segments), a run O(its pages), dynamic requests as in their stack.
 * Origin: shared/spec/ge-runtime.md 3, 5.9, 7.2.
 */
#include "config.h"

#include "allocators/ge/active.h"

typedef struct
{
  GeStackParams stack; /* first: the rows of the stack count from here */
  int           policy, policy2;
} GeActiveParams;

static const GememParam params[] = {
  { .name = "policy",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "2",
    .choices = "2|4",
    .aliases = "static_memory_policy",
    .offset = G_STRUCT_OFFSET (GeActiveParams, policy),
    .help = "Static memory policy: graphs share device memory (2), or pages of 8 MiB in a virtual range, which dynamic memory may use between "
            "runs (4)." },
  { .name = "policy2",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "documented",
    .choices = "documented|as-built",
    .offset = G_STRUCT_OFFSET (GeActiveParams, policy2),
    .help = "What policy 2 does when a graph needs more: release the memory and obtain a bigger block (documented), or keep all blocks and "
            "add what is missing, as the real system does (as-built). No effect on policy 4." },
  GE_STACK_POOLS_ROW,
  GE_STACK_PARAM_ROWS,
  { NULL }
};

enum { POLICY_2, POLICY_4 };
enum { DOCUMENTED, AS_BUILT };

extern const GememAllocatorClass gemem_ge_active_class;

/* ---- life */

static GememAllocator *
create (gconstpointer data, GememDevice *device, GError **error)
{
  GeActiveParams p = *(const GeActiveParams *) data;
  const gboolean paged = p.policy == POLICY_4;
  GeStaticOptions options = { .mode = paged || p.policy2 == AS_BUILT ? GE_STATIC_ACTIVE : GE_STATIC_DOCUMENTED };
  GememAllocator *stack;
  GeSession *self;

  p.stack.stack = GE_STACK_TWO;
  stack = gemem_ge_stack_create (&gemem_ge_active_class, &p.stack, paged ? GE_LARGE_PAGE : 0, device, error);
  if (stack == NULL)
    return NULL;
  self = g_new0 (GeSession, 1);
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
  GeSession *self = (GeSession *) allocator;

  gemem_ge_static_clear (&self->memory);
  gemem_ge_stack_destroy (&self->stack->base);
  g_free (self);
}

/* ---- graphs */

static gboolean
graph_load (GememAllocator *allocator, guint64 id, guint64 stream, const GememGraphSegment *segments, guint n, guint64 *address)
{
  return gemem_ge_static_load (&((GeSession *) allocator)->memory, id, stream, segments, n, address);
}

static gboolean
graph_run (GememAllocator *allocator, guint64 id, G_GNUC_UNUSED guint64 stream, gboolean begin)
{
  return gemem_ge_static_run (&((GeSession *) allocator)->memory, id, begin);
}

static void
graph_unload (GememAllocator *allocator, guint64 id)
{
  gemem_ge_static_unload (&((GeSession *) allocator)->memory, id);
}

static void
graph_walk (GememAllocator *allocator, guint64 id, GememSpanFunc func, gpointer data)
{
  gemem_ge_static_walk_graph (&((GeSession *) allocator)->memory, id, func, data);
}

static guint64
graph_bytes (GememAllocator *allocator)
{
  return gemem_ge_static_bytes (&((GeSession *) allocator)->memory);
}

/* ---- dynamic requests */

static gboolean
alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  GeSession *self = (GeSession *) allocator;
  const gboolean served = gemem_ge_stack_alloc (&self->stack->base, request, block);

  allocator->retries = self->stack->base.retries;
  return served;
}

static void
dynamic_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  gemem_ge_stack_free (&((GeSession *) allocator)->stack->base, block, completion_follows);
}

static void
trim (GememAllocator *allocator)
{
  gemem_ge_stack_trim (&((GeSession *) allocator)->stack->base);
}

static guint64
largest_free (GememAllocator *allocator, guint64 stream)
{
  return gemem_ge_stack_largest_free (&((GeSession *) allocator)->stack->base, stream);
}

/* ---- reports */

static void
walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  GeSession *self = (GeSession *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  gemem_ge_stack_walk (&self->stack->base, gemem_ge_spans_append, spans);
  gemem_ge_static_walk (&self->memory, spans);
  gemem_ge_spans_report (spans, func, data);
}

static gboolean
check (GememAllocator *allocator, GError **error)
{
  GeSession *self = (GeSession *) allocator;

  return gemem_ge_stack_check (&self->stack->base, error) && gemem_ge_static_check (&self->memory, allocator->klass->name, error);
}

static void
stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  GeSession *self = (GeSession *) allocator;

  gemem_ge_static_stats (&self->memory, func, data);
  gemem_ge_stack_stats (&self->stack->base, func, data);
}

static void
report (GememAllocator *allocator, GString *text)
{
  gemem_ge_stack_report (&((GeSession *) allocator)->stack->base, text);
}

const GememAllocatorClass gemem_ge_active_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-active",
  .aliases = NULL,
  .summary = "Ascend GE under policies 2 and 4: static graphs share memory, beside the dynamic pools",
  .origin = "Ascend Graph Engine of 2026-08-21, ActiveMemoryAllocator, ExpandableActiveMemoryAllocator; ge-runtime.md 3, 5.9, 7.2",
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_TRIM | GEMEM_CAP_VIRTUAL_MEMORY | GEMEM_CAP_GRAPHS,
  .alignment = 65536,
  .params = params,
  .params_size = sizeof (GeActiveParams),
  .create = create,
  .alloc = alloc,
  .free = dynamic_free,
  .trim = trim,
  .largest_free = largest_free,
  .walk = walk,
  .check = check,
  .stats = stats,
  .destroy = destroy,
  .graph_load = graph_load,
  .graph_run = graph_run,
  .graph_unload = graph_unload,
  .graph_bytes = graph_bytes,
  .graph_walk = graph_walk,
  .report = report,
};

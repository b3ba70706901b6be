/* active.c - `ge-active`: memory of the Ascend Graph Engine under static memory policies 2 and 4, static graphs and dynamic requests together.
 *
 * What: static memory of graphs is shared by the graphs of the session.  policy=4 and policy2=as-built: active-blocks.h, on blocks of the device or on
 * a virtual range whose pages go back to the page pool after every synchronous run.  policy2=documented, what the user documentation says of
 * policy 2: one block, given back and replaced when a graph needs a bigger one, so that reserved is the maximum over the graphs (exact size).
 * Dynamic requests go to the stack of pools of ge-scalable (policy 2) or of ge-expandable (policy 4; its pages come from the same page pool).
 * Fixed segments lie at one address for all graphs (5.10), on pages of 2 MiB or, policy 4, 8 MiB; without virtual memory they are placed like the others.
 * Not modelled: unloading other graphs before a load that would not fit (CheckFreeMemory).
 * Cost: a load O(blocks * segments), a run O(its pages), dynamic requests as in their stack.
 * Origin: shared/spec/ge-runtime.md 3, 5.9, 7.2.
 */
#include "config.h"

#include "allocators/ge/active.h"
#include "traces/trace.h"

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
  GE_STACK_PARAM_ROWS,
  { NULL }
};

enum { POLICY_2, POLICY_4 };
enum { DOCUMENTED, AS_BUILT };

#define SMALL_PAGE (G_GUINT64_CONSTANT (2) << 20) /* kDrvPageSize */
#define LARGE_PAGE (G_GUINT64_CONSTANT (8) << 20) /* kLargePageSize */

extern const GememAllocatorClass gemem_ge_active_class;

/* ---- life */

/* Addresses to reserve: as many as there is memory (5.9). */
static guint64
total_memory (const GeStackParams *p, GememDevice *device, const GeStack *stack)
{
  GememDeviceInfo info = { 0 };

  if (p->total > 0)
    return p->total;
  gemem_device_info (device, &info);
  return info.total > 0 && info.total >> 48 == 0 ? info.total : stack->config.threshold;
}

static GememAllocator *
create (gconstpointer data, GememDevice *device, GError **error)
{
  GeActiveParams p = *(const GeActiveParams *) data;
  const gboolean paged = p.policy == POLICY_4;
  guint64 total;
  GememAllocator *stack;
  GeSession *self;

  p.stack.stack = GE_STACK_TWO;
  stack = gemem_ge_stack_create (&gemem_ge_active_class, &p.stack, paged ? LARGE_PAGE : 0, device, error);
  if (stack == NULL)
    return NULL;
  self = g_new0 (GeSession, 1);
  self->base.klass = &gemem_ge_active_class;
  self->base.device = device;
  self->stack = (GeStack *) stack;
  self->paged = paged;
  self->documented = !paged && p.policy2 == DOCUMENTED;
  total = total_memory (&p.stack, device, self->stack);
  if (paged)
    gemem_ge_session_init (&self->range, self->stack->pages, total);
  else
    gemem_ge_pages_init (&self->fixed_pages, device, SMALL_PAGE);
  gemem_ge_session_init (&self->fixed, paged ? self->stack->pages : &self->fixed_pages, total);
  gemem_ge_active_init (&self->active, device, paged ? &self->range : NULL);
  self->graphs = gemem_idmap_new (sizeof (GeActiveGraph *));
  return &self->base;
}

static void
graph_free (GeActiveGraph *graph)
{
  if (graph->pieces != NULL)
    g_array_unref (graph->pieces);
  g_free (graph);
}

static void
destroy (GememAllocator *allocator)
{
  GeSession *self = (GeSession *) allocator;
  gsize position = 0;
  gpointer graph;
  guint64 id;

  while (gemem_idmap_next (self->graphs, &position, &id, &graph))
    graph_free (*(GeActiveGraph **) graph);
  gemem_idmap_free (self->graphs);
  if (self->size > 0)
    gemem_device_free (allocator->device, self->address, self->size);
  gemem_ge_active_clear (&self->active);
  gemem_ge_session_clear (&self->fixed);
  if (self->paged)
    gemem_ge_session_clear (&self->range);
  else
    gemem_ge_pages_clear (&self->fixed_pages);
  gemem_ge_stack_destroy (&self->stack->base);
  g_free (self);
}

/* ---- the documented policy 2 */

static gboolean
resize (GeSession *self, guint64 need, guint64 stream)
{
  const guint64 before = self->size;

  if (self->size > 0)
    gemem_device_free (self->base.device, self->address, self->size);
  self->address = gemem_device_malloc (self->base.device, need, stream);
  self->size = need;
  if (self->address != 0)
    return TRUE;
  /* The graphs that are loaded keep what they had, if the device still has it. */
  self->address = before > 0 ? gemem_device_malloc (self->base.device, before, stream) : 0;
  self->size = self->address != 0 ? before : 0;
  return FALSE;
}

static gboolean
load_documented (GeSession *self, const GememGraphSegment *segments, guint n, guint64 stream)
{
  guint64 need = 0;

  for (guint i = 0; i < n; i++)
    if ((segments[i].flags & GEMEM_GRAPH_SEGMENT_NO_ALLOC) == 0)
      need = segments[i].offset + segments[i].size;
  if ((need > self->size && !resize (self, need, stream)) || self->size == 0)
    return FALSE;
  if (need > 0)
    gemem_device_memset (self->base.device, self->address, 0, need, stream);
  self->loads++;
  return TRUE;
}

static void
unload_documented (GeSession *self)
{
  if (--self->loads > 0 || self->size == 0)
    return;
  gemem_device_free (self->base.device, self->address, self->size);
  self->address = self->size = 0;
}

/* ---- graphs */

/* The fixed segments, with one address for all graphs.  0, and all segments are left in @rest, when there are none or the device refuses; else
 * @rest is what remains. */
static guint64
load_fixed (GeSession *self, const GememGraphSegment *segments, guint n, GArray *rest)
{
  guint64 bytes = 0, address;

  for (guint i = 0; i < n; i++)
    if ((segments[i].flags & GEMEM_GRAPH_SEGMENT_FIXED) != 0)
      bytes += segments[i].size;
  address = bytes > 0 ? gemem_ge_session_share (&self->fixed, bytes) : 0;
  for (guint i = 0; i < n; i++)
    if (address == 0 || (segments[i].flags & GEMEM_GRAPH_SEGMENT_FIXED) == 0)
      g_array_append_vals (rest, &segments[i], 1);
  return address;
}

/* Where the graph begins, or 0. */
static guint64
load_shared (GeSession *self, GeActiveGraph *graph, const GArray *rest, guint64 stream)
{
  const GememGraphSegment *segments = (const GememGraphSegment *) (gconstpointer) rest->data;
  guint64 address;

  graph->shares = TRUE;
  if (self->documented)
    return load_documented (self, segments, rest->len, stream) ? self->address + segments[0].offset : 0;
  address = gemem_ge_active_load (&self->active, segments, rest->len, stream);
  if (address == 0)
    return 0;
  graph->pieces = g_array_copy (self->active.active);
  graph->bound = TRUE;
  return address;
}

static gboolean
graph_load (GememAllocator *allocator, guint64 id, guint64 stream, const GememGraphSegment *segments, guint n, guint64 *address)
{
  GeSession *self = (GeSession *) allocator;
  g_autoptr (GArray) rest = g_array_new (FALSE, FALSE, sizeof (GememGraphSegment));
  const guint64 fixed = load_fixed (self, segments, n, rest);
  GeActiveGraph *graph = g_new0 (GeActiveGraph, 1);

  graph->fixed = fixed != 0;
  *address = rest->len > 0 ? load_shared (self, graph, rest, stream) : fixed;
  if (*address != 0)
    {
      *(GeActiveGraph **) gemem_idmap_insert (self->graphs, id, NULL) = graph;
      return TRUE;
    }
  if (graph->fixed)
    gemem_ge_session_unshare (&self->fixed);
  graph_free (graph);
  return FALSE;
}

/* A load binds the pages for the first run; after a synchronous run they go back, and are bound again for the next. */
static gboolean
graph_run (GememAllocator *allocator, guint64 id, gboolean begin)
{
  GeSession *self = (GeSession *) allocator;
  GeActiveGraph *graph;

  graph = *(GeActiveGraph **) gemem_idmap_lookup (self->graphs, id);
  if (!self->paged || !graph->shares)
    return TRUE;
  if (begin && !graph->bound)
    return graph->bound = gemem_ge_active_bind (&self->active, graph->pieces);
  if (!begin && graph->bound)
    {
      gemem_ge_active_unbind (&self->active, graph->pieces);
      graph->bound = FALSE;
    }
  return TRUE;
}

static void
graph_unload (GememAllocator *allocator, guint64 id)
{
  GeSession *self = (GeSession *) allocator;
  GeActiveGraph *graph;

  gemem_idmap_remove (self->graphs, id, &graph);
  if (graph->fixed)
    gemem_ge_session_unshare (&self->fixed);
  if (graph->shares && self->documented)
    unload_documented (self);
  else if (graph->shares)
    gemem_ge_active_unload (&self->active);
  graph_free (graph);
}

/* What the graphs need at most, as far as there is memory under it. */
static guint64
graph_bytes (GememAllocator *allocator)
{
  GeSession *self = (GeSession *) allocator;

  const guint64 fixed = self->fixed.used;

  if (self->documented)
    return fixed + self->size;
  if (self->paged)
    return fixed + MIN (self->active.peak, self->range.phys + gemem_ge_active_plain (&self->active));
  return fixed + self->active.peak;
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
  .walk = gemem_ge_active_report_walk,
  .check = gemem_ge_active_report_check,
  .stats = gemem_ge_active_report_stats,
  .destroy = destroy,
  .graph_load = graph_load,
  .graph_run = graph_run,
  .graph_unload = graph_unload,
  .graph_bytes = graph_bytes,
};

/* fixed-base.c - `ge-fixed-base`: the static memory of all graphs at one address
 * (FixedBaseExpandableAllocator), dynamic memory as in ge-scalable.
 *
 * What a trace means here: all segments of every graph are fixed ones, so that each graph begins at
 * the base of one range.  Graphs overlap on purpose, as they never run at once, and the largest
 * decides how much is backed.  Nothing is returned before the last graph is unloaded.  Ordinary
 * requests are served by the pools of ge-scalable.  Where the device refuses the range or its
 * pages, a graph has an allocation of its own (static.h).
 * Cost: a load O(pages that are added), requests as in ge-scalable.
 * Origin: ge-runtime.md 5.10, 7.2.
 */
#include "config.h"

#include "allocators/ge/beside.h"
#include "allocators/ge/page-params.h"
#include "traces/trace.h"

typedef struct
{
  GeStackParams stack; /* first: the rows of the stack count from here */
  GePageParams pages;
} Params;

static const GememParam params[] = { GE_PAGE_SIZE_ROW (Params, pages),
                                     GE_STACK_PARAM_ROWS,
                                     { NULL } };

typedef struct
{
  GeBeside beside;
  GePages pages; /* of the range, if they are large; small ones are in beside.memory */
} FixedBase;

extern const GememAllocatorClass gemem_ge_fixed_base_class;

static GememAllocator *
create (gconstpointer data, GememDevice *device, GError **error)
{
  const Params *p = data;
  GeStaticOptions options = { .mode = GE_STATIC_OWN, .fixed = GE_FIXED_SHARED };
  FixedBase *self = g_new0 (FixedBase, 1);

  if (!gemem_ge_beside_init (&self->beside, &gemem_ge_fixed_base_class, &p->stack, 0, device,
                             error))
    {
      g_free (self);
      return NULL;
    }
  gemem_ge_pages_init (&self->pages, device, GE_LARGE_PAGE, GE_1G_NO);
  options.pages = p->pages.page_size == GE_PAGE_SIZE_8M ? &self->pages : NULL;
  options.total = gemem_ge_device_memory (p->stack.total, device,
                                          self->beside.stack->config.threshold);
  gemem_ge_static_init (&self->beside.memory, device, &options);
  return &self->beside.base;
}

static void
destroy (GememAllocator *allocator)
{
  FixedBase *self = (FixedBase *) allocator;

  gemem_ge_static_clear (&self->beside.memory);
  gemem_ge_run_order_clear (&self->beside.order);
  gemem_ge_pages_clear (&self->pages);
  gemem_ge_stack_destroy (&self->beside.stack->base);
  g_free (self);
}

/* ---- graphs */

static gboolean
graph_load (GememAllocator *allocator, guint64 id, guint64 stream,
            const GememGraphSegment *segments, guint n, guint64 *address)
{
  g_autofree GememGraphSegment *fixed = g_memdup2 (segments, n * sizeof (GememGraphSegment));

  for (guint i = 0; i < n; i++)
    fixed[i].flags |= GEMEM_GRAPH_SEGMENT_FIXED;
  return gemem_ge_beside_graph_load (allocator, id, stream, fixed, n, address);
}

static void
stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const FixedBase *self = (const FixedBase *) allocator;

  func ("static.fixed_count", self->beside.memory.fixed.used_count, "", data);
  func ("static.fixed_phys", self->beside.memory.fixed.backing.phys, "B", data);
  gemem_ge_beside_stats (allocator, func, data);
}

const GememAllocatorClass gemem_ge_fixed_base_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-fixed-base",
  .summary = "Ascend GE fixed memory: all graphs at one address, beside the dynamic pools",
  .origin = "Ascend Graph Engine of 2026-08-21; ge-runtime.md 5.10",
  .known_as = "FixedBaseExpandableAllocator",
  GE_BESIDE_MEMBERS,
  .graphs.load = graph_load,
  .report.stats = stats,
};

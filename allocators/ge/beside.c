/* beside.c - see beside.h. */
#include "config.h"

#include "allocators/ge/beside.h"
#include "allocators/spans.h"

gboolean
gemem_ge_beside_init (GeBeside *self, const GememAllocatorClass *klass, const GeStackParams *params,
                      guint64 large_page, GememDevice *device, GError **error)
{
  GeStackParams p = *params;
  GememAllocator *stack;

  p.stack = GE_STACK_TWO;
  stack = gemem_ge_stack_create (klass, &p, large_page, device, error);
  self->base.klass = klass;
  self->base.device = device;
  self->stack = (GeStack *) stack;
  if (stack != NULL)
    {
      gemem_ge_run_order_init (&self->order);
      gemem_ge_stack_speak_as (self->stack, &self->base);
    }
  return stack != NULL;
}

/* ---- graphs */

gboolean
gemem_ge_beside_graph_load (GememAllocator *allocator, guint64 id, guint64 stream,
                            const GememGraphSegment *segments, guint n, guint64 *address)
{
  return gemem_ge_static_load (&((GeBeside *) allocator)->memory, id, stream, segments, n, address);
}

gboolean
gemem_ge_beside_graph_run (GememAllocator *allocator, guint64 id, guint64 stream, gboolean begin)
{
  GeBeside *self = (GeBeside *) allocator;
  const guint64 shared = gemem_ge_static_shared (&self->memory, id);

  if (begin && shared > 0)
    self->concurrent_runs += !gemem_ge_run_order_check (&self->order, allocator, id, stream,
                                                        "of the session", FALSE);
  if (!gemem_ge_static_run (&self->memory, id, begin))
    return FALSE;
  if (!begin)
    gemem_ge_run_order_end (&self->order, id);
  else if (shared > 0)
    gemem_ge_run_order_begin (&self->order, id, stream, shared);
  return TRUE;
}

void
gemem_ge_beside_graph_unload (GememAllocator *allocator, guint64 id)
{
  GeBeside *self = (GeBeside *) allocator;

  gemem_ge_run_order_end (&self->order, id);
  gemem_ge_static_unload (&self->memory, id);
}

void
gemem_ge_beside_graph_walk (GememAllocator *allocator, guint64 id, GememSpanFunc func,
                            gpointer data)
{
  gemem_ge_static_walk_graph (&((GeBeside *) allocator)->memory, id, func, data);
}

guint64
gemem_ge_beside_graph_bytes (GememAllocator *allocator)
{
  return gemem_ge_static_bytes (&((GeBeside *) allocator)->memory);
}

guint64
gemem_ge_beside_graph_need (GememAllocator *allocator)
{
  const GeBeside *self = (const GeBeside *) allocator;

  return gemem_ge_static_need_of_all (&self->memory, gemem_ge_run_order_bytes (&self->order));
}

/* ---- the order of runs */

void
gemem_ge_beside_sync (GememAllocator *allocator, guint64 stream)
{
  gemem_ge_run_order_sync (&((GeBeside *) allocator)->order, stream);
}

void
gemem_ge_beside_record (GememAllocator *allocator, guint64 id, guint64 stream,
                        G_GNUC_UNUSED guint64 to)
{
  gemem_ge_run_order_record (&((GeBeside *) allocator)->order, id, stream);
}

void
gemem_ge_beside_wait (GememAllocator *allocator, guint64 id, guint64 stream)
{
  gemem_ge_run_order_wait (&((GeBeside *) allocator)->order, id, stream);
}

/* ---- dynamic requests */

gboolean
gemem_ge_beside_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  GeBeside *self = (GeBeside *) allocator;
  const gboolean served = gemem_ge_stack_alloc (&self->stack->base, request, block);

  allocator->retries = self->stack->base.retries;
  return served;
}

void
gemem_ge_beside_free (GememAllocator *allocator, const GememBlock *block,
                      gboolean completion_follows)
{
  gemem_ge_stack_free (&((GeBeside *) allocator)->stack->base, block, completion_follows);
}

void
gemem_ge_beside_trim (GememAllocator *allocator)
{
  gemem_ge_stack_trim (&((GeBeside *) allocator)->stack->base);
}

guint64
gemem_ge_beside_largest_free (GememAllocator *allocator, guint64 stream)
{
  return gemem_ge_stack_largest_free (&((GeBeside *) allocator)->stack->base, stream);
}

/* ---- reports */

void
gemem_ge_beside_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  GeBeside *self = (GeBeside *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  gemem_ge_stack_walk (&self->stack->base, gemem_spans_append, spans);
  gemem_ge_static_walk (&self->memory, spans);
  gemem_spans_report (spans, func, data);
}

gboolean
gemem_ge_beside_check (GememAllocator *allocator, GError **error)
{
  GeBeside *self = (GeBeside *) allocator;

  return gemem_ge_stack_check (&self->stack->base, error)
         && gemem_ge_static_check (&self->memory, allocator->klass->name, error);
}

void
gemem_ge_beside_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  GeBeside *self = (GeBeside *) allocator;

  func ("concurrent_runs", self->concurrent_runs, "", data);
  gemem_ge_static_stats (&self->memory, func, data);
  gemem_ge_stack_stats (&self->stack->base, func, data);
}

void
gemem_ge_beside_report (GememAllocator *allocator, GString *text)
{
  gemem_ge_stack_report (&((GeBeside *) allocator)->stack->base, text);
}

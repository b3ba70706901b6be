/* engine-report.c - spans, invariants and statistics of `ge`; see engine.h.  Not on the event path.
 *
 * Dynamic blocks that are memory of graphs (static subgraphs) are no blocks of the program, and
 * OVERHEAD like all static memory.
 */
#include "config.h"

#include "allocators/ge/engine.h"

/* Reports live spans that are memory of graphs as OVERHEAD. */
static void
hide_inner (const GeEngine *ge, GArray *spans)
{
  for (guint i = 0; gemem_idmap_count (ge->inner) > 0 && i < spans->len; i++)
    {
      GememSpan *span = &g_array_index (spans, GememSpan, i);

      if (span->state != GEMEM_SPAN_LIVE || gemem_idmap_lookup (ge->inner, span->address) == NULL)
        continue;
      span->state = GEMEM_SPAN_OVERHEAD;
      span->user = 0;
    }
}

void
gemem_ge_report_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const GeEngine *ge = (const GeEngine *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));

  gemem_ge_stack_walk (&ge->hbm->base, gemem_spans_append, spans);
  if (ge->p2p != NULL)
    gemem_ge_stack_walk (&ge->p2p->base, gemem_spans_append, spans);
  gemem_ge_other_walk (&ge->others, gemem_spans_append, spans);
  hide_inner (ge, spans);
  gemem_ge_static_walk (&ge->memory, spans);
  gemem_spans_report (spans, func, data);
}

gboolean
gemem_ge_report_check (GememAllocator *allocator, GError **error)
{
  const GeEngine *ge = (const GeEngine *) allocator;
  const char *name = allocator->klass->name;

  if (!gemem_ge_stack_check (&ge->hbm->base, error)
      || (ge->p2p != NULL && !gemem_ge_stack_check (&ge->p2p->base, error))
      || !gemem_ge_other_check (&ge->others, name, error)
      || !gemem_ge_static_check (&ge->memory, name, error))
    return FALSE;
  if (ge->loaded.length == gemem_idmap_count (ge->memory.graphs))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "%s: %u graphs are listed as loaded, %" G_GUINT64_FORMAT " have static memory", name,
               ge->loaded.length, gemem_idmap_count (ge->memory.graphs));
  return FALSE;
}

typedef struct
{
  GememStatFunc func;
  gpointer data;
} Prefixed;

static void
add_p2p (const char *name, guint64 value, const char *unit, gpointer data)
{
  const Prefixed *to = data;
  g_autofree char *prefixed = g_strconcat ("p2p.", name, NULL);

  to->func (prefixed, value, unit, to->data);
}

void
gemem_ge_report_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const GeEngine *ge = (const GeEngine *) allocator;
  Prefixed p2p = { func, data };

  func ("static_memory_policy", ge->policy, "", data);
  func ("device_id", (guint64) allocator->device->ordinal, "", data);
  func ("concurrent_runs", ge->concurrent_runs, "", data);
  func ("check_free_memory.unloaded", ge->unloaded, "", data);
  func ("check_free_memory.reloaded", ge->reloaded, "", data);
  func ("subgraphs.bytes", ge->inner_bytes, "B", data);
  gemem_ge_static_stats (&ge->memory, func, data);
  gemem_ge_other_stats (&ge->others, func, data);
  gemem_ge_stack_stats (&ge->hbm->base, func, data);
  if (ge->p2p != NULL)
    gemem_ge_stack_stats (&ge->p2p->base, add_p2p, &p2p);
}

void
gemem_ge_report_text (GememAllocator *allocator, GString *text)
{
  const GeEngine *ge = (const GeEngine *) allocator;

  gemem_ge_stack_report (&ge->hbm->base, text);
  if (ge->p2p != NULL)
    gemem_ge_stack_report (&ge->p2p->base, text);
}

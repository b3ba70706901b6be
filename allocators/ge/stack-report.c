/* stack-report.c - spans, invariants and statistics of a stack of GE pools; see stack.h. */
#include "config.h"

#include <string.h>

#include "allocators/ge/stack.h"
#include "allocators/spans.h"

guint64
gemem_ge_stack_largest_pages (const GeStack *self, const GeL1 *l1, guint64 limit)
{
  guint64 pages = 0, longest = 0, below = 0;

  if (l1 == NULL && self->pages != NULL && self->config.threshold > self->pages->page_size)
    return 0; /* the new pool will ask for its range */
  if (l1 != NULL)
    {
      longest = gemem_ge_pool_largest_idle (&l1->pool, limit);
      pages = l1->pool.expandable != NULL ? gemem_ge_expandable_largest_backed (&l1->pool)
                                          : longest;
      limit = MIN (limit, gemem_ge_pool_growth_limit (&l1->pool));
    }
  /* A request that finds nothing idle in L1 goes to the bottom pool, if L1's own threshold allows.
   * Without cutting that is one that is not exactly as long as an idle span. */
  if (self->stack != GE_STACK_SINGLE)
    below = gemem_ge_pool_largest_idle (&self->bottom, limit);
  if (below > longest
      || (self->config.span_layer_lift_max == 0 && l1 != NULL
          && gemem_ge_layers_front (&l1->pool.layers, (guint32) below) == NULL))
    pages = MAX (pages, below);
  return pages;
}

guint64
gemem_ge_stack_largest_free (GememAllocator *allocator, guint64 stream)
{
  GeStack *self = (GeStack *) allocator;

  return gemem_ge_stack_largest_pages (self, gemem_ge_stack_find (self, stream), G_MAXUINT64)
         << self->config.page_shift;
}

/* ---- walk: spans are collected, then reported in the order of their addresses */

typedef struct
{
  const GeStack *stack;
  GArray *spans;
  const GeL1 *owner; /* of the virtual range that is walked */
} Walk;

static void
add (const Walk *walk, const GeRoot *segment, const GeSpan *span, const GeL1 *owner)
{
  GememSpan out = { .address = span->address, .size = gemem_ge_span_bytes (span) };

  if (owner != NULL)
    {
      out.stream = owner->stream;
      out.pool = owner->model;
    }

  out.segment = segment->first->address;
  out.segment_size = (guint64) segment->pages << segment->pool->config.page_shift;
  out.state = span->occupied ? GEMEM_SPAN_LIVE : GEMEM_SPAN_FREE;
  out.user = span->occupied ? span->address : 0;
  if (span->occupied && walk->stack->describe != NULL)
    walk->stack->describe (span, &out);
  g_array_append_val (walk->spans, out);
}

static void
walk_chain (const Walk *walk, const GeRoot *segment, const GeSpan *first, const GeL1 *owner)
{
  for (const GeSpan *span = first; span != NULL; span = span->next)
    if (span->occupied && span->upper != NULL)
      {
        /* The pool above knows which parts of the block are live. */
        const GeSpan *inner = span->upper->first;

        walk_chain (walk, segment, inner, (const GeL1 *) inner->root->pool);
      }
    else
      add (walk, segment, span, owner);
}

static void
walk_pool (const Walk *walk, const GeSpanPool *pool, const GeL1 *owner)
{
  for (const GeRoot *root = pool->roots; root != NULL; root = root->next)
    walk_chain (walk, root, root->first, owner);
}

/* The range of a fixed-size pool, in use or lost. */
static void
walk_fixed (const Walk *walk)
{
  const GeStack *self = walk->stack;
  const GememSpan lost = {
    self->fixed, self->fixed_size, self->fixed, self->fixed_size, 0, 0, GEMEM_SPAN_OVERHEAD, 0
  };

  if (self->bottom.fixed.first != NULL)
    walk_chain (walk, &self->bottom.fixed, self->bottom.fixed.first, NULL);
  else if (self->fixed != 0)
    g_array_append_val (walk->spans, lost);
}

static void
append_span (const GememSpan *span, gpointer data)
{
  const Walk *walk = data;
  GememSpan out = *span;

  out.pool = walk->owner->model;
  g_array_append_val (walk->spans, out);
}

void
gemem_ge_stack_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  GeStack *self = (GeStack *) allocator;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));
  Walk walk = { self, spans, NULL };

  if (self->stack != GE_STACK_SINGLE)
    walk_pool (&walk, &self->bottom, NULL);
  walk_fixed (&walk);
  for (guint i = 0; i < self->pools->len; i++)
    {
      const GeL1 *l1 = g_ptr_array_index (self->pools, i);

      if (self->stack == GE_STACK_SINGLE)
        walk_pool (&walk, &l1->pool, l1);
      walk.owner = l1;
      if (l1->pool.expandable != NULL)
        gemem_ge_expandable_walk (&l1->pool, l1->stream, append_span, &walk);
    }
  gemem_spans_report (spans, func, data);
}

/* Bytes that the L1 pools have: from below, and pages under their ranges. */
static void
sum_obtained (const GeStack *self, guint64 *from_bottom, guint64 *pages)
{
  *from_bottom = *pages = 0;
  for (guint i = 0; i < self->pools->len; i++)
    {
      const GeSpanPool *pool = &((const GeL1 *) g_ptr_array_index (self->pools, i))->pool;
      const guint64 phys = pool->expandable != NULL ? pool->expandable->range.phys : 0;

      *pages += phys;
      *from_bottom += pool->obtained - phys;
    }
}

gboolean
gemem_ge_stack_check (GememAllocator *allocator, GError **error)
{
  GeStack *self = (GeStack *) allocator;
  const char *name = allocator->klass->name;
  g_autofree char *l1_name = g_strconcat (name, ": L1 pool", NULL),
                  *bottom_name = g_strconcat (name, ": bottom pool", NULL);
  guint64 from_bottom, pages, held;

  for (guint i = 0; i < self->pools->len; i++)
    if (!gemem_ge_pool_check (&((const GeL1 *) g_ptr_array_index (self->pools, i))->pool, l1_name,
                              error))
      return FALSE;
  sum_obtained (self, &from_bottom, &pages);
  held = from_bottom;
  if (self->stack != GE_STACK_SINGLE)
    {
      if (!gemem_ge_pool_check (&self->bottom, bottom_name, error))
        return FALSE;
      if (self->stack == GE_STACK_TWO && from_bottom != self->bottom.theory)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       "%s: L1 pools hold %" G_GUINT64_FORMAT
                       " bytes, the bottom pool lent %" G_GUINT64_FORMAT,
                       name, from_bottom, self->bottom.theory);
          return FALSE;
        }
      held = self->bottom.obtained + (self->fixed != 0 ? self->fixed_size : 0);
    }
  held += pages;
  if (held > self->base.device->held)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                   "%s: pools hold %" G_GUINT64_FORMAT
                   " bytes, the device lent only %" G_GUINT64_FORMAT,
                   name, held, self->base.device->held);
      return FALSE;
    }
  return TRUE;
}

/* 1.8. */
void
gemem_ge_pool_stats (const GeSpanPool *pool, const char *prefix, GememStatFunc func, gpointer data)
{
  const struct
  {
    const char *name;
    guint64 value;
    const char *unit;
  } rows[] = {
    { "occupied_size", pool->obtained, "B" },
    { "idle_size", gemem_ge_pool_idle_bytes (pool), "B" },
    /* what Finalize would answer now */
    { "finalize_failed", pool->alloc_count != pool->free_count, "" },
    { "theory", pool->theory, "B" },
    { "real_theory", pool->real_theory, "B" },
    { "theory_min", pool->theory_min, "B" },
    { "real_theory_min", pool->real_theory_min, "B" },
    { "reach_theory_rate", gemem_ge_pool_reach_theory_rate (pool), GEMEM_STAT_RATE },
    { "alloc_count", pool->alloc_count, "" },
    { "free_count", pool->free_count, "" },
    { "failures", pool->failures, "" },
    { "recycle_count", pool->recycle_count, "" },
    { "device_alloc_count", pool->root_alloc_count, "" },
    { "device_free_count", pool->root_free_count, "" },
    { "phys", pool->expandable != NULL ? pool->expandable->range.phys : 0, "B" },
    { "new_va_size", pool->expandable != NULL ? pool->expandable->new_va_size : 0, "B" },
    { "new_va_count", pool->expandable != NULL ? pool->expandable->new_va_count : 0, "" },
  };
  const guint n = pool->expandable != NULL ? G_N_ELEMENTS (rows) : G_N_ELEMENTS (rows) - 3;

  for (guint i = 0; i < n; i++)
    {
      char name[96];
      g_snprintf (name, sizeof name, "%s%s", prefix, rows[i].name);
      func (name, rows[i].value, rows[i].unit, data);
    }
}

void
gemem_ge_stack_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  GeStack *self = (GeStack *) allocator;
  guint64 from_bottom, pages;

  sum_obtained (self, &from_bottom, &pages);
  func ("pool", gemem_ge_stack_is_one_pool (self) ? self->bottom.obtained : from_bottom + pages,
        "B", data);
  func ("page_mem_size_total_threshold", self->config.threshold, "B", data);
  func ("memory_pool_threshold_refused", self->threshold_refused, "", data);
  func ("stream_syncs", self->syncs, "", data);
  func ("l1_pools", self->pools->len, "", data);
  if (self->pages != NULL)
    {
      func ("virtual_memory_unsupported", self->unsupported, "", data);
      func ("physical_pages", self->pages->pages->len, "", data);
    }
  for (guint i = 0; i < self->pools->len; i++)
    {
      const GeL1 *l1 = g_ptr_array_index (self->pools, i);
      char prefix[48] = "";
      if (self->by_model != NULL)
        g_snprintf (prefix, sizeof prefix, "pool%u.", l1->model);
      g_snprintf (prefix + strlen (prefix), sizeof prefix - strlen (prefix),
                  "stream%" G_GUINT64_FORMAT ".", l1->stream);
      gemem_ge_pool_stats (&l1->pool, prefix, func, data);
    }
  if (self->stack != GE_STACK_SINGLE)
    gemem_ge_pool_stats (&self->bottom, self->stack == GE_STACK_FIXED ? "fixed." : "rts.", func,
                         data);
}

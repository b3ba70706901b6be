/* scalable-check.c - the invariants of a ScalableAllocator pool, verified from its structures
 * alone.
 *
 * What: walks every root block's chain (links, addresses, lengths, no two idle neighbours), then
 * every layer (links, lengths, bitmaps), and compares both with the counters.  A pool below is
 * compared with the pool above through `upper`.
 * Cost: O(spans + layers ever used); not on the event path.
 * Origin: ge-runtime.md 1.2, 1.7, 1.8.
 */
#include "config.h"

#include "allocators/ge/expandable-pool.h"
#include "allocators/ge/scalable-pool.h"

typedef struct
{
  guint64 obtained, roots;
  guint64 live, real; /* bytes */
  guint64 idle_spans, idle_pages;
} Totals;

/* What the pool above knows of the block that @span is. */
static gboolean
check_upper (const GeSpan *span, const char *what, GError **error)
{
  const GeRoot *upper = span->upper;

  if (upper == NULL)
    return TRUE;
  if (upper->handle != span || upper->first->address != span->address
      || upper->pages != span->pages)
    return GE_BROKEN ("%s: the pool above disagrees on the block at 0x%" G_GINT64_MODIFIER "x",
                      what, span->address);
  return TRUE;
}

static gboolean
check_span (const GeRoot *root, const GeSpan *span, guint64 address, const GeSpan *prev,
            const char *what, Totals *totals, GError **error)
{
  if (span->root != root || span->prev != prev || span->address != address
      || (span->pages == 0 && root->pool->expandable == NULL))
    return GE_BROKEN ("%s: broken chain at 0x%" G_GINT64_MODIFIER "x, 0x%" G_GINT64_MODIFIER
                      "x expected",
                      what, span->address, address);
  if (span->hidden)
    return span->occupied
           || GE_BROKEN ("%s: an idle span at 0x%" G_GINT64_MODIFIER "x is hidden", what,
                         span->address);
  if (span->occupied)
    {
      if (span->waste > root->pool->page)
        return GE_BROKEN ("%s: block 0x%" G_GINT64_MODIFIER "x wastes a page or more", what,
                          span->address);
      totals->live += gemem_ge_span_bytes (span);
      totals->real += gemem_ge_span_real (span);
      return check_upper (span, what, error);
    }
  if (prev != NULL && !prev->occupied)
    return GE_BROKEN ("%s: idle neighbours at 0x%" G_GINT64_MODIFIER "x were not merged", what,
                      span->address);
  totals->idle_spans++;
  totals->idle_pages += span->pages;
  return TRUE;
}

static gboolean
check_root (const GeSpanPool *pool, const GeRoot *root, const char *what, Totals *totals,
            GError **error)
{
  const GeSpan *prev = NULL;
  guint64 pages = 0, base = root->first->address;

  for (const GeSpan *span = root->first; span != NULL; prev = span, span = span->next)
    {
      if (!check_span (root, span, base + (pages << pool->config.page_shift), prev, what, totals,
                       error))
        return FALSE;
      pages += span->pages;
    }
  if (root->pool != pool || pages != root->pages)
    return GE_BROKEN ("%s: root block 0x%" G_GINT64_MODIFIER "x has %" G_GUINT64_FORMAT
                      " pages in its chain, %u expected",
                      what, base, pages, root->pages);
  return TRUE;
}

/* The spans of the range, which is no root block of the lower level, the pages under them, and the
 * new-VA blocks. */
static gboolean
check_expandable (const GeSpanPool *pool, const char *what, Totals *totals, GError **error)
{
  const GeExpandable *x = pool->expandable;

  if (!check_root (pool, &x->root, what, totals, error)
      || !gemem_ge_expandable_check (pool, what, error))
    return FALSE;
  totals->obtained += x->range.phys;
  for (const GeNewVa *v = x->all; v != NULL; v = v->all_next)
    if (v->span.occupied)
      {
        totals->live += gemem_ge_span_bytes (&v->span);
        totals->real += gemem_ge_span_real (&v->span);
      }
  return TRUE;
}

static gboolean
check_layer (const GeSpanPool *pool, guint32 k, const char *what, Totals *totals, GError **error)
{
  const GeSpan *prev = NULL;

  for (const GeSpan *span = gemem_ge_layers_front (&pool->layers, k); span != NULL;
       prev = span, span = span->layer_next)
    {
      if (span->pages != k || span->occupied || span->layer_prev != prev
          || span->root->pool != pool)
        return GE_BROKEN ("%s: span 0x%" G_GINT64_MODIFIER "x does not belong in layer %u", what,
                          span->address, k);
      if (totals->idle_spans-- == 0)
        return GE_BROKEN ("%s: layer %u holds a span twice", what, k);
      totals->idle_pages -= span->pages;
    }
  if (prev == NULL)
    return GE_BROKEN ("%s: layer %u is empty but in the set of layers in use", what, k);
  return TRUE;
}

static gboolean
check_counters (const GeSpanPool *pool, const Totals *totals, const char *what, GError **error)
{
  const struct
  {
    const char *name;
    guint64 value, expected;
  } rows[] = {
    { "obtained", pool->obtained, totals->obtained },
    { "theory", pool->theory, totals->live },
    { "real_theory", pool->real_theory, totals->real },
    { "idle_pages", pool->idle_pages, totals->idle_pages },
    { "root blocks", pool->root_alloc_count - pool->root_free_count, totals->roots },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (rows[i].value != rows[i].expected)
      return GE_BROKEN ("%s: %s is %" G_GUINT64_FORMAT ", the spans say %" G_GUINT64_FORMAT, what,
                        rows[i].name, rows[i].value, rows[i].expected);
  if (pool->theory_min < pool->theory || pool->real_theory_min < pool->real_theory)
    return GE_BROKEN ("%s: a maximum lies below the current value", what);
  return TRUE;
}

gboolean
gemem_ge_pool_check (const GeSpanPool *pool, const char *what, GError **error)
{
  Totals totals = { 0 }, unseen;

  for (const GeRoot *root = pool->roots; root != NULL; root = root->next)
    {
      if (!check_root (pool, root, what, &totals, error))
        return FALSE;
      totals.obtained += (guint64) root->pages << pool->config.page_shift;
      totals.roots++;
    }
  if (pool->fixed.first != NULL && !check_root (pool, &pool->fixed, what, &totals, error))
    return FALSE;
  if (pool->expandable != NULL && !check_expandable (pool, what, &totals, error))
    return FALSE;
  unseen = totals;
  for (guint32 k = gemem_ge_layers_next (&pool->layers, 0); k != GE_LAYER_NONE;
       k = gemem_ge_layers_next (&pool->layers, k + 1))
    if (!check_layer (pool, k, what, &unseen, error))
      return FALSE;
  if (unseen.idle_spans != 0 || unseen.idle_pages != 0)
    return GE_BROKEN ("%s: %" G_GUINT64_FORMAT " idle spans are in no layer", what,
                      unseen.idle_spans);
  return check_counters (pool, &totals, what, error);
}

/* expandable-pool.c - see expandable-pool.h; the section numbers are those of
 * ge-runtime.md. */
#include "config.h"

#include <string.h>

#include "allocators/ge/expandable-pool.h"
#include "allocators/ge/links.h"

/* ---- init and clear (5.2) */

gboolean
gemem_ge_expandable_init (GeSpanPool *pool, GePages *pages)
{
  GeExpandable *x;

  if (pool->config.threshold <= pages->page_size)
    return FALSE;
  x = g_new0 (GeExpandable, 1);
  if (!gemem_ge_range_init (&x->range, pages, pool->config.threshold - pages->page_size))
    {
      g_free (x);
      return FALSE;
    }
  x->held = g_ptr_array_new ();
  pool->expandable = x;
  gemem_ge_pool_add_range (pool, &x->root, x->range.base, x->range.size >> pool->config.page_shift);
  return TRUE;
}

static void
free_new_va (GeExpandable *x, GeNewVa *v)
{
  GE_UNLINK (x->all, v, all_prev, all_next);
  gemem_ge_range_unmap_elsewhere (&x->range, v->span.address, v->records, v->n);
  g_free (v);
}

void
gemem_ge_expandable_clear (GeSpanPool *pool)
{
  GeExpandable *x = pool->expandable;

  while (x->all != NULL)
    free_new_va (x, x->all);
  gemem_ge_range_clear (&x->range);
  g_ptr_array_unref (x->held);
  g_free (x->idle);
  g_free (x);
}

/* ---- setting spans aside (5.4) */

static void
hold (GeExpandable *x, GeSpan *span)
{
  span->occupied = TRUE;
  g_ptr_array_add (x->held, span);
}

static void
release_held (GeSpanPool *pool)
{
  GeExpandable *x = pool->expandable;

  for (guint i = 0; i < x->held->len; i++)
    gemem_ge_pool_merge (pool, x->held->pdata[i]);
  g_ptr_array_set_size (x->held, 0);
}

/* @span is lost: no block, in no layer, and it never merges again. */
static void
lose (GeSpan *span)
{
  span->occupied = span->hidden = TRUE;
}

/* The candidate covers pages that are mapped elsewhere: sets @reuse bytes of its top aside, so that
 * the next candidate lies below.  They count whole pages of the range and may exceed a span that
 * ends within one: the real system then loses all of it. */
static void
step_aside (GeSpanPool *pool, GeSpan *span, guint64 reuse)
{
  const guint64 pages = reuse >> pool->config.page_shift;

  if (pages == 0)
    {
      hold (pool->expandable, span);
      return;
    }
  span = gemem_ge_pool_merge (pool, span);
  if (pages <= span->pages)
    hold (pool->expandable, gemem_ge_pool_cut (pool, span, (guint32) pages));
  else
    {
      gemem_ge_pool_take_idle (pool, span);
      lose (span);
    }
}

/* ---- new-VA blocks (5.5) */

static void
push_new_va (GeExpandable *x, GeNewVa *v)
{
  if (v->n >= x->n_idle)
    {
      x->idle = g_renew (GeNewVa *, x->idle, v->n + 1);
      while (x->n_idle <= v->n)
        x->idle[x->n_idle++] = NULL;
    }
  GE_LINK_FIRST (x->idle[v->n], v, prev, next);
}

static GeNewVa *
pop_new_va (GeExpandable *x, guint n)
{
  GeNewVa *v = n < x->n_idle ? x->idle[n] : NULL;

  if (v != NULL)
    GE_UNLINK (x->idle[n], v, prev, next);
  return v;
}

/* An idle new-VA block of @n pages none of which is in use, or NULL.  Rejected ones go back to the
 * front in the order in which they were inspected. */
static GeNewVa *
take_idle_new_va (GeExpandable *x, guint n)
{
  g_autoptr (GPtrArray) rejected = g_ptr_array_new ();
  GeNewVa *v;

  while (rejected->len < GE_EXPANDABLE_TRIES && (v = pop_new_va (x, n)) != NULL)
    {
      if (gemem_ge_range_claim (&x->range, v->records, n))
        break;
      g_ptr_array_add (rejected, v);
      v = NULL;
    }
  if (rejected->len == GE_EXPANDABLE_TRIES)
    v = NULL;
  for (guint i = 0; i < rejected->len; i++)
    push_new_va (x, rejected->pdata[i]);
  return v;
}

static GeNewVa *
make_new_va (GeSpanPool *pool, const guint32 *records, guint n)
{
  GeExpandable *x = pool->expandable;
  const guint64 address = gemem_ge_range_map_elsewhere (&x->range, records, n);
  GeNewVa *v;

  if (address == 0)
    return NULL;
  v = g_malloc0 (sizeof (GeNewVa) + n * sizeof (guint32));
  v->n = n;
  memcpy (v->records, records, n * sizeof (guint32));
  v->span.address = address;
  v->span.pages = (guint32) (n * (x->range.page_size >> pool->config.page_shift));
  v->span.root = &x->root;
  v->span.new_va = TRUE;
  GE_LINK_FIRST (x->all, v, all_prev, all_next);
  x->used_new_va = TRUE;
  x->new_va_size += n * x->range.page_size;
  x->new_va_count++;
  return v;
}

/* Serves the request of the candidate @span with the pages in the range's list, mapped together;
 * @reuse bytes of @span become hidden. */
static GeSpan *
serve_elsewhere (GeSpanPool *pool, GeSpan *span, guint64 reuse)
{
  GeExpandable *x = pool->expandable;
  const guint32 *records = (const guint32 *) (gconstpointer) x->range.list->data;
  const guint n = x->range.list->len;
  guint64 rest = reuse > x->range.page_size ? reuse % x->range.page_size : 0;
  GeSpan *top = NULL, *hidden;
  GeNewVa *v;

  span = gemem_ge_pool_merge (pool, span);
  if (rest > 0)
    {
      top = gemem_ge_pool_cut (pool, span, (guint32) (rest >> pool->config.page_shift));
      top->occupied = TRUE;
    }
  hidden = gemem_ge_pool_cut (
      pool, span, (guint32) MIN ((reuse - rest) >> pool->config.page_shift, span->pages));
  hidden->occupied = hidden->hidden = TRUE;
  if (top != NULL)
    gemem_ge_pool_merge (pool, top);
  v = take_idle_new_va (x, n);
  if (v != NULL)
    gemem_ge_range_push (&x->range, records, n);
  else
    v = make_new_va (pool, records, n);
  if (v == NULL)
    {
      gemem_ge_pool_merge (pool, hidden);
      return NULL;
    }
  v->hidden = hidden;
  return &v->span;
}

/* ---- requests */

/* Steps 1 to 4 of 1.3: a candidate in no layer, not yet occupied; NULL when refused.  *again: a
 * span was set aside, ask once more. */
static GeSpan *
find_candidate (GeSpanPool *pool, guint32 k, guint *attempts, gboolean *again)
{
  GeExpandable *x = pool->expandable;
  GeSpan *span = gemem_ge_layers_front (&pool->layers, k);

  *again = FALSE;
  if (span != NULL)
    {
      gemem_ge_pool_take_idle (pool, span);
      return span;
    }
  span = gemem_ge_pool_find_longer (pool, k);
  if (span != NULL && *attempts > GE_EXPANDABLE_PATIENCE && span->address != x->range.base)
    {
      gemem_ge_pool_take_idle (pool, span);
      hold (x, span);
      *attempts = 0;
      *again = TRUE;
      return NULL;
    }
  return gemem_ge_pool_cut_or_fetch (pool, span, k);
}

/* @span with memory under it, or the new-VA block that serves instead; NULL when refused.  *again:
 * an obstacle was set aside. */
static GeSpan *
back (GeSpanPool *pool, GeSpan *span, gboolean *again)
{
  GeExpandable *x = pool->expandable;
  const guint64 phys = x->range.phys;
  guint64 reuse;
  GeBacking backing;

  *again = FALSE;
  if (!gemem_ge_range_contains (&x->range, span->address))
    return span;
  backing = gemem_ge_range_back (&x->range, span->address, gemem_ge_pool_bytes (pool, span->pages),
                                 &reuse);
  /* less after a failure: the difference wraps, the sum does not */
  pool->obtained += x->range.phys - phys;
  switch (backing)
    {
    case GE_BACKED:
      return span;
    case GE_BACK_USING:
      step_aside (pool, span, reuse);
      *again = TRUE;
      return NULL;
    case GE_BACK_NEW_VA:
      return serve_elsewhere (pool, span, reuse);
    case GE_BACK_FAILED:
      break;
    }
  gemem_ge_pool_merge (pool, span);
  return NULL;
}

GeSpan *
gemem_ge_expandable_alloc (GeSpanPool *pool, guint32 k)
{
  GeExpandable *x = pool->expandable;
  GeSpan *span = NULL;
  gboolean again = TRUE;
  guint attempts = 0;

  for (guint tries = 0; again && tries < GE_EXPANDABLE_TRIES; tries++)
    {
      attempts++;
      span = find_candidate (pool, k, &attempts, &again);
      if (span != NULL)
        span = back (pool, span, &again);
    }
  if (span != NULL)
    span->occupied = TRUE; /* what was held does not merge with it */
  if (x->held->len > 0)
    release_held (pool);
  return span;
}

void
gemem_ge_expandable_free (GeSpanPool *pool, GeSpan *span)
{
  GeExpandable *x = pool->expandable;

  if (span->new_va)
    {
      GeNewVa *v = (GeNewVa *) span;

      span->occupied = FALSE;
      span->waste = 0;
      gemem_ge_range_unclaim (&x->range, v->records, v->n);
      gemem_ge_pool_merge (pool, v->hidden);
      v->hidden = NULL;
      push_new_va (x, v);
      return;
    }
  if (gemem_ge_range_contains (&x->range, span->address))
    gemem_ge_range_unback (&x->range, span->address, gemem_ge_pool_bytes (pool, span->pages));
  gemem_ge_pool_merge (pool, span);
}

/* ---- recycle (5.6) */

void
gemem_ge_expandable_drop_idle (GeSpanPool *pool)
{
  GeExpandable *x = pool->expandable;
  const guint64 phys = x->range.phys;
  GeNewVa *v;

  for (guint n = 0; x->used_new_va && n < x->n_idle; n++)
    while ((v = pop_new_va (x, n)) != NULL)
      free_new_va (x, v);
  pool->obtained -= phys - x->range.phys;
}

gboolean
gemem_ge_expandable_recycle (GeSpanPool *pool, const GeSpan *span)
{
  GeExpandable *x = pool->expandable;
  const guint64 phys = x->range.phys;

  if (!gemem_ge_range_contains (&x->range, span->address) && span->root != &x->root)
    return FALSE;
  gemem_ge_range_recycle (&x->range, span->address, gemem_ge_pool_bytes (pool, span->pages));
  pool->obtained -= phys - x->range.phys;
  return TRUE;
}

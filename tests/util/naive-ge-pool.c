/* naive-ge-pool.c - ScalableAllocator, alone and with a virtual range; see naive-ge.h. */
#include "config.h"

#include "tests/util/naive-ge.h"

/* ---- life */

static void
span_free (gpointer data)
{
  NaiveSpan *span = data;

  if (span->list != NULL)
    g_array_unref (span->list);
  g_free (span);
}

NaivePool *
naive_pool_new (NaiveDevice *device, NaivePool *lower, guint64 threshold, guint64 minimum)
{
  NaivePool *pool = g_new0 (NaivePool, 1);

  pool->device = device;
  pool->lower = lower;
  pool->threshold = threshold;
  pool->minimum = minimum;
  pool->spans = g_ptr_array_new_with_free_func (span_free);
  pool->new_vas = g_ptr_array_new_with_free_func (span_free);
  return pool;
}

static NaiveSpan *
span_at (const NaivePool *pool, guint i)
{
  return i < pool->spans->len ? g_ptr_array_index (pool->spans, i) : NULL;
}

void
naive_pool_destroy (NaivePool *pool)
{
  NaiveRoot *before = NULL;

  if (pool == NULL)
    return;
  for (guint i = 0; i < pool->spans->len; i++)
    {
      NaiveRoot *root = span_at (pool, i)->root;

      if (root != before)
        g_free (before);
      before = root;
    }
  g_free (before);
  g_ptr_array_unref (pool->spans);
  g_ptr_array_unref (pool->new_vas);
  naive_range_destroy (pool->range);
  g_free (pool);
}

/* ---- spans */

static NaiveSpan *
span_new (guint64 address, guint64 pages, NaiveRoot *root)
{
  NaiveSpan *span = g_new0 (NaiveSpan, 1);

  span->address = address;
  span->pages = pages;
  span->root = root;
  span->occupied = TRUE;
  return span;
}

static guint
index_of (const NaivePool *pool, const NaiveSpan *span)
{
  guint i;

  g_assert_true (g_ptr_array_find (pool->spans, span, &i));
  return i;
}

/* The buddy span before (@step -1) or after (1) @span, or NULL. */
static NaiveSpan *
buddy (const NaivePool *pool, const NaiveSpan *span, int step)
{
  NaiveSpan *other = span_at (pool, index_of (pool, span) + (guint) step);

  return other != NULL && other->root == span->root ? other : NULL;
}

static gboolean
has_split (const NaivePool *pool, const NaiveSpan *span)
{
  return buddy (pool, span, -1) != NULL || buddy (pool, span, 1) != NULL;
}

static void
push_idle (NaivePool *pool, NaiveSpan *span)
{
  span->occupied = FALSE;
  span->stamp = ++pool->stamp;
}

/* The front of the shortest layer of @least to @most pages, or NULL. */
static NaiveSpan *
front (const NaivePool *pool, guint64 least, guint64 most)
{
  NaiveSpan *best = NULL;

  for (guint i = 0; i < pool->spans->len; i++)
    {
      NaiveSpan *s = span_at (pool, i);

      if (s->occupied || s->pages < least || s->pages > most)
        continue;
      if (best == NULL || s->pages < best->pages
          || (s->pages == best->pages && s->stamp > best->stamp))
        best = s;
    }
  return best;
}

/* Cuts off the HIGH @k pages of the idle @span; they are occupied. */
static NaiveSpan *
cut (NaivePool *pool, NaiveSpan *span, guint64 k)
{
  NaiveSpan *high;

  g_assert_cmpuint (k, <=, span->pages);
  high = span_new (span->address + (span->pages - k) * NAIVE_PAGE, k, span->root);
  span->pages -= k;
  push_idle (pool, span);
  g_ptr_array_insert (pool->spans, (int) index_of (pool, span) + 1, high);
  return high;
}

/* Coalesces @span with its idle buddies (1.7); returns the coalesced span. */
static NaiveSpan *
merge (NaivePool *pool, NaiveSpan *span)
{
  NaiveSpan *next = buddy (pool, span, 1), *prev = buddy (pool, span, -1);
  gboolean merged = FALSE;

  if (next != NULL && !next->occupied)
    {
      span->pages += next->pages;
      g_ptr_array_remove (pool->spans, next);
      merged = TRUE;
    }
  if (prev != NULL && !prev->occupied)
    {
      prev->pages += span->pages;
      g_ptr_array_remove (pool->spans, span);
      span = prev;
      merged = TRUE;
    }
  if (merged && !has_split (pool, span))
    span->tryl = 0;
  push_idle (pool, span);
  return span;
}

/* ---- 1.6, 1.9 */

static gboolean
has_idle_bytes (const NaivePool *pool)
{
  for (guint i = 0; i < pool->spans->len; i++)
    if (!span_at (pool, i)->occupied && span_at (pool, i)->pages > 0)
      return TRUE;
  return FALSE;
}

static NaiveSpan *
fetch_new (NaivePool *pool, guint64 k)
{
  const guint64 bytes = MAX (k * NAIVE_PAGE, pool->minimum);
  NaiveSpan *lower = NULL, *span;
  guint64 address;
  NaiveRoot *root;

  if (pool->obtained > pool->threshold - bytes && has_idle_bytes (pool))
    return NULL;
  if (pool->lower != NULL)
    {
      lower = pool->ask != NULL ? pool->ask (pool, bytes)
                                : naive_pool_alloc_or_recycle (pool->lower, bytes);
      address = lower != NULL ? lower->address : 0;
    }
  else
    address = naive_device_malloc (pool->device, bytes);
  if (address == 0)
    return NULL;
  root = g_new0 (NaiveRoot, 1);
  root->bytes = bytes;
  root->lower = lower;
  pool->obtained += bytes;
  span = span_new (address, bytes / NAIVE_PAGE, root);
  g_ptr_array_add (pool->spans, span);
  return span->pages > k ? cut (pool, span, k) : span;
}

/* ---- 1.3 to 1.5 */

static NaiveSpan *
cut_or_fetch (NaivePool *pool, NaiveSpan *s, guint64 k)
{
  if (s == NULL)
    return fetch_new (pool, k);
  if (s->root != pool->range_root && !has_split (pool, s))
    {
      s->tryl += k;
      if (s->tryl <= (guint64) ((double) s->pages * 0.01))
        return fetch_new (pool, k);
    }
  return cut (pool, s, k);
}

static NaiveSpan *
take_exact (NaivePool *pool, guint64 k)
{
  NaiveSpan *s = front (pool, k, k);

  if (s != NULL)
    s->occupied = TRUE;
  return s;
}

/* ---- 5.5: a span mapped at other addresses */

static gboolean
mark_all (NaiveRange *range, const GArray *list)
{
  for (guint j = 0; j < list->len; j++)
    {
      NaiveRecord *r = &range->records[g_array_index (list, guint, j)];

      if (r->using)
        {
          for (guint back = 0; back < j; back++)
            {
              range->records[g_array_index (list, guint, back)].using = FALSE;
              naive_range_push (range, g_array_index (list, guint, back));
            }
          return FALSE;
        }
      r->using = TRUE;
    }
  return TRUE;
}

/* The most recently freed idle new-VA span of @n pages that was not looked at since @before, or
 * NULL. */
static NaiveSpan *
next_idle_new_va (const NaivePool *pool, guint n, guint64 before)
{
  NaiveSpan *best = NULL;

  for (guint i = 0; i < pool->new_vas->len; i++)
    {
      NaiveSpan *v = g_ptr_array_index (pool->new_vas, i);

      if (!v->occupied && v->list->len == n && v->stamp < before
          && (best == NULL || v->stamp > best->stamp))
        best = v;
    }
  return best;
}

static NaiveSpan *
reuse_new_va (NaivePool *pool)
{
  NaiveRange *range = pool->range;
  g_autoptr (GPtrArray) rejected = g_ptr_array_new ();
  guint64 before = G_MAXUINT64;
  NaiveSpan *v = NULL;

  while (rejected->len < 1000 && (v = next_idle_new_va (pool, range->list->len, before)) != NULL
         && !mark_all (range, v->list))
    {
      before = v->stamp;
      g_ptr_array_add (rejected, v);
      v = NULL;
    }
  for (guint i = 0; i < rejected->len; i++)
    ((NaiveSpan *) g_ptr_array_index (rejected, i))->stamp = ++pool->stamp;
  for (guint j = 0; v != NULL && j < range->list->len; j++)
    naive_range_push (range, g_array_index (range->list, guint, j));
  return v;
}

static NaiveSpan *
make_new_va (NaivePool *pool)
{
  NaiveRange *range = pool->range;
  const guint64 va = naive_device_reserve (range->pages->device, range->list->len * range->page);
  NaiveSpan *v;

  if (va == 0)
    return NULL;
  for (guint j = 0; j < range->list->len; j++)
    if (!naive_pages_map (range->pages, range->records[g_array_index (range->list, guint, j)].page,
                          va + j * range->page))
      {
        naive_pages_release (range->pages, va, range->list->len * range->page);
        return NULL;
      }
  v = span_new (va, range->list->len * range->page / NAIVE_PAGE, NULL);
  v->list = g_array_copy (range->list);
  for (guint j = 0; j < v->list->len; j++)
    {
      range->records[g_array_index (v->list, guint, j)].using = TRUE;
      range->records[g_array_index (v->list, guint, j)].maps++;
    }
  g_ptr_array_add (pool->new_vas, v);
  pool->new_va_count++;
  return v;
}

static NaiveSpan *
serve_elsewhere (NaivePool *pool, NaiveSpan *candidate, guint64 reuse)
{
  const guint64 rest = reuse > pool->range->page ? reuse % pool->range->page : 0;
  NaiveSpan *m = merge (pool, candidate), *top = rest > 0 ? cut (pool, m, rest / NAIVE_PAGE) : NULL;
  NaiveSpan *u = cut (pool, m, (reuse - rest) / NAIVE_PAGE), *v;

  if (top != NULL)
    merge (pool, top);
  v = reuse_new_va (pool);
  if (v == NULL)
    v = make_new_va (pool);
  if (v == NULL)
    {
      merge (pool, u);
      return NULL;
    }
  v->occupied = TRUE;
  v->hidden = u;
  return v;
}

/* ---- 5.4 */

static gboolean
lies_in_range (const NaivePool *pool, guint64 address)
{
  return pool->range != NULL && address >= pool->range->base
         && address < pool->range->base + pool->range->size;
}

/* One attempt: the result, or NULL; *again: a span was held back, another attempt follows. */
static NaiveSpan *
attempt (NaivePool *pool, guint64 k, guint *attempts, GPtrArray *held, gboolean *again)
{
  NaiveSpan *s = take_exact (pool, k), *m;
  guint64 reuse;

  *again = FALSE;
  if (s == NULL)
    {
      s = front (pool, k + 1, G_MAXUINT64);
      if (*attempts > 10 && s != NULL && s->address != pool->range->base)
        {
          s->occupied = *again = TRUE;
          g_ptr_array_add (held, s);
          *attempts = 0;
          return NULL;
        }
      s = cut_or_fetch (pool, s, k);
    }
  if (s == NULL || !lies_in_range (pool, s->address))
    return s;
  const guint64 phys = pool->range->phys;
  const NaiveBacking backing = naive_range_back (pool->range, s->address, s->pages * NAIVE_PAGE,
                                                 &reuse);
  pool->obtained = pool->obtained - phys + pool->range->phys;
  if (backing == NAIVE_BACKED)
    return s;
  if (backing == NAIVE_NEW_VA)
    return serve_elsewhere (pool, s, reuse);
  if (backing == NAIVE_REFUSED)
    {
      merge (pool, s);
      return NULL;
    }
  *again = TRUE;
  if (reuse > 0)
    {
      m = merge (pool, s);
      if (reuse > m->pages * NAIVE_PAGE)
        {
          m->occupied = TRUE; /* for ever, and not held */
          return NULL;
        }
      s = cut (pool, m, reuse / NAIVE_PAGE);
    }
  g_ptr_array_add (held, s);
  return NULL;
}

static NaiveSpan *
alloc_in_range (NaivePool *pool, guint64 k)
{
  g_autoptr (GPtrArray) held = g_ptr_array_new ();
  NaiveSpan *s = NULL;
  gboolean again = TRUE;
  guint attempts = 0;

  for (guint tries = 0; tries < 1000 && again; tries++)
    {
      attempts++;
      s = attempt (pool, k, &attempts, held, &again);
    }
  for (guint i = 0; i < held->len; i++)
    merge (pool, g_ptr_array_index (held, i));
  return s;
}

/* ---- the pool's calls */

NaiveSpan *
naive_pool_alloc (NaivePool *pool, guint64 size)
{
  const guint64 k = size == 0 ? 1 : size / NAIVE_PAGE + (size % NAIVE_PAGE != 0);
  NaiveSpan *s;

  if (size > pool->threshold || k > pool->threshold / NAIVE_PAGE)
    return NULL;
  if (pool->range != NULL)
    s = alloc_in_range (pool, k);
  else if ((s = take_exact (pool, k)) == NULL)
    s = cut_or_fetch (pool, front (pool, k + 1, G_MAXUINT64), k);
  if (s == NULL)
    return NULL;
  s->real = size;
  pool->theory += s->pages * NAIVE_PAGE;
  pool->real_theory += size;
  pool->theory_min = MAX (pool->theory_min, pool->theory);
  pool->real_theory_min = MAX (pool->real_theory_min, pool->real_theory);
  if (pool->range != NULL)
    pool->range->theory_min = pool->theory_min;
  return s;
}

NaiveSpan *
naive_pool_alloc_or_recycle (NaivePool *pool, guint64 size)
{
  NaiveSpan *s = naive_pool_alloc (pool, size);

  if (s != NULL)
    return s;
  naive_pool_recycle (pool);
  return naive_pool_alloc (pool, size);
}

void
naive_pool_free (NaivePool *pool, NaiveSpan *span)
{
  if (pool->theory >= span->real)
    {
      pool->theory -= span->pages * NAIVE_PAGE;
      pool->real_theory -= span->real;
    }
  if (span->list == NULL)
    {
      if (lies_in_range (pool, span->address))
        naive_range_free (pool->range, span->address, span->pages * NAIVE_PAGE);
      merge (pool, span);
      return;
    }
  for (guint j = 0; j < span->list->len; j++)
    {
      pool->range->records[g_array_index (span->list, guint, j)].using = FALSE;
      naive_range_push (pool->range, g_array_index (span->list, guint, j));
    }
  merge (pool, span->hidden);
  span->hidden = NULL;
  push_idle (pool, span);
}

/* ---- 1.8, 5.6 */

static void
drop_idle_new_vas (NaivePool *pool)
{
  for (guint i = 0; i < pool->new_vas->len;)
    {
      const NaiveSpan *v = g_ptr_array_index (pool->new_vas, i);

      if (v->occupied)
        {
          i++;
          continue;
        }
      for (guint j = 0; j < v->list->len; j++)
        {
          NaiveRecord *r = &pool->range->records[g_array_index (v->list, guint, j)];

          if (r->page >= 0 && r->maps > 0)
            r->maps--;
        }
      naive_pages_release (pool->range->pages, v->address, v->list->len * pool->range->page);
      g_ptr_array_remove_index (pool->new_vas, i);
    }
}

static int
by_layer (gconstpointer a, gconstpointer b)
{
  const NaiveSpan *x = *(NaiveSpan *const *) a, *y = *(NaiveSpan *const *) b;

  if (x->pages != y->pages)
    return x->pages < y->pages ? -1 : 1;
  return x->stamp > y->stamp ? -1 : 1;
}

static void
give_back (NaivePool *pool, NaiveSpan *span)
{
  NaiveRoot *root = span->root;

  pool->obtained -= root->bytes;
  if (pool->lower != NULL)
    naive_pool_free (pool->lower, root->lower);
  else
    naive_device_free (pool->device, span->address);
  g_ptr_array_remove (pool->spans, span);
  g_free (root);
}

void
naive_pool_recycle (NaivePool *pool)
{
  g_autoptr (GPtrArray) idle = g_ptr_array_new ();
  const guint64 phys = pool->range != NULL ? pool->range->phys : 0;

  if (pool->range != NULL)
    drop_idle_new_vas (pool);
  for (guint i = 0; i < pool->spans->len; i++)
    if (!span_at (pool, i)->occupied)
      g_ptr_array_add (idle, span_at (pool, i));
  g_ptr_array_sort (idle, by_layer);
  for (guint i = 0; i < idle->len; i++)
    {
      NaiveSpan *s = g_ptr_array_index (idle, i);

      if (pool->range != NULL && s->root == pool->range_root)
        naive_range_recycle (pool->range, s->address, s->pages * NAIVE_PAGE);
      else if (!has_split (pool, s))
        give_back (pool, s);
    }
  if (pool->range != NULL)
    pool->obtained = pool->obtained - phys + pool->range->phys;
}

gboolean
naive_pool_expand (NaivePool *pool, NaivePages *pages)
{
  NaiveSpan *whole;

  if (pool->threshold <= pages->size)
    return FALSE;
  pool->range = naive_range_new (pages, pool->threshold - pages->size);
  if (pool->range == NULL)
    return FALSE;
  pool->range_root = g_new0 (NaiveRoot, 1);
  whole = span_new (pool->range->base, pool->range->size / NAIVE_PAGE, pool->range_root);
  g_ptr_array_add (pool->spans, whole);
  push_idle (pool, whole);
  return TRUE;
}

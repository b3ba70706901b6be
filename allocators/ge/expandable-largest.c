/* expandable-largest.c - the largest request that a pool with a virtual range serves without the
 * device.
 *
 * A request takes the top of the front span of the shortest layer that is long enough.  Where a
 * new-VA block has pages of it, that part is set aside and the next span is tried (5.4), so a
 * request may be served although its first candidate cannot serve it.  This file simulates that on
 * a copy of the idle spans.  Only lengths whose candidate is ready from the top down are tried.
 * Requests that gather idle pages (5.5) count as needing the device.
 * Cost: O(spans + pages of the range); while new-VA blocks are in use, O(spans) times that.  Not on
 * the event path.
 * Origin: ge-runtime.md 5.3 to 5.6.
 */
#include "config.h"

#include "allocators/ge/expandable-pool.h"

/* Adds @key to a set that is made when it gets its first entry, because most stay empty and this
 * file is asked for every point of a timeline.  TRUE if @key was new. */
static gboolean
add (GememIdMap **set, guint64 key)
{
  gboolean existed;

  if (*set == NULL)
    *set = gemem_idmap_new (0);
  gemem_idmap_insert (*set, key, &existed);
  return !existed;
}

/* TRUE if page @i of the range can be used in its place without a device call: it has memory there,
 * or gets back the memory it had, whose mapping is still there.  Several records may have had the
 * same memory; the first that is asked about claims it in @claimed, a set of add(). */
static gboolean
is_ready (const GeRange *range, guint32 i, GememIdMap **claimed)
{
  const GeRecord *record = gemem_ge_range_record (range, i);

  if (record->page != GE_NO_PAGE)
    return record->ref > 0 || !record->using;
  if (!record->recycled
      || !gemem_ge_pages_waits_at (range->pages, record->last, range->base + i * range->page_size))
    return FALSE;
  return add (claimed, record->last);
}

/* Pages of the idle @span that have memory, from its top down, where requests are cut. */
static guint32
ready_at_top (const GeSpanPool *pool, const GeSpan *span)
{
  const GeRange *range = &pool->expandable->range;
  const guint64 begin = span->address,
                end = begin + ((guint64) span->pages << pool->config.page_shift);
  GememIdMap *claimed = NULL;
  guint64 low = end;

  while (low > begin)
    {
      const guint32 i = (guint32) ((low - 1 - range->base) / range->page_size);

      if (!is_ready (range, i, &claimed))
        break;
      low = MAX (begin, range->base + i * range->page_size);
    }
  gemem_idmap_free (claimed);
  return (guint32) ((end - low) >> pool->config.page_shift);
}

static gboolean
is_in_range (const GeSpanPool *pool, const GeSpan *span)
{
  return span->root == &pool->expandable->root;
}

/* ---- simulation of a request */

typedef struct
{
  guint64 address;
  guint32 pages;
  gboolean in_range;
} Idle;

typedef struct
{
  const GeSpanPool *pool;
  const GeRange *range;
  GArray *idle;        /* Idle; of equal lengths the last is the front of the layer */
  GememIdMap *claimed; /* set of add(): memory that pages of the range got back */
  GememIdMap *backed;  /* set of add(): pages of the range that got memory back */
} Simulation;

/* Every idle span, each layer from its back to its front. */
static GArray *
idle_spans (const GeSpanPool *pool)
{
  GArray *idle = g_array_sized_new (FALSE, FALSE, sizeof (Idle), 128);

  for (guint32 k = gemem_ge_layers_next (&pool->layers, 1); k != GE_LAYER_NONE;
       k = gemem_ge_layers_next (&pool->layers, k + 1))
    {
      const GeSpan *span = gemem_ge_layers_front (&pool->layers, k);

      while (span->layer_next != NULL)
        span = span->layer_next;
      for (; span != NULL; span = span->layer_prev)
        {
          const Idle one = { span->address, span->pages, is_in_range (pool, span) };

          g_array_append_val (idle, one);
        }
    }
  return idle;
}

/* The candidate for @k pages: the front of the shortest layer that is long enough; -1: none. */
static int
candidate (const Simulation *s, guint32 k)
{
  int best = -1;

  for (guint i = 0; i < s->idle->len; i++)
    {
      const guint32 pages = g_array_index (s->idle, Idle, i).pages;

      if (pages >= k && (best < 0 || pages <= g_array_index (s->idle, Idle, best).pages))
        best = (int) i;
    }
  return best;
}

static gboolean
is_backed (const Simulation *s, guint64 i)
{
  return gemem_ge_range_record (s->range, i)->page != GE_NO_PAGE
         || (s->backed != NULL && gemem_idmap_lookup (s->backed, i) != NULL);
}

/* 5.4: how much of the top is in the way. */
static guint64
in_the_way (const Simulation *s, guint64 offset, guint64 bytes, guint64 tail)
{
  const guint64 page = s->range->page_size;
  guint64 e = (offset + bytes - 1) / page, sum = tail;

  if (is_backed (s, offset / page))
    return bytes;
  for (e -= tail > 0; e < s->range->n_records && is_backed (s, e); e--)
    sum += page;
  return sum;
}

typedef enum
{
  SERVED,
  NEEDS_DEVICE,
  SET_ASIDE,
} Outcome;

/* 5.3, as far as it needs no device; *reuse: what is to be set aside. */
static Outcome
back (Simulation *s, guint64 offset, guint64 bytes, guint64 *reuse)
{
  const guint64 page = s->range->page_size, ib = offset / page, ie = (offset + bytes - 1) / page;
  const guint64 tail = ib < ie && gemem_ge_range_record (s->range, ie)->ref > 0
                           ? (offset + bytes) % page
                           : 0;

  for (guint64 i = ie + 1; i-- > ib;)
    {
      const GeRecord *record = gemem_ge_range_record (s->range, i);

      if (!is_backed (s, i))
        {
          if (!is_ready (s->range, (guint32) i, &s->claimed))
            return NEEDS_DEVICE;
          add (&s->backed, i);
        }
      else if (record->using && !(record->ref > 0 && (i == ib || i == ie)))
        {
          *reuse = in_the_way (s, offset, bytes, tail);
          return SET_ASIDE;
        }
    }
  return SERVED;
}

/* One attempt. */
static Outcome
attempt (Simulation *s, guint32 k, guint *attempts)
{
  const guint shift = s->pool->config.page_shift;
  const int at = candidate (s, k);
  guint64 reuse;
  Outcome outcome;
  guint32 held;
  Idle one;

  if (at < 0)
    return NEEDS_DEVICE;
  one = g_array_index (s->idle, Idle, at);
  if (!one.in_range)
    return one.pages == k ? SERVED : NEEDS_DEVICE;
  if (one.pages > k && *attempts > GE_EXPANDABLE_PATIENCE && one.address != s->range->base)
    {
      g_array_remove_index (s->idle, (guint) at);
      *attempts = 0;
      return SET_ASIDE;
    }
  outcome = back (s, one.address + ((guint64) (one.pages - k) << shift) - s->range->base,
                  (guint64) k << shift, &reuse);
  if (outcome != SET_ASIDE)
    return outcome;
  held = (guint32) MIN (reuse >> shift, one.pages);
  one.pages -= held > 0 ? held : k;
  g_array_remove_index (s->idle, (guint) at);
  g_array_append_val (s->idle, one);
  return SET_ASIDE;
}

/* TRUE if a request of @k pages is served without the device. */
static gboolean
is_served (const GeSpanPool *pool, const GArray *idle, guint32 k)
{
  Simulation s = { .pool = pool,
                   .range = &pool->expandable->range,
                   .idle = g_array_copy ((GArray *) idle) };
  Outcome outcome = SET_ASIDE;
  guint attempts = 0;

  for (guint tries = 0; outcome == SET_ASIDE && tries < GE_EXPANDABLE_TRIES; tries++)
    {
      attempts++;
      outcome = attempt (&s, k, &attempts);
    }
  g_array_unref (s.idle);
  gemem_idmap_free (s.claimed);
  gemem_idmap_free (s.backed);
  return outcome == SERVED;
}

/* ---- the question */

/* What the first candidate of its length serves. */
static guint32
largest_at_once (const GeSpanPool *pool)
{
  guint32 most = 0, shorter = 0;

  /* A request of k pages takes the front of the first layer that is long enough: each layer answers
   * for the lengths down to the next. */
  for (guint32 k = gemem_ge_layers_next (&pool->layers, 1); k != GE_LAYER_NONE;
       k = gemem_ge_layers_next (&pool->layers, k + 1))
    {
      const GeSpan *span = gemem_ge_layers_front (&pool->layers, k);
      const guint32 ready = is_in_range (pool, span) ? ready_at_top (pool, span) : k;

      if (ready >= k || (ready > shorter && pool->config.span_layer_lift_max > 0))
        most = MIN (ready, k);
      shorter = k;
    }
  return most;
}

static gboolean
has_block_elsewhere (const GeSpanPool *pool)
{
  for (const GeNewVa *v = pool->expandable->all; v != NULL; v = v->all_next)
    if (v->span.occupied)
      return TRUE;
  return FALSE;
}

guint32
gemem_ge_expandable_largest_backed (const GeSpanPool *pool)
{
  guint32 most = largest_at_once (pool);
  GArray *idle;

  if (!has_block_elsewhere (pool) || pool->config.span_layer_lift_max == 0)
    return most;
  idle = idle_spans (pool);
  for (guint i = 0; i < idle->len; i++)
    {
      const Idle *one = &g_array_index (idle, Idle, i);
      const GeSpan span = { .address = one->address, .pages = one->pages };
      const guint32 k = one->in_range ? ready_at_top (pool, &span) : one->pages;

      if (k > most && is_served (pool, idle, k))
        most = k;
    }
  g_array_unref (idle);
  return most;
}

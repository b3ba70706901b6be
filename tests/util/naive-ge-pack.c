/* naive-ge-pack.c - GE's level 2 as ge-static.md 4.1 states it: every pair is tried, every subtree
 * is searched, and everything is sorted again, with std::sort as appendix A describes it.
 *
 * Cost: at least quadratic; only what the text says is remembered is kept between steps.
 */
#include "config.h"

#include "tests/util/naive-ge-pack.h"

#define OCCUPANT(block, i) (&g_array_index ((block)->occupants, NaivePackOccupant, i))
#define FIRST(block) OCCUPANT (block, 0)
#define LAST(block) OCCUPANT (block, (block)->occupants->len - 1)
#define BLOCK(list, i) ((NaivePackBlock *) g_ptr_array_index (list, i))

NaivePackBlock *
naive_pack_block_new (void)
{
  NaivePackBlock *block = g_new0 (NaivePackBlock, 1);

  block->occupants = g_array_new (FALSE, FALSE, sizeof (NaivePackOccupant));
  block->children = g_ptr_array_new ();
  return block;
}

void
naive_pack_block_free (gpointer data)
{
  NaivePackBlock *block = data;

  g_array_unref (block->occupants);
  g_ptr_array_unref (block->children);
  g_free (block);
}

/* ---- occupants and blocks (2.1) */

static guint32
life_begin (const NaivePackOccupant *o)
{
  return o->has_begin ? o->begin : o->of_call ? o->end : o->node;
}

/* The end of the block for @stream. */
static guint32
life_end (const NaivePackBlock *block, gint32 stream)
{
  const NaivePackOccupant *o = LAST (block);

  return o->out_cnt == 1 && o->has_diff && o->diff_stream == stream ? o->diff_end : o->end;
}

static guint64
largest (const NaivePackBlock *block, gboolean noalign)
{
  guint64 bytes = 0;

  for (guint i = 0; i < block->occupants->len; i++)
    bytes = MAX (bytes, noalign ? OCCUPANT (block, i)->noalign : OCCUPANT (block, i)->real);
  return bytes;
}

static void
find_align_size (NaivePackBlock *block)
{
  block->align_size = (largest (block, FALSE) + 511) / 512 * 512;
}

static void
find_flags (NaivePackBlock *block)
{
  block->continuous = block->first = block->last = FALSE;
  for (guint i = 0; i < block->occupants->len; i++)
    {
      block->continuous |= OCCUPANT (block, i)->continuous;
      block->first |= OCCUPANT (block, i)->first;
      block->last |= OCCUPANT (block, i)->last;
    }
}

static gboolean
conflict (const NaivePackBlock *a, const NaivePackBlock *b) /* 6.5 */
{
  return (a->data && b->central) || (b->data && a->central);
}

/* ---- the order of B */

static gboolean
precedes (const NaivePack *pack, const NaivePackBlock *a, const NaivePackBlock *b)
{
  const guint64 size_a = a->continuous ? largest (a, TRUE) : a->align_size;
  const guint64 size_b = b->continuous ? largest (b, TRUE) : b->align_size;
  const guint32 begin_a = FIRST (a)->has_begin ? FIRST (a)->begin : FIRST (a)->node;
  const guint32 begin_b = FIRST (b)->has_begin ? FIRST (b)->begin : FIRST (b)->node;

  if (size_a != size_b)
    return size_a > size_b;
  if (!pack->ascending)
    return begin_a > begin_b;
  if (a->occupants->len != b->occupants->len)
    return a->occupants->len < b->occupants->len;
  return begin_a < begin_b;
}

static void
exchange (gpointer *b, guint i, guint k)
{
  gpointer kept = b[i];

  b[i] = b[k];
  b[k] = kept;
}

static guint
median (const NaivePack *pack, gpointer *b, guint x, guint y, guint z)
{
  if (precedes (pack, b[x], b[y]))
    return precedes (pack, b[y], b[z]) ? y : precedes (pack, b[x], b[z]) ? z : x;
  return precedes (pack, b[x], b[z]) ? x : precedes (pack, b[y], b[z]) ? z : y;
}

/* The hole at @at in the heap of @n moves down along the larger children to the bottom, then
 * @value rises from there until its parent does not precede it. */
static void
heap_put (const NaivePack *pack, gpointer *heap, guint n, guint at, gpointer value)
{
  const guint top = at;

  while (2 * at + 1 < n)
    {
      const guint left = 2 * at + 1;
      const gboolean is_left = left + 1 == n || precedes (pack, heap[left + 1], heap[left]);

      heap[at] = heap[is_left ? left : left + 1];
      at = is_left ? left : left + 1;
    }
  for (; at > top && precedes (pack, heap[(at - 1) / 2], value); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = value;
}

static void
heap_sort (const NaivePack *pack, gpointer *heap, guint n)
{
  for (guint i = n / 2; i > 0; i--)
    heap_put (pack, heap, n, i - 1, heap[i - 1]);
  for (; n > 1; n--)
    {
      gpointer value = heap[n - 1];

      heap[n - 1] = heap[0];
      heap_put (pack, heap, n - 1, 0, value);
    }
}

/* Appendix A: sorts b[from] .. b[to - 1], leaving parts of up to 16 to the insertion sort. */
static void
partition (const NaivePack *pack, gpointer *b, guint from, guint to, guint budget)
{
  guint left = from + 1, right = to;

  if (to - from <= 16)
    return;
  if (budget == 0)
    {
      heap_sort (pack, b + from, to - from);
      return;
    }
  exchange (b, from, median (pack, b, from + 1, from + (to - from) / 2, to - 1));
  for (;; left++)
    {
      while (precedes (pack, b[left], b[from]))
        left++;
      do
        right--;
      while (precedes (pack, b[from], b[right]));
      if (left >= right)
        break;
      exchange (b, left, right);
    }
  partition (pack, b, left, to, budget - 1);
  partition (pack, b, from, left, budget - 1);
}

/* B from position @first on, sorted. */
static void
sort (const NaivePack *pack, guint first)
{
  gpointer *b = pack->blocks->pdata;
  guint budget = 0;

  for (guint n = pack->blocks->len - first; n > 1; n /= 2)
    budget += 2;
  if (pack->quirks && pack->blocks->len - first > 16)
    partition (pack, b, first, pack->blocks->len, budget);
  for (guint i = first; i < pack->blocks->len; i++)
    for (guint k = i; k > first && precedes (pack, b[k], b[k - 1]); k--)
      exchange (b, k, k - 1);
}

/* ---- may b follow a? */

/* The peer of the last entry of in_edges[@dst][@src] with a key up to @time. */
static guint32
depend (const NaivePack *pack, gint32 dst, gint32 src, guint32 time)
{
  const GArray *edges = pack->edges[(guint) dst * pack->n_streams + (guint) src];
  guint32 key = 0, peer = 0;

  for (guint i = 0; i < edges->len; i++)
    {
      const NaivePackEdge *edge = &g_array_index (edges, NaivePackEdge, i);

      if (edge->key <= time && edge->key >= key)
        {
          key = edge->key;
          peer = edge->peer;
        }
    }
  return peer;
}

static gboolean
follows (const NaivePack *pack, const NaivePackBlock *b, const NaivePackBlock *a)
{
  const guint32 begin = life_begin (FIRST (b)), tail = LAST (a)->node;
  const NaivePackOccupant *o = LAST (a);
  guint32 known;

  if (FIRST (b)->in_same_out || conflict (a, b))
    return FALSE;
  if (a->stream == b->stream)
    return begin > life_end (a, b->stream);
  known = depend (pack, b->stream, a->stream, begin);
  if (known < tail || known == 0 || (tail == 0 && pack->quirks))
    return FALSE;
  if (!pack->priority)
    return known > life_end (a, b->stream);
  if (!o->has_diff || o->out_cnt != 1)
    return known > o->end;
  if (o->diff_stream == b->stream)
    return begin > o->diff_end;
  if (o->diff_stream == a->stream || o->diff_stream == -1)
    return known > o->diff_end;
  return depend (pack, b->stream, o->diff_stream, begin) >= o->diff_end;
}

/* ---- interleave */

static gboolean
overlaps (const NaivePackBlock *p, const NaivePackOccupant *o)
{
  for (guint i = 0; i < p->occupants->len; i++)
    {
      const NaivePackOccupant *x = OCCUPANT (p, i);
      const NaivePackOccupant *earlier = life_begin (x) < life_begin (o) ? x : o;
      const NaivePackOccupant *later = earlier == x ? o : x;

      if (life_begin (x) == life_begin (o) || earlier->end >= life_begin (later))
        return TRUE;
    }
  return FALSE;
}

/* TRUE if occupant @i of @c, which is no reference, or a reference directly after it, overlaps
 * an occupant of @p. */
static gboolean
crosses (const NaivePackBlock *p, const NaivePackBlock *c, guint i)
{
  const NaivePackOccupant *o = OCCUPANT (c, i);
  const gboolean outside = o->end < life_begin (FIRST (p)) || life_begin (o) > LAST (p)->end;

  if (!outside && overlaps (p, o))
    return TRUE;
  for (i++; i < c->occupants->len && OCCUPANT (c, i)->reference; i++)
    if (overlaps (p, OCCUPANT (c, i)))
      return TRUE;
  return FALSE;
}

static NaivePackBlock *
clone_of (const NaivePackBlock *c)
{
  NaivePackBlock *clone = naive_pack_block_new ();
  GArray *occupants = clone->occupants;
  GPtrArray *children = clone->children;

  *clone = *c;
  clone->occupants = occupants;
  clone->children = children;
  clone->child = FALSE;
  clone->taken = 0;
  return clone;
}

/* Appends the clone of @c, if there is one, to @clones. */
static gboolean
interleave (const NaivePack *pack, const NaivePackBlock *p, NaivePackBlock *c, GPtrArray *clones)
{
  NaivePackBlock *clone;
  GArray *stay;
  gboolean moves = FALSE;

  if (p->stream != c->stream || !p->same_stream || !c->same_stream || LAST (p)->has_diff
      || LAST (c)->has_diff || conflict (p, c))
    return FALSE;
  clone = clone_of (c);
  stay = g_array_new (FALSE, FALSE, sizeof (NaivePackOccupant));
  for (guint i = 0; i < c->occupants->len; i++)
    {
      if (!OCCUPANT (c, i)->reference)
        moves = crosses (p, c, i);
      g_array_append_vals (moves ? clone->occupants : stay, OCCUPANT (c, i), 1);
    }
  if (stay->len == 0)
    {
      if (pack->quirks)
        c->continuous = c->first = c->last = FALSE;
      g_array_unref (stay);
      naive_pack_block_free (clone);
      return FALSE;
    }
  g_array_unref (c->occupants);
  c->occupants = stay;
  find_flags (c);
  find_flags (clone);
  find_align_size (clone);
  if (clone->occupants->len > 0)
    g_ptr_array_add (clones, clone);
  else
    naive_pack_block_free (clone);
  return TRUE;
}

/* ---- trying c in p */

static void
adopt (NaivePackBlock *parent, NaivePackBlock *child)
{
  g_ptr_array_add (parent->children, child);
  parent->taken += child->align_size;
  child->child = TRUE;
}

/* Continuous and zero-copy blocks: @special is the block of that kind, @other the candidate for
 * its child. @special_is_p: @special is the p of the text. */
static gboolean
fits_special (const NaivePackBlock *special, const NaivePackBlock *other, gboolean special_is_p,
              gboolean zero_copy)
{
  const guint64 size = largest (special, !zero_copy), wanted = largest (other, !zero_copy);
  const gboolean equal = zero_copy && special->taken == 0 && other->taken == 0 && size == wanted;

  if (size < wanted || conflict (special, other) || (zero_copy && !other->reuse_zc))
    return FALSE;
  if (!equal && special->taken + other->align_size > size)
    return FALSE;
  return special_is_p || (special->align_size == other->align_size && other->children->len == 0);
}

static void
pack_special (NaivePackBlock *p, NaivePackBlock *c, gboolean zero_copy)
{
  const gboolean p_is = zero_copy ? p->zero_copy : p->continuous;
  const gboolean c_is = zero_copy ? c->zero_copy : c->continuous;
  NaivePackBlock *special = p_is ? p : c, *other = p_is ? c : p;

  if (!(p_is && c_is) && fits_special (special, other, p_is, zero_copy))
    adopt (special, other);
}

/* TRUE: the search ends. */
static gboolean
try (const NaivePack *pack, NaivePackBlock *p, NaivePackBlock *c, guint depth, GPtrArray *clones)
{
  gboolean apart;

  if (depth >= 100 || !p->reuse_mem || !c->reuse_mem || (p->child && depth == 0) || c->child
      || c->children->len > 0 || p->label != c->label || p->type != c->type)
    return FALSE;
  apart = follows (pack, p, c) || follows (pack, c, p);
  if ((p->zero_copy && (c->first || c->last || c->continuous))
      || (c->zero_copy && (p->first || p->last || p->continuous)))
    return FALSE;
  if (p->continuous || c->continuous || p->zero_copy || c->zero_copy)
    {
      if (apart)
        pack_special (p, c, !p->continuous && !c->continuous);
      return TRUE;
    }
  if (!apart && !interleave (pack, p, c, clones))
    return FALSE;
  for (guint i = 0; i < p->children->len; i++)
    if (try (pack, BLOCK (p->children, i), c, depth + 1, clones))
      return TRUE;
  if (p->taken + c->align_size > p->align_size + (c->align_size == 512 ? 0 : 512))
    return FALSE;
  adopt (p, c);
  if (!c->reuse_zc)
    p->reuse_zc = FALSE;
  return TRUE;
}

/* Inserts @clones directly after position @j of B. */
static void
insert_clones (NaivePack *pack, const NaivePackBlock *p, guint j, const GPtrArray *clones)
{
  const guint next = j + 1 + clones->len;
  guint64 least = p->align_size;

  for (guint i = 0; i < clones->len; i++)
    {
      g_ptr_array_insert (pack->blocks, (int) (j + 1 + i), BLOCK (clones, i));
      least = MIN (least, BLOCK (clones, i)->align_size);
    }
  if (clones->len > 0
      && (pack->memory_priority
          || (next < pack->blocks->len && least < BLOCK (pack->blocks, next)->align_size)))
    sort (pack, j + 1);
}

void
naive_pack_run (NaivePack *pack)
{
  g_autoptr (GPtrArray) clones = g_ptr_array_new ();

  for (guint i = 0; i < pack->blocks->len; i++)
    {
      find_align_size (BLOCK (pack->blocks, i));
      find_flags (BLOCK (pack->blocks, i));
    }
  sort (pack, 0);
  for (guint i = 0; i < pack->blocks->len; i++)
    for (guint j = i + 1; j < pack->blocks->len; j++)
      {
        NaivePackBlock *p = BLOCK (pack->blocks, i), *c = BLOCK (pack->blocks, j);

        g_ptr_array_set_size (clones, 0);
        if (!p->continuous || FIRST (c)->node >= pack->last_memset)
          try (pack, p, c, 0, clones);
        insert_clones (pack, p, j, clones);
      }
}

/* naive-ge-pack.c - level 2 of the GE planner exactly as ge-static.md 4.1 tells it: every pair is
 * tried, every subtree searched, everything sorted.
 *
 * What ge-pack*.c must agree with.  Cost: quadratic and slow.
 */
#include "config.h"

#include "planners/ge/library.h"
#include "planners/ge/stream-edges.h"
#include "tests/util/naive-ge-pack.h"

typedef struct
{
  GeAssigner *a;
  GPtrArray *clones; /* of the pair being packed */
  GByteArray *moved; /* scratch of split() */
} Packer;

/* ---- order of B */

static guint64
sort_size (GeBlock *block)
{
  return block->cont ? ge_block_max_noalign (block) : ge_block_align_size (block);
}

static gboolean
comes_before (gconstpointer x, gconstpointer y, gpointer data)
{
  GeBlock *a = (GeBlock *) x, *b = (GeBlock *) y;
  const GeStrategy *strategy = data;
  const guint64 size_a = sort_size (a), size_b = sort_size (b);

  if (size_a != size_b)
    return size_a > size_b;
  if (!strategy->ascending)
    return a->occupants[0].begin > b->occupants[0].begin;
  if (a->n_occupants != b->n_occupants)
    return a->n_occupants < b->n_occupants;
  return a->occupants[0].begin < b->occupants[0].begin;
}

static void
sort_from (GeAssigner *a, guint first)
{
  ge_sort (a->model->options, a->blocks->pdata + first, a->blocks->len - first, comes_before,
           &a->strategy);
}

/* ---- may b start once a is dead? */

/* The end of @a that counts for stream @stream, and on which stream it is (4.1 end2). */
static guint32
end_seen_from (const GeBlock *a, gint32 stream, gint32 *on)
{
  const GeOccupant *last = ge_block_last (a);

  *on = a->stream;
  if (last->out_cnt != 1 || last->diff_stream == GE_NO_DIFF)
    return last->end;
  if (stream == a->stream && last->diff_stream != stream)
    return GE_MAX;
  *on = last->diff_stream;
  return last->diff_end;
}

static gboolean
after_on_other_stream (const GeAssigner *assigner, const GeBlock *a, const GeBlock *b)
{
  const GeModel *model = assigner->model;
  const guint32 begin = ge_block_life_begin (b), tail = ge_block_last (a)->node;
  const guint32 depend = ge_depend (model, b->stream, a->stream, begin);
  guint32 end;
  gint32 on;

  if ((tail == 0 && model->options->quirks) || depend < tail || depend == 0)
    return FALSE;
  if (!assigner->strategy.priority)
    return depend > ge_block_life_end (a, b->stream);
  end = end_seen_from (a, b->stream, &on);
  if (on == b->stream)
    return begin > end;
  if (on != a->stream && on != -1)
    return ge_depend (model, b->stream, on, begin) >= end;
  return depend > end;
}

static gboolean
after (const GeAssigner *assigner, const GeBlock *a, const GeBlock *b)
{
  const GeModel *model = assigner->model;
  const GeOccupant *first = &b->occupants[0];

  if (first->kind == GE_KIND_OUTPUT
      && model->multi_same_out[gemem_graph_node (model->graph, first->node)->first_output
                               + first->index])
    return FALSE;
  if (ge_block_conflict (a, b))
    return FALSE;
  if (a->stream == b->stream)
    return ge_block_life_begin (b) > ge_block_life_end (a, b->stream);
  return after_on_other_stream (assigner, a, b);
}

/* ---- interleave: split the later block */

static gboolean
overlap (const GeOccupant *x, const GeOccupant *y)
{
  const guint32 begin_x = ge_occupant_life_begin (x), begin_y = ge_occupant_life_begin (y);

  if (begin_x == begin_y)
    return TRUE;
  return begin_x < begin_y ? x->end >= begin_y : y->end >= begin_x;
}

static gboolean
overlaps_any (const GeBlock *p, const GeOccupant *occupant)
{
  for (guint32 i = 0; i < p->n_occupants; i++)
    if (overlap (&p->occupants[i], occupant))
      return TRUE;
  return FALSE;
}

/* @o is the i-th occupant of c, not a reference; its references follow it. */
static gboolean
crosses (const GeBlock *p, const GeBlock *c, guint32 i)
{
  const GeOccupant *o = &c->occupants[i];

  if (!(o->end < ge_block_life_begin (p) || ge_occupant_life_begin (o) > ge_block_last (p)->end)
      && overlaps_any (p, o))
    return TRUE;
  if ((o->flags & GE_OCCUPANT_NEXT_REF) == 0)
    return FALSE;
  for (i++; i < c->n_occupants && (c->occupants[i].flags & GE_OCCUPANT_REF) != 0; i++)
    if (overlaps_any (p, &c->occupants[i]))
      return TRUE;
  return FALSE;
}

static GeBlock *
clone_of (GeAssigner *a, const GeBlock *block)
{
  GeBlock *clone = ge_block_new (a, block->size, block->stream, block->space, block->reuse_mem);

  /* goes behind the pair that is being packed */
  g_ptr_array_set_size (a->blocks, (int) a->blocks->len - 1);
  clone->same_stream = block->same_stream;
  clone->zc = block->zc;
  clone->reuse_zc = block->reuse_zc;
  clone->label = block->label;
  clone->ref_count = block->ref_count;
  clone->input_index = block->input_index;
  clone->post_reuse = block->post_reuse;
  clone->fixed = block->fixed;
  clone->data = block->data;
  clone->central = block->central;
  return clone;
}

/* Moves the marked occupants of @c to a clone. */
static GeBlock *
split (Packer *packer, GeBlock *c)
{
  GeBlock *clone = clone_of (packer->a, c);
  guint32 kept = 0;

  for (guint32 i = 0; i < c->n_occupants; i++)
    if (packer->moved->data[i])
      ge_block_add (clone, &c->occupants[i], clone->stream);
    else
      c->occupants[kept++] = c->occupants[i];
  c->n_occupants = kept; /* the align_size of c stays cached [QUIRK] */
  return clone;
}

static void
recompute_flags (GeBlock *block)
{
  guint8 all = 0;

  for (guint32 i = 0; i < block->n_occupants; i++)
    all |= block->occupants[i].flags;
  block->cont = (all & GE_OCCUPANT_CONT) != 0;
  block->first = (all & GE_OCCUPANT_FIRST) != 0;
  block->last = (all & GE_OCCUPANT_LAST) != 0;
}

static gboolean
interleave (Packer *packer, const GeBlock *p, GeBlock *c)
{
  guint32 n_moved = 0;

  if (p->stream != c->stream || !p->same_stream || !c->same_stream
      || ge_block_last (p)->diff_stream != GE_NO_DIFF
      || ge_block_last (c)->diff_stream != GE_NO_DIFF || ge_block_conflict (p, c))
    return FALSE;
  g_byte_array_set_size (packer->moved, c->n_occupants);
  for (guint32 i = 0; i < c->n_occupants; i++)
    {
      const gboolean ref = (c->occupants[i].flags & GE_OCCUPANT_REF) != 0;
      const gboolean moves = ref ? i > 0 && packer->moved->data[i - 1] : crosses (p, c, i);

      packer->moved->data[i] = moves;
      n_moved += moves;
    }
  if (n_moved == c->n_occupants)
    {
      if (packer->a->model->options->quirks)
        c->cont = c->first = c->last = FALSE; /* appendix D 2 */
      return FALSE;
    }
  if (n_moved > 0)
    g_ptr_array_add (packer->clones, split (packer, c));
  recompute_flags (c);
  return TRUE;
}

/* ---- packing */

static void
add_child (GeBlock *p, GeBlock *c, guint64 bytes)
{
  if (p->children == NULL)
    p->children = g_ptr_array_new ();
  g_ptr_array_add (p->children, c);
  p->child_off += bytes;
  c->child = TRUE;
}

static gboolean
has_children (const GeBlock *block)
{
  return block->children != NULL && block->children->len > 0;
}

static void
pack_continuous (GeBlock *p, GeBlock *c)
{
  const guint64 size_p = ge_block_max_noalign (p), size_c = ge_block_max_noalign (c);

  if ((p->cont && c->cont) || (p->cont && size_p < size_c) || (c->cont && size_p > size_c)
      || ge_block_conflict (p, c))
    return;
  if (p->cont && p->child_off + ge_block_align_size (c) <= size_p)
    add_child (p, c, ge_block_align_size (c));
  else if (c->cont && c->child_off + ge_block_align_size (p) <= size_c
           && ge_block_align_size (p) == ge_block_align_size (c) && !has_children (p))
    add_child (c, p, ge_block_align_size (p));
}

/* The same shape with the sizes the caller sees. */
static void
pack_zero_copy (GeBlock *p, GeBlock *c)
{
  const guint64 size_p = ge_block_max_real (p), size_c = ge_block_max_real (c);
  const gboolean equal = p->child_off == 0 && c->child_off == 0 && size_p == size_c;

  if ((p->zc && c->zc) || (p->zc && size_p < size_c) || (c->zc && size_p > size_c)
      || ge_block_conflict (p, c))
    return;
  if (!(p->zc ? c : p)->reuse_zc)
    return;
  if (p->zc && (equal || p->child_off + ge_block_align_size (c) <= size_p))
    {
      add_child (p, c, ge_block_align_size (c));
      p->reuse_zc &= c->reuse_zc;
    }
  else if (c->zc && (equal || c->child_off + ge_block_align_size (p) <= size_c)
           && ge_block_align_size (p) == ge_block_align_size (c) && !has_children (p))
    {
      add_child (c, p, ge_block_align_size (p));
      c->reuse_zc &= p->reuse_zc;
    }
}

static gboolean
pack (Packer *packer, GeBlock *p, GeBlock *c, guint depth, gboolean inner)
{
  gboolean ok;
  guint64 bytes;

  if (depth + 1 > GE_DEPTH_MAX || !p->reuse_mem || (p->child && !inner) || !c->reuse_mem || c->child
      || p->label != c->label || p->space != c->space || has_children (c))
    return FALSE;
  ok = after (packer->a, p, c) || after (packer->a, c, p);
  if ((p->zc && (c->first || c->last || c->cont)) || (c->zc && (p->first || p->last || p->cont)))
    return FALSE;
  if (p->cont || c->cont)
    {
      if (ok)
        pack_continuous (p, c);
      return TRUE;
    }
  if (p->zc || c->zc)
    {
      if (ok)
        pack_zero_copy (p, c);
      return TRUE;
    }
  if (!ok && !interleave (packer, p, c))
    return FALSE;
  for (guint i = 0; p->children != NULL && i < p->children->len; i++)
    if (pack (packer, g_ptr_array_index (p->children, i), c, depth + 1, TRUE))
      return TRUE;
  bytes = ge_block_align_size (c);
  if (p->child_off + bytes > ge_block_align_size (p) + (bytes != GE_ALIGN ? GE_ALIGN : 0))
    return FALSE;
  add_child (p, c, bytes);
  p->reuse_zc &= c->reuse_zc;
  return TRUE;
}

/* Clones go right behind position @j; what follows may have to be sorted again. */
static void
insert_clones (Packer *packer, GeBlock *p, guint j)
{
  GPtrArray *blocks = packer->a->blocks;
  const guint n = packer->clones->len;
  guint64 least = ge_block_align_size (p);
  const guint next = j + 1 + n;

  for (guint i = 0; i < n; i++)
    {
      GeBlock *clone = g_ptr_array_index (packer->clones, i);

      least = MIN (least, ge_block_align_size (clone));
      g_ptr_array_insert (blocks, (int) (j + 1 + i), clone);
    }
  g_ptr_array_set_size (packer->clones, 0);
  if (packer->a->model->options->memory_priority
      || (next < blocks->len && least < ge_block_align_size (g_ptr_array_index (blocks, next))))
    sort_from (packer->a, j + 1);
}

void
test_naive_ge_pack (GeAssigner *a)
{
  Packer packer = { a, g_ptr_array_new (), g_byte_array_new () };

  sort_from (a, 0);
  for (guint i = 0; i < a->blocks->len; i++)
    {
      GeBlock *p = g_ptr_array_index (a->blocks, i);

      for (guint j = i + 1; j < a->blocks->len && !p->child; j++)
        {
          GeBlock *c = g_ptr_array_index (a->blocks, j);

          if (p->cont && c->occupants[0].node < a->model->last_memset)
            continue;
          pack (&packer, p, c, 0, FALSE);
          if (packer.clones->len > 0)
            insert_clones (&packer, p, j);
        }
    }
  g_ptr_array_unref (packer.clones);
  g_byte_array_unref (packer.moved);
}

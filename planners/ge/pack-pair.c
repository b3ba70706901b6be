/* pack-pair.c - level 2: tries one block as a child of another (ge-static.md 4.1).
 *
 * A block becomes a child if no lifetime of its occupants overlaps one in the parent.  If only
 * some overlap, the block is split: the overlapping occupants move to a clone, which follows it in
 * B.  Children lie side by side from the head of their parent; gaps are not searched.
 *
 * Two shortcuts do not change the outcome: occupants are in the order of time, so overlaps are
 * found by bisection; and a subtree without enough space for the block is skipped, unless the
 * search could split the block.
 * Cost of a pair: O(children of p) + O(occupants of c x log occupants of p).
 */
#include "config.h"

#include <string.h>

#include "planners/ge/pack-private.h"
#include "planners/ge/stream-edges.h"

/* ---- does b begin after the end of a? */

/* The end of @a that counts for stream @stream; *on: the stream of that end (4.1 end2). */
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
  const guint32 begin = b->begin, tail = ge_block_last (a)->node;
  const guint32 depend = gemem_ge_depend (model, b->stream, a->stream, begin);
  guint32 end;
  gint32 on;

  if ((tail == 0 && model->options->quirks) || depend < tail || depend == 0)
    return FALSE;
  if (!assigner->strategy.priority)
    return depend > gemem_ge_block_life_end (a, b->stream);
  end = end_seen_from (a, b->stream, &on);
  if (on == b->stream)
    return begin > end;
  if (on != a->stream && on != -1)
    return gemem_ge_depend (model, b->stream, on, begin) >= end;
  return depend > end;
}

static gboolean
starts_in_same_out (const GeModel *model, const GeBlock *block)
{
  const GeOccupant *first = &block->occupants[0];

  return first->kind == GE_KIND_OUTPUT
         && model->multi_same_out[gemem_graph_node (model->graph, first->node)->first_output
                                  + first->index];
}

static gboolean
after (const GeAssigner *assigner, const GeBlock *a, const GeBlock *b)
{
  if (a->stream == b->stream ? b->begin <= a->end : !after_on_other_stream (assigner, a, b))
    return FALSE;
  return !ge_block_conflict (a, b)
         && ((b->traits & GE_SPECIAL) == 0 || !starts_in_same_out (assigner->model, b));
}

/* TRUE if begins and ends of the occupants ascend. */
static gboolean
took_turns (const GeBlock *block)
{
  for (guint32 i = 0; i < block->n_occupants; i++)
    {
      const GeOccupant *o = &block->occupants[i];

      if (gemem_ge_occupant_life_begin (o) > o->end
          || (i > 0
              && (gemem_ge_occupant_life_begin (o) < gemem_ge_occupant_life_begin (o - 1)
                  || o->end < o[-1].end)))
        return FALSE;
    }
  return TRUE;
}

void
gemem_ge_pack_refresh (const GeModel *model, GeBlock *block)
{
  const gboolean ordinary = !block->cont && !block->zc;

  block->begin = gemem_ge_block_life_begin (block);
  block->end = gemem_ge_block_life_end (block, block->stream);
  block->traits = starts_in_same_out (model, block) ? GE_SPECIAL : 0;
  for (guint32 i = 0; i < block->n_occupants; i++)
    if ((block->occupants[i].flags & GE_OCCUPANT_CALL) != 0)
      block->traits |= GE_SPECIAL;
  if (block->n_occupants == 1 && ordinary && !block->first && !block->last)
    block->traits |= GE_PLAIN;
  if (block->same_stream && ordinary && ge_block_last (block)->diff_stream == GE_NO_DIFF)
    block->traits |= GE_LOOSE;
  if (took_turns (block))
    block->traits |= GE_TURNS;
}

/* ---- interleave: split the later block */

static gboolean
overlap (const GeOccupant *x, const GeOccupant *y)
{
  const guint32 begin_x = gemem_ge_occupant_life_begin (x),
                begin_y = gemem_ge_occupant_life_begin (y);

  if (begin_x == begin_y)
    return TRUE;
  return begin_x < begin_y ? x->end >= begin_y : y->end >= begin_x;
}

/* The first occupant that ends at or after @time. */
static const GeOccupant *
first_not_before (const GeBlock *block, guint32 time)
{
  guint32 low = 0, high = block->n_occupants;

  while (low < high)
    {
      const guint32 middle = low + (high - low) / 2;

      if (block->occupants[middle].end < time)
        low = middle + 1;
      else
        high = middle;
    }
  return low < block->n_occupants ? &block->occupants[low] : NULL;
}

static gboolean
overlaps_any (GeBlock *p, const GeOccupant *occupant)
{
  if (p->n_occupants > 4 && (p->traits & GE_TURNS) != 0
      && gemem_ge_occupant_life_begin (occupant) <= occupant->end)
    {
      const GeOccupant *next = first_not_before (p, gemem_ge_occupant_life_begin (occupant));

      return next != NULL && overlap (next, occupant);
    }
  for (guint32 i = 0; i < p->n_occupants; i++)
    if (overlap (&p->occupants[i], occupant))
      return TRUE;
  return FALSE;
}

/* TRUE if occupant @i of @c, which is no reference, or one of the references that follow it,
 * overlaps an occupant of @p. */
static gboolean
crosses (GeBlock *p, const GeBlock *c, guint32 i)
{
  const GeOccupant *o = &c->occupants[i];

  if (!(o->end < gemem_ge_block_life_begin (p)
        || gemem_ge_occupant_life_begin (o) > ge_block_last (p)->end)
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
  GeBlock *clone = gemem_ge_block_new (a, block->size, block->stream, block->space,
                                       block->reuse_mem);

  /* later inserted behind the pair that is being packed */
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
split (GePacker *packer, GeBlock *c)
{
  GeBlock *clone = clone_of (packer->a, c);
  guint32 kept = 0;

  for (guint32 i = 0; i < c->n_occupants; i++)
    if (packer->moved->data[i])
      gemem_ge_block_add (clone, &c->occupants[i], clone->stream);
    else
      c->occupants[kept++] = c->occupants[i];
  c->n_occupants = kept; /* the align_size of c stays cached [QUIRK] */
  gemem_ge_pack_refresh (packer->a->model, clone);
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

/* TRUE if every occupant of @c overlaps the only one of @p, and a try clears no flags of @c. */
static gboolean
all_cross (const GeBlock *p, const GeBlock *c)
{
  return p->n_occupants == 1 && (c->traits & GE_TURNS) != 0
         && ((p->traits | c->traits) & GE_SPECIAL) == 0 && !c->first && !c->last
         && c->occupants[0].end >= p->begin && ge_block_last (c)->begin <= p->end;
}

static gboolean
interleave (GePacker *packer, GeBlock *p, GeBlock *c)
{
  guint32 n_moved = 0;

  if (p->stream != c->stream || (p->traits & c->traits & GE_LOOSE) == 0 || ge_block_conflict (p, c))
    return FALSE;
  if (all_cross (p, c))
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
        c->first = c->last = FALSE; /* appendix D 2 */
      return FALSE;
    }
  if (n_moved > 0)
    g_ptr_array_add (packer->clones, split (packer, c));
  recompute_flags (c);
  gemem_ge_pack_refresh (packer->a->model, c);
  return TRUE;
}

/* ---- packing */

/* Largest possible direct child in bytes; 0 at the nesting limit of pack(). */
static guint64
own_max_child (GeBlock *block)
{
  const guint64 most = gemem_ge_block_align_size (block) + GE_ALIGN; /* the slack of pack() */

  return block->depth < GE_DEPTH_MAX && most > block->child_off ? most - block->child_off : 0;
}

static void
update_max_child (GeBlock *block)
{
  block->max_child = own_max_child (block);
  for (guint i = 0; block->summaries != NULL && i < block->summaries->len; i++)
    block->max_child = MAX (block->max_child,
                            g_array_index (block->summaries, GeChildSummary, i).max_child);
}

guint64
gemem_ge_pack_max_child (GeBlock *block)
{
  if (block->children == NULL)
    update_max_child (block);
  return block->max_child;
}

static void
add_child (GeBlock *p, GeBlock *c, guint64 bytes)
{
  GeChildSummary summary = { 0, c->begin, c->end, c->stream, c->traits };

  c->child = TRUE;
  c->depth = (guint8) (p->depth + 1);
  c->max_child = summary.max_child = own_max_child (c);
  if (p->children == NULL)
    {
      p->children = g_ptr_array_new ();
      p->summaries = g_array_new (FALSE, FALSE, sizeof (GeChildSummary));
    }
  g_ptr_array_add (p->children, c);
  g_array_append_val (p->summaries, summary);
  p->child_off += bytes;
  update_max_child (p);
}

static void
pack_continuous (GeBlock *p, GeBlock *c)
{
  const guint64 size_p = gemem_ge_block_max_noalign (p), size_c = gemem_ge_block_max_noalign (c);

  if ((p->cont && c->cont) || (p->cont && size_p < size_c) || (c->cont && size_p > size_c)
      || ge_block_conflict (p, c))
    return;
  if (p->cont && p->child_off + gemem_ge_block_align_size (c) <= size_p)
    add_child (p, c, gemem_ge_block_align_size (c));
  else if (c->cont && c->child_off + gemem_ge_block_align_size (p) <= size_c
           && gemem_ge_block_align_size (p) == gemem_ge_block_align_size (c) && p->children == NULL)
    add_child (c, p, gemem_ge_block_align_size (p));
}

/* pack_continuous() with the sizes that the caller sees. */
static void
pack_zero_copy (GeBlock *p, GeBlock *c)
{
  const guint64 size_p = gemem_ge_block_max_real (p), size_c = gemem_ge_block_max_real (c);
  const gboolean equal = p->child_off == 0 && c->child_off == 0 && size_p == size_c;

  if ((p->zc && c->zc) || (p->zc && size_p < size_c) || (c->zc && size_p > size_c)
      || ge_block_conflict (p, c))
    return;
  if (!(p->zc ? c : p)->reuse_zc)
    return;
  if (p->zc && (equal || p->child_off + gemem_ge_block_align_size (c) <= size_p))
    {
      add_child (p, c, gemem_ge_block_align_size (c));
      p->reuse_zc &= c->reuse_zc;
    }
  else if (c->zc && (equal || c->child_off + gemem_ge_block_align_size (p) <= size_c)
           && gemem_ge_block_align_size (p) == gemem_ge_block_align_size (c) && p->children == NULL)
    {
      add_child (c, p, gemem_ge_block_align_size (p));
      c->reuse_zc &= p->reuse_zc;
    }
}

static gboolean pack (GePacker *packer, GeBlock *p, GeBlock *c, guint depth, gboolean inner);

/* TRUE if @c, which is plain, cannot change the child that @summary describes.  Children are
 * ordinary blocks, never continuous or zero-copy. */
static inline gboolean
is_unaffected (const GeChildSummary *summary, const GeBlock *c, guint64 bytes)
{
  const gboolean one_on_one = summary->stream == c->stream
                              && (summary->traits & (GE_PLAIN | GE_SPECIAL)) == GE_PLAIN;

  return summary->max_child < bytes
         || (one_on_one && summary->begin <= c->end && c->begin <= summary->end);
}

/* Tries the children of @p. */
static gboolean
pack_deeper (GePacker *packer, GeBlock *p, GeBlock *c, guint depth)
{
  const gboolean plain = (c->traits & (GE_PLAIN | GE_SPECIAL)) == GE_PLAIN;
  const guint64 bytes = gemem_ge_block_align_size (c);

  for (guint i = 0; p->children != NULL && i < p->children->len; i++)
    {
      GeChildSummary *summary = &g_array_index (p->summaries, GeChildSummary, i);
      GeBlock *q = g_ptr_array_index (p->children, i);

      if ((plain && is_unaffected (summary, c, bytes)) || !pack (packer, q, c, depth + 1, TRUE))
        continue;
      summary->max_child = q->max_child;
      update_max_child (p);
      return TRUE;
    }
  return FALSE;
}

static gboolean
pack (GePacker *packer, GeBlock *p, GeBlock *c, guint depth, gboolean inner)
{
  gboolean ok;
  guint64 bytes;

  if (depth + 1 > GE_DEPTH_MAX || !p->reuse_mem || (p->child && !inner) || !c->reuse_mem || c->child
      || p->label != c->label || p->space != c->space || c->children != NULL)
    return FALSE;
  ok = after (packer->a, p, c) || after (packer->a, c, p);
  if ((p->zc && (c->first || c->last || c->cont)) || (c->zc && (p->first || p->last || p->cont)))
    return FALSE;
  if (p->cont || c->cont)
    {
      if (ok && (p->label == 0 || !ge_is_documented (packer->a->model->options)))
        pack_continuous (p, c);
      return TRUE; /* stop trying, even without success */
    }
  if (p->zc || c->zc)
    {
      if (ok)
        pack_zero_copy (p, c);
      return TRUE;
    }
  if (!ok && !interleave (packer, p, c))
    return FALSE;
  if (pack_deeper (packer, p, c, depth))
    return TRUE;
  bytes = gemem_ge_block_align_size (c);
  if (p->child_off + bytes > gemem_ge_block_align_size (p) + (bytes != GE_ALIGN ? GE_ALIGN : 0))
    return FALSE;
  add_child (p, c, bytes);
  p->reuse_zc &= c->reuse_zc;
  return TRUE;
}

void
gemem_ge_pack_pair (GePacker *packer, GeBlock *p, GeBlock *c)
{
  pack (packer, p, c, 0, FALSE);
}

/* batch.c - blocks of different batch labels overlay each other, because only one label runs at a
 * time (ge-static.md 4.3).
 *
 * The blocks of the label with the most bytes are wrapped into virtual parents at the end of B; the
 * blocks of the other labels are laid over them.  If memory can be extended (static memory policy
 * 1, 2, 4), a virtual parent ends at 400 MiB.
 * Cost: O(blocks log blocks) for each label.
 */
#include "config.h"

#include "planners/ge/ge-private.h"
#include "planners/ge/library.h"

enum
{
  ORDINARY,
  SAME_OFFSET,
  CONTINUOUS,
  N_CLASSES
};

static gboolean
is_candidate (const GeBlock *block)
{
  return !block->child && !block->zc && block->label != 0
         && (block->reuse_mem || block->same_offset);
}

static guint
class_of (const GeBlock *block)
{
  return block->same_offset ? SAME_OFFSET : block->cont ? CONTINUOUS : ORDINARY;
}

/* TRUE if every occupant from the second on has the block's label. */
static gboolean
one_label (const GeAssigner *a, const GeBlock *block)
{
  for (guint32 i = 1; i < block->n_occupants; i++)
    if (a->model->nodes[block->occupants[i].node].label != block->label)
      return FALSE;
  return TRUE;
}

/* Wraps @members (takes ownership) into a block at the end of B. */
static GeBlock *
virtual_parent (GeAssigner *a, GPtrArray *members)
{
  const GeBlock *first = g_ptr_array_index (members, 0);
  GeBlock *parent = gemem_ge_block_new (a, 0, first->stream, first->space, TRUE);
  GeOccupant occupant = { .node = first->occupants[0].node,
                          .begin = first->occupants[0].node,
                          .end = GE_NEVER,
                          .sym_end = GE_NEVER,
                          .diff_stream = GE_NO_DIFF,
                          .out_cnt = 1,
                          .kind = GE_KIND_PSEUDO };

  parent->label = first->label;
  parent->members = members;
  for (guint i = 0; i < members->len; i++)
    {
      GeBlock *member = g_ptr_array_index (members, i);

      member->child = TRUE;
      parent->size += member->size;
    }
  occupant.real = occupant.noalign = parent->size;
  gemem_ge_block_add (parent, &occupant, parent->stream);
  return parent;
}

static void
overlay (GeBlock *parent, GPtrArray *blocks)
{
  if (parent->overlays == NULL)
    parent->overlays = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  g_ptr_array_add (parent->overlays, blocks);
}

static gboolean
larger (gconstpointer x, gconstpointer y, G_GNUC_UNUSED gpointer data)
{
  return ((const GeBlock *) x)->size > ((const GeBlock *) y)->size;
}

/* Wraps the blocks of a label, in parts of at most split_limit bytes if memory can be extended. */
static GPtrArray *
wrap (GeAssigner *a, const GPtrArray *blocks)
{
  GPtrArray *parents = g_ptr_array_new (), *part = g_ptr_array_new ();
  guint64 sum = 0;

  for (guint i = 0; i < blocks->len; i++)
    {
      GeBlock *block = g_ptr_array_index (blocks, i);

      if (a->model->extend_memory && part->len > 0
          && sum + block->size > a->model->options->split_limit)
        {
          g_ptr_array_add (parents, virtual_parent (a, part));
          part = g_ptr_array_new ();
          sum = 0;
        }
      g_ptr_array_add (part, block);
      sum += block->size;
    }
  g_ptr_array_add (parents, virtual_parent (a, part));
  return parents;
}

/* Lays the blocks of another label over the parents, largest block on largest parent. */
static void
overlay_label (GeAssigner *a, GPtrArray *parents, GPtrArray *blocks)
{
  const GeOptions *options = a->model->options;

  gemem_ge_sort (options, parents->pdata, parents->len, larger, NULL);
  gemem_ge_sort (options, blocks->pdata, blocks->len, larger, NULL);
  for (guint i = 0, next = 0; i < parents->len && next < blocks->len; i++)
    {
      GeBlock *parent = g_ptr_array_index (parents, i);
      GPtrArray *chain = g_ptr_array_new ();
      guint64 used = 0;

      for (; next < blocks->len; next++)
        {
          GeBlock *block = g_ptr_array_index (blocks, next);

          if (used + block->size > parent->size)
            break;
          block->child = TRUE;
          used += block->size;
          g_ptr_array_add (chain, block);
        }
      overlay (parent, chain);
    }
}

static void
overlay_ordinary (GeAssigner *a, GPtrArray **by_label, guint largest)
{
  g_autoptr (GPtrArray) parents = wrap (a, by_label[largest]);

  for (guint i = 0; i < parents->len; i++)
    ((GeBlock *) parents->pdata[i])->batch_part = TRUE;
  for (guint label = 1; label < a->model->n_labels; label++)
    if (label != largest && by_label[label] != NULL)
      overlay_label (a, parents, by_label[label]);
}

/* Lays each label as a whole over the largest: all start at one offset. */
static void
overlay_whole (GeAssigner *a, GPtrArray **by_label, guint largest)
{
  GeBlock *parent = virtual_parent (a, g_ptr_array_ref (by_label[largest]));

  for (guint label = 1; label < a->model->n_labels; label++)
    {
      GeBlock *other;
      GPtrArray *chain;

      if (label == largest || by_label[label] == NULL)
        continue;
      other = virtual_parent (a, g_ptr_array_ref (by_label[label]));
      if (other->size > parent->size)
        continue;
      other->child = TRUE;
      chain = g_ptr_array_new ();
      g_ptr_array_add (chain, other);
      overlay (parent, chain);
    }
}

/* The label with the most bytes, the first in string order if equal; 0: no label has bytes. */
static guint
largest_label (GPtrArray **by_label, guint n_labels)
{
  guint64 most = 0;
  guint largest = 0;

  for (guint label = 1; label < n_labels; label++)
    {
      guint64 sum = 0;

      for (guint i = 0; by_label[label] != NULL && i < by_label[label]->len; i++)
        sum += ((const GeBlock *) g_ptr_array_index (by_label[label], i))->size;
      if (sum > most)
        {
          most = sum;
          largest = label;
        }
    }
  return largest;
}

/* Resizes the blocks of @space and @class among the first @n of B and returns them by label. */
static GPtrArray **
collect_blocks (GeAssigner *a, guint n, guint space, guint class)
{
  GPtrArray **by_label = g_new0 (GPtrArray *, a->model->n_labels);

  for (guint i = 0; i < n; i++)
    {
      GeBlock *block = g_ptr_array_index (a->blocks, i);

      if (!is_candidate (block) || block->space != space
          || class_of (block) != class || !one_label (a, block))
        continue;
      if (by_label[block->label] == NULL)
        by_label[block->label] = g_ptr_array_new ();
      gemem_ge_block_resize (block);
      g_ptr_array_add (by_label[block->label], block);
    }
  return by_label;
}

void
gemem_ge_batch (GeAssigner *a)
{
  const guint n = a->blocks->len, n_labels = a->model->n_labels;

  for (guint space = 0; space < GE_N_SPACES; space++)
    for (guint class = 0; class < N_CLASSES; class ++)
      {
        GPtrArray **by_label = collect_blocks (a, n, space, class);
        const guint largest = largest_label (by_label, n_labels);

        if (largest != 0 && class == ORDINARY)
          overlay_ordinary (a, by_label, largest);
        else if (largest != 0)
          overlay_whole (a, by_label, largest);
        for (guint label = 0; label < n_labels; label++)
          g_clear_pointer (&by_label[label], g_ptr_array_unref);
        g_free (by_label);
      }
}

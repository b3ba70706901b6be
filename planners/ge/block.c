/* block.c - occupants, blocks and memory spaces (ge-static.md 2.1); see block.h. */
#include "config.h"

#include "planners/ge/block.h"

guint32
gemem_ge_occupant_life_begin (const GeOccupant *occupant)
{
  const guint8 both = GE_OCCUPANT_CALL | GE_OCCUPANT_BEGIN_MIN;

  return (occupant->flags & both) == GE_OCCUPANT_CALL ? occupant->end : occupant->begin;
}

GeOccupant *
gemem_ge_block_add (GeBlock *block, const GeOccupant *occupant, gint32 stream)
{
  GeOccupant *added;

  if (block->n_occupants == block->occupants_size)
    {
      block->occupants_size = MAX (1, 2 * block->occupants_size);
      block->occupants = g_renew (GeOccupant, block->occupants, block->occupants_size);
    }
  if ((occupant->flags & GE_OCCUPANT_REF) != 0 && block->n_occupants > 0)
    ge_block_last (block)->flags |= GE_OCCUPANT_NEXT_REF;
  added = &block->occupants[block->n_occupants++];
  *added = *occupant;
  block->aligned = 0;
  block->n_visits = 0; /* the visits of the previous occupant are never read again */
  if (stream != block->stream)
    block->same_stream = FALSE;
  block->cont |= (occupant->flags & GE_OCCUPANT_CONT) != 0;
  block->first |= (occupant->flags & GE_OCCUPANT_FIRST) != 0;
  block->last |= (occupant->flags & GE_OCCUPANT_LAST) != 0;
  return added;
}

void
gemem_ge_block_set_size (GeBlock *block, guint64 size)
{
  block->size = MAX (block->size, size);
}

guint64
gemem_ge_block_max_real (const GeBlock *block)
{
  guint64 largest = 0;

  for (guint32 i = 0; i < block->n_occupants; i++)
    largest = MAX (largest, block->occupants[i].real);
  return largest;
}

guint64
gemem_ge_block_max_noalign (const GeBlock *block)
{
  guint64 largest = 0;

  for (guint32 i = 0; i < block->n_occupants; i++)
    largest = MAX (largest, block->occupants[i].noalign);
  return largest;
}

guint64
gemem_ge_block_align_size (GeBlock *block)
{
  if (block->aligned == 0)
    block->aligned = ge_align (gemem_ge_block_max_real (block));
  return block->aligned;
}

guint32
gemem_ge_block_life_begin (const GeBlock *block)
{
  return block->n_occupants > 0 ? gemem_ge_occupant_life_begin (&block->occupants[0]) : GE_MAX;
}

guint32
gemem_ge_block_life_end (const GeBlock *block, gint32 stream)
{
  const GeOccupant *last;

  if (block->n_occupants == 0)
    return GE_MAX;
  last = ge_block_last (block);
  return last->out_cnt == 1 && last->diff_stream == stream ? last->diff_end : last->end;
}

void
gemem_ge_block_set_end (GeBlock *block, guint32 time, gint32 stream)
{
  GeOccupant *last = ge_block_last (block);

  if (stream == block->stream)
    {
      if (last->end == GE_NEVER || time > last->end)
        last->end = time;
      return;
    }
  g_return_if_fail (last->diff_stream == GE_NO_DIFF || last->diff_stream == stream);
  last->diff_end = last->diff_stream == GE_NO_DIFF ? time : MAX (last->diff_end, time);
  last->diff_stream = stream;
  if (last->end == GE_NEVER)
    last->end = GE_MAX;
}

void
gemem_ge_block_set_sym_end (GeBlock *block, guint32 time)
{
  GeOccupant *last = ge_block_last (block);

  if (last->sym_end == GE_NEVER || time > last->sym_end)
    last->sym_end = time;
}

void
gemem_ge_block_raise_out_cnt (GeBlock *block, guint32 n)
{
  GeOccupant *last = ge_block_last (block);

  last->out_cnt = MAX (last->out_cnt, n);
}

void
gemem_ge_block_set_first_last (GeBlock *block)
{
  ge_block_last (block)->flags |= GE_OCCUPANT_FIRST | GE_OCCUPANT_LAST;
  block->first = block->last = TRUE;
}

static guint64
resize_all (GPtrArray *blocks)
{
  guint64 sum = 0;

  for (guint i = 0; blocks != NULL && i < blocks->len; i++)
    sum += gemem_ge_block_resize (g_ptr_array_index (blocks, i));
  return sum;
}

guint64
gemem_ge_block_resize (GeBlock *block)
{
  guint64 sum = resize_all (block->children);

  sum = MAX (sum, resize_all (block->members));
  for (guint i = 0; block->overlays != NULL && i < block->overlays->len; i++)
    sum = MAX (sum, resize_all (g_ptr_array_index (block->overlays, i)));
  block->size = ge_align (MAX (sum, gemem_ge_block_max_real (block)));
  return block->size;
}

/* ---- spaces */

static const guint64 space_types[GE_N_SPACES] = { GEMEM_MEMORY_HBM, GEMEM_MEMORY_P2P,
                                                  GEMEM_MEMORY_HOST, GEMEM_MEMORY_HOST_SVM,
                                                  GEMEM_MEMORY_SESSION };

guint64
gemem_ge_space_type (GeSpace space)
{
  return space_types[space];
}

guint64
gemem_ge_space_base (GeSpace space)
{
  return space == GE_SPACE_HOST ? 64 * GEMEM_GIB : space == GE_SPACE_HOST_SVM ? 128 * GEMEM_GIB : 0;
}

GeSpace
gemem_ge_space_of_type (guint64 type)
{
  for (int i = 0; i < GE_N_SPACES; i++)
    if (space_types[i] == type)
      return (GeSpace) i;
  return GE_SPACE_HBM;
}

/* gaps.c - see gaps.h. */
#include "config.h"

#include "allocators/planned/gaps.h"

/* Both nodes have the part as their group. */
typedef struct
{
  GememTreeNode by_size;   /* `address` is the offset */
  GememTreeNode by_offset; /* `size` is the offset */
} Gap;

void
gemem_gaps_init (GememGaps *gaps)
{
  *gaps = (GememGaps){ .by_size = GEMEM_TREE_INIT, .by_offset = GEMEM_TREE_INIT };
  gemem_slab_init (&gaps->slab, sizeof (Gap));
}

void
gemem_gaps_clear (GememGaps *gaps)
{
  gemem_tree_clear (&gaps->by_size);
  gemem_tree_clear (&gaps->by_offset);
  gemem_slab_clear (&gaps->slab);
}

static Gap *
gap_of (GememTreeNode *by_offset)
{
  return GEMEM_TREE_ENTRY (by_offset, Gap, by_offset);
}

static guint64
end_of (const Gap *gap)
{
  return gap->by_offset.size + gap->by_size.size;
}

static void
insert (GememGaps *gaps, guint64 part, guint64 offset, guint64 size)
{
  Gap *gap = gemem_slab_alloc (&gaps->slab);

  gap->by_size = (GememTreeNode){ .group = part, .size = size, .address = offset };
  gap->by_offset = (GememTreeNode){ .group = part, .size = offset };
  gemem_tree_insert (&gaps->by_size, &gap->by_size);
  gemem_tree_insert (&gaps->by_offset, &gap->by_offset);
}

static void
erase (GememGaps *gaps, Gap *gap)
{
  gemem_tree_remove (&gaps->by_size, &gap->by_size);
  gemem_tree_remove (&gaps->by_offset, &gap->by_offset);
  gemem_slab_free (&gaps->slab, gap);
}

/* The last gap of @part that begins at @offset or before; NULL: none. */
static Gap *
gap_at (const GememGaps *gaps, guint64 part, guint64 offset)
{
  GememTreeNode *node = gemem_tree_before (&gaps->by_offset, part, offset + 1, 0);

  return node != NULL && node->group == part ? gap_of (node) : NULL;
}

void
gemem_gaps_add (GememGaps *gaps, guint64 part, guint64 offset, guint64 size)
{
  Gap *below = gap_at (gaps, part, offset);
  GememTreeNode *above = gemem_tree_lower_bound (&gaps->by_offset, part, offset, 0);
  guint64 from = offset, to = offset + size;

  if (above != NULL && above->group == part && above->size == to)
    {
      to = end_of (gap_of (above));
      erase (gaps, gap_of (above));
    }
  if (below != NULL && end_of (below) == from)
    {
      from = below->by_offset.size;
      erase (gaps, below);
    }
  insert (gaps, part, from, to - from);
}

/* Takes @size bytes at @offset from @gap, which has them. */
static void
cut (GememGaps *gaps, Gap *gap, guint64 offset, guint64 size)
{
  const guint64 part = gap->by_size.group, from = gap->by_offset.size, to = end_of (gap);

  erase (gaps, gap);
  if (offset > from)
    insert (gaps, part, from, offset - from);
  if (to > offset + size)
    insert (gaps, part, offset + size, to - (offset + size));
}

gboolean
gemem_gaps_take (GememGaps *gaps, guint64 part, guint64 offset, guint64 size)
{
  Gap *gap = gap_at (gaps, part, offset);

  if (gap == NULL || end_of (gap) < offset + size)
    return FALSE;
  cut (gaps, gap, offset, size);
  return TRUE;
}

gboolean
gemem_gaps_fit (GememGaps *gaps, guint64 part, guint64 size, guint64 *offset)
{
  GememTreeNode *node = gemem_tree_fit (&gaps->by_size, part, size);
  Gap *gap;

  if (node == NULL || node->group != part)
    return FALSE;
  gap = GEMEM_TREE_ENTRY (node, Gap, by_size);
  *offset = gap->by_offset.size;
  cut (gaps, gap, *offset, size);
  return TRUE;
}

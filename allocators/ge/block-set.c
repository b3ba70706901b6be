/* block-set.c - see block-set.h. */
#include "config.h"

#include "allocators/ge/block-set.h"
#include "allocators/ge/links.h"
#include "base/units.h"

#define BLOCK_OF(tree_node) GEMEM_TREE_ENTRY (tree_node, GeBinBlock, node)
#define ROOT_OF(tree_node) GEMEM_TREE_ENTRY (tree_node, GeBinRoot, by_address)

void
gemem_ge_block_set_init (GeBlockSet *set, GememDevice *device)
{
  *set = (GeBlockSet){ .device = device };
  gemem_slab_init (&set->block_slab, sizeof (GeBinBlock));
  gemem_slab_init (&set->root_slab, sizeof (GeBinRoot));
}

static void
drop_root (GeBlockSet *set, GeBinRoot *root)
{
  gemem_tree_remove (&set->roots, &root->by_address);
  set->obtained -= root->bytes;
  gemem_device_free (set->device, root->by_address.address, root->bytes);
  gemem_slab_free (&set->root_slab, root);
}

void
gemem_ge_block_set_clear (GeBlockSet *set)
{
  GememTreeNode *node;

  while ((node = gemem_tree_first (&set->roots)) != NULL)
    drop_root (set, ROOT_OF (node));
  gemem_tree_clear (&set->idle);
  gemem_tree_clear (&set->roots);
  gemem_slab_clear (&set->block_slab);
  gemem_slab_clear (&set->root_slab);
}

guint64
gemem_ge_block_round (guint64 bytes)
{
  if (bytes > G_MAXUINT64 - GE_BLOCK_UNIT)
    return 0;
  return MAX (GE_BLOCK_UNIT, gemem_round_up (bytes, GE_BLOCK_UNIT));
}

gboolean
gemem_ge_block_set_grow (GeBlockSet *set, guint64 bin, guint64 bytes, guint64 stream)
{
  const guint64 address = gemem_device_malloc (set->device, bytes, stream);
  GeBinRoot *root;

  if (address == 0)
    return FALSE;
  root = gemem_slab_alloc (&set->root_slab);
  root->bytes = bytes;
  root->stream = stream;
  root->by_address.address = address;
  root->first.node.group = bin;
  root->first.node.size = bytes;
  root->first.node.address = address;
  gemem_tree_insert (&set->roots, &root->by_address);
  gemem_tree_insert (&set->idle, &root->first.node);
  set->obtained += bytes;
  return TRUE;
}

/* Cuts @block, which is not in the set, to @size; the rest becomes a free block. */
static void
split (GeBlockSet *set, GeBinBlock *block, guint64 size)
{
  GeBinBlock *high = gemem_slab_alloc (&set->block_slab);

  high->node.group = block->node.group;
  high->node.size = block->node.size - size;
  high->node.address = block->node.address + size;
  GE_LINK_AFTER (block, high);
  block->node.size = size;
  gemem_tree_insert (&set->idle, &high->node);
}

GeBinBlock *
gemem_ge_block_set_take (GeBlockSet *set, guint64 bin, guint64 size, guint64 hint)
{
  GememTreeNode *node = gemem_tree_lower_bound (&set->idle, bin, size, hint);
  GeBinBlock *block;

  if (node == NULL || node->group != bin)
    return NULL;
  gemem_tree_remove (&set->idle, node);
  block = BLOCK_OF (node);
  if (size <= block->node.size / 2)
    split (set, block, size);
  block->occupied = TRUE;
  set->occupied += block->node.size;
  return block;
}

/* @block absorbs the one after it; neither is in the set. */
static void
absorb_next (GeBlockSet *set, GeBinBlock *block)
{
  GeBinBlock *next = block->next;

  block->node.size += next->node.size;
  GE_UNLINK_NEXT (block);
  gemem_slab_free (&set->block_slab, next);
}

void
gemem_ge_block_set_give (GeBlockSet *set, GeBinBlock *block)
{
  GEMEM_CHECK (block->occupied);
  block->occupied = FALSE;
  set->occupied -= block->node.size;
  if (block->prev != NULL && !block->prev->occupied)
    {
      block = block->prev;
      gemem_tree_remove (&set->idle, &block->node);
      absorb_next (set, block);
    }
  if (block->next != NULL && !block->next->occupied)
    {
      gemem_tree_remove (&set->idle, &block->next->node);
      absorb_next (set, block);
    }
  gemem_tree_insert (&set->idle, &block->node);
}

void
gemem_ge_block_set_prefetch (G_GNUC_UNUSED GememAllocator *allocator, const GememBlock *allocated)
{
  const GeBinBlock *block = allocated->handle;

  __builtin_prefetch (block->prev, 1);
  __builtin_prefetch (block->next, 1);
}

static inline gboolean
is_whole (const GeBinBlock *block)
{
  return block->prev == NULL && block->next == NULL;
}

guint64
gemem_ge_block_set_release (GeBlockSet *set, guint64 from, guint64 to)
{
  const guint64 before = set->obtained;
  GememTreeNode *next;

  for (GememTreeNode *node = gemem_tree_lower_bound (&set->idle, from, 0, 0);
       node != NULL && node->group <= to; node = next)
    {
      next = gemem_tree_next (node);
      if (!is_whole (BLOCK_OF (node)))
        continue;
      gemem_tree_remove (&set->idle, node);
      drop_root (set, (GeBinRoot *) BLOCK_OF (node));
    }
  return before - set->obtained;
}

/* ---- questions */

guint64
gemem_ge_block_set_largest (const GeBlockSet *set, guint64 bin, guint64 hint)
{
  const GememTreeNode *last = gemem_tree_before (&set->idle, bin, G_MAXUINT64, G_MAXUINT64);

  if (last == NULL || last->group != bin)
    return 0;
  return (last->address >= hint ? last->size : last->size - 1) / GE_BLOCK_UNIT * GE_BLOCK_UNIT;
}

void
gemem_ge_block_set_walk (const GeBlockSet *set, GememSpanFunc func, gpointer data)
{
  for (GememTreeNode *node = gemem_tree_first (&set->roots); node != NULL;
       node = gemem_tree_next (node))
    {
      const GeBinRoot *root = ROOT_OF (node);

      for (const GeBinBlock *block = &root->first; block != NULL; block = block->next)
        {
          const GememSpan span = { .address = block->node.address,
                                   .size = block->node.size,
                                   .segment = node->address,
                                   .segment_size = root->bytes,
                                   .stream = root->stream,
                                   .state = block->occupied ? GEMEM_SPAN_LIVE : GEMEM_SPAN_FREE,
                                   .user = block->occupied ? block->node.address : 0 };

          func (&span, data);
        }
    }
}

static gboolean
broken (GError **error, const char *what, guint64 address, const char *why)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT, "%s: block 0x%" G_GINT64_MODIFIER "x %s",
               what, address, why);
  return FALSE;
}

typedef struct
{
  guint64 obtained, occupied, idle;
} Totals;

static gboolean
check_root (const GeBinRoot *root, const char *what, Totals *totals, GError **error)
{
  guint64 end = root->by_address.address;
  const GeBinBlock *prev = NULL;

  for (const GeBinBlock *block = &root->first; block != NULL; prev = block, block = block->next)
    {
      if (block->node.address != end || block->prev != prev)
        return broken (error, what, block->node.address, "does not follow its neighbour");
      if (block->node.group != root->first.node.group)
        return broken (error, what, block->node.address, "is not of the bin of its root");
      if (prev != NULL && !prev->occupied && !block->occupied)
        return broken (error, what, block->node.address, "is free beside a free block");
      if (block->occupied)
        totals->occupied += block->node.size;
      else
        totals->idle++;
      end += block->node.size;
    }
  if (end != root->by_address.address + root->bytes)
    return broken (error, what, root->by_address.address,
                   "and its neighbours do not make up what the device gave");
  totals->obtained += root->bytes;
  return TRUE;
}

gboolean
gemem_ge_block_set_check (const GeBlockSet *set, const char *what, GError **error)
{
  Totals totals = { 0 };

  if (!gemem_tree_check (&set->idle) || !gemem_tree_check (&set->roots))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT, "%s: a tree is out of order", what);
      return FALSE;
    }
  for (GememTreeNode *node = gemem_tree_first (&set->roots); node != NULL;
       node = gemem_tree_next (node))
    if (!check_root (ROOT_OF (node), what, &totals, error))
      return FALSE;
  for (GememTreeNode *node = gemem_tree_first (&set->idle); node != NULL;
       node = gemem_tree_next (node))
    if (BLOCK_OF (node)->occupied)
      return broken (error, what, node->address, "is handed out, and free");
  if (totals.obtained == set->obtained && totals.occupied == set->occupied
      && totals.idle == set->idle.count && set->obtained <= set->device->held)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "%s: %" G_GUINT64_FORMAT " bytes with %" G_GUINT64_FORMAT
               " handed out and %" G_GUINT64_FORMAT " free blocks are counted, %" G_GUINT64_FORMAT
               ", %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT " are there",
               what, set->obtained, set->occupied, set->idle.count, totals.obtained,
               totals.occupied, totals.idle);
  return FALSE;
}

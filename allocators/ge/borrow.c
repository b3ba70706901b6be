/* borrow.c - see borrow.h. */
#include "config.h"

#include "allocators/ge/borrow.h"
#include "allocators/ge/links.h"

void
gemem_ge_block_list_append (GeBlockList *list, GeStreamBlock *block)
{
  block->prev = list->last;
  block->next = NULL;
  if (list->last != NULL)
    list->last->next = block;
  else
    list->first = block;
  list->last = block;
}

void
gemem_ge_block_list_remove (GeBlockList *list, GeStreamBlock *block)
{
  if (block == list->last)
    list->last = block->prev;
  GE_UNLINK (list->first, block, prev, next);
}

void
gemem_ge_borrow_insert (GeBorrowPool *pool, GeStreamBlock *block, guint64 stamp)
{
  block->node.group = 0;
  block->node.size = gemem_ge_span_bytes (block->span);
  block->node.address = G_MAXUINT64 - stamp; /* the latest comes first */
  gemem_tree_insert (&pool->tree, &block->node);
  gemem_ge_block_list_append (&pool->by_birth[block->birth], block);
}

void
gemem_ge_borrow_remove (GeBorrowPool *pool, GeStreamBlock *block)
{
  gemem_tree_remove (&pool->tree, &block->node);
  gemem_ge_block_list_remove (&pool->by_birth[block->birth], block);
}

GeStreamBlock *
gemem_ge_borrow_find (const GeBorrowPool *pool, guint64 size)
{
  GememTreeNode *node = gemem_tree_fit (&pool->tree, 0, size);

  return node != NULL ? GEMEM_TREE_ENTRY (node, GeStreamBlock, node) : NULL;
}

guint64
gemem_ge_borrow_stamp (const GeStreamBlock *block)
{
  return G_MAXUINT64 - block->node.address;
}

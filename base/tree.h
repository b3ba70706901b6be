/* tree.h - the ordered container of the allocators: a B+ tree over (group, size, address).
 *
 * Why: every best-fit allocator keeps its free blocks ordered by (size, address), some by (stream,
 * size, address), and searches the first block not below a key and its neighbours.  Keys are stored
 * in the blocks and, for searches, adjacent in the pages of the tree, so that a search among a
 * million blocks waits for memory once or twice and reads only the block that it finds.  Measured
 * against GTree and GSequence in tests/bench.
 *
 * Invariants: keys are unique within a tree; a node's key does not change while it is in a tree;
 * order is ascending by group, then size, then address.  All operations O(log n); pages come from a
 * slab of the tree, so that nothing is allocated per event.
 */
#pragma once

#include "base/macros.h"
#include "base/slab.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

/* The part of a block that a tree refers to. */
typedef struct
{
  guint64 size;
  guint64 address;
  guint64 group;  /* stream, pool, or 0 */
  gpointer place; /* private to tree.c */
} GememTreeNode;

typedef struct
{
  struct _GememTreePage *root;
  guint64 count;
  guint64 height; /* levels above the leaves */
  GememSlab pages;
} GememTree;

/* All zeroes are an empty tree. */
#define GEMEM_TREE_INIT \
  { \
    NULL, 0, 0, \
    { \
      0, NULL, NULL, 0 \
    } \
  }

/* The struct that contains @node as its @field. */
#define GEMEM_TREE_ENTRY(node, type, field) \
  ((type *) (gpointer) ((char *) (node) -G_STRUCT_OFFSET (type, field)))

/* Inserts @node, which the caller owns and whose key is set.  @tree has no node with this key. */
void gemem_tree_insert (GememTree *tree, GememTreeNode *node);
/* Removes @node, which is in @tree, without freeing it. */
void gemem_tree_remove (GememTree *tree, const GememTreeNode *node);
/* Removes the node whose `place` is @place, and inserts @node, the key of which is above (below)
 * that node's; cheap where no key lies between, as mostly when a block gains (gives up) a part.
 * @node may be the node itself, with its new key. */
void gemem_tree_raise (GememTree *tree, gpointer place, GememTreeNode *node);
void gemem_tree_lower (GememTree *tree, gpointer place, GememTreeNode *node);
/* Removes all nodes, which the caller keeps, and frees the pages of the tree. */
void gemem_tree_clear (GememTree *tree);
/* First node with key >= (group, size, 0), or NULL: the best fit in @group, or a node
 * of a later one. */
GememTreeNode *gemem_tree_fit (const GememTree *tree, guint64 group, guint64 size);
/* First node with key >= (group, size, address), or NULL. */
GememTreeNode *gemem_tree_lower_bound (const GememTree *tree, guint64 group, guint64 size,
                                       guint64 address);
/* Last node with key < (group, size, address), or NULL. */
GememTreeNode *gemem_tree_before (const GememTree *tree, guint64 group, guint64 size,
                                  guint64 address);
/* Last node with key <= (group, size, address), or NULL. */
GememTreeNode *gemem_tree_at_or_before (const GememTree *tree, guint64 group, guint64 size,
                                        guint64 address);
GememTreeNode *gemem_tree_first (const GememTree *tree);
GememTreeNode *gemem_tree_last (const GememTree *tree);
/* The neighbours of @node, which is in a tree, or NULL.  O(1) within a page. */
GememTreeNode *gemem_tree_next (const GememTreeNode *node);
GememTreeNode *gemem_tree_previous (const GememTreeNode *node);

/* TRUE if order, bounds, links, fill and count are sound; O(n).  For tests and
 * --enable-checks=full. */
gboolean gemem_tree_check (const GememTree *tree);

GEMEM_END_DECLS

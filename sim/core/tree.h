/* tree.h - the ordered container of the allocators: an intrusive balanced tree over (group, size, address).
 *
 * Why: every best-fit allocator keeps its free blocks ordered by (size, address), some by (stream, size, address), and
 * asks for the first block not below a key and for neighbours.  The node is part of the block, the key lies in the node, so an
 * operation allocates nothing and compares without a callback.  Measured against GTree and GSequence in tests/bench.
 *
 * Invariants: keys are unique within a tree; a node's key does not change while it is in a tree; order is
 * ascending by group, then size, then address.  All operations O(log n); first/last O(1)... O(log n).
 */
#pragma once

#include "sim/core/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct _GememTreeNode GememTreeNode;

struct _GememTreeNode
{
  GememTreeNode *child[2]; /* private to tree.c, as are parent and balance */
  guint64        size;
  guint64        address;
  guint64        group; /* stream, pool, or 0 */
  GememTreeNode *parent;
  gint64         balance;
};

typedef struct
{
  GememTreeNode *root;
  guint64        count;
} GememTree;

#define GEMEM_TREE_INIT { NULL, 0 }

/* The struct that contains @node as its @field. */
#define GEMEM_TREE_ENTRY(node, type, field) ((type *) (gpointer) ((char *) (node) - G_STRUCT_OFFSET (type, field)))

void           gemem_tree_insert (GememTree *tree, GememTreeNode *node);
void           gemem_tree_remove (GememTree *tree, GememTreeNode *node);
/* First node with key >= (group, size, address), or NULL. */
GememTreeNode *gemem_tree_lower_bound (const GememTree *tree, guint64 group, guint64 size, guint64 address);
GememTreeNode *gemem_tree_first (const GememTree *tree);
GememTreeNode *gemem_tree_last (const GememTree *tree);
GememTreeNode *gemem_tree_next (const GememTreeNode *node);
GememTreeNode *gemem_tree_previous (const GememTreeNode *node);

/* TRUE if order, links, balance and count are sound; O(n).  For tests and --enable-checks=full. */
gboolean       gemem_tree_check (const GememTree *tree);

GEMEM_END_DECLS

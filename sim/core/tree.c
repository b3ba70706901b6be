/* tree.c - an AVL tree with parent links, ordered by (group, size, address) (tree.h).
 *
 * Why this one: on the mix of an allocator (search, remove, insert; bench-containers) it and a red-black tree on the same nodes are equal
 * within the noise, a treap takes half as much time again.  AVL is at most 1.44 log2 n deep where red-black may be 2 log2 n, and
 * traces do insert in ascending order.  Wide nodes would need memory of their own, which an intrusive tree that is simply
 * forgotten with its owner cannot have.  What counts most is the comparison: which way a search turns cannot be predicted, so keys
 * are compared without branches and the direction is the index of the child (2.5 times faster at 100 nodes than comparing with "if").
 *
 * Invariants: balance = height (child[1]) - height (child[0]), in -1..1; node->child[d]->parent == node; the links of a node outside of a
 * tree mean nothing.  Insert and remove touch O(log n) nodes, O(1) on average above the place they change.
 */
#include "config.h"

#include "sim/core/tree.h"

/* 1 if the key of @node is below (@group, @size, @address), else 0. */
static inline int
below (const GememTreeNode *node, guint64 group, guint64 size, guint64 address)
{
  typedef unsigned __int128 Pair; /* compared with one subtraction and its borrow */
  int less = ((Pair) node->size << 64 | node->address) < ((Pair) size << 64 | address);
  return (node->group < group) | ((node->group == group) & less);
}

static inline int
side_of (const GememTreeNode *node)
{
  return node->parent->child[1] == node;
}

/* Puts @new_node where @old is in the tree above it. */
static inline void
replace_child (GememTree *tree, const GememTreeNode *old, GememTreeNode *new_node)
{
  GememTreeNode *parent = old->parent;

  if (parent == NULL)
    tree->root = new_node;
  else
    parent->child[parent->child[1] == old] = new_node;
  if (new_node != NULL)
    new_node->parent = parent;
}

/* @node goes down to @side, its other child comes up in its place. */
static inline void
rotate (GememTree *tree, GememTreeNode *node, int side)
{
  GememTreeNode *up = node->child[!side];
  GememTreeNode *inner = up->child[side];

  replace_child (tree, node, up);
  node->child[!side] = inner;
  if (inner != NULL)
    inner->parent = node;
  up->child[side] = node;
  node->parent = up;
}

/* @node is two levels deeper on @side.  Returns the new top of this subtree. */
static GememTreeNode *
rebalance (GememTree *tree, GememTreeNode *node, int side)
{
  gint64 heavy = side ? 1 : -1;
  GememTreeNode *child = node->child[side];

  if (child->balance != -heavy)
    {
      rotate (tree, node, !side);
      node->balance = heavy - child->balance; /* child->balance is heavy, or (after a removal) 0 */
      child->balance -= heavy;
      return child;
    }
  GememTreeNode *inner = child->child[!side];
  rotate (tree, child, side);
  rotate (tree, node, !side);
  node->balance = inner->balance == heavy ? -heavy : 0;
  child->balance = inner->balance == -heavy ? heavy : 0;
  inner->balance = 0;
  return inner;
}

void
gemem_tree_insert (GememTree *tree, GememTreeNode *node)
{
  GememTreeNode *parent = NULL;
  int side = 0;

  for (GememTreeNode *p = tree->root; p != NULL; p = p->child[side])
    {
      parent = p;
      side = below (p, node->group, node->size, node->address);
    }
  node->child[0] = node->child[1] = NULL;
  node->parent = parent;
  node->balance = 0;
  tree->count++;
  if (parent == NULL)
    {
      tree->root = node;
      return;
    }
  parent->child[side] = node;

  /* Up, while the subtree has grown. */
  for (;;)
    {
      gint64 heavy = side ? 1 : -1;
      if (parent->balance != 0)
        {
          if (parent->balance == heavy)
            rebalance (tree, parent, side);
          else
            parent->balance = 0;
          return;
        }
      parent->balance = heavy;
      if (parent->parent == NULL)
        return;
      side = side_of (parent);
      parent = parent->parent;
    }
}

/* The subtree on @side of @parent has become one lower. */
static void
shrunk (GememTree *tree, GememTreeNode *parent, int side)
{
  while (parent != NULL)
    {
      gint64 heavy = side ? -1 : 1; /* the other side */
      if (parent->balance == 0)
        {
          parent->balance = heavy;
          return;
        }
      if (parent->balance == heavy)
        {
          parent = rebalance (tree, parent, !side);
          if (parent->balance != 0)
            return;
        }
      else
        parent->balance = 0;
      if (parent->parent == NULL)
        return;
      side = side_of (parent);
      parent = parent->parent;
    }
}

void
gemem_tree_remove (GememTree *tree, GememTreeNode *node)
{
  GememTreeNode *parent;
  int side;

  tree->count--;
  if (node->child[0] != NULL && node->child[1] != NULL)
    {
      /* The next node takes the place of this one; the tree shrinks where it was. */
      GememTreeNode *next = node->child[1];
      while (next->child[0] != NULL)
        next = next->child[0];
      side = next == node->child[1];
      parent = side ? next : next->parent;
      replace_child (tree, next, next->child[1]);
      next->child[0] = node->child[0];
      next->child[1] = node->child[1];
      next->balance = node->balance;
      next->child[0]->parent = next;
      if (next->child[1] != NULL)
        next->child[1]->parent = next;
      replace_child (tree, node, next);
    }
  else
    {
      parent = node->parent;
      side = parent != NULL && side_of (node);
      replace_child (tree, node, node->child[node->child[0] == NULL]);
    }
  shrunk (tree, parent, side);
}

GememTreeNode *
gemem_tree_lower_bound (const GememTree *tree, guint64 group, guint64 size, guint64 address)
{
  GememTreeNode *best = NULL;

  for (GememTreeNode *p = tree->root; p != NULL;)
    {
      int side = below (p, group, size, address);
      best = side ? best : p;
      p = p->child[side];
    }
  return best;
}

/* The last node on @side of the subtree @node. */
static GememTreeNode *
extreme (GememTreeNode *node, int side)
{
  if (node != NULL)
    while (node->child[side] != NULL)
      node = node->child[side];
  return node;
}

/* The neighbour of @node on @side. */
static GememTreeNode *
neighbour (const GememTreeNode *node, int side)
{
  if (node->child[side] != NULL)
    return extreme (node->child[side], !side);
  while (node->parent != NULL && side_of (node) == side)
    node = node->parent;
  return node->parent;
}

GememTreeNode *
gemem_tree_first (const GememTree *tree)
{
  return extreme (tree->root, 0);
}

GememTreeNode *
gemem_tree_last (const GememTree *tree)
{
  return extreme (tree->root, 1);
}

GememTreeNode *
gemem_tree_next (const GememTreeNode *node)
{
  return neighbour (node, 1);
}

GememTreeNode *
gemem_tree_previous (const GememTreeNode *node)
{
  return neighbour (node, 0);
}

/* The height of the subtree @node, or -1 if something in it is unsound; counts its nodes. */
static int
check_subtree (const GememTreeNode *node, guint64 *count)
{
  if (node == NULL)
    return 0;
  int left = check_subtree (node->child[0], count);
  int right = check_subtree (node->child[1], count);

  ++*count;
  for (int side = 0; side < 2; side++)
    if (node->child[side] != NULL && node->child[side]->parent != node)
      return -1;
  if (left < 0 || right < 0 || node->balance < -1 || node->balance > 1 || right - left != (int) node->balance)
    return -1;
  return MAX (left, right) + 1;
}

gboolean
gemem_tree_check (const GememTree *tree)
{
  guint64 count = 0;

  if (tree->root != NULL && tree->root->parent != NULL)
    return FALSE;
  if (check_subtree (tree->root, &count) < 0 || count != tree->count)
    return FALSE;
  const GememTreeNode *node = gemem_tree_first (tree);
  for (const GememTreeNode *next; node != NULL; node = next)
    {
      next = gemem_tree_next (node);
      if (next != NULL && !below (node, next->group, next->size, next->address))
        return FALSE;
    }
  return TRUE;
}

/* test-tree.c - base/tree.h against a sorted array, with gemem_tree_check() after every change of
 * the small trees. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/tree.h"

enum
{
  MAX_NODES = 600
};

typedef struct
{
  guint64 marker; /* so that the node is not at the start of its owner */
  GememTreeNode node;
  gboolean in_tree;
} Block;

/* The naive model: pointers to the nodes in the tree, sorted. */
typedef struct
{
  GememTree tree;
  GememTreeNode *sorted[MAX_NODES];
  guint n;
} Model;

static int
compare_keys (const GememTreeNode *a, guint64 group, guint64 size, guint64 address)
{
  if (a->group != group)
    return a->group < group ? -1 : 1;
  if (a->size != size)
    return a->size < size ? -1 : 1;
  return a->address < address ? -1 : a->address > address;
}

/* Index of the first node with a key >= the given one. */
static guint
model_find (const Model *model, guint64 group, guint64 size, guint64 address)
{
  guint i = 0;
  while (i < model->n && compare_keys (model->sorted[i], group, size, address) < 0)
    i++;
  return i;
}

static gboolean
model_insert (Model *model, GememTreeNode *node)
{
  guint i = model_find (model, node->group, node->size, node->address);
  if (i < model->n && compare_keys (model->sorted[i], node->group, node->size, node->address) == 0)
    return FALSE;
  memmove (&model->sorted[i + 1], &model->sorted[i], (model->n - i) * sizeof model->sorted[0]);
  model->sorted[i] = node;
  model->n++;
  gemem_tree_insert (&model->tree, node);
  return TRUE;
}

static void
model_remove (Model *model, GememTreeNode *node)
{
  guint i = model_find (model, node->group, node->size, node->address);
  memmove (&model->sorted[i], &model->sorted[i + 1], (model->n - i - 1) * sizeof model->sorted[0]);
  model->n--;
  gemem_tree_remove (&model->tree, node);
}

/* Replaces @old by @node, which is not in the tree or is @old itself, with the given key; FALSE: another
 * node has it. */
static gboolean
model_replace (Model *model, GememTreeNode *old, GememTreeNode *node, guint64 group, guint64 size,
               guint64 address)
{
  guint from = model_find (model, old->group, old->size, old->address);
  guint to = model_find (model, group, size, address);
  const gpointer place = old->place;
  const gboolean above = compare_keys (old, group, size, address) < 0;

  if (to < model->n && compare_keys (model->sorted[to], group, size, address) == 0)
    return FALSE;
  to -= to > from;
  memmove (&model->sorted[from], &model->sorted[from + 1],
           (model->n - from - 1) * sizeof model->sorted[0]);
  memmove (&model->sorted[to + 1], &model->sorted[to],
           (model->n - to - 1) * sizeof model->sorted[0]);
  model->sorted[to] = node;
  node->group = group;
  node->size = size;
  node->address = address;
  (above ? gemem_tree_raise : gemem_tree_lower) (&model->tree, place, node);
  return TRUE;
}

static GememTreeNode *
model_at (const Model *model, gint64 i)
{
  return i >= 0 && i < (gint64) model->n ? model->sorted[i] : NULL;
}

static void
model_check (const Model *model)
{
  g_assert_true (gemem_tree_check (&model->tree));
  g_assert_cmpuint (model->tree.count, ==, model->n);
  g_assert_true (gemem_tree_first (&model->tree) == model_at (model, 0));
  g_assert_true (gemem_tree_last (&model->tree) == model_at (model, (gint64) model->n - 1));
  for (guint i = 0; i < model->n; i++)
    {
      g_assert_true (gemem_tree_next (model->sorted[i]) == model_at (model, (gint64) i + 1));
      g_assert_true (gemem_tree_previous (model->sorted[i]) == model_at (model, (gint64) i - 1));
    }
}

static void
check_lower_bound (const Model *model, guint64 group, guint64 size, guint64 address)
{
  g_assert_true (gemem_tree_fit (&model->tree, group, size)
                 == model_at (model, model_find (model, group, size, 0)));
  g_assert_true (gemem_tree_lower_bound (&model->tree, group, size, address)
                 == model_at (model, model_find (model, group, size, address)));
  g_assert_true (gemem_tree_before (&model->tree, group, size, address)
                 == model_at (model, (gint64) model_find (model, group, size, address) - 1));
  const GememTreeNode *at = gemem_tree_lower_bound (&model->tree, group, size, address);
  const gboolean same = at != NULL && at->group == group && at->size == size
                        && at->address == address;
  g_assert_true (gemem_tree_at_or_before (&model->tree, group, size, address)
                 == (same ? at : gemem_tree_before (&model->tree, group, size, address)));
}

/* Random inserts, removals and searches; keys from a small set (with the extremes), so that ties in
 * group and size are common. */
static void
test_random (gconstpointer data)
{
  guint n_blocks = GPOINTER_TO_UINT (data), steps = 20000 / (n_blocks / 8 + 1) + 200;
  static const guint64 parts[] = {
    0, 1, 2, 512, G_GUINT64_CONSTANT (1) << 63, G_MAXUINT64 - 1, G_MAXUINT64
  };
  static Block blocks[MAX_NODES];
  static Model model;
  GememRng rng;

  memset (blocks, 0, sizeof blocks);
  memset (&model, 0, sizeof model);
  gemem_rng_init (&rng, n_blocks, "tree");
  for (guint step = 0; step < steps; step++)
    {
      Block *block = &blocks[gemem_rng_below (&rng, n_blocks)];
      guint64 group = parts[gemem_rng_below (&rng, 3) * 3], size = parts[gemem_rng_below (&rng, 7)];
      guint64 address = gemem_rng_below (&rng, 4) == 0 ? parts[gemem_rng_below (&rng, 7)]
                                                       : gemem_rng_below (&rng, 50);

      if (block->in_tree)
        model_remove (&model, &block->node);
      else
        {
          /* insert must not rely on the old content */
          memset (&block->node, 0xA5, sizeof block->node);
          block->node.group = group;
          block->node.size = size;
          block->node.address = address;
          if (!model_insert (&model, &block->node))
            continue;
        }
      block->in_tree = !block->in_tree;
      model_check (&model);
      check_lower_bound (&model, group, size, address);
      check_lower_bound (&model, group, size, 0);
      check_lower_bound (&model, 0, 0, 0);
      check_lower_bound (&model, G_MAXUINT64, G_MAXUINT64, G_MAXUINT64);
      g_assert_true (&block->node == &GEMEM_TREE_ENTRY (&block->node, Block, node)->node);
      g_assert_true (block == GEMEM_TREE_ENTRY (&block->node, Block, node));
    }
  while (model.n > 0)
    {
      model_remove (&model, model.sorted[gemem_rng_below (&rng, model.n)]);
      model_check (&model);
    }
  gemem_tree_clear (&model.tree);
}

/* Replacements by neighbouring keys and by any, of nodes by themselves and by others, in trees of one
 * leaf and of several levels. */
static void
test_replace (gconstpointer data)
{
  guint n = GPOINTER_TO_UINT (data), moved = 0;
  static Block blocks[MAX_NODES];
  static Model model;
  GememTreeNode *spare = &blocks[n].node; /* the one that is not in the tree */
  GememRng rng;

  memset (blocks, 0, sizeof blocks);
  memset (&model, 0, sizeof model);
  gemem_rng_init (&rng, n, "tree-replace");
  for (guint i = 0; i < n; i++)
    {
      blocks[i].node.size = 100 * i;
      g_assert_true (model_insert (&model, &blocks[i].node));
    }
  for (guint step = 0; step < 3000; step++)
    {
      GememTreeNode *old = model.sorted[gemem_rng_below (&rng, n)], *node = old;
      const gboolean near = gemem_rng_below (&rng, 3) > 0;
      const guint64 size = near ? old->size + gemem_rng_below (&rng, 5) - MIN (old->size, 2)
                                : gemem_rng_below (&rng, 100 * n);

      if (gemem_rng_below (&rng, 2) == 0)
        node = spare;
      if (!model_replace (&model, old, node, 0, size, gemem_rng_below (&rng, 3)))
        continue;
      moved++;
      spare = node != old ? old : spare;
      model_check (&model);
    }
  g_assert_cmpuint (moved, >, 1000);
  gemem_tree_clear (&model.tree);
}

/* The orders that are worst for trees: ascending, descending, zigzag, organ pipe; then removal
 * in order. */
static void
test_orders (void)
{
  enum
  {
    N = 4096
  };
  g_autofree GememTreeNode *nodes = g_new0 (GememTreeNode, N);

  for (guint order = 0; order < 4; order++)
    for (guint removal = 0; removal < 3; removal++)
      {
        GememTree tree = GEMEM_TREE_INIT;
        for (guint i = 0; i < N; i++)
          {
            guint key[] = { i, N - 1 - i, i % 2 == 0 ? i / 2 : N - 1 - i / 2,
                            i < N / 2 ? 2 * i : 2 * (N - 1 - i) + 1 };
            nodes[key[order]] = (GememTreeNode){ .size = key[order] / 16,
                                                 .address = key[order] % 16 };
            gemem_tree_insert (&tree, &nodes[key[order]]);
          }
        g_assert_true (gemem_tree_check (&tree));
        g_assert_cmpuint (tree.count, ==, N);
        g_assert_cmpuint (tree.height, <=, 3); /* half full: 8^4 */
        for (guint i = 0; i < N; i++)
          {
            GememTreeNode *node = removal == 0 ? &nodes[i]
                                               : &nodes[removal == 1 ? N - 1 - i : i * 1717 % N];
            gemem_tree_remove (&tree, node);
            if (i % 64 == 0)
              g_assert_true (gemem_tree_check (&tree));
          }
        g_assert_cmpuint (tree.count, ==, 0);
        g_assert_cmpuint (tree.height, ==, 0);
        gemem_tree_clear (&tree);
      }
}

/* The check must find each kind of damage that it promises to find. */
static void
test_check (void)
{
  enum
  {
    N = 200
  };
  g_autofree GememTreeNode *nodes = g_new0 (GememTreeNode, N);
  GememTree tree = GEMEM_TREE_INIT;

  for (guint i = 0; i < N; i++)
    {
      nodes[i] = (GememTreeNode){ .size = 10 * i };
      gemem_tree_insert (&tree, &nodes[i]);
    }
  g_assert_true (gemem_tree_check (&tree));

  nodes[20].size = 305; /* the key differs from the one in the tree */
  g_assert_false (gemem_tree_check (&tree));
  nodes[20].size = 200;

  tree.count++; /* count */
  g_assert_false (gemem_tree_check (&tree));
  tree.count--;

  tree.height--; /* a page above the leaves is no leaf */
  g_assert_false (gemem_tree_check (&tree));
  tree.height++;
  g_assert_true (gemem_tree_check (&tree));
  gemem_tree_clear (&tree);
}

static void
test_empty (void)
{
  GememTree tree = GEMEM_TREE_INIT;
  GememTreeNode node = { .size = 5 };

  g_assert_true (gemem_tree_check (&tree));
  g_assert_null (gemem_tree_first (&tree));
  g_assert_null (gemem_tree_last (&tree));
  g_assert_null (gemem_tree_lower_bound (&tree, 0, 0, 0));
  gemem_tree_insert (&tree, &node);
  g_assert_true (gemem_tree_lower_bound (&tree, 0, 5, 0) == &node);
  g_assert_null (gemem_tree_lower_bound (&tree, 0, 5, 1));
  g_assert_null (gemem_tree_lower_bound (&tree, 1, 0, 0));
  g_assert_null (gemem_tree_next (&node));
  g_assert_null (gemem_tree_previous (&node));
  gemem_tree_remove (&tree, &node);
  g_assert_null (gemem_tree_lower_bound (&tree, 0, 0, 0));
  gemem_tree_clear (&tree);
  gemem_tree_clear (&tree);
  g_assert_true (gemem_tree_check (&tree));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tree/empty", test_empty);
  g_test_add_data_func ("/tree/random/3", GUINT_TO_POINTER (3), test_random);
  g_test_add_data_func ("/tree/random/8", GUINT_TO_POINTER (8), test_random);
  g_test_add_data_func ("/tree/random/40", GUINT_TO_POINTER (40), test_random);
  g_test_add_data_func ("/tree/random/600", GUINT_TO_POINTER (MAX_NODES), test_random);
  g_test_add_data_func ("/tree/replace/1", GUINT_TO_POINTER (1), test_replace);
  g_test_add_data_func ("/tree/replace/12", GUINT_TO_POINTER (12), test_replace);
  g_test_add_data_func ("/tree/replace/300", GUINT_TO_POINTER (300), test_replace);
  g_test_add_func ("/tree/orders", test_orders);
  g_test_add_func ("/tree/check", test_check);
  return g_test_run ();
}

/* bench-containers.c - the containers of the event path compared with GLib's, on the operations of
 * an allocator, in one run.
 *
 * tree: n free blocks, keyed by (size, address) with sizes of many magnitudes. One operation is
 * what a best-fit allocation and a free cost: find the first block not below a random size, remove
 * it, and insert a block of another size. GTree and GSequence search with the same key comparison
 * and allocate their nodes in their usual way. The random sizes are drawn beforehand. idmap: a
 * sliding window of n live ids, as in a trace: insert the next id, look up a random live one,
 * remove the oldest; and lookups alone. GHashTable has the keys as pointers (its fastest way) and
 * the records allocated by g_new.
 *
 * Prints one JSON object per line, the best of three rounds; the ratio is GLib's time over ours. All
 * containers run on the same random numbers, and the checksums of the blocks found must be equal,
 * so that all do the same work.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/idmap.h"
#include "base/rng.h"
#include "base/tree.h"
#include "tests/bench/bench.h"

#define ROUNDS bench_size (3, 1)

typedef struct
{
  GememTreeNode node;
  GSequenceIter *iter;
} Block;

/* A container under test, with the three operations. */
typedef struct
{
  const char *name;
  gpointer (*create) (void);
  void (*insert) (gpointer self, Block *block);
  Block *(*lower_bound) (gpointer self, Block *key);
  void (*remove) (gpointer self, Block *block);
  void (*destroy) (gpointer self);
} Ordered;

static int
compare_blocks (gconstpointer a, gconstpointer b, gpointer data G_GNUC_UNUSED)
{
  const GememTreeNode *x = &((const Block *) a)->node, *y = &((const Block *) b)->node;

  if (x->size != y->size)
    return x->size < y->size ? -1 : 1;
  return x->address < y->address ? -1 : x->address > y->address;
}

static gpointer
ours_create (void)
{
  return g_new0 (GememTree, 1);
}

static void
ours_insert (gpointer self, Block *block)
{
  gemem_tree_insert (self, &block->node);
}

static Block *
ours_lower_bound (gpointer self, Block *key)
{
  GememTreeNode *node = gemem_tree_lower_bound (self, 0, key->node.size, key->node.address);
  return node != NULL ? GEMEM_TREE_ENTRY (node, Block, node) : NULL;
}

static void
ours_remove (gpointer self, Block *block)
{
  gemem_tree_remove (self, &block->node);
}

static void
ours_destroy (gpointer self)
{
  gemem_tree_clear (self);
  g_free (self);
}

static gpointer
gtree_create (void)
{
  return g_tree_new_full (compare_blocks, NULL, NULL, NULL);
}

static void
gtree_insert (gpointer self, Block *block)
{
  g_tree_insert (self, block, block);
}

typedef struct
{
  Block *key, *best;
} Search;

static int
gtree_search (gconstpointer block, gconstpointer data)
{
  Search *search = (Search *) data;
  int order = compare_blocks (search->key, block, NULL);

  if (order <= 0)
    search->best = (Block *) block;
  return order;
}

/* g_tree_lower_bound() is newer than the required GLib; this walk is equivalent. */
static Block *
gtree_lower_bound (gpointer self, Block *key)
{
  Search search = { key, NULL };
  g_tree_search (self, gtree_search, &search);
  return search.best;
}

static void
gtree_remove (gpointer self, Block *block)
{
  g_tree_remove (self, block);
}

static void
gtree_destroy (gpointer self)
{
  g_tree_destroy (self);
}

static gpointer
gsequence_create (void)
{
  return g_sequence_new (NULL);
}

static void
gsequence_insert (gpointer self, Block *block)
{
  block->iter = g_sequence_insert_sorted (self, block, compare_blocks, NULL);
}

/* g_sequence_search() returns the place after equal keys; no key equals this one, so the place
 * is the lower bound. */
static Block *
gsequence_lower_bound (gpointer self, Block *key)
{
  GSequenceIter *iter = g_sequence_search (self, key, compare_blocks, NULL);
  return g_sequence_iter_is_end (iter) ? NULL : g_sequence_get (iter);
}

static void
gsequence_remove (gpointer self G_GNUC_UNUSED, Block *block)
{
  g_sequence_remove (block->iter);
}

static void
gsequence_destroy (gpointer self)
{
  g_sequence_free (self);
}

static const Ordered ordered[] = {
  { "tree", ours_create, ours_insert, ours_lower_bound, ours_remove, ours_destroy },
  { "gtree", gtree_create, gtree_insert, gtree_lower_bound, gtree_remove, gtree_destroy },
  { "gsequence", gsequence_create, gsequence_insert, gsequence_lower_bound, gsequence_remove,
    gsequence_destroy },
};

static guint64
random_size (GememRng *rng)
{
  return gemem_rng_log_uniform (rng, 512, G_GUINT64_CONSTANT (1) << 34) & ~G_GUINT64_CONSTANT (511);
}

static double
ordered_round (const Ordered *container, guint64 n, guint64 steps, guint64 *checksum)
{
  g_autofree Block *blocks = g_new0 (Block, n);
  g_autofree guint64 *sizes = g_new (guint64, 2 * steps);
  gpointer self = container->create ();
  GememRng rng;

  gemem_rng_init (&rng, n, "bench-tree");
  for (guint64 i = 0; i < n; i++)
    {
      blocks[i].node.size = random_size (&rng);
      blocks[i].node.address = (i * 977 % n) * 512;
      container->insert (self, &blocks[i]);
    }
  for (guint64 i = 0; i < 2 * steps; i++)
    sizes[i] = random_size (&rng);
  *checksum = 0;
  gint64 start = bench_clock ();
  for (guint64 i = 0; i < steps; i++)
    {
      /* no block has that address */
      Block key = { .node = { .size = sizes[2 * i], .address = 1 } };
      Block *block = container->lower_bound (self, &key);
      if (block == NULL)
        block = &blocks[i % n];
      container->remove (self, block);
      *checksum = *checksum * 31 + block->node.address;
      block->node.size = sizes[2 * i + 1];
      container->insert (self, block);
    }
  double ns = (double) (bench_clock () - start) * 1000 / (double) steps;
  container->destroy (self);
  return ns;
}

static void
bench_ordered (guint64 n, guint64 steps)
{
  double best[G_N_ELEMENTS (ordered)];
  guint64 checksum[G_N_ELEMENTS (ordered)];

  for (gsize i = 0; i < G_N_ELEMENTS (ordered); i++)
    best[i] = G_MAXDOUBLE;
  for (guint round = 0; round < ROUNDS;
       round++) /* rounds outermost: a slow phase of the machine affects all containers */
    for (gsize i = 0; i < G_N_ELEMENTS (ordered); i++)
      {
        double ns = ordered_round (&ordered[i], n, steps, &checksum[i]);
        best[i] = MIN (best[i], ns);
        g_assert_cmpuint (checksum[i], ==, checksum[0]);
      }
  printf ("{\"bench\":\"tree\",\"n\":%" G_GUINT64_FORMAT
          ",\"ns_per_op\":%.1f,\"gtree_ns\":%.1f,\"ratio\":%.2f,\"gsequence_ns\":%.1f,"
          "\"gsequence_ratio\":%.2f}\n",
          n, best[0], best[1], best[1] / best[0], best[2], best[2] / best[0]);
  fflush (stdout);
}

/* ---- idmap */

typedef struct
{
  guint64 size, block;
} Record;

static double
idmap_window (guint64 n, guint64 steps, guint64 *checksum)
{
  GememIdMap *map = gemem_idmap_new (sizeof (Record));
  GememRng rng;
  gint64 start = 0;

  gemem_rng_init (&rng, n, "bench-idmap");
  *checksum = 0;
  for (guint64 i = 1; i <= n + steps; i++)
    {
      if (i == n + 1)
        start = bench_clock ();
      ((Record *) gemem_idmap_insert (map, i, NULL))->size = i;
      if (i > n)
        {
          Record record;
          *checksum += ((Record *) gemem_idmap_lookup (map, i - gemem_rng_below (&rng, n)))->size;
          gemem_idmap_remove (map, i - n, &record);
          *checksum += record.size;
        }
    }
  double ns = (double) (bench_clock () - start) * 1000 / (double) steps;
  gemem_idmap_free (map);
  return ns;
}

static double
hash_window (guint64 n, guint64 steps, guint64 *checksum)
{
  GHashTable *map = g_hash_table_new_full (g_direct_hash, g_direct_equal, NULL, g_free);
  GememRng rng;
  gint64 start = 0;

  gemem_rng_init (&rng, n, "bench-idmap");
  *checksum = 0;
  for (guint64 i = 1; i <= n + steps; i++)
    {
      if (i == n + 1)
        start = bench_clock ();
      Record *record = g_new0 (Record, 1);
      record->size = i;
      g_hash_table_insert (map, GSIZE_TO_POINTER (i), record);
      if (i > n)
        {
          *checksum += ((Record *) g_hash_table_lookup (
                            map, GSIZE_TO_POINTER (i - gemem_rng_below (&rng, n))))
                           ->size;
          *checksum += ((Record *) g_hash_table_lookup (map, GSIZE_TO_POINTER (i - n)))->size;
          g_hash_table_remove (map, GSIZE_TO_POINTER (i - n));
        }
    }
  double ns = (double) (bench_clock () - start) * 1000 / (double) steps;
  g_hash_table_destroy (map);
  return ns;
}

static double
idmap_lookup (guint64 n, guint64 steps, guint64 *checksum)
{
  GememIdMap *map = gemem_idmap_new (sizeof (Record));
  GememRng rng;

  for (guint64 i = 1; i <= n; i++)
    ((Record *) gemem_idmap_insert (map, i, NULL))->size = i;
  gemem_rng_init (&rng, n, "bench-idmap");
  *checksum = 0;
  gint64 start = bench_clock ();
  for (guint64 i = 0; i < steps; i++)
    *checksum += ((Record *) gemem_idmap_lookup (map, 1 + gemem_rng_below (&rng, n)))->size;
  double ns = (double) (bench_clock () - start) * 1000 / (double) steps;
  gemem_idmap_free (map);
  return ns;
}

static double
hash_lookup (guint64 n, guint64 steps, guint64 *checksum)
{
  GHashTable *map = g_hash_table_new_full (g_direct_hash, g_direct_equal, NULL, g_free);
  GememRng rng;

  for (guint64 i = 1; i <= n; i++)
    {
      Record *record = g_new0 (Record, 1);
      record->size = i;
      g_hash_table_insert (map, GSIZE_TO_POINTER (i), record);
    }
  gemem_rng_init (&rng, n, "bench-idmap");
  *checksum = 0;
  gint64 start = bench_clock ();
  for (guint64 i = 0; i < steps; i++)
    *checksum += ((Record *) g_hash_table_lookup (map,
                                                  GSIZE_TO_POINTER (1 + gemem_rng_below (&rng, n))))
                     ->size;
  double ns = (double) (bench_clock () - start) * 1000 / (double) steps;
  g_hash_table_destroy (map);
  return ns;
}

typedef double Round (guint64 n, guint64 steps, guint64 *checksum);

static void
bench_idmap (const char *name, Round *ours, Round *glib, guint64 n, guint64 steps)
{
  double best[2] = { G_MAXDOUBLE, G_MAXDOUBLE };
  guint64 checksum[2];

  for (guint round = 0; round < ROUNDS; round++)
    {
      double a = ours (n, steps, &checksum[0]), b = glib (n, steps, &checksum[1]);
      best[0] = MIN (best[0], a);
      best[1] = MIN (best[1], b);
      g_assert_cmpuint (checksum[0], ==, checksum[1]);
    }
  printf ("{\"bench\":\"%s\",\"n\":%" G_GUINT64_FORMAT
          ",\"ns_per_op\":%.1f,\"ghashtable_ns\":%.1f,\"ratio\":%.2f}\n",
          name, n, best[0], best[1], best[1] / best[0]);
  fflush (stdout);
}

int
main (void)
{
  const guint64 most = bench_size (1000000, 100);

  for (guint64 n = 100; n <= most; n *= 100)
    bench_ordered (n, bench_size (n < 1000000 ? 1000000 : 300000, 1000));
  for (guint64 n = 100; n <= most; n *= 100)
    {
      bench_idmap ("idmap-lookup", idmap_lookup, hash_lookup, n, bench_size (2000000, 1000));
      bench_idmap ("idmap-window", idmap_window, hash_window, n, bench_size (1000000, 1000));
    }
  return 0;
}

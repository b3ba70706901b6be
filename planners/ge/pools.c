/* pools.c - the free blocks that a later output or workspace may take (ge-static.md 2.5).
 *
 * GE keeps a vector per (memory type, stream) and takes its newest (or oldest) suitable entry.
 * Only an entry with exactly the size and the batch label of the request is suitable.  So each
 * vector is kept here as one list per (type, stream, size, label), in the order of the vector: the
 * same entry is found without a walk over the others.  Blocks that are never suitable (continuous,
 * zero-copy, never freed) are not kept.
 * Cost: amortised O(1) to add; to take, O(entries of the list) at worst.
 */
#include "config.h"

#include "planners/ge/ge-private.h"

typedef struct
{
  guint64 size;
  gint32 stream, label;
  guint32 space;
} PoolKey;

typedef struct
{
  PoolKey key;
  GeBlock **blocks; /* [first, end), in the order of release */
  guint first, end, capacity;
} PoolList;

struct _GePools
{
  GHashTable *lists; /* PoolList, by its key */
};

static guint
hash_key (gconstpointer pointer)
{
  const PoolKey *key = pointer;
  guint64 hash = key->size / GE_ALIGN * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);

  hash ^= ((guint64) (guint32) key->stream << 20) ^ ((guint64) (guint32) key->label << 4)
          ^ key->space;
  return (guint) ((hash * G_GUINT64_CONSTANT (0xff51afd7ed558ccd)) >> 32);
}

static gboolean
equal_keys (gconstpointer a, gconstpointer b)
{
  const PoolKey *x = a, *y = b;

  return x->size == y->size && x->stream == y->stream && x->label == y->label
         && x->space == y->space;
}

static void
free_list (gpointer list)
{
  g_free (((PoolList *) list)->blocks);
  g_free (list);
}

static GePools *
pools_new (void)
{
  GePools *pools = g_new0 (GePools, 1);

  pools->lists = g_hash_table_new_full (hash_key, equal_keys, NULL, free_list);
  return pools;
}

void
gemem_ge_pools_free (GePools *pools)
{
  if (pools != NULL)
    g_hash_table_unref (pools->lists);
  g_free (pools);
}

static PoolList *
list_of (GePools *pools, guint64 size, gint32 stream, gint32 label, guint32 space)
{
  const PoolKey key = { size, stream, label, space };
  PoolList *list = g_hash_table_lookup (pools->lists, &key);

  if (list == NULL)
    {
      list = g_new0 (PoolList, 1);
      list->key = key;
      g_hash_table_insert (pools->lists, &list->key, list);
    }
  return list;
}

void
gemem_ge_pools_push (GeAssigner *a, GeBlock *block)
{
  PoolList *list;

  if (block->cont || block->zc || gemem_ge_block_life_end (block, block->stream) >= GE_NEVER)
    return;
  if (a->pools == NULL)
    a->pools = pools_new ();
  list = list_of (a->pools, block->size, block->stream, block->label, block->space);
  if (list->end == list->capacity)
    {
      list->capacity = MAX (4, 2 * list->capacity);
      list->blocks = g_renew (GeBlock *, list->blocks, list->capacity);
    }
  list->blocks[list->end++] = block;
}

static void
remove_at (PoolList *list, guint i)
{
  if (i == list->first)
    list->first++;
  else
    {
      for (guint k = i + 1; k < list->end; k++)
        list->blocks[k - 1] = list->blocks[k];
      list->end--;
    }
  if (list->first == list->end)
    list->first = list->end = 0;
}

/* The tests of 2.5 on @block, except those that its list implies. */
static gboolean
suits (const GeBlock *block, const GeRequest *request, guint64 size, gboolean data,
       gboolean central)
{
  return !block->cont && !block->zc && !block->diff_prior && block->reuse_mem && !block->child
         && block->size == size && !(block->data && central) && !(block->central && data)
         && (request->begin == 0
             || request->begin > gemem_ge_block_life_end (block, block->stream));
}

GeBlock *
gemem_ge_pools_take (GeAssigner *a, const GeRequest *request, guint64 size, gint32 stream,
                     gboolean data, gboolean central)
{
  const PoolKey key = { size, stream, a->model->nodes[request->node].label, request->space };
  PoolList *list = a->pools != NULL ? g_hash_table_lookup (a->pools->lists, &key) : NULL;

  if (list == NULL)
    return NULL;
  for (guint k = list->first; k < list->end; k++)
    {
      const guint i = a->strategy.first_release ? k : list->end - 1 - (k - list->first);
      GeBlock *block = list->blocks[i];

      if (!suits (block, request, size, data, central))
        continue;
      remove_at (list, i);
      return block;
    }
  return NULL;
}

/* pack-sort.c - the order of B (ge-static.md 4.1), and restoring it after a block was split.
 *
 * GE's sort is not stable: the order of equal blocks depends on every comparison, so the same
 * algorithm must run here.  If no two blocks are equal, every sort has the same result, and after a
 * split few blocks are out of place: these are removed and merged in again, in one pass.
 * Memory-priority mode sorts after every split.
 * Cost: O(blocks) if few are out of place and none are equal; else O(blocks log blocks).
 */
#include "config.h"

#include <string.h>

#include "planners/ge/library.h"
#include "planners/ge/pack-private.h"

#define FEW 64 /* blocks out of place */

/* Sort key: ascending (major, minor). */
struct _GeSortKey
{
  guint64 major, minor;
  GeBlock *block;
};

static int
compare (const GeSortKey *a, const GeSortKey *b)
{
  if (a->major != b->major)
    return a->major < b->major ? -1 : 1;
  return (a->minor > b->minor) - (a->minor < b->minor);
}

/* Larger blocks first.  Ties: descending strategies, later begin first; ascending ones, fewer
 * occupants, then earlier begin first. */
static GeSortKey
key_of (const GeStrategy *strategy, GeBlock *block)
{
  const guint64 size = block->cont ? gemem_ge_block_max_noalign (block)
                                   : gemem_ge_block_align_size (block);
  const guint32 begin = (block->traits & GE_SPECIAL) != 0 ? block->occupants[0].begin
                                                          : block->begin;

  return (GeSortKey){ ~size,
                      strategy->ascending ? (guint64) block->n_occupants << 32 | begin
                                          : ~(guint64) begin,
                      block };
}

static gboolean
comes_before (gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer data)
{
  return compare (a, b) < 0;
}

static void
sort_as_ge_does (GePacker *packer, gpointer *blocks, guint n)
{
  for (guint i = 0; i < n; i++)
    blocks[i] = &packer->keys[i];
  gemem_ge_sort (packer->a->model->options, blocks, n, comes_before, NULL);
  for (guint i = 0; i < n; i++)
    blocks[i] = ((const GeSortKey *) blocks[i])->block;
}

/* Inserts @key into the @n sorted @strays; FALSE if an equal one is among them. */
static gboolean
add_stray (GeSortKey *strays, guint n, const GeSortKey *key)
{
  while (n > 0 && compare (key, &strays[n - 1]) < 0)
    {
      strays[n] = strays[n - 1];
      n--;
    }
  strays[n] = *key;
  return n == 0 || compare (key, &strays[n - 1]) != 0;
}

/* Splits @keys into an ascending sequence, in @kept, and a few strays.  FALSE: too many strays, or
 * two keys are equal. */
static gboolean
take_out (const GeSortKey *keys, guint n, GeSortKey *kept, GeSortKey *strays, guint *n_strays)
{
  guint m = 0;

  *n_strays = 0;
  for (guint i = 0; i < n; i++)
    {
      const int order = m > 0 ? compare (&kept[m - 1], &keys[i]) : -1;
      const GeSortKey *stray = &keys[i];
      GeSortKey last;

      if (order < 0)
        {
          kept[m++] = keys[i];
          continue;
        }
      if (order == 0 || *n_strays == FEW)
        return FALSE;
      if (i + 1 < n && compare (&kept[m - 1], &keys[i + 1]) > 0
          && (m < 2 || compare (&kept[m - 2], &keys[i]) < 0))
        { /* the previous key is out of place */
          last = kept[m - 1];
          kept[m - 1] = keys[i];
          stray = &last;
        }
      if (!add_stray (strays, (*n_strays)++, stray))
        return FALSE;
    }
  return TRUE;
}

/* Merges @kept and @strays into @blocks; FALSE if two are equal. */
static gboolean
merge (const GeSortKey *kept, guint n_kept, const GeSortKey *strays, guint n_strays,
       gpointer *blocks)
{
  while (n_strays > 0)
    {
      const int order = n_kept > 0 ? compare (&kept[n_kept - 1], &strays[n_strays - 1]) : -1;

      if (order == 0)
        return FALSE;
      blocks[n_kept + n_strays - 1] = order > 0 ? kept[n_kept - 1].block
                                                : strays[n_strays - 1].block;
      if (order > 0)
        n_kept--;
      else
        n_strays--;
    }
  while (n_kept-- > 0)
    blocks[n_kept] = kept[n_kept].block;
  return TRUE;
}

void
gemem_ge_pack_sort (GePacker *packer, guint first)
{
  GPtrArray *all = packer->a->blocks;
  const guint n = all->len - first;
  gpointer *blocks;
  GeSortKey strays[FEW];
  guint n_strays;

  if (n < 2) /* also: an empty list has no memory to point into */
    return;
  blocks = all->pdata + first;
  if (packer->n_keys < n)
    {
      packer->n_keys = MAX (n, 2 * packer->n_keys);
      packer->keys = g_renew (GeSortKey, packer->keys, 2 * (gsize) packer->n_keys);
    }
  for (guint i = 0; i < n; i++)
    packer->keys[i] = key_of (&packer->a->strategy, blocks[i]);
  GeSortKey *kept = packer->keys + packer->n_keys;
  if (!take_out (packer->keys, n, kept, strays, &n_strays)
      || !merge (kept, n - n_strays, strays, n_strays, blocks))
    sort_as_ge_does (packer, blocks, n);
}

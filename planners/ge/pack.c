/* pack.c - level 2: which pairs of blocks are tried (ge-static.md 4.1).
 *
 * Blocks are sorted by size, the largest first.  The rules try every block as the parent of every
 * later one, and nearly all tries fail at the first comparison of lifetimes.  So arrays in the
 * order of B hold the data of that comparison, and a pair is skipped if gemem_ge_pack_pair() cannot
 * change anything:
 *   - the later block is a child, has children, or may not be reused; or label or memory type
 *     differ;
 *   - neither is known to begin after the end of the other, and they cannot be interleaved: they
 *     are on different streams, one of them ends on another stream, or every occupant of the
 *     later block overlaps the only one of the parent;
 *   - one may follow the other, but no block of the parent's tree has enough space, and the later
 *     block cannot be split.
 *
 * "b begins after the end of a" is the comparison reach >= free: when b begins, all nodes up to
 * `reach` on the stream of a are known to have finished; a has ended once all nodes before `free`
 * have, as seen from the stream of b.  (On its own stream a block has life_begin and life_end + 1.)
 * In memory-priority mode the comparison is necessary but not sufficient.
 *
 * Cost: a few nanoseconds per pair; memory 8 bytes per block and stream, and 48 per block.
 */
#include "config.h"

#include <string.h>

#include "planners/ge/ge-private.h"
#include "planners/ge/pack-private.h"
#include "planners/ge/stream-edges.h"
#include "planners/planner.h"

typedef struct
{
  guint32 reach, free;
} Time;

#define GONE (1u << 31) /* Entry.traits: can never become a child (again) */

typedef struct
{
  GeBlock *block;
  guint64 size;   /* align_size */
  guint32 group;  /* label and memory type */
  guint32 traits; /* GE_PLAIN... or GONE */
  gint32 stream;
  guint32 first_end, last_begin; /* of the first occupant, of the last one */
} Entry;

typedef struct
{
  GePacker packer;
  guint n_streams;
  Entry *entries; /* in the order of B, [start, n) */
  Time *times;    /* n_streams for each entry */
  guint start, n, capacity, n_gone;
} Scan;

/* ---- entries */

static guint32
after_end (guint32 end)
{
  return MIN (end, GE_NEVER) + 1;
}

static void
fill_times (const GeAssigner *a, const GeBlock *block, Time *times)
{
  const guint32 tail = ge_block_last (block)->node;

  for (gint32 s = 0; s < (gint32) a->model->n_streams; s++)
    if (s == block->stream)
      times[s] = (Time){ block->begin, after_end (block->end) };
    else
      {
        const guint32 end = a->strategy.priority ? 0
                                                 : after_end (gemem_ge_block_life_end (block, s));

        times[s].reach = gemem_ge_depend (a->model, block->stream, s, block->begin);
        times[s].free = tail == 0 && a->model->options->quirks ? GE_MAX : MAX (MAX (tail, 1), end);
      }
}

static Entry
entry_of (GeBlock *block)
{
  Entry entry = { block,
                  gemem_ge_block_align_size (block),
                  (guint32) block->label * GE_N_SPACES + block->space,
                  block->traits,
                  block->stream,
                  block->occupants[0].end,
                  ge_block_last (block)->begin };

  if (block->first || block->last)
    entry.traits &= ~(guint32) GE_TURNS; /* trying clears the flags first and last [QUIRK] */
  return entry;
}

static gboolean
is_gone (const GeBlock *block)
{
  return block->child || !block->reuse_mem || block->stream < 0 || block->children != NULL;
}

static void
set_entry (Scan *scan, guint k, GeBlock *block)
{
  scan->entries[k] = entry_of (block);
  fill_times (scan->packer.a, block, &scan->times[(gsize) k * scan->n_streams]);
}

/* Moves the entries from @at on by @more positions. */
static void
open_gap (Scan *scan, guint at, guint more)
{
  const gsize row = scan->n_streams * sizeof (Time);

  if (scan->n + more > scan->capacity)
    {
      scan->capacity = MAX (scan->n + more, 2 * scan->capacity);
      scan->entries = g_renew (Entry, scan->entries, scan->capacity);
      scan->times = g_realloc_n (scan->times, scan->capacity, row);
    }
  memmove (&scan->entries[at + more], &scan->entries[at], (scan->n - at) * sizeof (Entry));
  memmove (&scan->times[(gsize) (at + more) * scan->n_streams],
           &scan->times[(gsize) at * scan->n_streams], (scan->n - at) * row);
  scan->n += more;
}

/* Fills the entries from @k on with the blocks of B from @first on. */
static void
fill_from (Scan *scan, guint k, guint first)
{
  const GPtrArray *blocks = scan->packer.a->blocks;

  for (guint i = k; i < scan->n; i++)
    scan->n_gone -= (scan->entries[i].traits & GONE) != 0;
  scan->n = k;
  for (guint i = first; i < blocks->len; i++)
    {
      GeBlock *block = g_ptr_array_index (blocks, i);

      if (is_gone (block))
        continue;
      open_gap (scan, scan->n, 1);
      set_entry (scan, scan->n - 1, block);
    }
}

static void
mark_gone (Scan *scan, guint k)
{
  scan->entries[k].traits |= GONE;
  scan->n_gone++;
}

/* Removes GONE entries once they are more than an eighth. */
static void
compact (Scan *scan)
{
  guint kept = 0;

  if (scan->n_gone < 16 || scan->n_gone < (scan->n - scan->start) / 8)
    return;
  for (guint k = scan->start; k < scan->n; k++)
    if ((scan->entries[k].traits & GONE) == 0)
      {
        scan->entries[kept] = scan->entries[k];
        memcpy (&scan->times[(gsize) kept * scan->n_streams],
                &scan->times[(gsize) k * scan->n_streams], scan->n_streams * sizeof (Time));
        kept++;
      }
  scan->start = scan->n_gone = 0;
  scan->n = kept;
}

/* ---- pairs */

/* The parent's data for may_skip(). */
typedef struct
{
  GeBlock *block;
  Entry entry;
  Time *times;
  guint64 max_child; /* G_MAXUINT64: not a criterion (continuous, zero-copy) */
} Parent;

/* TRUE if gemem_ge_pack_pair() of @p and entry @k cannot change anything. */
static inline gboolean
may_skip (const Scan *scan, const Parent *p, guint k)
{
  const Entry *c = &scan->entries[k];
  const Time *time = &scan->times[(gsize) k * scan->n_streams + (gsize) p->entry.stream];
  const guint32 both = c->traits & p->entry.traits, any = c->traits | p->entry.traits;

  if (c->group != p->entry.group || (c->traits & GONE) != 0)
    return TRUE;
  if ((any & GE_SPECIAL) != 0)
    return FALSE;
  if (time->reach >= p->times[c->stream].free || p->times[c->stream].reach >= time->free)
    return (c->traits & GE_PLAIN) != 0 && c->size > p->max_child;
  return c->stream != p->entry.stream || (both & GE_LOOSE) == 0
         || ((p->entry.traits & GE_PLAIN) != 0 && (c->traits & GE_TURNS) != 0
             && c->first_end >= p->block->begin && c->last_begin <= p->block->end);
}

static guint64
max_child_of (GeBlock *p)
{
  return p->cont || p->zc ? G_MAXUINT64 : gemem_ge_pack_max_child (p);
}

/* Position of @block in B, at or after @from. */
static guint
position_of (const GPtrArray *blocks, const GeBlock *block, guint from)
{
  while (g_ptr_array_index (blocks, from) != block)
    from++;
  return from;
}

/* Inserts the clones behind the block of entry @k, at @j in B; may sort the later blocks again. */
static void
insert_clones (Scan *scan, GeBlock *p, guint k, guint j)
{
  GeAssigner *a = scan->packer.a;
  const GPtrArray *clones = scan->packer.clones;
  const guint next = j + 1 + clones->len;
  guint64 least = gemem_ge_block_align_size (p);

  for (guint i = 0; i < clones->len; i++)
    {
      GeBlock *clone = g_ptr_array_index (clones, i);

      least = MIN (least, gemem_ge_block_align_size (clone));
      g_ptr_array_insert (a->blocks, (int) (j + 1 + i), clone);
    }
  if (a->model->options->memory_priority
      || (next < a->blocks->len
          && least < gemem_ge_block_align_size (g_ptr_array_index (a->blocks, next))))
    {
      gemem_ge_pack_sort (&scan->packer, j + 1);
      fill_from (scan, k + 1, j + 1);
      return;
    }
  open_gap (scan, k + 1, clones->len);
  for (guint i = 0; i < clones->len; i++)
    set_entry (scan, k + 1 + i, g_ptr_array_index (clones, i));
}

static void
try_all (Scan *scan, Parent *p, guint i)
{
  GeAssigner *a = scan->packer.a;
  guint j = i; /* a lower limit of the entry's position in B */

  for (guint k = scan->start;
       k < scan->n && !p->block->child && !gemem_plan_is_unwanted (a->model->interrupted); k++)
    {
      GeBlock *c = scan->entries[k].block;

      if (may_skip (scan, p, k) || (p->block->cont && c->occupants[0].node < a->model->last_memset))
        continue;
      gemem_ge_pack_pair (&scan->packer, p->block, c);
      if (is_gone (c))
        mark_gone (scan, k);
      p->max_child = max_child_of (p->block);
      if (scan->packer.clones->len == 0)
        continue;
      set_entry (scan, k, c);
      scan->entries[k].traits |= is_gone (c) ? GONE : 0;
      j = position_of (a->blocks, c, j);
      insert_clones (scan, p->block, k, j);
      g_ptr_array_set_size (scan->packer.clones, 0);
    }
}

/* Moves scan->start past the entry of @p: parents before it are not visited again. */
static void
pass (Scan *scan, const GeBlock *p)
{
  while (scan->start < scan->n && (scan->entries[scan->start].traits & GONE) != 0
         && scan->entries[scan->start].block != p)
    {
      scan->start++;
      scan->n_gone--;
    }
  if (scan->start < scan->n && scan->entries[scan->start].block == p)
    scan->n_gone -= (scan->entries[scan->start++].traits & GONE) != 0;
}

/* Nearly all of the time goes here, and it falls with the square of the parents left. */
static void
tell (const GeModel *model, guint i, guint n, gint *told)
{
  guint64 left;
  gint done;

  if (model->share == NULL)
    return;
  left = (guint64) (n - i) * 1000 / n;
  done = (gint) ((1000 - left * left / 1000) / model->n_assigners);
  if (done > *told)
    {
      g_atomic_int_add (model->share, done - *told);
      *told = done;
    }
}

void
gemem_ge_pack (GeAssigner *a)
{
  Scan scan = { .packer = { .a = a, .clones = g_ptr_array_new (), .moved = g_byte_array_new () },
                .n_streams = a->model->n_streams };
  gint told = 0;
  Parent p = { .times = g_new (Time, (gsize) scan.n_streams + 1) };

  for (guint i = 0; i < a->blocks->len; i++)
    gemem_ge_pack_refresh (a->model, g_ptr_array_index (a->blocks, i));
  gemem_ge_pack_sort (&scan.packer, 0);
  fill_from (&scan, 0, 0);
  for (guint i = 0; i < a->blocks->len && !gemem_plan_is_unwanted (a->model->interrupted); i++)
    {
      tell (a->model, i, a->blocks->len, &told);
      p.block = g_ptr_array_index (a->blocks, i);
      pass (&scan, p.block);
      if (p.block->child || !p.block->reuse_mem || p.block->stream < 0)
        continue;
      compact (&scan);
      p.entry = entry_of (p.block);
      fill_times (a, p.block, p.times);
      p.max_child = max_child_of (p.block);
      try_all (&scan, &p, i);
    }
  g_ptr_array_unref (scan.packer.clones);
  g_byte_array_unref (scan.packer.moved);
  g_free (scan.packer.keys);
  g_free (scan.entries);
  g_free (scan.times);
  g_free (p.times);
}

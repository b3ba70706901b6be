/* streams-report.c - spans, invariants and statistics of GE's level-2 pools; see streams.h.
 *
 * A block that waits for streams or for an event is PENDING, one in a borrow pool FREE for the
 * stream that borrowed it; both are live blocks of the pool of their birth stream.
 */
#include "config.h"

#include "allocators/ge/streams.h"

#define HEX "0x%" G_GINT64_MODIFIER "x"

void
gemem_ge_streams_describe (const GeSpan *span, GememSpan *out)
{
  switch ((GeBlockState) ((const GeStreamBlock *) span->user)->state)
    {
    case GE_BLOCK_USED:
      return;
    case GE_BLOCK_BORROWED:
      out->state = GEMEM_SPAN_FREE;
      break;
    default:
      out->state = GEMEM_SPAN_PENDING;
    }
  out->user = 0;
}

/* The borrow pool is asked after everything else has failed, which takes calls to the device. */
guint64
gemem_ge_streams_largest_free (GememAllocator *allocator, guint64 handle)
{
  const GeStreams *self = (GeStreams *) allocator;
  const GeStream *stream = gemem_ge_streams_find (self, handle);
  guint64 pages = 0, limit = G_MAXUINT64;

  if (stream == NULL && self->n_streams == GE_STREAMS_MAX)
    return 0;
  if (stream != NULL && !self->single)
    {
      pages = gemem_ge_pool_largest_idle (stream->pool, limit);
      limit = gemem_ge_pool_growth_limit (stream->pool);
    }
  return MAX (pages, gemem_ge_stack_largest_pages (&self->stack, self->l1, limit))
         << self->stack.config.page_shift;
}

/* ---- invariants */

typedef struct
{
  guint64 from_l1;           /* bytes that the L2 pools have from L1 */
  guint64 pending, borrowed; /* bytes */
  guint64 borrowed_blocks;
} Totals;

/* Every row has all holders; a block of the program has a holder; a block that a stream knows to be
 * without holder was recycled. */
static gboolean
check_holders (const GeStreams *self, const GeStreamBlock *block, GError **error)
{
  const GeHolders *holders = &block->holders;
  const gboolean idle = block->state == GE_BLOCK_BORROWED || block->state == GE_BLOCK_RETURNING;
  guint64 total = 0;

  for (guint s = 0; s < self->n_streams; s++)
    {
      const guint64 row = gemem_ge_holders_row (holders, s);
      const guint32 count = gemem_ge_holders_count (holders, s);

      total += count;
      if ((holders->holding & ~row) != 0 || (row & ~holders->touched) != 0
          || (count > 0) != (holders->holding >> s & 1))
        return GE_BROKEN ("ge-streams: block " HEX ": stream %u knows what is not so",
                          block->span->address, s);
      if (!idle && row == 0)
        return GE_BROKEN ("ge-streams: block " HEX ": stream %u knows that nobody holds it",
                          block->span->address, s);
    }
  if (total != holders->total)
    return GE_BROKEN ("ge-streams: block " HEX ": its counts do not add up", block->span->address);
  if (block->state == GE_BLOCK_USED || block->state == GE_BLOCK_FREE_REQUESTED ? total == 0
                                                                               : total != 0)
    return GE_BROKEN ("ge-streams: block " HEX " has %" G_GUINT64_FORMAT " holders",
                      block->span->address, total);
  return !block->deferred || total == 1
         || GE_BROKEN ("ge-streams: block " HEX ": a hold is to end that is not the last",
                       block->span->address);
}

static gboolean
check_block (const GeStreams *self, const GeSpan *span, guint birth, Totals *totals, GError **error)
{
  const GeStreamBlock *block = span->user;

  if (block == NULL || block->span != span || block->birth != birth
      || block->state == GE_BLOCK_SPARE)
    return GE_BROKEN ("ge-streams: the span at " HEX " is nobody's block", span->address);
  if (block->state == GE_BLOCK_PENDING || block->state == GE_BLOCK_RETURNING)
    totals->pending += gemem_ge_span_bytes (span);
  else if (block->state == GE_BLOCK_BORROWED)
    {
      totals->borrowed += gemem_ge_span_bytes (span);
      totals->borrowed_blocks++;
    }
  return check_holders (self, block, error);
}

static gboolean
check_pool (const GeStreams *self, const GeStream *stream, Totals *totals, GError **error)
{
  g_autofree char *name = g_strdup_printf ("ge-streams: pool of stream %" G_GUINT64_FORMAT,
                                           stream->l2.stream);

  if (!self->single && !gemem_ge_pool_check (stream->pool, name, error))
    return FALSE;
  for (const GeRoot *root = stream->pool->roots; root != NULL; root = root->next)
    for (const GeSpan *span = root->first; span != NULL; span = span->next)
      if (span->occupied && !check_block (self, span, stream->number, totals, error))
        return FALSE;
  totals->from_l1 += stream->pool->obtained;
  return TRUE;
}

static gboolean
check_borrow_pools (const GeStreams *self, const Totals *totals, GError **error)
{
  guint64 in_trees = 0, in_lists = 0;

  for (guint s = 0; s < self->n_streams; s++)
    {
      const GeBorrowPool *pool = &self->streams[s]->borrow;

      if (!gemem_tree_check (&pool->tree))
        return GE_BROKEN ("ge-streams: the borrow pool of stream %u is out of order", s);
      in_trees += pool->tree.count;
      for (guint birth = 0; birth < GE_STREAMS_MAX; birth++)
        for (const GeStreamBlock *block = pool->by_birth[birth].first; block != NULL;
             block = block->next, in_lists++)
          if (block->state != GE_BLOCK_BORROWED || block->at != s || block->birth != birth)
            return GE_BROKEN (
                "ge-streams: a block in the borrow pool of stream %u does not belong there", s);
    }
  if (in_trees != totals->borrowed_blocks || in_lists != totals->borrowed_blocks)
    return GE_BROKEN ("ge-streams: %" G_GUINT64_FORMAT
                      " blocks are borrowed, the borrow pools have %" G_GUINT64_FORMAT
                      " and %" G_GUINT64_FORMAT,
                      totals->borrowed_blocks, in_trees, in_lists);
  return TRUE;
}

gboolean
gemem_ge_streams_check (GememAllocator *allocator, GError **error)
{
  const GeStreams *self = (GeStreams *) allocator;
  Totals totals = { 0 };

  if (!gemem_ge_stack_check (allocator, error))
    return FALSE;
  for (guint s = 0; s < self->n_streams; s++)
    if (!check_pool (self, self->streams[s], &totals, error))
      return FALSE;
  if (self->l1 != NULL && !self->single && totals.from_l1 != self->l1->pool.theory)
    return GE_BROKEN ("ge-streams: L2 pools hold %" G_GUINT64_FORMAT
                      " bytes, L1 lent %" G_GUINT64_FORMAT,
                      totals.from_l1, self->l1->pool.theory);
  if (totals.pending != self->pending_bytes || totals.borrowed != self->borrowed_bytes)
    return GE_BROKEN ("ge-streams: pending and borrowed are %" G_GUINT64_FORMAT
                      " and %" G_GUINT64_FORMAT " bytes, the books say %" G_GUINT64_FORMAT
                      " and %" G_GUINT64_FORMAT,
                      totals.pending, totals.borrowed, self->pending_bytes, self->borrowed_bytes);
  return check_borrow_pools (self, &totals, error);
}

/* ---- statistics */

void
gemem_ge_streams_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const GeStreams *self = (GeStreams *) allocator;

  func ("pool", self->l1 != NULL ? self->l1->pool.obtained : 0, "B", data);
  func ("page_mem_size_total_threshold", self->stack.config.threshold, "B", data);
  func ("memory_pool_threshold_refused", self->stack.threshold_refused, "", data);
  func ("stream_syncs", self->stack.syncs, "", data);
  func ("streams", self->n_streams, "", data);
  func ("birth_recycles", self->birth_recycles, "", data);
  func ("local_recycles", self->local_recycles, "", data);
  func ("borrow_recycles", self->borrow_recycles, "", data);
  func ("borrows", self->borrows, "", data);
  func ("pending_size", self->pending_bytes, "B", data);
  func ("borrowed_size", self->borrowed_bytes, "B", data);
  for (guint s = 0; s < self->n_streams && !self->single; s++)
    {
      g_autofree char *prefix = g_strdup_printf ("stream%" G_GUINT64_FORMAT ".",
                                                 self->streams[s]->l2.stream);

      gemem_ge_pool_stats (self->streams[s]->pool, prefix, func, data);
    }
  if (self->l1 != NULL)
    gemem_ge_pool_stats (&self->l1->pool, "l1.", func, data);
  gemem_ge_pool_stats (&self->stack.bottom, "rts.", func, data);
}

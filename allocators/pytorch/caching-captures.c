/* caching-captures.c - what `pytorch-caching` holds back while the program captures a graph or,
 * before PyTorch 2.13, allocates in any private pool.
 *
 * Events cannot be recorded or queried during a capture.  So meanwhile no event is polled and the
 * cache is not emptied; a block freed with uses waits, and its events are recorded at the next
 * request after the capture.  A use that is made during a capture belongs to the graph: it needs no
 * event, and hides an earlier use by the same stream.
 *
 * Invariants: a held block is PENDING without events; held blocks are settled before events are
 * polled or waited for.  The uses of the graph outlive the free of their block, as in the real
 * system: they end when the block is settled or merged away.
 * Cost: none without pool-begin events but for one test per request.
 * Origin: peers.md 1a.10 and 1a.14; found by running the real binaries.
 */
#include "config.h"

#include "allocators/pytorch/caching.h"

void
gemem_caching_redirect (Caching *caching, guint32 pool, gboolean begin, gboolean capture)
{
  GArray *redirections = caching->redirections;
  const CachingRedirection redirection = { pool, capture };

  caching->marked = TRUE;
  if (begin)
    g_array_append_val (redirections, redirection);
  else
    for (guint i = redirections->len; i-- > 0;)
      if (g_array_index (redirections, CachingRedirection, i).pool == pool)
        {
          g_array_remove_index (redirections, i);
          break;
        }
  caching->holding = FALSE;
  for (guint i = 0; i < redirections->len; i++)
    {
      const CachingRedirection *open = &g_array_index (redirections, CachingRedirection, i);

      caching->holding |= caching->settings.version->pool_holds ? open->pool != 0 : open->capture;
    }
}

/* A request in a pool that is not in use counts as a capture of its own, or, where the trace says
 * when pools are in use, as the only use of it. */
gboolean
gemem_caching_holds (const Caching *caching, guint32 pool)
{
  return caching->holding
         || (pool != 0 && (!caching->marked || caching->settings.version->pool_holds));
}

void
gemem_caching_hold (Caching *caching, CachingBlock *block)
{
  block->state = CACHING_PENDING;
  block->held = TRUE;
  g_ptr_array_add (caching->held, block);
  caching->outstanding++;
}

/* The streams of the uses of @block that were made during a capture, or NULL. */
static GArray *
captured_of (Caching *caching, CachingBlock *block)
{
  return caching->captured != NULL ? g_hash_table_lookup (caching->captured, block) : NULL;
}

static gboolean
contains (const GArray *streams, guint64 stream)
{
  for (guint i = 0; streams != NULL && i < streams->len; i++)
    if (g_array_index (streams, guint64, i) == stream)
      return TRUE;
  return FALSE;
}

void
gemem_caching_note_captured (Caching *caching, CachingBlock *block, guint64 stream)
{
  GArray *streams = captured_of (caching, block);

  if (caching->captured == NULL)
    caching->captured = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_array_unref);
  if (streams == NULL)
    {
      streams = g_array_new (FALSE, FALSE, sizeof (guint64));
      g_hash_table_insert (caching->captured, block, streams);
    }
  if (!contains (streams, stream))
    g_array_append_val (streams, stream);
}

/* Removes the uses of @block that belong to a graph. */
static void
drop_captured (Caching *caching, CachingBlock *block)
{
  const GArray *streams = captured_of (caching, block);

  if (streams == NULL)
    return;
  for (CachingUse **at = &block->uses; *at != NULL;)
    {
      CachingUse *use = *at;

      if (!contains (streams, use->stream))
        {
          at = &use->next;
          continue;
        }
      *at = use->next;
      gemem_slab_free (&caching->use_slab, use);
    }
  g_hash_table_remove (caching->captured, block);
}

void
gemem_caching_settle (Caching *caching)
{
  for (guint i = 0; i < caching->held->len; i++)
    {
      CachingBlock *block = g_ptr_array_index (caching->held, i);

      block->held = FALSE;
      caching->outstanding--;
      drop_captured (caching, block);
      if (block->uses != NULL)
        gemem_caching_record_events (caching, block);
      else
        gemem_caching_finish (caching, block);
    }
  g_ptr_array_set_size (caching->held, 0);
}

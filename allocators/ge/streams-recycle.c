/* streams-recycle.c - where blocks of level-2 pools go when a stream knows that no stream holds
 * them; see streams.h.
 *
 * Origin: ge-runtime.md 2.4.
 */
#include "config.h"

#include "allocators/ge/streams.h"

GeStream *
gemem_ge_streams_find (const GeStreams *self, guint64 handle)
{
  GeStream *const *found;

  if (self->single)
    return self->streams[0];
  found = gemem_idmap_lookup (self->by_handle, handle);
  return found != NULL ? *found : NULL;
}

/* Ends this use of the block: entries that name it with this version mean nothing any more. */
static inline void
end_use (GeStreams *self, GeStreamBlock *block)
{
  if (block->state == GE_BLOCK_PENDING)
    self->pending_bytes -= gemem_ge_span_bytes (block->span);
  block->version++;
  block->deferred = FALSE;
  gemem_ge_holders_reset (&block->holders, &self->wide);
}

void
gemem_ge_streams_birth_recycle (GeStreams *self, GeStreamBlock *block)
{
  if (block->state == GE_BLOCK_BORROWED)
    {
      gemem_ge_borrow_remove (&self->streams[block->at]->borrow, block);
      self->borrowed_bytes -= gemem_ge_span_bytes (block->span);
    }
  end_use (self, block);
  gemem_ge_pool_free (self->streams[block->birth]->pool, block->span);
  block->state = GE_BLOCK_SPARE;
  block->next = self->spare;
  self->spare = block;
  self->birth_recycles++;
}

void
gemem_ge_streams_recycle (GeStreams *self, GeStreamBlock *block, guint stream)
{
  if (stream == block->birth)
    {
      gemem_ge_streams_birth_recycle (self, block);
      return;
    }
  end_use (self, block);
  block->state = GE_BLOCK_BORROWED;
  block->at = (guint8) stream;
  gemem_ge_borrow_insert (&self->streams[stream]->borrow, block, ++self->stamp);
  self->borrowed_bytes += gemem_ge_span_bytes (block->span);
  self->borrow_recycles++;
}

/* passing.c - see passing.h. */
#include "config.h"

#include "allocators/rmm/passing.h"

void
gemem_rmm_passing_init (GememRmmPassing *self)
{
  gemem_slab_init (&self->slab, sizeof (GememRmmPassed));
}

void
gemem_rmm_passing_clear (GememRmmPassing *self, GememRmmUpstream *upstream)
{
  for (const GememRmmPassed *live = self->first; live != NULL; live = live->next)
    gemem_rmm_upstream_free (upstream, live->address, live->size);
  gemem_slab_clear (&self->slab);
}

gboolean
gemem_rmm_passing_alloc (GememRmmPassing *self, GememRmmUpstream *upstream,
                         const GememRequest *request, GememBlock *block)
{
  const guint64 address = gemem_rmm_upstream_malloc (upstream, request->size, request->stream);
  GememRmmPassed *live;

  if (address == 0)
    return FALSE;
  live = gemem_slab_alloc (&self->slab);
  live->address = address;
  live->size = request->size;
  live->next = self->first;
  if (live->next != NULL)
    live->next->previous = live;
  self->first = live;
  self->count++;
  *block = (GememBlock){ address, gemem_rmm_upstream_size (upstream, request->size), live };
  return TRUE;
}

void
gemem_rmm_passing_free (GememRmmPassing *self, GememRmmUpstream *upstream, const GememBlock *block)
{
  GememRmmPassed *live = block->handle;

  if (live->next != NULL)
    live->next->previous = live->previous;
  if (live->previous != NULL)
    live->previous->next = live->next;
  else
    self->first = live->next;
  self->count--;
  gemem_rmm_upstream_free (upstream, live->address, live->size);
  gemem_slab_free (&self->slab, live);
}

void
gemem_rmm_passing_append (const GememRmmPassing *self, const GememRmmUpstream *upstream,
                          GArray *spans)
{
  for (const GememRmmPassed *live = self->first; live != NULL; live = live->next)
    {
      const guint64 size = gemem_rmm_upstream_size (upstream, live->size);
      const GememSpan span = { .address = live->address,
                               .size = size,
                               .segment = live->address,
                               .segment_size = size,
                               .state = GEMEM_SPAN_LIVE,
                               .user = live->address };

      g_array_append_val (spans, span);
    }
}

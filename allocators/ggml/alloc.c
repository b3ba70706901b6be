/* alloc.c - `ggml-alloc`: ggml's offset allocator with buffers of the device below it.
 *
 * ggml decides offsets without a device, and then asks it for one buffer per chunk, as long as the
 * chunk became (ggml_gallocr_reserve); nothing is asked for while a graph runs.  So prepare() lets
 * the offset allocator serve the lifetimes of the whole trace and takes the buffers.  Then each
 * request is decided once more, in the same order and hence with the same offsets; once all of them
 * were served and freed it begins anew, as ggml does for the next graph.  If the device refuses a
 * buffer, ggml's reserve fails and no graph runs: every request fails.
 *
 * Requests that the buffers do not hold, because the trace is replayed otherwise than it was
 * planned, and all requests without a trace to plan for, have a call of the device each.
 *
 * Invariants: live pieces lie in the buffers; bytes held are those of the buffers, and of requests
 * outside.
 * Cost: offsets.h per event; planning keeps 24 bytes per allocation of the trace until it is done.
 * Origin: peers.md section 1l.1.  How a graph is planned: planners/ggml.
 */
#include "config.h"

#include <stdlib.h>

#include "allocators/allocator.h"
#include "planners/ggml/offsets.h"
#include "planners/planner.h"

typedef struct
{
  guint64 address, size;
} Buffer;

/* A request that has a call of the device to itself. */
typedef struct
{
  GememTreeNode by_address;
  guint64 size, stream;
  guint32 pool;
  gboolean pending;
} GgmlOutside;

typedef struct
{
  GememAllocator base;
  GgmlParams params;
  GgmlOffsets offsets;
  Buffer buffers[GGML_CHUNKS]; /* per chunk */
  guint32 n_buffers;
  gboolean prepared, refused; /* refused: the device did not give the buffers */
  GememTree outside;          /* GgmlOutside, by address */
  GememSlab outside_slab;
  guint64 planned, served;   /* allocations of the trace; of them since the last beginning */
  guint64 live;              /* pieces in the buffers */
  guint64 n_outside, failed; /* requests */
} Ggml;

extern const GememAllocatorClass gemem_ggml_alloc_class;

static void
begin (Ggml *self)
{
  gemem_ggml_offsets_init (&self->offsets, self->params.alignment,
                           gemem_ggml_params_max_chunk (&self->params));
  self->served = 0;
}

static GememAllocator *
ggml_create (gconstpointer given, GememDevice *device, GError **error)
{
  const GgmlParams *params = given;
  Ggml *self;

  if (!gemem_ggml_params_check (params, error))
    {
      g_prefix_error (error, "allocator ggml-alloc: ");
      return NULL;
    }
  self = g_new0 (Ggml, 1);
  self->base.klass = &gemem_ggml_alloc_class;
  self->base.device = device;
  self->params = *params;
  gemem_slab_init (&self->outside_slab, sizeof (GgmlOutside));
  begin (self);
  return &self->base;
}

/* ---- before the run */

typedef struct
{
  guint64 step;
  guint32 item;
} End;

static int
compare_ends (gconstpointer a, gconstpointer b)
{
  const End *x = a, *y = b;

  if (x->step != y->step)
    return x->step < y->step ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* Serves all lifetimes, which are in the order of their requests. */
static void
serve_all (Ggml *self, const GememLifetimes *lifetimes)
{
  const guint32 n = lifetimes->items->len;
  g_autofree End *ends = g_new (End, (gsize) n + 1);
  g_autofree GgmlPiece **pieces = g_new0 (GgmlPiece *, (gsize) n + 1);
  guint32 ended = 0;

  for (guint32 i = 0; i < n; i++)
    ends[i] = (End){ gemem_lifetimes_get (lifetimes, i)->end, i };
  qsort (ends, n, sizeof (End), compare_ends);
  for (guint32 i = 0; i < n; i++)
    {
      const GememLifetime *life = gemem_lifetimes_get (lifetimes, i);

      for (; ended < n && ends[ended].step <= life->begin; ended++)
        if (pieces[ends[ended].item] != NULL)
          gemem_ggml_offsets_free (&self->offsets, pieces[ends[ended].item]);
      if (life->size == 0)
        continue; /* such requests never arrive */
      pieces[i] = gemem_ggml_offsets_alloc (&self->offsets, life->size);
      self->planned += pieces[i] != NULL;
    }
}

static void
release_buffers (Ggml *self)
{
  for (guint32 i = 0; i < self->n_buffers; i++)
    gemem_device_free (self->base.device, self->buffers[i].address, self->buffers[i].size);
  self->n_buffers = 0;
}

static gboolean
ggml_prepare (GememAllocator *allocator, const GememPlanInput *input, G_GNUC_UNUSED GError **error)
{
  Ggml *self = (Ggml *) allocator;

  serve_all (self, input->lifetimes);
  self->prepared = TRUE;
  for (guint32 c = 0; c < self->offsets.n_chunks && !self->refused; c++)
    {
      const Buffer buffer = { gemem_device_malloc (allocator->device, self->offsets.chunks[c].high,
                                                   0),
                              self->offsets.chunks[c].high };

      self->refused = buffer.address == 0;
      if (!self->refused)
        self->buffers[self->n_buffers++] = buffer;
    }
  if (self->refused)
    release_buffers (self);
  gemem_ggml_offsets_clear (&self->offsets);
  begin (self);
  return TRUE;
}

/* ---- requests */

static gboolean
alloc_outside (Ggml *self, const GememRequest *request, GememBlock *block)
{
  const guint64 address = gemem_device_malloc (self->base.device, request->size, request->stream);
  GgmlOutside *outside;

  self->n_outside++;
  if (address == 0)
    return FALSE;
  outside = gemem_slab_alloc (&self->outside_slab);
  outside->by_address.address = address;
  outside->size = request->size;
  outside->stream = request->stream;
  outside->pool = request->pool;
  gemem_tree_insert (&self->outside, &outside->by_address);
  *block = (GememBlock){ address, request->size, outside };
  return TRUE;
}

static void
free_outside (Ggml *self, GgmlOutside *outside)
{
  gemem_tree_remove (&self->outside, &outside->by_address);
  gemem_device_free (self->base.device, outside->by_address.address, outside->size);
  gemem_slab_free (&self->outside_slab, outside);
}

static gboolean
is_within (const Ggml *self, const GgmlPiece *piece)
{
  return piece->node.group < self->n_buffers
         && piece->offset + piece->node.size <= self->buffers[piece->node.group].size;
}

static gboolean
ggml_alloc (GememAllocator *allocator, const GememRequest *request, GememBlock *block)
{
  Ggml *self = (Ggml *) allocator;
  GgmlPiece *piece;

  if (!self->prepared)
    return alloc_outside (self, request, block);
  if (self->refused)
    {
      self->failed++;
      return FALSE;
    }
  if (G_UNLIKELY (self->live == 0 && self->served >= self->planned))
    {
      gemem_ggml_offsets_clear (&self->offsets);
      begin (self);
    }
  piece = gemem_ggml_offsets_alloc (&self->offsets, request->size);
  if (G_UNLIKELY (piece == NULL || !is_within (self, piece)))
    {
      if (piece != NULL)
        gemem_ggml_offsets_free (&self->offsets, piece);
      return alloc_outside (self, request, block);
    }
  self->served++;
  self->live++;
  *block = (GememBlock){ self->buffers[piece->node.group].address + piece->offset, piece->node.size,
                         piece };
  return TRUE;
}

static gboolean
is_outside (const Ggml *self, const GememBlock *block)
{
  return self->outside.count > 0
         && gemem_tree_lower_bound (&self->outside, 0, 0, block->address)
                == &((GgmlOutside *) block->handle)->by_address;
}

static void
free_piece (Ggml *self, GgmlPiece *piece)
{
  self->live--;
  gemem_ggml_offsets_free (&self->offsets, piece);
  if (G_UNLIKELY (self->offsets.too_many > 0 && self->base.broken == NULL))
    gemem_allocator_break_rule (&self->base,
                                "a chunk gets more than %d holes, at which the real program ends; "
                                "give another alignment= or max_chunk=",
                                GGML_HOLES);
}

static void
ggml_complete (GememAllocator *allocator, const GememBlock *block)
{
  Ggml *self = (Ggml *) allocator;

  if (G_UNLIKELY (is_outside (self, block)))
    free_outside (self, block->handle);
  else
    free_piece (self, block->handle);
}

/* What streams still use stays, as in the lifetimes that were planned. */
static void
ggml_free (GememAllocator *allocator, const GememBlock *block, gboolean completion_follows)
{
  if (!completion_follows)
    ggml_complete (allocator, block);
  else if (is_outside ((Ggml *) allocator, block))
    ((GgmlOutside *) block->handle)->pending = TRUE;
  else
    ((GgmlPiece *) block->handle)->pending = TRUE;
}

static void
ggml_prefetch (GememAllocator *allocator, const GememBlock *block)
{
  const GgmlPiece *piece = block->handle;

  if (((const Ggml *) allocator)->outside.count > 0)
    return;
  __builtin_prefetch (piece->previous, 1);
  __builtin_prefetch (piece->next, 1);
}

/* ---- looking at it */

static guint64
ggml_largest_free (GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
{
  const Ggml *self = (const Ggml *) allocator;
  guint64 largest = 0;

  for (guint32 c = 0; c < self->n_buffers; c++)
    {
      const GgmlPiece *last = c < self->offsets.n_chunks ? self->offsets.chunks[c].last : NULL;
      GememTreeNode *node = gemem_tree_before (&self->offsets.by_size, c, G_MAXUINT64, 0);

      if (node != NULL && node->group == c)
        largest = MAX (largest, node->size);
      if (c >= self->offsets.n_chunks)
        largest = MAX (largest, self->buffers[c].size);
      else if (last != NULL && last->offset < self->buffers[c].size)
        largest = MAX (largest, MIN (last->node.size, self->buffers[c].size - last->offset));
    }
  return largest;
}

static void
walk_buffer (const Ggml *self, guint32 c, GememSpanFunc func, gpointer data)
{
  const Buffer *buffer = &self->buffers[c];
  const GgmlPiece *piece = c < self->offsets.n_chunks ? self->offsets.chunks[c].first : NULL;
  GememSpan span = { .address = buffer->address,
                     .size = buffer->size,
                     .segment = buffer->address,
                     .segment_size = buffer->size,
                     .state = GEMEM_SPAN_FREE };

  if (piece == NULL)
    func (&span, data);
  for (; piece != NULL && piece->offset < buffer->size; piece = piece->next)
    {
      span.address = buffer->address + piece->offset;
      span.user = piece->free ? 0 : span.address;
      span.size = MIN (piece->node.size, buffer->size - piece->offset);
      span.state = piece->free      ? GEMEM_SPAN_FREE
                   : piece->pending ? GEMEM_SPAN_PENDING
                                    : GEMEM_SPAN_LIVE;
      func (&span, data);
    }
}

static void
report_outside (const GgmlOutside *outside, GememSpanFunc func, gpointer data)
{
  const guint64 address = outside->by_address.address;

  func (&(const GememSpan){ address, outside->size, address, outside->size, outside->stream,
                            outside->pool, outside->pending ? GEMEM_SPAN_PENDING : GEMEM_SPAN_LIVE,
                            address },
        data);
}

/* The chunk whose buffer lies lowest from @address on; GGML_CHUNKS: none. */
static guint32
next_buffer (const Ggml *self, guint64 address)
{
  guint32 next = GGML_CHUNKS;

  for (guint32 c = 0; c < self->n_buffers; c++)
    if (self->buffers[c].address >= address
        && (next == GGML_CHUNKS || self->buffers[c].address < self->buffers[next].address))
      next = c;
  return next;
}

static void
ggml_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const Ggml *self = (const Ggml *) allocator;
  GememTreeNode *node = gemem_tree_first (&self->outside);
  guint32 buffer = next_buffer (self, 0);

  while (node != NULL || buffer < GGML_CHUNKS)
    if (node == NULL || (buffer < GGML_CHUNKS && self->buffers[buffer].address < node->address))
      {
        walk_buffer (self, buffer, func, data);
        buffer = next_buffer (self, self->buffers[buffer].address + 1);
      }
    else
      {
        report_outside (GEMEM_TREE_ENTRY (node, GgmlOutside, by_address), func, data);
        node = gemem_tree_next (node);
      }
}

static gboolean
ggml_check (GememAllocator *allocator, GError **error)
{
  const Ggml *self = (const Ggml *) allocator;
  guint64 live = 0;
  gboolean ok = gemem_ggml_offsets_check (&self->offsets);

  for (guint32 c = 0; ok && c < self->offsets.n_chunks; c++)
    for (const GgmlPiece *piece = self->offsets.chunks[c].first; piece != NULL; piece = piece->next)
      {
        live += !piece->free;
        ok &= piece->free || is_within (self, piece);
      }
  if (ok && live == self->live && gemem_tree_check (&self->outside))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "ggml-alloc: %" G_GUINT64_FORMAT " pieces of %" G_GUINT64_FORMAT
               ", or holes that do not add up",
               live, self->live);
  return FALSE;
}

static void
ggml_stats (GememAllocator *allocator, GememStatFunc func, gpointer data)
{
  const Ggml *self = (const Ggml *) allocator;
  guint64 bytes = 0, holes = 0;

  for (guint32 i = 0; i < self->n_buffers; i++)
    bytes += self->buffers[i].size;
  for (guint32 c = 0; c < self->offsets.n_chunks; c++)
    holes += self->offsets.chunks[c].holes;
  func ("buffer_size", bytes, "B", data);
  func ("buffer_chunks", self->n_buffers, "", data);
  func ("free_blocks", holes, "", data);
  func ("planned_allocations", self->planned, "", data);
  func ("requests_outside", self->n_outside, "", data);
  func ("refused_requests", self->failed, "", data);
}

static void
ggml_destroy (GememAllocator *allocator)
{
  Ggml *self = (Ggml *) allocator;

  release_buffers (self);
  for (GememTreeNode *node = gemem_tree_first (&self->outside); node != NULL;
       node = gemem_tree_next (node))
    gemem_device_free (allocator->device, node->address,
                       GEMEM_TREE_ENTRY (node, GgmlOutside, by_address)->size);
  gemem_tree_clear (&self->outside);
  gemem_slab_clear (&self->outside_slab);
  gemem_ggml_offsets_clear (&self->offsets);
  g_free (self);
}

const GememAllocatorClass gemem_ggml_alloc_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ggml-alloc",
  .aliases = "ggml",
  .summary = "ggml's offset allocator: everything is planned first, in one buffer or few chunks",
  .origin = "ggml of August 2026 (peers.md 1l)",
  .known_as = "ggml_gallocr|ggml_dyn_tallocr|llama.cpp",
  .alignment = 1,
  .params = gemem_ggml_params,
  .params_size = sizeof (GgmlParams),
  .create = ggml_create,
  .alloc = ggml_alloc,
  .free = ggml_free,
  .prefetch = ggml_prefetch,
  .streams.complete = ggml_complete,
  .largest_free = ggml_largest_free,
  .walk = ggml_walk,
  .check = ggml_check,
  .destroy = ggml_destroy,
  .prepare = ggml_prepare,
  .report.stats = ggml_stats,
};

/* regions.c - see regions.h.
 */
#include "config.h"

#include "allocators/bfc/stamps.h"
#include "base/units.h"

typedef struct
{
  guint64 address, size;
} Grant; /* of the device */

void
gemem_bfc_init (GememBfc *self, const GememAllocatorClass *klass, GememDevice *device,
                gsize chunk_size)
{
  self->base.klass = klass;
  self->base.device = device;
  self->regions = g_array_new (FALSE, FALSE, sizeof (GememBfcRegion));
  self->grants = g_array_new (FALSE, FALSE, sizeof (Grant));
  gemem_slab_init (&self->chunk_slab, chunk_size);
}

static Grant *
grant_at (const GememBfc *self, guint i)
{
  return &g_array_index (self->grants, Grant, i);
}

guint64
gemem_bfc_available (const GememBfc *self)
{
  return (self->limit - self->pool) / BFC_QUANTUM * BFC_QUANTUM;
}

/* ---- chunks */

void
gemem_bfc_insert_free (GememBfc *self, GememNeighbour *chunk)
{
  chunk->free = TRUE;
  gemem_tree_insert (&self->free, &chunk->node);
}

static inline void
release (GememBfc *self, GememNeighbour *chunk)
{
  if (self->stamped)
    {
      gemem_bfc_insert_free (self, chunk);
      gemem_bfc_merge_safe (self, chunk);
    }
  else if (self->rejoin != NULL)
    self->rejoin (self, chunk);
  else
    gemem_neighbours_release (chunk, &self->free, &self->chunk_slab);
}

/* ---- regions */

/* The last chunk of a region. */
static GememNeighbour *
last_of (const GememBfcRegion *region)
{
  GememNeighbour *chunk = region->first;

  while (chunk->next != NULL)
    chunk = chunk->next;
  return chunk;
}

static void
add_grant (GememBfc *self, guint64 address, guint64 size)
{
  const Grant grant = { address, size };
  const GememBfcRegion region = { address, size, self->regions->len,
                                  gemem_slab_alloc (&self->chunk_slab) };
  GememNeighbour *chunk = region.first;
  guint at = self->regions->len, before = self->grants->len;

  chunk->node.address = address;
  chunk->node.size = size;
  self->pool += size;
  self->peak_pool = MAX (self->peak_pool, self->pool);
  while (before > 0 && grant_at (self, before - 1)->address > address)
    before--;
  g_array_insert_val (self->grants, before, grant);
  while (at > 0 && gemem_bfc_region (self, at - 1)->address > address)
    at--;
  if (self->coalesces && at > 0
      && gemem_bfc_region (self, at - 1)->address + gemem_bfc_region (self, at - 1)->size
             == address)
    {
      chunk->previous = last_of (gemem_bfc_region (self, at - 1));
      chunk->previous->next = chunk;
      gemem_bfc_region (self, at - 1)->size += size;
    }
  else
    g_array_insert_val (self->regions, at, region);
  release (self, chunk);
}

static guint64
back_off (guint64 size)
{
  const float less = (float) size * 0.9f;
  const guint64 rounded = gemem_align_up ((guint64) less, BFC_QUANTUM);

  return rounded < size ? rounded : size - BFC_QUANTUM;
}

gboolean
gemem_bfc_reach (GememBfc *self, guint64 size)
{
  const guint64 before = self->next_region;

  while (size > self->next_region)
    self->next_region *= 2;
  return self->next_region > before;
}

gboolean
gemem_bfc_add_region (GememBfc *self, guint64 wanted, guint64 size, guint64 least)
{
  guint64 address;

  while ((address = gemem_device_malloc (self->base.device, wanted, 0)) == 0)
    {
      wanted = wanted > BFC_QUANTUM ? back_off (wanted) : 0;
      if (wanted < size || wanted < least)
        return FALSE;
    }
  add_grant (self, address, wanted);
  return TRUE;
}

gboolean
gemem_bfc_is_idle (const GememBfcRegion *region)
{
  for (const GememNeighbour *chunk = region->first; chunk != NULL; chunk = chunk->next)
    if (!chunk->free)
      return FALSE;
  return TRUE;
}

void
gemem_bfc_release_region (GememBfc *self, guint i)
{
  const GememBfcRegion region = *gemem_bfc_region (self, i);

  for (GememNeighbour *chunk = region.first, *next; chunk != NULL; chunk = next)
    {
      next = chunk->next;
      if (self->stamped)
        gemem_bfc_forget_stamp (self, chunk);
      gemem_tree_remove (&self->free, &chunk->node);
      gemem_slab_free (&self->chunk_slab, chunk);
    }
  for (guint k = self->grants->len; k-- > 0;)
    if (grant_at (self, k)->address >= region.address
        && grant_at (self, k)->address - region.address < region.size)
      {
        gemem_device_free (self->base.device, grant_at (self, k)->address,
                           grant_at (self, k)->size);
        g_array_remove_index (self->grants, k);
      }
  self->pool -= region.size;
  g_array_remove_index (self->regions, i);
}

void
gemem_bfc_free (GememAllocator *allocator, const GememBlock *block,
                G_GNUC_UNUSED gboolean completion_follows)
{
  GememBfc *self = (GememBfc *) allocator;
  GememNeighbour *chunk = block->handle;

  self->live -= chunk->node.size;
  if (G_UNLIKELY (self->stamped))
    gemem_bfc_stamp (self, chunk);
  else
    release (self, chunk);
}

guint64
gemem_bfc_largest_free (GememAllocator *allocator, G_GNUC_UNUSED guint64 stream)
{
  const GememTree *free_chunks = &((const GememBfc *) allocator)->free;
  guint64 largest = 0;

  for (guint part = BFC_LOWER; part <= BFC_GAP; part++) /* the upper end has holes of its own */
    {
      const GememTreeNode *last = gemem_tree_before (free_chunks, part, G_MAXUINT64, G_MAXUINT64);
      largest = MAX (largest, last != NULL ? last->size : 0);
    }
  return largest;
}

void
gemem_bfc_walk (GememAllocator *allocator, GememSpanFunc func, gpointer data)
{
  const GememBfc *self = (const GememBfc *) allocator;

  for (guint i = 0; i < self->regions->len; i++)
    for (const GememNeighbour *chunk = gemem_bfc_region (self, i)->first; chunk != NULL;
         chunk = chunk->next)
      {
        const GememSpan span = { .address = chunk->node.address,
                                 .size = chunk->node.size,
                                 .segment = gemem_bfc_region (self, i)->address,
                                 .segment_size = gemem_bfc_region (self, i)->size,
                                 .state = chunk->free ? GEMEM_SPAN_FREE : GEMEM_SPAN_LIVE,
                                 .user = chunk->node.address };
        func (&span, data);
      }
}

/* ---- a recorded state */

gboolean
gemem_bfc_adopt_segment (GememAllocator *allocator, const GememAdopt *segment)
{
  GememBfc *self = (GememBfc *) allocator;

  if (self->rejoin != NULL || segment->size > self->limit - self->pool
      || !gemem_device_adopt (allocator->device, segment->address, segment->size))
    return FALSE;
  add_grant (self, segment->address, segment->size);
  return TRUE;
}

/* The first chunk of the region in which @address lies, or NULL. */
static GememNeighbour *
first_of (const GememBfc *self, guint64 address)
{
  guint low = 0, high = self->regions->len;

  while (low < high)
    {
      const guint middle = low + (high - low) / 2;

      if (gemem_bfc_region (self, middle)->address <= address)
        low = middle + 1;
      else
        high = middle;
    }
  return low > 0 ? gemem_bfc_region (self, low - 1)->first : NULL;
}

/* Cuts @size bytes at @address out of the free chunk @chunk, which contains them. */
static GememNeighbour *
cut_out (GememBfc *self, GememNeighbour *chunk, guint64 address, guint64 size)
{
  GememNeighbour *rest;

  gemem_tree_remove (&self->free, &chunk->node);
  if (address > chunk->node.address)
    {
      rest = gemem_slab_alloc (&self->chunk_slab);
      gemem_neighbours_split (chunk, rest, chunk->node.address + chunk->node.size - address);
      gemem_bfc_insert_free (self, chunk);
      chunk = rest;
    }
  chunk->free = FALSE;
  if (chunk->node.size > size)
    {
      rest = gemem_slab_alloc (&self->chunk_slab);
      gemem_neighbours_split (chunk, rest, chunk->node.size - size);
      gemem_bfc_insert_free (self, rest);
    }
  return chunk;
}

gboolean
gemem_bfc_adopt_block (GememAllocator *allocator, const GememAdopt *adopt, GememBlock *block)
{
  GememBfc *self = (GememBfc *) allocator;
  const guint64 size = adopt->size != 0 ? adopt->size
                                        : gemem_align_up (adopt->requested, BFC_QUANTUM);
  GememNeighbour *chunk = first_of (self, adopt->address);

  /* blocks come in the order of their addresses */
  if (chunk != NULL && self->adopted != NULL && self->adopted->node.address >= chunk->node.address
      && self->adopted->node.address < adopt->address)
    chunk = self->adopted;
  while (chunk != NULL && chunk->node.address + chunk->node.size <= adopt->address)
    chunk = chunk->next;
  if (chunk == NULL || !chunk->free || chunk->node.address > adopt->address
      || chunk->node.size - (adopt->address - chunk->node.address) < size)
    return FALSE;
  self->adopted = cut_out (self, chunk, adopt->address, size);
  gemem_bfc_hand_over (self, self->adopted, block);
  return TRUE;
}

void
gemem_bfc_adopt_done (GememAllocator *allocator)
{
  ((GememBfc *) allocator)->adopted = NULL;
}

static gboolean
broken (GError **error, guint64 address, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "BFC: chunk 0x%" G_GINT64_MODIFIER "x: %s", address, what);
  return FALSE;
}

static gboolean
check_region (const GememBfcRegion *region, gboolean stamped, guint64 *free_chunks, guint64 *live,
              GError **error)
{
  const GememNeighbour *previous = NULL;
  guint64 end = region->address;

  for (const GememNeighbour *chunk = region->first; chunk != NULL;
       previous = chunk, chunk = chunk->next)
    {
      if (chunk->node.address != end || chunk->previous != previous || chunk->node.size == 0)
        return broken (error, chunk->node.address, "does not follow its neighbour");
      if (!stamped && chunk->free && previous != NULL && previous->free)
        return broken (error, chunk->node.address, "is free beside a free chunk");
      if (previous != NULL && previous->node.group > chunk->node.group)
        return broken (error, chunk->node.address, "is of a lower part than its neighbour");
      if (chunk->node.group == BFC_GAP && !chunk->free)
        return broken (error, chunk->node.address, "is in use and of neither end");
      *free_chunks += chunk->free;
      *live += chunk->free ? 0 : chunk->node.size;
      end += chunk->node.size;
    }
  return end == region->address + region->size
         || broken (error, region->address, "the chunks do not fill the region");
}

gboolean
gemem_bfc_check (GememAllocator *allocator, GError **error)
{
  const GememBfc *self = (const GememBfc *) allocator;
  guint64 free_chunks = 0, live = 0, pool = 0, granted = 0;

  for (guint i = 0; i < self->regions->len; i++)
    {
      if (!check_region (gemem_bfc_region (self, i), self->stamped, &free_chunks, &live, error))
        return FALSE;
      pool += gemem_bfc_region (self, i)->size;
    }
  for (guint i = 0; i < self->grants->len; i++)
    granted += grant_at (self, i)->size;
  if (!gemem_tree_check (&self->free) || self->free.count != free_chunks)
    return broken (error, 0, "the free chunks and the tree differ");
  return (pool == self->pool && granted == pool && live == self->live && pool <= self->limit)
         || broken (error, 0, "regions or live bytes were miscounted");
}

void
gemem_bfc_destroy (GememAllocator *allocator)
{
  GememBfc *self = (GememBfc *) allocator;

  for (guint i = 0; i < self->grants->len; i++)
    gemem_device_free (allocator->device, grant_at (self, i)->address, grant_at (self, i)->size);
  gemem_tree_clear (&self->free);
  gemem_slab_clear (&self->chunk_slab);
  g_array_unref (self->regions);
  g_array_unref (self->grants);
  g_free (self);
}

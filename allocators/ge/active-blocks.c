/* active-blocks.c - see active-blocks.h; the section numbers are those of
 * ge-runtime.md. */
#include "config.h"

#include <string.h>

#include "allocators/ge/active-blocks.h"
#include "planners/ge/library.h"
#include "traces/trace.h"

#define ROUNDING (2 * GEMEM_MIB) /* of plain blocks that are larger */

#define BLOCK(active, i) (&g_array_index ((active)->blocks, GeActiveBlock, i))
#define SEGMENT(active, i) (&g_array_index ((active)->segments, GeActiveSegment, i))

void
gemem_ge_active_init (GeActive *active, GememDevice *device, GeSessionRange *range)
{
  *active = (GeActive){ .device = device, .range = range };
  active->blocks = g_array_new (FALSE, FALSE, sizeof (GeActiveBlock));
  active->segments = g_array_new (FALSE, FALSE, sizeof (GeActiveSegment));
  active->active = g_array_new (FALSE, FALSE, sizeof (GeActivePiece));
  active->leaked = g_array_new (FALSE, FALSE, sizeof (GeActiveBlock));
}

/* With a range that the device supports, it alone is freed: plain blocks are forgotten. */
static void
free_blocks (GeActive *active)
{
  const gboolean ranged = active->range != NULL && !active->range->unsupported;

  for (guint i = 0; i < active->blocks->len; i++)
    {
      const GeActiveBlock *block = BLOCK (active, i);

      if (block->plain && ranged)
        g_array_append_vals (active->leaked, block, 1);
      else if (block->plain)
        gemem_device_free (active->device, block->address, block->total);
    }
  g_array_set_size (active->blocks, 0);
  if (ranged)
    gemem_ge_session_reset (active->range);
  active->peak = active->max_address = 0;
}

void
gemem_ge_active_clear (GeActive *active)
{
  free_blocks (active);
  for (guint i = 0; i < active->leaked->len; i++)
    {
      const GeActiveBlock *block = &g_array_index (active->leaked, GeActiveBlock, i);

      gemem_device_free (active->device, block->address, block->total);
    }
  g_array_unref (active->leaked);
  g_array_unref (active->blocks);
  g_array_unref (active->segments);
  g_array_unref (active->active);
}

void
gemem_ge_active_unload (GeActive *active)
{
  gemem_device_lock (active->device);
  if (active->load_count > 0)
    active->load_count--;
  if (active->load_count == 0)
    free_blocks (active);
  gemem_device_unlock (active->device);
}

guint64
gemem_ge_active_plain (const GeActive *active)
{
  guint64 sum = 0;

  for (guint i = 0; i < active->blocks->len; i++)
    sum += BLOCK (active, i)->plain ? BLOCK (active, i)->total : 0;
  return sum;
}

/* ---- 3.3 A: into the existing blocks */

static gboolean
is_larger (gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer data)
{
  return ((const GeActiveSegment *) a)->size > ((const GeActiveSegment *) b)->size;
}

static gboolean
is_earlier (gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer data)
{
  return ((const GeActiveSegment *) a)->offset < ((const GeActiveSegment *) b)->offset;
}

static gboolean
is_larger_block (gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer data)
{
  return ((const GeActiveBlock *) a)->total > ((const GeActiveBlock *) b)->total;
}

/* Puts the elements of @array into the order that std::sort of libstdc++ gives them: of equal ones
 * it keeps the order only up to 16 elements. */
static void
sort (GArray *array, GeLess before)
{
  const gsize size = g_array_get_element_size (array);
  g_autofree gpointer *order = g_new (gpointer, array->len);
  g_autofree char *copy = g_memdup2 (array->data, array->len * size);

  for (guint i = 0; i < array->len; i++)
    order[i] = copy + i * size;
  gemem_ge_std_sort (order, array->len, before, NULL);
  for (guint i = 0; i < array->len; i++)
    memcpy (array->data + i * size, order[i], size);
}

/* The second sort begins with the order of the first: of equal offsets the larger comes first. */
static void
place (GeActive *active)
{
  sort (active->segments, is_larger);
  for (guint b = 0; b < active->blocks->len; b++)
    for (guint s = 0; s < active->segments->len; s++)
      {
        GeActiveBlock *block = BLOCK (active, b);
        GeActiveSegment *segment = SEGMENT (active, s);

        if (segment->address != 0 || segment->size > block->total - block->used)
          continue;
        segment->address = block->address + block->used;
        block->used += segment->size;
      }
  sort (active->segments, is_earlier);
}

/* ---- B: merge neighbours */

static gboolean
continues (const GeActiveSegment *before, const GeActiveSegment *segment)
{
  if (before->offset + before->size != segment->offset
      || (segment->flags & (GEMEM_GRAPH_SEGMENT_NO_ALLOC | GEMEM_GRAPH_SEGMENT_ZERO_COPY)) != 0)
    return FALSE;
  if (before->address == 0 || segment->address == 0)
    return before->address == segment->address;
  return before->address + before->size == segment->address;
}

static void
merge (GeActive *active)
{
  guint kept = 0;

  for (guint s = 1; s < active->segments->len; s++)
    if (continues (SEGMENT (active, kept), SEGMENT (active, s)))
      SEGMENT (active, kept)->size += SEGMENT (active, s)->size;
    else
      *SEGMENT (active, ++kept) = *SEGMENT (active, s);
  g_array_set_size (active->segments, kept + 1);
}

/* ---- C: new blocks */

static void
add_block (GeActive *active, const GeActiveBlock *block)
{
  g_array_append_vals (active->blocks, block, 1);
  sort (active->blocks, is_larger_block);
  active->max_address = MAX (active->max_address, block->address + block->total);
}

static gboolean
make_block (GeActive *active, GeActiveSegment *segment, guint64 stream)
{
  GeActiveBlock block = { .total = segment->size, .used = segment->size, .fresh = TRUE };

  if (active->range != NULL)
    block.address = gemem_ge_session_append (active->range, block.total);
  if (block.address == 0)
    {
      if (block.total > ROUNDING)
        block.total = gemem_round_up (block.total, ROUNDING); /* wraps for what no device has */
      block.plain = TRUE;
      /* the driver refuses 0 bytes */
      block.address = block.total >= segment->size && block.total > 0
                          ? gemem_device_malloc (active->device, block.total, stream)
                          : 0;
    }
  if (block.address == 0)
    return FALSE;
  segment->address = block.address;
  add_block (active, &block);
  return TRUE;
}

static gboolean
allocate_rest (GeActive *active, guint64 stream)
{
  for (guint s = 0; s < active->segments->len; s++)
    {
      GeActiveSegment *segment = SEGMENT (active, s);

      if (segment->address != 0)
        continue;
      if ((segment->flags & GEMEM_GRAPH_SEGMENT_NO_ALLOC) != 0)
        segment->address = active->max_address;
      else if (!make_block (active, segment, stream))
        return FALSE;
    }
  return TRUE;
}

/* ---- D: what the graph uses */

static void
unbind_pieces (GeActive *active, const GArray *pieces)
{
  for (guint i = 0; active->range != NULL && i < pieces->len; i++)
    {
      const GeActivePiece *piece = &g_array_index (pieces, GeActivePiece, i);

      if (!piece->plain)
        gemem_ge_session_unbind (active->range, piece->address, piece->used);
    }
}

static gboolean
bind_pieces (GeActive *active, const GArray *pieces)
{
  for (guint i = 0; active->range != NULL && i < pieces->len; i++)
    {
      const GeActivePiece *piece = &g_array_index (pieces, GeActivePiece, i);

      if (piece->plain || gemem_ge_session_bind (active->range, piece->address, piece->used))
        continue;
      unbind_pieces (active, pieces);
      return FALSE;
    }
  return TRUE;
}

gboolean
gemem_ge_active_bind (GeActive *active, const GArray *pieces)
{
  gboolean bound;

  gemem_device_lock (active->device);
  bound = bind_pieces (active, pieces);
  gemem_device_unlock (active->device);
  return bound;
}

void
gemem_ge_active_unbind (GeActive *active, const GArray *pieces)
{
  gemem_device_lock (active->device);
  unbind_pieces (active, pieces);
  gemem_device_unlock (active->device);
}

/* Whether there is memory under @block, of the session's range where it is not plain. */
static gboolean
has_memory (const GeActive *active, const GeActiveBlock *block)
{
  return block->fresh || block->plain
         || gemem_ge_session_bind (active->range, block->address, block->used);
}

/* Lists the pieces in use, binds the pages of those that are not new, and sets them to 0.  A piece
 * whose pages are refused is in use all the same; what lies under it is not touched. */
static void
activate (GeActive *active, guint64 stream)
{
  guint64 total = 0;

  for (guint b = 0; b < active->blocks->len; b++)
    {
      const GeActiveBlock *block = BLOCK (active, b);
      const GeActivePiece piece = { block->address, block->used, block->plain };

      if (block->used == 0)
        continue;
      total += block->used;
      g_array_append_val (active->active, piece);
      if (has_memory (active, block))
        gemem_device_memset (active->device, block->address, 0, block->used, stream);
    }
  active->peak = MAX (active->peak, total);
}

static guint64
load (GeActive *active, const GememGraphSegment *segments, guint n, guint64 stream)
{
  active->load_count++;
  for (guint b = 0; b < active->blocks->len; b++)
    {
      BLOCK (active, b)->used = 0;
      BLOCK (active, b)->fresh = FALSE;
    }
  g_array_set_size (active->active, 0);
  g_array_set_size (active->segments, 0);
  for (guint s = 0; s < n; s++)
    {
      const GeActiveSegment segment = { segments[s].offset, segments[s].size, 0,
                                        segments[s].flags };
      g_array_append_val (active->segments, segment);
    }
  place (active);
  merge (active);
  if (allocate_rest (active, stream))
    {
      activate (active, stream);
      if (SEGMENT (active, 0)->address != 0)
        return SEGMENT (active, 0)->address;
    }
  gemem_ge_active_unload (active);
  return 0;
}

guint64
gemem_ge_active_load (GeActive *active, const GememGraphSegment *segments, guint n, guint64 stream)
{
  guint64 address;

  gemem_device_lock (active->device);
  address = load (active, segments, n, stream);
  gemem_device_unlock (active->device);
  return address;
}

/* offsets.c - see offsets.h. */
#include "config.h"

#include "base/units.h"
#include "planners/ggml/offsets.h"

#define NOTHING G_MININT64 /* grows more than any piece */

static GgmlPiece *
of_size (GememTreeNode *node)
{
  return GEMEM_TREE_ENTRY (node, GgmlPiece, node);
}

static GgmlChunk *
chunk_of (GgmlOffsets *self, const GgmlPiece *piece)
{
  return &self->chunks[piece->node.group];
}

void
gemem_ggml_offsets_init (GgmlOffsets *self, guint64 alignment, guint64 max_chunk)
{
  *self = (GgmlOffsets){ .alignment = alignment, .max_chunk = MIN (max_chunk, GGML_ENDLESS) };
  gemem_slab_init (&self->slab, sizeof (GgmlPiece));
}

void
gemem_ggml_offsets_clear (GgmlOffsets *self)
{
  gemem_tree_clear (&self->by_size);
  gemem_tree_clear (&self->by_offset);
  gemem_slab_clear (&self->slab);
}

/* ---- holes */

/* @hole, which is not the last of its chunk, enters the tree of sizes. */
static void
enter (GgmlOffsets *self, GgmlPiece *hole)
{
  hole->node.address = ~hole->offset;
  gemem_tree_insert (&self->by_size, &hole->node);
}

static void
attach (GgmlOffsets *self, GgmlPiece *hole)
{
  GgmlChunk *chunk = chunk_of (self, hole);

  hole->free = TRUE;
  self->too_many += ++chunk->holes > GGML_HOLES;
  if (chunk->bounded)
    {
      hole->place = (GememTreeNode){ .group = hole->node.group, .address = hole->offset };
      gemem_tree_insert (&self->by_offset, &hole->place);
    }
  if (chunk->last != NULL && hole->offset < chunk->last->offset)
    {
      enter (self, hole);
      return;
    }
  if (chunk->last != NULL)
    enter (self, chunk->last);
  chunk->last = hole;
}

/* The hole of @chunk with the highest offset, of those in the tree of sizes. */
static GgmlPiece *
highest (GgmlOffsets *self, guint64 group)
{
  GememTreeNode *node = gemem_tree_before (&self->by_offset, group + 1, 0, 0);

  return node != NULL && node->group == group ? GEMEM_TREE_ENTRY (node, GgmlPiece, place) : NULL;
}

/* @keeps_last: another hole takes its place as the last one. */
static void
detach (GgmlOffsets *self, GgmlPiece *hole, gboolean keeps_last)
{
  GgmlChunk *chunk = chunk_of (self, hole);

  hole->free = FALSE;
  chunk->holes--;
  if (chunk->bounded)
    gemem_tree_remove (&self->by_offset, &hole->place);
  if (chunk->last != hole)
    {
      gemem_tree_remove (&self->by_size, &hole->node);
      return;
    }
  chunk->last = keeps_last || !chunk->bounded ? NULL : highest (self, hole->node.group);
  if (chunk->last != NULL)
    gemem_tree_remove (&self->by_size, &chunk->last->node);
}

/* ---- allocating */

static GgmlPiece *
find_hole (const GgmlOffsets *self, guint64 size)
{
  for (guint32 c = self->n_chunks; c-- > 0;)
    {
      GememTreeNode *node = gemem_tree_fit (&self->by_size, c, size);

      if (node != NULL && node->group == c)
        return of_size (node);
    }
  return NULL;
}

static GgmlPiece *
find_end (const GgmlOffsets *self, guint64 size)
{
  GgmlPiece *best = NULL;
  gint64 least = NOTHING;

  for (guint32 c = 0; c < self->n_chunks; c++)
    {
      GgmlPiece *last = self->chunks[c].last;
      gint64 rest;

      if (last == NULL || last->node.size < size)
        continue;
      rest = (gint64) self->chunks[c].high - (gint64) last->offset - (gint64) size;
      if (least < 0 ? rest > least : rest >= 0 && rest < least)
        {
          best = last;
          least = rest;
        }
    }
  return best;
}

static GgmlPiece *
new_chunk (GgmlOffsets *self, guint64 size)
{
  GgmlPiece *hole;
  GgmlChunk *chunk;

  if (self->n_chunks == GGML_CHUNKS)
    return NULL;
  hole = gemem_slab_alloc (&self->slab);
  chunk = &self->chunks[self->n_chunks];
  hole->node.group = self->n_chunks++;
  hole->node.size = self->n_chunks == GGML_CHUNKS ? GGML_ENDLESS : MAX (size, self->max_chunk);
  chunk->bounded = hole->node.size < GGML_ENDLESS;
  chunk->first = hole;
  attach (self, hole);
  return hole;
}

GgmlPiece *
gemem_ggml_offsets_alloc (GgmlOffsets *self, guint64 n)
{
  const guint64 size = gemem_align_up (MAX (n, 1), self->alignment);
  GgmlPiece *piece, *rest;
  GgmlChunk *chunk;

  if (n > GGML_ENDLESS / 2)
    return NULL;
  piece = find_hole (self, size);
  if (piece == NULL)
    piece = find_end (self, size);
  if (piece == NULL)
    piece = new_chunk (self, size);
  if (piece == NULL)
    return NULL;
  chunk = chunk_of (self, piece);
  detach (self, piece, piece->node.size > size);
  if (piece->node.size > size)
    {
      rest = gemem_slab_alloc (&self->slab);
      rest->node.group = piece->node.group;
      rest->node.size = piece->node.size - size;
      rest->offset = piece->offset + size;
      rest->previous = piece;
      rest->next = piece->next;
      if (rest->next != NULL)
        rest->next->previous = rest;
      piece->next = rest;
      piece->node.size = size;
      attach (self, rest);
    }
  chunk->high = MAX (chunk->high, piece->offset + size);
  piece->pending = FALSE;
  return piece;
}

/* ---- freeing */

/* @left takes over the bytes of its right neighbour; neither is in a tree. */
static void
absorb (GgmlOffsets *self, GgmlPiece *left)
{
  GgmlPiece *right = left->next;

  left->node.size += right->node.size;
  left->next = right->next;
  if (left->next != NULL)
    left->next->previous = left;
  gemem_slab_free (&self->slab, right);
}

void
gemem_ggml_offsets_free (GgmlOffsets *self, GgmlPiece *piece)
{
  if (piece->next != NULL && piece->next->free)
    {
      detach (self, piece->next, TRUE);
      absorb (self, piece);
    }
  if (piece->previous != NULL && piece->previous->free)
    {
      piece = piece->previous;
      detach (self, piece, TRUE);
      absorb (self, piece);
    }
  attach (self, piece);
}

/* ---- looking at it */

guint64
gemem_ggml_offsets_total (const GgmlOffsets *self)
{
  guint64 total = 0;

  for (guint32 c = 0; c < self->n_chunks; c++)
    total += self->chunks[c].high;
  return total;
}

gboolean
gemem_ggml_offsets_check (const GgmlOffsets *self)
{
  gboolean ok = gemem_tree_check (&self->by_size) && gemem_tree_check (&self->by_offset);
  guint64 holes = 0, lasts = 0;

  for (guint32 c = 0; ok && c < self->n_chunks; c++)
    {
      const GgmlChunk *chunk = &self->chunks[c];
      const GgmlPiece *before = NULL, *last = NULL;
      guint64 end = 0, n = 0;

      for (const GgmlPiece *piece = chunk->first; piece != NULL; piece = piece->next)
        {
          ok &= piece->offset == end && piece->node.group == c && piece->node.size > 0
                && piece->previous == before && !(before != NULL && before->free && piece->free);
          end += piece->node.size;
          n += piece->free;
          last = piece->free ? piece : last;
          before = piece;
        }
      ok &= n == chunk->holes && last == chunk->last;
      holes += n;
      lasts += last != NULL;
    }
  return ok && self->by_size.count == holes - lasts;
}

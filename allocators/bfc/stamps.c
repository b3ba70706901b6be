/* stamps.c - see stamps.h. */
#include "config.h"

#include "allocators/bfc/stamps.h"

static GememBfcStampedChunk *
stamped (GememNeighbour *chunk)
{
  return (GememBfcStampedChunk *) chunk;
}

void
gemem_bfc_stamps_init (GememBfcStamps *stamps)
{
  gemem_slab_init (&stamps->entry_slab, sizeof (GememBfcEntry));
  stamps->counter = stamps->frontier = 1;
}

void
gemem_bfc_stamps_clear (GememBfcStamps *stamps)
{
  gemem_slab_clear (&stamps->entry_slab);
}

/* Puts @entry before @later; NULL: at the end. */
static void
link_entry (GememBfcStamps *stamps, GememBfcEntry *entry, GememBfcEntry *later)
{
  entry->later = later;
  entry->earlier = later != NULL ? later->earlier : stamps->last;
  *(entry->earlier != NULL ? &entry->earlier->later : &stamps->first) = entry;
  *(later != NULL ? &later->earlier : &stamps->last) = entry;
}

static void
unlink_entry (GememBfcStamps *stamps, const GememBfcEntry *entry)
{
  *(entry->earlier != NULL ? &entry->earlier->later : &stamps->first) = entry->later;
  *(entry->later != NULL ? &entry->later->earlier : &stamps->last) = entry->earlier;
}

static void
add_entry (GememBfcStamps *stamps, GememBfcStampedChunk *chunk, GememBfcEntry *later)
{
  GememBfcEntry *entry = gemem_slab_alloc (&stamps->entry_slab);

  *entry = (GememBfcEntry){ .chunk = chunk, .same = chunk->entries };
  chunk->entries = entry;
  link_entry (stamps, entry, later);
}

void
gemem_bfc_stamp (GememBfc *self, GememNeighbour *chunk)
{
  GememBfcStamps *stamps = (GememBfcStamps *) self;

  stamped (chunk)->stamp = ++stamps->counter;
  add_entry (stamps, stamped (chunk), NULL);
  gemem_bfc_insert_free (self, chunk);
}

static void
drop_entry (GememBfcStamps *stamps, GememBfcEntry *entry)
{
  GememBfcEntry **link = &entry->chunk->entries;

  while (*link != entry)
    link = &(*link)->same;
  *link = entry->same;
  unlink_entry (stamps, entry);
  gemem_slab_free (&stamps->entry_slab, entry);
}

void
gemem_bfc_forget_stamp (GememBfc *self, GememNeighbour *chunk)
{
  GememBfcStamps *stamps = (GememBfcStamps *) self;

  while (stamped (chunk)->entries != NULL)
    drop_entry (stamps, stamped (chunk)->entries);
  if (stamps->taken == stamped (chunk))
    stamps->taken = NULL;
}

/* @left and its right neighbour, both free, become one. */
static void
merge (GememBfc *self, GememNeighbour *left)
{
  GememNeighbour *right = left->next;

  gemem_bfc_forget_stamp (self, right);
  gemem_tree_remove (&self->free, &left->node);
  gemem_tree_remove (&self->free, &right->node);
  stamped (left)->stamp = MAX (stamped (left)->stamp, stamped (right)->stamp);
  gemem_neighbours_merge (left, &self->chunk_slab);
  gemem_bfc_insert_free (self, left);
}

static gboolean
joins (GememNeighbour *chunk, gboolean forced)
{
  return chunk != NULL && chunk->free && (forced || stamped (chunk)->stamp == 0);
}

static GememNeighbour *
merge_around (GememBfc *self, GememNeighbour *chunk, gboolean forced)
{
  if (joins (chunk->next, forced))
    merge (self, chunk);
  if (joins (chunk->previous, forced))
    {
      chunk = chunk->previous;
      merge (self, chunk);
    }
  return chunk;
}

GememNeighbour *
gemem_bfc_merge_safe (GememBfc *self, GememNeighbour *chunk)
{
  return merge_around (self, chunk, FALSE);
}

/* Chunks whose entries are in the queue for the first time are stamped in its order, so what the
 * frontier has passed is at its begin, but for chunks that were freed again. */
void
gemem_bfc_merge_waiting (GememBfc *self)
{
  GememBfcStamps *stamps = (GememBfcStamps *) self;
  GememBfcEntry *next;

  if (stamps->taken != NULL && !stamps->taken->base.free)
    gemem_bfc_forget_stamp (self, &stamps->taken->base);
  stamps->taken = NULL;
  if (stamps->merged == stamps->frontier)
    return;
  stamps->merged = stamps->frontier;
  for (GememBfcEntry *entry = stamps->first; entry != NULL; entry = entry->later)
    if (entry->chunk->stamp < stamps->frontier)
      entry->chunk->stamp = 0;
  for (GememBfcEntry *entry = stamps->first; entry != NULL; entry = next)
    {
      GememBfcStampedChunk *chunk = entry->chunk;

      next = entry->later;
      if (chunk->stamp != 0)
        continue;
      drop_entry (stamps, entry);
      merge_around (self, &chunk->base, FALSE);
      next = stamps->first;
    }
}

/* Goes through the queue, and merges chunks although the frontier has not passed their stamps.  A
 * chunk that did not merge into the one below it leaves the queue, though it keeps its stamp.  One
 * that did stays in it, as the merged chunk, ahead of all that were not tried. */
gboolean
gemem_bfc_force (GememBfc *self, guint64 size)
{
  GememBfcStamps *stamps = (GememBfcStamps *) self;
  GememBfcEntry tried = { .chunk = NULL }; /* before it: what waits on */
  gboolean enough = FALSE;

  link_entry (stamps, &tried, stamps->first);
  while (!enough && tried.later != NULL)
    {
      GememNeighbour *first = &tried.later->chunk->base, *chunk;

      drop_entry (stamps, tried.later);
      chunk = merge_around (self, first, TRUE);
      if (chunk != first)
        add_entry (stamps, stamped (chunk), &tried);
      enough = chunk->node.size >= size;
    }
  unlink_entry (stamps, &tried);
  return enough;
}

GememNeighbour *
gemem_bfc_find_before (GememBfc *self, guint64 size, guint64 before)
{
  GememTreeNode *node = gemem_tree_fit (&self->free, 0, size);
  GememNeighbour *chunk, *rest;

  while (node != NULL && before != 0 && stamped (GEMEM_NEIGHBOUR_OF (node))->stamp > before)
    node = gemem_tree_next (node);
  if (node == NULL)
    return NULL;
  chunk = gemem_bfc_take (self, node, size, &rest);
  ((GememBfcStamps *) self)->taken = stamped (chunk);
  if (rest != NULL)
    {
      stamped (rest)->stamp = stamped (chunk)->stamp;
      stamped (rest)->entries = NULL;
    }
  return chunk;
}

guint64
gemem_bfc_largest_before (const GememBfc *self, guint64 before)
{
  GememTreeNode *node = gemem_tree_last (&self->free);

  while (node != NULL && stamped (GEMEM_NEIGHBOUR_OF (node))->stamp > before)
    node = gemem_tree_previous (node);
  return node != NULL ? node->size : 0;
}

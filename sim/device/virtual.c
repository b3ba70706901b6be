/* virtual.c - virtual memory of the simulated device: address ranges, physical pages, and mappings of pages into ranges.
 *
 * A page is counted in `held` while its owner has it or any mapping shows it (as the drivers count references); destroying a mapped page
 * gives its memory back with the last mapping.  A mapping lies inside one range, shows a part of one page, and overlaps no other.
 * unmap covers whole mappings, one or several that follow each other, and nothing between them: the drivers ask for that.
 * Addresses, offsets and sizes of pages and mappings are multiples of the granularity.
 *
 * Whatever breaks these rules is a bug of the caller (GEMEM_MISUSE), refused without effect; a device without virtual memory refuses
 * everything.  Cost: O(log ranges + log mappings) per call, unmap per mapping; no heap allocation per call.
 */
#include "config.h"

#include "sim/device/simulated.h"

typedef struct
{
  GememTreeNode node; /* by address */
  guint64       size, kept;
} Range;

typedef struct
{
  GememTreeNode node; /* by address */
  guint64       size;
  GememPage     page;
} Mapping;

typedef struct
{
  guint64 size, mappings;
  guint64 owned; /* not destroyed yet */
} Page;

void
gemem_virtual_init (GememSimulated *self)
{
  gemem_slab_init (&self->range_slab, sizeof (Range));
  gemem_slab_init (&self->mapping_slab, sizeof (Mapping));
  self->pages = gemem_idmap_new (sizeof (Page));
}

void
gemem_virtual_clear (GememSimulated *self)
{
  gemem_slab_clear (&self->range_slab);
  gemem_slab_clear (&self->mapping_slab);
  gemem_idmap_free (self->pages);
}

/* The last node that starts at or below @address, or NULL. */
static GememTreeNode *
at_or_below (const GememTree *tree, guint64 address)
{
  GememTreeNode *node = gemem_tree_lower_bound (tree, 0, 0, address);
  if (node != NULL && node->address == address)
    return node;
  return node != NULL ? gemem_tree_previous (node) : gemem_tree_last (tree);
}

static gboolean
is_granular (const GememSimulated *self, guint64 value)
{
  return (value & (self->params.granularity - 1)) == 0;
}

/* TRUE if a mapping shows any byte of [@address, @address + @size). */
static gboolean
is_mapped (const GememSimulated *self, guint64 address, guint64 size)
{
  const GememTreeNode *node = at_or_below (&self->mapping_tree, address + size - 1);
  return node != NULL && node->address + GEMEM_TREE_ENTRY (node, const Mapping, node)->size > address;
}

/* ---- ranges */

guint64
gemem_virtual_reserve (GememDevice *device, guint64 size, guint64 alignment)
{
  GememSimulated *self = (GememSimulated *) device;
  guint64 address, kept;
  Range *range;

  gemem_simulated_wait (self, GEMEM_CALL_RESERVE);
  if (!self->params.virtual_memory || size == 0)
    return 0;
  if ((alignment & (alignment - 1)) != 0)
    {
      GEMEM_MISUSE (self, "reserve with an alignment that is no power of two");
      return 0;
    }
  gemem_simulated_settle (self);
  address = gemem_region_take (&self->space, &self->ranges, size, alignment, &kept);
  if (address == 0)
    return 0;
  range = gemem_slab_alloc (&self->range_slab);
  range->node.address = address;
  range->size = size;
  range->kept = kept;
  gemem_tree_insert (&self->range_tree, &range->node);
  return address;
}

void
gemem_virtual_release (GememDevice *device, guint64 address, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  GememTreeNode *node = at_or_below (&self->range_tree, address);
  Range *range = node != NULL ? GEMEM_TREE_ENTRY (node, Range, node) : NULL;

  gemem_simulated_wait (self, GEMEM_CALL_RELEASE);
  if (range == NULL || range->node.address != address || range->size != size)
    GEMEM_MISUSE (self, "release of a range that is not reserved");
  else if (is_mapped (self, address, size))
    GEMEM_MISUSE (self, "release of a range that still has mappings");
  else
    {
      gemem_tree_remove (&self->range_tree, &range->node);
      if (range->kept != 0)
        gemem_space_give (&self->space, address, range->kept);
      gemem_slab_free (&self->range_slab, range);
    }
}

/* ---- pages */

GememPage
gemem_virtual_create_page (GememDevice *device, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  Page *page;

  gemem_simulated_wait (self, GEMEM_CALL_CREATE);
  if (!self->params.virtual_memory || size == 0)
    return 0;
  if (!is_granular (self, size))
    {
      GEMEM_MISUSE (self, "create of a page that is no multiple of the granularity");
      return 0;
    }
  if (size > self->limit - device->held)
    return 0;
  page = gemem_idmap_insert (self->pages, ++self->last_page, NULL);
  page->size = size;
  page->owned = TRUE;
  device->held += size;
  return self->last_page;
}

/* Gives the memory of @page back if nobody needs it any more. */
static void
drop_if_unused (GememSimulated *self, GememPage id, const Page *page)
{
  if (page->owned || page->mappings > 0)
    return;
  self->base.held -= page->size;
  gemem_idmap_remove (self->pages, id, NULL);
}

void
gemem_virtual_destroy_page (GememDevice *device, GememPage id, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  Page *page = gemem_idmap_lookup (self->pages, id);

  gemem_simulated_wait (self, GEMEM_CALL_DESTROY);
  if (page == NULL || !page->owned || page->size != size)
    {
      GEMEM_MISUSE (self, "destroy of a page that does not exist, or with another size");
      return;
    }
  page->owned = FALSE;
  drop_if_unused (self, id, page);
}

/* ---- mappings */

static gboolean
lies_in_a_range (const GememSimulated *self, guint64 address, guint64 size)
{
  const GememTreeNode *node = at_or_below (&self->range_tree, address);
  guint64 offset, whole;

  if (node == NULL)
    return FALSE;
  offset = address - node->address;
  whole = GEMEM_TREE_ENTRY (node, const Range, node)->size;
  return offset < whole && whole - offset >= size;
}

gboolean
gemem_virtual_map (GememDevice *device, guint64 address, GememPage id, guint64 offset, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  Page *page = gemem_idmap_lookup (self->pages, id);
  Mapping *mapping;

  gemem_simulated_wait (self, GEMEM_CALL_MAP);
  if (!self->params.virtual_memory)
    return FALSE;
  if (size == 0 || !is_granular (self, address) || !is_granular (self, offset) || !is_granular (self, size))
    GEMEM_MISUSE (self, "map of nothing, or not in multiples of the granularity");
  else if (page == NULL || !page->owned || offset > page->size || page->size - offset < size)
    GEMEM_MISUSE (self, "map of a page that does not exist, or beyond its end");
  else if (!lies_in_a_range (self, address, size))
    GEMEM_MISUSE (self, "map outside of a reserved range");
  else if (is_mapped (self, address, size))
    GEMEM_MISUSE (self, "map over another mapping");
  else
    {
      mapping = gemem_slab_alloc (&self->mapping_slab);
      mapping->node.address = address;
      mapping->size = size;
      mapping->page = id;
      gemem_tree_insert (&self->mapping_tree, &mapping->node);
      page->mappings++;
      return TRUE;
    }
  return FALSE;
}

/* TRUE if [@address, @address + @size) is one or several whole mappings without a hole. */
static gboolean
is_whole_mappings (const GememSimulated *self, guint64 address, guint64 size)
{
  const GememTreeNode *node = gemem_tree_lower_bound (&self->mapping_tree, 0, 0, address);
  while (node != NULL && node->address == address)
    {
      guint64 mapped = GEMEM_TREE_ENTRY (node, const Mapping, node)->size;
      if (mapped >= size)
        return mapped == size;
      address += mapped;
      size -= mapped;
      node = gemem_tree_next (node);
    }
  return FALSE;
}

static void
remove_mapping (GememSimulated *self, Mapping *mapping)
{
  Page *page = gemem_idmap_lookup (self->pages, mapping->page);
  page->mappings--;
  drop_if_unused (self, mapping->page, page);
  gemem_tree_remove (&self->mapping_tree, &mapping->node);
  gemem_slab_free (&self->mapping_slab, mapping);
}

gboolean
gemem_virtual_unmap (GememDevice *device, guint64 address, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;

  gemem_simulated_wait (self, GEMEM_CALL_UNMAP);
  if (!self->params.virtual_memory)
    return FALSE;
  if (!is_whole_mappings (self, address, size))
    {
      GEMEM_MISUSE (self, "unmap of what is not mapped, or of a part of a mapping");
      return FALSE;
    }
  while (size > 0)
    {
      GememTreeNode *node = gemem_tree_lower_bound (&self->mapping_tree, 0, 0, address);
      Mapping *mapping = GEMEM_TREE_ENTRY (node, Mapping, node);
      address += mapping->size;
      size -= mapping->size;
      remove_mapping (self, mapping);
    }
  return TRUE;
}

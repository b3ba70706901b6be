/* mappings.c - see mappings.h. */
#include "config.h"

#include "devices/mappings.h"

void
gemem_mappings_init (GememMappings *self, guint64 granularity)
{
  self->granularity = granularity;
  gemem_slab_init (&self->range_slab, sizeof (GememRange));
  gemem_slab_init (&self->mapping_slab, sizeof (GememMapping));
  self->pages = gemem_idmap_new (sizeof (GememPhysical));
}

void
gemem_mappings_clear (GememMappings *self)
{
  gemem_tree_clear (&self->ranges);
  gemem_tree_clear (&self->mappings);
  gemem_slab_clear (&self->range_slab);
  gemem_slab_clear (&self->mapping_slab);
  gemem_idmap_free (self->pages);
}

static gboolean
is_granular (const GememMappings *self, guint64 value)
{
  return (value & (self->granularity - 1)) == 0;
}

gboolean
gemem_mappings_is_mapped (const GememMappings *self, guint64 address, guint64 size)
{
  const GememTreeNode *node = gemem_tree_at_or_before (&self->mappings, 0, 0, address + size - 1);
  return node != NULL
         && node->address + GEMEM_TREE_ENTRY (node, const GememMapping, node)->size > address;
}

/* ---- ranges */

GememRange *
gemem_mappings_range_around (const GememMappings *self, guint64 address)
{
  GememTreeNode *node = gemem_tree_at_or_before (&self->ranges, 0, 0, address);
  GememRange *range = node != NULL ? GEMEM_TREE_ENTRY (node, GememRange, node) : NULL;

  return range != NULL && address - node->address < range->own ? range : NULL;
}

guint64
gemem_mappings_next_range (const GememMappings *self, guint64 address)
{
  const GememTreeNode *node = gemem_tree_lower_bound (&self->ranges, 0, 0, address + 1);

  return node != NULL ? node->address : G_MAXUINT64;
}

gboolean
gemem_mappings_may_reserve (guint64 alignment, const char **fault)
{
  *fault = "reserve with an alignment that is no power of two";
  return (alignment & (alignment - 1)) == 0;
}

void
gemem_mappings_reserved (GememMappings *self, guint64 address, guint64 size, guint64 own,
                         guint64 kept)
{
  GememRange *range = gemem_slab_alloc (&self->range_slab);
  range->node.address = address;
  range->size = size;
  range->own = own;
  range->kept = kept;
  gemem_tree_insert (&self->ranges, &range->node);
}

GememRange *
gemem_mappings_may_release (const GememMappings *self, guint64 address, guint64 size,
                            const char **fault)
{
  GememTreeNode *node = gemem_tree_at_or_before (&self->ranges, 0, 0, address);
  GememRange *range = node != NULL ? GEMEM_TREE_ENTRY (node, GememRange, node) : NULL;

  if (range == NULL || range->node.address != address || range->size != size)
    *fault = "release of a range that is not reserved";
  else if (gemem_mappings_is_mapped (self, address, range->own))
    *fault = "release of a range that still has mappings";
  else
    return range;
  return NULL;
}

void
gemem_mappings_released (GememMappings *self, GememRange *range)
{
  gemem_tree_remove (&self->ranges, &range->node);
  gemem_slab_free (&self->range_slab, range);
}

/* ---- pages */

gboolean
gemem_mappings_may_create (const GememMappings *self, guint64 size, const char **fault)
{
  *fault = "create of a page that is no multiple of the granularity";
  return is_granular (self, size);
}

GememPage
gemem_mappings_created (GememMappings *self, guint64 size, guint64 handle)
{
  GememPhysical *page = gemem_idmap_insert (self->pages, ++self->last_page, NULL);
  page->size = size;
  page->owned = TRUE;
  page->handle = handle;
  return self->last_page;
}

/* Removes @page if it is neither owned nor mapped, and returns how many bytes it had. */
static guint64
drop_if_unused (GememMappings *self, GememPage id, const GememPhysical *page)
{
  guint64 size = page->size;

  if (page->owned || page->mappings > 0)
    return 0;
  gemem_idmap_remove (self->pages, id, NULL);
  return size;
}

GememPhysical *
gemem_mappings_may_destroy (const GememMappings *self, GememPage id, guint64 size,
                            const char **fault)
{
  GememPhysical *page = gemem_idmap_lookup (self->pages, id);

  *fault = "destroy of a page that does not exist, or with another size";
  return page != NULL && page->owned && page->size == size ? page : NULL;
}

guint64
gemem_mappings_destroyed (GememMappings *self, GememPage id)
{
  GememPhysical *page = gemem_idmap_lookup (self->pages, id);
  page->owned = FALSE;
  return drop_if_unused (self, id, page);
}

/* ---- mappings */

static gboolean
lies_in_a_range (const GememMappings *self, guint64 address, guint64 size)
{
  const GememTreeNode *node = gemem_tree_at_or_before (&self->ranges, 0, 0, address);
  guint64 offset, whole;

  if (node == NULL)
    return FALSE;
  offset = address - node->address;
  whole = GEMEM_TREE_ENTRY (node, const GememRange, node)->size;
  return offset < whole && whole - offset >= size;
}

GememPhysical *
gemem_mappings_may_map (const GememMappings *self, guint64 address, GememPage id, guint64 offset,
                        guint64 size, const char **fault)
{
  GememPhysical *page = gemem_idmap_lookup (self->pages, id);

  if (size == 0 || !is_granular (self, address) || !is_granular (self, offset)
      || !is_granular (self, size))
    *fault = "map of nothing, or not in multiples of the granularity";
  else if (page == NULL || !page->owned)
    *fault = "map of a page that does not exist";
  else if (offset != 0 || size != page->size)
    *fault = "map of a part of a page, or of more than it has";
  else if (!lies_in_a_range (self, address, size))
    *fault = "map outside of a reserved range";
  else if (gemem_mappings_is_mapped (self, address, size))
    *fault = "map over another mapping";
  else
    return page;
  return NULL;
}

void
gemem_mappings_mapped (GememMappings *self, guint64 address, GememPage id, guint64 size)
{
  GememPhysical *page = gemem_idmap_lookup (self->pages, id);
  GememMapping *mapping = gemem_slab_alloc (&self->mapping_slab);

  mapping->node.address = address;
  mapping->size = size;
  mapping->page = id;
  gemem_tree_insert (&self->mappings, &mapping->node);
  page->mappings++;
}

GememMapping *
gemem_mappings_may_unmap (const GememMappings *self, guint64 address, guint64 size,
                          const char **fault)
{
  GememTreeNode *first = gemem_tree_lower_bound (&self->mappings, 0, 0, address);

  for (const GememTreeNode *node = first; node != NULL && node->address == address;
       node = gemem_tree_next (node))
    {
      guint64 mapped = GEMEM_TREE_ENTRY (node, const GememMapping, node)->size;
      if (mapped == size)
        return GEMEM_TREE_ENTRY (first, GememMapping, node);
      if (mapped > size)
        break;
      address += mapped;
      size -= mapped;
    }
  *fault = "unmap of what is not mapped, or of a part of a mapping";
  return NULL;
}

guint64
gemem_mappings_unmapped (GememMappings *self, GememMapping *mapping)
{
  GememPhysical *page = gemem_idmap_lookup (self->pages, mapping->page);
  guint64 gone;

  page->mappings--;
  gone = drop_if_unused (self, mapping->page, page);
  gemem_tree_remove (&self->mappings, &mapping->node);
  gemem_slab_free (&self->mapping_slab, mapping);
  return gone;
}

guint64
gemem_mappings_live (const GememMappings *self, GememDeviceCall call)
{
  if (call == GEMEM_CALL_RESERVE || call == GEMEM_CALL_RELEASE)
    return self->ranges.count;
  if (call == GEMEM_CALL_CREATE || call == GEMEM_CALL_DESTROY)
    return gemem_idmap_count (self->pages);
  return self->mappings.count;
}

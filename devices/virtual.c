/* virtual.c - virtual memory of the simulated device: addresses from its space, pages under its
 * limit, the rest in mappings.h.
 *
 * A call that breaks a rule is refused without effect; without virtual memory every call is.
 */
#include "config.h"

#include "base/units.h"
#include "devices/simulated-private.h"

/* Takes [@address, @address + *@own) for a range of @size bytes.  A range is often as large as the
 * device's memory, so on a larger device than the recorded one those that begin where they were
 * recorded would overlap.  What the recording mapped does not: so a range ends where another one
 * begins, and a map beyond its end is refused if the other one maps there (which needs more memory
 * than the recorded device had). */
static gboolean
lay_out (GememSimulated *self, guint64 address, guint64 size, guint64 *own)
{
  GememRange *lower = gemem_mappings_range_around (&self->mappings, address);
  const guint64 taken = lower != NULL ? lower->node.address + lower->own : address,
                end = MIN (address + MIN (size, G_MAXUINT64 - address),
                           gemem_mappings_next_range (&self->mappings, address));

  if (lower != NULL
      && (lower->node.address == address
          || gemem_mappings_is_mapped (&self->mappings, address, taken - address)))
    return FALSE;
  if (taken < end && !gemem_space_take (&self->space, taken, end - taken))
    return FALSE;
  if (taken > end)
    gemem_space_give (&self->space, end, taken - end);
  if (lower != NULL)
    lower->own = lower->kept = address - lower->node.address;
  *own = end - address;
  self->shared_ranges |= lower != NULL || *own < size;
  return TRUE;
}

/* Where the policy places a range; *@kept: what returns to the space with it. */
static guint64
place_range (GememSimulated *self, guint64 size, guint64 alignment, guint64 *kept)
{
  if (self->arenas == NULL)
    return gemem_region_take (&self->space, &self->ranges, size, alignment, kept);
  *kept = 0;
  return gemem_arenas_reserve (self->arenas, size, alignment);
}

/* Where a range of @size bytes begins that is just as long as what was mapped last; 0: nowhere, or at
 * a step, where ranges are placed anyway: one that comes before it may never have been mapped. */
static guint64
whole_range (const GememSimulated *self, guint64 size)
{
  const GememRegion *ranges = &self->ranges;
  const guint64 whole = gemem_align_up (size, self->params.granularity),
                address = self->mapped_end - whole;

  if (self->mapped_end - self->mapped < whole)
    return 0;
  return (address - ranges->floor) % ranges->step == 0 ? 0 : address;
}

/* Where the recording has a range of @size bytes; 0: nowhere, or that is not free. */
static guint64
take_recorded (GememSimulated *self, guint64 size, guint64 alignment, guint64 *own)
{
  guint64 mapped = self->mapped;

  if (self->answers != NULL)
    return gemem_simulated_take_expected (self, &self->expected_ranges, size);
  if (mapped != 0 && self->mapped_whole)
    mapped = whole_range (self, size);
  self->mapped = 0;
  if (mapped != 0 && mapped == gemem_align_up (mapped, MAX (alignment, 1))
      && lay_out (self, mapped, size, own))
    return mapped;
  self->base.unexpected += mapped != 0;
  return 0;
}

guint64
gemem_virtual_reserve (GememDevice *device, guint64 size, guint64 alignment)
{
  GememSimulated *self = (GememSimulated *) device;
  guint64 address, kept, own = size;
  const char *fault;

  gemem_simulated_wait (self, GEMEM_CALL_RESERVE);
  if (!self->params.virtual_memory || size == 0)
    return 0;
  if (!gemem_mappings_may_reserve (alignment, &fault))
    {
      gemem_device_misuse (device, fault);
      return 0;
    }
  gemem_simulated_settle (self);
  address = take_recorded (self, size, alignment, &own);
  kept = own;
  if (address == 0)
    address = place_range (self, size, alignment, &kept);
  if (address != 0)
    gemem_mappings_reserved (&self->mappings, address, size, own, kept);
  return address;
}

void
gemem_virtual_release (GememDevice *device, guint64 address, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  const char *fault;
  GememRange *range;

  gemem_simulated_wait (self, GEMEM_CALL_RELEASE);
  range = gemem_mappings_may_release (&self->mappings, address, size, &fault);
  if (range == NULL)
    {
      gemem_device_misuse (device, fault);
      return;
    }
  if (self->arenas != NULL)
    gemem_arenas_release (self->arenas, address, size);
  else if (range->kept != 0)
    gemem_space_give (&self->space, address, range->kept);
  gemem_mappings_released (&self->mappings, range);
}

GememPage
gemem_virtual_create_page (GememDevice *device, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  const char *fault;

  gemem_simulated_wait (self, GEMEM_CALL_CREATE);
  if (!self->params.virtual_memory || size == 0)
    return 0;
  if (!gemem_mappings_may_create (&self->mappings, size, &fault))
    {
      gemem_device_misuse (device, fault);
      return 0;
    }
  if (!gemem_simulated_may_hold (self, size))
    return 0;
  device->held += size;
  gemem_simulated_note_asked (self);
  return gemem_mappings_created (&self->mappings, size, 0);
}

void
gemem_virtual_destroy_page (GememDevice *device, GememPage page, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  const char *fault;

  gemem_simulated_wait (self, GEMEM_CALL_DESTROY);
  if (gemem_mappings_may_destroy (&self->mappings, page, size, &fault) != NULL)
    device->held -= gemem_mappings_destroyed (&self->mappings, page);
  else
    gemem_device_misuse (device, fault);
}

gboolean
gemem_virtual_map (GememDevice *device, guint64 address, GememPage page, guint64 offset,
                   guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  const char *fault;

  gemem_simulated_wait (self, GEMEM_CALL_MAP);
  if (!self->params.virtual_memory)
    return FALSE;
  if (self->shared_ranges && gemem_mappings_is_mapped (&self->mappings, address, size))
    {
      device->unexpected++;
      return FALSE;
    }
  if (gemem_mappings_may_map (&self->mappings, address, page, offset, size, &fault) == NULL)
    {
      gemem_device_misuse (device, fault);
      return FALSE;
    }
  gemem_mappings_mapped (&self->mappings, address, page, size);
  return TRUE;
}

gboolean
gemem_virtual_unmap (GememDevice *device, guint64 address, guint64 size)
{
  GememSimulated *self = (GememSimulated *) device;
  const char *fault;
  GememMapping *mapping;

  gemem_simulated_wait (self, GEMEM_CALL_UNMAP);
  if (!self->params.virtual_memory)
    return FALSE;
  mapping = gemem_mappings_may_unmap (&self->mappings, address, size, &fault);
  if (mapping == NULL)
    {
      gemem_device_misuse (device, fault);
      return FALSE;
    }
  while (size > 0)
    {
      GememTreeNode *next = gemem_tree_next (&mapping->node);
      size -= mapping->size;
      device->held -= gemem_mappings_unmapped (&self->mappings, mapping);
      mapping = next != NULL ? GEMEM_TREE_ENTRY (next, GememMapping, node) : NULL;
    }
  return TRUE;
}

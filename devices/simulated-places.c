/* simulated-places.c - where the simulated device places allocations and ranges: regions of the
 * address space, and the addresses that a recording expects. */
#include "config.h"

#include "base/units.h"
#include "devices/simulated-private.h"

guint64
gemem_region_take (GememSpace *space, GememRegion *region, guint64 size, guint64 alignment,
                   guint64 *kept)
{
  guint64 extent, address;

  if (size >= GEMEM_SPACE_END)
    return 0;
  extent = gemem_align_up (size, region->step);
  address = gemem_space_find (space, region->floor, extent, MAX (region->step, alignment));
  if (address == 0)
    return 0;
  gemem_space_take (space, address, region->open_end ? size : extent);
  *kept = !region->reuse ? 0 : region->open_end ? size : extent;
  if (!region->reuse)
    region->floor = address + extent;
  return address;
}

void
gemem_simulated_settle (GememSimulated *self)
{
  if (self->window > self->allocations.floor)
    gemem_space_give (&self->space, self->allocations.floor,
                      self->window - self->allocations.floor);
  self->window = 0;
}

guint64
gemem_simulated_take_expected (GememSimulated *self, GememExpectations *expected, guint64 size)
{
  GememExpected *front = expected->first;
  guint64 address;

  if (front == NULL || front->size != size
      || !gemem_space_take (&self->space, front->address, size))
    {
      self->base.unexpected++;
      return 0;
    }
  address = front->address;
  expected->first = front->next;
  if (front->next == NULL)
    expected->last = NULL;
  gemem_slab_free (&self->expected_slab, front);
  return address;
}

void
gemem_simulated_keep_above (GememSimulated *self, guint64 address, guint64 size)
{
  if (address < GEMEM_SPACE_END && size < GEMEM_SPACE_END
      && address + size > self->allocations.floor)
    self->allocations.floor = gemem_align_up (address + size, self->allocations.step);
}

void
gemem_simulated_expect (GememSimulated *self, GememExpectations *expectations, guint64 address,
                        guint64 size)
{
  GememExpected *expected = gemem_slab_alloc (&self->expected_slab);

  expected->address = address;
  expected->size = size;
  if (expectations->last != NULL)
    expectations->last->next = expected;
  else
    expectations->first = expected;
  expectations->last = expected;
  gemem_simulated_keep_above (self, address, size);
}

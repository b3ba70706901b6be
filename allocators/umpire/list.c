/* list.c - `umpire-list`: Umpire's DynamicPoolList.
 *
 * Of free chunks of equal size the lowest address is taken.  A free coalesces only if more than one
 * block is whole and free, and the heuristic is not asked again about the block with which it does.
 *
 * Invariants and cost: pool.h.
 * Origin: peers.md section 1k.2.
 */
#include "config.h"

#include "allocators/umpire/pool.h"

extern const GememAllocatorClass gemem_umpire_list_class;

static void
list_free (GememAllocator *allocator, const GememBlock *block,
           G_GNUC_UNUSED gboolean completion_follows)
{
  UmpirePool *self = (UmpirePool *) allocator;
  guint64 bytes;

  gemem_umpire_put (self, block->handle);
  if (self->releasable.count < MAX (self->least_blocks, 2))
    return;
  bytes = gemem_umpire_suggestion (self, self->aligned == 0);
  if (bytes > 0)
    gemem_umpire_coalesce (self, bytes);
}

static GememAllocator *
list_create (gconstpointer given, GememDevice *device, GError **error)
{
  return gemem_umpire_create (&gemem_umpire_list_class, given, device, FALSE, error);
}

const GememAllocatorClass gemem_umpire_list_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "umpire-list",
  .summary = "Umpire's DynamicPoolList: best fit by address in blocks that coalesce",
  .origin = "Umpire of October 2024 (peers.md 1k.2)",
  .known_as = "DynamicPoolList|DynamicPool|DynamicSizePool",
  .alignment = 16,
  .params = gemem_umpire_params,
  .params_size = sizeof (UmpireParams),
  .create = list_create,
  .alloc = gemem_umpire_alloc,
  .free = list_free,
  .prefetch = gemem_neighbours_prefetch,
  .trim = gemem_umpire_trim,
  .largest_free = gemem_umpire_largest_free,
  .walk = gemem_umpire_walk,
  .check = gemem_umpire_check,
  .destroy = gemem_umpire_destroy,
  .report.stats = gemem_umpire_stats,
};

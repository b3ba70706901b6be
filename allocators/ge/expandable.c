/* expandable.c - `ge-expandable`: the dynamic memory of the Ascend Graph Engine under static memory
 * policies 3 and 4.
 *
 * What: the stack of ge-scalable, but each L1 pool serves from a reserved range of addresses and
 * puts 8 MiB physical pages under the blocks that are in use (expandable-pool.h).  Scattered idle
 * pages are mapped together at fresh addresses before new memory is taken.  The pages of all pools
 * come from one page pool, which keeps them (pages.h).  A device without virtual memory makes it an
 * ordinary ge-scalable.
 * Cost: O(1) plus the pages of the block per event.
 * Origin: ge-runtime.md sections 4 and 5.1 to 5.7.
 */
#include "config.h"

#include "allocators/ge/stack.h"

static const GememParam params[] = { GE_STACK_POOLS_ROW, GE_STACK_PARAM_ROWS, { NULL } };

extern const GememAllocatorClass gemem_ge_expandable_class;

static GememAllocator *
create (gconstpointer data, GememDevice *device, GError **error)
{
  GeStackParams p = *(const GeStackParams *) data;

  p.stack = GE_STACK_TWO;
  return gemem_ge_stack_create (&gemem_ge_expandable_class, &p, GE_LARGE_PAGE, device, error);
}

const GememAllocatorClass gemem_ge_expandable_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-expandable",
  .summary =
      "Ascend GE dynamic memory under policy 3: a virtual range per pool, backed with 8 MiB pages",
  .origin = "Ascend Graph Engine of 2026-08-21; ge-runtime.md 4, 5",
  .known_as = "CachingMemAllocator|ExpandableActiveMemoryAllocatorImp",
  .capabilities = GEMEM_CAP_STREAMS | GEMEM_CAP_VIRTUAL_MEMORY,
  GE_STACK_MEMBERS,
};

/* scalable.c - `ge-scalable`: the dynamic memory of the Ascend Graph Engine under static memory
 * policies 0 and 2.
 *
 * What: `stack=two` is what a running model sees (stack.h).  `stack=single` is one bare
 * ScalableAllocator per stream on the device, without ladder and minimum; `stack=rts` the bottom
 * pool alone, shared by all streams; `stack=fixed` a bare fixed-size pool (1.10), shared too.
 * Several models: the real system has an L1 pool per model executor and stream.
 * pools=per-pool-and-stream takes the pool numbers of a trace as its models.  It is not the
 * default, since the pools of other systems' recordings are no models of GE.
 * Blocks are whole 64 KiB pages; the block size reported is the rounded one.  A freed block is
 * reusable in its stream's pool at once, since the stream orders its users; other streams get the
 * memory only through the bottom pool, after a recycle.
 * Cost: O(1) per event; recycle O(idle spans).
 * Origin: ge-runtime.md sections 1 and 2.1.
 */
#include "config.h"

#include "allocators/ge/stack.h"

static const GememParam params[] = {
  { .name = "stack",
    .type = GEMEM_PARAM_CHOICE,
    .default_text = "two",
    .choices = "single|two|rts|fixed",
    .aliases = "mode",
    FIELD (stack),
    .help = "Pools. two: an L1 pool for each stream over the device's bottom pool. "
            "single: a bare pool for each stream on the device. rts: the bottom pool alone. "
            "fixed: one pool that begins with a range of fixed_size." },
  { .name = "fixed_size",
    .type = GEMEM_PARAM_SIZE,
    .flags = GEMEM_PARAM_MEMORY,
    .default_text = "0",
    FIELD (fixed_size),
    .help = "The range of stack=fixed, which no recycle gives back, but a recycle that finds it "
            "unused loses; 0: half of the threshold." },
  GE_STACK_POOLS_ROW,
  GE_STACK_PARAM_ROWS,
  { NULL }
};

extern const GememAllocatorClass gemem_ge_scalable_class;

static GememAllocator *
create (gconstpointer data, GememDevice *device, GError **error)
{
  return gemem_ge_stack_create (&gemem_ge_scalable_class, data, 0, device, error);
}

const GememAllocatorClass gemem_ge_scalable_class = {
  .abi = GEMEM_ALLOCATOR_ABI,
  .name = "ge-scalable",
  .aliases = "ge-runtime",
  .summary = "Ascend GE dynamic memory: 64 KiB spans, delayed split, L1 pool per stream over a "
             "bottom pool",
  .origin = "Ascend Graph Engine of 2026-08-21; ge-runtime.md 1, 2.1",
  .known_as = "ScalableAllocator|CachingMemAllocator|RtsCachingMemAllocator",
  .capabilities = GEMEM_CAP_STREAMS,
  .watch = { gemem_ge_stack_watch, gemem_ge_stack_is_alike },
  GE_STACK_MEMBERS,
};

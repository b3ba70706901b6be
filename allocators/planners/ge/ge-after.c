/* ge-after.c - what follows once the winner is known: segments, buffer pools, offsets that follow others (ge-static.md 5.6, 7.7, 8.1). */
#include "config.h"

#include "allocators/planners/ge/ge-block.h"

void
ge_after_segments (G_GNUC_UNUSED GeAssigner *a, G_GNUC_UNUSED GememPlan *plan)
{
}

void
ge_after_buffer_pools (G_GNUC_UNUSED GeAssigner *a)
{
}

/* A referencing output that has no block of its own lies where its input lies. */
void
ge_after_fix_offsets (G_GNUC_UNUSED GeAssigner *a)
{
}

/* trial.h - a past, served once more by an allocator: what it would have needed.
 *
 * Left out is what a past does not have: which other streams use a block.  What of private pools, and of emptied
 * caches, lies between two requests comes after the releases there.
 * Cost: that of the allocator, and 28 bytes a request.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/planned/past.h"

typedef struct
{
  guint32 start,
      from; /* requests: before `start` begin() is called, if it is not NULL; from `from` on it counts */
  void (*begin) (GememAllocator *allocator, gpointer data);
  gpointer data;
} GememTrial;

/* Bytes that the device of @allocator holds at most; what is live at the end stays so. */
guint64 gemem_trial_serve (GememAllocator *allocator, const GememPast *past,
                           const GememTrial *trial);

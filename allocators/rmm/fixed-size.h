/* fixed-size.h - a resource of blocks of one size, for the bins of the binning resource. */
#pragma once

#include "allocators/rmm/upstream.h"

extern const GememAllocatorClass gemem_rmm_fixed_size_class;

/* A `rmm-fixed-size` with blocks of @block_size bytes, @count of them per allocation of @device. */
GememAllocator *gemem_rmm_fixed_size_new (guint64 block_size, guint64 count, int version,
                                          GememDevice *device);

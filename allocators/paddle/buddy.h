/* buddy.h - PaddlePaddle's buddy as a part of something larger: one of several on a device.
 *
 * Origin: paddle.md sections 2 and 3.6.
 */
#pragma once

#include "allocators/paddle/buddy-params.h"

extern const GememAllocatorClass gemem_paddle_buddy_class;

/* A buddy whose blocks say @owner.  Errors: GEMEM_ERROR_USAGE. */
GememAllocator *gemem_paddle_buddy_new (const GememPaddleBuddyParams *params, guint64 owner,
                                        GememDevice *device, GError **error);
/* Of a block that a buddy allocated. */
guint64 gemem_paddle_buddy_owner (const GememBlock *block);

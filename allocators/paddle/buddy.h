/* buddy.h - PaddlePaddle's buddy as a part: one of several on a device (thread-local.c).
 *
 * Origin: paddle.md sections 2 and 3.6.
 */
#pragma once

#include "allocators/paddle/buddy-params.h"

extern const GememAllocatorClass gemem_paddle_buddy_class;

/* Creates a buddy whose blocks carry @owner.  Errors: GEMEM_ERROR_USAGE. */
GememAllocator *gemem_paddle_buddy_new (const GememPaddleBuddyParams *params, guint64 owner,
                                        GememDevice *device, GError **error);
/* The @owner of the buddy that allocated @block. */
guint64 gemem_paddle_buddy_owner (const GememBlock *block);

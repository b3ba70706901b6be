/* first-fit.h - address-ordered first fit: an allocator that always uses the lowest sufficient
 * hole.
 *
 * Invariants: holes are ascending, not empty, and never touch one another or the top.
 * Cost: O(holes) per operation.
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint64 begin, end;
} PaddleHole;

typedef struct
{
  GArray *holes; /* PaddleHole */
  guint64 top;   /* all bytes above are free */
} PaddleFirstFit;

void gemem_paddle_first_fit_init (PaddleFirstFit *fit);
void gemem_paddle_first_fit_clear (PaddleFirstFit *fit);
/* Allocates @bytes at the lowest multiple of @alignment (a power of two) where they are free;
 * returns the offset. */
guint64 gemem_paddle_first_fit_allocate (PaddleFirstFit *fit, guint64 bytes, guint64 alignment);
void gemem_paddle_first_fit_release (PaddleFirstFit *fit, guint64 offset, guint64 bytes);

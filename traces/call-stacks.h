/* call-stacks.h - call stacks of a recording: every frame and every stack is kept once and has a
 * number.
 *
 * A stack is a sequence of frames, innermost first, as the recorders write it; equal sequences have
 * the same number, so that comparing two stacks is comparing two integers.  Strings are the
 * caller's: a frame refers to them by number.
 *
 * Memory: 16 bytes a distinct frame, 4 bytes for each frame of a distinct stack, and their hash
 * tables; nothing is kept twice.
 */
#pragma once

#include "base/macros.h"

typedef struct
{
  guint32 name, file; /* numbers of strings */
  guint32 line;
  guint32 flags; /* the caller's; not part of what makes two frames equal */
} GememFrame;

typedef struct _GememCallStacks GememCallStacks;

GememCallStacks *gemem_call_stacks_new (void);
void gemem_call_stacks_free (GememCallStacks *stacks);

/* Number of @frame, from 1 on; 0: the table is full (2^28 - 2 frames).  O(1). */
guint32 gemem_call_stacks_frame (GememCallStacks *stacks, const GememFrame *frame);

/* Number, from 1 on, of stack @before (0: the empty one) with the @n frames of those numbers behind
 * it; number 0 among them is left out.  0: the table is full, or nothing is in it.  O(frames of the
 * result). */
guint32 gemem_call_stacks_extend (GememCallStacks *stacks, guint32 before, const guint32 *frames,
                                  guint n);

/* The flags of all frames of a stack, or-ed; 0 for stack 0.  O(1). */
guint32 gemem_call_stacks_flags (const GememCallStacks *stacks, guint32 stack);

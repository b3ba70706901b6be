/* call-stacks.h - the call stacks of a recording: every distinct frame and stack is stored once,
 * under a number.
 *
 * A stack is a sequence of frames, innermost first, as recorders write it.  Equal sequences have
 * the same number, so that stacks compare as integers.  The caller keeps the strings; a frame
 * refers to them by number.
 *
 * Memory: 16 bytes per distinct frame, 4 bytes for each frame of a distinct stack, and the hash
 * tables.
 */
#pragma once

#include "base/macros.h"

typedef struct
{
  guint32 name, file; /* numbers of strings */
  guint32 line;
  guint32 flags; /* for the caller; not compared */
} GememFrame;

typedef struct _GememCallStacks GememCallStacks;

GememCallStacks *gemem_call_stacks_new (void);
void gemem_call_stacks_free (GememCallStacks *stacks);

/* Returns the number of @frame, from 1 on; 0: the table is full (2^28 - 2 frames).  O(1). */
guint32 gemem_call_stacks_frame (GememCallStacks *stacks, const GememFrame *frame);

/* Returns the number, from 1 on, of the stack that consists of stack @before (0: empty) and the @n
 * frames of the given numbers; frames with number 0 are omitted.  0: the table is full, or the
 * stack is empty.  O(frames of the result). */
guint32 gemem_call_stacks_extend (GememCallStacks *stacks, guint32 before, const guint32 *frames,
                                  guint n);

/* The bitwise or of the flags of all frames of a stack; 0 for stack 0.  O(1). */
guint32 gemem_call_stacks_flags (const GememCallStacks *stacks, guint32 stack);

/* call-stacks.h - the call stacks of a recording: every distinct frame and stack is stored once,
 * under a number.
 *
 * A stack is a sequence of frames, innermost first, as recorders write it.  Equal sequences have
 * the same number, so that stacks compare as integers.  The caller keeps the strings; a frame
 * refers to them by number.
 *
 * Limits: 2^28 - 2 frames and as many stacks; of a stack the 65535 innermost frames.
 * Memory: 16 bytes per distinct frame, 4 bytes for each frame of a distinct stack, and the hash
 * tables.
 */
#pragma once

#include "base/macros.h"

GEMEM_BEGIN_DECLS

#define GEMEM_MAX_STACK 65535 /* frames of one stack; deeper ones are omitted */

/* A place in a program.  Without a file: an operator of a framework, or what else a recording
 * reports around an allocation. */
typedef struct
{
  guint32 name, file; /* numbers of strings; 0: none */
  guint32 line;       /* 0: unknown */
  guint32 flags;      /* for the caller; not compared */
} GememFrame;

typedef struct _GememCallStacks GememCallStacks;

/* An empty table; gemem_call_stacks_free(). */
GememCallStacks *gemem_call_stacks_new (void);
/* Takes one more reference; gemem_call_stacks_free() drops one.  Not for several threads. */
GememCallStacks *gemem_call_stacks_ref (GememCallStacks *stacks);
void gemem_call_stacks_free (GememCallStacks *stacks); /* may be NULL */

/* Numbers of distinct frames and stacks: the highest numbers in use. */
guint32 gemem_call_stacks_frames (const GememCallStacks *stacks);
guint32 gemem_call_stacks_count (const GememCallStacks *stacks);

/* Returns the number of @frame, from 1 on; 0: the table is full (2^28 - 2 frames).  O(1). */
guint32 gemem_call_stacks_frame (GememCallStacks *stacks, const GememFrame *frame);

/* Returns the number, from 1 on, of the stack that consists of stack @before (0: empty) and the @n
 * frames of the given numbers; frames with number 0 are omitted.  0: the table is full, or the
 * stack is empty.  O(frames of the result). */
guint32 gemem_call_stacks_extend (GememCallStacks *stacks, guint32 before, const guint32 *frames,
                                  guint n);

/* Frame number @frame; valid until a frame is added.  O(1). */
const GememFrame *gemem_call_stacks_get_frame (const GememCallStacks *stacks, guint32 frame);
/* The frame numbers of @stack, innermost first, and their count in *@n (stack 0: none); valid until
 * a stack is added.  O(1). */
const guint32 *gemem_call_stacks_get (const GememCallStacks *stacks, guint32 stack, guint *n);

/* Replaces the string numbers of all frames by rename(@data, number, whether it is the file).
 * Frames keep their numbers, even if they become equal.  O(frames). */
typedef guint32 (*GememRenameString) (gpointer data, guint32 string, gboolean file);
void gemem_call_stacks_rename (GememCallStacks *stacks, GememRenameString rename, gpointer data);

/* The bitwise or of the flags of all frames of a stack; 0 for stack 0.  O(1). */
guint32 gemem_call_stacks_flags (const GememCallStacks *stacks, guint32 stack);

GEMEM_END_DECLS

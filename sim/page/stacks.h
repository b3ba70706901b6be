/* stacks.h - the call stacks that a page shows, as a tree: most share their outer frames.
 *
 * Why: a hundred thousand stacks of fifty frames are most of a recording; what they share stands once.
 *
 * Invariants: nodes are numbered from 1 in the order in which they were asked for, parents first; 0 is no
 * stack.  Of a stack with frames of Python only those and operators count, as for `info --by=stack`.
 * Texts are cut at GEMEM_PAGE_TEXT characters, and show what would turn the direction of writing.
 */
#pragma once

#include "traces/trace.h"

#define GEMEM_PAGE_TEXT 240

typedef struct _GememPageStacks GememPageStacks;

/* @info must outlive it.  gemem_page_stacks_free(). */
GememPageStacks *gemem_page_stacks_new (const GememTraceInfo *info);
void gemem_page_stacks_free (GememPageStacks *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememPageStacks, gemem_page_stacks_free)

/* The node of the innermost frame of @stack of the trace.  O(frames). */
guint32 gemem_page_stacks_node (GememPageStacks *self, guint32 stack);
/* Appends an object: "parent" and "frame", columns by node; "frames", texts. */
void gemem_page_stacks_append (GString *out, const GememPageStacks *self);

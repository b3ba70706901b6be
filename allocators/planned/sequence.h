/* sequence.h - where in a known sequence of requests a program is: what it asks for next is mostly
 * what comes next.
 *
 * The sequence is a beginning, once, and a step, again and again.  A request that was added is passed
 * over, one that was replaced is skipped, and after four requests in a row that stand together
 * further on, or at the beginning of the next step, the program is there.
 *
 * Invariants: the beginning is never gone back to.  Cost: O(1) amortised a request that is the next,
 * O(log n) one that is not; what is skipped is paid for by requests, so that skipping is linear in
 * these.
 */
#pragma once

#include "allocators/planned/past.h"

typedef struct _GememSequence GememSequence;

/* A sequence of @n requests, of which those from @step on, one at least, are the step. */
GememSequence *gemem_sequence_new (guint32 n, guint32 step);
/* @sequence may be NULL. */
void gemem_sequence_free (GememSequence *sequence);
/* Request @position is for @size bytes on @stream. */
void gemem_sequence_set (GememSequence *sequence, guint32 position, guint64 size, guint64 stream);
/* Every request is set. */
void gemem_sequence_seal (GememSequence *sequence);
/* As if nothing had been followed. */
void gemem_sequence_rewind (GememSequence *sequence);
/* The position of the program's next request, GEMEM_NEVER: none.  A request of less than the
 * position's size has it too, if at most half of that is too much. */
guint32 gemem_sequence_follow (GememSequence *sequence, guint64 size, guint64 stream);

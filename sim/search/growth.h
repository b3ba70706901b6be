/* growth.h - what a program keeps of every step: memory that grows until the device is full.
 *
 * Why: "it grows every iteration until it dies" is the commonest question about a full device, and no setting of an
 * allocator is its answer.
 *
 * A line grows if each of at least four whole steps, up to the last, made blocks there that are in use at the end, and
 * of its blocks none that lived longer than two steps was ever freed.  So gradients, the state of an optimizer and
 * caches that are filled once do not grow, nor does what a cache, a window or an accumulation over micro-batches frees; a step that is cut short by the end, or by a refused request, does not count.  Four: what is made in the first
 * step or two (state, workspaces) and a batch or two that are held ahead never make as many.
 *
 * A step is what the recording marks as one, or what repeats (allocators/planned/steps.h).  But so do the layers of a
 * model: what repeats is taken for a step only if a function of the program comes back in it to one of its lines, calls
 * the backward pass, an optimizer or a module of modules in it, and is itself called by none of them; or if it repeats
 * more often than the layers of all models in an accumulation.
 *
 * Invariants: nothing is said that the blocks of the recording do not show; "leak" is no word of it, as nobody knows
 * what the program would have freed later.
 * Cost: O(events) time, about 60 bytes a request while it looks.
 */
#pragma once

#include "base/macros.h"
#include "traces/held.h"

GEMEM_BEGIN_DECLS

#define GEMEM_GROWTH_STEPS 4 /* that each keep something, at least */
#define GEMEM_GROWTH_MICRO \
  16 /* micro-batches before a backward pass, at most, in common programs */
#define GEMEM_GROWTH_LAYERS 256 /* of a model, at most */

/* Up to the end of a step. */
typedef struct
{
  guint64 seq;           /* of the first event after it */
  guint64 bytes, blocks; /* kept by it and those before */
} GememGrowthStep;

typedef struct
{
  GArray *steps;         /* GememGrowthStep, those that keep something */
  guint64 bytes, blocks; /* kept by all of them */
  guint64 step_bytes;    /* kept by each, on average; as blocks, where their sizes are recorded */
  char *by;         /* the line that made most of it, "train.py:31 step"; NULL: it is not known */
  guint64 by_bytes; /* of `bytes` */
  char *from;       /* the line of the loop that led there; NULL: the same, or not known */
} GememGrowth;

/* NULL: none is proven on @device (an ordinal of the trace).  gemem_growth_free(). */
GememGrowth *gemem_growth_find (GememHeld *held, int device);
void gemem_growth_free (GememGrowth *growth); /* may be NULL */

/* What the steps that ended before event @seq keep; *@steps: their number. */
guint64 gemem_growth_until (const GememGrowth *growth, guint64 seq, guint *steps);

GEMEM_END_DECLS

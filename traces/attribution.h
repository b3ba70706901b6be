/* attribution.h - the line of the program that blocks belong to whose own call stack has none: those of
 * the backward pass, which runs in a thread without Python, and of packages and generated code.
 *
 * Why: "unknown", or a line of a package, sends nobody to the place in their program.  The line that
 * the program had last is known, and is told as such: "after train.py:38 step".
 *
 * Invariants: nothing is attributed to what came later; blocks from before the recording began neither
 * get a line so nor give one to others.  One attributor for each device, in the order of events.
 * Cost: O(1) for each event, and O(frames) once for each stack.
 */
#pragma once

#include "base/macros.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  guint32 stack;   /* of the event, or the last one before it; 0: none */
  guint32 program; /* the last one before with a line of the program; 0: `stack` has one, or none */
  gboolean after;  /* the event itself has no stack */
} GememAttribution;

typedef struct
{
  const GememTraceInfo *info;
  guint32 known, program; /* the last stack, and the last one with a line of the program */
  GByteArray
      *lines; /* by stack: 1: it has a line of the program, 2: it has none, 0: not looked at */
} GememAttributor;

/* For events of the reader of @info.  gemem_attributor_clear(). */
void gemem_attributor_init (GememAttributor *self, const GememTraceInfo *info);
void gemem_attributor_clear (GememAttributor *self);
/* The next event of the device; returns what it belongs to. */
GememAttribution gemem_attributor_next (GememAttributor *self, const GememTraceEvent *event);

/* What blocks of one line share: equal for attributions that are named alike without their operator. */
guint64 gemem_attribution_key (const GememAttribution *attribution);

/* Appends "model.py:3 forward"; "after train.py:7 step" where the event has no stack; "backward
 * (MmBackward0), after train.py:7 step", "backward, after" that for what the engine of gradients itself asks for, and "site-packages/x/y.py:4 f, after train.py:7 step" where no
 * line of the program stands in it.  @whole: with operator and @tag (gemem_origin_append()).  Nothing where
 * nothing is known. */
void gemem_attribution_append (GString *out, const GememTraceInfo *info,
                               const GememAttribution *attribution, gboolean whole, guint32 tag);

GEMEM_END_DECLS

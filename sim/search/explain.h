/* explain.h - what a pasted out-of-memory message says: the cause as far as it tells, its sum checked,
 * the most that each setting could gain.
 *
 * Why: most reports begin with such a message.  A message is no recording: nothing here is proven by
 * a replay, and no figure is more exact than the message.
 *
 * Invariants: a verdict other than UNKNOWN is given only where the message decides: one request is
 * larger than the whole device, even as rounded.  Where its figures do not add up, no cause is named.
 * What could be gained is an upper bound.
 */
#pragma once

#include "base/macros.h"
#include "sim/search/advise.h"
#include "traces/messages/message.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_CAUSE_UNTOLD,     /* the message does not say enough */
  GEMEM_CAUSE_TOO_LARGE,  /* one request is larger than the device */
  GEMEM_CAUSE_LIMIT,      /* a limit of the allocator */
  GEMEM_CAUSE_TOO_LITTLE, /* what is in use and the request are more than the device */
  GEMEM_CAUSE_PIECES,     /* enough is idle, but not where the request may use it */
  GEMEM_CAUSE_POOLS,      /* private pools hold enough, in use or not */
  GEMEM_CAUSE_OUTSIDE,    /* what is held outside the allocator would suffice */
  GEMEM_CAUSE_FULL,       /* nearly all of the device is in use by the allocator's own program */
  GEMEM_CAUSE_FREE,       /* the device had enough free */
} GememCause;

typedef struct
{
  const GememGain *gain;
  guint64 at_most;      /* bytes */
  gboolean falls_short; /* even with all of it and what is free the request does not fit */
  char *paste;          /* the line to paste; NULL: gain->value says what to do */
} GememPossibleGain;

typedef struct
{
  char *name;           /* of the text, in texts */
  GememMessage message; /* with the figures that follow from others */
  GememAdviceVerdict verdict;
  GememCause cause;
  char *contradiction; /* why its figures do not add up; NULL: they do, as far as they are there */
  GArray *gains;       /* GememPossibleGain */
} GememExplanation;

/* NULL with the errors of gemem_message_read().  Closes nothing.  gemem_explanation_free(). */
GememExplanation *gemem_explain (GememInput *input, GError **error);
void gemem_explanation_free (GememExplanation *explanation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememExplanation, gemem_explanation_free)

/* TRUE if the memory that is free may not be enough, as it would be taken in steps (GememMessageKind.step). */
gboolean gemem_explanation_may_lack_step (const GememExplanation *explanation);

/* ---- explain-screen.c */

/* Appends about ten lines of at most 100 columns. */
void gemem_explanation_append (GString *out, const GememExplanation *explanation);
/* Appends an object with the same fields. */
void gemem_explanation_append_json (GString *out, const GememExplanation *explanation);

GEMEM_END_DECLS

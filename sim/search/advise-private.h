/* advise-private.h - what the parts of an advice share: advise.c replays, judge.c judges.
 *
 * Invariants: it belongs to sim/search alone.
 */
#pragma once

#include "sim/search/advise.h"
#include "sim/search/need.h"

GEMEM_BEGIN_DECLS

/* The options of each replay that answers @question; they point into it. */
GememNeedOptions gemem_advice_need_options (const GememAdviceQuestion *question);
/* What is asked of @spec; it points into @question and at @spec. */
GememNeed gemem_advice_need_of (const GememAdviceQuestion *question,
                                const GememAllocatorSpec *spec);

/* Sets the verdict of @advice, its doubt and its need from `now`, which was replayed for @question: as @asked, but
 * that the device may be a larger one where none was said.  Cost: a replay, where the device is smaller than what
 * was held. */
void gemem_advice_judge (GememAdvice *advice, const GememAdviceQuestion *question,
                         const GememAdviceQuestion *asked);

/* Sets last_refused, last_seq and last_by of @advice, whose replay is given. */
void gemem_advice_find_last (GememAdvice *advice);

GEMEM_END_DECLS

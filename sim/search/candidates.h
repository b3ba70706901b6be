/* candidates.h - which settings a search tries: those that users of the system can write, with every
 * value that the allocator's table says is worth trying.
 *
 * Invariant: what is replayed is what was read back from the line that will be printed (paste.h).
 */
#pragma once

#include "base/macros.h"
#include "sim/search/paste.h"

typedef struct
{
  const GememAllocatorClass *klass;
  const GememForm *form;
  gboolean instead;         /* of another allocator of the system, which the program has */
  GPtrArray *own;           /* GememSetting: what differs from what the program has */
  char *line;               /* to paste */
  GememAllocatorSpec *spec; /* read back from it */
} GememCandidate;

void gemem_candidate_free (gpointer candidate);

GEMEM_BEGIN_DECLS

/* What may be tried instead of @klass with the settings @now ("key=value,..."; NULL: the defaults): each
 * setting by itself, then the other allocators of @system, each by itself and with each of its
 * settings.  @system NULL: all.  GPtrArray of GememCandidate; what a setting's value is already, and
 * what cannot be written, is not in it. */
GPtrArray *gemem_candidates_single (const GememAllocatorClass *klass, const char *system,
                                    const char *now);

GEMEM_END_DECLS

/* Both at once, with what the program has @now; NULL: they set the same, or are of different
 * allocators. */
GememCandidate *gemem_candidates_both (const GememCandidate *one, const GememCandidate *other,
                                       const char *now);
/* TRUE if they set the same keys of the same allocator. */
gboolean gemem_candidates_alike (const GememCandidate *one, const GememCandidate *other);

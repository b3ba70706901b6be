/* refusals.c - where a recording ends at a request that was refused, and the program went on without
 * others before: the one at which it ended.
 *
 * Why: the first failure is rarely the one of the error that people have seen.  cuDNN alone tries one
 * algorithm after another until a workspace is served.
 *
 * Invariants: facts of the recording, whatever is replayed.  Cost: a pass over its events.
 */
#include "config.h"

#include "sim/search/advise-private.h"
#include "traces/attribution.h"

void
gemem_advice_find_last (GememAdvice *advice)
{
  GememTraceReader *reader = gemem_held_refused (advice->held) > 1
                                 ? gemem_held_open (advice->held, NULL)
                                 : NULL;
  const GememTraceEvent *events;
  GememAttributor attributor;
  GememAttribution last = { 0 };
  gboolean before = FALSE, went_on = FALSE, ends = FALSE;
  guint64 seq = 0;
  gssize n;

  if (reader == NULL)
    return;
  gemem_attributor_init (&attributor, &reader->info);
  while ((n = gemem_trace_next (reader, &events, NULL)) > 0)
    for (gssize i = 0; i < n; i++, seq++)
      {
        if (events[i].device != advice->now->device_ordinal)
          continue;
        const GememAttribution by = gemem_attributor_next (&attributor, &events[i]);
        if (events[i].kind == GEMEM_EVENT_ALLOC)
          {
            before |= ends;
            ends = FALSE;
          }
        if (events[i].kind != GEMEM_EVENT_OOM || events[i].size == 0)
          continue;
        went_on = before;
        ends = TRUE;
        last = by;
        advice->last_refused = events[i].size;
        advice->last_seq = seq;
      }
  if (ends && went_on)
    {
      GString *text = g_string_new (NULL);

      gemem_attribution_append (text, &reader->info, &last, TRUE, GEMEM_NO_TAG);
      advice->last_by = g_string_free (text, text->len == 0);
    }
  else
    advice->last_refused = 0;
  gemem_attributor_clear (&attributor);
  gemem_trace_close (reader);
}

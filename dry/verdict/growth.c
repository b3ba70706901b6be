/* growth.c - whether what a program keeps of every step would fill the GPU, in the words of gemem-sim.
 *
 * Why: a dry run makes few steps.  A program that fits in these and keeps more with each does not fit for ever, and must not be
 * told a plain "fits".
 *
 * Invariants: sim/search/growth.h decides; nothing is said here that `gemem-sim` does not say of the recording.
 * Cost: the recording is read once more, 64 bytes of the host for each event.
 */
#include "config.h"

#include "dry/verdict/verdict.h"
#include "sim/search/advise.h"

gboolean
gemem_library_find_growth (const DryOptions *options, DryFinding *found, GError **error)
{
  const guint64 capacity = found->limit > 0 ? found->limit : options->capacity - options->context;
  /* what the words ask of a replay, whose place the run itself has */
  GememResult now = { .capacity = capacity,
                      .peak_reserved = MAX (found->peak_reserved, found->held),
                      .lower_bound = found->peak_live,
                      .ooms = found->ooms + found->refused };
  GememTraceReader *reader = gemem_library_trace_open (found->path, error);
  g_autoptr (GememHeld) held = reader != NULL ? gemem_held_new (reader, error) : NULL;
  const gboolean torch = found->model != NULL && g_str_has_prefix (found->model, "pytorch");
  g_autofree char *system = g_strdup (torch ? "pytorch" : "any");
  GememAdvice advice = { .now = &now, .system = system };

  if (held == NULL)
    return FALSE;
  advice.growth = gemem_growth_find (held, found->device);
  if (gemem_advice_grows (&advice))
    {
      found->growth = gemem_advice_growth_words (&advice);
      if (now.ooms == 0)
        found->growth_left = gemem_advice_growth_left (&advice);
    }
  gemem_growth_free (advice.growth);
  return TRUE;
}

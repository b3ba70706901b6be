/* settings.c - which setting of PyTorch's allocator would need less, by the recording of a run.
 *
 * Why: --fit looks with it for a larger value that fits.  Which setting it is, replays say; what fits with
 * it, runs alone (fit.c): the recording of a smaller value tells nothing of a larger one.
 *
 * Invariant: the line is one that `gemem-sim advise` offers, proven by a replay.
 */
#include "config.h"

#include <string.h>

#include "dry/verdict/verdict.h"
#include "sim/search/advise.h"

/* The process that needs most, if PyTorch's allocator served it; else NULL. */
static const DryFinding *
largest (const DryVerdict *verdict)
{
  const DryFinding *most = NULL;

  for (guint i = 0; i < verdict->findings->len; i++)
    {
      const DryFinding *found = verdict->findings->pdata[i];
      if (most == NULL || found->needed_most > most->needed_most)
        most = found;
    }
  return most != NULL && g_strcmp0 (most->model, "pytorch-caching") == 0 ? most : NULL;
}

/* The first line of @advice that is a variable with all settings of this allocator; or NULL. */
static const GememAdviceLine *
first_line (const GememAdvice *advice)
{
  for (guint i = 0; i < advice->lines->len; i++)
    {
      const GememAdviceLine *line = &g_array_index (advice->lines, GememAdviceLine, i);
      if (line->candidate->klass == advice->spec->klass && !line->too_new && line->saved > 0
          && line->candidate->form->kind == GEMEM_FORM_STRING)
        return line;
    }
  return NULL;
}

static DrySetting *
setting_new (const GememAdvice *advice, const GememAdviceLine *line)
{
  const char *value = line->candidate->line + strcspn (line->candidate->line, "=");
  DrySetting *setting = g_new0 (DrySetting, 1);

  setting->line = g_strdup (line->candidate->line);
  setting->variable = g_strdup (line->candidate->form->text);
  setting->value = g_shell_unquote (*value == '=' ? value + 1 : value, NULL);
  setting->saved = (double) line->saved / (double) advice->need;
  return setting;
}

DrySetting *
gemem_library_setting_new (const DryOptions *options, const DryVerdict *verdict)
{
  const DryFinding *found = largest (verdict);
  g_autoptr (GArray) ordinals = g_array_new (FALSE, FALSE, sizeof (guint16));
  g_autofree char *device = g_strdup_printf ("sim:capacity=%" G_GUINT64_FORMAT
                                             ",reserved_by_others=%" G_GUINT64_FORMAT,
                                             options->capacity, options->context);
  GememAdviceQuestion question = {
    .device_spec = device,
    .ordinals = ordinals,
    .allow_partial = TRUE,
  };
  g_autoptr (GememAdvice) advice = NULL;
  g_autoptr (GememHeld) held = NULL;
  const GememAdviceLine *line;
  GememTraceReader *reader;
  guint16 ordinal;

  reader = found != NULL ? gemem_library_trace_open (found->path, NULL) : NULL;
  held = reader != NULL ? gemem_held_new (reader, NULL) : NULL;
  if (held == NULL)
    return NULL;
  ordinal = (guint16) found->device;
  g_array_append_val (ordinals, ordinal);
  question.name = found->path;
  question.held = held;
  advice = gemem_advise (&question, NULL);
  line = advice != NULL && advice->need > 0 ? first_line (advice) : NULL;
  return line != NULL ? setting_new (advice, line) : NULL;
}

void
gemem_library_setting_free (DrySetting *setting)
{
  if (setting == NULL)
    return;
  g_free (setting->line);
  g_free (setting->variable);
  g_free (setting->value);
  g_free (setting);
}

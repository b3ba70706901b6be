/* conditions.c - notes in the recordings of a dry run what its verdict depends on.
 *
 * Why: a recording outlives the verdict.  Whoever asks later whether it fits (gemem-sim FILE --capacity) must not be told a plain
 * yes where the dry run itself said "only if".
 *
 * Invariants: a recording on which nothing depends is left as it was written; one that cannot be written again stays as it was,
 * with a message.
 * Cost: where there are conditions, the recording is read and written once more.
 */
#include "config.h"

#include "dry/verdict/verdict.h"

/* Without "('truths', below)", which names a row of the verdict, and without @growth, which the recording shows itself. */
static void
add_all (GememTraceInfo *info, const GPtrArray *conditions, const char *growth)
{
  g_autoptr (GRegex) row = g_regex_new (" \\('[a-zA-Z ]+', below\\)", 0, 0, NULL);

  for (guint i = 0; i < conditions->len; i++)
    {
      g_autofree char *text = g_regex_replace (row, conditions->pdata[i], -1, 0, "", 0, NULL);
      if (growth == NULL || !g_str_has_suffix (text, growth))
        gemem_trace_info_note (info, GEMEM_TRACE_ONLY_IF, "%s", text);
    }
}

/* Adds what ended the process whose recording @path is, those that hold for the whole run, and those of each device of the
 * process. */
static void
add_conditions (GememTraceInfo *info, const DryVerdict *verdict, const char *path)
{
  for (guint i = 0; i < verdict->findings->len; i++)
    {
      const DryFinding *found = verdict->findings->pdata[i];

      if (g_strcmp0 (found->path, path) == 0 && found->refused_by != NULL)
        gemem_trace_info_note (info, GEMEM_TRACE_ONLY_IF, "%s gets the memory that it was refused",
                               found->refused_by);
    }
  if (gemem_library_said_no (verdict))
    gemem_trace_info_note (info, GEMEM_TRACE_ONLY_IF, "%s goes on where it refused to (%s)",
                           verdict->refusal_kind->who, verdict->refusal_kind->title);
  add_all (info, verdict->only_if, NULL);
  for (guint i = 0; i < verdict->findings->len; i++)
    {
      const DryFinding *found = verdict->findings->pdata[i];

      if (g_strcmp0 (found->path, path) == 0)
        add_all (info, found->only_if, found->growth_left);
    }
}

static gboolean
write_again (const DryVerdict *verdict, const char *path, GError **error)
{
  g_autoptr (GememTraceReader) reader = gemem_library_trace_open ((gpointer) path, error);

  if (reader == NULL)
    return FALSE;
  add_conditions (&reader->info, verdict, path);
  return gemem_launcher_copy (reader, path, error);
}

/* Whether @i is the first finding of its recording, and something is to be noted there. */
static gboolean
has_conditions (const DryVerdict *verdict, guint i)
{
  const DryFinding *found = verdict->findings->pdata[i];
  gboolean any = verdict->only_if->len > 0 || gemem_library_said_no (verdict);

  for (guint j = 0; j < verdict->findings->len; j++)
    {
      const DryFinding *other = verdict->findings->pdata[j];

      if (g_strcmp0 (found->path, other->path) != 0)
        continue;
      if (j < i)
        return FALSE;
      any = any || other->only_if->len > (other->growth_left != NULL) || other->refused_by != NULL;
    }
  return any;
}

void
gemem_library_note_conditions (const DryVerdict *verdict)
{
  for (guint i = 0; i < verdict->findings->len; i++)
    {
      const DryFinding *found = verdict->findings->pdata[i];
      g_autoptr (GError) error = NULL;

      if (has_conditions (verdict, i) && !write_again (verdict, found->path, &error))
        gemem_launcher_say ("%s does not say on what its verdict depends: %s", found->path,
                            error->message);
    }
}

/* validate.c - `gemem-sim validate`: is this trace whole and consistent? */
#include "config.h"

#include <string.h>

#include "sim/cli/batch.h"
#include "traces/validate.h"

static void
append_finding (GString *out, const char *path, const GememFinding *finding)
{
  g_string_append_printf (out, "%s:", path);
  if (finding->seq != G_MAXUINT64)
    g_string_append_printf (out, "event %" G_GUINT64_FORMAT ":", finding->seq);
  g_string_append_printf (out, " %s: %s: %s", finding->error ? "error" : "note", gemem_finding_name (finding->kind), finding->text);
  if (finding->count > 1)
    g_string_append_printf (out, " (%" G_GUINT64_FORMAT " in all)", finding->count);
  g_string_append_c (out, '\n');
}

/* Appends what is to be said about @path; TRUE if nothing was wrong. */
static gboolean
validate (const char *path, GString *out, GError **error)
{
  GememSourceFile *file = gemem_source_file_new (path, error);
  GememTraceReader *reader = file != NULL ? gemem_source_file_open (file, error) : NULL;
  gboolean ok = reader != NULL;
  if (reader != NULL)
    {
      g_autoptr (GPtrArray) findings = gemem_trace_validate (reader, error);
      for (guint i = 0; findings != NULL && i < findings->len; i++)
        {
          const GememFinding *finding = findings->pdata[i];
          append_finding (out, file->path, finding);
          ok = ok && !finding->error;
        }
      ok = ok && findings != NULL;
      if (ok)
        g_string_append_printf (out, "%s: valid (%s)\n", file->path, reader->info.format);
      gemem_trace_close (reader);
    }
  gemem_source_file_free (file);
  return ok;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_validate;
  int status = 0;
  if (!gemem_want_arguments (&gemem_command_validate, arguments, 1, 10000, error))
    return 2;
  for (char **path = arguments; *path != NULL; path++)
    {
      g_autoptr (GString) out = g_string_new (NULL);
      g_autoptr (GError) failure = NULL;
      gboolean ok = validate (*path, out, &failure);
      if (!gemem_put (NULL, out->str, out->len, error))
        return 1;
      if (failure != NULL)
        gemem_print_error (failure);
      if (!ok && status == 0)
        status = failure != NULL ? gemem_error_exit_status (failure) : 3;
    }
  return status;
}

const GememCommand gemem_command_validate = {
  .name = "validate",
  .synopsis = "TRACE...",
  .summary = "Say whether traces are whole and consistent; each finding names its event",
  .description = "Looks for frees of unknown blocks, blocks allocated twice, overlapping recorded addresses, time running backwards, missing starts\n"
                 "and ends. Errors give exit status 3; notes do not.",
  .examples = "  gemem-sim validate snapshot.pickle\n",
  .options = { gemem_source_entries },
  .run = run,
};

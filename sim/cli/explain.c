/* explain.c - `gemem-sim explain`, which is also what gemem-sim does with a text that holds a message
 * about memory instead of a recording.
 */
#include "config.h"

#include "sim/cli/explain.h"
#include "sim/cli/options.h"
#include "sim/cli/streams.h"
#include "sim/search/explain.h"

static char *format;

static const GOptionEntry entries[] = {
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format, "Form of the answer", "table|json" }, { NULL }
};

static int
explain (const char *path, const char *name, gboolean json, GString *out, GError **error)
{
  g_autoptr (GememExplanation) explanation = NULL;
  GememInput *input = gemem_input_open_as (path, name, error);

  if (input == NULL)
    return -1;
  explanation = gemem_explain (input, error);
  gemem_input_close (input);
  if (explanation == NULL)
    return -1;
  if (json)
    gemem_explanation_append_json (out, explanation);
  else
    gemem_explanation_append (out, explanation);
  return (int) explanation->verdict;
}

int
gemem_explain_file (const GememSourceFile *file, gboolean json, GString *out, GError **error)
{
  return explain (file->file, file->path, json, out, error);
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_explain;
  g_autoptr (GString) out = g_string_new (NULL);
  GememStream stream = { 0 };
  gboolean json;
  int status;

  if (!gemem_want_arguments (&gemem_command_explain, arguments, 1, 1, error)
      || !gemem_want_table_or_json (format, &json, error))
    return 2;
  if (!gemem_stream_take (arguments[0], &stream, error))
    return 1;
  gemem_terminal_fit (NULL);
  status = explain (stream.file, stream.name, json, out, error);
  if (json)
    g_string_append_c (out, '\n');
  g_free (stream.file);
  g_free (stream.name);
  if (status < 0)
    return 1;
  return gemem_put (NULL, out->str, out->len, error) ? status : 1;
}

const GememCommand gemem_command_explain = {
  .name = "explain",
  .synopsis = "FILE",
  .summary = "Say what an out-of-memory message means, as far as it tells",
  .description =
      "One screen for a pasted message: the cause as far as it tells, the sum of its numbers, the "
      "most that a setting could gain, how to record what it does not say.\nThe text around a "
      "message does not matter; the first message in it counts.\n"
      "Exit status: 4 if the message itself says that it cannot fit, else 3: it cannot be told.",
  .examples = "  gemem-sim explain oom.txt\n"
              "      the same as gemem-sim oom.txt\n"
              "  gemem-sim explain - -f json\n"
              "      the message on standard input, for a program\n",
  .options = { entries },
  .run = run,
};

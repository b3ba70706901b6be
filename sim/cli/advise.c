/* advise.c - `gemem-sim advise`, which is also what gemem-sim does with files and no command: one
 * recording in, ten lines out.
 */
#include "config.h"

#include <string.h>

#include "sim/cli/explain.h"
#include "sim/cli/needs.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/cli/settings-notes.h"
#include "sim/cli/source.h"
#include "sim/search/advise.h"

static char *device_spec, *capacity, *system_name, *format;
static gboolean no_trace_settings, all, details;
static int histories;

static const GOptionEntry entries[] = {
  { "device", 'd', 0, G_OPTION_ARG_STRING, &device_spec,
    "Device to fit on (default: the recorded one), e.g. 16GiB, rtx4090", "SPEC" },
  { "capacity", 0, 0, G_OPTION_ARG_STRING, &capacity, "Its memory, e.g. 16GiB", "SIZE" },
  { "for", 0, 0, G_OPTION_ARG_STRING, &system_name,
    "Whose allocator the program would have (default: the one that made the recording)",
    "pytorch|torch-npu|tensorflow|jax|paddle|ge|rmm|cupy|any" },
  { "details", 0, 0, G_OPTION_ARG_NONE, &details,
    "Also all lines to paste, what was tried, who holds the memory, what lies idle", NULL },
  { "all", 0, 0, G_OPTION_ARG_NONE, &all,
    "Try pairs of settings and other systems even where the recording has more than " G_STRINGIFY (
        GEMEM_ADVICE_MANY_EVENTS) " events",
    NULL },
  GEMEM_HISTORIES_OPTION (&histories),
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format, "Form of the answer", "table|json" },
  { "no-trace-settings", 0, 0, G_OPTION_ARG_NONE, &no_trace_settings,
    "Ignore the allocator settings recorded in the trace", NULL },
  { NULL }
};

/* The advice about one file; NULL with @error. */
static GememAdvice *
advise (GememSourceFile *file, const char *device, GError **error)
{
  g_autoptr (GArray) ordinals = NULL;
  GememAdviceQuestion question = {
    .name = file->path,
    .graph = file->graph,
    .device_spec = device_spec != NULL || capacity != NULL ? device : NULL,
    .system = system_name,
    .ignores_settings = no_trace_settings,
    .allow_partial = gemem_source_allow_partial (),
    .all = all,
    .histories = (guint) histories,
    .interrupted = &gemem_interrupted,
    .runner = gemem_needs_runner ("trying settings"),
  };

  gemem_progress_begin_reading (file->path);
  if (!gemem_source_file_hold (file, TRUE, error)
      || (ordinals = gemem_source_devices (file, error)) == NULL)
    return NULL;
  question.held = file->held;
  question.ordinals = ordinals;
  return gemem_advise (&question, error);
}

/* Appends the answer about @file to @out: advice, or, where it holds no recording but a message about
 * memory, what that says.  Returns the exit status, -1 with @error. */
static int
answer (GememSourceFile *file, const char *device, gboolean json, GString *out, GError **error)
{
  g_autoptr (GError) refused = NULL;
  g_autoptr (GememAdvice) advice = advise (file, device, &refused);
  int status = -1;

  gemem_progress_end ();
  if (advice == NULL)
    {
      if (g_error_matches (refused, GEMEM_ERROR, GEMEM_ERROR_INPUT))
        status = gemem_explain_file (file, json, out, NULL);
      if (status < 0)
        g_propagate_error (error, g_steal_pointer (&refused));
      return status;
    }
  gemem_settings_note_one (advice->spec, file, no_trace_settings);
  if (json)
    gemem_advice_append_json (out, advice);
  else
    gemem_advice_append (out, advice, details);
  return (int) advice->verdict;
}

/* Not fitting is worse than not knowing, for a file among several. */
static int
worse (int a, int b)
{
  return a == GEMEM_ADVICE_DOES_NOT_FIT || b == 0 ? a : b;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_advise;
  g_autoptr (GPtrArray)
      files = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_source_file_free);
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char *device = NULL;
  gboolean json;
  int status = 0;

  if (!gemem_want_arguments (&gemem_command_advise, arguments, 1, 1000, error)
      || !gemem_want_table_or_json (format, &json, error)
      || !gemem_want_histories (histories, error)
      || (device = gemem_want_simulated (device_spec, capacity, error)) == NULL)
    return 2;
  for (char **path = arguments; *path != NULL; path++)
    if (gemem_source_files_add (files, *path, error) == 0)
      return 1;
  gemem_catch_interrupts ();
  gemem_terminal_fit (NULL);
  for (guint i = 0; i < files->len; i++)
    {
      int one;

      if (json || i > 0)
        g_string_append (out, !json ? "\n" : i == 0 ? "[" : ",\n");
      one = answer (files->pdata[i], device, json, out, error);
      if (one < 0)
        return 1;
      status = worse (status, one);
    }
  gemem_interrupts_over ();
  if (json)
    g_string_append (out, "]\n");
  return gemem_put (NULL, out->str, out->len, error) ? status : 1;
}

const GememCommand gemem_command_advise = {
  .name = "advise",
  .synopsis = "TRACE...",
  .summary = "Say whether it fits, what would need less, and the line to paste",
  .description =
      "Ten lines for a recording: the verdict, the setting of its allocator that needs least as a "
      "line to paste, and the least that is possible.\nThe command may be left out: gemem-sim "
      "FILE. "
      "Every line was replayed as the program would read it. What cannot be told is said to be "
      "so.\nWhere every step keeps more memory, it says how much, which line makes it, and for how "
      "many steps there is some.\nExit status: 0 it fits, 4 it does not, 3 it cannot be told, or "
      "it "
      "fits so far and grows.",
  .examples = "  gemem-sim snapshot.pickle\n"
              "      the same as gemem-sim advise snapshot.pickle\n"
              "  gemem-sim advise snapshot.pickle --capacity 16GiB\n"
              "      would it fit in 16 GiB, and with which setting?\n"
              "  gemem-sim advise snapshot.pickle -f json\n"
              "      the same for a program\n",
  .options = { entries, gemem_source_entries },
  .run = run,
};

/* gate.c - `gemem-sim gate`: do recordings need more than a baseline allows? For a step of continuous integration.
 */
#include "config.h"

#include <string.h>

#include "sim/cli/needs.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/cli/settings-notes.h"
#include "sim/search/gate.h"

#define WORSE 5 /* exit status */

static char *device_spec, *capacity, *baseline_path, *tolerance_text, *format;
static char **measure_names, **allocators;
static gboolean update;
static int histories;

static const GOptionEntry entries[] = {
  { "baseline", 'b', 0, G_OPTION_ARG_FILENAME, &baseline_path,
    "The file that says what they may need (default: gemem-baseline.ini)", "FILE" },
  { "update", 0, 0, G_OPTION_ARG_NONE, &update,
    "Write what they need now to the baseline, and leave its other recordings as they are", NULL },
  { "tolerance", 0, 0, G_OPTION_ARG_STRING, &tolerance_text,
    "How much more is allowed (default: 0)", "1%" },
  { "measure", 'm', 0, G_OPTION_ARG_STRING_ARRAY, &measure_names,
    "What counts (default: peak_reserved, peak_in_use and failed)",
    "peak_reserved|peak_in_use|failed|device_calls" },
  { "allocator", 'a', 0, G_OPTION_ARG_STRING_ARRAY, &allocators,
    "Replay through it instead of what made the recordings", "NAME[:KEY=VALUE,...]" },
  { "device", 'd', 0, G_OPTION_ARG_STRING, &device_spec,
    "Device (default: that of each recording), e.g. 16GiB, rtx4090", "SPEC" },
  { "capacity", 0, 0, G_OPTION_ARG_STRING, &capacity, "Its memory, e.g. 16GiB", "SIZE" },
  GEMEM_HISTORIES_OPTION (&histories),
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format, "Form of the answer", "table|json" },
  { NULL }
};

/* ---- options */

/* "1%", "0.5 %", "0": a part. */
static gboolean
parse_tolerance (double *tolerance, GError **error)
{
  char *end = NULL;

  *tolerance = tolerance_text != NULL ? g_ascii_strtod (tolerance_text, &end) : 0;
  while (end != NULL && *end == ' ')
    end++;
  if (tolerance_text == NULL
      || (end != tolerance_text && *tolerance >= 0 && *tolerance <= 1000
          && (strcmp (end, "%") == 0 || (*end == '\0' && *tolerance == 0))))
    {
      *tolerance /= 100;
      return TRUE;
    }
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--tolerance=%s: write a percentage, as 1%%",
               tolerance_text);
  return FALSE;
}

static gboolean
parse_measures (gboolean *measures, GError **error)
{
  for (guint m = 0; m < GEMEM_GATE_COUNT; m++)
    measures[m] = measure_names == NULL && m != GEMEM_GATE_CALLS;
  for (char **name = measure_names; name != NULL && *name != NULL; name++)
    {
      guint m = 0;

      while (m < GEMEM_GATE_COUNT && strcmp (gemem_gate_measures[m], *name) != 0)
        m++;
      if (m == GEMEM_GATE_COUNT)
        {
          g_autofree char *all = g_strjoinv (", ", (char **) gemem_gate_measures);
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--measure=%s: write one of %s",
                       *name, all);
          return FALSE;
        }
      measures[m] = TRUE;
    }
  return TRUE;
}

/* *@spec: owned by @specs; NULL: what made the recordings. */
static gboolean
parse_allocator (GPtrArray *specs, const GememAllocatorSpec **spec, GError **error)
{
  for (char **text = allocators; text != NULL && *text != NULL; text++)
    if (!gemem_allocator_spec_parse (*text, specs, error))
      return FALSE;
  *spec = specs->len > 0 ? specs->pdata[0] : NULL;
  if (specs->len <= 1)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "-a: a baseline is of one allocator; give one, or a baseline for each");
  return FALSE;
}

/* ---- what they need */

/* What @need, which has its result, needs at most, in as many histories as its baseline was made with. */
static GememGateEntry *
worst_of (const GememNeed *need, const GPtrArray *baseline, const GememNeedOptions *options,
          GError **error)
{
  const GememGateEntry *before = baseline != NULL ? gemem_gate_find (baseline, need->name) : NULL;
  const guint frees = histories > 0 || before == NULL ? (guint) histories : before->histories;
  GememGateEntry *entry;
  GememHistories found;

  if (!update && before != NULL && frees != before->histories)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--histories=%u: the baseline of %s was made with %u; leave the option out, or "
                   "write it anew with --update",
                   frees, need->name, before->histories);
      return NULL;
    }
  entry = gemem_gate_entry_new (need, error);
  if (entry == NULL || frees == 0)
    return entry;
  gemem_histories_try (need, frees, options, &found);
  gemem_gate_entry_raise (entry, &found);
  if (found.left_out == 0)
    return entry;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED,
               "%s: interrupted among its histories, without a verdict", need->name);
  gemem_gate_entry_free (entry);
  return NULL;
}

/* What @file needs; NULL with @error. */
static GememGateEntry *
measure (GememSourceFile *file, const GememAllocatorSpec *spec, const GPtrArray *baseline,
         const GememNeedOptions *options, GError **error)
{
  g_autoptr (GArray) ordinals = NULL;
  GememNeed need = { .spec = spec };
  GememGateEntry *entry = NULL;

  if (!gemem_needs_take (&need, file, &ordinals, error))
    return NULL;
  if (gemem_needs_find (&need, 1, options, error))
    {
      const GememResult *result = need.result;

      if (result->partial || result->failure != NULL)
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: %s", file->path,
                     result->failure != NULL ? result->failure
                                             : "the end of the recording is missing");
      else
        entry = worst_of (&need, baseline, options, error);
    }
  gemem_need_clear (&need);
  gemem_progress_end ();
  return entry;
}

/* GememGateEntry of each; NULL with @error. */
static GPtrArray *
measure_all (char **paths, const GememAllocatorSpec *spec, const GPtrArray *baseline,
             const GememNeedOptions *options, GError **error)
{
  g_autoptr (GPtrArray) now = g_ptr_array_new_with_free_func (gemem_gate_entry_free);

  for (char **path = paths; *path != NULL; path++)
    {
      g_autoptr (GPtrArray)
          files = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_source_file_free);

      if (gemem_source_files_add (files, *path, error) == 0)
        return NULL;
      for (guint i = 0; i < files->len; i++)
        {
          GememGateEntry *entry = measure (files->pdata[i], spec, baseline, options, error);

          if (entry == NULL)
            return NULL;
          if (spec != NULL && now->len == 0)
            gemem_settings_note_one (spec, files->pdata[i], FALSE);
          g_ptr_array_add (now, entry);
        }
    }
  return g_steal_pointer (&now);
}

/* ---- the baseline */

/* Writes @now over what @before has of the same names. */
static gboolean
write_baseline (const char *path, const GPtrArray *before, const GPtrArray *now, GError **error)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new ();

  for (guint i = 0; before != NULL && i < before->len; i++)
    {
      const GememGateEntry *old = before->pdata[i];
      gboolean again = FALSE;

      for (guint j = 0; j < now->len; j++)
        again = again || strcmp (((const GememGateEntry *) now->pdata[j])->name, old->name) == 0;
      if (!again)
        g_ptr_array_add (all, before->pdata[i]);
    }
  for (guint i = 0; i < now->len; i++)
    g_ptr_array_add (all, now->pdata[i]);
  g_autofree char *text = gemem_gate_text (all);
  return gemem_put (path, text, strlen (text), error);
}

/* Appends the verdicts; the exit status. */
static int
judge (const GPtrArray *baseline, const GPtrArray *now, double tolerance, const gboolean *measures,
       gboolean json, GString *out)
{
  guint worse = 0, unknown = 0;

  for (guint i = 0; i < now->len; i++)
    {
      GememGateFinding *finding = gemem_gate_judge (baseline, now->pdata[i], tolerance, measures);

      worse += finding->verdict == GEMEM_GATE_WORSE;
      unknown += finding->verdict == GEMEM_GATE_UNKNOWN;
      if (json)
        {
          g_string_append (out, i == 0 ? "[" : ",\n");
          gemem_gate_append_json (out, finding);
        }
      else
        gemem_gate_append (out, finding, tolerance);
      gemem_gate_finding_free (finding);
    }
  if (json)
    g_string_append (out, "]\n");
  else if (worse + unknown > 0)
    g_string_append_printf (out,
                            "\n%u of %u recordings got worse%s; --update accepts what they need\n",
                            worse, now->len, unknown > 0 ? ", some are unknown" : "");
  return worse + unknown > 0 ? WORSE : 0;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_gate;
  const char *path = baseline_path != NULL ? baseline_path : "gemem-baseline.ini";
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free),
      before = NULL, now = NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char *device = NULL;
  GememNeedOptions options = { .allow_partial = gemem_source_allow_partial (),
                               .interrupted = &gemem_interrupted,
                               .runner = gemem_needs_runner ("replaying") };
  gboolean measures[GEMEM_GATE_COUNT], json;
  const GememAllocatorSpec *spec;
  double tolerance;
  int status;

  if (!gemem_want_arguments (&gemem_command_gate, arguments, 1, 1000, error)
      || !gemem_want_table_or_json (format, &json, error) || !parse_tolerance (&tolerance, error)
      || !gemem_want_histories (histories, error) || !parse_measures (measures, error)
      || !parse_allocator (specs, &spec, error)
      || (device = gemem_want_simulated (device_spec, capacity, error)) == NULL)
    return 2;
  if (device_spec != NULL || capacity != NULL)
    options.device_spec = device;
  if ((!update || g_file_test (path, G_FILE_TEST_EXISTS))
      && (before = gemem_gate_read (path, error)) == NULL)
    return 1;
  gemem_catch_interrupts ();
  now = measure_all (arguments, spec, before, &options, error);
  gemem_interrupts_over ();
  if (now == NULL)
    return 1;
  if (update)
    return write_baseline (path, before, now, error) ? 0 : 1;
  gemem_terminal_fit (NULL);
  status = judge (before, now, tolerance, measures, json, out);
  return gemem_put (NULL, out->str, out->len, error) ? status : 1;
}

const GememCommand gemem_command_gate = {
  .name = "gate",
  .synopsis = "TRACE...",
  .summary = "Say whether recordings need more than a baseline allows",
  .description =
      "For continuous integration: --update writes what the recordings need to a file for the "
      "repository; from then on the command fails where one needs more, and says which lines of "
      "code hold more.\nThe same recording gives the same verdict everywhere, since it is "
      "replayed.\n"
      "Exit status: 0 none got worse, 5 one did, or the baseline does not have it.",
  .examples = "  gemem-sim gate train.gmt --update\n"
              "      what it needs now is what it may need\n"
              "  gemem-sim gate train.gmt --tolerance 1%\n"
              "      fails if it needs more than 1 % more\n",
  .options = { entries, gemem_source_entries },
  .run = run,
};

/* diff.c - `gemem-sim diff`: two recordings, or one through two allocators; what they differ in.  More are the
 * ranks of one run.
 */
#include "config.h"

#include "sim/cli/needs.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/cli/settings-notes.h"
#include "sim/search/ranks.h"

static char *device_spec, *capacity, *by, *format;
static char **allocators;

static const GOptionEntry entries[] = {
  { "allocator", 'a', 0, G_OPTION_ARG_STRING_ARRAY, &allocators,
    "Replay through it instead of what made the recording: once for both recordings, twice for one "
    "each; with one recording that beside this, or these two",
    "NAME[:KEY=VALUE,...]" },
  { "device", 'd', 0, G_OPTION_ARG_STRING, &device_spec,
    "Device of both (default: that of each recording), e.g. 16GiB, rtx4090", "SPEC" },
  { "capacity", 0, 0, G_OPTION_ARG_STRING, &capacity, "Its memory, e.g. 16GiB", "SIZE" },
  { "by", 0, 0, G_OPTION_ARG_STRING, &by,
    "Group the blocks in use by this (default: line, or size where there are no call stacks)",
    "stack|line|file|operator|category|phase|size|stream|pool" },
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format, "Form of the answer", "table|json" },
  { NULL }
};

/* The allocators of -a, at most two. */
static GPtrArray *
parse_allocators (GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);

  for (char **text = allocators; text != NULL && *text != NULL; text++)
    if (!gemem_allocator_spec_parse (*text, specs, error))
      return NULL;
  if (specs->len <= 2)
    return g_steal_pointer (&specs);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "-a: %u allocators, and a difference is between two; give two, or use compare",
               specs->len);
  return NULL;
}

/* ---- two */

/* Whose allocator each side has. */
static gboolean
choose_allocators (GememDiffQuestion *question, const GPtrArray *specs, gboolean one,
                   GError **error)
{
  if (one && specs->len == 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s alone: with what is it to be compared? Give another recording, or an "
                   "allocator with -a",
                   question->inputs[0].name);
      return FALSE;
    }
  if (specs->len > 0)
    question->inputs[1].spec = specs->pdata[specs->len - 1];
  if (specs->len == 2 || (specs->len == 1 && !one))
    question->inputs[0].spec = specs->pdata[0];
  return TRUE;
}

static gboolean
answer_two (const GPtrArray *files, const GPtrArray *specs, const GememNeedOptions *options,
            gboolean json, GString *out, GError **error)
{
  g_autoptr (GArray) first = NULL, second = NULL;
  g_autoptr (GememDiff) diff = NULL;
  GememDiffQuestion question = { .by = by, .options = *options };

  if (!gemem_needs_take (&question.inputs[0], files->pdata[0], &first, error)
      || !gemem_needs_take (&question.inputs[1], files->pdata[files->len - 1], &second, error)
      || !choose_allocators (&question, specs, files->len == 1, error)
      || (diff = gemem_diff (&question, error)) == NULL)
    return FALSE;
  if (json)
    gemem_diff_append_json (out, diff);
  else
    gemem_diff_append (out, diff);
  return TRUE;
}

/* ---- more */

static gboolean
answer_many (const GPtrArray *files, const GPtrArray *specs, const GememNeedOptions *options,
             gboolean json, GString *out, GError **error)
{
  g_autofree GememNeed *needs = g_new0 (GememNeed, files->len);
  g_autofree GArray **ordinals = g_new0 (GArray *, files->len);
  g_autoptr (GememRanks) ranks = NULL;
  gboolean ok = by == NULL && specs->len <= 1;

  if (!ok)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
        "%u recordings are taken for the ranks of one run: they go through one allocator, and "
        "are told apart by line; name two for %s",
        files->len, by != NULL ? "--by" : "two of -a");
  for (guint i = 0; ok && i < files->len; i++)
    {
      needs[i].spec = specs->len > 0 ? specs->pdata[0] : NULL;
      ok = gemem_needs_take (&needs[i], files->pdata[i], &ordinals[i], error);
    }
  ranks = ok ? gemem_ranks (needs, files->len, options, error) : NULL;
  for (guint i = 0; i < files->len; i++)
    if (ordinals[i] != NULL)
      g_array_unref (ordinals[i]);
  if (ranks == NULL)
    return FALSE;
  if (json)
    gemem_ranks_append_json (out, ranks);
  else
    gemem_ranks_append (out, ranks);
  return TRUE;
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_diff;
  g_autoptr (GPtrArray)
      files = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_source_file_free),
      specs = NULL;
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char *device = NULL;
  GememNeedOptions options = { .allow_partial = gemem_source_allow_partial (),
                               .interrupted = &gemem_interrupted,
                               .run = gemem_needs_run_jobs };
  gboolean json, ok;

  if (!gemem_want_arguments (&gemem_command_diff, arguments, 1, 1000, error)
      || !gemem_want_table_or_json (format, &json, error)
      || (device = gemem_want_simulated (device_spec, capacity, error)) == NULL
      || (specs = parse_allocators (error)) == NULL)
    return 2;
  for (char **path = arguments; *path != NULL; path++)
    if (gemem_source_files_add (files, *path, error) == 0)
      return 1;
  if (device_spec != NULL || capacity != NULL)
    options.device_spec = device;
  gemem_catch_interrupts ();
  gemem_settings_note (specs, G_MAXUINT, files, FALSE);
  ok = files->len <= 2 ? answer_two (files, specs, &options, json, out, error)
                       : answer_many (files, specs, &options, json, out, error);
  gemem_progress_end ();
  gemem_interrupts_over ();
  return ok && gemem_put (NULL, out->str, out->len, error) ? 0 : 1;
}

const GememCommand gemem_command_diff = {
  .name = "diff",
  .synopsis = "TRACE...",
  .summary = "Say what changed: between two recordings, or two allocators",
  .description =
      "One screen: how much more is held, of that in use and idle, which lines of code hold it, "
      "which settings are others, what changed first, and how one block that lies elsewhere led to "
      "the difference.\nBlocks are matched by their line and "
      "the order of requests, not by ids and addresses.\nWith one recording, -a says through "
      "which other allocator it goes. More than two are the ranks of one run: which one decides, "
      "and how far the others are off it.",
  .examples = "  gemem-sim diff before.pickle after.pickle\n"
              "      what changed between two runs of a program\n"
              "  gemem-sim diff step.gmt -a pytorch-expandable\n"
              "      the program as it is, and with expandable segments\n"
              "  gemem-sim diff out.rank-*.gmt\n"
              "      which rank decides, and what it holds that the others do not\n"
              "  gemem-sim diff before.pickle after.pickle -f json\n"
              "      the same for a program\n",
  .options = { entries, gemem_source_entries },
  .run = run,
};

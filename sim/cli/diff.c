/* diff.c - `gemem-sim diff`: two recordings, or one through two allocators; what they differ in.  More, or a
 * folder, are the ranks of one run; two folders are compared rank by rank.
 */
#include "config.h"

#include "sim/cli/diff-folders.h"
#include "sim/cli/needs.h"
#include "sim/cli/options.h"
#include "sim/cli/plot-options.h"
#include "sim/cli/progress.h"
#include "sim/cli/settings-notes.h"
#include "sim/search/rank-pairs.h"
#include "sim/search/ranks.h"

static char *device_spec, *capacity, *by, *format, *plots;
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
  { "plots", 0, 0, G_OPTION_ARG_FILENAME, &plots,
    "Draw both over one axis, the difference filled, into DIR (.dat, .gp, and with gnuplot "
    "pictures)",
    "DIR" },
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
draw (const GememDiff *diff, GError **error)
{
  g_autofree char *first = gemem_diff_name (diff, 0), *second = gemem_diff_name (diff, 1),
                  *file = g_path_get_basename (diff->sides[0].name),
                  *title = diff->one_recording ? g_strdup (file)
                                               : g_strdup_printf ("%s -> %s", first, second);
  const GememPlotDifference difference = {
    .results = { diff->sides[0].result, diff->sides[1].result },
    .names = { first, second },
    .title = title,
    .parts = diff->parting.found || diff->reserve.found,
    .parting = { diff->one_recording ? diff->reserve.event : diff->parting.steps[0].event,
                 diff->one_recording ? diff->reserve.event : diff->parting.steps[1].event }
  };
  GememPlotStyle style;
  gboolean rendered;

  if (!gemem_plot_options (&style, error)
      || !gemem_plot_difference_write (plots, &style, &difference, NULL, &rendered, error))
    return FALSE;
  if (!rendered)
    gemem_note (GEMEM_NOT_DRAWN, plots);
  return TRUE;
}

/* The difference of the first and the last of @files; NULL with @error. */
static GememDiff *
compare (const GPtrArray *files, const GPtrArray *specs, const GememNeedOptions *options,
         GError **error)
{
  g_autoptr (GArray) first = NULL, second = NULL;
  GememDiffQuestion question = { .by = by, .options = *options, .keeps_timelines = plots != NULL };

  if (!gemem_needs_take (&question.inputs[0], files->pdata[0], &first, error)
      || !gemem_needs_take (&question.inputs[1], files->pdata[files->len - 1], &second, error)
      || !choose_allocators (&question, specs, files->len == 1, error))
    return NULL;
  return gemem_diff (&question, error);
}

static gboolean
answer_two (const GPtrArray *files, const GPtrArray *specs, const GememNeedOptions *options,
            gboolean json, GString *out, GError **error)
{
  g_autoptr (GememDiff) diff = compare (files, specs, options, error);

  if (diff == NULL || (plots != NULL && !draw (diff, error)))
    return FALSE;
  if (json)
    gemem_diff_append_json (out, diff);
  else
    gemem_diff_append (out, diff);
  return TRUE;
}

/* ---- two folders of ranks */

/* The difference of the recordings @paths of one rank; NULL with @error. */
static GememDiff *
compare_rank (const char *const paths[2], const GPtrArray *specs, const GememNeedOptions *options,
              GError **error)
{
  g_autoptr (GPtrArray)
      files = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_source_file_free);

  for (guint s = 0; s < 2; s++)
    if (gemem_source_files_add (files, paths[s], error) == 0)
      return NULL;
  return compare (files, specs, options, error);
}

static gboolean
answer_folders (char **folders, const GPtrArray *specs, const GememNeedOptions *options,
                gboolean json, GString *out, GError **error)
{
  g_autoptr (GArray) firsts = gemem_rank_files (folders[0], error), seconds = NULL;
  g_autoptr (GememRankPairs) pairs = gemem_rank_pairs_new (folders[0], folders[1]);

  if (firsts == NULL || (seconds = gemem_rank_files (folders[1], error)) == NULL)
    return FALSE;
  for (guint i = 0, j = 0; i < firsts->len || j < seconds->len;)
    {
      const GememRankFile *a = &g_array_index (firsts, GememRankFile, i),
                          *b = &g_array_index (seconds, GememRankFile, j);
      const gboolean first = i < firsts->len && (j == seconds->len || a->rank <= b->rank),
                     second = j < seconds->len && (i == firsts->len || b->rank <= a->rank);
      GememDiff *diff = NULL;

      if (first && second
          && (diff = compare_rank ((const char *const[2]){ a->path, b->path }, specs, options,
                                   error))
                 == NULL)
        return FALSE;
      gemem_rank_pairs_add (pairs, first ? a->rank : b->rank, diff, first ? 0 : 1);
      i += first;
      j += second;
    }
  if (json)
    gemem_rank_pairs_append_json (out, pairs);
  else
    gemem_rank_pairs_append (out, pairs);
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
  gboolean ok = by == NULL && plots == NULL && specs->len <= 1;

  if (!ok)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
        "%u recordings are taken for the ranks of one run: they go through one allocator, and "
        "are told apart by line; name two for %s",
        files->len,
        by != NULL      ? "--by"
        : plots != NULL ? "--plots"
                        : "two of -a");
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

/* ---- arguments */

static guint
count_folders (char **arguments)
{
  guint n = 0;

  for (; *arguments != NULL; arguments++)
    n += g_file_test (*arguments, G_FILE_TEST_IS_DIR);
  return n;
}

/* A folder is the ranks of a run: there is one, or there are two. */
static gboolean
want_folders (char **arguments, guint folders, GError **error)
{
  const gboolean ok = folders == g_strv_length (arguments) && folders <= 2;

  if (!ok)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
        "a folder is taken for the ranks of a run: name one, or two to compare them rank by "
        "rank");
  else if (plots != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "--plots draws two recordings: name those of one rank");
  return ok && plots == NULL;
}

static gboolean
add_files (GPtrArray *files, char **paths, GError **error)
{
  for (; *paths != NULL; paths++)
    if (gemem_source_files_add (files, *paths, error) == 0)
      return FALSE;
  return TRUE;
}

static gboolean
add_ranks (GPtrArray *files, const char *folder, GError **error)
{
  g_autoptr (GArray) ranks = gemem_rank_files (folder, error);

  for (guint i = 0; ranks != NULL && i < ranks->len; i++)
    if (gemem_source_files_add (files, g_array_index (ranks, GememRankFile, i).path, error) == 0)
      return FALSE;
  return ranks != NULL;
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
                               .runner = gemem_needs_runner ("replaying") };
  gboolean json, ok;
  guint folders;

  if (!gemem_want_arguments (&gemem_command_diff, arguments, 1, 1000, error)
      || !gemem_want_table_or_json (format, &json, error)
      || (device = gemem_want_simulated (device_spec, capacity, error)) == NULL
      || (specs = parse_allocators (error)) == NULL)
    return 2;
  folders = count_folders (arguments);
  if (folders > 0 && !want_folders (arguments, folders, error))
    return 2;
  if (folders == 1 ? !add_ranks (files, arguments[0], error)
                   : folders == 0 && !add_files (files, arguments, error))
    return 1;
  if (device_spec != NULL || capacity != NULL)
    options.device_spec = device;
  gemem_catch_interrupts ();
  gemem_terminal_fit (NULL);
  gemem_settings_note (specs, G_MAXUINT, files, FALSE);
  ok = folders == 2      ? answer_folders (arguments, specs, &options, json, out, error)
       : files->len <= 2 ? answer_two (files, specs, &options, json, out, error)
                         : answer_many (files, specs, &options, json, out, error);
  gemem_progress_end ();
  gemem_interrupts_over ();
  return ok && gemem_put (NULL, out->str, out->len, error) ? 0 : 1;
}

const GememCommand gemem_command_diff = {
  .name = "diff",
  .synopsis = "TRACE...|DIR...",
  .summary = "Say what changed: between two recordings, or two allocators",
  .description =
      "One screen: how much more is held, of that in use and idle, which lines of code hold it, "
      "which settings are others, what changed first, and how one block that lies elsewhere led to "
      "the difference.\nBlocks are matched by their line and "
      "the order of requests, not by ids and addresses.\nWith one recording, -a says through "
      "which other allocator it goes. More than two, or a folder, are the ranks of one run: which "
      "one decides, and how far the others are off it. Two folders are compared rank by rank.",
  .examples = "  gemem-sim diff before.pickle after.pickle\n"
              "      what changed between two runs of a program\n"
              "  gemem-sim diff step.gmt -a pytorch-expandable\n"
              "      the program as it is, and with expandable segments\n"
              "  gemem-sim diff out.rank-*.gmt\n"
              "      which rank decides, and what it holds that the others do not\n"
              "  gemem-sim diff before/ after/\n"
              "      two runs rank by rank: out.rank-0.gmt with out.rank-0.gmt, and so on\n"
              "  gemem-sim diff before.pickle after.pickle --plots difference\n"
              "      and a picture of both, with the difference filled\n",
  .options = { entries, gemem_plot_entries, gemem_source_entries },
  .run = run,
};

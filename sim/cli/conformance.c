/* conformance.c - `gemem-sim conformance`: does the manual tell the truth?  Every documented
 * sentence with its example, run under the documented rules and under those of what is built.
 *
 * Invariant: a figure that is not the one written in the table is an error of the table or of a
 * model; the command then ends with status 5, whatever it was asked to print.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/io/json-text.h"
#include "base/units.h"
#include "sim/cli/cli.h"
#include "sim/cli/options.h"
#include "sim/manuals/manuals.h"
#include "sim/report/report.h"
#include "sim/report/rows.h"

static char *format_name, *output_name;
static gboolean differing;

static const GOptionEntry entries[] = {
  { "differs", 0, 0, G_OPTION_ARG_NONE, &differing,
    "Only the sentences where what is built differs, or where a figure has changed", NULL },
  { "format", 'f', 0, G_OPTION_ARG_STRING, &format_name,
    "Form of the list (default: as the name of the output ends, else table)",
    "table|json|csv|markdown" },
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output_name, "Write it to FILE instead of stdout",
    "FILE" },
  { NULL }
};

#define GEMEM_MANUAL(symbol) extern const GememManual symbol;
#include "sim/manuals/manuals.def"
#undef GEMEM_MANUAL

static const GememManual *const manuals[] = {
#define GEMEM_MANUAL(symbol) &symbol,
#include "sim/manuals/manuals.def"
#undef GEMEM_MANUAL
  NULL
};

/* ---- what is shown */

typedef struct
{
  GPtrArray *manuals, *sentences; /* of the same length */
  GememShown *shown;
  guint equal, differ, unseen, changed;
} Shown;

/* TRUE if @word names the sentence: its system, its manual, its id or a glob of ids;
 * NULL names all. */
static gboolean
is_named (const char *word, const GememManual *manual, const GememSentence *sentence)
{
  return word == NULL || g_ascii_strcasecmp (word, manual->system) == 0
         || g_ascii_strcasecmp (word, manual->name) == 0
         || g_pattern_match_simple (word, sentence->id);
}

/* Adds the sentences that @word names and that are not there yet; FALSE: it names none. */
static gboolean
add_named (Shown *all, const char *word)
{
  gboolean any = FALSE;

  for (const GememManual *const *manual = manuals; *manual != NULL; manual++)
    for (guint i = 0; i < (*manual)->n_sentences; i++)
      {
        const GememSentence *sentence = &(*manual)->sentences[i];

        if (!is_named (word, *manual, sentence))
          continue;
        any = TRUE;
        if (g_ptr_array_find (all->sentences, sentence, NULL))
          continue;
        g_ptr_array_add (all->manuals, (gpointer) *manual);
        g_ptr_array_add (all->sentences, (gpointer) sentence);
      }
  return any;
}

static void
set_unknown (GError **error, const char *word)
{
  g_autoptr (GString) known = g_string_new (NULL);

  for (const GememManual *const *manual = manuals; *manual != NULL; manual++)
    g_string_append_printf (known, "%s%s", known->len > 0 ? ", " : "", (*manual)->name);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "no documented sentence '%s'; name a system (ge, paddle, memory_optimize), "
               "a manual (%s) or a sentence as 'gemem-sim conformance' lists them",
               word, known->str);
}

/* Adds the sentences that @words name, all if there are none. */
static gboolean
choose (Shown *all, char **words, GError **error)
{
  if (*words == NULL)
    return add_named (all, NULL);
  for (; *words != NULL; words++)
    if (!add_named (all, *words))
      {
        set_unknown (error, *words);
        return FALSE;
      }
  return TRUE;
}

/* Counts the verdicts; the id of the first sentence whose figure has changed, or NULL. */
static const char *
count (Shown *all)
{
  const char *changed = NULL;

  for (guint i = 0; i < all->sentences->len; i++)
    {
      const char *verdict = gemem_shown_verdict (&all->shown[i]);
      if (g_str_equal (verdict, "equal"))
        all->equal++;
      else if (g_str_equal (verdict, "differs"))
        all->differ++;
      else if (g_str_equal (verdict, "changed"))
        {
          if (all->changed++ == 0)
            changed = all->shown[i].sentence->id;
        }
      else
        all->unseen++;
    }
  return changed;
}

/* --differs: leaves out what is as documented. */
static gboolean
is_wanted (const GememShown *shown)
{
  const char *verdict = gemem_shown_verdict (shown);

  return !differing || g_str_equal (verdict, "differs") || g_str_equal (verdict, "changed");
}

static char *
closing_sentence (const Shown *all)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (
      text, "Of %u documented sentences, %u hold as built, %u do not, %u cannot be observed",
      all->sentences->len, all->equal, all->differ, all->unseen);
  if (all->changed > 0)
    g_string_append_printf (text, ", and %u gave another figure than the table has", all->changed);
  g_string_append (text, ".\n");
  return g_string_free (text, FALSE);
}

/* An exit status, as what became of the command. */
static char *
for_people_status (const char *status)
{
  if (g_str_equal (status, "0"))
    return g_strdup ("accepted");
  if (g_str_equal (status, "2"))
    return g_strdup ("refused");
  return g_strconcat ("status ", status, NULL);
}

/* Bytes: exact in a binary unit, or to four digits where that would be a long number. */
static void
append_bytes (GString *out, const char *figure, gboolean exact)
{
  char buffer[GEMEM_FORMAT_MAX];
  guint64 bytes;

  if (!gemem_parse_uint (figure, &bytes, NULL))
    g_string_append (out, figure);
  else if (exact || bytes < GEMEM_MIB || bytes % GEMEM_MIB == 0)
    g_string_append (out, gemem_format_size_exact (buffer, bytes));
  else
    g_string_append (out, gemem_format_size (buffer, bytes));
}

/* The figure of @s for people: "300MiB", "219 us", "refused"; "-" for none.  @exact: to the byte.
 * g_free(). */
static char *
for_people (const GememSentence *s, const char *figure, gboolean exact)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (figure == NULL)
    return g_strdup ("-");
  if (g_strcmp0 (s->figure, "status") == 0)
    return for_people_status (figure);
  if (g_strcmp0 (s->unit, "B") == 0)
    {
      g_auto (GStrv) figures = g_strsplit (figure, ", ", -1);
      for (guint i = 0; figures[i] != NULL; i++)
        {
          g_string_append (out, i > 0 ? ", " : "");
          append_bytes (out, figures[i], exact);
        }
    }
  else
    g_string_append_printf (out, "%s%s%s", figure, *s->unit != '\0' ? " " : "", s->unit);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* What the runs gave, or with @expected what the table says; g_free(). */
static char *
figure_text (const GememShown *shown, gboolean documented, gboolean expected)
{
  const GememSentence *s = shown->sentence;
  const char *run = documented ? shown->documented : shown->built;
  const char *written = documented ? s->documented : s->built;

  return for_people (s, expected ? written : run, !gemem_shown_as_written (shown));
}

/* ---- table */

static void
append_changed (GString *out, const GememShown *shown, const char *indent)
{
  for (guint documented = 0; documented <= 1; documented++)
    {
      const char *error = documented ? shown->documented_error : shown->built_error;
      const char *written = documented ? shown->sentence->documented : shown->sentence->built;
      if (g_strcmp0 (documented ? shown->documented : shown->built, written) == 0)
        continue;
      g_autofree char *text = figure_text (shown, documented, TRUE);
      g_string_append_printf (out, "%s%s should be %s%s%s\n", indent,
                              documented ? "documented" : "as built", text,
                              error != NULL ? ": " : "", error != NULL ? error : "");
    }
}

#define ALIGNED_MAX 20 /* so few rows of several manuals are aligned with each other */

/* Widths of the columns of the rows [@begin, @end): name, and both figures. */
static void
measure_columns (const Shown *all, guint begin, guint end, int *widths)
{
  widths[0] = widths[1] = widths[2] = 10;
  for (guint i = begin; i < end; i++)
    for (guint k = 0; k < 3 && is_wanted (&all->shown[i]); k++)
      {
        g_autofree char *text = k == 0 ? g_strdup (all->shown[i].sentence->id)
                                       : figure_text (&all->shown[i], k == 1, FALSE);
        widths[k] = MAX (widths[k], (int) g_utf8_strlen (text, -1));
      }
}

static void
append_row (GString *out, const GememShown *shown, const int *widths)
{
  g_autofree char *documented = figure_text (shown, TRUE, FALSE);
  g_autofree char *built = figure_text (shown, FALSE, FALSE);

  g_string_append_printf (out, "  %-14s  %-*s  %*s  %*s  %s\n", gemem_shown_verdict (shown),
                          widths[0], shown->sentence->id, widths[1], documented, widths[2], built,
                          shown->sentence->text);
  append_changed (out, shown, "    ");
}

static void
append_table (GString *out, const Shown *all)
{
  g_autofree char *closing = closing_sentence (all);

  for (guint begin = 0, end; begin < all->sentences->len; begin = end)
    {
      const GememManual *manual = all->manuals->pdata[begin];
      gboolean any = FALSE;
      int widths[3];

      for (end = begin; end < all->sentences->len && all->manuals->pdata[end] == manual; end++)
        any |= is_wanted (&all->shown[end]);
      if (!any)
        continue;
      if (all->sentences->len <= ALIGNED_MAX)
        measure_columns (all, 0, all->sentences->len, widths);
      else
        measure_columns (all, begin, end, widths);
      g_string_append_printf (out, "%s%s (%s)\n  %-14s  %-*s  %*s  %*s  sentence\n",
                              out->len > 0 ? "\n" : "", manual->title, manual->name, "verdict",
                              widths[0], "name", widths[1], "documented", widths[2], "as built");
      for (guint i = begin; i < end; i++)
        if (is_wanted (&all->shown[i]))
          append_row (out, &all->shown[i], widths);
    }
  g_string_append_printf (out, "%s%s", out->len > 0 ? "\n" : "", closing);
}

/* One sentence whole, with what to type. */
static void
append_one (GString *out, const GememManual *manual, const GememShown *shown)
{
  const GememSentence *s = shown->sentence;
  g_autofree char *documented = for_people (s, shown->documented, TRUE);
  g_autofree char *built = for_people (s, shown->built, TRUE);

  g_string_append_printf (out, "%s (%s)\n\n  %s\n\n", s->id, manual->title, s->text);
  if (s->example == NULL)
    {
      g_string_append_printf (out, "Not observable: %s\n", s->why);
      return;
    }
  g_string_append_printf (out, "%s: documented %s, as built %s\n%s\n\n",
                          gemem_shown_verdict (shown), documented, built, s->why);
  append_changed (out, shown, "");
  for (guint k = 0; k < 2; k++)
    {
      g_autofree char *command = gemem_sentence_command (s, k == 0, TRUE);
      if (k == 0 && strstr (s->example, "{rules}") == NULL)
        continue;
      g_string_append_printf (out, "%s\n", command);
    }
  if (s->unit != NULL && *s->unit != '\0')
    g_string_append_printf (out, "\nRead: %s, in %s\n", s->figure,
                            g_str_equal (s->unit, "B") ? "bytes" : s->unit);
  else
    g_string_append_printf (out, "\nRead: %s\n", s->figure);
}

/* ---- Markdown, the page in doc */

static const char page_head[] =
    "# Does the manual tell the truth?\n\n"
    "Every sentence of the manuals of the Ascend Graph Engine and of PaddlePaddle that says "
    "something\nabout memory, with an example that shows it: run by the manual's word "
    "(`rules=documented`) and as\nthe system is built (`rules=as-built`, the default). The "
    "figures were computed by hand; `make check`\nruns every row and fails if one changes. This "
    "page is what `gemem-sim conformance -f markdown` prints;\n`gemem-sim conformance NAME` "
    "shows one sentence with its input and the commands to type, and\n`gemem-sim conformance "
    "--differs` only those where manual and system differ.\n\n";

static void
append_markdown (GString *out, const Shown *all)
{
  const GememManual *manual = NULL;
  g_autofree char *closing = closing_sentence (all);

  g_string_append_printf (out, "%s%s", page_head, closing);
  for (guint i = 0; i < all->sentences->len; i++)
    {
      const GememShown *shown = &all->shown[i];
      const GememSentence *s = shown->sentence;
      if (!is_wanted (shown))
        continue;
      if (all->manuals->pdata[i] != manual)
        {
          manual = all->manuals->pdata[i];
          g_string_append_printf (out,
                                  "\n## %s\n\n| name | sentence | documented | as built | verdict "
                                  "| how the figures come about |\n"
                                  "| --- | --- | ---: | ---: | --- | --- |\n",
                                  manual->title);
        }
      g_autofree char *documented = figure_text (shown, TRUE, FALSE);
      g_autofree char *built = figure_text (shown, FALSE, FALSE);
      const char *const cells[] = { s->text, documented, built, gemem_shown_verdict (shown),
                                    s->why };
      g_string_append_printf (out, "| `%s` |", s->id);
      for (guint k = 0; k < G_N_ELEMENTS (cells); k++)
        {
          g_string_append_c (out, ' ');
          gemem_markdown_append_text (out, cells[k]);
          g_string_append (out, " |");
        }
      g_string_append_c (out, '\n');
    }
}

/* ---- JSON */

static void
append_figures (GString *out, const char *name, const char *written, const char *run,
                const char *error)
{
  gemem_json_append_name (out, name);
  g_string_append_c (out, '{');
  gemem_json_append_text_member (out, "expected", written);
  gemem_json_append_text_member (out, "figure", run);
  if (error != NULL)
    gemem_json_append_text_member (out, "error", error);
  g_string_append_c (out, '}');
}

static void
append_json (GString *out, const Shown *all)
{
  const char *separator = "\n";

  g_string_append_printf (out,
                          "{\"version\": 1, \"sentences\": %u, \"equal\": %u, \"differs\": %u, "
                          "\"not_observable\": %u, \"changed\": %u, \"rows\": [",
                          all->sentences->len, all->equal, all->differ, all->unseen, all->changed);
  for (guint i = 0; i < all->sentences->len; i++)
    {
      const GememShown *shown = &all->shown[i];
      const GememSentence *s = shown->sentence;
      const GememManual *manual = all->manuals->pdata[i];
      if (!is_wanted (shown))
        continue;
      g_string_append_printf (out, "%s  {", separator);
      separator = ",\n";
      const char *const members[][2] = { { "name", s->id },
                                         { "manual", manual->name },
                                         { "system", manual->system },
                                         { "sentence", s->text },
                                         { "verdict", gemem_shown_verdict (shown) },
                                         { "why", s->why } };
      for (guint k = 0; k < G_N_ELEMENTS (members); k++)
        gemem_json_append_text_member (out, members[k][0], members[k][1]);
      if (s->example != NULL)
        {
          g_autofree char *command = gemem_sentence_command (s, FALSE, FALSE);
          gemem_json_append_text_member (out, "unit", s->unit);
          append_figures (out, "documented", s->documented, shown->documented,
                          shown->documented_error);
          append_figures (out, "as_built", s->built, shown->built, shown->built_error);
          gemem_json_append_text_member (out, "example", s->example);
          gemem_json_append_text_member (out, "command", command);
          gemem_json_append_text_member (out, "input", s->input);
          gemem_json_append_text_member (out, "read", s->figure);
        }
      g_string_append_c (out, '}');
    }
  g_string_append (out, "\n]}\n");
}

/* ---- CSV */

static void
append_csv (GString *out, const Shown *all)
{
  g_string_append (out, "name,manual,system,sentence,unit,documented,as_built,verdict,why\n");
  for (guint i = 0; i < all->sentences->len; i++)
    {
      const GememShown *shown = &all->shown[i];
      const GememSentence *s = shown->sentence;
      const GememManual *manual = all->manuals->pdata[i];
      const char *const fields[] = { s->id,          manual->name,
                                     manual->system, s->text,
                                     s->unit,        shown->documented,
                                     shown->built,   gemem_shown_verdict (shown),
                                     s->why };
      if (!is_wanted (shown))
        continue;
      for (guint k = 0; k < G_N_ELEMENTS (fields); k++)
        {
          if (k > 0)
            g_string_append_c (out, ',');
          gemem_csv_append_field (out, fields[k]);
        }
      g_string_append_c (out, '\n');
    }
}

/* ---- the command */

static void
append (GString *out, const Shown *all, GememReportFormat format)
{
  if (format == GEMEM_FORMAT_JSON)
    append_json (out, all);
  else if (format == GEMEM_FORMAT_CSV)
    append_csv (out, all);
  else if (format == GEMEM_FORMAT_MARKDOWN)
    append_markdown (out, all);
  else if (all->sentences->len == 1)
    append_one (out, all->manuals->pdata[0], &all->shown[0]);
  else
    append_table (out, all);
}

/* Runs the chosen sentences and writes what they gave; the exit status. */
static int
show (Shown *all, GememReportFormat format, GError **error)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", error);
  g_autoptr (GString) out = g_string_new (NULL);
  const char *changed;
  gboolean written;

  if (program == NULL)
    return 1;
  all->shown = gemem_sentences_run (program, (const GememSentence *const *) all->sentences->pdata,
                                    all->sentences->len);
  changed = count (all);
  append (out, all, format);
  written = gemem_put (output_name, out->str, out->len, error);
  gemem_shown_free (all->shown, all->sentences->len);
  if (written && all->changed > 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_REGRESSION,
                 "%u of %u sentences give another figure than the table says, first %s; "
                 "'gemem-sim conformance %s' shows what was run and said",
                 all->changed, all->sentences->len, changed, changed);
  return written ? 0 : 1;
}

static int
run (char **arguments, GError **error)
{
  Shown all = { .manuals = g_ptr_array_new (), .sentences = g_ptr_array_new () };
  GememReportFormat format;
  const gboolean chosen = gemem_report_format_choose (format_name, output_name, &format, error)
                          && choose (&all, arguments, error);
  const int status = chosen ? show (&all, format, error) : 2;

  g_ptr_array_unref (all.manuals);
  g_ptr_array_unref (all.sentences);
  return status;
}

const GememCommand gemem_command_conformance = {
  .name = "conformance",
  .synopsis = "[ge|paddle|memory_optimize|MANUAL|SENTENCE]...",
  .summary = "Show which sentences of the real systems' manuals are true",
  .description =
      "Every documented sentence about memory is run as an example, by the manual's word\n"
      "(rules=documented) and as the system is built (rules=as-built), and both figures are "
      "shown.\n"
      "A single SENTENCE is shown with its input and the commands to type; names may hold * and "
      "?.\n"
      "Status 5: a figure is not the one that was computed by hand.",
  .examples = "  gemem-sim conformance\n"
              "  gemem-sim conformance paddle --differs\n"
              "  gemem-sim conformance ge -f markdown\n",
  .options = { entries },
  .run = run,
};

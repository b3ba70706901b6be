/* manual.c - the man pages, written from the command structs, the parameter tables and the measures: gemem-sim(1), which leads to
 * the others; gemem-sim-COMMAND(1), one for each command; gemem-KINDS(7), what there is of each kind, as gemem-allocators(7).
 *
 * Troff of the man macros; every text is escaped, no date is written (a page is the same on every
 * build).
 */
#include "config.h"

#include <string.h>

#include "sim/cli/commands.h"
#include "sim/cli/flags.h"
#include "sim/cli/options.h"
#include "sim/cli/plot-options.h"
#include "sim/cli/source.h"
#include "sim/cli/topics.h"
#include "sim/report/report.h"

/* Appends @text with troff's special characters escaped. */
static void
append_text (GString *out, const char *text)
{
  gboolean line_start = TRUE;
  for (; *text != '\0'; text++)
    {
      if (line_start && (*text == '.' || *text == '\''))
        g_string_append (out, "\\&");
      line_start = *text == '\n';
      if (*text == '\\')
        g_string_append (out, "\\e");
      else if (*text == '-')
        g_string_append (out, "\\-");
      else
        g_string_append_c (out, *text);
    }
}

static void
append_line (GString *out, const char *macro, const char *text)
{
  g_string_append (out, macro);
  append_text (out, text);
  g_string_append_c (out, '\n');
}

static void
append_entries (GString *out, const GOptionEntry *entries)
{
  for (; entries->long_name != NULL; entries++)
    {
      g_string_append (out, ".TP\n");
      if (entries->short_name != 0)
        g_string_append_printf (out, "\\fB\\-%c\\fR, ", entries->short_name);
      g_string_append (out, "\\fB\\-\\-");
      append_text (out, entries->long_name);
      g_string_append (out, "\\fR");
      if (entries->arg_description != NULL)
        {
          const gboolean optional = (entries->flags & G_OPTION_FLAG_OPTIONAL_ARG) != 0;

          g_string_append (out, optional ? "[=\\fI" : "=\\fI");
          append_text (out, entries->arg_description);
          g_string_append (out, optional ? "\\fR]" : "\\fR");
        }
      g_string_append_c (out, '\n');
      append_line (out, "", entries->description);
    }
}

/* @text as it is laid out. */
static void
append_laid_out (GString *out, const char *text)
{
  g_string_append (out, ".nf\n");
  append_line (out, "", text);
  g_string_append (out, ".fi\n");
}

/* The head of a page: its @name, a sentence about it without its full stop, in @section. */
static GString *
begin_page (const char *name, int section, const char *summary)
{
  GString *out = g_string_new (".TH ");
  g_autofree char *title = g_ascii_strup (name, -1);

  append_text (out, title);
  g_string_append_printf (out, " %d \"\" \"gemem " PACKAGE_VERSION "\" \"%s\"\n.SH NAME\n", section,
                          section == 1 ? "User Commands" : "Reference");
  append_text (out, name);
  g_string_append (out, " \\- ");
  append_line (out, "", summary);
  return out;
}

/* ---- a command */

/* The names of @entries, which several commands have; another page tells @what they do. */
static void
append_names (GString *out, const char *what, const GOptionEntry *entries)
{
  g_string_append_printf (out, "%s:", what);
  for (const GOptionEntry *entry = entries; entry->long_name != NULL; entry++)
    {
      g_string_append (out, entry == entries ? " \\-\\-" : ", \\-\\-");
      append_text (out, entry->long_name);
    }
  g_string_append (out, ".\n");
}

static void
append_options (GString *out, const GememCommand *command)
{
  extern const GememCommand gemem_command_plot;
  gboolean reads = FALSE, draws = FALSE;

  g_string_append (out,
                   ".SH OPTIONS\nThose of every command are in \\fBgemem\\-sim\\fR(1).\n.PD 0\n");
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    if (*list == gemem_source_entries)
      reads = TRUE;
    else if (*list == gemem_plot_entries && command != &gemem_command_plot)
      draws = TRUE;
    else
      append_entries (out, *list);
  g_string_append (out, ".PD\n");
  if (reads || draws)
    g_string_append (out, ".PP\n");
  if (reads)
    append_names (out, "How an input is read, in \\fBgemem\\-formats\\fR(7)", gemem_source_entries);
  if (draws)
    append_names (out, "How pictures look, in \\fBgemem\\-sim\\-plot\\fR(1)", gemem_plot_entries);
}

static char *
command_page (const GememCommand *command)
{
  g_autofree char *name = g_strconcat ("gemem-sim-", command->name, NULL);
  GString *out = begin_page (name, 1, command->summary);

  g_string_append (out, ".SH SYNOPSIS\n.B gemem\\-sim ");
  append_line (out, "", command->name);
  append_line (out, "", command->synopsis);
  if (command->description != NULL)
    {
      g_string_append (out, ".SH DESCRIPTION\n");
      append_line (out, "", command->description);
    }
  append_options (out, command);
  if (command->examples != NULL)
    {
      g_string_append (out, ".SH EXAMPLES\n");
      append_laid_out (out, command->examples);
    }
  g_string_append (out, ".SH SEE ALSO\n\\fBgemem\\-sim\\fR(1)\n");
  return g_string_free (out, FALSE);
}

/* ---- what there is of each kind */

static char *
plural_of (const char *kind)
{
  return g_strconcat (kind, "s", NULL);
}

static char *
topics_page (const char *kind)
{
  g_autofree char *plural = plural_of (kind);
  g_autofree char *name = g_strconcat ("gemem-", plural, NULL);
  g_autofree char *summary = g_strdup_printf ("the %s of gemem-sim, and their parameters", plural);
  g_autofree char *title = g_ascii_strup (plural, -1);
  g_autoptr (GArray) topics = gemem_topics (kind, NULL);
  GString *out = begin_page (name, 7, summary);

  if (strcmp (kind, "format") == 0)
    {
      g_string_append (out, ".SH OPTIONS\nOf every command that reads:\n");
      append_entries (out, gemem_source_entries);
    }
  append_line (out, ".SH ", title);
  for (guint i = 0; i < topics->len; i++)
    {
      const GememTopic *topic = &g_array_index (topics, GememTopic, i);
      g_autofree char *help = gemem_topic_help (topic);
      append_line (out, ".SS ", topic->name);
      append_laid_out (out, help);
    }
  g_string_append (out, ".SH SEE ALSO\n\\fBgemem\\-sim\\fR(1)\n");
  return g_string_free (out, FALSE);
}

static char *
flags_page (void)
{
  g_autofree char *text = gemem_flags_help ();
  GString *out = begin_page ("gemem-flags", 7, "the flags of PaddlePaddle, and what they do here");

  g_string_append (out, ".SH PADDLEPADDLE FLAGS\n");
  append_laid_out (out, text);
  g_string_append (out, ".SH SEE ALSO\n\\fBgemem\\-sim\\fR(1)\n");
  return g_string_free (out, FALSE);
}

static char *
measures_page (void)
{
  GString *out = begin_page ("gemem-measures", 7, "the measures of reports, tables and plots");

  g_string_append (
      out,
      ".SH MEASURES\n"
      "Each is defined once and means the same in every table, file and plot: its name in files "
      "and behind \\-\\-sort and\n"
      "\\-\\-columns, its title in tables, its definition (gemem\\-sim help measures). What is "
      "unknown is \\- in tables,\n"
      "empty in CSV and null in JSON.\n");
  for (guint i = 0; gemem_measure_name (i) != NULL; i++)
    {
      g_string_append (out, ".TP\n\\fB");
      append_text (out, gemem_measure_name (i));
      g_string_append (out, "\\fR (");
      append_text (out, gemem_measure_title (i));
      g_string_append (out, ")\n");
      append_line (out, "", gemem_measure_help (i));
    }
  g_string_append (out, ".SH SEE ALSO\n\\fBgemem\\-sim\\fR(1)\n");
  return g_string_free (out, FALSE);
}

/* ---- the page that leads to the others */

/* The environment variables of the real systems, Paddle's as one. */
static void
append_variables (GString *out)
{
  g_auto (GStrv) names = gemem_flags_variables ();

  g_string_append (out, ".TP\n\\fBFLAGS_*\\fR");
  for (guint i = 0; names[i] != NULL; i++)
    if (!g_str_has_prefix (names[i], "FLAGS_"))
      {
        g_string_append (out, ", \\fB");
        append_text (out, names[i]);
        g_string_append (out, "\\fR");
      }
  g_string_append (out, "\nSettings of PaddlePaddle, GE and PyTorch, read with \\-\\-env only; a "
                        "note says where one is set and would count.\n");
}

/* A line for each command and each kind. */
static void
append_pages (GString *out, const GememCommand *const *commands)
{
  g_string_append (out,
                   ".SH COMMANDS\nEach has a page of its own, gemem\\-sim\\-COMMAND(1).\n.PD 0\n");
  for (; *commands != NULL; commands++)
    {
      g_string_append (out, ".TP 13\n.B ");
      append_line (out, "", (*commands)->name);
      append_line (out, "", (*commands)->summary);
    }
  g_string_append (out, ".PD\n.SH REFERENCE\n");
  for (const char *const *kind = gemem_topic_kinds; *kind != NULL; kind++)
    g_string_append_printf (out, "\\fBgemem\\-%ss\\fR(7), ", *kind);
  g_string_append (out, "\\fBgemem\\-flags\\fR(7), \\fBgemem\\-measures\\fR(7)\n"
                        ".PP\nWhat any of them says of one name: gemem\\-sim help NAME.\n");
}

static char *
overview_page (const GememCommand *const *commands)
{
  GString *out = begin_page ("gemem-sim", 1,
                             "replay memory workloads through device-memory allocators");

  g_string_append (
      out,
      ".SH SYNOPSIS\n.B gemem\\-sim\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n"
      ".SH DESCRIPTION\n"
      "Replays a memory workload, recorded from a real program or generated, through any "
      "device\\-memory allocator on a\n"
      "simulated device, deterministically, and reports peak, fragmentation and latency side by "
      "side, with plots.\n"
      "Results go to standard output, messages to standard error.\n"
      ".PP\nAn input may be a pipe, a FIFO or \\- (standard input) where a file is named, "
      "compressed or not. It is read once, kept in an unnamed\n"
      "temporary file while it is used, and recognised by its content. It can be given once.\n"
      ".PP\nAn allocator is written \\fINAME\\fR[:\\fIkey\\fR=\\fIvalue\\fR,...]. Parameters bear "
      "the names they have in the real system; \\- and _ are\n"
      "the same, sizes take units (512MiB, 2GB, 80% of the device), times too (30us). Globs in "
      "\\fINAME\\fR and lists in\n"
      "values (a|b|c) give several allocators, * all values worth trying, behind a shorthand too. "
      "A "
      "device is written in the same\n"
      "way, and lists in its values give several devices.\n"
      ".PP\nA size with a fraction and a unit is rounded down to a byte: 39.4GiB is 42305427865 "
      "bytes. A number without a unit\n"
      "counts bytes, or the unit in [] behind the parameter (max_split_size_mb: MiB); then it is "
      "whole, as the real system\n"
      "reads it. Text that is the real system's own (PYTORCH_CUDA_ALLOC_CONF, FLAGS_ in the "
      "environment) takes no units.\n"
      "Amounts of memory below 4096 bytes need a unit: capacity=16 is refused, write 16GiB, or 16B "
      "if so few are meant.\n");
  g_string_append (out, ".SH OPTIONS\nOf every command, beside its own:\n");
  append_entries (out, gemem_common_entries);
  g_string_append (
      out,
      ".PP\nIf standard error is a terminal, work that takes more than half a second shows its "
      "share and the time left there.\n");
  append_pages (out, commands);
  g_string_append (
      out, ".SH EXIT STATUS\n.nf\n0    success\n1    failure (I/O, full disk)\n2    usage\n3    "
           "bad or partial input\n"
           "4    a request failed, under \\-\\-fail\\-on\\-oom\n5    worse than the baseline\n77   "
           "the device is not available\n"
           "130  interrupted; partial results are marked\n.fi\n"
           ".SH ENVIRONMENT\n.TP\n\\fBGEMEM_PLUGIN_PATH\\fR\nDirectories with allocator plugins, "
           "separated by colons. A plugin that cannot be used is skipped with a warning.\n"
           ".TP\n\\fBGEMEM_PROFILES\\fR\nDirectory of device profiles, searched before the "
           "installed ones.\n"
           ".TP\n\\fBTMPDIR\\fR\nFolder for the bytes of pipes and standard input, which are "
           "read once; /tmp if it is not set. The file has no name there.\n");
  append_variables (out);
  g_string_append (out,
                   ".TP\n\\fBCOLUMNS\\fR\nWidth of tables when standard output is not a terminal.\n"
                   ".SH SEE ALSO\n\\fBgemem\\-dry\\-run\\fR(1), \\fBgemem\\-record\\fR(1)\n");
  return g_string_free (out, FALSE);
}

/* ---- all */

char *
gemem_manual (const GememCommand *const *commands, const char *name)
{
  if (name == NULL)
    return overview_page (commands);
  for (; *commands != NULL; commands++)
    if (strcmp ((*commands)->name, name) == 0)
      return command_page (*commands);
  for (const char *const *kind = gemem_topic_kinds; *kind != NULL; kind++)
    {
      g_autofree char *plural = plural_of (*kind);
      if (strcmp (plural, name) == 0)
        return topics_page (*kind);
    }
  return strcmp (name, "flags") == 0      ? flags_page ()
         : strcmp (name, "measures") == 0 ? measures_page ()
                                          : NULL;
}

/* Writes the page of @name, NULL: the overview, as @folder/@file. */
static gboolean G_GNUC_PRINTF (5, 6)
    write_page (const GememCommand *const *commands, const char *name, const char *folder,
                GError **error, const char *file, ...)
{
  va_list arguments;

  va_start (arguments, file);
  g_autofree char *base = g_strdup_vprintf (file, arguments);
  va_end (arguments);
  g_autofree char *path = g_build_filename (folder, base, NULL);
  g_autofree char *text = gemem_manual (commands, name);
  return gemem_write_file (path, text, (gssize) strlen (text), error);
}

gboolean
gemem_manual_write (const GememCommand *const *commands, const char *folder, GError **error)
{
  static const char *const more[] = { "flags", "measures" };
  gboolean ok = write_page (commands, NULL, folder, error, "gemem-sim.1");

  for (guint i = 0; ok && commands[i] != NULL; i++)
    ok = write_page (commands, commands[i]->name, folder, error, "gemem-sim-%s.1",
                     commands[i]->name);
  for (const char *const *kind = gemem_topic_kinds; ok && *kind != NULL; kind++)
    {
      g_autofree char *plural = plural_of (*kind);
      ok = write_page (commands, plural, folder, error, "gemem-%s.7", plural);
    }
  for (guint i = 0; ok && i < G_N_ELEMENTS (more); i++)
    ok = write_page (commands, more[i], folder, error, "gemem-%s.7", more[i]);
  return ok;
}

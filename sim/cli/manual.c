/* manual.c - gemem-sim(1), written from the command structs, the parameter tables and the measures.
 *
 * Troff of the man macros; every text is escaped, no date is written (the page is the same on every
 * build).
 */
#include "config.h"

#include <string.h>

#include "sim/cli/commands.h"
#include "sim/cli/flags.h"
#include "sim/cli/options.h"
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

static void
append_command (GString *out, const GememCommand *command)
{
  g_autofree char *title = g_strdup_printf ("gemem-sim %s %s", command->name, command->synopsis);
  append_line (out, ".SS ", title);
  append_line (out, "", command->summary);
  if (command->description != NULL)
    {
      g_string_append (out, ".PP\n");
      append_line (out, "", command->description);
    }
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    append_entries (out, *list);
  if (command->examples != NULL)
    {
      g_string_append (out, ".PP\n.nf\n");
      append_line (out, "", command->examples);
      g_string_append (out, ".fi\n");
    }
}

static void
append_topics (GString *out, const char *kind)
{
  g_autoptr (GArray) topics = gemem_topics (kind, NULL);
  g_autofree char *plural = g_strconcat (kind, "s", NULL);
  g_autofree char *title = g_ascii_strup (plural, -1);
  append_line (out, ".SH ", title);
  for (guint i = 0; i < topics->len; i++)
    {
      const GememTopic *topic = &g_array_index (topics, GememTopic, i);
      g_autofree char *help = gemem_topic_help (topic);
      append_line (out, ".SS ", topic->name);
      g_string_append (out, ".nf\n");
      append_line (out, "", help);
      g_string_append (out, ".fi\n");
    }
}

static void
append_flags (GString *out)
{
  g_autofree char *text = gemem_flags_help ();
  g_string_append (out, ".SH PADDLEPADDLE FLAGS\n.nf\n");
  append_line (out, "", text);
  g_string_append (out, ".fi\n");
}

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

static void
append_measures (GString *out)
{
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
}

char *
gemem_manual (const GememCommand *const *commands)
{
  GString *out = g_string_new (
      ".TH GEMEM\\-SIM 1 \"\" \"gemem " PACKAGE_VERSION "\" \"User Commands\"\n"
      ".SH NAME\ngemem\\-sim \\- replay memory workloads through device\\-memory allocators\n"
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
  g_string_append (out, ".SH OPTIONS\nOf every command, beside those below:\n");
  append_entries (out, gemem_common_entries);
  g_string_append (
      out,
      ".PP\nIf standard error is a terminal, work that takes more than half a second shows its "
      "share and the time left there.\n");
  g_string_append (out, ".SH COMMANDS\n");
  for (; *commands != NULL; commands++)
    append_command (out, *commands);
  for (const char *const *kind = gemem_topic_kinds; *kind != NULL; kind++)
    append_topics (out, *kind);
  append_flags (out);
  append_measures (out);
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
  g_string_append (
      out, ".TP\n\\fBCOLUMNS\\fR\nWidth of tables when standard output is not a terminal.\n");
  return g_string_free (out, FALSE);
}

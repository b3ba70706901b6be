/* gemem-record.c - runs a program under the recorder and writes .gmt files of its memory calls.
 *
 *   gemem-record [-o FILE] [--stacks[=DEPTH]] [--] PROGRAM [ARGUMENTS]
 *   gemem-record --without-gpu ...       the same as gemem-dry-run ... (dry/verdict)
 *
 * The environment of the program names the library libgemem-record.so (LD_PRELOAD) and the folder
 * of the journals (GEMEM_JOURNALS), which is created beside FILE.  When the program has ended,
 * normally or not, each journal becomes a trace: FILE for the program itself, and FILE with the
 * process id before the extension for each child.
 *
 * Invariants: a failed recording never stops the program; standard streams and signals of the
 * program are unchanged; the exit status is that of the program (128 + n for signal n, 127 and 126
 * if the program cannot be run).  FILE is written completely or not at all.  Messages go to stderr.
 */
#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/launcher.h"

#define DRY_RUN "gemem-dry-run"

static char *output;
static int stacks;
static gboolean show_version, without_gpu;

static gboolean
parse_stacks (const char *name, const char *value, gpointer data, GError **error)
{
  return gemem_launcher_parse_stacks (value, &stacks, error);
}

static const GOptionEntry entries[] = {
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "where to write the trace (default: out.gmt)",
    "FILE" },
  { "stacks", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer) parse_stacks,
    "record the call stacks, DEPTH frames of each; without =DEPTH " G_STRINGIFY (
        GEMEM_LAUNCHER_FRAMES),
    "DEPTH" },
  { "version", 0, 0, G_OPTION_ARG_NONE, &show_version, "print the version", NULL },
  { "without-gpu", 0, 0, G_OPTION_ARG_NONE, &without_gpu,
    "as the first option: become gemem-dry-run, which needs no GPU and uses none", NULL },
  G_OPTION_ENTRY_NULL,
};

/* The kernel gives a script no rights of its file, but those of its interpreter. */
static gboolean
is_script (const char *path)
{
  FILE *file = fopen (path, "re");
  const gboolean is = file != NULL && getc (file) == '#' && getc (file) == '!';

  if (file != NULL)
    fclose (file);
  return is;
}

/* Converts one recording of those in a folder, of which @first is that of the program itself. */
static void
convert (const GememJournal *journal, const GememJournal *first, pid_t pid,
         const GememLaunchFacts *facts, const char *program, const char *without_events)
{
  const GememLaunchFacts others = { .format = "journal" };
  g_autofree char *path = journal == first ? g_strdup (output)
                                           : gemem_launcher_output (output, journal);
  guint64 count;

  if (gemem_launcher_still_runs (journal, pid))
    gemem_launcher_say ("process %" G_GINT64_FORMAT
                        " still runs; its recording is %s, which gemem-sim reads",
                        journal->pid, journal->path);
  else if (!gemem_launcher_convert (journal, journal == first ? facts : &others, path, &count))
    return;
  else if (journal != first && count > 0)
    gemem_launcher_say ("%s: recorded from process %" G_GINT64_FORMAT, path, journal->pid);
  else if (journal == first && count == 0)
    gemem_launcher_say ("%s used CUDA, but no allocation was recorded; %s %s", program, path,
                        without_events);
}

/* The program left no recording. */
static void
say_nothing (const char *program, const char *without_events)
{
  g_autofree char *path = g_find_program_in_path (program);
  const char *reason = path != NULL && !is_script (path) ? gemem_launcher_privileged (path) : NULL;

  if (reason != NULL)
    gemem_launcher_say ("%s: LD_PRELOAD has no effect on it, so nothing was recorded: %s; %s %s",
                        program, reason, output, without_events);
  else
    gemem_launcher_say ("%s made no CUDA calls that are recorded; %s %s", program, output,
                        without_events);
}

static void
finish (const char *program, const GememFolder *folder, pid_t pid, int status)
{
  g_autoptr (GPtrArray) journals = gemem_launcher_journals (folder, ".gmj");
  const GememJournal *first = gemem_launcher_main (journals, pid);
  g_autofree char *ended = gemem_launcher_ended (status);
  const GememLaunchFacts facts = { .format = "journal",
                                   .ended = ended,
                                   .keeps_earlier = status != 0 };
  const char *without_events = status != 0 && gemem_launcher_keeps (output) ? "is left as it was"
                                                                            : "holds no events";
  guint64 count;

  if (!gemem_launcher_finds (folder))
    return;
  for (guint i = 0; i < journals->len; i++)
    convert (journals->pdata[i], first, pid, &facts, program, without_events);
  if (first == NULL && gemem_launcher_convert (NULL, &facts, output, &count))
    say_nothing (program, without_events);
}

/* Parses the options before the program; *@arguments then starts with the program. */
static gboolean
parse (int *count, char ***arguments, GError **error)
{
  static const char *const valued[] = { "-o", "--output", NULL };
  gemem_launcher_name_depth (*count, *arguments, valued);
  if (!gemem_launcher_parse (entries, "PROGRAM [ARGUMENTS...]",
                             "Runs PROGRAM and records its use of CUDA memory as a trace for "
                             "gemem-sim.",
                             count, arguments, error))
    return FALSE;
  if (without_gpu)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                   "write --without-gpu as the first option, before those of gemem-dry-run");
      return FALSE;
    }
  if (*count < 2 && !show_version)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                 "name a program to run; 'gemem-record --help' shows how");
  return *count >= 2 || show_version;
}

/* Becomes gemem-dry-run, with the other @arguments; returns only if that cannot be run. */
static int
become_dry_run (char **arguments)
{
  g_autofree char *program = gemem_launcher_find (DRY_RUN, GEMEM_BINDIR);
  arguments[1] = arguments[0];
  if (program != NULL)
    execv (program, arguments + 1);
  gemem_launcher_say (DRY_RUN " was not found in " GEMEM_BINDIR "; install gemem whole");
  return GEMEM_LAUNCHER_NOT_FOUND;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  pid_t pid;

  setlocale (LC_ALL, "");
  gemem_launcher_begin ("gemem-record");
  if (argc > 1 && strcmp (argv[1], "--without-gpu") == 0)
    return become_dry_run (argv);
  if (!parse (&argc, &argv, &error))
    {
      gemem_launcher_say ("%s", error->message);
      return 2;
    }
  if (show_version)
    {
      puts ("gemem-record " PACKAGE_VERSION);
      return 0;
    }
  g_autofree char *given = output != NULL ? output : g_strdup ("out.gmt");
  output = g_canonicalize_filename (given, NULL);
  char *links = NULL; /* see gemem_launcher_list_path() */
  g_autofree char *library = gemem_launcher_find (GEMEM_LAUNCHER_RECORDER, GEMEM_PKGLIBDIR);
  g_autofree char *name = g_strconcat (output, ".recording-XXXXXX", NULL);
  GememFolder folder = { NULL };
  if (library == NULL)
    gemem_launcher_say (GEMEM_LAUNCHER_RECORDER " was not found in " GEMEM_PKGLIBDIR
                                                "; %s runs without being recorded",
                        argv[1]);
  else if ((library = gemem_launcher_list_path (library, &links, &error)) == NULL)
    gemem_launcher_say ("%s; %s runs without being recorded", error->message, argv[1]);
  else if (!gemem_folder_make (&folder, name))
    {
      gemem_launcher_say ("%s: %s; %s runs without being recorded", given, g_strerror (errno),
                          argv[1]);
      g_clear_pointer (&library, g_free);
    }
  g_auto (GStrv) environment = g_get_environ ();
  if (library != NULL)
    environment = gemem_launcher_record (
        gemem_launcher_preload (g_steal_pointer (&environment), library), folder.path, stacks);
  int status = gemem_launcher_run (argv + 1, environment, NULL, &pid);
  if (library != NULL)
    finish (argv[1], &folder, pid, status);
  gemem_folder_clear (&folder, gemem_launcher_is_recording);
  gemem_launcher_remove_links (links);
  return status;
}

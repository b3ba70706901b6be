/* dry-run.c - gemem-dry-run: runs a program over a GPU that is not there, and says whether it fits.
 *
 *   gemem-dry-run [--gpu NAME] [--capacity SIZE] [--gpus N] [-o FILE] [--] PROGRAM [ARGUMENTS]
 *   gemem-dry-run --fit 'NAME=FROM..TO' [--fit 'OTHER=A,B,C']... -- PROGRAM ... NAME ... OTHER ...
 *
 * The program is unchanged; the CUDA libraries below it are ours (dry): they return
 * addresses that nobody backs and run no kernel.  Its requests become FILE, as with gemem-record,
 * and the verdict follows on stderr.
 *
 * Invariants: those of launcher.h.  Unlike gemem-record it runs nothing where it cannot stand for the
 * GPU: a real one would be used.  The exit status is that of the program, 2 for a wrong option.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/units.h"
#include "dry/verdict/verdict.h"
#include "sim/report/report.h"

#define GPU "h100" /* without --gpu */
#define GPUS_MAX 16

static DryOptions options = { .gpus = 1, .orders = 3, .rank = -1 };
static char *gpu_name, *gpcs, *capacity, *context, *workspaces;
static char **fit;
static gboolean fail_unless_fits, show_version;

static gboolean
parse_stacks (const char *name, const char *value, gpointer data, GError **error)
{
  return gemem_launcher_parse_stacks (value, &options.stacks, error);
}

static const GOptionEntry entries[] = {
  { "gpu", 0, 0, G_OPTION_ARG_STRING, &gpu_name,
    "the GPU to stand for (default: " GPU "); 'gemem-sim list gpus' shows all", "NAME" },
  { "gpcs", 0, 0, G_OPTION_ARG_STRING, &gpcs,
    "how many multiprocessors each of its GPCs has, by which cuDNN chooses (default: those of one "
    "that was "
    "measured, else the same for all)",
    "N,N,..." },
  { "capacity", 0, 0, G_OPTION_ARG_STRING, &capacity,
    "its memory (default: that of the GPU), as in 24GiB", "SIZE" },
  { "context", 0, 0, G_OPTION_ARG_STRING, &context,
    "what the process holds besides what it asks for (default: CUDA's context where it was "
    "measured, without --capacity; else 0)",
    "SIZE" },
  { "workspaces", 0, 0, G_OPTION_ARG_STRING, &workspaces,
    "size to take for each workspace whose size only NVIDIA's libraries know. "
    "The program runs a second time with it, for the upper end of the verdict",
    "SIZE" },
  { "stand-ins", 0, 0, G_OPTION_ARG_NONE, &options.stand_ins,
    "do not run cuDNN, cuSOLVER, cuSPARSE and NCCL where they are installed. "
    "The sizes of their workspaces and buffers are not known then",
    NULL },
  { "gpus", 0, 0, G_OPTION_ARG_INT, &options.gpus, "how many of them (default: 1)", "N" },
  { "rank", 0, 0, G_OPTION_ARG_INT, &options.rank,
    "run rank R alone, of a distributed PyTorch program of --world ranks", "R" },
  { "world", 0, 0, G_OPTION_ARG_INT, &options.world,
    "how many ranks the program has, of which --rank runs; --gpus of them on each machine", "N" },
  { "orders", 0, 0, G_OPTION_ARG_INT, &options.orders,
    "over how many orders of addresses to give peaks (default: 3)", "N" },
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
    "where to write the trace (default: out.gmt)", "FILE" },
  { "stacks", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer) parse_stacks,
    "record the call stacks of CUDA calls, DEPTH frames of each; without =DEPTH " G_STRINGIFY (
        GEMEM_LAUNCHER_FRAMES) ". Those of PyTorch's requests are always there",
    "DEPTH" },
  { "value", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.values,
    "what a Python program reads from the GPU where REGEX matches its stack (default: 0). "
    "One value after the other: 0*99,1. Several may be given",
    "REGEX=N" },
  { "details", 0, 0, G_OPTION_ARG_NONE, &options.details,
    "show every row of the verdict: also how it was found", NULL },
  { "once", 0, 0, G_OPTION_ARG_NONE, &options.once,
    "do not run a program again that reads integers or truth values from the GPU, to see whether "
    "memory follows from them",
    NULL },
  { "fill-host", 0, 0, G_OPTION_ARG_NONE, &options.fill_host,
    "let PyTorch draw the random numbers of large tensors on the host (default: zeros, without "
    "memory)",
    NULL },
  { "json", 0, 0, G_OPTION_ARG_FILENAME, &options.json,
    "write the verdict for programs, too; '-': on standard output", "FILE" },
  { "fit", 0, 0, G_OPTION_ARG_STRING_ARRAY, &fit,
    "find the largest value of NAME, a word in the arguments, with which the program fits. "
    "VALUES are FROM..TO or A,B,C. Given again: a table over the values of the others",
    "NAME=VALUES" },
  { "until", 0, 0, G_OPTION_ARG_STRING, &options.until,
    "end the program when it has printed TEXT: a server that is ready, and waits for requests",
    "TEXT" },
  { "verbose", 'v', 0, G_OPTION_ARG_NONE, &options.verbose,
    "with --fit: show what the program prints in each run, not only in one that fails", NULL },
  { "fail-unless-fits", 0, 0, G_OPTION_ARG_NONE, &fail_unless_fits,
    "exit with status 4 unless the program ended well and the verdict is a plain 'fits'", NULL },
  { "version", 0, 0, G_OPTION_ARG_NONE, &show_version, "print the version", NULL },
  G_OPTION_ENTRY_NULL,
};

static gboolean
check_number (const char *name, int number, int most, GError **error)
{
  if (number >= 1 && number <= most)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--%s=%d: write a number from 1 to %d", name,
               number, most);
  return FALSE;
}

/* Parses the size of option @name, if it was given, into *@bytes. */
static gboolean
take_size (const char *name, const char *text, guint64 *bytes, GError **error)
{
  if (text == NULL
      || (gemem_check_unit (text, error) && gemem_parse_size (text, 1, 0, bytes, error)))
    return TRUE;
  g_prefix_error (error, "--%s=", name);
  return FALSE;
}

/* TRUE if @text is a number, or one for each read: "0*99,1" (values.py). */
static gboolean
are_numbers (const char *text)
{
  g_auto (GStrv) steps = g_strsplit (text, ",", -1);
  gboolean ok = *steps != NULL;

  for (char **step = steps; ok && *step != NULL; step++)
    {
      g_auto (GStrv) sides = g_strsplit (*step, "*", 2);
      double number;
      guint64 times;
      ok = gemem_parse_double (sides[0], &number, NULL)
           && (sides[1] == NULL || gemem_parse_digits (sides[1], 10, 1, G_MAXINT32, &times));
    }
  return ok;
}

/* Checks that each --value is a regular expression and a number, or several. */
static gboolean
check_values (GError **error)
{
  for (char **value = options.values; value != NULL && *value != NULL; value++)
    {
      const char *equals = strrchr (*value, '=');
      g_autofree char *pattern = g_strndup (*value, equals != NULL ? (gsize) (equals - *value) : 0);
      g_autoptr (GRegex) regex = g_regex_new (pattern, 0, 0, NULL);
      if (equals == NULL || regex == NULL || !are_numbers (equals + 1))
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "--value=%s: write a regular expression, '=' and a number, as in "
                       "'train.py:12 =5', or one for each read, as in 'train.py:12 =0*99,1'",
                       *value);
          return FALSE;
        }
    }
  return TRUE;
}

/* FALSE with @error if @path, of option @name, cannot be written: said before the program runs, not
 * after it. */
static gboolean
check_file (const char *name, const char *path, GError **error)
{
  if (gemem_write_check (path, error))
    return TRUE;
  g_prefix_error (error, "--%s=", name);
  return FALSE;
}

/* Checks --rank and --world, one of which is nothing without the other. */
static gboolean
check_rank (const char *program, GError **error)
{
  g_autofree char *name = g_path_get_basename (program);

  if (options.rank == -1 && options.world == 0)
    return TRUE;
  if (options.rank < 0 || options.world < 1 || options.world > DRY_WORLD_MAX
      || options.rank >= options.world)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "--rank=%d --world=%d: write both, a rank from 0 and the number of ranks, at "
                 "most " G_STRINGIFY (DRY_WORLD_MAX),
                 options.rank, options.world);
  else if (strcmp (name, "torchrun") == 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "--rank runs one process, which torchrun would tell another rank; write python in "
                 "its place");
  else
    return TRUE;
  return FALSE;
}

/* --gpcs, for the driver, which reads it again. */
static gboolean
take_gpcs (GError **error)
{
  GememGpu copy = *options.gpu;

  options.gpcs = gpcs != NULL ? gpcs : "";
  return gpcs == NULL || gemem_gpu_set_gpcs (&copy, gpcs, error);
}

static gboolean
take_options (const char *program, GError **error)
{
  options.gpu = gemem_gpu_find_cuda (gpu_name != NULL ? gpu_name : GPU, error);
  if (options.gpu == NULL || !take_gpcs (error))
    return FALSE;
  options.capacity = options.gpu->memory;
  options.context = capacity == NULL ? options.gpu->context
                                     : 0; /* another capacity is another GPU */
  if (!take_size ("capacity", capacity, &options.capacity, error)
      || !take_size ("context", context, &options.context, error)
      || !take_size ("workspaces", workspaces, &options.workspaces, error) || !check_values (error)
      || !check_rank (program, error) || !check_number ("gpus", options.gpus, GPUS_MAX, error)
      || !check_number ("orders", options.orders, DRY_ORDERS_MAX, error))
    return FALSE;
  options.given_context = context != NULL && options.context > 0;
  if (options.until != NULL && *options.until == '\0')
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--until=: write what the program prints when it is ready");
      return FALSE;
    }
  if (options.context >= options.capacity)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   context != NULL ? "--context=%s leaves nothing of the capacity; write less"
                                   : "--capacity=%s: a GPU without memory; write more",
                   context != NULL ? context : capacity);
      return FALSE;
    }
  g_autofree char *given = options.output != NULL ? options.output : g_strdup ("out.gmt");
  if (g_file_test (given, G_FILE_TEST_EXISTS) && !g_file_test (given, G_FILE_TEST_IS_DIR)
      && !g_file_test (given, G_FILE_TEST_IS_REGULAR))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--output=%s: a device or a pipe, and the trace is read again; name a file",
                   given);
      return FALSE;
    }
  if (!check_file ("output", given, error)
      || (options.json != NULL && !check_file ("json", options.json, error)))
    return FALSE;
  options.output = g_canonicalize_filename (given, NULL);
  g_autofree char *json = g_canonicalize_filename (options.json != NULL ? options.json : "-", NULL);
  if (strcmp (json, options.output) != 0)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--json=%s: the trace is written there (-o); name another file", options.json);
  return FALSE;
}

/* Parses the options before the program; *@arguments then starts with the program. */
static gboolean
parse (int *count, char ***arguments, GError **error)
{
  static const char *const valued[] = { "--gpu",  "--capacity", "--context", "--workspaces",
                                        "--gpus", "--rank",     "--world",   "--orders",
                                        "-o",     "--output",   "--value",   "--json",
                                        "--fit",  NULL };
  gemem_launcher_name_depth (*count, *arguments, valued);
  if (!gemem_launcher_parse (
          entries, "PROGRAM [ARGUMENTS...]",
          "Runs PROGRAM, unchanged, without a GPU, and says how much memory of one "
          "it needs.",
          count, arguments, error))
    return FALSE;
  if (*count < 2 && !show_version)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "name a program to run; 'gemem-dry-run --help' shows how");
      return FALSE;
    }
  return show_version || take_options ((*arguments)[1], error);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  DryVerdict *verdict;
  int status;

  setlocale (LC_ALL, "");
  gemem_launcher_begin ("gemem-dry-run");
  if (argc > 1 && strcmp (argv[1], "--print-environment") == 0) /* by sitecustomize.py */
    return gemem_library_print_environment (argv + 2);
  if (!parse (&argc, &argv, &error))
    {
      gemem_launcher_say ("%s%s", error->message,
                          g_error_matches (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION)
                              ? "; 'gemem-dry-run --help' shows all"
                              : "");
      return 2;
    }
  if (show_version)
    {
      puts ("gemem-dry-run " PACKAGE_VERSION);
      return 0;
    }
  if (fit != NULL)
    return gemem_library_fit (&options, fit, argv + 1);
  verdict = gemem_library_run_once (&options, argv + 1, &error);
  if (verdict == NULL)
    {
      gemem_launcher_say ("%s", error->message);
      return g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOENT) ? GEMEM_LAUNCHER_NOT_FOUND
                                                                       : GEMEM_LAUNCHER_CANNOT_RUN;
    }
  gemem_library_note_conditions (verdict);
  if (verdict->most != NULL)
    gemem_library_note_conditions (verdict->most);
  status = verdict->status;
  if (status == 0 && verdict->lost > 0 && verdict->findings->len == 0)
    status = 1; /* what was asked for is not there; the messages say why */
  if (status == 0 && fail_unless_fits && (verdict->findings->len == 0 || verdict->fit != DRY_FITS))
    status = 4;
  gemem_library_verdict_print (&options, verdict);
  if (options.json != NULL && !gemem_library_verdict_write_json (&options, verdict, &error))
    {
      gemem_launcher_say ("%s", error->message);
      status = status != 0 ? status : 1;
    }
  gemem_library_verdict_free (verdict);
  return status;
}

/* cli.h - what a subcommand is, and what the subcommands share.
 *
 * A subcommand is one file with one `const GememCommand` and one line in commands.def; usage, help,
 * the man page and the shell completion are derived from these structs and from the registries of
 * the library.
 *
 * Conventions: results go to stdout, everything else to stderr as "gemem-sim:
 * error|warning|note: ..."; exit statuses are those of gemem_error_exit_status().  Commands return
 * errors, main() prints them.
 */
#pragma once

#include <gio/gio.h>

#include "base/error.h"
#include "base/params.h"

#define GEMEM_PROGRAM "gemem-sim"

typedef struct
{
  const char *name;               /* "replay" */
  const char *synopsis;           /* its arguments: "TRACE" */
  const char *summary;            /* one line, no full stop */
  const char *description;        /* paragraphs, separated by an empty line */
  const char *examples;           /* "COMMAND LINE\n  what it does\n" pairs, or NULL */
  const GOptionEntry *options[5]; /* its own and those it shares with others; NULL-terminated */
  /* The positional arguments (NULL-terminated).  Returns the exit status; with @error set that of
   * the error counts. */
  int (*run) (char **arguments, GError **error);
} GememCommand;

/* NULL-terminated, in the order of commands.def */
const GememCommand *const *gemem_commands (void);
const GememCommand *gemem_command_find (const char *name, GError **error);

/* ---- options.c */

/* The words of @argv without the options of @command and --help, argv[0] first (g_strfreev); option
 * values go where their entries say. */
char **gemem_parse_options (const GememCommand *command, int argc, char **argv, gboolean *help,
                            GError **error);

/* ---- outputs.c */

typedef struct
{
  const char *option; /* "--output" */
  const char *path;   /* or NULL, "-" */
} GememOutputFile;

/* Before the work begins: no output is one of @inputs (NULL-terminated) or another output, and each
 * lies in a folder that can be written. */
gboolean gemem_check_outputs (const GememOutputFile *outputs, guint n, char **inputs,
                              GError **error);

/* ---- output.c */

void gemem_note (const char *format, ...) G_GNUC_PRINTF (1, 2);
void gemem_warn (const char *format, ...) G_GNUC_PRINTF (1, 2);
void gemem_print_error (const GError *error);

/* Writes @text to @path, or to stdout when @path is NULL or "-".  A full disk is an error that
 * names the file. */
gboolean gemem_put (const char *path, const char *text, gsize length, GError **error);

/* Monotonic time in ns: for what is measured. */
guint64 gemem_host_clock (void);
/* Returns when it has come to @until, or when interrupted. */
void gemem_host_wait (guint64 until);

/* Usage errors about positional arguments. */
gboolean gemem_want_arguments (const GememCommand *command, char **arguments, guint min, guint max,
                               GError **error);

/* Columns of the terminal; 0 when stdout is none and COLUMNS is not set. */
guint gemem_terminal_width (void);

/* Set by SIGINT, SIGTERM and SIGHUP once gemem_catch_interrupts() was called. */
extern gint gemem_interrupted;
void gemem_catch_interrupts (void);

/* ---- topics.c: everything that has a name, from all registries */

typedef struct
{
  const char *kind; /* one of gemem_topic_kinds */
  const char *name, *aliases, *summary, *origin;
  const GememParam *params; /* or NULL */
} GememTopic;

/* Of one kind (singular or plural), or of all (NULL): GArray of GememTopic; NULL with
 * GEMEM_ERROR_USAGE for an unknown kind. */
GArray *gemem_topics (const char *kind, GError **error);
/* The kinds, singular, NULL-terminated. */
extern const char *const gemem_topic_kinds[];
/* Name, summary, origin and a paragraph per parameter, for people. */
char *gemem_topic_help (const GememTopic *topic);
/* "SIZE [MiB]  (default: 0; at most 1GiB)": what values @param takes. */
void gemem_param_append_values (GString *out, const GememParam *param);

/* ---- main.c, manual.c, completion.c */

/* "Usage: ..." with options, for people. */
char *gemem_command_usage (const GememCommand *command);
char *gemem_overview (void);
char *gemem_manual (void);     /* man page, troff */
char *gemem_completion (void); /* bash */

/* cli.h - the definition of a subcommand, and functions shared by subcommands.
 *
 * A subcommand is one file with one `const GememCommand` and one line in commands.def; usage, help,
 * the man page and the shell completion are derived from these structs and from the registries of
 * the library.
 *
 * Conventions: results go to stdout, everything else to stderr as "gemem-sim: error|warning|note:
 * ..."; exit statuses are those of gemem_error_exit_status().  Commands return errors, which main()
 * prints.
 */
#pragma once

#include <gio/gio.h>

#include "base/error.h"
#include "base/params.h"
#include "sim/plots/canvas.h"

#define GEMEM_PROGRAM "gemem-sim"

typedef struct
{
  const char *name;               /* "replay" */
  const char *synopsis;           /* its arguments: "TRACE" */
  const char *summary;            /* one line, no full stop */
  const char *description;        /* paragraphs, separated by an empty line */
  const char *examples;           /* "COMMAND LINE\n  what it does\n" pairs, or NULL */
  const GOptionEntry *options[7]; /* its own and those it shares with others; NULL-terminated */
  /* Runs with the positional arguments (NULL-terminated).  Returns the exit status; if @error is
   * set, that of the error counts. */
  int (*run) (char **arguments, GError **error);
} GememCommand;

/* ---- output.c */

/* --quiet: neither progress nor notes are printed. */
extern gboolean gemem_quiet;

void gemem_note (const char *format, ...) G_GNUC_PRINTF (1, 2);
void gemem_warn (const char *format, ...) G_GNUC_PRINTF (1, 2);
void gemem_print_error (const GError *error);

/* Writes @text to @path, or to stdout if @path is NULL or "-".  A full disk is an error that names
 * the file. */
gboolean gemem_put (const char *path, const char *text, gsize length, GError **error);
/* Writes to stdout @shown, in which every name is visible already and which may obey what
 * gemem_terminal_look() says. */
gboolean gemem_put_drawing (const GString *shown, GError **error);

/* Monotonic time in ns, for measurements. */
guint64 gemem_host_clock (void);
/* Returns when the clock reaches @until, or when interrupted. */
void gemem_host_wait (guint64 until);

/* Columns of the terminal; 0 if stdout is no terminal and COLUMNS is not set. */
guint gemem_terminal_width (void);
/* Lets lines follow the terminal's width where the answer goes there: @path is NULL or "-", and stdout is one. */
void gemem_terminal_fit (const char *path);
/* Whether @descriptor is a terminal that obeys sequences of escape. */
gboolean gemem_terminal_obeys (int descriptor);
/* What stdout shows: UTF-8 as the locale says, colours on a terminal unless NO_COLOR is set. */
GememTextLook gemem_terminal_look (void);

/* For a note or warning: what a folder of plots lacks without gnuplot. */
#define GEMEM_NOT_DRAWN \
  "gnuplot was not found: %s holds the data (.dat) and the scripts (.gp); draw them with " \
  "'gnuplot " \
  "*.gp' there"

/* Set by SIGINT, SIGTERM and SIGHUP after gemem_catch_interrupts(). */
extern gint gemem_interrupted;
void gemem_catch_interrupts (void);
/* The work that can be interrupted has ended.  Before, a signal ends the program within a second
 * even where nothing looks at gemem_interrupted; from here on, it lets what was found be written.
 * A second signal always ends it at once. */
void gemem_interrupts_over (void);

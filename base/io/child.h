/* child.h - runs another program to its end, with its standard input and outputs in memory;
 * words for a shell.
 *
 * Not GSubprocess: it needs a thread of GLib, and where a limit of memory keeps that from being
 * made its wait has no end; nor does anything interrupt it. */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef struct
{
  const char *const *argv; /* argv[0]: the program's path; ends with NULL */
  char **environment;      /* NULL: this program's */
  const char *folder;      /* to run in; NULL: the current one */
  const char *input;       /* standard input; NULL: none */
  const gint *stop;        /* atomic: the child is killed once it is not 0; NULL: nothing does */
  gint *running; /* atomic: the child's process while it may be killed, else 0; may be NULL */
} GememChild;

/* Runs @child; what it writes to standard output and standard error is appended to @text and
 * @messages.  Returns its wait status, or -1 with @error where it could not be started (of
 * G_SPAWN_ERROR, G_UNIX_ERROR or GEMEM_ERROR).  A child that was stopped has the status of SIGKILL.
 * Any number of threads may do so. */
int gemem_child_run (const GememChild *child, GString *text, GString *messages, GError **error);

/* @word as a shell reads it back, quoted only where it must be.  g_free(). */
char *gemem_shell_word (const char *word);

GEMEM_END_DECLS

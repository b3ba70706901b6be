/* output.h - writes a file that is complete or absent: under a temporary name beside its path,
 * renamed at the end.
 *
 * Paths that are not regular files (a pipe, /dev/stdout, /dev/full) and "-" (standard output) are
 * written directly.  A symbolic link is followed, also to what is not there yet: its target is
 * replaced, not the link.  No fsync:
 * this guards against full disks and interrupted programs, not against power loss.
 *
 * Invariants: after an error or discard no part of the file remains; an older file of the same name
 * is unchanged until finish; the new one has its access rights.
 */
#pragma once

#include <glib.h>

typedef struct _GememOutput GememOutput;

/* Errors of all: GEMEM_ERROR_FAILED naming the file. */
/* FALSE if nothing can be written at @path: a folder is there, or its folder cannot be written.  Touches
 * nothing.  A full disk shows only while writing. */
gboolean gemem_output_check (const char *path, GError **error);
GememOutput *gemem_output_create (const char *path, GError **error);
gboolean gemem_output_write (GememOutput *output, gconstpointer data, gsize size, GError **error);
/* Bytes written so far. */
guint64 gemem_output_offset (const GememOutput *output);
const char *gemem_output_name (const GememOutput *output);
/* The file will have @ending appended to its name; no effect where it is written directly. */
void gemem_output_add_ending (GememOutput *output, const char *ending);
/* Completes the file and frees @output; on error the file is removed. */
gboolean gemem_output_finish (GememOutput *output, GError **error);
void gemem_output_discard (GememOutput *output);

/* A file that is not to stay where the program ends at once.  Adding one links it in; @path must
 * remain until it is removed from the list, which leaves the file alone. */
typedef struct _GememTemporary
{
  const char *path;
  /* atomic: the id of a process that writes it, which is ended first; NULL or 0: none */
  const gint *writer;
  struct _GememTemporary *next;
} GememTemporary;

void gemem_temporary_add (GememTemporary *temporary);
/* Makes a file of @path, whose last six letters are XXXXXX and become its own, with the access
 * rights @mode, and adds it.  Returns its descriptor for writing, or -1 with errno; then
 * nothing was added. */
int gemem_temporary_open (GememTemporary *temporary, char *path, int mode);
void gemem_temporary_remove (GememTemporary *temporary);
/* Removes those files, and those of all outputs, for a program that ends at once: whoever then
 * begins or completes one waits for good.  Allocates nothing. */
void gemem_outputs_abandon (void);

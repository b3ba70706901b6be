/* output.h - a file that is complete or not there: written beside its place, renamed into it at the
 * end.
 *
 * What is not a regular file (a pipe, /dev/stdout, /dev/full) and "-" (standard output) are written
 * to directly.  A symbolic link is followed: its target is replaced, not the link.  No fsync: this
 * guards against full disks and interrupted programs, not against power loss.
 *
 * Invariants: after an error, and after discard, nothing of the file is left; an older file of the
 * same name stays as it was until finish.
 */
#pragma once

#include <glib.h>

typedef struct _GememOutput GememOutput;

/* Errors of all: GEMEM_ERROR_FAILED naming the file. */
GememOutput *gemem_output_create (const char *path, GError **error);
gboolean gemem_output_write (GememOutput *output, gconstpointer data, gsize size, GError **error);
/* Bytes written so far. */
guint64 gemem_output_offset (const GememOutput *output);
const char *gemem_output_name (const GememOutput *output);
/* Completes the file and frees @output; on error the file is removed. */
gboolean gemem_output_finish (GememOutput *output, GError **error);
void gemem_output_discard (GememOutput *output);

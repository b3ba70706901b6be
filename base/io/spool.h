/* spool.h - unlinked temporary files that hold the bytes of a pipe, which can be read only once.
 *
 * A spool lies in $TMPDIR (else /tmp) and has no name, so nothing of it is left however the program
 * ends. */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

/* An empty spool; -1 with GEMEM_ERROR_FAILED, which names the folder.  The caller closes it. */
int gemem_spool_new (GError **error);

/* Writes @size bytes at @position; FALSE with errno set. */
gboolean gemem_spool_write (int spool, gconstpointer data, gsize size, guint64 position);

/* A spool with all bytes that the descriptor @from still gives; -1 with GEMEM_ERROR_FAILED.  @name:
 * what is read, for messages.  O(bytes), in constant memory. */
int gemem_spool_fill (int from, const char *name, GError **error);

/* What to do where bytes cannot be kept, for messages: names the folder.  g_free(). */
char *gemem_spool_advice (void);

GEMEM_END_DECLS

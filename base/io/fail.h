/* fail.h - the errors of readers: where in a file, and what is wrong there.
 *
 * Invariant: a message is one line, whatever bytes of the file it quotes: those that are not
 * printable ASCII are escaped.
 */
#pragma once

#include <glib.h>

/* Sets @error to GEMEM_ERROR_INPUT "NAME:LINE: what", or "NAME: byte BYTE: what"; returns FALSE. */
gboolean gemem_fail_line (GError **error, const char *name, guint64 line, const char *format, ...)
    G_GNUC_PRINTF (4, 5);
gboolean gemem_fail_byte (GError **error, const char *name, guint64 byte, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

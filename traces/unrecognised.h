/* unrecognised.h - the error message for a file that no format recognises: the kind of file if
 * known, else where the formats are listed.
 *
 * Used for traces and graphs.  What people paste is in messages/messages.def.
 */
#pragma once

#include "base/io/input.h"
#include "base/macros.h"

/* TRUE if the file that begins with @head is certainly in no supported format, whatever its name: empty,
 * a Git LFS pointer, a program, a message that people paste. */
gboolean gemem_is_foreign (const guint8 *head, gsize size);

/* Sets GEMEM_ERROR_INPUT for @input, of which no byte was consumed.  @what: "trace", "graph"... */
void gemem_fail_unrecognised (GememInput *input, const char *what, GError **error);

/* unrecognised.h - the message about a file that no format recognises: what it is instead where
 * that is seen, else the formats there are.
 *
 * For traces and for graphs alike.  Messages end in what to do.
 */
#pragma once

#include "base/io/input.h"
#include "base/macros.h"

/* Is the file that begins with @head surely nothing that is read, whatever its name: empty, a Git
 * LFS pointer, a zip archive? */
gboolean gemem_is_foreign (const guint8 *head, gsize size);

/* GEMEM_ERROR_INPUT for @input, of which nothing was consumed.  @what: "trace", "graph"...;
 * @formats: their names, "a, b". */
void gemem_fail_unrecognised (GememInput *input, const char *what, const char *formats,
                              GError **error);

/* input.h - a byte stream with look-ahead, for plain, gzip and zstd files and standard input alike.
 *
 * Why: every reader needs the next bytes and their position, transparently decompressed, with
 * bounded memory.  gzip goes through GIO, zstd through libzstd.  Two-pass readers call
 * gemem_input_rewind(); standard input that must be rewound is spooled to an unlinked temporary
 * file.
 *
 * Invariants: the buffer never grows beyond the request to gemem_input_fill(); a read error, a
 * broken compressed stream and a clean end are distinguished; nothing is read twice from the disk
 * without a rewind.  The first error is kept and reported whenever more is requested than was
 * decoded before it, so the complete lines (or bytes) before the damage are still delivered.
 */
#pragma once

#include "base/macros.h"
#include <gio/gio.h>

GEMEM_BEGIN_DECLS

typedef struct _GememInput GememInput;

GememInput *gemem_input_open (const char *path, GError **error); /* "-": standard input */
/* The same with another @name for messages: standard input that was spooled to a file is still
 * called "standard input". */
GememInput *gemem_input_open_as (const char *path, const char *name, GError **error);
/* for tests, fuzzing and embedded pickles */
GememInput *gemem_input_new_from_bytes (GBytes *bytes, const char *name);
void gemem_input_close (GememInput *input);

/* The name for messages. */
const char *gemem_input_name (const GememInput *input);

/* Makes at least @want bytes available at *@data unless the end comes first; returns the number of
 * bytes (>= @want, or fewer at the end), -1 on error.  Does not consume. */
gssize gemem_input_fill (GememInput *input, gsize want, const guint8 **data, GError **error);
void gemem_input_consume (GememInput *input, gsize n); /* n <= result of fill */

/* Skips any number @n of bytes; FALSE with GEMEM_ERROR_INPUT if the end comes first. */
gboolean gemem_input_skip (GememInput *input, guint64 n, GError **error);

/* The next line without its end (LF or CRLF), not NUL-terminated, at most @max bytes long
 * (GEMEM_ERROR_INPUT beyond). 1: a line, valid until the next call; 0: the end, -1: error.  Counts
 * lines. */
int gemem_input_line (GememInput *input, gsize max, const char **line, gsize *length,
                      GError **error);

guint64 gemem_input_offset (const GememInput *input);      /* decompressed bytes consumed */
guint64 gemem_input_line_number (const GememInput *input); /* of the line last returned, from 1 */
guint64 gemem_input_line_offset (const GememInput *input); /* offset at which it began */

/* Returns to the first byte; bytes decompressed before are decompressed again.  GEMEM_ERROR_INPUT
 * where the file cannot be read again. */
gboolean gemem_input_rewind (GememInput *input, GError **error);

/* Promises that gemem_input_rewind() will not be called: a pipe is then not copied to a temporary
 * file. */
void gemem_input_set_single_pass (GememInput *input);

/* Random access, for uncompressed bytes in a regular file or in memory: the size in bytes (FALSE
 * otherwise), and seeking to @offset <= size.  Line numbers restart there. */
gboolean gemem_input_size (GememInput *input, guint64 *size);
gboolean gemem_input_seek (GememInput *input, guint64 offset, GError **error);

/* How far the input opened last has been read: stored bytes; atomic, for another thread that shows
 * progress.  `size` is 0 where it is not known (a pipe). */
typedef struct
{
  guint64 position, size;
} GememInputMeter;

/* Inputs that this thread opens by their path from now on keep @meter, which must outlive them;
 * NULL ends that. */
void gemem_input_set_meter (GememInputMeter *meter);

/* SHA-256 (hex, caller frees) of the stored file's bytes, before decompression; NULL for
 * non-regular files, or with @error set. Does not change the position. */
char *gemem_input_sha256 (GememInput *input, GError **error);

GEMEM_END_DECLS

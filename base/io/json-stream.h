/* json-stream.h - reads JSON token by token, without a tree, for traces of any length.
 *
 * Checks the grammar of RFC 8259 (except that control characters inside a string are accepted) and
 * counts lines.  Memory: one token of at most 4096 bytes, or what gemem_json_new_long() was given
 * (longer strings are cut, not refused), and a byte per open bracket.
 *
 * Own code, because yajl takes nearly twice as long with the queue of a reader that asks for the
 * next token, has no bound on texts and levels, spends quadratic time on a long text, and names no
 * line; json-glib holds the whole file, wraps integers and keeps the last of two members of a name.
 */
#pragma once

#include "base/io/input.h"
#include "base/macros.h"

#define GEMEM_JSON_MAX_DEPTH 512
#define GEMEM_JSON_MAX_TEXT 4096

typedef enum
{
  GEMEM_JSON_END, /* of the document: only white space may follow */
  GEMEM_JSON_BEGIN_OBJECT,
  GEMEM_JSON_END_OBJECT,
  GEMEM_JSON_BEGIN_ARRAY,
  GEMEM_JSON_END_ARRAY,
  GEMEM_JSON_KEY,
  GEMEM_JSON_STRING,
  GEMEM_JSON_NUMBER,
  GEMEM_JSON_TRUE,
  GEMEM_JSON_FALSE,
  GEMEM_JSON_NULL,
} GememJsonToken;

typedef struct _GememJson GememJson;

/* Reads from the position of @input; does not own @input. */
GememJson *gemem_json_new (GememInput *input);
/* The same with texts of up to @most bytes. */
GememJson *gemem_json_new_long (GememInput *input, gsize most);
void gemem_json_free (GememJson *json);
/* Takes a backslash that begins no escape as itself: torch.profiler writes the paths of Windows so. */
void gemem_json_keep_backslashes (GememJson *json);

/* The next GememJsonToken, or -1 with GEMEM_ERROR_INPUT "FILE:LINE: ...". */
int gemem_json_next (GememJson *json, GError **error);

/* Skips the rest of the value that begins with @token, the token just returned. */
gboolean gemem_json_skip (GememJson *json, int token, GError **error);

/* For files of several documents (JSON lines), at the end of a document: 1 if another document
 * follows, which gemem_json_next() then reads; 0 if only white space follows; -1 on error. */
int gemem_json_next_document (GememJson *json, GError **error);

/* KEY, STRING: decoded to UTF-8, cut at GEMEM_JSON_MAX_TEXT; NUMBER: as written.  NUL-terminated;
 * valid until the next call. */
const char *gemem_json_text (const GememJson *json);
/* a text may contain NUL; a longer one than gemem_json_whole_text() may have been cut */
gsize gemem_json_text_length (const GememJson *json);
gsize gemem_json_whole_text (const GememJson *json);
guint64 gemem_json_line (const GememJson *json);

/* The number last returned times 10^@scale as a truncated integer.  FALSE if the result does not
 * fit into 64 bits plus sign, or if it is negative and @negative is NULL. */
gboolean gemem_json_scaled (const GememJson *json, int scale, guint64 *magnitude,
                            gboolean *negative);

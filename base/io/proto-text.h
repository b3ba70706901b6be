/* proto-text.h - reads protobuf text format token by token, without a schema, for dumps that
 * compilers write.
 *
 * Fields, messages in braces or angle brackets, lists in square brackets (delivered as repeated
 * fields), strings in either quote (adjacent strings are joined), numbers and names, comments.  A
 * square bracket in place of a field outside of any message ends the document: dumps use no
 * extensions there, and the text after it may be a log.
 *
 * Memory: one value of at most 2040 bytes (longer strings are cut, not refused) and the open
 * lists.  Strings are delivered as printable UTF-8: control characters and damaged bytes are
 * replaced.
 */
#pragma once

#include "base/io/input.h"
#include "base/macros.h"

#define GEMEM_PROTO_TEXT_MAX_DEPTH 100
#define GEMEM_PROTO_TEXT_MAX_VALUE \
  2040 /* two such strings and a few characters fit into one JSON text */

typedef enum
{
  GEMEM_PROTO_TEXT_END,   /* of the document, which may end before the input */
  GEMEM_PROTO_TEXT_BEGIN, /* a message: field */
  GEMEM_PROTO_TEXT_CLOSE, /* end of a message */
  GEMEM_PROTO_TEXT_WORD,  /* a number, true, false, or the name of an enumerator: field and value */
  GEMEM_PROTO_TEXT_STRING, /* field and value */
} GememProtoTextToken;

typedef struct _GememProtoText GememProtoText;

/* Reads from the position of @input; does not own @input. */
GememProtoText *gemem_proto_text_new (GememInput *input);
void gemem_proto_text_free (GememProtoText *text);

/* The next GememProtoTextToken, or -1 with GEMEM_ERROR_INPUT "FILE:LINE: ...". */
int gemem_proto_text_next (GememProtoText *text, GError **error);
/* Skips the rest of the message just begun, including its end. */
gboolean gemem_proto_text_skip (GememProtoText *text, GError **error);

/* Valid until the next call. */
const char *gemem_proto_text_field (const GememProtoText *text);
const char *gemem_proto_text_value (const GememProtoText *text);
/* The word as a number (decimal or hexadecimal, signed); FALSE if it is none or does not fit. */
gboolean gemem_proto_text_int (const GememProtoText *text, gint64 *value);

/* "FILE:LINE: ..."; returns FALSE. */
gboolean gemem_proto_text_fail (const GememProtoText *text, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

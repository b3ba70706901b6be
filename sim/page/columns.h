/* columns.h - columns of numbers as text: what a page holds of a hundred thousand rectangles.
 *
 * Why: as JSON they would be ten times as large, and slow to read.  A number is the difference from the one
 * before it, seven bits a byte, the least first, the sign in the lowest bit; the bytes are in base64.
 * sim/page/assets/columns.js reads them.
 *
 * Invariants: differences are of 64 bits and wrap, so every guint64 comes back as it was.
 */
#pragma once

#include <glib.h>

/* Appends the bytes of @value after @before to @bytes. */
void gemem_column_add (GByteArray *bytes, guint64 before, guint64 value);
/* Appends the member @name of a JSON object: @bytes in base64. */
void gemem_column_append (GString *out, const char *name, const GByteArray *bytes);

/* One number of a row: a guint64 or (@narrow) a guint32 at @offset. */
typedef struct
{
  const char *name;
  gsize offset;
  gboolean narrow;
} GememColumn;

/* Appends the members of @columns, one for each number of @rows, and "n". */
void gemem_columns_append (GString *out, const GememColumn *columns, const GArray *rows);

/* rows.h - a CSV file written row by row, for --events and --calls.
 *
 * The file appears complete or not at all (base/io/output.h).  An interrupted run leaves
 * FILE.partial.
 *
 * Cost: numbers are formatted without printf; one write per MiB.  A row has at most 250 characters.
 */
#pragma once

#include <glib.h>

typedef struct _GememRows GememRows;

/* @header: the first lines, each with its line end.  GEMEM_ERROR_FAILED names the file. */
GememRows *gemem_rows_open (const char *path, const char *header, GError **error);

/* gemem_rows_begin: where to write the next row.  gemem_rows_end: the row ends at @end; FALSE after
 * a write error, which close reports. */
char *gemem_rows_begin (GememRows *rows);
gboolean gemem_rows_end (GememRows *rows, char *end);

/* Completes the file and frees the rows.  @partial: the run was interrupted.  GEMEM_ERROR_FAILED
 * names the file. */
gboolean gemem_rows_close (GememRows *rows, gboolean partial, GError **error);
/* Removes what was written and frees the rows; NULL is allowed. */
void gemem_rows_discard (GememRows *rows);

static inline char *
gemem_rows_number (char *at, guint64 value)
{
  char digits[20];
  int n = 0;

  do
    digits[n++] = (char) ('0' + value % 10);
  while ((value /= 10) != 0);
  while (n > 0)
    *at++ = digits[--n];
  return at;
}

static inline char *
gemem_rows_address (char *at, guint64 address)
{
  int shift = address == 0 ? 0 : (63 - __builtin_clzll (address)) & ~3;

  *at++ = '0';
  *at++ = 'x';
  for (; shift >= 0; shift -= 4)
    *at++ = "0123456789abcdef"[(address >> shift) & 15];
  return at;
}

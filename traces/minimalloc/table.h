/* table.h - reads, row by row, the table of lifetimes that MiniMalloc and other tools
 * write; used by traces and plans.
 *
 *   id,lower,upper,size,offset
 *   b1,0,3,4,0
 *
 * Columns come in any order: id (buffer, buffer_id), lower (start, begin), upper or end, size, and
 * optionally alignment, hint, gaps, offset.  Intervals are half-open, except that `end` names the
 * last step included.  A blank line ends the table.
 *
 * Memory: the names of at most 2^24 rows; names must be unique.  Origin: peers.md 2.4.
 */
#pragma once

#include "base/io/input.h"

typedef struct
{
  const char *name; /* valid UTF-8; until the callback returns */
  gint64 lower, upper;
  guint64 size;
  gint64 alignment, hint, offset; /* defaults where absent: 0, -1, -1 */
  gboolean has_gaps, has_offset;
} GememMinimallocRow;

typedef void (*GememMinimallocFunc) (const GememMinimallocRow *row, gpointer data);

/* Calls @func for every row up to the blank line; *@behind: the number of lines after that line.
 * Errors: GEMEM_ERROR_INPUT "FILE:LINE: ..."; rows before the damage are delivered first. */
gboolean gemem_minimalloc_read (GememInput *input, GememMinimallocFunc func, gpointer data,
                                guint64 *behind, GError **error);

/* Returns the confidence, 0..100, that @head begins such a table. */
int gemem_minimalloc_probe (const guint8 *head, gsize size);

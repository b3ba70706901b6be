/* table.h - reads, row by row, the table of lifetimes that MiniMalloc and other tools
 * write; used by traces and plans.
 *
 *   id,lower,upper,size,offset
 *   b1,0,3,4,0
 *
 * Columns come in any order: id (buffer, buffer_id), lower (start, begin), upper or end, size, and
 * optionally alignment, hint, gaps, offset.  Intervals are half-open, except that `end` names the
 * last step included, also in gaps.  A blank line ends the table.
 *
 * Gaps are separated by blanks: "3-5", steps in which the buffer is not in use, or "3-5@0:64", in which
 * only its bytes 0 to below 64 are.
 *
 * Memory: the names of at most 2^24 rows; names must be unique.  Origin: peers.md 2.4.
 */
#pragma once

#include "base/io/input.h"

/* A part of a life in which not all of the buffer is in use. */
typedef struct
{
  gint64 lower, upper;
  guint64 low, high; /* bytes of the buffer in use meanwhile; equal: none */
} GememMinimallocGap;

typedef struct
{
  const char *name; /* valid UTF-8; until the callback returns */
  gint64 lower, upper;
  guint64 size;
  gint64 alignment, hint, offset; /* defaults where absent: 0, or 1 where others have it; -1; -1 */
  gboolean has_offset;
  GArray *gaps; /* GememMinimallocGap by time, which do not meet; until the callback returns */
} GememMinimallocRow;

typedef void (*GememMinimallocFunc) (const GememMinimallocRow *row, gpointer data);

/* Calls @func for every row up to the blank line; *@behind: the number of lines after that line.
 * Errors: GEMEM_ERROR_INPUT "FILE:LINE: ..."; rows before the damage are delivered first. */
gboolean gemem_minimalloc_read (GememInput *input, GememMinimallocFunc func, gpointer data,
                                guint64 *behind, GError **error);

/* Returns the confidence, 0..100, that @head begins such a table. */
int gemem_minimalloc_probe (const guint8 *head, gsize size);

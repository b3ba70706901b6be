/* rows.h - what all emitters of comparisons share: groups of rows, and the texts of rows and cells.
 */
#pragma once

#include "sim/engine/result.h"

/* "gpt2-train.gmt", "gpt2-train.gmt, device 1": what the rows of one group have in common; g_free()
 * here and below. */
char *gemem_report_group (const GememResult *result);
/* The same without the folders of the trace: for pictures. */
char *gemem_report_title (const GememResult *result);
/* Past the last row of the group that begins at @start. */
guint gemem_report_group_end (GememResult *const *results, guint n, guint start);
/* " (stopped)": what stands behind the label of a run that did not go to its end, else "". */
const char *gemem_report_row_note (const GememResult *result);
/* A line on how much modelled times can be trusted: @indent and how many costs are guesses; nothing
 * where none is. */
void gemem_report_append_guesses (GString *out, const GememResult *result, const char *indent);

/* A column of a text table: its measure or the like, its rank (0: it always stays), and its width
 * in characters. */
typedef struct
{
  gconstpointer source;
  int rank;
  gsize width;
} GememTextColumn;

/* Drops columns, the last one of the highest rank first, until a row fits @width (0: any): a label
 * of @label characters, then two spaces and a cell per column.  Returns how many are left. */
guint gemem_text_columns_fit (GememTextColumn *columns, guint n, gsize label, gsize width);

/* @text as one field of CSV (RFC 4180), NULL as an empty one. */
void gemem_csv_append_field (GString *out, const char *text);
/* @text as part of one line of Markdown, without markup. */
void gemem_markdown_append_text (GString *out, const char *text);

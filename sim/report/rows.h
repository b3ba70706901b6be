/* rows.h - shared by all emitters of comparisons: groups of rows, and the texts of rows and
 * cells. */
#pragma once

#include "base/macros.h"
#include "sim/engine/result.h"

/* The same without the folders of the trace, for pictures. */
char *gemem_report_title (const GememResult *result);
/* Index after the last row of the group that begins at @start. */
guint gemem_report_group_end (GememResult *const *results, guint n, guint start);
/* " (stopped)", " (failed)": the mark of a row whose run did not serve everything, else
 * "". */
const char *gemem_report_row_note (const GememResult *result);

/* The columns of a list of blocks that say where a block came from: the title, and the cells of one
 * block; both end the line. */
#define GEMEM_BLOCK_HEAD "  allocated at  by\n"
void gemem_report_append_origin (GString *out, const GememOrigin *origin);

/* Appends the line @text; unless @whole, no wider than a screen, later lines after @indent. */
void gemem_report_append_line (GString *out, const char *text, const char *indent, gboolean whole);

/* "paddle-auto-growth, version 3.x": what the label of @result, the name of a shorthand, stood for;
 * NULL: the label names the allocator itself. */
char *gemem_report_meaning (const GememResult *result);

/* A column of a text table: its source (a measure, for example), its rank (0: never dropped), and
 * its width in characters. */
typedef struct
{
  gconstpointer source;
  int rank;
  gsize width;
} GememTextColumn;

/* Drops columns, the last one of the highest rank first, until a row fits @width (0: unlimited): a
 * label of @label characters, then two spaces and a cell per column.  Returns the number left. */
guint gemem_text_columns_fit (GememTextColumn *columns, guint n, gsize label, gsize width);

GEMEM_BEGIN_DECLS

/* "gpt2-train.gmt", "gpt2-train.gmt, device 1": the title of a group of rows; g_free() here and of
 * the other titles. */
char *gemem_report_group (const GememResult *result);
/* Appends @text as one field of CSV (RFC 4180), NULL as an empty one; what a spreadsheet would compute
 * begins with "'". */
void gemem_csv_append_field (GString *out, const char *text);
/* Appends @text as part of one line of Markdown, without markup. */
void gemem_markdown_append_text (GString *out, const char *text);

GEMEM_END_DECLS

/* film.c - see film.h. */
#include "config.h"

#include "base/io/json-text.h"
#include "base/text.h"
#include "sim/page/columns.h"
#include "sim/page/film.h"

#define POINT(name) \
  { \
#name, G_STRUCT_OFFSET(GememTimelinePoint, name), FALSE \
  }
#define BLOCK(name) \
  { \
#name, G_STRUCT_OFFSET(GememHistoryBlock, name), FALSE \
  }
#define NARROW(name) \
  { \
#name, G_STRUCT_OFFSET(GememHistoryBlock, name), TRUE \
  }

void
gemem_film_append_timeline (GString *out, const GememResult *result)
{
  static const GememColumn columns[] = {
    POINT (seq),           POINT (time),         POINT (live),
    POINT (allocated),     POINT (reserved),     POINT (live_max),
    POINT (allocated_max), POINT (reserved_max), { NULL, 0, FALSE },
  };

  g_string_append_c (out, '{');
  gemem_columns_append (out, columns, result->timeline);
  g_string_append_c (out, '}');
}

static void
append_rectangles (GString *out, const char *name, const GArray *rectangles, guint64 left_out)
{
  static const GememColumn columns[] = {
    BLOCK (begin),     BLOCK (end),   BLOCK (address), BLOCK (size),
    BLOCK (requested), NARROW (text), NARROW (stack),  { NULL, 0, FALSE },
  };

  gemem_json_append_name (out, name);
  g_string_append_c (out, '{');
  gemem_columns_append (out, columns, rectangles);
  gemem_json_append_number_member (out, "left_out", left_out);
  g_string_append_c (out, '}');
}

/* The blocks with the nodes of their stacks in place of the stacks. */
static GArray *
with_nodes (const GArray *blocks, GememPageStacks *stacks)
{
  GArray *copy = g_array_copy ((GArray *) blocks);

  for (guint i = 0; i < copy->len; i++)
    {
      GememHistoryBlock *block = &g_array_index (copy, GememHistoryBlock, i);
      block->stack = gemem_page_stacks_node (stacks, block->stack);
    }
  return copy;
}

static void
append_marks (GString *out, const GArray *marks)
{
  static const GememColumn columns[] = { { "seq", G_STRUCT_OFFSET (GememHistoryMark, seq), FALSE },
                                         { "number", G_STRUCT_OFFSET (GememHistoryMark, number),
                                           FALSE },
                                         { "text", G_STRUCT_OFFSET (GememHistoryMark, text), TRUE },
                                         { NULL, 0, FALSE } };

  gemem_json_append_name (out, "marks");
  g_string_append_c (out, '{');
  gemem_columns_append (out, columns, marks);
  g_string_append_c (out, '}');
}

/* What lay idle at the moments of @history: "idle" by cause, "gaps" by address. */
static void
append_idle (GString *out, const char *name, const GArray *rows)
{
  static const GememColumn columns[] = {
    { "seq", G_STRUCT_OFFSET (GememHistoryIdle, seq), FALSE },
    { "address", G_STRUCT_OFFSET (GememHistoryIdle, address), FALSE },
    { "size", G_STRUCT_OFFSET (GememHistoryIdle, size), FALSE },
    { "cause", G_STRUCT_OFFSET (GememHistoryIdle, cause), TRUE },
    { NULL, 0, FALSE },
  };

  gemem_json_append_name (out, name);
  g_string_append_c (out, '{');
  gemem_columns_append (out, columns, rows);
  g_string_append_c (out, '}');
}

static void
append_texts (GString *out, const GPtrArray *texts)
{
  gemem_json_append_name (out, "texts");
  g_string_append_c (out, '[');
  for (guint i = 0; i < texts->len; i++)
    {
      g_autofree char *text = gemem_text_cut (texts->pdata[i], GEMEM_PAGE_TEXT);
      gemem_json_append_name (out, NULL);
      gemem_json_append_string (out, text);
    }
  g_string_append_c (out, ']');
}

static void
append_series (GString *out, const GememHistory *history)
{
  const guint width = history->n_lines + 1, parts = history->series->len / width;

  gemem_json_append_number_member (out, "stride", history->stride);
  gemem_json_append_name (out, "series");
  g_string_append_c (out, '[');
  for (guint line = 0; line < width; line++)
    {
      g_autoptr (GByteArray) bytes = g_byte_array_new ();
      guint64 before = 0;

      for (guint part = 0; part < parts; part++)
        {
          const guint64 value = g_array_index (history->series, guint64, part * width + line);
          gemem_column_add (bytes, before, value);
          before = value;
        }
      gemem_column_append (out, NULL, bytes);
    }
  g_string_append_c (out, ']');
}

void
gemem_film_append_history (GString *out, const GememHistory *history, GememPageStacks *stacks)
{
  g_autoptr (GArray) blocks = with_nodes (history->blocks, stacks);

  g_string_append_c (out, '{');
  gemem_json_append_number_member (out, "end", history->end);
  gemem_json_append_bool_member (out, "crowded", history->crowded);
  append_rectangles (out, "blocks", blocks, history->blocks_left_out);
  append_rectangles (out, "segments", history->segments, history->segments_left_out);
  append_marks (out, history->marks);
  append_idle (out, "idle", history->idle);
  append_idle (out, "gaps", history->gaps);
  append_texts (out, history->texts);
  append_series (out, history);
  g_string_append_c (out, '}');
}

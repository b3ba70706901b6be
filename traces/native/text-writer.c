/* text-writer.c - writes the text form of the native format: one event per line, with every field
 * that is not 0 (grammar: text.c and doc/trace-formats.md).
 *
 * Invariants: reading the file back gives the same events and information; equal traces make equal
 * bytes; the last line holds the number of events.
 * Cost: about 50 bytes and 100 ns per event.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "traces/native/text-format.h"

typedef struct
{
  NativeFile file;
  GString *first_header, *line;
  GArray *frames, *stacks; /* number in `info` -> number in the file */
  guint32 n_frames, n_stacks;
} TextWriter;

/* ---- parts of a line */

static void
append_uint (GString *line, guint64 value)
{
  char digits[20];
  gsize n = sizeof digits;
  do
    digits[--n] = (char) ('0' + value % 10);
  while ((value /= 10) != 0);
  g_string_append_len (line, digits + n, (gssize) (sizeof digits - n));
}

static void
append_hex (GString *line, guint64 value)
{
  char digits[18];
  gsize n = sizeof digits;
  do
    digits[--n] = "0123456789abcdef"[value & 15];
  while ((value >>= 4) != 0);
  digits[--n] = 'x';
  digits[--n] = '0';
  g_string_append_len (line, digits + n, (gssize) (sizeof digits - n));
}

static void
append_quoted (GString *line, const char *text)
{
  g_string_append_c (line, '"');
  for (; *text != '\0'; text++)
    switch (*text)
      {
      case '"':
      case '\\':
        g_string_append_c (line, '\\');
        g_string_append_c (line, *text);
        break;
      case '\n':
        g_string_append (line, "\\n");
        break;
      case '\r':
        g_string_append (line, "\\r");
        break;
      case '\t':
        g_string_append (line, "\\t");
        break;
      default:
        if (g_ascii_iscntrl (*text))
          g_string_append_printf (line, "\\x%02x", (guint) (guchar) *text);
        else
          g_string_append_c (line, *text);
      }
  g_string_append_c (line, '"');
}

/* Appends the names of the known bits, then the other bits as one number: "initial,small,0x10". */
static void
append_flags (GString *line, guint32 flags, const char *const *names, guint count)
{
  const char *separator = "";
  for (guint i = 0; i < count; i++)
    if (flags & 1u << i)
      {
        g_string_append (line, separator);
        g_string_append (line, names[i]);
        separator = ",";
        flags &= ~(1u << i);
      }
  if (flags != 0)
    {
      g_string_append (line, separator);
      append_hex (line, flags);
    }
}

static void
append_number_field (GString *line, const char *name, guint64 value)
{
  if (value == 0)
    return;
  g_string_append_c (line, ' ');
  g_string_append (line, name);
  g_string_append_c (line, '=');
  append_uint (line, value);
}

/* ---- header */

static void
append_text_header (GString *header, const char *key, const char *value)
{
  if (value == NULL)
    return;
  g_string_append_printf (header, "# %s: ", key);
  append_quoted (header, value);
  g_string_append_c (header, '\n');
}

static GString *
format_header (const GememTraceInfo *info)
{
  GString *header = g_string_new (NULL);
  g_autoptr (GPtrArray) provenance = gemem_trace_info_provenance (info);

  if (info->flags != 0)
    {
      g_string_append (header, "# flags: ");
      append_flags (header, info->flags, text_trace_flags, G_N_ELEMENTS (text_trace_flags));
      g_string_append_c (header, '\n');
    }
  if (info->ambiguities != 0)
    g_string_append_printf (header, "# ambiguities: %" G_GUINT64_FORMAT "\n", info->ambiguities);
  if (info->skipped != 0)
    g_string_append_printf (header, "# skipped: %" G_GUINT64_FORMAT "\n", info->skipped);
  append_text_header (header, "sha256", info->sha256);
  append_text_header (header, "allocator", info->allocator);
  append_text_header (header, "settings", info->settings);
  append_text_header (header, "device", info->device);
  for (guint i = 0; i < provenance->len; i++)
    append_text_header (header, "provenance", g_ptr_array_index (provenance, i));
  return header;
}

/* ---- call stacks */

/* Sets *@own to the number in the file of number @index of a table; TRUE if it is new. */
static gboolean
take_number (GArray *numbers, guint32 index, guint32 *count, guint32 *own)
{
  *own = gemem_native_get_number (numbers, index);
  if (*own != 0)
    return FALSE;
  gemem_native_set_number (numbers, index, *own = ++*count);
  return TRUE;
}

static guint32
take_frame (TextWriter *writer, guint32 number, GString *out)
{
  const GememFrame *frame = gemem_call_stacks_get_frame (writer->file.info->stacks, number);
  guint32 own;

  if (!take_number (writer->frames, number, &writer->n_frames, &own))
    return own;
  g_string_append (out, "# frame: ");
  append_quoted (out, g_ptr_array_index (writer->file.info->strings, frame->name));
  if (frame->file != 0 || frame->line != 0)
    {
      g_string_append_c (out, ' ');
      append_quoted (out, g_ptr_array_index (writer->file.info->strings, frame->file));
      g_string_append_c (out, ' ');
      append_uint (out, frame->line);
    }
  g_string_append_c (out, '\n');
  return own;
}

/* Returns the number in the file of stack @number; appends the lines that define it to @out if it
 * is new. */
static guint32
take_stack (TextWriter *writer, guint32 number, GString *out)
{
  g_autoptr (GString) line = g_string_new ("# stack:");
  guint32 own;
  guint n;
  const guint32 *frames = gemem_call_stacks_get (writer->file.info->stacks, number, &n);

  if (!take_number (writer->stacks, number, &writer->n_stacks, &own))
    return own;
  for (guint i = 0; i < n; i++)
    {
      const guint32 frame = take_frame (writer, frames[i], out);
      g_string_append_c (line, ' ');
      append_uint (line, frame);
    }
  g_string_append_len (out, line->str, (gssize) line->len);
  g_string_append_c (out, '\n');
  return own;
}

/* ---- events */

/* Appends the line of @event; @stack: the number of its stack in the file. */
static void
format_event (GString *line, const GememTraceEvent *event, const char *tag, guint32 stack)
{
  g_string_append (line, gemem_event_kind_name ((GememEventKind) event->kind));
  if (event->id != 0)
    {
      g_string_append_c (line, ' ');
      append_uint (line, event->id);
    }
  append_number_field (line, "size", event->size);
  append_number_field (line, text_aux_name (event->kind), event->aux);
  if (event->address != 0)
    {
      g_string_append (line, " addr=");
      append_hex (line, event->address);
    }
  if (event->stream > G_MAXUINT32) /* the stream is a pointer */
    {
      g_string_append (line, " stream=");
      append_hex (line, event->stream);
    }
  else
    append_number_field (line, "stream", event->stream);
  append_number_field (line, "pool", event->pool);
  if (event->device == GEMEM_DEVICE_HOST)
    g_string_append (line, " device=host");
  else
    append_number_field (line, "device", event->device);
  append_number_field (line, "t", event->time);
  if (event->flags != 0)
    {
      g_string_append (line, " flags=");
      append_flags (line, event->flags, text_event_flags, G_N_ELEMENTS (text_event_flags));
    }
  if (event->tag != GEMEM_NO_TAG)
    {
      g_string_append (line, " tag=");
      append_quoted (line, tag);
    }
  append_number_field (line, "stack", stack);
  g_string_append_c (line, '\n');
}

static gboolean
write_event (TextWriter *writer, const GememTraceEvent *event, GError **error)
{
  g_autofree char *lacks = NULL;
  const char *problem = NULL, *flag = text_flag_missing (event->kind, writer->file.info->flags);
  guint32 stack = 0;

  if (event->kind == 0 || event->kind >= GEMEM_EVENT_KIND_COUNT)
    problem = "it has an unknown kind";
  else if (flag != NULL)
    problem = lacks = g_strconcat ("it is of a kind that only traces with ", flag, " have", NULL);
  else if (event->tag >= writer->file.info->strings->len)
    problem = "its tag is not in the string table";
  else if (event->stack != 0
           && (writer->file.info->stacks == NULL
               || event->stack > gemem_call_stacks_count (writer->file.info->stacks)))
    problem = "its stack is not in the table of stacks";
  if (problem != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: event %" G_GUINT64_FORMAT ": %s; correct the source",
                   gemem_output_name (writer->file.output), writer->file.events, problem);
      return FALSE;
    }
  g_string_truncate (writer->line, 0);
  if (event->stack != 0)
    stack = take_stack (writer, event->stack, writer->line);
  format_event (writer->line, event, g_ptr_array_index (writer->file.info->strings, event->tag),
                stack);
  writer->file.events++;
  return gemem_output_write (writer->file.output, writer->line->str, writer->line->len, error);
}

static gboolean
write_events (NativeFile *file, const GememTraceEvent *events, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (!write_event ((TextWriter *) file, &events[i], error))
      return FALSE;
  return TRUE;
}

/* ---- the writer */

static void
writer_free (NativeFile *file)
{
  TextWriter *writer = (TextWriter *) file;

  g_string_free (writer->first_header, TRUE);
  g_string_free (writer->line, TRUE);
  g_array_unref (writer->frames);
  g_array_unref (writer->stacks);
  g_free (writer);
}

static gboolean
write_end (NativeFile *file, GError **error)
{
  TextWriter *writer = (TextWriter *) file;
  g_autoptr (GString) end = format_header (file->info);

  if (g_string_equal (end, writer->first_header))
    g_string_truncate (end, 0);
  g_string_append_printf (end, "# end: %" G_GUINT64_FORMAT "\n", file->events);
  return gemem_output_write (file->output, end->str, end->len, error);
}

GememTraceWriter *
gemem_text_create (const char *path, const GememTraceInfo *info, GError **error)
{
  static const char comment[] =
      "## A gemem trace as text, loss-free both ways (doc/trace-formats.md). One event a line: "
      "KIND [ID] [KEY=VALUE]...; what is 0 is left out.\n"
      "## size, block (as rounded by the recorded allocator), free: bytes; addr, stream, pool: as "
      "recorded; t: ns since the start.\n";
  TextWriter *writer = gemem_native_file_new (sizeof *writer, path, info, error);

  if (writer == NULL)
    return NULL;
  writer->file.add = write_events;
  writer->file.end = write_end;
  writer->file.free = writer_free;
  writer->first_header = format_header (info);
  writer->line = g_string_sized_new (256);
  writer->frames = g_array_new (FALSE, TRUE, sizeof (guint32));
  writer->stacks = g_array_new (FALSE, TRUE, sizeof (guint32));
  g_string_printf (writer->line, TEXT_MAGIC "%d\n%s", gemem_native_version (info), comment);
  if (!gemem_output_write (writer->file.output, writer->line->str, writer->line->len, error)
      || !gemem_output_write (writer->file.output, writer->first_header->str,
                              writer->first_header->len, error))
    {
      writer->file.base.discard (&writer->file.base);
      return NULL;
    }
  return &writer->file.base;
}

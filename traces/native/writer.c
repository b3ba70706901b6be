/* writer.c - writes .gmt files (layout: format.h, doc/trace-formats.md).
 *
 * Events are gathered into chunks.  Blocks of strings, frames and stacks precede a chunk whose
 * events use them for the first time.  The information block is written at the start and, if counts
 * or flags have changed since, again at the end.
 *
 * Invariants: the file holds each used string, frame and stack once, in the order of first
 * use; the bytes do not depend on the time, the machine or the path; memory is one chunk and
 * the string table.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/checksum.h"
#include "base/io/zstd-memory.h"
#include "traces/native/format.h"
#include "traces/native/text-format.h"

#define PACK_LEVEL 9 /* zstd level for strings and information, which are small and written once */

typedef enum /* in the order of the file: each refers to those before it */
{
  STRINGS,
  FRAMES,
  STACKS,
  TABLES
} TableKind;

/* Entries of a table that are not written yet. */
typedef struct
{
  GByteArray *bytes;
  guint32 count;
} NewEntries;

typedef struct
{
  NativeFile file;
  NativeEncoder *encoder;
  GememTraceEvent *chunk;
  guint32 used, chunk_events;
  GememTraceInfo own; /* a copy of the facts, with the strings and stacks of the file */
  GArray *tags;       /* guint32: index of a string in `info` -> its number in the file */
  GArray *frame_numbers, *stack_numbers; /* the same of frames and stacks */
  NewEntries tables[TABLES];
  GByteArray *payload, *first_info, *index;
  guint64 total; /* checksum over the checksums of the blocks */
} NativeWriter;

/* ---- blocks */

/* Writes a block and enters it in the index.  @raw: size before packing, 0 if not packed. */
static gboolean
write_block (NativeWriter *writer, guint32 type, gconstpointer payload, gsize size, guint32 raw,
             guint32 count, guint64 first, GError **error)
{
  guint8 head[NATIVE_BLOCK_HEADER_SIZE], entry[NATIVE_INDEX_ENTRY_SIZE], chain[8];

  native_put32 (head, type);
  native_put32 (head + 4, (guint32) size);
  native_put32 (head + 8, count);
  native_put32 (head + 12, raw);
  native_put64 (head + 16, first);
  guint64 checksum = gemem_checksum (payload, size, gemem_checksum (head, 24, 0));
  native_put64 (head + 24, checksum);
  native_put64 (entry, gemem_output_offset (writer->file.output));
  native_put32 (entry + 8, type);
  native_put32 (entry + 12, count);
  native_put64 (entry + 16, first);
  g_byte_array_append (writer->index, entry, sizeof entry);
  native_put64 (chain, checksum);
  writer->total = gemem_checksum (chain, sizeof chain, writer->total);
  return gemem_output_write (writer->file.output, head, sizeof head, error)
         && gemem_output_write (writer->file.output, payload, size, error);
}

static gboolean
write_packed_block (NativeWriter *writer, guint32 type, const GByteArray *raw, guint32 count,
                    guint64 first, GError **error)
{
  gsize bound = ZSTD_compressBound (raw->len);
  g_autofree guint8 *packed = g_malloc (bound);
  gsize size = gemem_zstd_done (ZSTD_compress (packed, bound, raw->data, raw->len, PACK_LEVEL));

  if (ZSTD_isError (size) || size >= raw->len)
    return write_block (writer, type, raw->data, raw->len, 0, count, first, error);
  return write_block (writer, type, packed, size, raw->len, count, first, error);
}

/* ---- information */

static void
put_info (GByteArray *to, NativeInfoField field, gconstpointer data, gsize size)
{
  guint8 head[5] = { (guint8) field };
  native_put32 (head + 1, (guint32) size);
  g_byte_array_append (to, head, sizeof head);
  g_byte_array_append (to, data, (guint) size);
}

static void
put_info_text (GByteArray *to, NativeInfoField field, const char *text)
{
  if (text != NULL)
    put_info (to, field, text, strlen (text));
}

static GByteArray *
encode_info (const GememTraceInfo *info)
{
  GByteArray *to = g_byte_array_new ();
  g_autoptr (GPtrArray) provenance = gemem_trace_info_provenance (info);
  guint8 number[8];

  native_put32 (number, info->flags);
  put_info (to, NATIVE_INFO_FLAGS, number, 4);
  native_put64 (number, info->ambiguities);
  put_info (to, NATIVE_INFO_AMBIGUITIES, number, 8);
  native_put64 (number, info->skipped);
  put_info (to, NATIVE_INFO_SKIPPED, number, 8);
  put_info_text (to, NATIVE_INFO_SHA256, info->sha256);
  put_info_text (to, NATIVE_INFO_ALLOCATOR, info->allocator);
  put_info_text (to, NATIVE_INFO_SETTINGS, info->settings);
  put_info_text (to, NATIVE_INFO_DEVICE, info->device);
  for (guint i = 0; i < provenance->len; i++)
    put_info_text (to, NATIVE_INFO_PROVENANCE, g_ptr_array_index (provenance, i));
  return to;
}

static gboolean
write_info (NativeWriter *writer, const GByteArray *info, GError **error)
{
  if (info->len > NATIVE_MAX_INFO)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: the provenance of the trace is longer than %" G_GSIZE_FORMAT
                   " bytes; shorten it",
                   gemem_output_name (writer->file.output), NATIVE_MAX_INFO);
      return FALSE;
    }
  return write_packed_block (writer, NATIVE_INFO, info, 0, 0, error);
}

/* ---- strings and events */

/* The number of the next entry of @table. */
static guint32
next_number (const NativeWriter *writer, TableKind table)
{
  return table == STRINGS  ? writer->own.strings->len
         : table == FRAMES ? gemem_call_stacks_frames (writer->own.stacks) + 1
                           : gemem_call_stacks_count (writer->own.stacks) + 1;
}

/* Writes the new entries of the tables up to @last, which refers to those before it. */
static gboolean
flush_tables (NativeWriter *writer, TableKind last, GError **error)
{
  static const guint32 types[TABLES] = { NATIVE_STRINGS, NATIVE_FRAMES, NATIVE_STACKS };

  for (TableKind i = STRINGS; i <= last; i++)
    {
      NewEntries *entries = &writer->tables[i];
      const guint32 count = entries->count;

      entries->count = 0;
      if (count > 0
          && !write_packed_block (writer, types[i], entries->bytes, count,
                                  next_number (writer, i) - count, error))
        return FALSE;
      g_byte_array_set_size (entries->bytes, 0);
    }
  return TRUE;
}

/* Writes the new entries of @table if @size more bytes do not fit into its block. */
static gboolean
flush_if_full (NativeWriter *writer, TableKind table, gsize size, GError **error)
{
  return writer->tables[table].bytes->len + size <= NATIVE_MAX_STRINGS_RAW
         || flush_tables (writer, table, error);
}

static gboolean
flush_chunk (NativeWriter *writer, GError **error)
{
  guint32 count = writer->used;

  if (count == 0)
    return TRUE;
  if (!flush_tables (writer, STACKS, error))
    return FALSE;
  g_byte_array_set_size (writer->payload, 0);
  gemem_native_encode (writer->encoder, writer->chunk, count, writer->payload);
  writer->used = 0;
  return write_block (writer, NATIVE_EVENTS, writer->payload->data, writer->payload->len, 0, count,
                      writer->file.events - count, error);
}

/* Adds string @tag of the source to the file; *@own becomes its number in the file. */
static gboolean
add_string (NativeWriter *writer, guint32 tag, guint32 *own, GError **error)
{
  const char *text = tag < writer->file.info->strings->len
                         ? g_ptr_array_index (writer->file.info->strings, tag)
                         : NULL;
  gsize length = text != NULL ? strlen (text) : 0;
  guint8 head[4];

  if (text == NULL || length > NATIVE_MAX_STRING)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: event %" G_GUINT64_FORMAT ": its tag %s; correct the source",
                   gemem_output_name (writer->file.output), writer->file.events,
                   text == NULL ? "is not in the string table" : "is longer than 1 MiB");
      return FALSE;
    }
  if (!flush_if_full (writer, STRINGS, 4 + length, error))
    return FALSE;
  guint before = writer->own.strings->len;
  *own = gemem_trace_info_intern (&writer->own, text);
  if (writer->own.strings->len > before)
    {
      native_put32 (head, (guint32) length);
      g_byte_array_append (writer->tables[STRINGS].bytes, head, sizeof head);
      g_byte_array_append (writer->tables[STRINGS].bytes, (const guint8 *) text, (guint) length);
      writer->tables[STRINGS].count++;
    }
  gemem_native_set_number (writer->tags, tag, *own);
  return TRUE;
}

/* Sets *@own to the number in the file of string @tag of the source. */
static gboolean
take_string (NativeWriter *writer, guint32 tag, guint32 *own, GError **error)
{
  *own = gemem_native_get_number (writer->tags, tag);
  return tag == GEMEM_NO_TAG || *own != 0 || add_string (writer, tag, own, error);
}

/* Sets *@own to the number in the file of frame @number of the source. */
static gboolean
take_frame (NativeWriter *writer, guint32 number, guint32 *own, GError **error)
{
  const GememFrame *frame = gemem_call_stacks_get_frame (writer->file.info->stacks, number);
  GememFrame renamed = { .line = frame->line };
  guint8 bytes[NATIVE_FRAME_SIZE];
  guint32 before = gemem_call_stacks_frames (writer->own.stacks);

  *own = gemem_native_get_number (writer->frame_numbers, number);
  if (*own != 0)
    return TRUE;
  if (!flush_if_full (writer, FRAMES, sizeof bytes, error))
    return FALSE;
  if (!take_string (writer, frame->name, &renamed.name, error)
      || !take_string (writer, frame->file, &renamed.file, error))
    return FALSE;
  *own = gemem_call_stacks_frame (writer->own.stacks, &renamed);
  if (*own > before)
    {
      native_put32 (bytes, renamed.name);
      native_put32 (bytes + 4, renamed.file);
      native_put32 (bytes + 8, renamed.line);
      g_byte_array_append (writer->tables[FRAMES].bytes, bytes, sizeof bytes);
      writer->tables[FRAMES].count++;
    }
  gemem_native_set_number (writer->frame_numbers, number, *own);
  return TRUE;
}

/* Sets *@own to the number in the file of stack @number of the source. */
static gboolean
take_stack (NativeWriter *writer, guint32 number, guint32 *own, GError **error)
{
  const GememCallStacks *from = writer->file.info->stacks;
  g_autofree guint32 *renamed = NULL;
  guint n;
  guint8 bytes[4];

  *own = gemem_native_get_number (writer->stack_numbers, number);
  if (number == 0 || *own != 0)
    return TRUE;
  if (writer->own.stacks == NULL || number > gemem_call_stacks_count (from))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: event %" G_GUINT64_FORMAT
                   ": its stack is not in the table of stacks; correct the source",
                   gemem_output_name (writer->file.output), writer->file.events);
      return FALSE;
    }
  const guint32 *frames = gemem_call_stacks_get (from, number, &n);
  if (!flush_if_full (writer, STACKS, 4 + (gsize) n * 4, error))
    return FALSE;
  renamed = g_new (guint32, n);
  for (guint i = 0; i < n; i++)
    if (!take_frame (writer, frames[i], &renamed[i], error))
      return FALSE;
  guint32 before = gemem_call_stacks_count (writer->own.stacks);
  *own = gemem_call_stacks_extend (writer->own.stacks, 0, renamed, n);
  gemem_native_set_number (writer->stack_numbers, number, *own);
  if (*own <= before)
    return TRUE;
  native_put32 (bytes, n);
  g_byte_array_append (writer->tables[STACKS].bytes, bytes, 4);
  for (guint i = 0; i < n; i++)
    {
      native_put32 (bytes, renamed[i]);
      g_byte_array_append (writer->tables[STACKS].bytes, bytes, 4);
    }
  writer->tables[STACKS].count++;
  return TRUE;
}

static gboolean
add_event (NativeWriter *writer, const GememTraceEvent *event, GError **error)
{
  const char *flag = text_flag_missing (event->kind, writer->file.info->flags);
  guint32 tag, stack;

  if (event->kind == 0 || event->kind >= GEMEM_EVENT_KIND_COUNT)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: event %" G_GUINT64_FORMAT ": there is no event kind %u; correct the source",
                   gemem_output_name (writer->file.output), writer->file.events, event->kind);
      return FALSE;
    }
  if (flag != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: event %" G_GUINT64_FORMAT
                   ": it is of a kind that only traces with %s have; correct the source",
                   gemem_output_name (writer->file.output), writer->file.events, flag);
      return FALSE;
    }
  if (!take_string (writer, event->tag, &tag, error)
      || !take_stack (writer, event->stack, &stack, error))
    return FALSE;
  writer->chunk[writer->used] = *event;
  writer->chunk[writer->used].stack = stack;
  writer->chunk[writer->used++].tag = tag;
  writer->file.events++;
  return writer->used < writer->chunk_events || flush_chunk (writer, error);
}

static gboolean
add_events (NativeFile *file, const GememTraceEvent *events, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (!add_event ((NativeWriter *) file, &events[i], error))
      return FALSE;
  return TRUE;
}

/* ---- the writer */

static void
writer_free (NativeFile *file)
{
  NativeWriter *writer = (NativeWriter *) file;

  gemem_native_encoder_free (writer->encoder);
  gemem_trace_info_clear (&writer->own);
  g_array_unref (writer->tags);
  g_array_unref (writer->frame_numbers);
  g_array_unref (writer->stack_numbers);
  for (guint i = 0; i < TABLES; i++)
    g_byte_array_unref (writer->tables[i].bytes);
  g_byte_array_unref (writer->payload);
  g_byte_array_unref (writer->index);
  g_byte_array_unref (writer->first_info);
  g_free (writer->chunk);
  g_free (writer);
}

static gboolean
write_footer (NativeWriter *writer, GError **error)
{
  g_autoptr (GByteArray) footer = g_byte_array_new ();
  guint8 head[NATIVE_FOOTER_SIZE], trailer[NATIVE_TRAILER_SIZE];
  guint32 blocks = writer->index->len / NATIVE_INDEX_ENTRY_SIZE;
  guint64 place = gemem_output_offset (writer->file.output);

  native_put64 (head, writer->file.events);
  native_put64 (head + 8, writer->own.strings->len);
  native_put64 (head + 16, writer->total);
  native_put64 (head + 24, blocks);
  g_byte_array_append (footer, head, sizeof head);
  g_byte_array_append (footer, writer->index->data, writer->index->len);
  native_put64 (trailer, place);
  memcpy (trailer + 8, NATIVE_END_MAGIC, 8);
  return write_block (writer, NATIVE_FOOTER, footer->data, footer->len, 0, blocks, 0, error)
         && gemem_output_write (writer->file.output, trailer, sizeof trailer, error);
}

static gboolean
write_end (NativeFile *file, GError **error)
{
  NativeWriter *writer = (NativeWriter *) file;
  g_autoptr (GByteArray) info = encode_info (file->info);
  const gboolean changed = info->len != writer->first_info->len
                           || memcmp (info->data, writer->first_info->data, info->len) != 0;

  return flush_chunk (writer, error) && (!changed || write_info (writer, info, error))
         && write_footer (writer, error);
}

static gboolean
write_header (NativeWriter *writer, GError **error)
{
  guint8 head[NATIVE_HEADER_SIZE];

  memcpy (head, NATIVE_MAGIC, 8);
  native_put32 (head + 8, (guint32) gemem_native_version (writer->file.info));
  native_put32 (head + 12, writer->chunk_events);
  native_put64 (head + 16, gemem_checksum (head, 16, 0));
  return gemem_output_write (writer->file.output, head, sizeof head, error)
         && write_info (writer, writer->first_info, error);
}

GememTraceWriter *
gemem_native_create (const char *path, const GememTraceInfo *info, guint32 chunk_events,
                     GError **error)
{
  NativeWriter *writer = gemem_native_file_new (sizeof *writer, path, info, error);

  if (writer == NULL)
    return NULL;
  writer->file.add = add_events;
  writer->file.end = write_end;
  writer->file.free = writer_free;
  writer->encoder = gemem_native_encoder_new ();
  writer->chunk_events = CLAMP (chunk_events, 1, NATIVE_CHUNK_EVENTS);
  writer->chunk = g_new (GememTraceEvent, writer->chunk_events);
  writer->tags = g_array_new (FALSE, TRUE, sizeof (guint32));
  for (guint i = 0; i < TABLES; i++)
    writer->tables[i].bytes = g_byte_array_new ();
  writer->frame_numbers = g_array_new (FALSE, TRUE, sizeof (guint32));
  writer->stack_numbers = g_array_new (FALSE, TRUE, sizeof (guint32));
  writer->payload = g_byte_array_new ();
  writer->index = g_byte_array_new ();
  writer->first_info = encode_info (info);
  gemem_trace_info_init (&writer->own, "native", path);
  if (info->stacks != NULL)
    gemem_trace_info_stacks (&writer->own);
  if (!write_header (writer, error))
    {
      writer->file.base.discard (&writer->file.base);
      return NULL;
    }
  return &writer->file.base;
}

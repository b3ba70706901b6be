/* native.c - reads .gmt files, gemem's own trace format (layout: format.h,
 * doc/trace-formats.md).
 *
 * Blocks are read in order, so a pipe suffices.  In a seekable file the footer is read first: it
 * holds the number of events and the final information, and gemem_native_seek() finds chunks
 * through its index.  An unreadable footer is not an error at that point, because reading in order
 * reaches the damage and reports it.
 *
 * Invariants: the checksum of a block is verified before its content is used; counts and sizes are
 * checked against their limits before memory is allocated; blocks must follow one another without a
 * gap up to the trailer, which ends the file.  With allow_partial, whole chunks up to the first
 * damage are delivered and GEMEM_TRACE_TRUNCATED is set.
 * Memory: one stored chunk, its unpacked columns, 256 events, the string table.
 */
#include "config.h"

#include "base/error.h"
#include "base/io/checksum.h"
#include "base/io/input.h"
#include "base/io/zstd-memory.h"
#include "traces/native/format.h"
#include "traces/native/native.h"

typedef struct
{
  guint64 offset, first;
  guint32 type, count;
} IndexEntry;

typedef struct
{
  GememTraceReader base;
  GememInput *input;
  GememReadOptions options;
  NativeDecoder *decoder;
  guint64 event;  /* number of the next event not yet decoded */
  guint64 skip;   /* events to discard after a seek */
  guint chunk;    /* chunks started so far */
  guint64 blocks; /* read in order */
  guint64 total;  /* checksum over the checksums of these blocks */
  gboolean in_order, ended;
  GArray *index; /* IndexEntry; NULL: there is no index */
  guint8 *seen;  /* chunks are asked for their devices only; NULL: they are decoded */
} NativeReader;

#define ADVICE "convert the source again, or read what is whole with --allow-partial"

/* ---- blocks */

/* Sets the error for damage at the present offset; @what: for example "is damaged (checksum)". */
static gboolean
damaged (NativeReader *reader, const char *part, const char *what, GError **error)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: event %" G_GUINT64_FORMAT ": %s %s; " ADVICE, gemem_input_name (reader->input),
               reader->event, part, what);
  return FALSE;
}

static gboolean
block_damaged (NativeReader *reader, guint32 type, const char *what, GError **error)
{
  g_autofree char *chunk = g_strdup_printf ("chunk %u", reader->chunk + 1);
  const char *part = type == NATIVE_INFO      ? "the information block"
                     : type == NATIVE_STRINGS ? "the string table"
                     : type == NATIVE_FRAMES  ? "the table of frames"
                     : type == NATIVE_STACKS  ? "the table of stacks"
                     : type == NATIVE_FOOTER  ? "the footer"
                                              : chunk;
  return damaged (reader, part, what, error);
}

static gboolean
block_limits (const NativeBlock *block)
{
  switch (block->type)
    {
    case NATIVE_INFO:
      return block->stored <= NATIVE_MAX_INFO && block->raw <= NATIVE_MAX_INFO;
    case NATIVE_STRINGS:
    case NATIVE_FRAMES:
    case NATIVE_STACKS:
      return block->stored <= NATIVE_MAX_STRINGS_RAW && block->raw <= NATIVE_MAX_STRINGS_RAW;
    case NATIVE_EVENTS:
      return block->stored <= NATIVE_MAX_CHUNK && block->raw == 0;
    case NATIVE_FOOTER:
      return block->raw == 0
             && block->stored
                    == NATIVE_FOOTER_SIZE + (guint64) block->count * NATIVE_INDEX_ENTRY_SIZE;
    default:
      return FALSE;
    }
}

/* Reads the next block; its payload stays valid in the window of the input until the next read. */
static gboolean
read_block (NativeReader *reader, NativeBlock *block, const guint8 **payload, GError **error)
{
  const guint8 *data;
  gssize available = gemem_input_fill (reader->input, NATIVE_BLOCK_HEADER_SIZE, &data, error);

  if (available < 0)
    return FALSE;
  if (available < NATIVE_BLOCK_HEADER_SIZE)
    return block_damaged (reader, 0, "is cut off (the file ends too early)", error);
  block->type = native_get32 (data);
  block->stored = native_get32 (data + 4);
  block->count = native_get32 (data + 8);
  block->raw = native_get32 (data + 12);
  block->first = native_get64 (data + 16);
  block->checksum = native_get64 (data + 24);
  if (!block_limits (block))
    return block_damaged (reader, 0, "is damaged (its header is impossible)", error);
  gsize size = (gsize) NATIVE_BLOCK_HEADER_SIZE + block->stored;
  available = gemem_input_fill (reader->input, size, &data, error);
  if (available < 0)
    return FALSE;
  if ((gsize) available < size)
    return block_damaged (reader, block->type, "is cut off (the file ends too early)", error);
  *payload = data + NATIVE_BLOCK_HEADER_SIZE;
  if (gemem_checksum (*payload, block->stored, gemem_checksum (data, 24, 0)) != block->checksum)
    return block_damaged (reader, block->type, "is damaged (checksum)", error);
  gemem_input_consume (reader->input, size);
  return TRUE;
}

/* Returns the unpacked payload of @block; NULL if unpacking fails.  *@unpacked owns the bytes if a
 * buffer was allocated for them. */
static const guint8 *
unpack_block (const NativeBlock *block, const guint8 *payload, guint8 **unpacked, gsize *size)
{
  *unpacked = NULL;
  *size = block->stored;
  if (block->raw == 0)
    return payload;
  *unpacked = g_malloc (block->raw);
  *size = block->raw;
  return gemem_zstd_done (ZSTD_decompress (*unpacked, block->raw, payload, block->stored))
                 == block->raw
             ? *unpacked
             : NULL;
}

/* ---- information */

static void
take_text (char **field, const guint8 *data, gsize size)
{
  g_free (*field);
  *field = g_strndup ((const char *) data, size);
}

static gboolean
take_info_field (GememTraceInfo *info, NativeInfoField field, const guint8 *data, gsize size)
{
  switch (field)
    {
    case NATIVE_INFO_FLAGS:
      info->flags = size == 4 ? native_get32 (data) : 0;
      return size == 4;
    case NATIVE_INFO_AMBIGUITIES:
      info->ambiguities = size == 8 ? native_get64 (data) : 0;
      return size == 8;
    case NATIVE_INFO_SKIPPED:
      info->skipped = size == 8 ? native_get64 (data) : 0;
      return size == 8;
    case NATIVE_INFO_SHA256:
      take_text (&info->sha256, data, size);
      return TRUE;
    case NATIVE_INFO_ALLOCATOR:
      take_text (&info->allocator, data, size);
      return TRUE;
    case NATIVE_INFO_SETTINGS:
      take_text (&info->settings, data, size);
      return TRUE;
    case NATIVE_INFO_DEVICE:
      take_text (&info->device, data, size);
      return TRUE;
    case NATIVE_INFO_PROVENANCE:
      g_ptr_array_add (info->provenance, g_strndup ((const char *) data, size));
      return TRUE;
    default:
      return FALSE;
    }
}

/* Replaces the reader's facts about the trace by those of the block. */
static gboolean
take_info (NativeReader *reader, const NativeBlock *block, const guint8 *payload, GError **error)
{
  GememTraceInfo *info = &reader->base.info;
  g_autofree guint8 *unpacked = NULL;
  gsize size;
  const guint8 *data = unpack_block (block, payload, &unpacked, &size);
  gboolean good = data != NULL;

  g_ptr_array_set_size (info->provenance, 0);
  g_clear_pointer (&info->sha256, g_free);
  g_clear_pointer (&info->allocator, g_free);
  g_clear_pointer (&info->settings, g_free);
  g_clear_pointer (&info->device, g_free);
  while (good && size > 0)
    {
      gsize length = size >= 5 ? native_get32 (data + 1) : G_MAXSIZE;
      good = size >= 5 && length <= size - 5
             && take_info_field (info, (NativeInfoField) data[0], data + 5, length);
      if (good)
        {
          data += 5 + length;
          size -= 5 + length;
        }
    }
  return good
         || block_damaged (reader, NATIVE_INFO, "is damaged (its fields are impossible)", error);
}

/* ---- strings, frames and stacks */

static guint32
stack_count (const GememTraceInfo *info)
{
  return info->stacks != NULL ? gemem_call_stacks_count (info->stacks) : 0;
}

static guint32
frame_count (const GememTraceInfo *info)
{
  return info->stacks != NULL ? gemem_call_stacks_frames (info->stacks) : 0;
}

/* The number of the next entry of a table. */
static guint64
next_number (const GememTraceInfo *info, guint32 type)
{
  return type == NATIVE_STRINGS  ? info->strings->len
         : type == NATIVE_FRAMES ? (guint64) frame_count (info) + 1
                                 : (guint64) stack_count (info) + 1;
}

/* TRUE if the table entries of a block were read already, before a seek. */
static gboolean
is_known (const NativeReader *reader, guint32 type, guint64 first, guint32 count)
{
  return first >= 1 && first + count <= next_number (&reader->base.info, type);
}

/* These add the entry at *@data, which must get the number @number; *@data is then after it. */

static gboolean
take_string (GememTraceInfo *info, const guint8 **data, gsize *size, guint64 number)
{
  const gsize length = *size >= 4 ? native_get32 (*data) : 0;
  g_autofree char *text = NULL;

  if (length == 0 || length > *size - 4 || length > NATIVE_MAX_STRING
      || memchr (*data + 4, 0, length) != NULL)
    return FALSE;
  text = g_strndup ((const char *) *data + 4, length);
  *data += 4 + length;
  *size -= 4 + length;
  return gemem_trace_info_intern (info, text) == number;
}

static gboolean
take_frame (GememTraceInfo *info, const guint8 **data, gsize *size, guint64 number)
{
  GememFrame frame = { 0 };

  if (*size < NATIVE_FRAME_SIZE)
    return FALSE;
  frame.name = native_get32 (*data);
  frame.file = native_get32 (*data + 4);
  frame.line = native_get32 (*data + 8);
  *data += NATIVE_FRAME_SIZE;
  *size -= NATIVE_FRAME_SIZE;
  return frame.name < info->strings->len && frame.file < info->strings->len
         && gemem_call_stacks_frame (gemem_trace_info_stacks (info), &frame) == number;
}

static gboolean
take_stack (GememTraceInfo *info, const guint8 **data, gsize *size, guint64 number)
{
  g_autofree guint32 *frames = NULL;
  const guint32 known = frame_count (info);
  gsize n = *size >= 4 ? native_get32 (*data) : 0;

  if (n == 0 || n > GEMEM_MAX_STACK || n * 4 > *size - 4)
    return FALSE;
  frames = g_new (guint32, n);
  for (gsize i = 0; i < n; i++)
    {
      frames[i] = native_get32 (*data + 4 + i * 4);
      if (frames[i] == 0 || frames[i] > known)
        return FALSE;
    }
  *data += 4 + n * 4;
  *size -= 4 + n * 4;
  return gemem_call_stacks_extend (gemem_trace_info_stacks (info), 0, frames, (guint) n) == number;
}

static gboolean
take_entries (NativeReader *reader, const NativeBlock *block, const guint8 *payload, GError **error)
{
  const gboolean strings = block->type == NATIVE_STRINGS, frames = block->type == NATIVE_FRAMES;
  GememTraceInfo *info = &reader->base.info;
  g_autofree guint8 *unpacked = NULL;
  gsize size;

  if (is_known (reader, block->type, block->first, block->count))
    return TRUE;
  const guint8 *data = unpack_block (block, payload, &unpacked, &size);
  gboolean good = data != NULL && block->first == next_number (info, block->type);
  for (guint32 i = 0; good && i < block->count; i++)
    good = strings  ? take_string (info, &data, &size, block->first + i)
           : frames ? take_frame (info, &data, &size, block->first + i)
                    : take_stack (info, &data, &size, block->first + i);
  return (good && size == 0)
         || block_damaged (reader, block->type,
                           strings  ? "is damaged (its strings are impossible)"
                           : frames ? "is damaged (its frames are impossible)"
                                    : "is damaged (its stacks are impossible)",
                           error);
}

/* Processes a block that precedes the chunks that use it. */
static gboolean
take_table (NativeReader *reader, const NativeBlock *block, const guint8 *payload, GError **error)
{
  if (block->type == NATIVE_INFO && reader->index != NULL)
    return TRUE; /* the last one was taken at the beginning, and who reads may have added to it */
  return block->type == NATIVE_INFO ? take_info (reader, block, payload, error)
                                    : take_entries (reader, block, payload, error);
}

/* ---- the footer */

/* Verifies the end of a file read in order: the footer matches, and the trailer ends the file. */
static gboolean
take_footer (NativeReader *reader, const guint8 *payload, guint64 place, GError **error)
{
  const guint8 *data;

  if (native_get64 (payload) != reader->event
      || (reader->in_order
          && (native_get64 (payload + 8) != reader->base.info.strings->len
              || native_get64 (payload + 16) != reader->total
              || native_get64 (payload + 24) != reader->blocks)))
    return block_damaged (reader, NATIVE_FOOTER, "does not fit what comes before it", error);
  gssize available = gemem_input_fill (reader->input, NATIVE_TRAILER_SIZE + 1, &data, error);
  if (available < 0)
    return FALSE;
  if (available < NATIVE_TRAILER_SIZE)
    return damaged (reader, "the end of the file", "is cut off", error);
  if (available > NATIVE_TRAILER_SIZE || native_get64 (data) != place
      || memcmp (data + 8, NATIVE_END_MAGIC, 8) != 0)
    return damaged (reader, "the end of the file", "is damaged", error);
  reader->ended = TRUE;
  reader->base.info.events = reader->event;
  return TRUE;
}

/* ---- the events */

static gboolean
events_damaged (NativeReader *reader, const char *problem, GError **error)
{
  g_autofree char *what = g_strdup_printf ("is damaged (%s)", problem);
  return block_damaged (reader, NATIVE_EVENTS, what, error);
}

static gboolean
start_chunk (NativeReader *reader, const NativeBlock *block, const guint8 *payload, GError **error)
{
  if (block->first != reader->event)
    return block_damaged (reader, block->type, "is not the one that must follow here", error);
  const char *problem = reader->seen != NULL
                            ? gemem_native_decoder_devices (reader->decoder, payload, block->stored,
                                                            block->count, reader->seen)
                            : gemem_native_decoder_start (reader->decoder, payload, block->stored,
                                                          block->count,
                                                          reader->base.info.strings->len,
                                                          stack_count (&reader->base.info) + 1);
  if (problem == NULL)
    {
      reader->chunk++;
      reader->event += reader->seen != NULL ? block->count : 0;
      return TRUE;
    }
  return events_damaged (reader, problem, error);
}

/* Reads and processes one block. */
static gboolean
advance (NativeReader *reader, GError **error)
{
  NativeBlock block;
  const guint8 *payload;
  guint64 place = gemem_input_offset (reader->input), total;
  guint8 chain[8];

  if (!read_block (reader, &block, &payload, error))
    return FALSE;
  native_put64 (chain, block.checksum);
  total = gemem_checksum (chain, sizeof chain, reader->total);
  if (block.type == NATIVE_FOOTER)
    return take_footer (reader, payload, place, error);
  /* block_limits() rejects every other type */
  if (!(block.type == NATIVE_EVENTS ? start_chunk (reader, &block, payload, error)
                                    : take_table (reader, &block, payload, error)))
    return FALSE;
  reader->total = total;
  reader->blocks++;
  return TRUE;
}

/* Ends reading at damage: without an error under allow_partial. */
static gssize
give_up (NativeReader *reader, GError *problem, GError **error)
{
  reader->ended = TRUE;
  if (!reader->options.allow_partial || !g_error_matches (problem, GEMEM_ERROR, GEMEM_ERROR_INPUT))
    {
      g_propagate_error (error, problem);
      return -1;
    }
  g_error_free (problem);
  reader->base.info.flags |= GEMEM_TRACE_TRUNCATED;
  reader->base.info.events = 0;
  return 0;
}

/* Decodes the next events as stored; returns their count, 0 at the end, -1 with @error. */
static gssize
next_batch (NativeReader *reader, GememTraceEvent **events, GError **error)
{
  while (!reader->ended)
    {
      const char *problem = NULL;
      gssize n = gemem_native_decode (reader->decoder, events, &problem);
      if (n > 0)
        {
          reader->event += (guint64) n;
          return n;
        }
      if (n < 0)
        {
          reader->chunk--;
          events_damaged (reader, problem, error);
          return -1;
        }
      if (!advance (reader, error))
        return -1;
    }
  return 0;
}

static gssize
native_next (GememTraceReader *base, const GememTraceEvent **events, GError **error)
{
  NativeReader *reader = (NativeReader *) base;
  GememTraceEvent *batch = NULL;
  GError *problem = NULL;

  for (;;)
    {
      gssize n = next_batch (reader, &batch, &problem);
      if (n < 0)
        return give_up (reader, problem, error);
      if (n == 0)
        return 0;
      gssize drop = (gssize) MIN (reader->skip, (guint64) n);
      reader->skip -= (guint64) drop;
      n = gemem_trace_filter_device (batch + drop, n - drop, reader->options.device);
      *events = batch + drop;
      if (n > 0)
        return n;
    }
}

static gboolean
native_devices (GememTraceReader *base, guint8 *seen, GError **error)
{
  NativeReader *reader = (NativeReader *) base;
  GError *problem = NULL;

  reader->seen = seen;
  while (!reader->ended && problem == NULL)
    advance (reader, &problem);
  reader->seen = NULL;
  return problem == NULL || give_up (reader, problem, error) == 0;
}

/* ---- the index */

/* Loads the index from the footer, if the file is seekable and the footer is sound. */
static void
load_index (NativeReader *reader)
{
  guint64 size;
  const guint8 *data;
  NativeBlock block;

  if (!gemem_input_size (reader->input, &size) || size < NATIVE_HEADER_SIZE + NATIVE_TRAILER_SIZE
      || !gemem_input_seek (reader->input, size - NATIVE_TRAILER_SIZE, NULL)
      || gemem_input_fill (reader->input, NATIVE_TRAILER_SIZE, &data, NULL) != NATIVE_TRAILER_SIZE
      || memcmp (data + 8, NATIVE_END_MAGIC, 8) != 0 || native_get64 (data) > size
      || !gemem_input_seek (reader->input, native_get64 (data), NULL)
      || !read_block (reader, &block, &data, NULL) || block.type != NATIVE_FOOTER)
    return;
  reader->base.info.events = native_get64 (data);
  reader->index = g_array_sized_new (FALSE, FALSE, sizeof (IndexEntry), block.count);
  for (guint32 i = 0; i < block.count; i++)
    {
      const guint8 *p = data + NATIVE_FOOTER_SIZE + (gsize) i * NATIVE_INDEX_ENTRY_SIZE;
      IndexEntry entry = { native_get64 (p), native_get64 (p + 16), native_get32 (p + 8),
                           native_get32 (p + 12) };
      g_array_append_val (reader->index, entry);
    }
}

/* The last information block holds the final counts. */
static gboolean
load_final_info (NativeReader *reader)
{
  NativeBlock block;
  const guint8 *payload;

  for (guint i = reader->index->len; i-- > 1;)
    {
      const IndexEntry *entry = &g_array_index (reader->index, IndexEntry, i);
      if (entry->type == NATIVE_INFO)
        return gemem_input_seek (reader->input, entry->offset, NULL)
               && read_block (reader, &block, &payload, NULL) && block.type == NATIVE_INFO
               && take_info (reader, &block, payload, NULL);
    }
  return TRUE;
}

/* Reads those blocks of strings, frames and stacks before @offset that were not read yet. */
static gboolean
load_tables_before (NativeReader *reader, guint64 offset, GError **error)
{
  NativeBlock block;
  const guint8 *payload;

  for (guint i = 0; i < reader->index->len; i++)
    {
      const IndexEntry *entry = &g_array_index (reader->index, IndexEntry, i);
      if (entry->type == NATIVE_INFO || entry->type == NATIVE_EVENTS || entry->offset > offset
          || is_known (reader, entry->type, entry->first, entry->count))
        continue;
      if (!gemem_input_seek (reader->input, entry->offset, error)
          || !read_block (reader, &block, &payload, error))
        return FALSE;
      if (block.type != entry->type || block.type == NATIVE_FOOTER)
        return block_damaged (reader, NATIVE_FOOTER, "points to the wrong place", error);
      if (!take_table (reader, &block, payload, error))
        return FALSE;
    }
  return TRUE;
}

/* Returns the index entry of the chunk that contains @event; *@before: the chunks before it. */
static const IndexEntry *
find_chunk (const NativeReader *reader, guint64 event, guint *before)
{
  *before = 0;
  for (guint i = 0; i < reader->index->len; i++)
    {
      const IndexEntry *entry = &g_array_index (reader->index, IndexEntry, i);
      if (entry->type != NATIVE_EVENTS)
        continue;
      if (event >= entry->first && event - entry->first < entry->count)
        return entry;
      ++*before;
    }
  return NULL;
}

gboolean
gemem_native_seek (GememTraceReader *base, guint64 event, GError **error)
{
  NativeReader *reader = (NativeReader *) base;
  const IndexEntry *entry;
  guint before;

  if (base->next != native_next || reader->index == NULL || event > base->info.events)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: cannot go to event %" G_GUINT64_FORMAT
                   "; only within a whole, uncompressed native trace",
                   base->info.path, event);
      return FALSE;
    }
  reader->in_order = FALSE;
  reader->ended = TRUE; /* until the seek succeeds */
  reader->skip = 0;
  if (event == base->info.events)
    return TRUE;
  entry = find_chunk (reader, event, &before);
  if (entry == NULL)
    return block_damaged (reader, NATIVE_FOOTER, "does not list every chunk", error);
  if (!load_tables_before (reader, entry->offset, error)
      || !gemem_input_seek (reader->input, entry->offset, error))
    return FALSE;
  reader->event = entry->first;
  reader->chunk = before;
  reader->skip = event - entry->first;
  reader->ended = !advance (reader, error);
  return !reader->ended;
}

/* ---- opening and closing */

static gboolean
read_header (NativeReader *reader, GError **error)
{
  const guint8 *head;
  const char *name = gemem_input_name (reader->input);
  gssize available = gemem_input_fill (reader->input, NATIVE_HEADER_SIZE, &head, error);

  if (available < 0)
    return FALSE;
  if (available < NATIVE_HEADER_SIZE || memcmp (head, NATIVE_MAGIC, 8) != 0)
    {
      gboolean similar = available >= 4 && memcmp (head, NATIVE_MAGIC, 4) == 0;
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: event 0: %s", name,
                   !similar ? "this is not a native gemem trace; name the right format"
                   : available < NATIVE_HEADER_SIZE
                       ? "the header is cut off; copy the file again"
                       : "the header was altered, as by a text-mode transfer; copy the file again "
                         "in binary mode");
      return FALSE;
    }
  if (native_get32 (head + 8) > NATIVE_VERSION)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: version %u of the native format, and this gemem knows versions up to %d; "
                   "use a newer gemem",
                   name, native_get32 (head + 8), NATIVE_VERSION);
      return FALSE;
    }
  if (native_get64 (head + 16) != gemem_checksum (head, 16, 0))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: event 0: the header is damaged (checksum); copy the file again", name);
      return FALSE;
    }
  if (native_get32 (head + 8) > NATIVE_VERSION_WITHOUT_STACKS)
    gemem_trace_info_stacks (&reader->base.info);
  gemem_input_consume (reader->input, NATIVE_HEADER_SIZE);
  return TRUE;
}

static void
native_close (GememTraceReader *base)
{
  NativeReader *reader = (NativeReader *) base;
  gemem_input_close (reader->input);
  gemem_native_decoder_free (reader->decoder);
  g_clear_pointer (&reader->index, g_array_unref);
  gemem_trace_info_clear (&reader->base.info);
  g_free (reader);
}

/* The first block must be information. */
static gboolean
read_first_info (NativeReader *reader, GError **error)
{
  const guint8 *head;
  gssize available = gemem_input_fill (reader->input, 4, &head, error);

  if (available < 0)
    return FALSE;
  if (available == 4 && native_get32 (head) != NATIVE_INFO)
    return block_damaged (reader, NATIVE_INFO, "is missing", error);
  return advance (reader, error);
}

/* In a seekable file, reads index and final information, then restores the position. */
static gboolean
look_ahead (NativeReader *reader, GError **error)
{
  guint64 size, place = gemem_input_offset (reader->input);
  NativeBlock block;
  const guint8 *payload;

  if (!gemem_input_size (reader->input, &size))
    {
      gemem_input_set_single_pass (reader->input);
      return TRUE;
    }
  load_index (reader);
  if (reader->index != NULL && !load_final_info (reader))
    {
      g_clear_pointer (&reader->index, g_array_unref);
      reader->base.info.events = 0;
      if (!gemem_input_seek (reader->input, NATIVE_HEADER_SIZE, error)
          || !read_block (reader, &block, &payload, error)
          || !take_info (reader, &block, payload, error))
        return FALSE;
    }
  return gemem_input_seek (reader->input, place, error);
}

static GememTraceReader *
native_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  NativeReader *reader = g_new0 (NativeReader, 1);

  reader->base.next = native_next;
  reader->base.devices = native_devices;
  reader->base.close = native_close;
  reader->input = input;
  reader->options = *options;
  reader->decoder = gemem_native_decoder_new ();
  reader->in_order = TRUE;
  gemem_trace_info_init (&reader->base.info, "native", gemem_input_name (input));
  if (read_header (reader, error) && read_first_info (reader, error) && look_ahead (reader, error))
    return &reader->base;
  native_close (&reader->base);
  return NULL;
}

static int
native_probe (const guint8 *head, gsize size)
{
  return size >= 4 && memcmp (head, NATIVE_MAGIC, 4) == 0 ? 100 : 0;
}

static GememTraceWriter *
native_create (const char *path, const GememTraceInfo *info, GError **error)
{
  return gemem_native_create (path, info, NATIVE_CHUNK_EVENTS, error);
}

const GememTraceFormat gemem_format_native = {
  .name = "native",
  .aliases = "gmt",
  .extensions = "gmt",
  .summary = "gemem's own format: compressed, checksummed, seekable",
  .origin = "gemem; doc/trace-formats.md",
  .quick = TRUE,
  .probe = native_probe,
  .open = native_open,
  .create = native_create,
};

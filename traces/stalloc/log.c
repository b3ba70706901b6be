/* log.c - the recording of STAlloc (STWeaver): format `stalloc`, read and written.
 *
 *   1 0x7f2c40000000 1048576 0        a block of 1048576 bytes on stream 0
 *   0 0x7f2c40000000 1048576 0        it is released
 *   Iteration Index :0                an iteration begins; `end`: the last one is over
 *   ... micro-batch ... :F            a part of the iteration begins
 *   decoder.layers.0->Layer Layer : F-start
 *
 * Events delivered: ALLOC and FREE with the stream; STEP for an iteration and for the end of the last;
 * PHASE and PHASE_END for layers ("decoder.layers.0->Layer F") and parts of iterations.  There are no
 * times.  The device is the number in the file's name, `mem_log_dev<k>.txt`.  Lines that are none of
 * these are skipped and counted.
 *
 * Written are allocations, releases, steps and phases of such a name, of one device.  Blocks without a
 * recorded address get one that no live block has.
 *
 * Memory: the live blocks.  Origin: peers.md 1f.
 */
#include "config.h"

#include <string.h>

#include "base/io/output.h"
#include "base/io/scan.h"
#include "traces/log-reader.h"
#include "traces/native/file.h"

#define LONGEST_LINE ((gsize) 64 << 10)
#define LONGEST_TAG 200
#define MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)
#define ITERATION "Iteration Index :"
#define LAYER " Layer : "
#define FIRST_ADDRESS G_GUINT64_CONSTANT (0x7e0000000000) /* of blocks without one */
#define SPACING 512

extern const GememTraceFormat gemem_format_stalloc;

/* ---- reading */

typedef struct
{
  GememLogReader base;
  GememIdMap *blocks;
  guint64 device, steps;
  guint32 part; /* tag of the open part of an iteration; GEMEM_NO_TAG: none */
} Stalloc;

/* "0", "0x55d0c3a8", "55d0c3a8" */
static gboolean
scan_stream (const char **p, const char *end, guint64 *stream)
{
  return scan_uint_word (p, end, stream)
         || (scan_hex (p, end, stream) && (*p == end || **p == ' '));
}

/* Scans "POINTER SIZE STREAM". */
static gboolean
scan_block (const char *p, const char *end, GememLogBlock *block)
{
  scan_blanks (&p, end);
  if (!scan_uint_word (&p, end, &block->address))
    return FALSE;
  scan_blanks (&p, end);
  if (!scan_uint_word (&p, end, &block->size))
    return FALSE;
  scan_blanks (&p, end);
  if (!scan_stream (&p, end, &block->stream))
    return FALSE;
  scan_blanks (&p, end);
  return p == end && block->size < MAX_SIZE;
}

static gboolean
is_call (const char *p, const char *end)
{
  return end - p > 2 && (*p == '0' || *p == '1') && p[1] == ' ';
}

static gboolean
read_call (Stalloc *stalloc, const char *p, const char *end)
{
  GememLogBlock block = { .device = stalloc->device };

  if (!scan_block (p + 1, end, &block))
    return gemem_line_reader_fail (
        &stalloc->base.lines,
        "not '0|1 POINTER SIZE STREAM', as STAlloc writes it; fetch the file again");
  if (*p == '0')
    gemem_log_reader_end (&stalloc->base, stalloc->blocks, block.address, GEMEM_EVENT_FREE, TRUE,
                          0);
  else if (block.address == 0)
    gemem_log_reader_refuse (&stalloc->base, &block, 0);
  else
    return gemem_log_reader_alloc (&stalloc->base, stalloc->blocks, block.address, &block, 0)
           != NULL;
  return TRUE;
}

static void
add_phase (Stalloc *stalloc, GememEventKind kind, guint32 tag)
{
  gemem_log_reader_add (&stalloc->base, kind, stalloc->device, 0)->tag = tag;
}

static guint32
tag_of (Stalloc *stalloc, const char *p, const char *end)
{
  g_autofree char *raw = g_strndup (p, (gsize) MIN (end - p, LONGEST_TAG));
  g_autofree char *text = g_utf8_make_valid (raw, -1);

  return gemem_trace_info_intern (&stalloc->base.lines.base.info, g_strstrip (text));
}

static void
end_part (Stalloc *stalloc)
{
  if (stalloc->part != GEMEM_NO_TAG)
    add_phase (stalloc, GEMEM_EVENT_PHASE_END, stalloc->part);
  stalloc->part = GEMEM_NO_TAG;
}

static void
begin_step (Stalloc *stalloc)
{
  end_part (stalloc);
  gemem_log_reader_add (&stalloc->base, GEMEM_EVENT_STEP, stalloc->device, 0)->id =
      stalloc->steps++;
}

/* "F-start", "W-end" at @at; *@begins: which. */
static gboolean
is_edge (const char *at, const char *end, gboolean *begins)
{
  const gsize length = (gsize) (end - at);

  if (length < 2 || strchr ("FBW", *at) == NULL || *at == '\0')
    return FALSE;
  *begins = scan_equal (at + 1, length - 1, "-start");
  return *begins || scan_equal (at + 1, length - 1, "-end");
}

static gboolean
read_layer (Stalloc *stalloc, const char *p, const char *end, const char *layer)
{
  const char *way = layer + strlen (LAYER);
  gboolean begins;

  if (!is_edge (way, end, &begins))
    return gemem_log_reader_skip (&stalloc->base);
  g_autofree char *name = g_strdup_printf ("%.*s %c", (int) MIN (layer - p, LONGEST_TAG - 2), p,
                                           *way);

  add_phase (stalloc, begins ? GEMEM_EVENT_PHASE : GEMEM_EVENT_PHASE_END,
             tag_of (stalloc, name, name + strlen (name)));
  return TRUE;
}

static gboolean
read_line (GememLineReader *reader, const char *p, const char *end)
{
  Stalloc *stalloc = (Stalloc *) reader;
  const char *layer;

  scan_blanks (&p, end);
  while (end > p && g_ascii_isspace (end[-1]))
    end--;
  if (is_call (p, end))
    return read_call (stalloc, p, end);
  layer = scan_find (p, end, LAYER);
  if (scan_find (p, end, ITERATION) != NULL)
    begin_step (stalloc);
  else if (layer != NULL)
    return read_layer (stalloc, p, end, layer);
  else if (scan_find (p, end, "micro-batch") != NULL)
    {
      end_part (stalloc);
      stalloc->part = tag_of (stalloc, p, end);
      add_phase (stalloc, GEMEM_EVENT_PHASE, stalloc->part);
    }
  else if (p < end)
    return gemem_log_reader_skip (&stalloc->base);
  return TRUE;
}

static gboolean
read_end (GememLineReader *reader)
{
  end_part ((Stalloc *) reader);
  if (reader->count == 0)
    return gemem_line_reader_fail (
        reader, "no line of this file is STAlloc's; name a file mem_log_dev<k>.txt");
  return gemem_log_reader_finish (reader);
}

static void
stalloc_close (GememTraceReader *reader)
{
  Stalloc *stalloc = (Stalloc *) reader;

  gemem_idmap_free (stalloc->blocks);
  gemem_log_reader_clear (&stalloc->base);
  g_free (stalloc);
}

/* The number in "mem_log_dev3.txt"; 0 in another name. */
static guint64
device_of (const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  const char *found = strstr (name, "_dev");
  const guint64 device = found != NULL ? g_ascii_strtoull (found + 4, NULL, 10) : 0;

  return device < 256 ? device : 0;
}

static GememTraceReader *
stalloc_open (GememInput *input, const GememReadOptions *options, GError **error G_GNUC_UNUSED)
{
  Stalloc *stalloc = g_new0 (Stalloc, 1);

  stalloc->device = device_of (gemem_input_name (input));
  gemem_log_reader_init (&stalloc->base, "stalloc", input, options);
  stalloc->base.timeless = TRUE;
  stalloc->base.lines.base.close = stalloc_close;
  stalloc->base.lines.longest = LONGEST_LINE;
  stalloc->base.lines.line = read_line;
  stalloc->base.lines.end = read_end;
  stalloc->base.lines.base.info.flags |= GEMEM_TRACE_HAS_ADDRESSES;
  stalloc->blocks = gemem_log_blocks_new ();
  return &stalloc->base.lines.base;
}

/* A call of the form that STAlloc writes, or the mark of an iteration. */
static int
stalloc_probe (const guint8 *head, gsize size)
{
  const char *p = (const char *) head, *all = p + size, *end;

  for (; (end = memchr (p, '\n', (gsize) (all - p))) != NULL; p = end + 1)
    {
      GememLogBlock block;

      if (g_str_has_prefix (p, ITERATION))
        return 90;
      if (is_call (p, end) && p[2] == '0' && p[3] == 'x' && scan_block (p + 1, end, &block))
        return 85;
    }
  return 0;
}

/* ---- writing */

typedef struct
{
  NativeFile file;
  GememIdMap *live; /* id -> GememLogBlock */
  GString *lines;   /* of the events of a call */
  guint64 next, steps;
  int device; /* -1: not known yet */
} Writer;

static gboolean
write_block (Writer *writer, const GememTraceEvent *event, GError **error)
{
  const gboolean begins = event->kind == GEMEM_EVENT_ALLOC;
  GememLogBlock block = { .size = event->size, .stream = event->stream };

  if (begins ? event->size == 0 || (event->flags & GEMEM_EVENT_FAILED) != 0
             : !gemem_idmap_remove (writer->live, event->id, &block))
    return TRUE;
  if (writer->device != -1 && writer->device != event->device)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: a file of STAlloc is of one device, and the trace has several; choose one "
                   "with --trace-device",
                   gemem_output_name (writer->file.output));
      return FALSE;
    }
  writer->device = event->device;
  if (begins)
    {
      block.address = event->address != 0 ? event->address : FIRST_ADDRESS + writer->next;
      writer->next += event->address != 0 ? 0 : (event->size + SPACING - 1) / SPACING * SPACING;
      *(GememLogBlock *) gemem_idmap_insert (writer->live, event->id, NULL) = block;
    }
  g_string_append_printf (writer->lines, "%d 0x%" G_GINT64_MODIFIER "x %" G_GUINT64_FORMAT " ",
                          begins, block.address, block.size);
  g_string_append_printf (writer->lines, block.stream == 0 ? "0\n" : "0x%" G_GINT64_MODIFIER "x\n",
                          block.stream);
  return TRUE;
}

/* Whether @name is a layer's, "decoder.layers.0->Layer F", and its line would be read as one: it is one line, and no
 * call and no iteration. */
static gboolean
is_layer (const char *name, gsize length)
{
  return length >= 3 && strstr (name, "->") != NULL && name[length - 2] == ' '
         && strchr ("FBW", name[length - 1]) != NULL && strpbrk (name, "\r\n") == NULL
         && strstr (name, ITERATION) == NULL && !is_call (name, name + length);
}

static void
write_phase (Writer *writer, const GememTraceEvent *event)
{
  const char *name = writer->file.info->strings->pdata[event->tag];
  const gsize length = strlen (name);

  if (!is_layer (name, length))
    return;
  g_string_append_printf (writer->lines, "%.*s" LAYER "%c-%s\n", (int) length - 2, name,
                          name[length - 1], event->kind == GEMEM_EVENT_PHASE ? "start" : "end");
}

static gboolean
write_events (NativeFile *file, const GememTraceEvent *events, gsize n, GError **error)
{
  Writer *writer = (Writer *) file;

  g_string_truncate (writer->lines, 0);
  for (gsize i = 0; i < n; i++)
    {
      const GememTraceEvent *event = &events[i];

      if (event->kind == GEMEM_EVENT_STEP)
        g_string_append_printf (writer->lines, ITERATION "%" G_GUINT64_FORMAT "\n",
                                writer->steps++);
      else if (event->kind == GEMEM_EVENT_PHASE || event->kind == GEMEM_EVENT_PHASE_END)
        write_phase (writer, event);
      else if ((event->kind == GEMEM_EVENT_ALLOC || event->kind == GEMEM_EVENT_FREE
                || event->kind == GEMEM_EVENT_FREE_COMPLETED)
               && !write_block (writer, event, error))
        return FALSE;
    }
  return gemem_output_write (file->output, writer->lines->str, writer->lines->len, error);
}

static gboolean
write_end (NativeFile *file G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
  return TRUE;
}

static void
free_writer (NativeFile *file)
{
  Writer *writer = (Writer *) file;

  gemem_idmap_free (writer->live);
  g_string_free (writer->lines, TRUE);
  g_free (writer);
}

static GememTraceWriter *
stalloc_create (const char *path, const GememTraceInfo *info, GError **error)
{
  Writer *writer = gemem_native_file_new (sizeof (Writer), path, info, error);

  if (writer == NULL)
    return NULL;
  writer->file.base.format = &gemem_format_stalloc;
  writer->file.add = write_events;
  writer->file.end = write_end;
  writer->file.free = free_writer;
  writer->live = gemem_log_blocks_new ();
  writer->lines = g_string_new (NULL);
  writer->device = -1;
  return &writer->file.base;
}

const GememTraceFormat gemem_format_stalloc = {
  .name = "stalloc",
  .aliases = "stweaver",
  .extensions = "txt",
  .summary = "recording of STAlloc (STWeaver): allocations, iterations and layers of a program",
  .origin = "peers.md 1f",
  .probe = stalloc_probe,
  .open = stalloc_open,
  .create = stalloc_create,
};

/* text.c - reads the text form of the native format (format "text"): one event per line,
 * convertible without loss in both directions.
 *
 *   # gemem-trace: 1                          first line: magic and version
 *   ## anything                               comment; empty lines too are skipped
 *   # KEY: VALUE                              information: flags, ambiguities, skipped, sha256,
 *                                             allocator, settings, device, provenance
 *   # frame: "NAME" ["FILE" LINE]             a frame, the next number from 1 on
 *   # stack: FRAME...                         a stack of frames by number, innermost first; the
 *                                             next number from 1 on
 *   KIND [ID] [KEY=VALUE]...                  an event; omitted fields are 0:
 *       size=N  block=N free=N aux=N (one field) addr=N stream=N pool=N device=N|host t=NS
 *               flags=NAME,...  tag="..."  stack=N
 *   # end: N                                  last line: the number of events
 *
 * Numbers are decimal or 0x; bytes (size, block, free, addr) may have a unit, as people write them:
 * 100MiB, 1.5GiB.  Strings are in double quotes with \" \\ \n \r \t \xHH.  Information
 * after the events replaces the information before them (for counts unknown at the start).
 *
 * Invariants: the writer writes bytes without a unit; a file without its "# end" line is truncated;
 * the events before an error are delivered, then the error; memory is one line, 1024 events and the
 * strings.  Cost: see tests/bench/bench-traces.c.
 */
#include "config.h"

#include "base/io/scan.h"
#include "base/units.h"
#include "traces/line-reader.h"
#include "traces/native/text-format.h"

#define LONGEST_LINE ((gsize) 8 << 20) /* an escaped tag of 1 MiB, plus the other fields */

typedef struct
{
  GememLineReader lines;
  GString *scratch;        /* an unquoted string */
  GArray *frames, *stacks; /* number in the file - 1 -> number in the table of the trace */
  gboolean final_header, ended;
  guint32 version_flags; /* GEMEM_TRACE_*: what the version says */
} TextReader;

#define fail(reader, ...) gemem_line_reader_fail (&(reader)->lines, __VA_ARGS__)
#define fail_at(reader, p, end, what) gemem_line_reader_fail_at (&(reader)->lines, p, end, what)

/* ---- strings and flags */

static gboolean
unescape (TextReader *reader, const char **p, const char *end)
{
  char c = *p < end ? **p : '\0';
  ++*p;
  switch (c)
    {
    case '"':
    case '\\':
      break;
    case 'n':
      c = '\n';
      break;
    case 'r':
      c = '\r';
      break;
    case 't':
      c = '\t';
      break;
    case 'x':
      if (end - *p < 2 || !g_ascii_isxdigit ((*p)[0]) || !g_ascii_isxdigit ((*p)[1]))
        return FALSE;
      c = (char) (g_ascii_xdigit_value ((*p)[0]) * 16 + g_ascii_xdigit_value ((*p)[1]));
      *p += 2;
      if (c == '\0')
        return FALSE;
      break;
    default:
      return FALSE;
    }
  g_string_append_c (reader->scratch, c);
  return TRUE;
}

/* Parses a quoted string into `scratch`. */
static gboolean
parse_string (TextReader *reader, const char **p, const char *end)
{
  const char *start = *p;

  g_string_truncate (reader->scratch, 0);
  if (*p >= end || *(*p)++ != '"')
    return fail_at (reader, start, end, "must be a string in double quotes; quote it");
  for (;;)
    {
      const char *plain = *p;
      while (*p < end && **p != '"' && **p != '\\' && **p != '\0')
        ++*p;
      g_string_append_len (reader->scratch, plain, *p - plain);
      if (*p >= end)
        return fail_at (reader, start, end, "has no closing quote; complete the line");
      char c = *(*p)++;
      if (c == '"')
        return TRUE;
      if (c == '\0' || !unescape (reader, p, end))
        return fail_at (reader, start, end,
                        "contains an unknown escape; use \\\" \\\\ \\n \\r \\t \\xHH");
    }
}

static gboolean
parse_flags (TextReader *reader, const char **p, const char *end, const char *const *names,
             guint count, guint32 *flags)
{
  const char *stop = scan_word_end (*p, end);

  *flags = 0;
  while (*p < stop)
    {
      const char *comma = memchr (*p, ',', (gsize) (stop - *p));
      const char *word_end = comma != NULL ? comma : stop;
      const char *number = *p;
      guint64 bits = 0;
      guint i = 0;
      while (i < count && !scan_equal (*p, (gsize) (word_end - *p), names[i]))
        i++;
      if (i < count)
        bits = (guint64) 1 << i;
      else if (!scan_uint (&number, word_end, &bits) || number != word_end || bits > G_MAXUINT32)
        return fail_at (reader, *p, word_end, "is no flag; see doc/trace-formats.md");
      *flags |= (guint32) bits;
      *p = word_end + (comma != NULL ? 1 : 0);
    }
  return TRUE;
}

/* ---- events */

typedef enum
{
  FIELD_NONE,
  FIELD_SIZE,
  FIELD_AUX,
  FIELD_ADDRESS,
  FIELD_STREAM,
  FIELD_POOL,
  FIELD_DEVICE,
  FIELD_TIME,
  FIELD_FLAGS,
  FIELD_TAG,
  FIELD_STACK
} Field;

static Field
find_field (const char *name, gsize length)
{
  switch (length)
    {
    case 1:
      return *name == 't' ? FIELD_TIME : FIELD_NONE;
    case 3:
      return memcmp (name, "tag", 3) == 0   ? FIELD_TAG
             : memcmp (name, "aux", 3) == 0 ? FIELD_AUX
                                            : FIELD_NONE;
    case 4:
      return memcmp (name, "size", 4) == 0   ? FIELD_SIZE
             : memcmp (name, "addr", 4) == 0 ? FIELD_ADDRESS
             : memcmp (name, "pool", 4) == 0 ? FIELD_POOL
             : memcmp (name, "free", 4) == 0 ? FIELD_AUX
                                             : FIELD_NONE;
    case 5:
      return memcmp (name, "block", 5) == 0   ? FIELD_AUX
             : memcmp (name, "flags", 5) == 0 ? FIELD_FLAGS
             : memcmp (name, "stack", 5) == 0 ? FIELD_STACK
                                              : FIELD_NONE;
    case 6:
      return memcmp (name, "stream", 6) == 0   ? FIELD_STREAM
             : memcmp (name, "device", 6) == 0 ? FIELD_DEVICE
                                               : FIELD_NONE;
    default:
      return FIELD_NONE;
    }
}

static gboolean
store_number (TextReader *reader, GememTraceEvent *event, Field field, guint64 value)
{
  guint64 limit = field == FIELD_POOL     ? G_MAXUINT32
                  : field == FIELD_DEVICE ? G_MAXUINT16
                                          : G_MAXUINT64;

  if (value > limit)
    return fail (reader,
                 "%" G_GUINT64_FORMAT
                 " is too large for its field, which holds up to %" G_GUINT64_FORMAT
                 "; correct the line",
                 value, limit);
  switch (field)
    {
    case FIELD_SIZE:
      event->size = value;
      break;
    case FIELD_AUX:
      event->aux = value;
      break;
    case FIELD_ADDRESS:
      event->address = value;
      break;
    case FIELD_STREAM:
      event->stream = value;
      break;
    case FIELD_POOL:
      event->pool = (guint32) value;
      break;
    case FIELD_DEVICE:
      event->device = (guint16) value;
      break;
    case FIELD_STACK:
      if (value > reader->stacks->len)
        return fail (reader,
                     "stack %" G_GUINT64_FORMAT
                     " is not defined before this line; add its '# stack:' line",
                     value);
      event->stack = value > 0 ? g_array_index (reader->stacks, guint32, value - 1) : 0;
      break;
    case FIELD_TIME:
    case FIELD_FLAGS:
    case FIELD_TAG:
    case FIELD_NONE:
    default:
      event->time = value;
      break;
    }
  return TRUE;
}

/* Parses a number of bytes with a unit ("100MiB"), a whole word; @p is unchanged on failure. */
static gboolean
parse_size (TextReader *reader, const char **p, const char *end, guint64 *value)
{
  const char *stop = scan_word_end (*p, end);

  if (*p == stop || !g_ascii_isdigit (**p))
    return FALSE;
  g_string_truncate (reader->scratch, 0);
  g_string_append_len (reader->scratch, *p, stop - *p);
  if (!gemem_parse_size (reader->scratch->str, 1, 0, value, NULL))
    return FALSE;
  *p = stop;
  return TRUE;
}

/* Whether the field of this name is bytes: not what `aux` says, a number of another kind. */
static gboolean
is_size (Field field, const char *name)
{
  return field == FIELD_SIZE || field == FIELD_ADDRESS || (field == FIELD_AUX && *name != 'a');
}

/* Parses the value after "@name=". */
static gboolean
parse_value (TextReader *reader, GememTraceEvent *event, Field field, const char *name,
             const char **p, const char *end)
{
  const gboolean size = is_size (field, name);
  const char *start = *p;
  guint32 flags;
  guint64 value;

  if (field == FIELD_TAG)
    {
      if (!parse_string (reader, p, end))
        return FALSE;
      event->tag = gemem_trace_info_intern (&reader->lines.base.info, reader->scratch->str);
      return TRUE;
    }
  if (field == FIELD_FLAGS)
    {
      if (!parse_flags (reader, p, end, text_event_flags, G_N_ELEMENTS (text_event_flags), &flags))
        return FALSE;
      event->flags = (guint8) flags;
      return flags <= G_MAXUINT8
             || fail_at (reader, start, scan_word_end (start, end),
                         "has more flags than an event can; correct the line");
    }
  if (field == FIELD_DEVICE && scan_equal (*p, (gsize) (scan_word_end (*p, end) - *p), "host"))
    {
      *p += 4;
      event->device = GEMEM_DEVICE_HOST;
      return TRUE;
    }
  if (!scan_uint_word (p, end, &value) && !(size && parse_size (reader, p, end, &value)))
    return fail_at (reader, start, scan_word_end (start, end),
                    size ? "is not a number of bytes from 0 to 2^64-1, with a unit or without "
                           "(4096, 100MiB); correct the line"
                         : "is not a number from 0 to 2^64-1; correct the line");
  return store_number (reader, event, field, value);
}

/* The version from which on traces have @flag. */
static int
version_of (guint32 flag)
{
  const GememTraceInfo info = { .flags = flag };

  return gemem_native_version (&info);
}

static gboolean
parse_event (TextReader *reader, const char *p, const char *end)
{
  GememTraceEvent *event = gemem_line_reader_add (&reader->lines);
  const char *word = scan_word_end (p, end), *flag;
  guint32 needed;
  guint seen = 0;

  event->kind = (guint8) gemem_event_kind_from_name (p, (gsize) (word - p));
  if (event->kind == 0)
    return fail_at (reader, p, word, "is no kind of event; see doc/trace-formats.md");
  needed = gemem_event_kind_needs (event->kind);
  if (needed > reader->version_flags) /* their bits ascend with the versions */
    {
      g_autofree char *problem = g_strdup_printf (
          "is an event of version %d; let the first line be '" TEXT_MAGIC "%d'",
          version_of (needed), version_of (needed));
      return fail_at (reader, p, word, problem);
    }
  flag = text_flag_missing (event->kind, reader->lines.base.info.flags);
  if (flag != NULL)
    {
      g_autofree char *problem = g_strdup_printf ("needs a line '# flags: %s' before the events",
                                                  flag);
      return fail_at (reader, p, word, problem);
    }
  p = word;
  scan_blanks (&p, end);
  if (p < end && g_ascii_isdigit (*p))
    {
      if (!scan_uint_word (&p, end, &event->id))
        return fail_at (reader, p, scan_word_end (p, end),
                        "is not an id from 0 to 2^64-1; correct the line");
      scan_blanks (&p, end);
    }
  while (p < end)
    {
      const char *name = p;
      const char *equals = memchr (p, '=', (gsize) (end - p));
      Field field = equals != NULL ? find_field (p, (gsize) (equals - p)) : FIELD_NONE;
      if (field == FIELD_NONE)
        return fail_at (reader, p, scan_word_end (p, end),
                        "is no field of an event; see doc/trace-formats.md");
      if (seen & 1u << field)
        return fail_at (reader, p, scan_word_end (p, end),
                        "gives a field a second time; correct the line");
      seen |= 1u << field;
      p = equals + 1;
      if (!parse_value (reader, event, field, name, &p, end))
        return FALSE;
      if (p < end && *p != ' ' && *p != '\t')
        return fail_at (reader, p, end, "follows a value without a space; correct the line");
      scan_blanks (&p, end);
    }
  return TRUE;
}

/* ---- call stacks */

/* Parses the value of "# frame: ". */
static gboolean
parse_frame (TextReader *reader, const char **p, const char *end)
{
  GememTraceInfo *info = &reader->lines.base.info;
  GememFrame frame = { 0 };
  guint64 line = 0;

  if (!parse_string (reader, p, end))
    return FALSE;
  frame.name = gemem_trace_info_intern (info, reader->scratch->str);
  scan_blanks (p, end);
  if (*p < end)
    {
      if (!parse_string (reader, p, end))
        return FALSE;
      frame.file = gemem_trace_info_intern (info, reader->scratch->str);
      scan_blanks (p, end);
      if (!scan_uint_word (p, end, &line) || line > G_MAXUINT32)
        return fail_at (reader, *p, end, "is no line number from 0 to 2^32-1; correct the line");
      frame.line = (guint32) line;
    }
  const guint32 number = gemem_call_stacks_frame (gemem_trace_info_stacks (info), &frame);
  g_array_append_val (reader->frames, number);
  return TRUE;
}

/* Parses the value of "# stack: ". */
static gboolean
parse_stack (TextReader *reader, const char **p, const char *end)
{
  g_autoptr (GArray) frames = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint64 frame;

  while (*p < end)
    {
      const char *start = *p;
      if (!scan_uint_word (p, end, &frame) || frame == 0 || frame > reader->frames->len)
        return fail_at (reader, start, scan_word_end (start, end),
                        "is no frame defined before this line; add its '# frame:' line");
      g_array_append_val (frames, g_array_index (reader->frames, guint32, frame - 1));
      scan_blanks (p, end);
    }
  const guint32 number = gemem_call_stacks_extend (
      gemem_trace_info_stacks (&reader->lines.base.info), 0, (const guint32 *) frames->data,
      frames->len);
  g_array_append_val (reader->stacks, number);
  return TRUE;
}

/* ---- information */

static void
forget_info (GememTraceInfo *info)
{
  info->flags = 0;
  info->ambiguities = info->skipped = 0;
  g_clear_pointer (&info->sha256, g_free);
  g_clear_pointer (&info->allocator, g_free);
  g_clear_pointer (&info->settings, g_free);
  g_clear_pointer (&info->device, g_free);
  g_ptr_array_set_size (info->provenance, 0);
}

static gboolean
parse_end (TextReader *reader, const char *p, const char *end)
{
  guint64 events;
  if (!scan_uint_word (&p, end, &events) || events != reader->lines.count)
    return fail (reader,
                 "the last line counts other events than the %" G_GUINT64_FORMAT
                 " before it; a part is missing, fetch the file again, or correct the number of a "
                 "trace that you wrote by hand",
                 reader->lines.count);
  reader->ended = TRUE;
  return TRUE;
}

static gboolean
parse_text_info (TextReader *reader, const char *key, gsize length, const char **p, const char *end)
{
  GememTraceInfo *info = &reader->lines.base.info;
  char **field = scan_equal (key, length, "sha256")      ? &info->sha256
                 : scan_equal (key, length, "allocator") ? &info->allocator
                 : scan_equal (key, length, "settings")  ? &info->settings
                 : scan_equal (key, length, "device")    ? &info->device
                                                         : NULL;

  if (field == NULL && !scan_equal (key, length, "provenance"))
    return fail_at (reader, key, key + length, "is no known information; write a comment with ##");
  if (!parse_string (reader, p, end))
    return FALSE;
  if (field == NULL)
    g_ptr_array_add (info->provenance, g_strdup (reader->scratch->str));
  else
    {
      g_free (*field);
      *field = g_strdup (reader->scratch->str);
    }
  return TRUE;
}

/* Parses "# KEY: VALUE"; @p is after the '#'. */
static gboolean
parse_info (TextReader *reader, const char *p, const char *end)
{
  GememTraceInfo *info = &reader->lines.base.info;
  gboolean good = TRUE;

  scan_blanks (&p, end);
  const char *key = p, *colon = p < end ? memchr (p, ':', (gsize) (end - p)) : NULL;
  if (colon == NULL)
    return fail_at (reader, p, end, "is not KEY: VALUE; write a comment with ##");
  gsize length = (gsize) (colon - key);
  p = colon + 1;
  scan_blanks (&p, end);
  if (scan_equal (key, length, "end"))
    return parse_end (reader, p, end);
  if (scan_equal (key, length, "frame"))
    return parse_frame (reader, &p, end)
           && (p == end || fail_at (reader, p, end, "follows the frame; correct the line"));
  if (scan_equal (key, length, "stack"))
    return parse_stack (reader, &p, end);
  if (reader->lines.count > 0 && !reader->final_header)
    {
      reader->final_header = TRUE;
      forget_info (info);
      info->flags = reader->version_flags;
    }
  if (scan_equal (key, length, "flags"))
    {
      good = parse_flags (reader, &p, end, text_trace_flags, G_N_ELEMENTS (text_trace_flags),
                          &info->flags);
      info->flags |= reader->version_flags;
    }
  else if (scan_equal (key, length, "ambiguities") || scan_equal (key, length, "skipped"))
    good = scan_uint_word (&p, end, *key == 'a' ? &info->ambiguities : &info->skipped)
           || fail_at (reader, p, end, "is not a number from 0 to 2^64-1; correct the line");
  else
    good = parse_text_info (reader, key, length, &p, end);
  return good && (p == end || fail_at (reader, p, end, "follows the value; correct the line"));
}

/* ---- reading */

static gboolean
text_line (GememLineReader *lines, const char *p, const char *end)
{
  TextReader *reader = (TextReader *) lines;

  if (p == end || (end - p >= 2 && p[0] == '#' && p[1] == '#'))
    return TRUE;
  if (reader->ended)
    return fail (reader, "a line follows the last one ('# end'); remove it");
  return *p == '#' ? parse_info (reader, p + 1, end) : parse_event (reader, p, end);
}

static gboolean
text_end (GememLineReader *lines)
{
  return ((TextReader *) lines)->ended
         || gemem_line_reader_fail (
             lines,
             "the last line '# end: %" G_GUINT64_FORMAT
             "' (the number of events) is missing: if the file was cut off, fetch it again, or "
             "read what is there with --allow-partial; if you wrote it by hand, add that line",
             lines->count);
}

static void
text_close (GememTraceReader *base)
{
  TextReader *reader = (TextReader *) base;
  gemem_line_reader_clear (&reader->lines);
  g_string_free (reader->scratch, TRUE);
  g_array_unref (reader->frames);
  g_array_unref (reader->stacks);
  g_free (reader);
}

static gboolean
read_first_line (TextReader *reader)
{
  const char *line = NULL;
  gsize length = 0, magic = strlen (TEXT_MAGIC);
  guint64 version;
  int got = gemem_input_line (reader->lines.input, LONGEST_LINE, &line, &length,
                              &reader->lines.failure);

  if (got < 0)
    return FALSE;
  if (got == 0 || length < magic || memcmp (line, TEXT_MAGIC, magic) != 0)
    return fail (reader,
                 "the first line is not '" TEXT_MAGIC "%d'; this is not a gemem trace as text",
                 NATIVE_VERSION);
  const char *p = line + magic, *end = line + length;
  if (!scan_uint_word (&p, end, &version) || p != end || version == 0)
    return fail_at (reader, line + magic, end, "is no version; correct the line");
  if (version > NATIVE_VERSION_WITHOUT_STACKS)
    gemem_trace_info_stacks (&reader->lines.base.info);
  if (version > NATIVE_VERSION_WITHOUT_SLEEP)
    reader->version_flags = version > NATIVE_VERSION_WITHOUT_ORDER      ? GEMEM_TRACE_HAS_ORDER
                            : version > NATIVE_VERSION_WITHOUT_SETTINGS ? GEMEM_TRACE_HAS_SETTINGS
                                                                        : GEMEM_TRACE_HAS_SLEEP;
  reader->lines.base.info.flags = reader->version_flags;
  return version <= NATIVE_VERSION
         || fail (reader,
                  "version %" G_GUINT64_FORMAT
                  " of the text format, and this gemem knows versions up to %d; use a newer gemem",
                  version, NATIVE_VERSION);
}

/* Reads up to the first event, so that the information is complete after opening.  Damage after the
 * first line is reported by next(). */
static GememTraceReader *
text_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  TextReader *reader = g_new0 (TextReader, 1);

  gemem_line_reader_init (&reader->lines, "text", input, options);
  reader->lines.base.close = text_close;
  reader->lines.longest = LONGEST_LINE;
  reader->lines.line = text_line;
  reader->lines.end = text_end;
  reader->scratch = g_string_new (NULL);
  reader->frames = g_array_new (FALSE, FALSE, sizeof (guint32));
  reader->stacks = g_array_new (FALSE, FALSE, sizeof (guint32));
  if (!read_first_line (reader))
    {
      g_propagate_error (error, g_steal_pointer (&reader->lines.failure));
      text_close (&reader->lines.base);
      return NULL;
    }
  while (reader->lines.used == 0 && gemem_line_reader_step (&reader->lines))
    ;
  return &reader->lines.base;
}

static int
text_probe (const guint8 *head, gsize size)
{
  return size >= strlen (TEXT_MAGIC) && memcmp (head, TEXT_MAGIC, strlen (TEXT_MAGIC)) == 0 ? 100
                                                                                            : 0;
}

const GememTraceFormat gemem_format_text = {
  .name = "text",
  .aliases = "txt",
  .extensions = "txt",
  .summary = "the native format as text, one event a line, loss-free both ways",
  .origin = "gemem; doc/trace-formats.md",
  .quick = TRUE,
  .probe = text_probe,
  .open = text_open,
  .create = gemem_text_create,
};

/* ops.c - reads the plain list of operations (format "ops"), as people write it by hand and as the vector files hold it.
 *
 *   a ID SIZE [STREAM]     allocate SIZE bytes as ID            f ID [STREAM]     free ID            r     give back what is cached
 *   ... -> RESULT          the recorded decision, optional:     0xADDR size=BLOCK KEY=N... | NULL KEY=N... | ? | KEY=N...
 *   # anything             comment; empty lines too are skipped
 *   # SYSTEM KEY=VALUE...  as first line: the allocator and settings that RESULT comes from
 *
 * Numbers are decimal or 0x.  ADDR and BLOCK become the event's address and aux; NULL and ? set GEMEM_EVENT_FAILED; the other figures
 * (reserved, pool, real, split, the word newva) are checked for syntax only: they belong to the tests.  The keys of the first line
 * that describe the device (capacity, device, base, step, reuse, va...) become info.device, the others info.settings; where there is
 * no capacity, `total` is it.  GE's own first lines, "# single|two|exp --total=N [--cap=N]", become ge-scalable (exp: ge-expandable).
 *
 * Whether ids are alive is not judged here (`gemem-sim validate` does).  Memory: one line, 1024 events.
 * Source: vectors/README.md; models.md.
 */
#include "config.h"

#include "traces/line-reader.h"
#include "traces/scan.h"

#define LONGEST_LINE ((gsize) 64 << 10)
#define LOOK_AHEAD 4096

/* ---- one operation */

static gboolean
parse_number (GememLineReader *reader, const char **p, const char *end, const char *what, guint64 *value)
{
  scan_blanks (p, end);
  if (*p == end)
    return gemem_line_reader_fail (reader, "the %s is missing; write 'a ID SIZE [STREAM]', 'f ID [STREAM]' or 'r'", what);
  if (scan_uint_word (p, end, value))
    return TRUE;
  g_autofree char *problem = g_strdup_printf ("is no %s: a number from 0 to 2^64-1; correct the line", what);
  return gemem_line_reader_fail_at (reader, *p, scan_word_end (*p, end), problem);
}

/* KEY=N of a result. */
static gboolean
parse_figure (GememLineReader *reader, GememTraceEvent *event, const char *p, const char *end)
{
  const char *equals = memchr (p, '=', (gsize) (end - p));
  const char *number = equals != NULL ? equals + 1 : end;
  guint64 value;

  if (scan_equal (p, (gsize) (end - p), "newva"))
    return TRUE;
  if (equals == NULL || equals == p || !scan_uint_word (&number, end, &value))
    return gemem_line_reader_fail_at (reader, p, end, "is no figure of a result (KEY=NUMBER); correct the line");
  if (event->kind == GEMEM_EVENT_ALLOC && scan_equal (p, (gsize) (equals - p), "size"))
    event->aux = value;
  return TRUE;
}

/* What follows "->". */
static gboolean
parse_result (GememLineReader *reader, GememTraceEvent *event, const char *p, const char *end)
{
  gboolean first = TRUE;

  scan_blanks (&p, end);
  if (p == end)
    return gemem_line_reader_fail (reader, "no result follows '->'; the line is cut off");
  for (; p < end; scan_blanks (&p, end), first = FALSE)
    {
      const char *stop = scan_word_end (p, end);
      gsize length = (gsize) (stop - p);
      const char *number = p;
      if (first && (event->kind == GEMEM_EVENT_ALLOC ? scan_equal (p, length, "NULL") : event->kind == GEMEM_EVENT_FREE && scan_equal (p, length, "?")))
        event->flags |= GEMEM_EVENT_FAILED;
      else if (first && event->kind == GEMEM_EVENT_ALLOC)
        {
          if (length < 3 || p[1] != 'x' || !scan_uint_word (&number, stop, &event->address))
            return gemem_line_reader_fail_at (reader, p, stop, "is neither an address (0x...) nor NULL; correct the line");
        }
      else if (!parse_figure (reader, event, p, stop))
        return FALSE;
      p = stop;
    }
  return TRUE;
}

static gboolean
parse_operation (GememLineReader *reader, const char *p, const char *end)
{
  GememTraceEvent *event = gemem_line_reader_add (reader);
  const char *word = p, *stop = scan_word_end (p, end);

  p = stop;
  if (stop - word != 1 || strchr ("afr", *word) == NULL || *word == '\0')
    return gemem_line_reader_fail_at (reader, word, stop, "is no operation; write 'a ID SIZE [STREAM]', 'f ID [STREAM]' or 'r'");
  event->kind = *word == 'a' ? GEMEM_EVENT_ALLOC : *word == 'f' ? GEMEM_EVENT_FREE : GEMEM_EVENT_TRIM;
  if (*word != 'r' && !parse_number (reader, &p, end, "id", &event->id))
    return FALSE;
  if (*word == 'a' && !parse_number (reader, &p, end, "size", &event->size))
    return FALSE;
  scan_blanks (&p, end);
  if (*word != 'r' && p < end && *p != '-' && !parse_number (reader, &p, end, "stream", &event->stream))
    return FALSE;
  scan_blanks (&p, end);
  if (p == end)
    return TRUE;
  stop = scan_word_end (p, end);
  if (!scan_equal (p, (gsize) (stop - p), "->"))
    return gemem_line_reader_fail_at (reader, p, stop, "follows the operation; only '-> RESULT' may");
  return parse_result (reader, event, stop, end);
}

static gboolean
ops_line (GememLineReader *reader, const char *p, const char *end)
{
  scan_blanks (&p, end);
  while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  return p == end || *p == '#' || parse_operation (reader, p, end);
}

/* ---- the first line */

/* Appends "KEY=VALUE" as gemem_settings_parse() reads it. */
static void
append_setting (GString *settings, const char *setting)
{
  if (settings->len > 0)
    g_string_append_c (settings, ',');
  const char *value = strchr (setting, '=');
  for (const char *c = setting; *c != '\0'; c++)
    {
      if (*c == ',' && value[1] != '[')
        g_string_append_c (settings, '\\');
      g_string_append_c (settings, *c);
    }
}

static gboolean
is_device_key (const char *setting)
{
  static const char *const keys[] = { "capacity=", "device=", "base=", "step=", "reuse=", "va=", "vabase=", "vastep=", "vareuse=" };
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (g_str_has_prefix (setting, keys[i]))
      return TRUE;
  return FALSE;
}

/* "single --total=N --cap=N": GE's run-time allocators. */
static void
take_ge_header (GememTraceInfo *info, char **words)
{
  gboolean expandable = strcmp (words[0], "exp") == 0;
  g_autoptr (GString) settings = g_string_new (NULL);
  const char *capacity = "unlimited";

  if (!expandable)
    g_string_append_printf (settings, "stack=%s", words[0]);
  for (guint i = 1; words[i] != NULL; i++)
    {
      if (g_str_has_prefix (words[i], "--cap="))
        capacity = words[i] + strlen ("--cap=");
      else
        append_setting (settings, words[i] + 2);
    }
  info->allocator = g_strdup (expandable ? "ge-expandable" : "ge-scalable");
  info->settings = g_strdup (settings->str);
  info->device = g_strconcat ("capacity=", capacity, NULL);
}

static void
take_header (GememTraceInfo *info, char **words)
{
  g_autoptr (GString) settings = g_string_new (NULL);
  g_autoptr (GString) device = g_string_new (NULL);
  const char *capacity = NULL, *total = NULL;

  for (guint i = 1; words[i] != NULL; i++)
    {
      append_setting (is_device_key (words[i]) ? device : settings, words[i]);
      if (g_str_has_prefix (words[i], "capacity="))
        capacity = words[i];
      if (g_str_has_prefix (words[i], "total="))
        total = words[i] + strlen ("total=");
    }
  if (capacity == NULL && total != NULL)
    {
      g_autofree char *setting = g_strconcat ("capacity=", total, NULL);
      append_setting (device, setting);
    }
  info->allocator = g_strdup (words[0]);
  info->settings = g_strdup (settings->str);
  info->device = g_strdup (device->str);
}

/* TRUE if the words are "SYSTEM KEY=VALUE..." with at least one setting, all of one style. */
static gboolean
is_header (char **words, gboolean *ge)
{
  if (words[0] == NULL || words[1] == NULL || strchr (words[0], '=') != NULL)
    return FALSE;
  *ge = g_str_has_prefix (words[1], "--");
  if (*ge && strcmp (words[0], "single") != 0 && strcmp (words[0], "two") != 0 && strcmp (words[0], "exp") != 0)
    return FALSE;
  for (guint i = 1; words[i] != NULL; i++)
    if (words[i][0] == '=' || strchr (words[i], '=') == NULL || g_str_has_prefix (words[i], "--") != *ge)
      return FALSE;
  return TRUE;
}

static char **
split_words (const char *p, const char *end)
{
  GPtrArray *words = g_ptr_array_new ();
  for (scan_blanks (&p, end); p < end; scan_blanks (&p, end))
    {
      const char *stop = scan_word_end (p, end);
      g_ptr_array_add (words, g_strndup (p, (gsize) (stop - p)));
      p = stop;
    }
  g_ptr_array_add (words, NULL);
  return (char **) g_ptr_array_free (words, FALSE);
}

/* Looks, without consuming, at the first line and for results behind it. */
static void
look_at_header (GememLineReader *reader)
{
  GememTraceInfo *info = &reader->base.info;
  const guint8 *data;
  gboolean ge = FALSE;
  gssize size = gemem_input_fill (reader->input, LOOK_AHEAD, &data, NULL);

  if (size < 0)
    size = gemem_input_fill (reader->input, 1, &data, NULL); /* damaged further on */
  if (size <= 0)
    return;
  const char *text = (const char *) data;
  const char *newline = memchr (text, '\n', (gsize) size);
  const char *end = newline != NULL ? newline : text + size;
  gboolean results = g_strstr_len (text, size, " -> ") != NULL;
  if (results)
    info->flags |= GEMEM_TRACE_HAS_ADDRESSES;
  if (*text != '#')
    return;
  while (end > text && end[-1] == '\r')
    end--;
  g_auto (GStrv) words = split_words (text + 1, end);
  if (!is_header (words, &ge))
    return;
  if (ge)
    take_ge_header (info, words);
  else
    take_header (info, words);
  if (results)
    info->flags |= GEMEM_TRACE_IS_VECTOR;
}

/* ---- opening and closing */

static void
ops_close (GememTraceReader *base)
{
  GememLineReader *reader = (GememLineReader *) base;
  gemem_line_reader_clear (reader);
  g_free (reader);
}

static GememTraceReader *
ops_open (GememInput *input, const GememReadOptions *options, GError **error G_GNUC_UNUSED)
{
  GememLineReader *reader = g_new0 (GememLineReader, 1);

  gemem_line_reader_init (reader, "ops", input, options);
  reader->base.close = ops_close;
  reader->longest = LONGEST_LINE;
  reader->line = ops_line;
  look_at_header (reader);
  return &reader->base;
}

/* TRUE if [p, end) begins like an operation: a letter and the right number of numbers. */
static gboolean
looks_like_operation (const char *p, const char *end)
{
  guint numbers = 0;
  guint64 value;
  char letter = *p++;

  if (letter == '\0' || strchr ("afr", letter) == NULL || (p < end && *p != ' ' && *p != '\t'))
    return FALSE;
  for (scan_blanks (&p, end); p < end && scan_uint_word (&p, end, &value); scan_blanks (&p, end))
    numbers++;
  if (p < end && !(end - p >= 2 && p[0] == '-' && p[1] == '>'))
    return FALSE;
  return letter == 'a' ? numbers == 2 || numbers == 3 : letter == 'f' ? numbers == 1 || numbers == 2 : numbers == 0;
}

/* Recognised by its first line that is neither empty nor a comment, if all of it is there. */
static int
ops_probe (const guint8 *head, gsize size)
{
  const char *p = (const char *) head, *all = p + size;

  while (p < all)
    {
      const char *newline = memchr (p, '\n', (gsize) (all - p));
      const char *end = newline != NULL ? newline : all;
      while (end > p && (end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t'))
        end--;
      scan_blanks (&p, end);
      if (p < end && *p != '#')
        return looks_like_operation (p, end) ? 80 : 0;
      if (newline == NULL)
        return 0;
      p = newline + 1;
    }
  return 0;
}

const GememTraceFormat gemem_format_ops = {
  .name = "ops",
  .aliases = "vec",
  .extensions = "ops|vec",
  .summary = "plain operations 'a ID SIZE', 'f ID', 'r', with recorded decisions or without",
  .origin = "vectors/README.md",
  .probe = ops_probe,
  .open = ops_open,
};

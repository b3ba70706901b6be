/* ops.c - reads the plain list of operations (format "ops"), written by hand or found in vector
 * files.
 *
 *   a ID SIZE [STREAM]      allocate SIZE bytes as ID
 *   f ID [STREAM]           free ID
 *   r                       release what is cached
 *   ... -> RESULT           the recorded decision, optional: 0xADDR size=BLOCK KEY=N... |
 *                           NULL KEY=N... | ? | KEY=N...
 *   m NAME OFFSET:SIZE[:z|:n]...
 *                           load a graph with these segments of static memory (z: zero-copy; n: the
 *                           same, without memory of its own)
 *   b NAME                  a run of the graph begins; a load has prepared the first one
 *   e NAME                  the host waited for its run
 *   F                       unload the graph loaded first
 *   # anything              comment; empty lines too are skipped
 *   # SYSTEM KEY=VALUE...   as first line: the allocator and settings that RESULT comes from
 *
 * Numbers are decimal or 0x.  An ID may also be a name, which gets a number above 2^62 and is the
 * tag of its allocations.  ADDR and
 * BLOCK become the event's address and aux; in its place may be CHUNK:OFFSET (ggml-alloc), which is
 * no address and sets none; NULL and ? set GEMEM_EVENT_FAILED; the other figures (reserved, pool,
 * real, split, the word newva) are checked for syntax only, because the tests use them.  The keys
 * of the first line that describe the device (capacity, device, base, step, reuse, va...) become
 * info.device, the others info.settings; without `capacity`, `total` is the capacity.  "#
 * policy=2|4 total=N [cap=N]" becomes ge-active with its real behaviour, on a device of `cap`
 * bytes.  Graphs are numbered from 1 in the order of their loads. GE's own first lines, "#
 * single|two|exp --total=N [--cap=N]", become ge-scalable (exp: ge-expandable).
 *
 * `b` and `e` of a graph that is unloaded, and `e` of one whose run was waited for, are no events;
 * an `e` without `b` after a load is the run that the load prepared.  A load that the allocator
 * refuses counts for `F` too.
 *
 * Whether ids are alive is not checked here, but by `gemem-sim validate`.  Memory: one line, 1024
 * events, the names, and a few bytes for each graph.
 * Source: the README.md of the shared vectors.
 */
#include "config.h"

#include "base/io/scan.h"
#include "traces/line-reader.h"

#define LONGEST_LINE ((gsize) 64 << 10)
#define LOOK_AHEAD 4096

/* A graph that was loaded; its id is its place in OpsReader.graphs, from 1. */
typedef struct
{
  gboolean ready;   /* a run may begin, or did: a load or `b` prepared it */
  gboolean running; /* `b` came, `e` did not */
} OpsGraph;

typedef struct
{
  GememLineReader lines;
  guint64 unloads;
  GArray *graphs;     /* OpsGraph */
  GHashTable *loaded; /* name of a graph -> guint64: the id of its latest load */
  GHashTable *ids;    /* name of a block -> guint64 */
} OpsReader;

/* ---- one operation */

static gboolean
parse_number (GememLineReader *reader, const char **p, const char *end, const char *what,
              guint64 *value)
{
  scan_blanks (p, end);
  if (*p == end)
    return gemem_line_reader_fail (
        reader, "the %s is missing; write 'a ID SIZE [STREAM]', 'f ID [STREAM]' or 'r'", what);
  if (scan_uint_word (p, end, value))
    return TRUE;
  g_autofree char *problem = g_strdup_printf (
      "is no %s: a number from 0 to 2^64-1; correct the line", what);
  return gemem_line_reader_fail_at (reader, *p, scan_word_end (*p, end), problem);
}

/* TRUE if the word [p, end) is a name, which no number is. */
static gboolean
is_name (const char *p, const char *end)
{
  return p < end && g_ascii_isalpha (*p);
}

/* Parses a number or a name, which an allocation keeps as its tag. */
static gboolean
parse_id (GememLineReader *reader, const char **p, const char *end, GememTraceEvent *event)
{
  GHashTable *ids = ((OpsReader *) reader)->ids;
  guint64 *known;

  scan_blanks (p, end);
  if (!is_name (*p, end))
    return parse_number (reader, p, end, "id", &event->id);
  g_autofree char *name = g_strndup (*p, (gsize) (scan_word_end (*p, end) - *p));

  *p = scan_word_end (*p, end);
  if (event->kind == GEMEM_EVENT_ALLOC && g_utf8_validate (name, -1, NULL))
    event->tag = gemem_trace_info_intern (&reader->base.info, name);
  known = g_hash_table_lookup (ids, name);
  if (known == NULL)
    {
      known = g_new (guint64, 1);
      *known = GEMEM_NAMED_ID + g_hash_table_size (ids);
      g_hash_table_insert (ids, g_steal_pointer (&name), known);
    }
  event->id = *known;
  return TRUE;
}

/* Parses KEY=N of a result. */
static gboolean
parse_figure (GememLineReader *reader, GememTraceEvent *event, const char *p, const char *end)
{
  const char *equals = memchr (p, '=', (gsize) (end - p));
  const char *number = equals != NULL ? equals + 1 : end;
  guint64 value;

  if (scan_equal (p, (gsize) (end - p), "newva"))
    return TRUE;
  if (equals == NULL || equals == p || !scan_uint_word (&number, end, &value))
    return gemem_line_reader_fail_at (reader, p, end,
                                      "is no figure of a result (KEY=NUMBER); correct the line");
  if (event->kind == GEMEM_EVENT_ALLOC && scan_equal (p, (gsize) (equals - p), "size"))
    event->aux = value;
  return TRUE;
}

/* TRUE for "CHUNK:OFFSET", as ggml-alloc decides without addresses. */
static gboolean
is_place (const char *p, const char *end)
{
  const char *colon = memchr (p, ':', (gsize) (end - p)), *offset;
  guint64 number;

  if (colon == NULL || !scan_uint_word (&p, colon, &number))
    return FALSE;
  offset = colon + 1;
  return scan_uint_word (&offset, end, &number);
}

/* Parses the text after "->". */
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
      if (first
          && (event->kind == GEMEM_EVENT_ALLOC
                  ? scan_equal (p, length, "NULL")
                  : event->kind == GEMEM_EVENT_FREE && scan_equal (p, length, "?")))
        event->flags |= GEMEM_EVENT_FAILED;
      else if (first && event->kind == GEMEM_EVENT_ALLOC)
        {
          if (!is_place (p, stop)
              && (length < 3 || p[1] != 'x' || !scan_uint_word (&number, stop, &event->address)))
            return gemem_line_reader_fail_at (
                reader, p, stop, "is neither an address (0x...) nor NULL; correct the line");
        }
      else if (!parse_figure (reader, event, p, stop))
        return FALSE;
      p = stop;
    }
  return TRUE;
}

/* ---- graphs */

/* Parses what may follow "OFFSET:SIZE"; [p, end) may be empty. */
static gboolean
parse_segment_kind (const char *p, const char *end, guint64 *flags)
{
  const gsize length = (gsize) (end - p);

  *flags = 0;
  if (scan_equal (p, length, ":z"))
    *flags = GEMEM_GRAPH_SEGMENT_ZERO_COPY;
  else if (scan_equal (p, length, ":n"))
    *flags = GEMEM_GRAPH_SEGMENT_ZERO_COPY | GEMEM_GRAPH_SEGMENT_NO_ALLOC;
  return length == 0 || *flags != 0;
}

/* Parses "OFFSET:SIZE[:z|:n]". */
static gboolean
parse_segment (GememLineReader *reader, guint64 graph, const char *p, const char *end,
               guint64 *most)
{
  const char *number = p, *colon = memchr (p, ':', (gsize) (end - p));
  const char *second = colon != NULL ? memchr (colon + 1, ':', (gsize) (end - colon - 1)) : NULL;
  const char *stop = second != NULL ? second : end, *size_at = colon != NULL ? colon + 1 : end;
  guint64 offset, size, limit, flags;

  if (colon == NULL || !scan_uint_word (&number, colon, &offset)
      || !scan_uint_word (&size_at, stop, &size) || !parse_segment_kind (stop, end, &flags))
    return gemem_line_reader_fail_at (
        reader, p, end, "is no segment; write OFFSET:SIZE, OFFSET:SIZE:z or OFFSET:SIZE:n");
  if (__builtin_add_overflow (offset, size, &limit))
    return gemem_line_reader_fail_at (reader, p, end, "ends beyond 2^64; correct the line");
  if ((flags & GEMEM_GRAPH_SEGMENT_NO_ALLOC) == 0)
    *most = MAX (*most, limit);
  *gemem_line_reader_add (reader) = (GememTraceEvent){
    .kind = GEMEM_EVENT_GRAPH_SEGMENT, .id = graph, .address = offset, .size = size, .aux = flags
  };
  return TRUE;
}

/* Parses "NAME SEGMENT...".  The load precedes its segments and is completed after them. */
static gboolean
parse_load (GememLineReader *reader, const char *p, const char *end)
{
  OpsReader *ops = (OpsReader *) reader;
  const OpsGraph loaded = { .ready = TRUE };
  const guint64 graph = ops->graphs->len + 1;
  const guint load = reader->used;
  guint64 size = 0;

  gemem_line_reader_add (reader);
  scan_blanks (&p, end);
  const char *name = p;
  p = scan_word_end (p, end);
  g_autofree char *tag = g_strndup (name, (gsize) (p - name));
  for (scan_blanks (&p, end); p < end; scan_blanks (&p, end))
    {
      const char *stop = scan_word_end (p, end);
      if (!parse_segment (reader, graph, p, stop, &size))
        return FALSE;
      p = stop;
    }
  if (reader->used == load + 1)
    return gemem_line_reader_fail (reader,
                                   "the graph has no segments; write 'm NAME OFFSET:SIZE...'");
  if (!g_utf8_validate (tag, -1, NULL))
    return gemem_line_reader_fail (reader, "the name of the graph is not UTF-8; give it another");
  reader->events[load] = (GememTraceEvent){ .kind = GEMEM_EVENT_GRAPH_LOAD,
                                            .id = graph,
                                            .size = size,
                                            .aux = reader->used - load - 1,
                                            .tag = gemem_trace_info_intern (&reader->base.info,
                                                                            tag) };
  g_array_append_val (ops->graphs, loaded);
  g_hash_table_insert (ops->loaded, g_steal_pointer (&tag), g_memdup2 (&graph, sizeof graph));
  return TRUE;
}

static void
add_run (GememLineReader *reader, GememEventKind kind, guint64 graph)
{
  *gemem_line_reader_add (reader) = (GememTraceEvent){ .kind = kind, .id = graph };
}

/* Parses the NAME of `b` or `e`. */
static gboolean
parse_run (GememLineReader *reader, const char *p, const char *end, gboolean begin)
{
  OpsReader *ops = (OpsReader *) reader;
  const guint64 *id;
  OpsGraph *graph;

  scan_blanks (&p, end);
  g_autofree char *name = g_strndup (p, (gsize) (scan_word_end (p, end) - p));
  id = g_hash_table_lookup (ops->loaded, name);
  if (id == NULL)
    return gemem_line_reader_fail_at (reader, p, scan_word_end (p, end),
                                      "is no graph; load it with 'm NAME OFFSET:SIZE...' before");
  p = scan_word_end (p, end);
  scan_blanks (&p, end);
  if (p < end)
    return gemem_line_reader_fail_at (reader, p, end, "follows the name of the graph; nothing may");
  if (*id <= ops->unloads)
    return TRUE;
  graph = &g_array_index (ops->graphs, OpsGraph, *id - 1);
  if (begin || (graph->ready && !graph->running))
    add_run (reader, GEMEM_EVENT_GRAPH_RUN, *id);
  if (!begin && graph->ready)
    add_run (reader, GEMEM_EVENT_GRAPH_RUN_END, *id);
  graph->ready = graph->running = begin;
  return TRUE;
}

static gboolean
parse_unload (GememLineReader *reader, const char *p, const char *end)
{
  scan_blanks (&p, end);
  if (p < end)
    return gemem_line_reader_fail_at (reader, p, end, "follows 'F'; nothing may");
  *gemem_line_reader_add (reader) = (GememTraceEvent){ .kind = GEMEM_EVENT_GRAPH_UNLOAD,
                                                       .id = ++((OpsReader *) reader)->unloads };
  return TRUE;
}

static gboolean
parse_operation (GememLineReader *reader, const char *p, const char *end)
{
  const char *word = p, *stop = scan_word_end (p, end);

  p = stop;
  if (stop - word != 1 || strchr ("afrmbeF", *word) == NULL || *word == '\0')
    return gemem_line_reader_fail_at (
        reader, word, stop, "is no operation; write 'a ID SIZE [STREAM]', 'f ID [STREAM]' or 'r'");
  if (*word == 'm')
    return parse_load (reader, p, end);
  if (*word == 'b' || *word == 'e')
    return parse_run (reader, p, end, *word == 'b');
  if (*word == 'F')
    return parse_unload (reader, p, end);
  GememTraceEvent *event = gemem_line_reader_add (reader);
  event->kind = *word == 'a'   ? GEMEM_EVENT_ALLOC
                : *word == 'f' ? GEMEM_EVENT_FREE
                               : GEMEM_EVENT_TRIM;
  if (*word != 'r' && !parse_id (reader, &p, end, event))
    return FALSE;
  if (*word == 'a' && !parse_number (reader, &p, end, "size", &event->size))
    return FALSE;
  scan_blanks (&p, end);
  if (*word != 'r' && p < end && *p != '-'
      && !parse_number (reader, &p, end, "stream", &event->stream))
    return FALSE;
  scan_blanks (&p, end);
  if (p == end)
    return TRUE;
  stop = scan_word_end (p, end);
  if (!scan_equal (p, (gsize) (stop - p), "->"))
    return gemem_line_reader_fail_at (reader, p, stop,
                                      "follows the operation; only '-> RESULT' may");
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

/* Appends "KEY=VALUE" in the form that gemem_settings_parse() reads. */
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
  static const char *const keys[] = { "capacity=", "device=", "base=",   "step=",   "reuse=",
                                      "va=",       "vabase=", "vastep=", "vareuse=" };
  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (g_str_has_prefix (setting, keys[i]))
      return TRUE;
  return FALSE;
}

/* Parses "single --total=N --cap=N": GE's run-time allocators. */
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

/* Parses "policy=2 total=N [cap=N]": the real behaviour of GE's static graphs. */
static void
take_policy_header (GememTraceInfo *info, char **words)
{
  const char *capacity = words[2] != NULL ? words[2] + strlen ("cap=")
                                          : words[1] + strlen ("total=");

  info->allocator = g_strdup ("ge-active");
  info->settings = g_strdup_printf ("%s,rules=as-built,%s", words[0], words[1]);
  info->device = g_strconcat ("capacity=", capacity, NULL);
}

static gboolean
is_policy_header (char **words)
{
  return words[0] != NULL && words[1] != NULL && g_str_has_prefix (words[0], "policy=")
         && g_str_has_prefix (words[1], "total=")
         && (words[2] == NULL || (g_str_has_prefix (words[2], "cap=") && words[3] == NULL));
}

/* TRUE if the words are "SYSTEM KEY=VALUE..." with at least one setting, all in one style. */
static gboolean
is_header (char **words, gboolean *ge)
{
  if (words[0] == NULL || words[1] == NULL || strchr (words[0], '=') != NULL)
    return FALSE;
  *ge = g_str_has_prefix (words[1], "--");
  if (*ge && strcmp (words[0], "single") != 0 && strcmp (words[0], "two") != 0
      && strcmp (words[0], "exp") != 0)
    return FALSE;
  for (guint i = 1; words[i] != NULL; i++)
    if (words[i][0] == '=' || strchr (words[i], '=') == NULL
        || g_str_has_prefix (words[i], "--") != *ge)
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

/* Reads the first line, and looks for results after it, without consuming input. */
static void
look_at_header (GememLineReader *reader)
{
  GememTraceInfo *info = &reader->base.info;
  const guint8 *data;
  gboolean ge = FALSE;
  gssize size = gemem_input_fill (reader->input, LOOK_AHEAD, &data, NULL);

  if (size < 0)
    size = gemem_input_fill (reader->input, 1, &data, NULL); /* damage lies ahead */
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
  if (is_policy_header (words))
    take_policy_header (info, words);
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
  OpsReader *reader = (OpsReader *) base;
  gemem_line_reader_clear (&reader->lines);
  g_array_unref (reader->graphs);
  g_hash_table_unref (reader->loaded);
  g_hash_table_unref (reader->ids);
  g_free (reader);
}

static GememTraceReader *
ops_open (GememInput *input, const GememReadOptions *options, GError **error G_GNUC_UNUSED)
{
  OpsReader *ops = g_new0 (OpsReader, 1);
  GememLineReader *reader = &ops->lines;

  gemem_line_reader_init (reader, "ops", input, options);
  reader->base.close = ops_close;
  reader->longest = LONGEST_LINE;
  reader->line = ops_line;
  ops->graphs = g_array_new (FALSE, FALSE, sizeof (OpsGraph));
  ops->loaded = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  ops->ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  look_at_header (reader);
  return &reader->base;
}

/* TRUE if [p, end) may follow 'm': a name and "OFFSET:SIZE". */
static gboolean
looks_like_load (const char *p, const char *end)
{
  const char *name_end, *colon;
  guint64 value;

  scan_blanks (&p, end);
  name_end = p = scan_word_end (p, end);
  scan_blanks (&p, end);
  colon = memchr (p, ':', (gsize) (end - p));
  return p > name_end && colon != NULL && scan_uint_word (&p, colon, &value) && p == colon;
}

/* TRUE if [p, end) begins like an operation: a letter and the right number of numbers, of which the
 * first of `a` may be a name. */
static gboolean
looks_like_operation (const char *p, const char *end)
{
  guint numbers = 0;
  guint64 value;
  char letter = *p++;

  if (letter == 'm')
    return looks_like_load (p, end);
  if (letter == '\0' || strchr ("afrF", letter) == NULL || (p < end && *p != ' ' && *p != '\t'))
    return FALSE;
  scan_blanks (&p, end);
  if (letter == 'a' && is_name (p, end))
    {
      p = scan_word_end (p, end);
      numbers++;
    }
  for (scan_blanks (&p, end); p < end && scan_uint_word (&p, end, &value); scan_blanks (&p, end))
    numbers++;
  if (p < end && !(end - p >= 2 && p[0] == '-' && p[1] == '>'))
    return FALSE;
  return letter == 'a'   ? numbers == 2 || numbers == 3
         : letter == 'f' ? numbers == 1 || numbers == 2
                         : numbers == 0;
}

/* Recognises the format by its first line that is neither empty nor a comment, if @head contains
 * that line completely. */
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
  .summary = "plain operations 'a ID SIZE', 'f ID', 'r', 'm GRAPH OFFSET:SIZE', 'b GRAPH', "
             "'e GRAPH', 'F', with recorded decisions or without",
  .origin = "vectors/README.md",
  .quick = TRUE,
  .probe = ops_probe,
  .open = ops_open,
};

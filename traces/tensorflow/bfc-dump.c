/* bfc-dump.c - see bfc-dump.h.
 */
#include "config.h"

#include "base/idmap.h"
#include "base/io/scan.h"
#include "base/units.h"
#include "traces/tensorflow/bfc-dump.h"

#define LONGEST ((gsize) 16 << 20) /* bytes of a line */
#define MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)

/* What one thread of the program is writing. */
typedef struct
{
  GememBfcDump *dump; /* begun; NULL: none */
  char *name;         /* of the allocator that ran out of memory; NULL: none since the last dump */
  char *operation;
  guint64 requested, line;
} Writer;

typedef struct
{
  GememBfcDumps *out;
  GememIdMap *writers; /* thread -> Writer */
  guint64 line;
} Log;

/* ---- dumps */

static void
dump_free (gpointer data)
{
  GememBfcDump *dump = data;

  g_free (dump->name);
  g_free (dump->damage);
  g_array_unref (dump->chunks);
  g_array_unref (dump->regions);
  g_free (dump);
}

static GememBfcDumpChunk *
chunk_at (const GememBfcDump *dump, guint i)
{
  return &g_array_index (dump->chunks, GememBfcDumpChunk, i);
}

static GememBfcDumpRegion *
region_at (const GememBfcDump *dump, guint i)
{
  return &g_array_index (dump->regions, GememBfcDumpRegion, i);
}

static void G_GNUC_PRINTF (3, 4) damage (GememBfcDump *dump, guint64 line, const char *format, ...)
{
  va_list arguments;

  if (dump->damage != NULL)
    return;
  va_start (arguments, format);
  dump->damage = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  dump->damage_line = line;
}

static int
compare_chunks (gconstpointer a, gconstpointer b)
{
  const GememBfcDumpChunk *x = a, *y = b;
  return (x->address > y->address) - (x->address < y->address);
}

/* Logs without lines of regions: a region ends where no chunk follows. */
static void
find_regions (GememBfcDump *dump)
{
  GememBfcDumpRegion region = { .line = dump->line };
  guint64 end = 0;

  g_array_sort (dump->chunks, compare_chunks);
  for (guint i = 0; i < dump->chunks->len; i++)
    {
      const GememBfcDumpChunk *chunk = chunk_at (dump, i);

      region.first = i;
      if (i == 0 || chunk->address != end)
        g_array_append_val (dump->regions, region);
      if (chunk->address < end)
        damage (dump, dump->line, "its chunks overlap at 0x%" G_GINT64_MODIFIER "x",
                chunk->address);
      end = chunk->address + chunk->size;
    }
}

/* Checks that the chunks of region @i cover it, and that it lies behind @end; returns its end. */
static guint64
check_region (GememBfcDump *dump, guint i, guint64 end)
{
  GememBfcDumpRegion *region = region_at (dump, i);
  const guint stop = i + 1 < dump->regions->len ? region_at (dump, i + 1)->first
                                                : dump->chunks->len;
  guint64 size = 0;

  if (region->first < stop && chunk_at (dump, region->first)->address < end)
    damage (dump, region->line, "its regions are not in the order of their addresses");
  for (guint c = region->first; c < stop; c++)
    {
      if (c > region->first && chunk_at (dump, c)->address != end)
        damage (dump, region->line, "the chunks of a region do not follow one another");
      size += chunk_at (dump, c)->size;
      end = chunk_at (dump, c)->address + chunk_at (dump, c)->size;
    }
  if (region->size == 0)
    region->size = size;
  if (size != region->size)
    damage (dump, region->line,
            "a region of %" G_GUINT64_FORMAT " bytes has chunks of %" G_GUINT64_FORMAT " bytes",
            region->size, size);
  return end;
}

/* Of a damaged dump: the chunks in the order of their addresses, without any that overlap. */
static void
keep_readable (GememBfcDump *dump)
{
  guint kept = 0;

  g_array_set_size (dump->regions, 0);
  dump->pool = 0;
  g_array_sort (dump->chunks, compare_chunks);
  for (guint i = 0; i < dump->chunks->len; i++)
    if (kept == 0
        || chunk_at (dump, i)->address - chunk_at (dump, kept - 1)->address
               >= chunk_at (dump, kept - 1)->size)
      *chunk_at (dump, kept++) = *chunk_at (dump, i);
  g_array_set_size (dump->chunks, kept);
}

static void
check_dump (GememBfcDump *dump)
{
  const gboolean told = dump->regions->len > 0; /* else of TensorFlow 1 */
  guint64 end = 0, live = 0;

  if (!dump->listed)
    damage (dump, dump->line, "its end is missing");
  if (dump->regions->len == 0)
    find_regions (dump);
  for (guint i = 0; i < dump->regions->len; i++)
    {
      end = check_region (dump, i, end);
      dump->pool += region_at (dump, i)->size;
    }
  for (guint i = 0; i < dump->chunks->len; i++)
    live += chunk_at (dump, i)->live;
  if (dump->bins > 0 && (dump->binned != dump->chunks->len || dump->in_use != live)
      && (told || dump->in_use > 0 || dump->binned != dump->chunks->len - live))
    damage (dump, dump->line,
            "its bins have %" G_GUINT64_FORMAT " chunks, %" G_GUINT64_FORMAT
            " in use, and its list %u, %" G_GUINT64_FORMAT " in use",
            dump->binned, dump->in_use, dump->chunks->len, live);
  if (dump->damage != NULL)
    keep_readable (dump);
  if (dump->limit != 0)
    dump->limit = MAX (dump->limit, dump->pool);
  if (dump->inexact && dump->available < MAX_SIZE)
    dump->limit = dump->pool + dump->available; /* the smaller figure has the smaller unit */
}

/* Ends what @writer has begun: it replaces an earlier dump of the same allocator, unless that is
 * whole and this is not. */
static void
finish (Log *log, Writer *writer)
{
  GememBfcDump *dump = g_steal_pointer (&writer->dump);
  GPtrArray *dumps = log->out->dumps;

  if (dump == NULL)
    return;
  check_dump (dump);
  log->out->damaged += dump->damage != NULL;
  for (guint i = 0; i < dumps->len; i++)
    {
      GememBfcDump *before = dumps->pdata[i];

      if (g_strcmp0 (before->name, dump->name) != 0)
        continue;
      if (dump->damage != NULL && before->damage == NULL)
        {
          dump_free (dump);
          return;
        }
      log->out->left_out += before->damage == NULL;
      dumps->pdata[i] = dump;
      dump_free (before);
      return;
    }
  g_ptr_array_add (dumps, dump);
}

static GememBfcDump *
begin (Log *log, Writer *writer, const char *name, gsize length)
{
  GememBfcDump *dump = g_new0 (GememBfcDump, 1);

  finish (log, writer);
  dump->line = writer->name != NULL ? writer->line : log->line;
  dump->name = name != NULL ? g_utf8_make_valid (name, (gssize) length) : g_strdup (writer->name);
  dump->chunks = g_array_new (FALSE, FALSE, sizeof (GememBfcDumpChunk));
  dump->regions = g_array_new (FALSE, FALSE, sizeof (GememBfcDumpRegion));
  if (g_strcmp0 (dump->name, writer->name) == 0)
    {
      dump->requested = writer->requested;
      dump->operation = writer->operation;
    }
  g_clear_pointer (&writer->name, g_free);
  writer->operation = NULL;
  writer->requested = 0;
  return writer->dump = dump;
}

/* ---- fields */

/* The text behind @word in [p, end), or NULL. */
static const char *
behind (const char *p, const char *end, const char *word)
{
  const char *found = scan_find (p, end, word);
  return found != NULL ? found + strlen (word) : NULL;
}

static gboolean
starts (const char *p, const char *end, const char *word)
{
  return (gsize) (end - p) >= strlen (word) && memcmp (p, word, strlen (word)) == 0;
}

/* The number behind @word; FALSE: there is none. */
static gboolean
number_behind (const char *p, const char *end, const char *word, guint64 *value)
{
  p = behind (p, end, word);
  if (p == NULL)
    return FALSE;
  scan_blanks (&p, end);
  return scan_uint (&p, end, value);
}

/* The amount behind @word, "12.00MiB" or a number; *@inexact: it was rounded. */
static gboolean
amount_behind (const char *p, const char *end, const char *word, guint64 *bytes, gboolean *inexact)
{
  const char *stop;

  p = behind (p, end, word);
  if (p == NULL)
    return FALSE;
  scan_blanks (&p, end);
  stop = scan_word_end (p, end);
  while (stop > p && (stop[-1] == '.' || stop[-1] == ',')) /* of the sentence */
    stop--;
  g_autofree char *text = g_strndup (p, (gsize) (stop - p));
  if (!gemem_parse_size (text, 1, 0, bytes, NULL) || *bytes >= MAX_SIZE)
    return FALSE;
  *inexact = strchr (text, '.') != NULL;
  return TRUE;
}

/* The name of the operation behind @word, up to @stop or the end of the line; NULL: none. */
static char *
operation_behind (Log *log, const char *p, const char *end, const char *word, const char *stop)
{
  const char *last;

  p = behind (p, end, word);
  if (p == NULL)
    return NULL;
  last = scan_find (p, end, stop);
  if (last == NULL)
    last = end;
  g_autofree char *text = g_strndup (p, (gsize) (last - p));
  g_strstrip (text);
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  return *valid != '\0' ? g_string_chunk_insert_const (log->out->operations, valid) : NULL;
}

/* ---- lines */

static void
take_failure (Log *log, Writer *writer, const char *p, const char *end)
{
  const char *stop = scan_find (p, end, ") ran out of memory");
  gboolean inexact;

  if (stop == NULL || scan_find (stop, end, "freed_by_count=") != NULL) /* said again, behind it */
    return;
  finish (log, writer);
  g_free (writer->name);
  writer->name = g_utf8_make_valid (p, stop - p);
  writer->line = log->line;
  writer->operation = operation_behind (log, p, end, "requested by op ", "\n");
  if (!number_behind (p, end, "(rounded to ", &writer->requested)
      && !amount_behind (p, end, "trying to allocate ", &writer->requested, &inexact))
    writer->requested = 0;
}

static void
take_bin (Log *log, Writer *writer, const char *p, const char *end)
{
  GememBfcDump *dump = writer->dump;
  guint64 total, in_use;

  if (dump == NULL || dump->listed || dump->regions->len + dump->chunks->len > 0)
    dump = begin (log, writer, NULL, 0);
  if (!number_behind (p, end, "Total Chunks:", &total)
      || !number_behind (p, end, "Chunks in use:", &in_use))
    {
      damage (dump, log->line, "the line of a bin is cut");
      return;
    }
  dump->bins++;
  dump->binned += total;
  dump->in_use += in_use;
}

static void
take_region (Log *log, GememBfcDump *dump, const char *p, const char *end)
{
  GememBfcDumpRegion region = { .line = log->line, .first = dump->chunks->len };

  if (!scan_uint (&p, end, &region.size) || region.size == 0 || region.size >= MAX_SIZE)
    damage (dump, log->line, "the size of a region is no number of bytes below 2^60");
  else
    g_array_append_val (dump->regions, region);
}

/* @p is behind "at ". */
static void
take_chunk (Log *log, GememBfcDump *dump, gboolean live, const char *p, const char *end)
{
  GememBfcDumpChunk chunk = { .live = live };
  const char *digits = starts (p, end, "0x") ? p + 2 : p;

  digits -= 2; /* where scan_hex() expects its prefix */
  if (!scan_hex (&digits, end, &chunk.address) || chunk.address == 0
      || !number_behind (digits, end, "of size ", &chunk.size) || chunk.size == 0
      || chunk.size >= MAX_SIZE || chunk.address >= G_MAXUINT64 - MAX_SIZE)
    {
      damage (dump, log->line, "the line of a chunk is cut, or mixed with another");
      return;
    }
  if (live)
    chunk.operation = operation_behind (log, p, end, " by op ", " action_count");
  g_array_append_val (dump->chunks, chunk);
}

static void
take_totals (GememBfcDump *dump, const char *p, const char *end)
{
  gboolean ignored;

  if (!amount_behind (p, end, "memory_limit_:", &dump->limit, &dump->inexact))
    dump->limit = 0;
  if (!amount_behind (p, end, "available size:", &dump->available, &ignored)
      && !amount_behind (p, end, "available bytes:", &dump->available, &ignored))
    dump->available = G_MAXUINT64;
  if (!amount_behind (p, end, "curr_region_allocation_bytes_:", &dump->next_region, &ignored))
    dump->next_region = 0;
}

static void
take_stray (Log *log)
{
  if (log->out->stray++ == 0)
    log->out->stray_line = log->line;
}

/* @p: the text of a line, without the prefix of the log. */
static void
take_message (Log *log, Writer *writer, const char *p, const char *end)
{
  GememBfcDump *dump = writer->dump;
  const char *at;
  gboolean live;

  if ((at = behind (p, end, "BFCAllocator dump for ")) != NULL)
    {
      const char *stop = scan_word_end (at, end);
      begin (log, writer, at, (gsize) (stop - at));
    }
  else if (starts (p, end, "Allocator ("))
    take_failure (log, writer, p + strlen ("Allocator ("), end);
  else if (starts (p, end, "Bin ("))
    take_bin (log, writer, p, end);
  else if ((live = starts (p, end, "InUse at ") || starts (p, end, "Chunk at "))
           || starts (p, end, "Free  at ") || starts (p, end, "Free at "))
    {
      if (dump == NULL || dump->listed)
        take_stray (log);
      else
        take_chunk (log, dump, live, behind (p, end, " at "), end);
    }
  else if (dump == NULL)
    return;
  else if (starts (p, end, "Next region of size ") && !dump->listed)
    take_region (log, dump, p + strlen ("Next region of size "), end);
  else if (starts (p, end, "Sum Total of in-use chunks:"))
    dump->listed = TRUE;
  else if (dump->listed && scan_find (p, end, "memory_limit_:") != NULL)
    take_totals (dump, p, end);
  else if (dump->listed && dump->limit == 0 && starts (p, end, "Limit:"))
    {
      dump->available = G_MAXUINT64;
      if (!amount_behind (p, end, "Limit:", &dump->limit, &dump->inexact))
        dump->limit = 0;
    }
}

/* The text of a line behind the prefix of the log, and the thread that wrote it, 0: not told. */
static const char *
message_of (const char *p, const char *end, guint64 *thread)
{
  const char *file = scan_find (p, end, "bfc_allocator.cc:");
  const char *text = file != NULL ? behind (file, end, "] ") : NULL;

  *thread = 0;
  if (text != NULL)
    {
      const char *digits = file;

      while (digits > p && digits[-1] != ' ') /* directories before the name of the file */
        digits--;
      while (digits > p && digits[-1] == ' ')
        digits--;
      file = digits;
      while (digits > p && g_ascii_isdigit (digits[-1]))
        digits--;
      if (digits > p && digits[-1] == ' ')
        scan_uint (&digits, file, thread);
      p = text;
    }
  scan_blanks (&p, end);
  return p;
}

/* Where the text at @p ends: what JSON or a terminal writes behind it, as '\n","stream":', begins with what is in no text
 * of the allocator, but for its tabs, as JSON writes them. */
static const char *
message_end (const char *p, const char *end)
{
  while (p < end && *p != '"' && *p != '\033' && (*p != '\\' || (end - p > 1 && p[1] == 't')))
    p++;
  return p;
}

gboolean
gemem_bfc_dumps_read (GememBfcDumps *dumps, GememInput *input, GError **error)
{
  Log log = { .out = dumps, .writers = gemem_idmap_new (sizeof (Writer)) };
  guint64 last = 0, thread;
  gsize length, position = 0;
  const char *text;
  gpointer writer;
  int got;

  dumps->dumps = g_ptr_array_new_with_free_func (dump_free);
  dumps->operations = g_string_chunk_new (4096);
  while ((got = gemem_input_line (input, LONGEST, &text, &length, error)) > 0)
    {
      const char *message = message_of (text, text + length, &thread);

      if (message == text) /* a line without prefix belongs to the one before */
        thread = last;
      last = thread;
      log.line = gemem_input_line_number (input);
      take_message (&log, gemem_idmap_insert (log.writers, thread, NULL), message,
                    message_end (message, text + length));
    }
  while (gemem_idmap_next (log.writers, &position, NULL, &writer))
    {
      finish (&log, writer);
      g_free (((Writer *) writer)->name);
    }
  gemem_idmap_free (log.writers);
  return got == 0;
}

void
gemem_bfc_dumps_clear (GememBfcDumps *dumps)
{
  g_clear_pointer (&dumps->dumps, g_ptr_array_unref);
  g_clear_pointer (&dumps->operations, g_string_chunk_free);
}

gboolean
gemem_bfc_dump_probe (const guint8 *head, gsize size, gboolean *dump)
{
  *dump = scan_contains (head, size, "BFCAllocator dump for ")
          || scan_contains (head, size, "bfc_allocator.cc:")
          || (scan_contains (head, size, "InUse at ") && scan_contains (head, size, " of size "));
  return *dump || scan_contains (head, size, "tensorflow")
         || scan_contains (head, size, "TensorFlow") || scan_contains (head, size, "jaxlib")
         || scan_contains (head, size, "xla/");
}

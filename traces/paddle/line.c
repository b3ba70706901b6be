/* line.c - see line.h. */
#include "config.h"

#include <string.h>

#include "base/io/scan.h"
#include "traces/paddle/line.h"
#include "traces/trace.h"

#define MAX_SIZE (G_GUINT64_CONSTANT (1) << 60)
#define PREFIX 160 /* bytes searched for the prefix of glog */

typedef struct
{
  const char *p, *end;
  PaddleLine *line;
} Scan;

/* ---- words and numbers at the read position */

static gboolean
take (Scan *scan, const char *word)
{
  const gsize length = strlen (word);

  if ((gsize) (scan->end - scan->p) < length || memcmp (scan->p, word, length) != 0)
    return FALSE;
  scan->p += length;
  return TRUE;
}

static gboolean
take_size (Scan *scan, guint64 *value)
{
  return scan_uint (&scan->p, scan->end, value) && *value < MAX_SIZE;
}

/* Reads a pointer: 0x..., on Windows 16 digits without 0x; a null pointer may be (nil) or 0.
 * FALSE, with nothing consumed, if there is no pointer. */
static gboolean
take_pointer (Scan *scan, guint64 *value)
{
  const char *const begin = scan->p;
  const gboolean null = take (scan, "(nil)"), prefix = !null && take (scan, "0x");
  const char *const digits = scan->p;
  gsize n;

  for (*value = 0; !null && scan->p < scan->end && g_ascii_isxdigit (*scan->p); scan->p++)
    *value = *value << 4 | (guint64) g_ascii_xdigit_value (*scan->p);
  n = (gsize) (scan->p - digits);
  if ((null || (prefix ? n > 0 && n <= 16 : n == 16 || (n == 1 && *digits == '0')))
      && *value < G_MAXUINT64 - MAX_SIZE && (scan->p == scan->end || !g_ascii_isalnum (*scan->p)))
    return TRUE;
  scan->p = begin;
  return FALSE;
}

static void
finish (Scan *scan, gboolean good, PaddleLineKind kind, const char *field)
{
  scan->line->kind = good ? kind : PADDLE_LINE_DAMAGED;
  scan->line->field = field;
}

/* ---- lines */

/* "CUDAPlace(1)", "Place(gpu:1)", "CPUPlace", "Place(gpu_pinned)" */
static guint16
read_device (const char *p, const char *end)
{
  static const char *const names[] = { "gpu:", "CUDAPlace(" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const char *found = memmem (p, (gsize) (end - p), names[i], strlen (names[i]));
      guint64 device;
      if (found == NULL)
        continue;
      found += strlen (names[i]);
      if (scan_uint (&found, end, &device) && device < GEMEM_DEVICE_HOST)
        return (guint16) device;
    }
  return GEMEM_DEVICE_HOST;
}

/* Parses "Allocate N bytes" and the text after it. */
static void
allocate (Scan *scan)
{
  PaddleLine *line = scan->line;

  if (!take_size (scan, &line->size) || !take (scan, " bytes"))
    return;
  if (take (scan, ", aligned to "))
    finish (scan, take_size (scan, &line->block), PADDLE_LINE_GROWTH_REQUEST, "aligned to");
  else if (take (scan, " from chunk size "))
    {
      finish (scan, take_size (scan, &line->block), PADDLE_LINE_BUDDY_REQUEST, "chunk size");
      if (take (scan,
                ",")) /* ", remaining": served from the cache; the line before is the request */
        line->kind = PADDLE_LINE_OTHER;
    }
  else if (take (scan, " at address "))
    {
      gboolean good = take_pointer (scan, &line->address);
      scan_blanks (&scan->p, scan->end);
      good = good && take (scan, ", stream: ")
             && (take_pointer (scan, &line->stream)
                 || scan_uint (&scan->p, scan->end, &line->stream));
      finish (scan, good, PADDLE_LINE_STREAM_ALLOC, "at address P, stream:");
    }
  else if (take (scan, " on "))
    {
      line->device = read_device (scan->p, scan->end);
      line->kind = PADDLE_LINE_PLACE_REQUEST;
    }
}

static void
growth_alloc (Scan *scan)
{
  if (take_size (scan, &scan->line->block) && take (scan, " bytes, ptr = "))
    finish (scan, take_pointer (scan, &scan->line->address), PADDLE_LINE_GROWTH_ALLOC, "ptr =");
}

static void
growth_free (Scan *scan)
{
  if (take_size (scan, &scan->line->block) && take (scan, " bytes, ptr = "))
    finish (scan, take_pointer (scan, &scan->line->address), PADDLE_LINE_GROWTH_FREE, "ptr =");
}

static void
chunk (Scan *scan)
{
  gboolean good = take_size (scan, &scan->line->size);

  if (good && take (scan, "("))
    good = take_pointer (scan, &scan->line->address);
  finish (scan, good, PADDLE_LINE_CHUNK, "reallocate");
}

static void
chunk_free (Scan *scan)
{
  finish (scan, take_size (scan, &scan->line->size), PADDLE_LINE_CHUNK_FREE, "chunk with size");
}

static void
stream_free (Scan *scan)
{
  finish (scan, take_pointer (scan, &scan->line->address), PADDLE_LINE_STREAM_FREE,
          "Try free allocation");
}

static void
buddy_alloc (Scan *scan)
{
  const gboolean good = take_pointer (scan, &scan->line->address) && take (scan, ", ")
                        && take_size (scan, &scan->line->block) && take (scan, ")");
  finish (scan, good, PADDLE_LINE_BUDDY_ALLOC, "Left block");
}

static void
buddy_huge (Scan *scan)
{
  guint64 size;

  if (!take_pointer (scan, &scan->line->address))
    return;
  if (take (scan, " size ") && !take_size (scan, &size))
    return;
  if (take (scan, " from system allocator"))
    scan->line->kind = PADDLE_LINE_BUDDY_HUGE;
}

static void
buddy_free (Scan *scan)
{
  finish (scan, take_pointer (scan, &scan->line->address), PADDLE_LINE_BUDDY_FREE,
          "Free from address");
}

static void
release (Scan *scan)
{
  guint64 chunks;

  if (take_size (scan, &chunks) && take (scan, " chunks, Free "))
    scan->line->kind = PADDLE_LINE_RELEASE;
}

static void
place_alloc (Scan *scan)
{
  if (take_pointer (scan, &scan->line->address))
    scan->line->kind = PADDLE_LINE_PLACE_ALLOC;
}

static void
place_free (Scan *scan)
{
  finish (scan, take_pointer (scan, &scan->line->address), PADDLE_LINE_PLACE_FREE, "Free pointer=");
}

/* ---- the line */

static const struct
{
  const char *text;
  void (*read) (Scan *scan);
} marks[] = {
  { NULL, NULL },
  { "Allocate ", allocate },
  { "Allocated ", buddy_huge },
  { "Alloc ", growth_alloc },
  { "Free from address ", buddy_free },
  { "Free pointer=", place_free },
  { "Free chunk with size ", chunk_free },
  { "Free ", growth_free },
  { "Left block (", buddy_alloc },
  { "Not found and reallocate ", chunk },
  { "Release ", release },
  { "Try free allocation ", stream_free },
  { "pointer=", place_alloc },
};

/* Index of the first mark for each initial letter; marks with one initial are adjacent. */
static const guint8 first[256] = {
  ['A'] = 1, ['F'] = 4, ['L'] = 8, ['N'] = 9, ['R'] = 10, ['T'] = 11, ['p'] = 12
};

/* Parses the first mark after @p that is followed by its fields; returns its position, or NULL. */
static const char *
read_mark (const char *p, const char *end, PaddleLine *line)
{
  for (const char *start = p; p < end; p++)
    for (guint i = p == start || !g_ascii_isalnum (p[-1]) ? first[(guchar) *p] : 0;
         i != 0 && i < G_N_ELEMENTS (marks) && marks[i].text[0] == *p; i++)
      {
        Scan scan = { p, end, line };
        if (!take (&scan, marks[i].text))
          continue;
        marks[i].read (&scan);
        if (line->kind != PADDLE_LINE_OTHER)
          return p;
        break;
      }
  return NULL;
}

/* Reads exactly @digits digits. */
static gboolean
take_digits (const char *p, guint digits, guint *value)
{
  *value = 0;
  for (guint i = 0; i < digits; i++)
    {
      if (!g_ascii_isdigit (p[i]))
        return FALSE;
      *value = *value * 10 + (guint) (p[i] - '0');
    }
  return TRUE;
}

/* Reads "[yyyy]mmdd " before @clock; a date without a year is read as one of a leap year. */
static gboolean
read_day (const char *start, const char *clock, guint64 *day)
{
  const char *p = clock - 1;
  guint year = 2000, month, date;
  GDate found;

  if (clock - start < 5 || *p != ' ')
    return FALSE;
  if (clock - start >= 9 && take_digits (p - 8, 8, &date))
    {
      year = date / 10000;
      date %= 10000;
    }
  else if (!take_digits (p - 4, 4, &date))
    return FALSE;
  month = date / 100;
  if (!g_date_valid_dmy ((GDateDay) (date % 100), (GDateMonth) month, (GDateYear) year))
    return FALSE;
  g_date_clear (&found, 1);
  g_date_set_dmy (&found, (GDateDay) (date % 100), (GDateMonth) month, (GDateYear) year);
  *day = g_date_get_julian (&found);
  return TRUE;
}

/* "[yyyy]mmdd hh:mm:ss.uuuuuu tid" in [start, end). */
static void
read_prefix (const char *start, const char *end, PaddleLine *line)
{
  for (const char *p = start; end - p > 9; p++)
    {
      guint hour, minute, second;
      guint64 day, unit = 100000000;
      if (p[2] != ':' || p[5] != ':' || p[8] != '.' || !take_digits (p, 2, &hour)
          || !take_digits (p + 3, 2, &minute) || !take_digits (p + 6, 2, &second)
          || !read_day (start, p, &day))
        continue;
      line->has_time = TRUE;
      line->time = (day * 86400 + hour * 3600 + minute * 60 + second)
                   * G_GUINT64_CONSTANT (1000000000);
      for (p += 9; p < end && g_ascii_isdigit (*p); p++, unit /= 10)
        line->time += unit * (guint64) (*p - '0');
      scan_blanks (&p, end);
      if (!scan_uint (&p, end, &line->thread))
        line->thread = 0;
      return;
    }
}

void
gemem_paddle_line (const char *p, const char *end, PaddleLine *line)
{
  const char *mark;

  memset (line, 0, sizeof *line);
  mark = read_mark (p, end, line);
  if (mark != NULL)
    read_prefix (p, MIN (mark, p + PREFIX), line);
}

/* Recognises the log by its lines with addresses, which no other format has. */
gboolean
gemem_paddle_probe (const guint8 *head, gsize size)
{
  const char *p = (const char *) head, *end = p + size;

  while (p < end)
    {
      const char *stop = memchr (p, '\n', (gsize) (end - p));
      PaddleLine line;
      gemem_paddle_line (p, stop != NULL ? stop : end, &line);
      if (line.kind != PADDLE_LINE_OTHER && line.kind != PADDLE_LINE_DAMAGED
          && line.kind != PADDLE_LINE_PLACE_ALLOC && line.kind != PADDLE_LINE_PLACE_REQUEST)
        return TRUE;
      p = stop != NULL ? stop + 1 : end;
    }
  return FALSE;
}

gboolean
gemem_paddle_glog (const guint8 *head, gsize size)
{
  const char *p = (const char *) head, *end = p + size;

  if (size > 20 && memcmp (p, "Log file created at:", 20) == 0)
    return TRUE;
  for (const char *stop; p < end; p = stop + 1)
    {
      PaddleLine line = { 0 };

      stop = memchr (p, '\n', (gsize) (end - p));
      stop = stop != NULL ? stop : end;
      read_prefix (p, MIN (stop, p + PREFIX), &line);
      if (line.has_time && memmem (p, (gsize) (stop - p), ".cc:", 4) != NULL)
        return TRUE;
    }
  return FALSE;
}

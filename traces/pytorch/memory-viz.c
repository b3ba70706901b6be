/* memory-viz.c - reads the snapshot inside an HTML page of torch.cuda._memory_viz: format
 * `memory-viz`.
 *
 * The page holds the pickle as base64 in its first `"base64": "..."`; the text is decoded while it
 * is read and passed to the reader of pickle files.  The writer pads the pickle with zero bytes,
 * which follow STOP and are never read.  Pages of 2022/23 hold `alloc_data` instead, without
 * addresses and segments; they are refused by name, as are pages of export_memory_timeline(), which
 * hold a picture.
 *
 * Memory: one window of decoded bytes.  Origin: peers.md 2.1.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "base/io/scan.h"
#include "traces/pytorch/snapshot-private.h"

#define CHUNK ((gsize) 64 << 10)
#define MAX_PATTERN 64 /* base64" : " including blanks */

typedef struct
{
  GememInput *input;
  guint8 *buffer;
  gsize start, end, capacity;
  guint32 bits; /* of an unfinished group */
  guint n_bits;
  gboolean escaped, padded, ended;
} Page;

extern const GememTraceFormat gemem_format_memory_viz;

static gssize
fail (const Page *page, gsize at, GError **error, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s: byte %" G_GUINT64_FORMAT ": %s",
               gemem_input_name (page->input), gemem_input_offset (page->input) + at, what);
  return -1;
}

/* ---- finding it */

/* Returns the length of a match of  base64["']? *: *["']  at @text, 0 if there is none. */
static gsize
match_key (const guint8 *text, gsize size)
{
  gsize i = strlen ("base64");
  if (i < size && (text[i] == '"' || text[i] == '\''))
    i++;
  while (i < size && g_ascii_isspace ((char) text[i]))
    i++;
  if (i >= size || text[i] != ':')
    return 0;
  for (i++; i < size && g_ascii_isspace ((char) text[i]); i++)
    ;
  return i < size && (text[i] == '"' || text[i] == '\'') ? i + 1 : 0;
}

/* Moves the input to the first character of the base64 text. */
static gboolean
find_text (Page *page, GError **error)
{
  gboolean old_page = FALSE, picture = FALSE;

  for (;;)
    {
      const guint8 *data, *found;
      gssize n = gemem_input_fill (page->input, CHUNK, &data, error);
      if (n < 0)
        return FALSE;
      gsize at = 0, size = (gsize) n;
      while ((found = memmem (data + at, size - at, "base64", strlen ("base64"))) != NULL)
        {
          at = (gsize) (found - data);
          gsize length = match_key (found, MIN (size - at, MAX_PATTERN));
          if (length > 0)
            {
              gemem_input_consume (page->input, at + length);
              return TRUE;
            }
          at += strlen ("base64");
        }
      old_page |= memmem (data, size, "alloc_data", strlen ("alloc_data")) != NULL;
      /* the title of such a page */
      picture |= memmem (data, size, "GPU Memory Timeline HTML",
                         strlen ("GPU Memory Timeline HTML"))
                 != NULL;
      if (size < CHUNK)
        break;
      gemem_input_consume (page->input, size - MAX_PATTERN);
    }
  return fail (page, 0, error,
               picture    ? "a page of export_memory_timeline() holds only a picture; record with "
                            "export_chrome_trace() and profile_memory=True, or "
                            "torch.cuda.memory._dump_snapshot()"
               : old_page ? "a page of 2022/23 (alloc_data) has neither addresses nor segments; "
                            "read the pickle it was made from"
                          : "no \"base64\" text in this page; read the pickle it was made from, or "
                            "fetch the file again if a server sent this")
         == 0;
}

/* ---- decoding */

static int
digit (guint8 c)
{
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes a character that is not a base64 digit: escape, padding, closing quote. */
static gboolean
decode_other (Page *page, guint8 c, gsize at, GError **error)
{
  if (c == '"' || c == '\'')
    {
      page->ended = TRUE;
      return page->n_bits < 6
             || fail (page, at, error,
                      "the base64 text ends inside a group; the page was cut off or edited")
                    == 0;
    }
  if (c == '=')
    page->padded = TRUE;
  else if (c != '\\' || page->escaped)
    return fail (page, at, error,
                 "this character does not belong into base64; the page was cut off or edited")
           == 0;
  page->escaped = c == '\\';
  return TRUE;
}

/* Decodes a piece of at most CHUNK characters to the end of the buffer. */
static gboolean
decode_piece (Page *page, const guint8 *text, gsize size, GError **error)
{
  gsize i;
  for (i = 0; i < size && !page->ended; i++)
    {
      int value = digit (text[i]);
      if (value < 0 || page->padded || (page->escaped && value != 63))
        {
          if (!decode_other (page, text[i], i, error))
            return FALSE;
          continue;
        }
      page->escaped = FALSE;
      page->bits = page->bits << 6 | (guint32) value;
      page->n_bits += 6;
      if (page->n_bits >= 8)
        {
          page->n_bits -= 8;
          page->buffer[page->end++] = (guint8) (page->bits >> page->n_bits);
        }
    }
  gemem_input_consume (page->input, i);
  return TRUE;
}

static gssize
page_fill (gpointer data, gsize used, gsize want, const guint8 **bytes, GError **error)
{
  Page *page = data;

  page->start += used;
  while (page->end - page->start < want && !page->ended)
    {
      const guint8 *text;
      gssize n = gemem_input_fill (page->input, 1, &text, error);
      if (n < 0)
        return -1;
      if (n == 0)
        return fail (page, 0, error,
                     "the page ends inside the base64 text; it was cut off, fetch it again");
      memmove (page->buffer, page->buffer + page->start, page->end - page->start);
      page->end -= page->start;
      page->start = 0;
      if (page->end + CHUNK > page->capacity)
        {
          page->capacity = page->end + 2 * CHUNK;
          page->buffer = g_realloc (page->buffer, page->capacity);
        }
      if (!decode_piece (page, text, MIN ((gsize) n, CHUNK), error))
        return -1;
    }
  *bytes = page->buffer + page->start;
  return (gssize) (page->end - page->start);
}

static gboolean
page_rewind (gpointer data, GError **error)
{
  Page *page = data;
  page->start = page->end = 0;
  page->bits = 0;
  page->n_bits = 0;
  page->escaped = page->padded = page->ended = FALSE;
  return gemem_input_rewind (page->input, error) && find_text (page, error);
}

static void
page_close (gpointer data)
{
  Page *page = data;
  gemem_input_close (page->input);
  g_free (page->buffer);
  g_free (page);
}

/* ---- the format */

static int
probe (const guint8 *head, gsize size)
{
  gsize i = 0;
  while (i < size && g_ascii_isspace ((char) head[i]))
    i++;
  if (i == size || head[i] != '<')
    return 0;
  return scan_contains (head, size, "local_files") || scan_contains (head, size, "MemoryViz")
                 || scan_contains (head, size, "alloc_data")
             ? 95
             : 20;
}

static GememTraceReader *
page_open (GememInput *input, const GememReadOptions *options, GError **error)
{
  Page *page = g_new0 (Page, 1);
  GememSnapshotBytes bytes = {
    { page_fill, page, gemem_input_name (input) }, page_rewind, page_close, input
  };

  page->input = input;
  page->capacity = 2 * CHUNK;
  page->buffer = g_malloc (page->capacity);
  return gemem_pytorch_snapshot_open (&gemem_format_memory_viz, &bytes, options, error);
}

const GememTraceFormat gemem_format_memory_viz = {
  .name = "memory-viz",
  .aliases = NULL,
  .extensions = "html|htm",
  .summary = "page of torch.cuda._memory_viz with the snapshot inside",
  .origin = "peers.md 2.1",
  .probe = probe,
  .open = page_open,
};

/* input-text.c - text in UTF-16, or with a byte order mark, as UTF-8 without one (see input-private.h).
 *
 * Why: PowerShell writes "program > file" in UTF-16, and editors on Windows put a mark before UTF-8.
 * Readers then need not know of it.
 *
 * Invariants: only a mark at the very beginning of the decoded bytes changes anything; bytes without
 * one pass as they are, into the caller's buffer.  What is no UTF-16 becomes U+FFFD.  Memory: a chunk.
 */
#include "config.h"

#include <string.h>

#include "base/io/input-private.h"

#define CHUNK ((gsize) 4096)
#define UNKNOWN_CHARACTER 0xfffd

/* Appends some decoded bytes to @bytes. */
static gboolean
take (GememInput *input, GByteArray *bytes)
{
  guint8 chunk[CHUNK];
  gsize n;

  if (!gemem_input_decode (input, chunk, sizeof chunk, &n))
    return FALSE;
  g_byte_array_append (bytes, chunk, (guint) n);
  return TRUE;
}

/* Sets the encoding from the mark at the beginning, and removes it. */
static void
detect (GememInput *input)
{
  static const struct
  {
    const char *mark;
    Encoding encoding;
  } marks[] = { { "\xef\xbb\xbf", ENCODING_MARKED },
                { "\xff\xfe", ENCODING_UTF16_LE },
                { "\xfe\xff", ENCODING_UTF16_BE } };

  input->encoding = ENCODING_PLAIN;
  for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
    {
      const guint n = (guint) strlen (marks[i].mark);

      if (input->text->len < n || memcmp (input->text->data, marks[i].mark, n) != 0)
        continue;
      input->encoding = marks[i].encoding;
      g_byte_array_remove_range (input->text, 0, n);
      break;
    }
  if (input->encoding > ENCODING_MARKED)
    {
      g_byte_array_append (input->units, input->text->data, input->text->len);
      g_byte_array_set_size (input->text, 0);
    }
}

static guint32
unit_at (const GememInput *input, gsize i)
{
  const guint8 *two = input->units->data + i;

  return input->encoding == ENCODING_UTF16_LE ? (guint32) two[1] << 8 | two[0]
                                              : (guint32) two[0] << 8 | two[1];
}

/* Turns the whole characters of `units` into UTF-8 in `text`; at the end what is left of one, too. */
static void
convert (GememInput *input)
{
  const gsize length = input->units->len, least = input->ended ? 1 : 4;
  gsize taken = 0;

  while (length - taken >= least)
    {
      const gboolean whole = length - taken >= 2, pair = length - taken >= 4;
      const guint32 low = pair ? unit_at (input, taken + 2) : 0;
      guint32 c = whole ? unit_at (input, taken) : UNKNOWN_CHARACTER;
      char text[6];

      taken += whole ? 2 : 1;
      if (c >= 0xd800 && c < 0xdc00 && low >= 0xdc00 && low < 0xe000)
        {
          c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
          taken += 2;
        }
      else if (c >= 0xd800 && c < 0xe000)
        c = UNKNOWN_CHARACTER;
      g_byte_array_append (input->text, (const guint8 *) text, (guint) g_unichar_to_utf8 (c, text));
    }
  g_byte_array_remove_range (input->units, 0, (guint) taken);
}

/* Makes bytes in `text`, unless the end comes first; looks for a mark at the beginning. */
static gboolean
make_text (GememInput *input)
{
  while (input->encoding == ENCODING_UNKNOWN && input->text->len < 3 && !input->ended)
    if (!take (input, input->text))
      return FALSE;
  if (input->encoding == ENCODING_UNKNOWN)
    detect (input);
  while (input->encoding > ENCODING_MARKED && input->text->len == 0
         && (!input->ended || input->units->len > 0))
    {
      if (!input->ended && !take (input, input->units))
        return FALSE;
      convert (input);
    }
  return TRUE;
}

gboolean
gemem_input_decode_text (GememInput *input, guint8 *to, gsize size, gsize *produced)
{
  const gboolean passes = input->encoding == ENCODING_PLAIN || input->encoding == ENCODING_MARKED;

  if (passes && input->text->len == 0)
    return gemem_input_decode (input, to, size, produced);
  input->ended = input->text_ended;
  *produced = 0;
  if (input->text->len == 0 && !make_text (input))
    {
      input->encoding = MAX (input->encoding, ENCODING_PLAIN);
      if (input->text->len == 0)
        return FALSE;
    }
  *produced = MIN (size, input->text->len);
  if (*produced > 0)
    memcpy (to, input->text->data, *produced);
  g_byte_array_remove_range (input->text, 0, (guint) *produced);
  input->text_ended = input->ended;
  input->ended = input->ended && input->text->len == 0 && input->units->len == 0;
  return TRUE;
}

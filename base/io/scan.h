/* scan.h - scans numbers and words of a text line without a copy, for the line-oriented readers.
 *
 * A line is [p, end) and not NUL-terminated.  Every function moves *p behind the text it consumed
 * and leaves *p unchanged on failure.  Numbers are decimal or 0x-hexadecimal, without sign; a
 * number beyond 64 bits is a failure.
 */
#pragma once

#include <glib.h>
#include <string.h>

static inline void
scan_blanks (const char **p, const char *end)
{
  while (*p < end && (**p == ' ' || **p == '\t'))
    ++*p;
}

/* The end of the word that begins at @p. */
static inline const char *
scan_word_end (const char *p, const char *end)
{
  while (p < end && *p != ' ' && *p != '\t')
    p++;
  return p;
}

static inline gboolean
scan_hex (const char **p, const char *end, guint64 *value)
{
  const char *s = *p + 2;
  guint64 v = 0;
  for (; s < end && g_ascii_isxdigit (*s); s++)
    {
      if (v >> 60 != 0)
        return FALSE;
      v = v << 4 | (guint64) g_ascii_xdigit_value (*s);
    }
  if (s == *p + 2)
    return FALSE;
  *p = s;
  *value = v;
  return TRUE;
}

static inline gboolean
scan_uint (const char **p, const char *end, guint64 *value)
{
  const char *s = *p;
  guint64 v = 0;

  if (end - s > 2 && s[0] == '0' && s[1] == 'x')
    return scan_hex (p, end, value);
  for (; s < end && *s >= '0' && *s <= '9'; s++)
    {
      guint digit = (guint) (*s - '0');
      if (s - *p >= 19
          && (v > G_MAXUINT64 / 10 || (v == G_MAXUINT64 / 10 && digit > G_MAXUINT64 % 10)))
        return FALSE;
      v = v * 10 + digit;
    }
  if (s == *p)
    return FALSE;
  *p = s;
  *value = v;
  return TRUE;
}

/* A number that is a whole word. */
static inline gboolean
scan_uint_word (const char **p, const char *end, guint64 *value)
{
  const char *s = *p;
  if (!scan_uint (&s, end, value) || (s < end && *s != ' ' && *s != '\t'))
    return FALSE;
  *p = s;
  return TRUE;
}

/* The first occurrence of @word in [p, end), or NULL. */
static inline const char *
scan_find (const char *p, const char *end, const char *word)
{
  return p < end ? memmem (p, (gsize) (end - p), word, strlen (word)) : NULL;
}

/* TRUE if the @size bytes at @head contain @word. */
static inline gboolean
scan_contains (const guint8 *head, gsize size, const char *word)
{
  return scan_find ((const char *) head, (const char *) head + size, word) != NULL;
}

static inline gboolean
scan_equal (const char *p, gsize length, const char *word)
{
  return strlen (word) == length && memcmp (p, word, length) == 0;
}

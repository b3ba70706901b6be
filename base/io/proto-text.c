/* proto-text.c - the tokens of protobuf text; see proto-text.h.
 *
 * The grammar is that of the public description of the text format, without extensions and Any.
 * One character of look-ahead.
 *
 * Invariants: `open` holds the closing bracket of every message and list around the current
 * position; `fields` holds the field of every such list.
 * Cost: linear; O(depth) memory beside the value.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/proto-text.h"
#include "base/units.h"

struct _GememProtoText
{
  GememInput *input;
  guint64 line;
  GString *open;     /* closing characters, innermost last */
  GPtrArray *fields; /* fields of the open lists */
  GString *field, *value;
};

GememProtoText *
gemem_proto_text_new (GememInput *input)
{
  GememProtoText *text = g_new0 (GememProtoText, 1);

  text->input = input;
  text->line = 1;
  text->open = g_string_new (NULL);
  text->fields = g_ptr_array_new_with_free_func (g_free);
  text->field = g_string_new (NULL);
  text->value = g_string_new (NULL);
  return text;
}

void
gemem_proto_text_free (GememProtoText *text)
{
  if (text == NULL)
    return;
  g_string_free (text->open, TRUE);
  g_ptr_array_unref (text->fields);
  g_string_free (text->field, TRUE);
  g_string_free (text->value, TRUE);
  g_free (text);
}

const char *
gemem_proto_text_field (const GememProtoText *text)
{
  return text->field->str;
}

const char *
gemem_proto_text_value (const GememProtoText *text)
{
  return text->value->str;
}

gboolean
gemem_proto_text_fail (const GememProtoText *text, GError **error, const char *format, ...)
{
  va_list args;
  g_autofree char *message = NULL;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s:%" G_GUINT64_FORMAT ": %s",
               gemem_input_name (text->input), text->line, message);
  return FALSE;
}

gboolean
gemem_proto_text_int (const GememProtoText *text, gint64 *value)
{
  const char *word = text->value->str;
  const gboolean negative = *word == '-';
  const char *digits = word + negative;
  const gboolean hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
  guint64 magnitude;

  if (!gemem_parse_digits (hex ? digits + 2 : digits, hex ? 16 : 10, 0,
                           (guint64) G_MAXINT64 + negative, &magnitude))
    return FALSE;
  *value = negative ? (gint64) -magnitude : (gint64) magnitude;
  return TRUE;
}

/* ---- characters */

enum
{
  AT_END = -1,
  BROKEN = -2, /* the input failed and the error is set */
};

/* The next byte, not consumed. */
static int
peek (const GememProtoText *text, GError **error)
{
  const guint8 *data;
  const gssize size = gemem_input_fill (text->input, 1, &data, error);

  return size < 0 ? BROKEN : size == 0 ? AT_END : data[0];
}

static void
take (GememProtoText *text, int c)
{
  text->line += c == '\n';
  gemem_input_consume (text->input, 1);
}

/* The next byte that is neither blank nor comment, not consumed. */
static int
skip_blanks (GememProtoText *text, GError **error)
{
  gboolean comment = FALSE;
  int c;

  while ((c = peek (text, error)) >= 0 && (comment || g_ascii_isspace (c) || c == '#'))
    {
      comment = c == '#' || (comment && c != '\n');
      take (text, c);
    }
  return c;
}

static gboolean
is_word (int c)
{
  return c >= 0 && (g_ascii_isalnum (c) || c == '_' || c == '-' || c == '+' || c == '.');
}

static gboolean
fail_at (const GememProtoText *text, int c, const char *expected, GError **error)
{
  if (c == BROKEN)
    return FALSE;
  if (c == AT_END)
    return gemem_proto_text_fail (text, error, "the file ends where %s should be; fetch it again",
                                  expected);
  return gemem_proto_text_fail (text, error,
                                g_ascii_isprint (c) ? "'%c' where %s should be"
                                                    : "byte 0x%02x where %s should be",
                                c, expected);
}

static gboolean
read_word (GememProtoText *text, GString *word, const char *expected, GError **error)
{
  int c = skip_blanks (text, error);

  g_string_truncate (word, 0);
  if (!is_word (c))
    return fail_at (text, c, expected, error);
  for (; is_word (c); c = peek (text, error))
    {
      if (word->len == GEMEM_PROTO_TEXT_MAX_VALUE)
        return gemem_proto_text_fail (text, error, "a word of more than %d bytes",
                                      GEMEM_PROTO_TEXT_MAX_VALUE);
      g_string_append_c (word, (char) c);
      take (text, c);
    }
  return c != BROKEN;
}

/* ---- strings */

/* Reads up to @most digits to the base @base; the next byte is a digit. */
static gboolean
read_digits (GememProtoText *text, guint base, guint most, guint *value, GError **error)
{
  int c = AT_END;

  *value = 0;
  for (guint i = 0; i < most && (c = peek (text, error)) >= 0; i++)
    {
      const int digit = g_ascii_xdigit_value ((char) c);

      if (digit < 0 || digit >= (int) base)
        break;
      *value = *value * base + (guint) digit;
      take (text, c);
    }
  return c != BROKEN;
}

/* Reads the text after a backslash. */
static gboolean
read_escape (GememProtoText *text, GError **error)
{
  static const char letters[] = "abfnrtv", meanings[] = "\a\b\f\n\r\t\v";
  const int c = peek (text, error);
  guint value = 0;

  if (c < 0)
    return fail_at (text, c, "the rest of a string", error);
  if (c >= '0' && c <= '7')
    {
      if (!read_digits (text, 8, 3, &value, error))
        return FALSE;
    }
  else
    {
      take (text, c);
      if (c == 'x' || c == 'X' || c == 'u' || c == 'U')
        {
          if (!read_digits (text, 16, c == 'u' ? 4 : c == 'U' ? 8 : 2, &value, error))
            return FALSE;
        }
      else
        value = strchr (letters, c) != NULL ? (guint) meanings[strchr (letters, c) - letters]
                                            : (guint) c;
      if ((c == 'u' || c == 'U') && value >= 0x80)
        {
          g_string_append_unichar (text->value, g_unichar_validate (value) ? value : 0xfffd);
          return TRUE;
        }
    }
  g_string_append_c (text->value, (char) value);
  return TRUE;
}

static gboolean
read_piece (GememProtoText *text, int quote, GError **error)
{
  int c;

  take (text, quote);
  while ((c = peek (text, error)) != quote)
    {
      if (c < 0 || c == '\n')
        return fail_at (text, c == '\n' ? AT_END : c, "the rest of a string", error);
      take (text, c);
      if (c != '\\')
        g_string_append_c (text->value, (char) c);
      else if (!read_escape (text, error))
        return FALSE;
      if (text->value->len > GEMEM_PROTO_TEXT_MAX_VALUE)
        g_string_truncate (text->value, GEMEM_PROTO_TEXT_MAX_VALUE);
    }
  take (text, quote);
  return TRUE;
}

/* Replaces control characters and damaged bytes: strings go to displays and line-oriented files. */
static void
make_printable (GString *value)
{
  for (gsize i = 0; i < value->len; i++)
    if (g_ascii_iscntrl (value->str[i]))
      value->str[i] = '?';
  if (!g_utf8_validate (value->str, (gssize) value->len, NULL))
    {
      g_autofree char *valid = g_utf8_make_valid (value->str, (gssize) value->len);
      g_string_assign (value, valid);
    }
}

static int
read_string (GememProtoText *text, int quote, GError **error)
{
  int c;

  g_string_truncate (text->value, 0);
  for (c = quote; c == '"' || c == '\''; c = skip_blanks (text, error))
    if (!read_piece (text, c, error))
      return -1;
  if (c == BROKEN)
    return -1;
  make_printable (text->value);
  return GEMEM_PROTO_TEXT_STRING;
}

/* ---- structure */

#define LIST 100 /* a list was opened: no token to deliver yet */

static int
innermost (const GememProtoText *text)
{
  return text->open->len > 0 ? text->open->str[text->open->len - 1] : 0;
}

static gboolean
push (GememProtoText *text, int opening, GError **error)
{
  if (text->open->len == GEMEM_PROTO_TEXT_MAX_DEPTH)
    return gemem_proto_text_fail (text, error,
                                  "nested more than %d deep; this is no dump of a graph",
                                  GEMEM_PROTO_TEXT_MAX_DEPTH);
  take (text, opening);
  g_string_append_c (text->open, opening == '{' ? '}' : opening == '<' ? '>' : ']');
  if (opening == '[')
    g_ptr_array_add (text->fields, g_strdup (text->field->str));
  return TRUE;
}

static void
pop (GememProtoText *text, int closing)
{
  take (text, closing);
  if (closing == ']')
    g_ptr_array_set_size (text->fields, (gint) text->fields->len - 1);
  g_string_truncate (text->open, text->open->len - 1);
}

/* Reads a message, a string or a word; @c is its first character, not consumed. */
static int
read_value (GememProtoText *text, int c, GError **error)
{
  if (c == '{' || c == '<')
    return push (text, c, error) ? GEMEM_PROTO_TEXT_BEGIN : -1;
  if (c == '"' || c == '\'')
    return read_string (text, c, error);
  return read_word (text, text->value, "a value", error) ? GEMEM_PROTO_TEXT_WORD : -1;
}

static int
read_field (GememProtoText *text, GError **error)
{
  int c;
  gboolean colon;

  if (!read_word (text, text->field, "the name of a field", error))
    return -1;
  c = skip_blanks (text, error);
  colon = c == ':';
  if (colon)
    {
      take (text, c);
      c = skip_blanks (text, error);
    }
  if (c == '[')
    return push (text, c, error) ? LIST : -1;
  if (!colon && c != '{' && c != '<')
    {
      fail_at (text, c, "':' or '{'", error);
      return -1;
    }
  return read_value (text, c, error);
}

static int
next_step (GememProtoText *text, GError **error)
{
  int c = skip_blanks (text, error);

  while (c == ',' || c == ';'
         || (c == ']' && innermost (text) == ']')) /* a separator, or the end of a list */
    {
      if (c == ']')
        pop (text, c);
      else
        take (text, c);
      c = skip_blanks (text, error);
    }
  if (c == BROKEN)
    return -1;
  if (innermost (text) == ']')
    {
      g_string_assign (text->field, g_ptr_array_index (text->fields, text->fields->len - 1));
      return read_value (text, c, error);
    }
  if (text->open->len == 0 && (c == AT_END || c == '['))
    return GEMEM_PROTO_TEXT_END;
  if (text->open->len > 0 && c == innermost (text))
    {
      pop (text, c);
      return GEMEM_PROTO_TEXT_CLOSE;
    }
  return read_field (text, error);
}

int
gemem_proto_text_next (GememProtoText *text, GError **error)
{
  int token;

  do
    token = next_step (text, error);
  while (token == LIST);
  return token;
}

gboolean
gemem_proto_text_skip (GememProtoText *text, GError **error)
{
  guint depth = 1;

  while (depth > 0)
    {
      const int token = gemem_proto_text_next (text, error);

      if (token < 0)
        return FALSE;
      depth += token == GEMEM_PROTO_TEXT_BEGIN;
      depth -= token == GEMEM_PROTO_TEXT_CLOSE;
    }
  return TRUE;
}

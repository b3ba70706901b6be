/* json-stream.c - see json-stream.h.
 *
 * A tokenizer over the window of the input, with one state between tokens and a stack of open
 * brackets.
 * Invariants: [at, end) are bytes of the window not yet consumed; `text` is NUL-terminated.
 * Cost: each byte is examined once, those of numbers twice.
 */
#include "config.h"

#include <string.h>

#include "base/io/decimal.h"
#include "base/io/fail.h"
#include "base/io/json-stream.h"

#define FILL_SIZE ((gsize) 64 << 10)
#define MAX_INTEGER 24
#define MAX_BARE 64 /* characters of a number; no reader asks for shorter texts */

typedef enum
{
  STATE_VALUE,       /* a value must follow */
  STATE_FIRST_VALUE, /* a value or ] */
  STATE_FIRST_KEY,   /* a key or } */
  STATE_KEY,         /* a key */
  STATE_AFTER_VALUE, /* , or the closing bracket */
  STATE_DONE
} State;

struct _GememJson
{
  GememInput *input;
  const guint8 *start, *at, *end;
  guint64 line;
  State state;
  guint depth;
  guint8 objects[GEMEM_JSON_MAX_DEPTH]; /* TRUE: the bracket is { */
  gboolean keeps_backslashes;
  gsize length, most; /* of `text` */
  char text[];
};

#define fail(json, error, ...) \
  (gemem_fail_line (error, gemem_input_name ((json)->input), (json)->line, __VA_ARGS__), -1)

static int
fail_end (const GememJson *json, GError **error)
{
  return fail (json, error, "the JSON text ends too early; the file was cut off, fetch it again");
}

/* ---- bytes */

/* Fetches more bytes when the window is used up.  1: there are some, 0: the end, -1: error. */
static int
refill (GememJson *json, GError **error)
{
  gemem_input_consume (json->input, (gsize) (json->end - json->start));
  gssize n = gemem_input_fill (json->input, FILL_SIZE, &json->start, NULL);
  if (n < 0) /* damage lies ahead; bytes before it are valid */
    n = gemem_input_fill (json->input, 1, &json->start, error);
  if (n <= 0)
    json->start = (const guint8 *) "";
  json->at = json->start;
  json->end = json->start + MAX (n, 0);
  return n > 0 ? 1 : (int) n;
}

/* The next byte, not consumed; -1: error, -2: the end. */
static inline int
peek (GememJson *json, GError **error)
{
  if (json->at == json->end)
    {
      int result = refill (json, error);
      if (result <= 0)
        return result < 0 ? -1 : -2;
    }
  return *json->at;
}

/* peek_token() where white space, or the end of the window, is next. */
static int
skip_blanks (GememJson *json, GError **error)
{
  for (;;)
    {
      const guint8 *at = json->at, *const end = json->end;

      for (; at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'); at++)
        if (*at == '\n')
          json->line++;
      json->at = at;
      if (at < end)
        return *at;
      int c = peek (json, error);
      if (c < 0)
        return c;
    }
}

/* The next byte that is not white space. */
static inline int
peek_token (GememJson *json, GError **error)
{
  const guint8 *at = json->at, *const end = json->end;

  if (at < end && *at == ' ') /* one blank is what stands behind most colons and commas */
    json->at = ++at;
  const int c = at < end ? *at : 0;
  return c > ' ' ? c : skip_blanks (json, error);
}

static inline void
keep (GememJson *json, guint8 c)
{
  if (json->length < json->most)
    json->text[json->length++] = (char) c;
}

/* ---- strings */

/* Keeps what was taken for an escape: the backslash, and the @n characters @text behind it. */
static void
keep_literally (GememJson *json, const char *text, guint n)
{
  keep (json, '\\');
  for (guint i = 0; i < n; i++)
    keep (json, (guint8) text[i]);
}

/* 1: not four digits, kept as they are. */
static int
read_hex (GememJson *json, guint *code, GError **error)
{
  char text[] = "u....";

  *code = 0;
  for (guint i = 0; i < 4; i++)
    {
      int c = peek (json, error);
      if (c < 0)
        return c == -1 ? -1 : fail_end (json, error);
      int digit = g_ascii_xdigit_value ((char) c);
      if (digit < 0 && json->keeps_backslashes)
        {
          keep_literally (json, text, 1 + i);
          return 1;
        }
      if (digit < 0)
        return fail (json, error,
                     "a \\u escape without four hexadecimal digits; the file is damaged");
      *code = *code << 4 | (guint) digit;
      text[1 + i] = (char) c;
      json->at++;
    }
  return 0;
}

static void
keep_code (GememJson *json, guint code)
{
  char bytes[6];
  int n = g_unichar_to_utf8 (g_unichar_validate (code) ? code : 0xfffd, bytes);
  if (json->length + (gsize) n <= json->most)
    for (int i = 0; i < n; i++)
      keep (json, (guint8) bytes[i]);
}

/* Reads the text after "\u": one code point, or the two escapes of a surrogate pair. */
static int
read_unicode (GememJson *json, GError **error)
{
  guint code, low;
  int read = read_hex (json, &code, error);

  if (read != 0)
    return MIN (read, 0);
  while (code >= 0xd800 && code < 0xdc00)
    {
      int c = peek (json, error);
      if (c != '\\')
        break;
      json->at++;
      if (peek (json, error) != 'u')
        return fail (json, error, "half a surrogate pair in a string; the file is damaged");
      json->at++;
      if ((read = read_hex (json, &low, error)) != 0)
        return MIN (read, 0);
      if (low >= 0xdc00 && low < 0xe000)
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      else
        {
          keep_code (json, code);
          code = low;
        }
    }
  keep_code (json, code);
  return 0;
}

static int
read_escape (GememJson *json, GError **error)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  int c = peek (json, error);

  if (c < 0)
    return c == -1 ? -1 : fail_end (json, error);
  json->at++;
  if (c == 'u')
    return read_unicode (json, error);
  const char *found = memchr (from, c, sizeof from - 1);
  if (found == NULL && json->keeps_backslashes)
    {
      keep_literally (json, &(char){ (char) c }, 1);
      return 0;
    }
  if (found == NULL)
    return fail (json, error, "\\%c is no escape of JSON; the file is damaged",
                 c >= ' ' && c < 127 ? c : '?');
  keep (json, (guint8) to[found - from]);
  return 0;
}

/* Reads the text after the opening quote, including the closing quote. */
static int
read_string (GememJson *json, GError **error)
{
  json->length = 0;
  for (;;)
    {
      const guint8 *at = json->at, *const end = json->end;
      const guint8 *const kept = at + MIN ((gsize) (end - at), json->most - json->length);
      char *text = json->text + json->length;
      for (; at < kept && *at != '"' && *at != '\\'; at++)
        {
          *text++ = (char) *at;
          if (G_UNLIKELY (*at == '\n'))
            json->line++;
        }
      if (at == kept) /* what is longer is cut */
        for (; at < end && *at != '"' && *at != '\\'; at++)
          json->line += *at == '\n';
      json->at = at;
      json->length = (gsize) (text - json->text);
      int c = peek (json, error);
      if (c < 0)
        return c == -1 ? -1 : fail_end (json, error);
      if (c != '"' && c != '\\')
        continue;
      json->at++;
      if (c == '"')
        break;
      if (read_escape (json, error) < 0)
        return -1;
    }
  json->text[json->length] = '\0';
  return 0;
}

/* ---- numbers and words */

static inline gboolean
is_digit (char c)
{
  return (guchar) (c - '0') < 10;
}

/* Reads the characters of a number or a word into `text`. */
static int
read_bare (GememJson *json, GError **error)
{
  char *text = json->text;

  for (;;)
    {
      const guint8 *at = json->at, *const end = json->end;
      for (; at < end; at++)
        {
          const char c = (char) *at;
          if (!is_digit (c) && !g_ascii_isalnum (c) && c != '+' && c != '-' && c != '.')
            break;
          if (text == json->text + MAX_BARE)
            return fail (json, error, "a number of more than 64 characters; the file is damaged");
          *text++ = c;
        }
      json->at = at;
      const int c = at < end ? -2 : peek (json, error);
      if (c == -1)
        return -1;
      if (c == -2)
        break;
    }
  *text = '\0';
  json->length = (gsize) (text - json->text);
  return 0;
}

/* Reads what most numbers are: some digits, with the byte behind them in the window. */
static gboolean
read_integer (GememJson *json)
{
  const guint8 *const end = json->end - json->at > MAX_INTEGER ? json->at + MAX_INTEGER : json->end;
  const guint8 *at = json->at;
  char *text = json->text;

  while (at < end && is_digit ((char) *at))
    *text++ = (char) *at++;
  if (at == end || (*at != ',' && *at != ' ' && *at != '\n' && *at != '}') || at == json->at
      || (*json->text == '0' && text > json->text + 1))
    return FALSE;
  *text = '\0';
  json->length = (gsize) (text - json->text);
  json->at = at;
  return TRUE;
}

static const char *
skip_digits (const char *text)
{
  while (is_digit (*text))
    text++;
  return text;
}

static gboolean
is_number (const char *text)
{
  const char *digits = text + (*text == '-');
  const char *at = skip_digits (digits);

  if (at == digits || (*digits == '0' && at > digits + 1))
    return FALSE;
  if (*at == '.')
    {
      const char *fraction = at + 1;
      at = skip_digits (fraction);
      if (at == fraction)
        return FALSE;
    }
  if (*at == 'e' || *at == 'E')
    {
      const char *exponent = at + 1 + (at[1] == '+' || at[1] == '-');
      at = skip_digits (exponent);
      if (at == exponent)
        return FALSE;
    }
  return *at == '\0';
}

gboolean
gemem_json_scaled (const GememJson *json, int scale, guint64 *magnitude, gboolean *negative)
{
  return gemem_decimal_scaled (json->text, scale, magnitude, negative) != NULL;
}

static int
read_word (GememJson *json, GError **error)
{
  if (read_integer (json))
    return GEMEM_JSON_NUMBER;
  if (read_bare (json, error) < 0)
    return -1;
  if (is_number (json->text))
    return GEMEM_JSON_NUMBER;
  if (strcmp (json->text, "true") == 0)
    return GEMEM_JSON_TRUE;
  if (strcmp (json->text, "false") == 0)
    return GEMEM_JSON_FALSE;
  if (strcmp (json->text, "null") == 0)
    return GEMEM_JSON_NULL;
  if (json->at == json->end && json->length > 0 && peek (json, NULL) < 0)
    return fail_end (json, error);
  return fail (json, error, "\"%.20s\" is no JSON value; the file is damaged or of another format",
               json->text);
}

/* ---- tokens */

static int
open_bracket (GememJson *json, gboolean object, GError **error)
{
  if (json->depth == GEMEM_JSON_MAX_DEPTH)
    return fail (json, error, "nested more than %d deep; the file is damaged or of another format",
                 GEMEM_JSON_MAX_DEPTH);
  json->at++;
  json->objects[json->depth++] = (guint8) object;
  json->state = object ? STATE_FIRST_KEY : STATE_FIRST_VALUE;
  return object ? GEMEM_JSON_BEGIN_OBJECT : GEMEM_JSON_BEGIN_ARRAY;
}

static int
close_bracket (GememJson *json)
{
  json->at++;
  json->depth--;
  json->state = json->depth == 0 ? STATE_DONE : STATE_AFTER_VALUE;
  return json->objects[json->depth] ? GEMEM_JSON_END_OBJECT : GEMEM_JSON_END_ARRAY;
}

static int
read_key (GememJson *json, int c, GError **error)
{
  if (c != '"')
    return fail (json, error, "a key in quotes is missing; the file is damaged");
  json->at++;
  if (read_string (json, error) < 0)
    return -1;
  c = peek_token (json, error);
  if (c == -1)
    return -1;
  if (c != ':')
    return c == -2 ? fail_end (json, error)
                   : fail (json, error, "no ':' behind the key \"%.40s\"; the file is damaged",
                           json->text);
  json->at++;
  json->state = STATE_VALUE;
  return GEMEM_JSON_KEY;
}

static int
read_value (GememJson *json, int c, GError **error)
{
  int token = GEMEM_JSON_STRING;

  if (c == '{' || c == '[')
    return open_bracket (json, c == '{', error);
  if (c == '"')
    {
      json->at++;
      if (read_string (json, error) < 0)
        return -1;
    }
  else if ((token = read_word (json, error)) < 0)
    return -1;
  json->state = json->depth == 0 ? STATE_DONE : STATE_AFTER_VALUE;
  return token;
}

int
gemem_json_next (GememJson *json, GError **error)
{
  int c = peek_token (json, error);

  if (c == -1)
    return -1;
  if (json->state == STATE_DONE)
    return c == -2 ? GEMEM_JSON_END
                   : fail (json, error,
                           "something follows the end of the JSON text; it is a log of JSON lines, "
                           "or damaged");
  if (c == -2)
    return fail_end (json, error);
  if (json->state == STATE_AFTER_VALUE)
    {
      gboolean object = json->objects[json->depth - 1];
      if (c == (object ? '}' : ']'))
        return close_bracket (json);
      if (c != ',')
        return fail (json, error, "',' or '%c' is missing; the file is damaged",
                     object ? '}' : ']');
      json->at++;
      json->state = object ? STATE_KEY : STATE_VALUE;
      c = peek_token (json, error);
      if (c < 0)
        return c == -1 ? -1 : fail_end (json, error);
    }
  if ((json->state == STATE_FIRST_KEY && c == '}')
      || (json->state == STATE_FIRST_VALUE && c == ']'))
    return close_bracket (json);
  return json->state == STATE_KEY || json->state == STATE_FIRST_KEY ? read_key (json, c, error)
                                                                    : read_value (json, c, error);
}

gboolean
gemem_json_skip (GememJson *json, int token, GError **error)
{
  if (token != GEMEM_JSON_BEGIN_OBJECT && token != GEMEM_JSON_BEGIN_ARRAY)
    return TRUE;
  guint outside = json->depth - 1;
  while (token >= 0 && json->depth > outside)
    token = gemem_json_next (json, error);
  return token >= 0;
}

int
gemem_json_next_document (GememJson *json, GError **error)
{
  int c = peek_token (json, error);

  g_return_val_if_fail (json->state == STATE_DONE, -1);
  if (c < 0)
    return c == -1 ? -1 : 0;
  json->state = STATE_VALUE;
  return 1;
}

gsize
gemem_json_text_length (const GememJson *json)
{
  return json->length;
}

const char *
gemem_json_text (const GememJson *json)
{
  return json->text;
}

gsize
gemem_json_whole_text (const GememJson *json)
{
  return json->most - 5;
}

guint64
gemem_json_line (const GememJson *json)
{
  return json->line;
}

GememJson *
gemem_json_new (GememInput *input)
{
  return gemem_json_new_long (input, GEMEM_JSON_MAX_TEXT);
}

GememJson *
gemem_json_new_long (GememInput *input, gsize most)
{
  GememJson *json = g_malloc0 (sizeof (GememJson) + most + 8);
  json->input = input;
  json->most = most;
  json->line = 1;
  json->start = json->at = json->end = (const guint8 *) "";
  return json;
}

void
gemem_json_keep_backslashes (GememJson *json)
{
  json->keeps_backslashes = TRUE;
}

void
gemem_json_free (GememJson *json)
{
  g_free (json);
}

/* test-json-stream.c - the JSON tokenizer: every token, every kind of damage, exact numbers. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/json-stream.h"

/* All tokens as text, then "." or the error. */
static char *
run (const char *text, gsize size, gboolean skip_first)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, size);
  GememInput *input = gemem_input_new_from_bytes (bytes, "x.json");
  GememJson *json = gemem_json_new (input);
  GString *out = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  int token;

  while ((token = gemem_json_next (json, &error)) > 0)
    {
      static const char marks[] = ".{}[]ksntf0";
      g_string_append_c (out, marks[token]);
      if (token == GEMEM_JSON_KEY || token == GEMEM_JSON_STRING || token == GEMEM_JSON_NUMBER)
        g_string_append_printf (out, "<%s>", gemem_json_text (json));
      if (skip_first && !gemem_json_skip (json, token, &error))
        break;
    }
  g_string_append (out, error != NULL ? error->message : ".");
  if (error != NULL)
    g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
  gemem_json_free (json);
  gemem_input_close (input);
  return g_string_free (out, FALSE);
}

static void
expect (const char *text, const char *expected)
{
  g_autofree char *got = run (text, strlen (text), FALSE);
  g_assert_cmpstr (got, ==, expected);
}

static void
test_tokens (void)
{
  expect ("{}", "{}.");
  expect (" [ ] ", "[].");
  expect ("{\"a\":1,\"b\":[true,false,null],\"c\":{\"d\":\"e\"}}",
          "{k<a>n<1>k<b>[tf0]k<c>{k<d>s<e>}}.");
  expect ("\"x\"", "s<x>.");
  expect ("-1.5e+3", "n<-1.5e+3>.");
  expect ("[0,-0,0.5,1E5,123456789012345678901234567890]",
          "[n<0>n<-0>n<0.5>n<1E5>n<123456789012345678901234567890>].");
  expect ("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"]",
          "[s<\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80>].");
  expect ("[\"\\ud83d\"]", "[s<\xef\xbf\xbd>]."); /* a lone surrogate is replaced */
  expect ("[\"\\ud83d\\u0041\"]", "[s<\xef\xbf\xbd"
                                  "A>].");
}

static void
test_damage (void)
{
  static const char *const cut =
      "the JSON text ends too early; the file was cut off, fetch it again";
  static const char *const texts[] = { "",        "{",        "[",         "{\"a", "{\"a\"",
                                       "{\"a\":", "{\"a\":1", "{\"a\":1,", "[1",   "[1,",
                                       "\"x",     "[\"\\",    "[\"\\u00",  "[tr" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autofree char *got = run (texts[i], strlen (texts[i]), FALSE);
      g_assert_true (g_str_has_suffix (got, cut));
    }
  expect ("[1 2]", "[n<1>x.json:1: ',' or ']' is missing; the file is damaged");
  expect ("{\"a\":1\n\"b\":2}", "{k<a>n<1>x.json:2: ',' or '}' is missing; the file is damaged");
  expect ("{\"a\" 1}", "{x.json:1: no ':' behind the key \"a\"; the file is damaged");
  expect ("{a:1}", "{x.json:1: a key in quotes is missing; the file is damaged");
  expect ("{\"a\":1,}", "{k<a>n<1>x.json:1: a key in quotes is missing; the file is damaged");
  expect ("[1,]", "[n<1>x.json:1: \"\" is no JSON value; the file is damaged or of another format");
  expect ("[}", "[x.json:1: \"\" is no JSON value; the file is damaged or of another format");
  expect ("[01]", "[x.json:1: \"01\" is no JSON value; the file is damaged or of another format");
  expect ("[1.]", "[x.json:1: \"1.\" is no JSON value; the file is damaged or of another format");
  expect ("[+1]", "[x.json:1: \"+1\" is no JSON value; the file is damaged or of another format");
  expect ("[NaN]", "[x.json:1: \"NaN\" is no JSON value; the file is damaged or of another format");
  expect ("[\"\\x\"]", "[x.json:1: \\x is no escape of JSON; the file is damaged");
  expect ("[\"\\u12g4\"]",
          "[x.json:1: a \\u escape without four hexadecimal digits; the file is damaged");
  expect ("{}\n\n{}", "{}x.json:3: something follows the end of the JSON text; it is a log of JSON "
                      "lines, or damaged");
}

static void
test_depth (void)
{
  g_autofree char *deep = g_strnfill (513, '['), *got = run (deep, 513, FALSE);
  g_assert_true (g_str_has_suffix (
      got, "x.json:1: nested more than 512 deep; the file is damaged or of another format"));
  memset (deep + 256, ']', 256);
  g_autofree char *fits = run (deep, 512, FALSE);
  g_assert_true (g_str_has_suffix (fits, "]."));
}

static void
test_skip (void)
{
  g_autofree char *got = run ("[[{\"a\":[1,2]}],3]", 17, TRUE);
  g_assert_cmpstr (got, ==, "[.");
}

/* Strings longer than the kept part, across many windows of the input. */
static void
test_long_string (void)
{
  g_autofree char *fill = g_strnfill (1000000, 'y'), *text = g_strdup_printf ("[\"%s\",1]", fill),
                  *got = run (text, strlen (text), FALSE);
  g_assert_cmpuint (strlen (got), ==, strlen ("[s<>n<1>].") + GEMEM_JSON_MAX_TEXT);
  g_assert_true (g_str_has_suffix (got, "yy>n<1>]."));
}

/* Numbers of every length that is kept, before everything that may follow them. */
static void
test_numbers (void)
{
  static const char *const behind[] = { ",0]", " ]", "\t]", "\r]", "\n]", "]", "E2]", ".5]", "x]" };

  for (gsize digits = 1; digits <= 66; digits++)
    for (guint i = 0; i < G_N_ELEMENTS (behind); i++)
      {
        g_autofree char *number = g_strnfill (digits, '7'),
                        *text = g_strdup_printf ("[%s%s", number, behind[i]),
                        *got = run (text, strlen (text), FALSE);
        const gsize more = strspn (behind[i], "E2.5x"), length = digits + more;
        g_autofree char *kept = g_strndup (text + 1, length);
        g_autofree char *wanted =
            length > 64
                ? g_strdup ("[x.json:1: a number of more than 64 characters; the file is damaged")
            : strchr (kept, 'x') != NULL
                ? g_strdup_printf ("[x.json:1: \"%.20s\" is no JSON value; the file is damaged or "
                                   "of another format",
                                   kept)
                : g_strdup_printf ("[n<%s>%s].", kept, *behind[i] == ',' ? "n<0>" : "");
        g_assert_cmpstr (got, ==, wanted);
      }
}

/* Every token, where each of its bytes is the first of a window. */
static void
test_windows (void)
{
  static const char document[] =
      "{\"a\\u0041b\\\\\n\":1234567,\n \"b\" : [true, -1.5e3 ,\"c\\n\"] , "
      "\"d\":20}\n\n!";
  const gsize window = (gsize) 128 << 10; /* RAW_SIZE of base/io/input-decode.c */

  for (gsize before = 0; before <= sizeof document; before++)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      for (gsize i = before; i < window; i++)
        g_string_append_c (text, i % 80 == 0 ? '\n' : ' ');
      const guint lines = (guint) ((window + 79) / 80 - (before + 79) / 80);
      g_string_append (text, document);
      g_autofree char
          *got = run (text->str, text->len, FALSE),
          *wanted = g_strdup_printf (
              "{k<aAb\\\n>n<1234567>k<b>[tn<-1.5e3>s<c\n>]k<d>n<20>}x.json:%u: something "
              "follows the end of the JSON text; it is a log of JSON lines, or damaged",
              lines + 5);
      g_assert_cmpstr (got, ==, wanted);
    }
}

static void
check_scaled (const char *text, int scale, gboolean fits, guint64 expected, gboolean negative)
{
  g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
  GememInput *input = gemem_input_new_from_bytes (bytes, "x.json");
  GememJson *json = gemem_json_new (input);
  guint64 magnitude = 0;
  gboolean minus = FALSE;

  g_assert_cmpint (gemem_json_next (json, NULL), ==, GEMEM_JSON_NUMBER);
  g_assert_cmpint (gemem_json_scaled (json, scale, &magnitude, &minus), ==, fits);
  if (fits)
    {
      g_assert_cmpuint (magnitude, ==, expected);
      g_assert_cmpint (minus, ==, negative);
    }
  g_assert_cmpint (gemem_json_scaled (json, scale, &magnitude, NULL), ==, fits && !negative);
  gemem_json_free (json);
  gemem_input_close (input);
}

static void
test_scaled (void)
{
  check_scaled ("0", 0, TRUE, 0, FALSE);
  check_scaled ("-0", 0, TRUE, 0, FALSE);
  check_scaled ("18446744073709551615", 0, TRUE, G_MAXUINT64, FALSE);
  check_scaled ("18446744073709551616", 0, FALSE, 0, FALSE);
  check_scaled ("9999999999999999999", 0, TRUE, G_GUINT64_CONSTANT (9999999999999999999), FALSE);
  check_scaled ("9999999999999999999.9", 1, FALSE, 0, FALSE);
  check_scaled ("1234567890123456789.5", 1, TRUE, G_GUINT64_CONSTANT (12345678901234567895), FALSE);
  check_scaled ("99999999999999999999999", 0, FALSE, 0, FALSE);
  check_scaled ("-5242880", 0, TRUE, 5242880, TRUE);
  check_scaled ("1669783687404093", 3, TRUE, G_GUINT64_CONSTANT (1669783687404093000), FALSE);
  check_scaled ("1669783687404093.125", 3, TRUE, G_GUINT64_CONSTANT (1669783687404093125), FALSE);
  check_scaled ("1669783687404093.1259", 3, TRUE, G_GUINT64_CONSTANT (1669783687404093125), FALSE);
  check_scaled ("0.0004", 3, TRUE, 0, FALSE);
  check_scaled ("1.5e3", 0, TRUE, 1500, FALSE);
  check_scaled ("1.669783687404093e15", 3, TRUE, G_GUINT64_CONSTANT (1669783687404093000), FALSE);
  check_scaled ("1e-2", 3, TRUE, 10, FALSE);
  check_scaled ("1e300", 0, FALSE, 0, FALSE);
  check_scaled ("1e-300", 0, TRUE, 0, FALSE);
  check_scaled ("0e999999999999999999999", 0, TRUE, 0, FALSE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json-stream/tokens", test_tokens);
  g_test_add_func ("/json-stream/damage", test_damage);
  g_test_add_func ("/json-stream/depth", test_depth);
  g_test_add_func ("/json-stream/skip", test_skip);
  g_test_add_func ("/json-stream/long-string", test_long_string);
  g_test_add_func ("/json-stream/numbers", test_numbers);
  g_test_add_func ("/json-stream/windows", test_windows);
  g_test_add_func ("/json-stream/scaled", test_scaled);
  return g_test_run ();
}

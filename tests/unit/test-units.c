/* test-units.c - base/units.h and error.h: exact values, every class of message, printing, and
 * independence of the locale. */
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "tests/util/testutil.h"

#define MAX64 G_MAXUINT64

typedef struct
{
  const char *text;
  guint64 unit, whole; /* default unit; what "%" is of (sizes) */
  guint64 value;
} Good;

typedef struct
{
  const char *text;
  guint64 unit, whole;
  const char *message; /* the whole message, or its beginning when it ends in '*' */
} Bad;

static void
assert_message (GError **error, const char *pattern)
{
  g_assert_error (*error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  if (!g_pattern_match_simple (pattern, (*error)->message))
    g_error ("message is \"%s\", expected \"%s\"", (*error)->message, pattern);
  g_assert_null (strchr ((*error)->message, '\n'));
  g_clear_error (error);
}

static void
test_sizes (void)
{
  static const Good good[] = {
    { "0", 1, 0, 0 },
    { "1", 1, 0, 1 },
    { "512", GEMEM_MIB, 0, 512 * GEMEM_MIB },
    { "512B", GEMEM_MIB, 0, 512 },
    { "512b", GEMEM_MIB, 0, 512 },
    { "512MiB", 1, 0, G_GUINT64_CONSTANT (536870912) },
    { "512mib", 1, 0, G_GUINT64_CONSTANT (536870912) },
    { "512M", 1, 0, G_GUINT64_CONSTANT (536870912) },
    { "2GB", 1, 0, G_GUINT64_CONSTANT (2000000000) },
    { "2 GB", 1, 0, G_GUINT64_CONSTANT (2000000000) },
    { "1kB", 1, 0, 1000 },
    { "1k", 1, 0, 1024 },
    { "3TiB", 1, 0, G_GUINT64_CONSTANT (3298534883328) },
    { "3TB", 1, 0, G_GUINT64_CONSTANT (3000000000000) },
    { "2PB", 1, 0, G_GUINT64_CONSTANT (2000000000000000) },
    { "2PiB", 1, 0, G_GUINT64_CONSTANT (2251799813685248) },
    { "15EiB", 1, 0, G_GUINT64_CONSTANT (15) << 60 },
    { "1.5GiB", 1, 0, G_GUINT64_CONSTANT (1610612736) },
    { "1.1GB", 1, 0, G_GUINT64_CONSTANT (1100000000) },
    { "2.01GB", 1, 0, G_GUINT64_CONSTANT (2010000000) }, /* a double: one byte less */
    { ".5KiB", 1, 0, 512 },
    /* rounded down, from all digits */
    { "0.1KiB", 1, 0, 102 },
    { "1.1GiB", 1, 0, G_GUINT64_CONSTANT (1181116006) },
    { "39.4GiB", 1, 0, G_GUINT64_CONSTANT (42305427865) },
    { "11.7GiB", 1, 0, G_GUINT64_CONSTANT (12562779340) },
    { "11.7 GiB", GEMEM_MIB, 0, G_GUINT64_CONSTANT (12562779340) },
    { "0.0019kB", 1, 0, 1 },
    { "0.0GiB", 1, 0, 0 },
    { "1.99999999999999999999999999999999999GiB", 1, 0, 2 * GEMEM_GIB - 1 },
    { "15.9999999999999999999999999999999EiB", 1, 0, MAX64 },
    { "0.0009765625KiB", 1, 0, 1 },
    /* 2^-50 PiB needs all its 50 digits */
    { "0.00000000000000088817841970012523233890533447265625PiB", 1, 0, 1 },
    { "1.000000000000000000000000000000000000000000000MiB", 1, 0, GEMEM_MIB },
    { "1_000_000", 1, 0, 1000000 },
    { "0x1F", 1, 0, 31 },
    { "0xFFFF_FFFF_FFFF_FFFF", 1, 0, MAX64 },
    { "0x10KiB", 1, 0, 16384 },
    { "18446744073709551615", 1, 0, MAX64 },
    { "18446744073709551.615kB", 1, 0, MAX64 },
    { "17179869183.99999999906867742538452148437500GiB", 1, 0, MAX64 },
    { "unlimited", 1, 0, GEMEM_UNLIMITED },
    { "None", 1, 0, GEMEM_UNLIMITED },
    { "80%", 1, 1000, 800 },
    { "33.3%", 1, 1000, 333 },
    { "0.1%", 1, 999, 0 },
    { "12.5%", 1, 80 * GEMEM_GIB, 10 * GEMEM_GIB },
    { "100%", 1, MAX64, MAX64 },
    { "150%", 1, 1000, 1500 },
    { "0%", 1, 1, 0 },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autoptr (GError) error = NULL;
      guint64 bytes = 77;
      g_test_message ("%s", good[i].text);
      gemem_parse_size (good[i].text, good[i].unit, good[i].whole, &bytes, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (bytes, ==, good[i].value);
    }
}

static void
test_sizes_bad (void)
{
  static const Bad bad[] = {
    { "", 1, 0, "'': empty; write a number and one of B, KiB, *" },
    { "-1", 1, 0, "'-1': negative; use a number from 0 on" },
    { "GiB", 1, 0, "'GiB': not a number; write digits and one of *" },
    { " 1", 1, 0, "' 1': not a number; *" },
    { "1 ", 0, 0, "'1 ': unknown unit ''; use B, KiB*" },
    { "+1", 1, 0, "'+1': not a number; *" },
    { "0x", 1, 0, "'0x': not a number; *" },
    { "1.", 1, 0, "'1.': not a number; *" },
    { ".", 1, 0, "'.': not a number; *" },
    { "nan", 1, 0, "'nan': not a number; *" },
    { "inf", 1, 0, "'inf': not a number; *" },
    { "1e3", 1, 0, "'1e3': unknown unit 'e3'; use *" },
    { "1XB", 1, 0,
      "'1XB': unknown unit 'XB'; use B, KiB, MiB, GiB, TiB, PiB, EiB (K, M, G, T, P, E for short) "
      "or kB, MB, GB, TB, PB, EB" },
    { "1MiBs", 1, 0, "'1MiBs': unknown unit 'MiBs'; *" },
    { "1.5.5", 1, 0, "'1.5.5': unknown unit '.5'; *" },
    { "1,5GiB", 1, 0, "'1,5GiB': unknown unit ',5GiB'; *" },
    { "1__0", 1, 0, "'1__0': unknown unit '__0'; *" },
    { "1_", 1, 0, "'1_': unknown unit '_'; *" },
    { "1%%", 1, 10, "'1%%': unknown unit '%%'; *" },
    { "0x1.8", 1, 0, "'0x1.8': unknown unit '.8'; *" },
    { "0.5", 1, 0, "'0.5': a fraction needs a unit; write 0.5GiB, or a whole number" },
    { "39.0", 1, 0, "'39.0': a fraction needs a unit; write 39.0GiB, or a whole number" },
    { "20.5", GEMEM_MIB, 0, "'20.5': a fraction needs a unit; write 20.5MiB, or a whole number" },
    { "0.5B", 1, 0, "'0.5B': not a whole number of bytes; use a smaller unit" },
    { "1.5B", GEMEM_MIB, 0, "'1.5B': not a whole number of bytes; use a smaller unit" },
    { "0.0009KiB", 1, 0, "'0.0009KiB': less than a byte; use a larger number" },
    { "0.00000000000000000000000000000000001PiB", 1, 0, "*: less than a byte; *" },
    { "16.000000000000000000000000001EiB", 1, 0, "*: too large for 64 bits; *" },
    { "80%", 1, 0, "'80%': a percentage has no whole to be a part of here; give a size in bytes" },
    { "18446744073709551616", 1, 0,
      "'18446744073709551616': too large for 64 bits; use a smaller number" },
    { "16EiB", 1, 0, "'16EiB': too large for 64 bits; use a smaller number" },
    { "18446744073709551.616kB", 1, 0, "*: too large for 64 bits; *" },
    { "340282366920938463463374607431768211457", 1, 0, "*: too large for 64 bits; *" },
    { "36893488147419103232GiB", 1, 0, "*: too large for 64 bits; *" }, /* wraps to 0 twice over */
    { "0x10000000000000000", 1, 0, "*: too large for 64 bits; *" },
    { "36893488147419103232%", 1, 100, "*: too large for 64 bits; *" },
    { "101%", 1, MAX64, "*: too large for 64 bits; *" },
    { "18446744073709551615%", 1, MAX64, "*: too large for 64 bits; *" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      guint64 bytes = 77;
      g_test_message ("%s", bad[i].text);
      g_assert_false (gemem_parse_size (bad[i].text, bad[i].unit, bad[i].whole, &bytes, &error));
      assert_message (&error, bad[i].message);
      g_assert_cmpuint (bytes, ==, 77);
    }
}

/* A bare number that is too small for an amount of memory. */
static void
test_forgotten_units (void)
{
  static const char *const fine[] = { "0",         "4096", "16B",    "16GiB",
                                      "39.4",      "1%",   "all",    "",
                                      "unlimited", "-3",   "0x1000", "99999999999999999999" };
  static const struct
  {
    const char *text, *message;
  } bad[] = {
    { "1", "1: 1 byte? write 1GiB, or 1B if so few are meant" },
    { "16", "16: 16 bytes? write 16GiB, or 16B if so few are meant" },
    { "0x10", "0x10: 16 bytes? write 16GiB, or 16B if so few are meant" },
    { "1_023", "1_023: 1023 bytes? write 1023GiB, *" },
    { "1024", "1024: 1024 bytes? write 1024MiB, *" },
    { "4095", "4095: 4095 bytes? write 4095MiB, or 4095B if so few are meant" },
  };
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (fine); i++)
    {
      g_assert_true (gemem_check_unit (fine[i], &error));
      g_assert_no_error (error);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_assert_false (gemem_check_unit (bad[i].text, &error));
      assert_message (&error, bad[i].message);
    }
}

static void
test_times (void)
{
  static const Good good[] = {
    { "100ns", 0, 0, 100 },
    { "30us", 0, 0, 30000 },
    { "1.5ms", 0, 0, 1500000 },
    { "2s", 0, 0, 2000000000 },
    { "2 S", 0, 0, 2000000000 },
    { "1min", 0, 0, G_GUINT64_CONSTANT (60000000000) },
    { "0.5h", 0, 0, G_GUINT64_CONSTANT (1800000000000) },
    { "7", 1000, 0, 7000 },
    { "0.001us", 0, 0, 1 },
    { "18446744073.709551615s", 0, 0, MAX64 },
  };
  static const Bad bad[] = {
    { "7", 0, 0, "'7': a time needs a unit; use ns, us, ms, s, min or h" },
    { "7m", 1, 0, "'7m': unknown unit 'm'; use ns, us, ms, s, min or h" },
    { "0.5", 1000000, 0, "'0.5': a fraction needs a unit; write 0.5ms, or a whole number" },
    { "0.5ns", 1, 0, "'0.5ns': not a whole number of nanoseconds; use a smaller unit" },
    { "-5ms", 1, 0, "'-5ms': negative; *" },
    { "", 1, 0, "'': empty; write a number and one of ns, us, ms, s, min or h" },
    { "soon", 1, 0, "'soon': not a number; write digits and one of ns, us, ms, s, min or h" },
    { "18446744073.709551616s", 0, 0, "*: too large for 64 bits; *" },
    { "5124096h", 0, 0, "*: too large for 64 bits; *" },
  };
  g_autoptr (GError) error = NULL;
  guint64 ns;

  for (gsize i = 0; i < G_N_ELEMENTS (good); i++)
    {
      gemem_parse_time (good[i].text, good[i].unit, &ns, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (ns, ==, good[i].value);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_assert_false (gemem_parse_time (bad[i].text, bad[i].unit, &ns, &error));
      assert_message (&error, bad[i].message);
    }
}

static void
test_integers (void)
{
  g_autoptr (GError) error = NULL;
  guint64 u;
  gint64 i;

  g_assert_true (gemem_parse_uint ("18446744073709551615", &u, &error));
  g_assert_cmpuint (u, ==, MAX64);
  g_assert_true (gemem_parse_uint ("0xdead_BEEF", &u, &error));
  g_assert_cmpuint (u, ==, 0xdeadbeef);
  g_assert_true (gemem_parse_uint ("007", &u, &error));
  g_assert_cmpuint (u, ==, 7);
  g_assert_false (gemem_parse_uint ("-1", &u, &error));
  assert_message (&error, "'-1': negative; use a whole number from 0 on");
  for (const char *const *text =
           (const char *const[]){ "", "1.0", "1 ", "1k", "0x", "0xg", "x", "--1", NULL };
       *text != NULL; text++)
    {
      if (**text != '-')
        {
          g_assert_false (gemem_parse_uint (*text, &u, &error));
          assert_message (
              &error,
              "'*': not a whole number; write decimal digits, or 0x and hexadecimal digits");
        }
      g_assert_false (gemem_parse_int (*text, &i, &error));
      assert_message (
          &error, "'*': not a whole number; write decimal digits, or 0x and hexadecimal digits");
    }
  g_assert_false (gemem_parse_uint ("18446744073709551616", &u, &error));
  assert_message (&error, "*: too large for 64 bits; use at most 18446744073709551615");

  g_assert_true (gemem_parse_int ("-9223372036854775808", &i, &error));
  g_assert_true (i == G_MININT64);
  g_assert_true (gemem_parse_int ("+9223372036854775807", &i, &error));
  g_assert_true (i == G_MAXINT64);
  g_assert_true (gemem_parse_int ("-0x10", &i, &error));
  g_assert_true (i == -16);
  g_assert_false (gemem_parse_int ("9223372036854775808", &i, &error));
  assert_message (&error,
                  "*: too large for 64 bits; use -9223372036854775808 to 9223372036854775807");
  g_assert_false (gemem_parse_int ("-9223372036854775809", &i, &error));
  assert_message (&error, "*: too large for 64 bits; *");
}

static void
test_digits (void)
{
  guint64 u = 5;

  g_assert_true (gemem_parse_digits ("18446744073709551615", 10, 0, MAX64, &u));
  g_assert_cmpuint (u, ==, MAX64);
  g_assert_true (gemem_parse_digits ("dEad", 16, 0, MAX64, &u));
  g_assert_cmpuint (u, ==, 0xdead);
  g_assert_true (gemem_parse_digits ("007", 10, 7, 7, &u));
  g_assert_cmpuint (u, ==, 7);
  g_assert_true (gemem_parse_digits ("0", 10, 0, 0, &u));
  g_assert_cmpuint (u, ==, 0);
  for (const char *const *text = (const char *const[]){ "", "+1", "-1", " 1", "1 ", "0x1", "1_0",
                                                        "a", "18446744073709551616", NULL };
       *text != NULL; text++)
    g_assert_false (gemem_parse_digits (*text, 10, 0, MAX64, &u));
  g_assert_false (gemem_parse_digits ("fffffffffffffffff", 16, 0, MAX64, &u));
  g_assert_false (gemem_parse_digits ("8", 10, 0, 7, &u));
  g_assert_false (gemem_parse_digits ("80", 10, 0, 7, &u));
  g_assert_false (gemem_parse_digits ("6", 10, 7, 8, &u));
  g_assert_false (gemem_parse_digits ("101", 10, 0, 100, &u));
  g_assert_cmpuint (u, ==, 0);
}

static void
test_doubles (void)
{
  g_autoptr (GError) error = NULL;
  double d;

  g_assert_true (gemem_parse_double ("0.5", &d, &error) && d == 0.5);
  g_assert_true (gemem_parse_double ("-1e-3", &d, &error) && d == -0.001);
  g_assert_true (gemem_parse_double (".25", &d, &error) && d == 0.25);
  g_assert_true (gemem_parse_double ("+3", &d, &error) && d == 3);
  for (const char *const *text = (const char *const[]){ "", "nan", "inf", "-inf", "0x10", " 1",
                                                        "1 ", "1,5", "1.5x", "-", "e5", NULL };
       *text != NULL; text++)
    {
      g_assert_false (gemem_parse_double (*text, &d, &error));
      assert_message (&error, "'*': not a number; write it like 0.5 or 1e-3");
    }
  g_assert_false (gemem_parse_double ("1e999", &d, &error));
  assert_message (&error, "'1e999': too large for a number in double precision; use a smaller one");
}

static void
test_format (void)
{
  static const struct
  {
    guint64 bytes;
    const char *people, *exact;
  } sizes[] = {
    { 0, "0 B", "0" },
    { 512, "512 B", "512" },
    { 1000, "1000 B", "1000" },
    { 1023, "1023 B", "1023" },
    { 1024, "1.000 KiB", "1KiB" },
    { 1536, "1.500 KiB", "1536" },
    { 20 * GEMEM_MIB, "20.00 MiB", "20MiB" },
    { 3 * GEMEM_GIB / 2, "1.500 GiB", "1536MiB" },
    { 123 * GEMEM_GIB + GEMEM_GIB / 2, "123.5 GiB", "126464MiB" },
    { 1000 * GEMEM_GIB, "1000 GiB", "1000GiB" },
    { GEMEM_MIB - 1, "1.000 MiB", "1048575" }, /* rounds into the next unit */
    { GEMEM_MIB - 600, "1023 KiB", "1047976" },
    { 10 * GEMEM_MIB - 1, "10.00 MiB", "10485759" }, /* rounds to one digit more */
    { 10 * GEMEM_KIB - 5, "9.995 KiB", "10235" },
    { GEMEM_GIB << 30, "1.000 EiB", "1EiB" },
    { MAX64 - 1, "16.00 EiB", "18446744073709551614" },
    { GEMEM_UNLIMITED, "unlimited", "unlimited" },
  };
  static const struct
  {
    guint64 ns;
    const char *text;
  } times[] = {
    { 0, "0 ns" },
    { 999, "999 ns" },
    { 3250, "3.250 us" },
    { 999949, "999.9 us" },
    { 999950, "1.000 ms" },
    { G_GUINT64_CONSTANT (1500000000), "1.500 s" },
    { G_GUINT64_CONSTANT (59999999999), "1.000 min" },
    { G_GUINT64_CONSTANT (90000000000), "1.500 min" },
    { G_GUINT64_CONSTANT (5400000000000), "1.500 h" },
    { MAX64, "5124096 h" },
  };
  char buffer[GEMEM_FORMAT_MAX];
  guint64 bytes;

  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_assert_cmpstr (gemem_format_size (buffer, sizes[i].bytes), ==, sizes[i].people);
      g_assert_cmpstr (gemem_format_size_exact (buffer, sizes[i].bytes), ==, sizes[i].exact);
      g_assert_true (gemem_parse_size (buffer, 1, 0, &bytes, NULL));
      g_assert_cmpuint (bytes, ==, sizes[i].bytes);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (times); i++)
    g_assert_cmpstr (gemem_format_time (buffer, times[i].ns), ==, times[i].text);
}

static void
test_locale (void)
{
  char buffer[GEMEM_FORMAT_MAX];
  guint64 bytes;
  double d;

  if (!test_use_comma_locale ())
    return;
  g_assert_cmpstr (localeconv ()->decimal_point, ==, ",");
  g_assert_true (gemem_parse_size ("1.5gib", 1, 0, &bytes, NULL));
  g_assert_cmpuint (bytes, ==, G_GUINT64_CONSTANT (1610612736));
  g_assert_false (gemem_parse_size ("1,5GiB", 1, 0, &bytes, NULL));
  g_assert_true (gemem_parse_double ("0.5", &d, NULL) && d == 0.5);
  g_assert_false (gemem_parse_double ("0,5", &d, NULL));
  g_assert_cmpstr (gemem_format_size (buffer, 1536), ==, "1.500 KiB");
  g_assert_cmpstr (gemem_format_time (buffer, 3250), ==, "3.250 us");
  setlocale (LC_ALL, "C");
}

static void
test_exit_status (void)
{
  static const int status[] = { 1, 2, 3, 4, 5, 77, 130, 1 };
  g_autoptr (GError) foreign = g_error_new_literal (G_FILE_ERROR, G_FILE_ERROR_NOENT, "gone");

  g_assert_cmpint (gemem_error_exit_status (NULL), ==, 0);
  g_assert_cmpint (gemem_error_exit_status (foreign), ==, 1);
  for (int code = GEMEM_ERROR_FAILED; code <= GEMEM_ERROR_INVARIANT; code++)
    {
      g_autoptr (GError) error = g_error_new_literal (GEMEM_ERROR, code, "x");
      g_assert_cmpint (gemem_error_exit_status (error), ==, status[code]);
    }
  g_autoptr (GError) beyond = g_error_new_literal (GEMEM_ERROR, 99, "x");
  g_assert_cmpint (gemem_error_exit_status (beyond), ==, 1);
}

static void
test_errno (void)
{
  g_autoptr (GError) error = NULL;

  gemem_error_set_errno (&error, ENOSPC, "out.gmt", "free some space");
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  g_assert_cmpstr (error->message, ==, "out.gmt: No space left on device; free some space");
  g_clear_error (&error);
  gemem_error_set_errno (&error, ENOENT, "in.gmt", NULL);
  g_assert_cmpstr (error->message, ==, "in.gmt: No such file or directory");
  gemem_error_set_errno (NULL, ENOENT, "in.gmt", NULL);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/units/sizes", test_sizes);
  g_test_add_func ("/units/sizes/bad", test_sizes_bad);
  g_test_add_func ("/units/times", test_times);
  g_test_add_func ("/units/forgotten-units", test_forgotten_units);
  g_test_add_func ("/units/integers", test_integers);
  g_test_add_func ("/units/digits", test_digits);
  g_test_add_func ("/units/doubles", test_doubles);
  g_test_add_func ("/units/format", test_format);
  g_test_add_func ("/units/locale", test_locale);
  g_test_add_func ("/error/exit-status", test_exit_status);
  g_test_add_func ("/error/errno", test_errno);
  return g_test_run ();
}

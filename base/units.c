/* units.c - exact parsing and printing of sizes, times and numbers (units.h).
 *
 * How decimals stay exact: "1.1GiB" is 1 * 2^30 plus the fraction ".1" times 2^30.  The fraction is
 * multiplied digit by digit, from its last digit to its first, with a carry: the final carry is the
 * integer part of the product, and the product is an integer if and only if every remaining digit
 * is zero.  So a fraction of any length is rounded down exactly, without big numbers and without a
 * double.  Only ASCII is recognised, whatever the locale.
 *
 * Cost: linear in the length of the text; nothing is allocated unless there is an error to report.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"

#define SIZE_UNITS \
  "B, KiB, MiB, GiB, TiB, PiB, EiB (K, M, G, T, P, E for short) or kB, MB, GB, TB, PB, EB"
#define TIME_UNITS "ns, us, ms, s, min or h"

typedef unsigned __int128 Wide;

typedef struct
{
  const char *name; /* compared without regard to case */
  guint64 factor;
} Unit;

#define KB G_GUINT64_CONSTANT (1000)
#define SECOND (KB * KB * KB)

static const Unit size_units[] = {
  { "B", 1 },
  { "KiB", GEMEM_KIB },
  { "MiB", GEMEM_MIB },
  { "GiB", GEMEM_GIB },
  { "TiB", GEMEM_GIB << 10 },
  { "PiB", GEMEM_GIB << 20 },
  { "EiB", GEMEM_GIB << 30 },
  { "K", GEMEM_KIB },
  { "M", GEMEM_MIB },
  { "G", GEMEM_GIB },
  { "T", GEMEM_GIB << 10 },
  { "P", GEMEM_GIB << 20 },
  { "E", GEMEM_GIB << 30 },
  { "kB", KB },
  { "MB", KB *KB },
  { "GB", KB *KB *KB },
  { "TB", KB *KB *KB *KB },
  { "PB", KB *KB *KB *KB *KB },
  { "EB", KB *KB *KB *KB *KB *KB },
  { NULL, 0 },
};

static const Unit time_units[] = {
  { "ns", 1 },     { "us", KB },           { "ms", KB *KB },
  { "s", SECOND }, { "min", 60 * SECOND }, { "h", 3600 * SECOND },
  { NULL, 0 },
};

/* A number as written: the digits of its integer part as a value, its fraction as text. */
typedef struct
{
  guint64 integer;
  gboolean overflow;     /* the integer part alone exceeds 64 bits */
  const char *fraction;  /* first character after the point */
  gsize fraction_length; /* in characters, underscores included */
  const char *end;       /* first character after the number */
} Number;

static gboolean
fail (GError **error, const char *text, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "'%s': %s", text, what);
  return FALSE;
}

/* The end of a run of digits with single underscores between them; @text itself if it does not
 * start with a digit. */
static const char *
digits_end (const char *text, gboolean hexadecimal)
{
  const char *p = text;
  while (hexadecimal ? g_ascii_isxdigit (*p) : g_ascii_isdigit (*p))
    {
      p++;
      if (*p == '_' && (hexadecimal ? g_ascii_isxdigit (p[1]) : g_ascii_isdigit (p[1])))
        p++;
    }
  return p;
}

static gboolean
scan_number (const char *text, Number *number)
{
  gboolean hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  guint base = hexadecimal ? 16 : 10;
  const char *start = hexadecimal ? text + 2 : text;

  memset (number, 0, sizeof *number);
  number->end = digits_end (start, hexadecimal);
  for (const char *p = start; p < number->end; p++)
    if (*p != '_')
      {
        Wide value = (Wide) number->integer * base + (guint) g_ascii_xdigit_value (*p);
        number->overflow |= value > G_MAXUINT64;
        number->integer = (guint64) value;
      }
  if (!hexadecimal && *number->end == '.')
    {
      number->fraction = number->end + 1;
      const char *end = digits_end (number->fraction, FALSE);
      number->fraction_length = (gsize) (end - number->fraction);
      if (end == number->fraction)
        return FALSE;
      number->end = end;
      return TRUE; /* ".5" is a number */
    }
  return number->end > start;
}

/* @number * @factor, rounded down; *exact tells whether nothing was lost.  No overflow: both
 * factors are below 2^64. */
static Wide
number_scale (const Number *number, guint64 factor, gboolean *exact)
{
  Wide carry = 0;

  *exact = TRUE;
  for (gsize i = number->fraction_length; i-- > 0;)
    if (number->fraction[i] != '_')
      {
        carry += (Wide) (guint) g_ascii_digit_value (number->fraction[i]) * factor;
        *exact &= carry % 10 == 0;
        carry /= 10;
      }
  return (Wide) number->integer * factor + carry;
}

static guint64
unit_factor (const Unit *units, const char *name)
{
  for (const Unit *unit = units; unit->name != NULL; unit++)
    if (g_ascii_strcasecmp (unit->name, name) == 0)
      return unit->factor;
  return 0;
}

/* The common part of parsing sizes and times: scales @number by @factor, the value of its unit.
 * @round_down: a part of a byte is left out, but never all that was asked for. */
static gboolean
scaled_value (const char *text, const Number *number, guint64 factor, gboolean round_down,
              const char *smallest, guint64 *result, GError **error)
{
  gboolean exact;
  Wide value = number_scale (number, factor, &exact);

  if (number->overflow || value > G_MAXUINT64)
    return fail (error, text, "too large for 64 bits; use a smaller number");
  if (!exact && round_down && value == 0)
    return fail (error, text, "less than a byte; use a larger number");
  if (!exact && !round_down)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "'%s': not a whole number of %s; use a smaller unit", text, smallest);
      return FALSE;
    }
  *result = (guint64) value;
  return TRUE;
}

/* FALSE for a fraction without a unit.  A bare number counts in units of @factor, and the systems
 * whose settings do so read whole numbers.  @likely: the unit that is probably meant where that
 * is 1. */
static gboolean
check_bare (const char *text, const Number *number, const Unit *units, guint64 factor,
            const char *likely, GError **error)
{
  const char *name = likely;

  if (number->fraction == NULL)
    return TRUE;
  for (const Unit *unit = units; factor > 1 && unit->name != NULL; unit++)
    if (unit->factor == factor)
      {
        name = unit->name;
        break;
      }
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "'%s': a fraction needs a unit; write %s%s, or a whole number", text, text, name);
  return FALSE;
}

static gboolean
percent_value (const char *text, const Number *number, guint64 whole, guint64 *result,
               GError **error)
{
  gboolean exact;

  if (whole == 0)
    return fail (error, text,
                 "a percentage has no whole to be a part of here; give a size in bytes");
  Wide value = number_scale (number, whole, &exact) / 100;
  if (number->overflow || value > G_MAXUINT64)
    return fail (error, text, "too large for 64 bits; use a smaller number");
  *result = (guint64) value;
  return TRUE;
}

static gboolean
starts_as_number (const char *text, const char *known, GError **error)
{
  if (*text == '\0')
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "'': empty; write a number and one of %s",
                 known);
  else if (*text == '-')
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "'%s': negative; use a number from 0 on",
                 text);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "'%s': not a number; write digits and one of %s", text, known);
  return FALSE;
}

static const char *
skip_spaces (const char *text)
{
  while (*text == ' ')
    text++;
  return text;
}

gboolean
gemem_parse_size (const char *text, guint64 default_unit, guint64 whole, guint64 *bytes,
                  GError **error)
{
  Number number;
  guint64 factor = default_unit;

  if (g_ascii_strcasecmp (text, "unlimited") == 0 || g_ascii_strcasecmp (text, "none") == 0)
    {
      *bytes = GEMEM_UNLIMITED;
      return TRUE;
    }
  if (!scan_number (text, &number))
    return starts_as_number (text, SIZE_UNITS, error);

  const char *unit = skip_spaces (number.end);
  if (strcmp (unit, "%") == 0)
    return percent_value (text, &number, whole, bytes, error);
  if (*unit != '\0')
    factor = unit_factor (size_units, unit);
  else if (!check_bare (text, &number, size_units, factor, "GiB", error))
    return FALSE;
  if (factor == 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "'%s': unknown unit '%s'; use " SIZE_UNITS, text, unit);
      return FALSE;
    }
  return scaled_value (text, &number, factor, factor > 1, "bytes", bytes, error);
}

gboolean
gemem_check_unit (const char *text, GError **error)
{
  Number number;

  if (!scan_number (text, &number) || *number.end != '\0' || number.fraction != NULL
      || number.overflow || number.integer == 0 || number.integer >= GEMEM_BARE_MIN)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: %" G_GUINT64_FORMAT " byte%s? write %" G_GUINT64_FORMAT
               "%s, or %" G_GUINT64_FORMAT "B if so few are meant",
               text, number.integer, gemem_plural (number.integer), number.integer,
               number.integer < 1024 ? "GiB" : "MiB", number.integer);
  return FALSE;
}

gboolean
gemem_parse_time (const char *text, guint64 default_unit, guint64 *ns, GError **error)
{
  Number number;
  guint64 factor = default_unit;

  if (!scan_number (text, &number))
    return starts_as_number (text, TIME_UNITS, error);
  const char *unit = skip_spaces (number.end);
  if (*unit != '\0')
    factor = unit_factor (time_units, unit);
  if (factor == 0 && *unit == '\0')
    return fail (error, text, "a time needs a unit; use " TIME_UNITS);
  if (*unit == '\0' && !check_bare (text, &number, time_units, factor, "ms", error))
    return FALSE;
  if (factor == 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "'%s': unknown unit '%s'; use " TIME_UNITS, text, unit);
      return FALSE;
    }
  return scaled_value (text, &number, factor, FALSE, "nanoseconds", ns, error);
}

gboolean
gemem_parse_uint (const char *text, guint64 *value, GError **error)
{
  Number number;

  if (*text == '-')
    return fail (error, text, "negative; use a whole number from 0 on");
  if (!scan_number (text, &number) || *number.end != '\0' || number.fraction != NULL)
    return fail (error, text,
                 "not a whole number; write decimal digits, or 0x and hexadecimal digits");
  if (number.overflow)
    return fail (error, text, "too large for 64 bits; use at most 18446744073709551615");
  *value = number.integer;
  return TRUE;
}

gboolean
gemem_parse_int (const char *text, gint64 *value, GError **error)
{
  Number number;
  gboolean negative = *text == '-';
  guint64 limit = (guint64) G_MAXINT64 + (negative ? 1 : 0);

  if (!scan_number (text + (negative || *text == '+' ? 1 : 0), &number) || *number.end != '\0'
      || number.fraction != NULL)
    return fail (error, text,
                 "not a whole number; write decimal digits, or 0x and hexadecimal digits");
  if (number.overflow || number.integer > limit)
    return fail (error, text,
                 "too large for 64 bits; use -9223372036854775808 to 9223372036854775807");
  *value = (gint64) (negative ? 0 - number.integer : number.integer);
  return TRUE;
}

gboolean
gemem_parse_digits (const char *text, guint base, guint64 least, guint64 most, guint64 *value)
{
  guint64 number = 0;

  if (*text == '\0')
    return FALSE;
  for (; *text != '\0'; text++)
    {
      const int digit = g_ascii_xdigit_value (*text);
      if (digit < 0 || (guint) digit >= base || number > (most - MIN ((guint) digit, most)) / base)
        return FALSE;
      number = number * base + (guint) digit;
    }
  if (number < least || number > most)
    return FALSE;
  *value = number;
  return TRUE;
}

gboolean
gemem_parse_double (const char *text, double *value, GError **error)
{
  const char *digits = text + (*text == '-' || *text == '+' ? 1 : 0);
  char *end = NULL;

  /* A number starts with a digit or point: no spaces, no "inf", no "nan", no hexadecimal. */
  if (!(g_ascii_isdigit (digits[0]) || (digits[0] == '.' && g_ascii_isdigit (digits[1])))
      || digits[1] == 'x' || digits[1] == 'X')
    return fail (error, text, "not a number; write it like 0.5 or 1e-3");
  double result = g_ascii_strtod (text, &end);
  if (*end != '\0')
    return fail (error, text, "not a number; write it like 0.5 or 1e-3");
  if (!isfinite (result))
    return fail (error, text, "too large for a number in double precision; use a smaller one");
  *value = result;
  return TRUE;
}

/* Prints @value / @unit to four significant digits, rounded half up, or as it is when @unit is 1.
 * FALSE if the rounded number reaches @limit, the number of units in the next unit; the caller then
 * uses the next unit. */
static gboolean
format_scaled (char *buffer, guint64 value, guint64 unit, guint64 limit, const char *name)
{
  if (unit == 1)
    {
      g_snprintf (buffer, GEMEM_FORMAT_MAX, "%" G_GUINT64_FORMAT " %s", value, name);
      return TRUE;
    }
  guint64 scale = 1000;
  int decimals = 3;
  for (guint64 whole = value / unit; whole >= 10 && scale > 1; whole /= 10)
    {
      scale /= 10;
      decimals--;
    }
  guint64 scaled = (guint64) (((Wide) value * scale * 2 + unit) / ((Wide) unit * 2));
  if (scaled >= 10000 && scale > 1) /* 9.9996 rounds to five digits: drop one */
    {
      scaled = (scaled + 5) / 10;
      scale /= 10;
      decimals--;
    }
  if (limit != 0 && scaled >= limit * scale)
    return FALSE;
  if (decimals == 0)
    g_snprintf (buffer, GEMEM_FORMAT_MAX, "%" G_GUINT64_FORMAT " %s", scaled, name);
  else
    g_snprintf (buffer, GEMEM_FORMAT_MAX, "%" G_GUINT64_FORMAT ".%0*" G_GUINT64_FORMAT " %s",
                scaled / scale, decimals, scaled % scale, name);
  return TRUE;
}

char *
gemem_format_size (char *buffer, guint64 bytes)
{
  static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

  if (bytes == GEMEM_UNLIMITED)
    {
      g_strlcpy (buffer, "unlimited", GEMEM_FORMAT_MAX);
      return buffer;
    }
  guint i = bytes < 1024 ? 0 : (g_bit_storage (bytes) - 1) / 10;
  while (!format_scaled (buffer, bytes, G_GUINT64_CONSTANT (1) << (10 * i),
                         i + 1 < G_N_ELEMENTS (names) ? 1024 : 0, names[i]))
    i++;
  return buffer;
}

char *
gemem_format_change (char *buffer, guint64 before, guint64 after)
{
  buffer[0] = after > before ? '+' : '-';
  gemem_format_size (buffer + (before != after), MAX (before, after) - MIN (before, after));
  return buffer;
}

char *
gemem_format_time (char *buffer, guint64 ns)
{
  static const struct
  {
    const char *name;
    guint64 unit, limit; /* limit: number of units in the next unit */
  } steps[] = {
    { "ns", 1, 1000 },   { "us", KB, 1000 },         { "ms", KB * KB, 1000 },
    { "s", SECOND, 60 }, { "min", 60 * SECOND, 60 }, { "h", 3600 * SECOND, 0 },
  };
  guint i = 0;

  while (steps[i].limit != 0 && ns / steps[i].unit >= steps[i].limit)
    i++;
  while (!format_scaled (buffer, ns, steps[i].unit, steps[i].limit, steps[i].name))
    i++;
  return buffer;
}

char *
gemem_format_size_exact (char *buffer, guint64 bytes)
{
  static const char *const names[] = { "", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
  guint i = 0;

  if (bytes == GEMEM_UNLIMITED)
    {
      g_strlcpy (buffer, "unlimited", GEMEM_FORMAT_MAX);
      return buffer;
    }
  for (; bytes != 0 && bytes % 1024 == 0; bytes /= 1024)
    i++;
  g_snprintf (buffer, GEMEM_FORMAT_MAX, "%" G_GUINT64_FORMAT "%s", bytes, names[i]);
  return buffer;
}

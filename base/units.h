/* units.h - exact parsing and printing of sizes, times and numbers with units.
 *
 * Why not g_ascii_strtod: "1.1GiB" must be the same number of bytes on every machine, so decimals
 * are scaled in 128-bit integers, never in a double.
 *
 * Sizes: B, kB/MB/GB/TB/PB (powers of 1000), KiB/MiB/GiB/TiB/PiB and the short
 * K/M/G/T/P (powers of 1024), "N%" of a whole, "unlimited"/"none" (GEMEM_UNLIMITED).
 * Times: ns, us, ms, s, min, h.  Case-insensitive except that a bare "b" is bytes.
 * Underscores between digits and 0x-hexadecimal integers are accepted.
 * A fraction needs a unit.  A size with a fraction and a unit is rounded down to a byte ("39.4GiB",
 * as a tool printed it); a time must be a whole number of ns.  Overflow is an error, and so is a
 * size above 0 that would be rounded down to 0.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

#define GEMEM_UNLIMITED G_MAXUINT64

#define GEMEM_KIB (G_GUINT64_CONSTANT (1) << 10)
#define GEMEM_MIB (G_GUINT64_CONSTANT (1) << 20)
#define GEMEM_GIB (G_GUINT64_CONSTANT (1) << 30)

/* @value rounded up to a multiple of @alignment, a power of two.  The caller ensures that the
 * result fits into 64 bits. */
static inline guint64
gemem_align_up (guint64 value, guint64 alignment)
{
  return (value + alignment - 1) & ~(alignment - 1);
}

/* @value rounded up to a multiple of @unit, any number above 0.  The caller ensures that the result
 * fits into 64 bits. */
static inline guint64
gemem_round_up (guint64 value, guint64 unit)
{
  const guint64 rest = value % unit;

  return rest == 0 ? value : value + (unit - rest);
}

/* The greatest common divisor; that of a number and 0 is the number. */
static inline guint64
gemem_common_divisor (guint64 a, guint64 b)
{
  while (b != 0)
    {
      const guint64 rest = a % b;

      a = b;
      b = rest;
    }
  return a;
}

/* What the name of a thing gets behind a count: "1 event", "2 events". */
static inline const char *
gemem_plural (guint64 n)
{
  return n == 1 ? "" : "s";
}

/* Parses a size into bytes.
 * @default_unit: multiplier for a number without a unit (1, or GEMEM_MIB for *_mb settings)
 * @whole: the bytes that "%" refers to (rounded down); 0 refuses "%"
 * Errors: GEMEM_ERROR_USAGE with the text and, for an unknown unit, the known ones. */
gboolean gemem_parse_size (const char *text, guint64 default_unit, guint64 whole, guint64 *bytes,
                           GError **error);

/* A bare number of bytes below this is hardly an amount of memory. */
#define GEMEM_BARE_MIN 4096

/* For amounts of memory: FALSE, with a GEMEM_ERROR_USAGE that asks for a unit ("16: 16 bytes? write
 * 16GiB, ..."), if @text is a number without a unit from 1 to GEMEM_BARE_MIN - 1.  Other texts,
 * even invalid ones, are left to gemem_parse_size(). */
gboolean gemem_check_unit (const char *text, GError **error);

/* Parses a duration into nanoseconds; @default_unit in ns for a bare number (0: a unit is
 * required). */
gboolean gemem_parse_time (const char *text, guint64 default_unit, guint64 *ns, GError **error);

/* Whole text as an integer (decimal or 0x) / a finite real in the C locale. */
gboolean gemem_parse_uint (const char *text, guint64 *value, GError **error);
gboolean gemem_parse_int (const char *text, gint64 *value, GError **error);
gboolean gemem_parse_double (const char *text, double *value, GError **error);

/* Whole text as a number of digits alone (no sign, blank, "0x" or "_") in @base (10 or 16), from @least to @most; FALSE
 * leaves *value.  GLib 2.74 (Debian 12) has such a function; where two threads make a process's first call of it, it may
 * refuse a number to one of them, as the wait for the other leaves an errno that it takes for an error. */
gboolean gemem_parse_digits (const char *text, guint base, guint64 least, guint64 most,
                             guint64 *value);

#define GEMEM_FORMAT_MAX 32

/* For display: four significant digits and a binary unit, "1.500 GiB", "512 B"; locale-free.
 * @buffer of GEMEM_FORMAT_MAX bytes; returns @buffer. */
char *gemem_format_size (char *buffer, guint64 bytes);
/* The change from @before to @after in such a form: "+1.500 GiB", "-512 B", "0 B"; a byte more in @buffer. */
char *gemem_format_change (char *buffer, guint64 before, guint64 after);
char *gemem_format_time (char *buffer, guint64 ns); /* "3.250 us" */
/* For files: exact and parseable, "20MiB", "1000", "unlimited". */
char *gemem_format_size_exact (char *buffer, guint64 bytes);

GEMEM_END_DECLS

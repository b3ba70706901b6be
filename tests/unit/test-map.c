/* test-map.c - the segment map as text and as SVG, byte for byte; many segments, odd spans, no
 * segments. */
#include "config.h"

#include <locale.h>
#include <string.h>

#include "base/units.h"
#include "sim/plots/map.h"
#include "sim/plots/plots.h"
#include "sim/report/report.h"
#include "tests/util/sample-result.h"
#include "tests/util/testutil.h"

static char *
text_of (const GememResult *result, guint width)
{
  GString *out = g_string_new (NULL);
  gemem_map_text (out, result, width);
  return g_string_free (out, FALSE);
}

static char *
svg_of (const GememResult *result)
{
  GString *out = g_string_new (NULL);
  gemem_map_svg (out, result);
  return g_string_free (out, FALSE);
}

static guint
count (const char *text, const char *part)
{
  guint n = 0;
  for (const char *at = strstr (text, part); at != NULL; at = strstr (at + 1, part))
    n++;
  return n;
}

static void
add_span (GememResult *result, guint64 segment, guint64 segment_size, guint64 offset, guint64 size,
          GememSpanState state)
{
  const GememMapSpan span = {
    .span = { segment + offset, size, segment, segment_size, 0, 0, state, 0 },
    .requested = state == GEMEM_SPAN_LIVE ? size : 0,
    .cause = state == GEMEM_SPAN_FREE ? GEMEM_IDLE_PINNED : GEMEM_IDLE_CAUSES,
  };
  g_array_append_val (result->map, span);
}

static GememResult *
empty_map (void)
{
  GememResult *result = test_sample_result ("/tmp/x.gmt", "a<b>&\"c\"");
  g_array_set_size (result->map, 0);
  return result;
}

/* ---- text */

static void
test_text (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_autofree char *text = text_of (result, 80), *unlimited = text_of (result, 0);
  g_assert_cmpstr (
      text, ==,
      "x.gmt through direct: memory at the reserved peak, after event 5\n"
      "  72.00 KiB reserved in 2 segments, 44.4 % live\n"
      "\n"
      "  address               size     live  pages\n"
      "  0x000000010000   64.00 KiB   50.0 %  |################................|\n"
      "  0x000000040000   8.000 KiB    0.0 %  |ppxx|\n"
      "  one character is 2KiB: # live, 1-9 tenths live, . free,\n"
      "  p freed but in use by a stream, x overhead, blank unmapped\n"
      "\n"
      "  largest free parts    size  why\n"
      "  0x000000018000   32.00 KiB  free rest of the segment of block 0 (32.00 KiB)\n");
  test_assert_contains (unlimited,
                        "  |################################................................|\n");
  test_assert_contains (unlimited, "  one character is 1KiB: ");
  gemem_result_free (result);
}

/* A partly live page shows its tenths; live memory is never shown as free, and a page with a gap
 * never as full. */
static void
test_text_tenths (void)
{
  GememResult *result = empty_map ();
  guint64 at = 0;
  for (guint tenths = 0; tenths <= 10; tenths++)
    {
      guint64 live = tenths == 0 ? 1 : 512 * tenths / 10;
      add_span (result, 4096, 11 * 512, at, live, GEMEM_SPAN_LIVE);
      if (live < 512)
        add_span (result, 4096, 11 * 512, at + live, 512 - live, GEMEM_SPAN_FREE);
      at += 512;
    }
  g_autofree char *text = text_of (result, 200);
  /* of 512: 1, 51, 102, 153, 204, 256, 307, 358, 409, 460, 512 bytes */
  test_assert_contains (text, "|1112355678#|\n");
  test_assert_contains (text, "one character is 512: ");
  gemem_result_free (result);
}

/* Addresses without memory are blank inside and cut off at the end; shares count memory only. */
static void
test_text_unmapped (void)
{
  GememResult *result = empty_map ();
  add_span (result, 0x100000, GEMEM_GIB * 64, 0, 0x8000, GEMEM_SPAN_LIVE);
  add_span (result, 0x100000, GEMEM_GIB * 64, 0x8000, 0x10000, GEMEM_SPAN_UNMAPPED);
  add_span (result, 0x100000, GEMEM_GIB * 64, 0x18000, 0x8000, GEMEM_SPAN_FREE);
  add_span (result, 0x100000, GEMEM_GIB * 64, 0x20000, GEMEM_GIB * 64 - 0x20000,
            GEMEM_SPAN_UNMAPPED);
  g_autofree char *text = text_of (result, 76);
  test_assert_contains (text, "  64.00 KiB reserved in 1 segment, 50.0 % live\n");
  test_assert_contains (
      text, "  0x000000100000   64.00 KiB   50.0 %  |########                ........|\n");
  test_assert_contains (text, "one character is 4KiB: ");
  gemem_result_free (result);
}

/* More than 40: the largest are shown, in the order of addresses, and the others counted. */
static void
test_text_many (void)
{
  GememResult *result = empty_map ();
  for (guint64 i = 0; i < 100; i++)
    {
      const guint64 size = i % 2 == 0 ? GEMEM_MIB : 2 * GEMEM_MIB;
      add_span (result, i << 32, size, 0, GEMEM_MIB, GEMEM_SPAN_LIVE);
      if (i % 2 == 1)
        add_span (result, i << 32, size, GEMEM_MIB, GEMEM_MIB, GEMEM_SPAN_FREE);
    }
  g_autofree char *text = text_of (result, 100);
  g_assert_cmpuint (count (text, " %  |"), ==, 40);
  test_assert_contains (text, "  150.0 MiB reserved in 100 segments, 66.6 % live\n");
  /* 10 of 2 MiB, 50 of 1 MiB */
  test_assert_contains (text, "  ... and 60 smaller segments left out: 70.00 MiB, 85.7 % live\n");
  test_assert_contains (text, "\n  0x000100000000   2.000 MiB   50.0 %  |");
  test_assert_contains (text, "\n  0x004f00000000   2.000 MiB");
  g_assert_null (strstr (text, "0x005100000000"));
  gemem_result_free (result);
}

/* The largest blocks whose origins are known, by size, then by address. */
static void
test_origins (void)
{
  GememResult *result = empty_map ();
  g_autofree char *none = text_of (result, 80);
  for (guint64 i = 0; i < 14; i++)
    {
      add_span (result, 0x100000, 14 * GEMEM_MIB, i * GEMEM_MIB, GEMEM_MIB / (1 + i % 2),
                GEMEM_SPAN_LIVE);
      if (i % 2 == 1)
        add_span (result, 0x100000, 14 * GEMEM_MIB, i * GEMEM_MIB + GEMEM_MIB / 2, GEMEM_MIB / 2,
                  GEMEM_SPAN_FREE);
    }
  g_assert_null (strstr (none, "largest blocks"));
  for (guint i = 0; i < result->map->len; i++)
    {
      GememMapSpan *span = &g_array_index (result->map, GememMapSpan, i);
      if (span->span.state == GEMEM_SPAN_LIVE && i > 0)
        span->origin = (GememOrigin){ TRUE, i == 2, 100 + i, i == 3 ? "<a&b>.py:3 f" : NULL };
    }
  g_autofree char *text = text_of (result, 80), *svg = svg_of (result);
  test_assert_contains (text, "blank unmapped\n"
                              "\n  largest blocks        size  allocated at  by\n"
                              "  0x000000300000   1.000 MiB           103  <a&b>.py:3 f\n"
                              "  0x000000500000   1.000 MiB           106  unknown\n");
  /* six of 1 MiB, the first being unknown, and four of 512 KiB */
  test_assert_contains (text, "  0x000000200000   512.0 KiB           101  unknown\n"
                              "  0x000000400000   512.0 KiB           104  unknown\n"
                              "  0x000000600000   512.0 KiB           107  unknown\n"
                              "  0x000000800000   512.0 KiB           110  unknown\n\n");
  test_assert_contains (svg, "<title>0x100000: 1.000 MiB live, 1.000 MiB asked for</title>");
  test_assert_contains (
      svg, "1.000 MiB asked for, allocated at event 103 by &#60;a&#38;b&#62;.py:3 f</title>");
  gemem_result_free (result);
}

/* Why the largest free parts are free: in words of `info --idle`, with what keeps them. */
static void
test_causes (void)
{
  GememResult *result = empty_map ();
  GememMapSpan *spans;

  for (guint64 i = 1; i <= 7; i++)
    {
      add_span (result, i << 24, 8 * GEMEM_MIB, 0, i * GEMEM_MIB, GEMEM_SPAN_FREE);
      add_span (result, i << 24, 8 * GEMEM_MIB, i * GEMEM_MIB, (8 - i) * GEMEM_MIB,
                GEMEM_SPAN_LIVE);
    }
  spans = (GememMapSpan *) (gpointer) result->map->data;
  spans[12].cause = GEMEM_IDLE_RETURNABLE;
  spans[10].cause = GEMEM_IDLE_STREAMS;
  spans[10].span.stream = 7;
  spans[8].cause = GEMEM_IDLE_POOLS;
  spans[8].span.pool = 3;
  spans[8].span.flags = GEMEM_SPAN_POOL_RELEASED;
  spans[7].origin = (GememOrigin){ TRUE, FALSE, 5, "<a&b>.py:3 f" };
  spans[7].id = 9;
  g_autofree char *text = text_of (result, 80), *svg = svg_of (result);
  g_assert_true (g_str_has_suffix (
      text,
      "\n  largest free parts    size  why\n"
      "  0x000007000000   7.000 MiB  free in 1 whole segment, returned by emptying the cache\n"
      "  0x000006000000   6.000 MiB  free in the cache of another stream, 0x7\n"
      "  0x000005000000   5.000 MiB  free in private pool 3 (released by the program)\n"
      "  0x000004000000   4.000 MiB  free rest of the segment of block 9 (4.000 MiB by "
      "<a&b>.py:3 f)\n"
      "  0x000003000000   3.000 MiB  free rest of the segment of block 0 (5.000 MiB)\n"));
  test_assert_contains (svg,
                        "<title>0x4000000: 4.000 MiB free (cached), free rest of the segment of "
                        "block 9 (4.000 MiB by &#60;a&#38;b&#62;.py:3 f)</title>");
  test_assert_contains (svg, ">in caches of other streams</text>");
  test_assert_contains (svg, "<text class=\"why\"");
  /* nothing is said where the allocator tells nothing */
  for (guint i = 0; i < result->map->len; i++)
    spans[i].cause = GEMEM_IDLE_ALLOCATOR;
  g_autofree char *silent = text_of (result, 80);
  g_assert_null (strstr (silent, "free parts"));
  gemem_result_free (result);
}

static void
test_empty (void)
{
  GememResult *result = empty_map ();
  g_autofree char *text = text_of (result, 80), *svg = svg_of (result);
  g_assert_true (g_str_has_suffix (text, ", after event 5\n  no segments\n"));
  g_assert_true (g_str_has_suffix (svg, "0 B in 0 segments, 0.0 % live</text>\n</svg>\n"));
  gemem_result_free (result);
}

/* Spans that no correct allocator reports (results can be read from files): no crash, and no
 * output outside of the picture. */
static void
test_odd_spans (void)
{
  static const guint64 values[] = {
    0, 1, 511, 4096, G_MAXUINT64 / 2, G_MAXUINT64 - 1, G_MAXUINT64
  };
  for (gsize a = 0; a < G_N_ELEMENTS (values); a++)
    for (gsize b = 0; b < G_N_ELEMENTS (values); b++)
      {
        GememResult *result = empty_map ();
        const GememMapSpan odd = {
          { values[a], values[b], values[b], values[a], 0, 0, GEMEM_SPAN_LIVE, 0 }, 0
        };
        add_span (result, 4096, 4096, 0, 4096, GEMEM_SPAN_FREE);
        g_array_append_val (result->map, odd);
        g_array_append_val (result->map, odd);
        g_autofree char *text = text_of (result, 60), *svg = svg_of (result);
        g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
        for (guint i = 4; lines[i] != NULL && g_str_has_prefix (lines[i], "  0x"); i++)
          g_assert_cmpuint (strlen (lines[i]), <=, 70);
        g_assert_true (g_str_has_suffix (svg, "</svg>\n"));
        gemem_result_free (result);
      }
}

/* ---- SVG */

static void
test_svg (void)
{
  GememResult *result = test_sample_result ("/tmp/x.gmt", "a<b>&\"c\"");
  g_autofree char *svg = svg_of (result), *again = svg_of (result);
  g_assert_cmpstr (svg, ==, again);
  g_assert_true (
      g_str_has_prefix (svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1220\" "
                             "height=\"192\" viewBox=\"0 0 1220 192\" role=\"img\">\n"
                             "<title>x.gmt, a&#60;b&#62;&#38;&#34;c&#34;: segment map</title>\n"));
  test_assert_contains (
      svg, "<text class=\"head\" x=\"150\" y=\"26\">x.gmt: a&#60;b&#62;&#38;&#34;c&#34;</text>\n");
  test_assert_contains (
      svg,
      ">Memory at the reserved peak, after event 5: 72.00 KiB in 2 segments, 44.4 % live</text>\n");
  test_assert_contains (svg,
                        "<rect class=\"live\" x=\"150.00\" y=\"96\" width=\"450.00\" "
                        "height=\"16\"><title>0x10000: 32.00 KiB live, 31.75 KiB asked "
                        "for</title></rect>\n"
                        "<rect class=\"free\" x=\"600.00\" y=\"96\" width=\"450.00\" "
                        "height=\"16\"><title>0x18000: 32.00 KiB free (cached), free rest of the "
                        "segment of block 0 (32.00 KiB)</title></rect>\n"
                        "<text class=\"why\" x=\"604.00\" y=\"108\">beside blocks in use</text>\n");
  test_assert_contains (
      svg, "<rect class=\"pending\" x=\"150.00\" y=\"117\" width=\"56.25\" "
           "height=\"16\"><title>0x40000: 4.000 KiB freed, in use by a "
           "stream, in 1 freed block that streams may still use</title></rect>\n"
           "<rect class=\"overhead\" x=\"206.25\" y=\"117\" width=\"56.25\" "
           "height=\"16\"><title>0x41000: 4.000 KiB overhead</title></rect>\n"
           "<rect class=\"segment\" x=\"150.00\" y=\"117\" width=\"112.50\" height=\"16\"/>\n");
  test_assert_contains (svg, "<text class=\"tick\" x=\"1050.00\" y=\"157\">64</text>\n<text "
                             "class=\"middle\" x=\"600\" y=\"178\">KiB from the "
                             "start of the segment</text>\n");
  test_assert_contains (svg, "<text class=\"address\" x=\"142\" y=\"129\">0x40000</text>\n");
  test_assert_contains (svg, "<text x=\"270.50\" y=\"129\">8.000 KiB, 0.0 % live</text>\n</svg>\n");
  gemem_result_free (result);
}

/* Pieces too narrow to be visible are drawn as one, so the picture does not grow with the number
 * of blocks. */
static void
test_svg_narrow (void)
{
  GememResult *result = empty_map ();
  for (guint64 i = 0; i < 100000; i++)
    add_span (result, 0, 100000 * 512, 512 * i, 512,
              i % 3 == 0 ? GEMEM_SPAN_FREE : GEMEM_SPAN_LIVE);
  g_autofree char *svg = svg_of (result);
  const guint pieces = count (svg, "<rect class=\"live\""),
              free = count (svg, "<rect class=\"free\"");
  g_assert_cmpuint (pieces, >, 900);
  g_assert_cmpuint (pieces, <=, 1801);
  g_assert_cmpuint (free, ==, 1); /* the legend: each piece is two thirds live */
  test_assert_contains (svg, "<title>0x0: 28.00 KiB live and other, 56 pieces</title>");
  gemem_result_free (result);
}

static void
test_svg_many (void)
{
  GememResult *result = empty_map ();
  for (guint64 i = 0; i < 100; i++)
    add_span (result, i << 32, GEMEM_MIB, 0, GEMEM_MIB, GEMEM_SPAN_LIVE);
  g_autofree char *svg = svg_of (result);
  g_assert_cmpuint (count (svg, "class=\"address\""), ==, 64);
  test_assert_contains (svg, ">36 smaller segments left out (36.00 MiB)</text>\n</svg>\n");
  gemem_result_free (result);
}

static void
test_locale (void)
{
  GememResult *result = test_sample_result ("x.gmt", "direct");
  g_autofree char *text = text_of (result, 80), *svg = svg_of (result);
  if (test_use_comma_locale ())
    {
      g_autofree char *comma_text = text_of (result, 80), *comma_svg = svg_of (result);
      setlocale (LC_ALL, "C");
      g_assert_cmpstr (comma_text, ==, text);
      g_assert_cmpstr (comma_svg, ==, svg);
    }
  gemem_result_free (result);
}

static void
test_permille (void)
{
  g_assert_cmpuint (gemem_map_permille (1, 3), ==, 333);
  g_assert_cmpuint (gemem_map_permille (0, 0), ==, 0);
  g_assert_cmpuint (gemem_map_permille (5, 3), ==, 1000);
  g_assert_cmpuint (gemem_map_permille (G_MAXUINT64 / 2, G_MAXUINT64), ==, 499);
  g_assert_cmpuint (gemem_map_permille (G_MAXUINT64, G_MAXUINT64), ==, 1000);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/map/text", test_text);
  g_test_add_func ("/map/text-tenths", test_text_tenths);
  g_test_add_func ("/map/text-unmapped", test_text_unmapped);
  g_test_add_func ("/map/text-many", test_text_many);
  g_test_add_func ("/map/origins", test_origins);
  g_test_add_func ("/map/causes", test_causes);
  g_test_add_func ("/map/empty", test_empty);
  g_test_add_func ("/map/odd-spans", test_odd_spans);
  g_test_add_func ("/map/svg", test_svg);
  g_test_add_func ("/map/svg-narrow", test_svg_narrow);
  g_test_add_func ("/map/svg-many", test_svg_many);
  g_test_add_func ("/map/locale", test_locale);
  g_test_add_func ("/map/permille", test_permille);
  return g_test_run ();
}

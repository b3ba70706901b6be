/* map-text.c - the segment map at the reserved peak for a terminal: a row per segment, a character
 * per page.
 *
 * A page is the smallest power of two for which the widest segment fits the line, so all rows have
 * one scale.  '#' is a page full of live blocks, a digit a page that is that many tenths full, '.'
 * cached free memory.  At most MAX_ROWS segments, the largest, are shown; the last line counts the
 * others.  The largest blocks follow where their origins are known, and the largest free parts with the
 * cause for which they lie idle.
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/plots/map.h"
#include "sim/plots/plots.h"
#include "sim/report/report.h"
#include "sim/report/rows.h"

#define MAX_ROWS 40
#define ROW_PREFIX 44 /* columns before the pages */
#define MIN_PAGES 16
#define MAX_BLOCKS GEMEM_NAMED_BLOCKS
#define MAX_FREE 5 /* parts in the list */

typedef struct
{
  guint64 bytes[GEMEM_SPAN_UNMAPPED + 1]; /* per state */
} MapPage;

/* The smallest power of two bytes of which @columns hold @extent. */
static guint64
page_size (guint64 extent, guint columns)
{
  guint64 page = 512;
  while (page < G_MAXUINT64 / 2
         && (extent + page - 1 < extent ? G_MAXUINT64 : extent + page - 1) / page > columns)
    page *= 2;
  return page;
}

static char
page_character (const MapPage *page, guint64 size)
{
  const guint64 live = page->bytes[GEMEM_SPAN_LIVE];
  if (live > 0)
    {
      const guint64 mapped = size - MIN (size, page->bytes[GEMEM_SPAN_UNMAPPED]);
      const guint tenths = gemem_map_permille (live, mapped) / 100;
      return live >= mapped ? '#' : (char) ('0' + MAX (tenths, 1));
    }
  if (page->bytes[GEMEM_SPAN_PENDING] > 0)
    return 'p';
  if (page->bytes[GEMEM_SPAN_FREE] >= page->bytes[GEMEM_SPAN_OVERHEAD]
      && page->bytes[GEMEM_SPAN_FREE] > 0)
    return '.';
  return page->bytes[GEMEM_SPAN_OVERHEAD] > 0 ? 'x' : ' ';
}

/* Adds bytes [@from, @to) of @state to the pages. */
static void
fill_pages (MapPage *pages, guint64 size, guint64 from, guint64 to, GememSpanState state)
{
  for (guint64 page = from / size; from < to; page++)
    {
      const guint64 end = (page + 1) * size > from ? MIN (to, (page + 1) * size) : to;
      pages[page].bytes[state] += end - from;
      from = end;
    }
}

static void
append_pages (GString *out, const GememResult *result, const GememMapSegment *segment, guint64 size)
{
  const guint n = (guint) (segment->extent / size + (segment->extent % size != 0));
  g_autofree MapPage *pages = g_new0 (MapPage, n + 1);
  for (guint i = segment->first; i < segment->first + segment->n; i++)
    {
      const GememSpan *span = &g_array_index (result->map, GememMapSpan, i).span;
      guint64 from, to;
      gemem_map_place (segment, span, &from, &to);
      fill_pages (pages, size, from, to, span->state);
    }
  for (guint i = 0; i < n; i++)
    g_string_append_c (out, page_character (&pages[i], i + 1 < n || segment->extent % size == 0
                                                           ? size
                                                           : segment->extent % size));
}

static void
append_segment (GString *out, const GememResult *result, const GememMapSegment *segment,
                guint64 size)
{
  char text[GEMEM_FORMAT_MAX];
  const guint live = gemem_map_permille (segment->live, segment->mapped);
  g_string_append_printf (out, "  0x%012" G_GINT64_MODIFIER "x  %10s  %3u.%u %%  |", segment->start,
                          gemem_format_size (text, segment->mapped), live / 10, live % 10);
  append_pages (out, result, segment, size);
  g_string_append (out, "|\n");
}

static void
append_legend (GString *out, guint64 size)
{
  char text[GEMEM_FORMAT_MAX];
  g_string_append_printf (out,
                          "  one character is %s: # live, 1-9 tenths live, . free,\n"
                          "  p freed but in use by a stream, x overhead, blank unmapped\n",
                          gemem_format_size_exact (text, size));
}

static int
compare_blocks (gconstpointer a, gconstpointer b)
{
  const GememMapSpan *left = *(const GememMapSpan *const *) a;
  const GememMapSpan *right = *(const GememMapSpan *const *) b;
  if (left->span.size != right->span.size)
    return left->span.size > right->span.size ? -1 : 1;
  return left->span.address < right->span.address ? -1 : left->span.address > right->span.address;
}

static void
append_blocks (GString *out, const GememResult *result)
{
  g_autoptr (GPtrArray) blocks = g_ptr_array_new ();
  for (guint i = 0; i < result->map->len; i++)
    {
      GememMapSpan *span = &g_array_index (result->map, GememMapSpan, i);
      if (span->origin.known)
        g_ptr_array_add (blocks, span);
    }
  if (blocks->len == 0)
    return;
  g_ptr_array_sort (blocks, compare_blocks);
  g_string_append (out, "\n  largest blocks        size" GEMEM_BLOCK_HEAD);
  for (guint i = 0; i < MIN (blocks->len, MAX_BLOCKS); i++)
    {
      const GememMapSpan *block = blocks->pdata[i];
      char size[GEMEM_FORMAT_MAX];
      g_string_append_printf (out, "  0x%012" G_GINT64_MODIFIER "x  %10s", block->span.address,
                              gemem_format_size (size, block->span.size));
      gemem_report_append_origin (out, &block->origin);
    }
}

/* The segment of @segments, all of them in the order of addresses, that has span @i of the map. */
static const GememMapSegment *
segment_of (const GArray *segments, guint i)
{
  guint low = 0, high = segments->len - 1;

  while (low < high)
    {
      const guint middle = low + (high - low + 1) / 2;
      if (g_array_index (segments, GememMapSegment, middle).first <= i)
        low = middle;
      else
        high = middle - 1;
    }
  return &g_array_index (segments, GememMapSegment, low);
}

/* Where the allocator tells why memory is free. */
static void
append_free (GString *out, const GememResult *result)
{
  const GememMapSpan *first = (const GememMapSpan *) (gconstpointer) result->map->data;
  g_autoptr (GPtrArray) parts = g_ptr_array_new ();
  GememMapView all;

  for (guint i = 0; i < result->map->len; i++)
    if (first[i].span.state == GEMEM_SPAN_FREE && first[i].cause != GEMEM_IDLE_ALLOCATOR)
      g_ptr_array_add (parts, &g_array_index (result->map, GememMapSpan, i));
  if (parts->len == 0)
    return;
  gemem_map_view_init (&all, result, 0);
  g_ptr_array_sort (parts, compare_blocks);
  g_string_append (out, "\n  largest free parts    size  why\n");
  for (guint i = 0; i < MIN (parts->len, MAX_FREE); i++)
    {
      const GememMapSpan *part = parts->pdata[i];
      g_autoptr (GString) line = g_string_new (NULL);
      char size[GEMEM_FORMAT_MAX];

      g_string_append_printf (line, "  0x%012" G_GINT64_MODIFIER "x  %10s  ", part->span.address,
                              gemem_format_size (size, part->span.size));
      gemem_map_append_cause (line, segment_of (all.segments, (guint) (part - first)), part);
      gemem_text_append_cut (out, line->str);
    }
  gemem_map_view_clear (&all);
}

void
gemem_map_text (GString *out, const GememResult *result, guint width)
{
  char text[2][GEMEM_FORMAT_MAX];
  GememMapView view;
  g_autofree char *group = gemem_report_group (result);
  gemem_map_view_init (&view, result, MAX_ROWS);
  g_string_append_printf (
      out, "%s%s through %s: memory at the reserved peak, after event %" G_GUINT64_FORMAT "\n",
      out->len > 0 ? "\n" : "", group, result->label, result->peak_reserved_seq);
  if (view.total == 0)
    g_string_append (out, "  no segments\n");
  else
    {
      const guint columns = width > ROW_PREFIX + MIN_PAGES ? width - ROW_PREFIX
                            : width == 0                   ? 64
                                                           : MIN_PAGES;
      const guint64 size = page_size (view.widest, columns);
      const guint live = gemem_map_permille (view.live, view.mapped);
      g_string_append_printf (out, "  %s reserved in %u segment%s, %u.%u %% live\n\n",
                              gemem_format_size (text[0], view.mapped), view.total,
                              gemem_plural (view.total), live / 10, live % 10);
      g_string_append (out, "  address               size     live  pages\n");
      for (guint i = 0; i < view.segments->len; i++)
        append_segment (out, result, &g_array_index (view.segments, GememMapSegment, i), size);
      if (view.total > view.segments->len)
        {
          const guint rest = gemem_map_permille (view.left_live, view.left_mapped);
          g_string_append_printf (
              out, "  ... and %u smaller segments left out: %s, %u.%u %% live\n",
              view.total - view.segments->len, gemem_format_size (text[1], view.left_mapped),
              rest / 10, rest % 10);
        }
      append_legend (out, size);
      append_blocks (out, result);
      append_free (out, result);
    }
  gemem_map_view_clear (&view);
}

/* map-svg.c - the segment map at the reserved peak as a picture: a bar per segment, on one scale,
 * coloured by state.
 *
 * Integers only (hundredths of a pixel), no dates, no generated ids, so that equal results give
 * equal bytes.  Every piece has a <title>, which browsers show under the mouse.  Pieces narrower
 * than half a pixel are merged with their neighbours into one, coloured by the state of most of its
 * bytes; its title says how many blocks it stands for.  A block that is wide enough is labelled with
 * the line of code that asked for it, where that is known, and a free part with the cause for which it
 * lies idle.  The colours are distinct for colour-blind
 * readers (Okabe and Ito), and differ in lightness. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "sim/plots/map.h"
#include "sim/plots/picture.h"
#include "sim/plots/plots.h"
#include "sim/plots/script.h"
#include "sim/report/notes.h"
#include "sim/report/report.h"
#include "sim/report/rows.h"

#define MAX_BARS 64
#define LEFT 150  /* px left of the bars, for addresses */
#define WIDTH 900 /* px of the widest bar */
#define RIGHT 170 /* px for size and percentage */
#define TOP 96
#define BAR 16
#define PITCH 21
#define MIN_PIECE 50 /* hundredths of a pixel */
#define MIN_NAMED 7000
#define CHARACTER 650 /* hundredths of a pixel: a letter of a name, rather too wide */

static const struct
{
  const char *name, *colour, *title;
} states[] = {
  [GEMEM_SPAN_LIVE] = { "live", "#0072b2", "live" },
  [GEMEM_SPAN_PENDING] = { "pending", "#cc79a7", "freed, in use by a stream" },
  [GEMEM_SPAN_FREE] = { "free", "#e3e3e3", "free (cached)" },
  [GEMEM_SPAN_OVERHEAD] = { "overhead", "#e69f00", "overhead" },
  [GEMEM_SPAN_UNMAPPED] = { "unmapped", "#ffffff", "unmapped" },
};

/* One rectangle: one span, or several spans that are too narrow. */
typedef struct
{
  guint64 from, to;
  guint64 bytes[G_N_ELEMENTS (states)];
  guint spans;
  const GememMapSpan *only; /* if spans == 1 */
} MapPiece;

/* Hundredths of a pixel as "12.34". */
static void
append_pixels (GString *out, const char *name, guint64 hundredths)
{
  g_string_append_printf (out, " %s=\"%" G_GUINT64_FORMAT ".%02" G_GUINT64_FORMAT "\"", name,
                          hundredths / 100, hundredths % 100);
}

static guint64
scale (guint64 bytes, guint64 widest)
{
  return widest > 0 ? (guint64) ((unsigned __int128) bytes * WIDTH * 100 / widest) : 0;
}

static void
append_piece_title (GString *out, const GememMapSegment *segment, const MapPiece *piece,
                    guint state)
{
  char size[2][GEMEM_FORMAT_MAX];
  g_string_append_printf (
      out, "<title>0x%" G_GINT64_MODIFIER "x: %s %s", segment->start + piece->from,
      gemem_format_size (size[0], piece->to - piece->from), states[state].title);
  if (piece->spans > 1)
    g_string_append_printf (out, " and other, %u pieces", piece->spans);
  else if (piece->only->span.state == GEMEM_SPAN_LIVE)
    {
      g_autoptr (GString) origin = g_string_new (NULL);
      g_string_append_printf (out, ", %s asked for",
                              gemem_format_size (size[1], piece->only->requested));
      gemem_origin_describe (origin, ", ", &piece->only->origin);
      gemem_svg_append_text (out, origin->str);
    }
  else
    {
      g_autoptr (GString) cause = g_string_new (", ");
      if (gemem_map_append_cause (cause, segment, piece->only))
        gemem_svg_append_text (out, cause->str);
    }
  g_string_append (out, "</title>");
}

/* What stands in @piece: the line of code that asked for the block, the cause of a free part; NULL:
 * neither is known. */
static const char *
name_of (const MapPiece *piece)
{
  const GememMapSpan *only = piece->spans == 1 ? piece->only : NULL;

  if (only != NULL && only->span.state == GEMEM_SPAN_FREE && only->cause != GEMEM_IDLE_CAUSES)
    return gemem_report_idle_brief (only->cause);
  return only != NULL ? only->origin.by : NULL;
}

/* As much of it as fits @width. */
static void
append_name (GString *out, const MapPiece *piece, guint64 x, guint64 width, guint row)
{
  const char *text = name_of (piece);

  if (text == NULL || width < MIN_NAMED)
    return;
  g_autofree char *name = gemem_plot_shorten (text, (guint) (width / CHARACTER));
  g_string_append_printf (out, "<text class=\"%s\"",
                          piece->only->span.state == GEMEM_SPAN_FREE ? "why" : "name");
  append_pixels (out, "x", x + 400);
  g_string_append_printf (out, " y=\"%u\">", TOP + row * PITCH + 12);
  gemem_svg_append_text (out, name);
  g_string_append (out, "</text>\n");
}

static void
append_piece (GString *out, const GememMapSegment *segment, const MapPiece *piece, guint64 widest,
              guint row)
{
  guint state = 0;
  const guint64 x = scale (piece->from, widest), end = scale (piece->to, widest);
  for (guint s = 1; s < G_N_ELEMENTS (states); s++)
    if (piece->bytes[s] > piece->bytes[state])
      state = s;
  if (piece->spans == 0 || state == GEMEM_SPAN_UNMAPPED)
    return;
  g_string_append_printf (out, "<rect class=\"%s\"", states[state].name);
  append_pixels (out, "x", LEFT * 100 + x);
  g_string_append_printf (out, " y=\"%u\"", TOP + row * PITCH);
  append_pixels (out, "width", MAX (end - x, MIN_PIECE));
  g_string_append_printf (out, " height=\"%u\">", BAR);
  append_piece_title (out, segment, piece, state);
  g_string_append (out, "</rect>\n");
  append_name (out, piece, LEFT * 100 + x, end - x, row);
}

static void
append_pieces (GString *out, const GememResult *result, const GememMapSegment *segment,
               guint64 widest, guint row)
{
  MapPiece piece = { 0 };
  for (guint i = segment->first; i < segment->first + segment->n; i++)
    {
      const GememMapSpan *span = &g_array_index (result->map, GememMapSpan, i);
      guint64 from, to;
      gemem_map_place (segment, &span->span, &from, &to);
      if (from == to)
        continue; /* addresses after the last memory */
      const gboolean narrow = scale (to, widest) - scale (from, widest) < MIN_PIECE;
      const gboolean open = scale (piece.to, widest) - scale (piece.from, widest) < MIN_PIECE;
      if (piece.spans > 0 && !(narrow && open))
        {
          append_piece (out, segment, &piece, widest, row);
          piece = (MapPiece){ 0 };
        }
      if (piece.spans++ == 0)
        piece.from = from;
      piece.to = to;
      piece.only = span;
      piece.bytes[span->span.state] += to - from;
    }
  append_piece (out, segment, &piece, widest, row);
}

static void
append_bar (GString *out, const GememResult *result, const GememMapSegment *segment, guint64 widest,
            guint row)
{
  char size[GEMEM_FORMAT_MAX];
  const guint y = TOP + row * PITCH, live = gemem_map_permille (segment->live, segment->mapped);
  const guint64 end = LEFT * 100 + scale (segment->extent, widest);
  g_string_append_printf (
      out, "<text class=\"address\" x=\"%u\" y=\"%u\">0x%" G_GINT64_MODIFIER "x</text>\n", LEFT - 8,
      y + 12, segment->start);
  append_pieces (out, result, segment, widest, row);
  g_string_append (out, "<rect class=\"segment\"");
  append_pixels (out, "x", LEFT * 100);
  g_string_append_printf (out, " y=\"%u\"", y);
  append_pixels (out, "width", MAX (end - LEFT * 100, 100));
  g_string_append_printf (out, " height=\"%u\"/>\n<text", BAR);
  append_pixels (out, "x", end + 800);
  g_string_append_printf (out, " y=\"%u\">%s, %u.%u %% live</text>\n", y + 12,
                          gemem_format_size (size, segment->mapped), live / 10, live % 10);
}

/* A power of two that divides @widest into three to seven steps. */
static guint64
tick_step (guint64 widest)
{
  guint64 step = 1;
  while (step < G_MAXUINT64 / 4 && widest / step > 6)
    step *= 2;
  return step;
}

static void
append_axis (GString *out, guint64 widest, guint bars)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
  const guint bottom = TOP + bars * PITCH;
  const guint64 step = tick_step (widest);
  guint unit = 0;
  while (unit + 1 < G_N_ELEMENTS (units) && step >> (10 * (unit + 1)) > 0)
    unit++;
  for (guint64 at = 0; at <= widest; at += step)
    {
      const guint64 x = LEFT * 100 + scale (at, widest);
      g_string_append (out, "<line class=\"tick\"");
      append_pixels (out, "x1", x);
      append_pixels (out, "x2", x);
      g_string_append_printf (out, " y1=\"%u\" y2=\"%u\"/>\n<text class=\"tick\"", TOP - 6,
                              bottom + 4);
      append_pixels (out, "x", x);
      g_string_append_printf (out, " y=\"%u\">%" G_GUINT64_FORMAT "</text>\n", bottom + 19,
                              at >> (10 * unit));
      if (at > G_MAXUINT64 - step)
        break;
    }
  g_string_append_printf (
      out, "<text class=\"middle\" x=\"%u\" y=\"%u\">%s from the start of the segment</text>\n",
      LEFT + WIDTH / 2, bottom + 40, units[unit]);
}

static void
append_legend (GString *out, const GememResult *result)
{
  gboolean used[G_N_ELEMENTS (states)] = { FALSE };
  guint x = LEFT;
  for (guint i = 0; i < result->map->len; i++)
    used[g_array_index (result->map, GememMapSpan, i).span.state] = TRUE;
  for (guint s = 0; s < GEMEM_SPAN_UNMAPPED; s++)
    if (used[s])
      {
        g_string_append_printf (out,
                                "<rect class=\"%s\" x=\"%u\" y=\"63\" width=\"14\" "
                                "height=\"14\"/><rect class=\"segment\" x=\"%u\" "
                                "y=\"63\" width=\"14\" height=\"14\"/>"
                                "<text x=\"%u\" y=\"75\">%s</text>\n",
                                states[s].name, x, x, x + 20, states[s].title);
        x += 50 + 8 * (guint) strlen (states[s].title);
      }
}

static void
append_head (GString *out, const GememResult *result, const GememMapView *view, guint height)
{
  char size[GEMEM_FORMAT_MAX];
  const guint live = gemem_map_permille (view->live, view->mapped);
  g_autofree char *group = gemem_report_title (result);
  const guint width = LEFT + WIDTH + RIGHT;
  g_string_append_printf (out,
                          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
                          "viewBox=\"0 0 %u %u\" role=\"img\">\n<title>",
                          width, height, width, height);
  gemem_svg_append_text (out, group);
  g_string_append (out, ", ");
  gemem_svg_append_text (out, result->label);
  g_string_append (
      out, ": segment map</title>\n<style>text{font:12px \"DejaVu "
           "Sans\",Verdana,sans-serif;fill:#222}.address{text-anchor:end;font-family:"
           "\"DejaVu Sans Mono\",monospace}"
           ".tick,.middle{text-anchor:middle}line.tick{stroke:#ddd}.head{font-size:"
           "17px;font-weight:bold}.segment{fill:none;stroke:#555}.name{font-size:11px;fill:#fff;"
           "pointer-events:none}.why{font-size:11px;fill:#555;pointer-events:none}");
  for (guint s = 0; s < G_N_ELEMENTS (states); s++)
    g_string_append_printf (out, ".%s{fill:%s}", states[s].name, states[s].colour);
  g_string_append_printf (out,
                          "</style>\n<rect width=\"%u\" height=\"%u\" fill=\"#fff\"/>\n<text "
                          "class=\"head\" x=\"%u\" y=\"26\">",
                          width, height, LEFT);
  gemem_svg_append_text (out, group);
  g_string_append (out, ": ");
  gemem_svg_append_text (out, result->label);
  g_string_append_printf (
      out,
      "</text>\n<text x=\"%u\" y=\"48\">Memory at the reserved peak, after event %" G_GUINT64_FORMAT
      ": %s in %u segment%s, %u.%u %% live</text>\n",
      LEFT, result->peak_reserved_seq, gemem_format_size (size, view->mapped), view->total,
      gemem_plural (view->total), live / 10, live % 10);
}

/* What is said below the axis: a text for each line, and NULL. */
static GStrv
notes_of (const GememResult *result, const GememMapView *view)
{
  const guint rest = view->total - view->segments->len;
  g_autoptr (GString) idle = g_string_new (NULL), text = g_string_new (NULL);
  char size[GEMEM_FORMAT_MAX];

  if (result->idle_known && result->idle->len > 0)
    {
      g_string_append (idle, "Idle: ");
      gemem_report_append_idle_causes (idle, result->idle);
      gemem_text_wrap_at (text, idle->str, "", GEMEM_TEXT_WIDTH);
    }
  if (rest > 0)
    g_string_append_printf (text, "%u smaller segments left out (%s)\n", rest,
                            gemem_format_size (size, view->left_mapped));
  if (text->len > 0)
    g_string_truncate (text, text->len - 1);
  return g_strsplit (text->str, "\n", -1);
}

void
gemem_map_svg (GString *out, const GememResult *result)
{
  g_auto (GStrv) notes = NULL;
  GememMapView view;
  gemem_map_view_init (&view, result, MAX_BARS);
  const guint bars = view.segments->len;
  notes = notes_of (result, &view);
  append_head (out, result, &view, TOP + bars * PITCH + 54 + 20 * g_strv_length (notes));
  if (bars > 0)
    {
      append_legend (out, result);
      append_axis (out, view.widest, bars);
      for (guint i = 0; i < bars; i++)
        append_bar (out, result, &g_array_index (view.segments, GememMapSegment, i), view.widest,
                    i);
    }
  for (guint i = 0; notes[i] != NULL; i++)
    {
      g_string_append_printf (out, "<text x=\"%u\" y=\"%u\">", LEFT,
                              TOP + bars * PITCH + 60 + 20 * i);
      gemem_svg_append_text (out, notes[i]);
      g_string_append (out, "</text>\n");
    }
  g_string_append (out, "</svg>\n");
  gemem_map_view_clear (&view);
}

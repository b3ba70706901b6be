/* plan-picture.c - a plan as a picture of fixed size.
 *
 * Rectangles thinner than a pixel in either direction are first painted into a raster of pixels,
 * and runs of equal pixels are drawn as one rectangle, so that a picture of many items stays small
 * and readable: at most one rectangle per pixel.  Outlines separate items: white ones where an item is
 * wide enough, two shades of each colour where it is thinner.  The colour says how much of the time an item
 * is alive.  For a paper there is no title, and all letters are of one size.  Integers only.  The colours
 * (viridis) are distinct for colour-blind readers and in grey. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/plots/plots-private.h"
#include "sim/plots/script.h"
#include "sim/report/plan-view.h"

#define WIDTH 1280 /* where no page is given */
#define WIDTH_MIN 320
#define UP 586 /* px of the field of rectangles; to its left and right, */
#define LEFT 110
#define RIGHT 170
#define SLIM 100  /* both, where the page is slim; */
#define HEAD 62   /* above it, with a title, */
#define LEGEND 19 /* for each line of the legend, */
#define GAP 19
#define FOOT 74   /* below it */
#define PIXEL 100 /* in hundredths */
#define OUTLINED_MAX 4000
#define TIC 70 /* px of the axis of time for a tic */
#define TITLED_MAX 20000
#define CHARACTER 68 /* hundredths of the font size: width of a letter, rather too wide */
#define LABEL_SIZE 11
#define TITLE_MAX 110
#define INK 0x222222
#define ALARM 0xd55e00

/* By lifetime: alive for so much of the time. */
static const guint32 colours[] = { 0x440154, 0x3b528b, 0x21918c, 0x5ec962, 0xe6c619 };
static const guint32 inks[] = { 0xffffff, 0xffffff, 0xffffff, INK, INK };
#define N_CLASSES G_N_ELEMENTS (colours)
static const struct
{
  guint over, of; /* at least so much of all steps */
  const char *text;
} classes[N_CLASSES] = { { 9, 10, "9/10 of the time or more" },
                         { 1, 4, "1/4 or more" },
                         { 1, 20, "1/20 or more" },
                         { 1, 100, "1/100 or more" },
                         { 0, 1, "less" } };

typedef struct
{
  const GememPlanView *view;
  GememPicture *picture;
  guint used[N_CLASSES];
  guint left, top, across; /* px of the field */
  gboolean titled;
  guint8 *raster; /* across x UP: 0: empty; else 1 + class * 2 + shade */
} Drawing;

static guint64
scale (guint64 value, guint64 whole, guint pixels)
{
  return (guint64) ((unsigned __int128) MIN (value, whole) * pixels * PIXEL / whole);
}

/* On paper letters have one size. */
static guint
letters (const Drawing *drawing, guint size)
{
  return drawing->titled ? size : GEMEM_PLOT_LETTERS;
}

static guint64
x_of (const Drawing *drawing, guint64 step)
{
  return drawing->left * PIXEL + scale (step, drawing->view->steps, drawing->across);
}

static guint64
y_of (const Drawing *drawing, guint64 bytes)
{
  return (drawing->top + UP) * PIXEL - scale (bytes, drawing->view->top, UP);
}

/* ---- colours */

static guint
class_of (const Drawing *drawing, const GememPlanRect *rect)
{
  const unsigned __int128 alive = rect->end - rect->begin, all = drawing->view->steps;
  guint c = 0;

  while (alive * classes[c].of < all * classes[c].over)
    c++;
  return c;
}

/* Lightens a colour by a fifth. */
static guint32
lighter (guint32 colour)
{
  guint32 result = 0;

  for (guint shift = 0; shift < 24; shift += 8)
    {
      const guint32 part = colour >> shift & 0xff;

      result |= (part + (255 - part) / 5) << shift;
    }
  return result;
}

static guint32
colour_of (guint code)
{
  return code % 2 == 0 ? colours[code / 2] : lighter (colours[code / 2]);
}

/* ---- rectangles */

typedef struct
{
  guint64 x, y, width, height;
} Box;

static Box
box_of (const Drawing *drawing, const GememPlanRect *rect)
{
  const guint64 x = x_of (drawing, rect->begin), y = y_of (drawing, rect->to);

  return (Box){ x, y, x_of (drawing, rect->end) - x, y_of (drawing, rect->from) - y };
}

static gboolean
is_thin (const Box *box)
{
  return box->width < PIXEL || box->height < PIXEL;
}

/* Where several items share a pixel the one that lives longest is visible. */
static void
paint (Drawing *drawing, const Box *box, guint code)
{
  const guint64 x = MIN (box->x / PIXEL - drawing->left, drawing->across - 1),
                y = MIN (box->y / PIXEL - drawing->top, UP - 1);
  const guint64 right = MAX ((box->x + box->width) / PIXEL - drawing->left, x + 1),
                bottom = MAX ((box->y + box->height) / PIXEL - drawing->top, y + 1);

  for (guint64 row = y; row < MIN (bottom, UP); row++)
    for (guint64 column = x; column < MIN (right, drawing->across); column++)
      {
        guint8 *pixel = &drawing->raster[row * drawing->across + column];

        *pixel = *pixel == 0 ? (guint8) (code + 1) : MIN (*pixel, (guint8) (code + 1));
      }
}

/* Removes the run of equal pixels at @column of @row, extended downwards over equal rows, and draws
 * it as one rectangle. */
static guint
take_run (Drawing *drawing, guint row, guint column)
{
  guint8 *start = drawing->raster + row * drawing->across + column;
  const guint8 code = *start;
  guint n = 1, rows = 1;

  while (column + n < drawing->across && start[n] == code)
    n++;
  for (guint8 *next = start + drawing->across; row + rows < UP; rows++, next += drawing->across)
    {
      guint same = 0;

      while (same < n && next[same] == code)
        same++;
      if (same < n || (column + n < drawing->across && next[n] == code)
          || (column > 0 && next[-1] == code))
        break;
    }
  for (guint i = 0; i < rows; i++)
    memset (start + i * drawing->across, 0, n);
  gemem_picture_rect (drawing->picture, (drawing->left + column) * PIXEL,
                      (drawing->top + row) * PIXEL, n * PIXEL, rows * PIXEL, colour_of (code - 1u),
                      FALSE, NULL);
  return n;
}

static void
draw_raster (Drawing *drawing)
{
  for (guint row = 0; row < UP; row++)
    for (guint column = 0; column < drawing->across;)
      column += drawing->raster[row * drawing->across + column] != 0
                    ? take_run (drawing, row, column)
                    : 1;
}

/* Writes the name if it fits, and the size below it if that fits too. */
static void
draw_label (Drawing *drawing, const Box *box, const char *name, guint64 bytes, guint32 ink)
{
  char size[GEMEM_FORMAT_MAX];
  const guint points = letters (drawing, LABEL_SIZE);
  const guint64 letter = points * CHARACTER, line = (points + 4) * PIXEL,
                middle = box->x + box->width / 2;
  const guint64 height = box->height / 2 + box->y;

  gemem_format_size (size, bytes);
  if ((guint64) g_utf8_strlen (name, -1) * letter + 4 * PIXEL > box->width || line > box->height)
    return;
  if (2 * line > box->height || strlen (size) * letter + 4 * PIXEL > box->width)
    {
      gemem_picture_text (drawing->picture, middle, height, GEMEM_ANCHOR_MIDDLE, points, 0, ink,
                          name);
      return;
    }
  gemem_picture_text (drawing->picture, middle, height - line / 2, GEMEM_ANCHOR_MIDDLE, points, 0,
                      ink, name);
  gemem_picture_text (drawing->picture, middle, height + line / 2, GEMEM_ANCHOR_MIDDLE, points, 0,
                      ink, size);
}

static void
draw_rect (Drawing *drawing, const GememPlanRect *rect, const Box *box, guint c, guint shade,
           gboolean titled)
{
  const gboolean outlined = drawing->view->rects->len <= OUTLINED_MAX
                            && MIN (box->width, box->height) >= 2 * PIXEL;
  char size[GEMEM_FORMAT_MAX];
  g_autofree char *name = titled ? gemem_plan_view_item (drawing->view, rect->item) : NULL;
  g_autofree char *title = NULL;

  if (titled)
    title = g_strdup_printf (
        "%s: %s at 0x%" G_GINT64_MODIFIER "x, steps %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
        name, gemem_format_size (size, rect->to - rect->from), rect->from, rect->begin, rect->end);
  gemem_picture_rect (
      drawing->picture, box->x, box->y, box->width, box->height,
      colour_of (2 * c + (outlined && MIN (box->width, box->height) >= 4 * PIXEL ? 0 : shade)),
      outlined, title);
  if (titled)
    draw_label (drawing, box, name, rect->to - rect->from, inks[c]);
}

static void
draw_rects (Drawing *drawing)
{
  const GArray *rects = drawing->view->rects;

  for (guint i = 0; i < rects->len; i++)
    {
      const GememPlanRect *rect = &g_array_index (rects, GememPlanRect, i);
      const Box box = box_of (drawing, rect);
      const guint c = class_of (drawing, rect);

      if (is_thin (&box))
        paint (drawing, &box,
               2 * c + (rects->len <= TITLED_MAX ? i % 2 : 0)); /* beyond that, shades would only be
                                                            * noise */
    }
  draw_raster (drawing);
  for (guint i = 0; i < rects->len; i++)
    {
      const GememPlanRect *rect = &g_array_index (rects, GememPlanRect, i);
      const Box box = box_of (drawing, rect);

      if (!is_thin (&box))
        draw_rect (drawing, rect, &box, class_of (drawing, rect), i % 2, rects->len <= TITLED_MAX);
    }
}

/* ---- axes and labels */

/* The step of the tics: 1, 2, 5, 10..., for at most @most tics. */
static guint64
step_of_time (guint64 steps, guint most)
{
  static const guint factors[] = { 1, 2, 5 };
  guint64 power = 1;

  for (;; power *= 10)
    for (guint i = 0; i < G_N_ELEMENTS (factors); i++)
      if (steps / (power * factors[i]) <= most || power > G_MAXUINT64 / 100)
        return power * factors[i];
}

/* The step of the tics, a power of two, for at most ten tics. */
static guint64
step_of_bytes (guint64 top)
{
  guint64 step = 1;

  while (top / step > 10)
    step *= 2;
  return step;
}

static void
draw_axes (Drawing *drawing)
{
  const GememPlanView *view = drawing->view;
  const guint64 left = drawing->left * PIXEL, right = (drawing->left + drawing->across) * PIXEL,
                bottom = (drawing->top + UP) * PIXEL;
  const guint64 time = step_of_time (view->steps, MAX (drawing->across / TIC, 2)),
                bytes = step_of_bytes (view->top);
  char text[GEMEM_FORMAT_MAX];

  for (guint64 i = 0; i <= view->steps / time; i++)
    {
      const guint64 x = x_of (drawing, i * time);

      gemem_picture_line (drawing->picture, x, bottom, x, bottom + 5 * PIXEL, INK, FALSE);
      g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT, i * time);
      gemem_picture_text (drawing->picture, x, bottom + 15 * PIXEL, GEMEM_ANCHOR_MIDDLE,
                          letters (drawing, 12), 0, INK, text);
    }
  for (guint64 i = 0; i <= view->top / bytes; i++)
    {
      const guint64 y = y_of (drawing, i * bytes);

      gemem_picture_line (drawing->picture, left - 5 * PIXEL, y, left, y, INK, FALSE);
      gemem_picture_text (drawing->picture, left - 9 * PIXEL, y, GEMEM_ANCHOR_END,
                          letters (drawing, 12), 0, INK, gemem_format_size (text, i * bytes));
    }
  gemem_picture_line (drawing->picture, left, bottom, right, bottom, INK, FALSE);
  gemem_picture_line (drawing->picture, left, drawing->top * PIXEL, left, bottom, INK, FALSE);
  gemem_picture_text (drawing->picture, left + drawing->across * PIXEL / 2, bottom + 40 * PIXEL,
                      GEMEM_ANCHOR_MIDDLE, 13, 0, INK,
                      view->result->of->graph != NULL ? "time: operators in the order of the plan"
                                                      : "time: steps of the input");
  gemem_picture_text (drawing->picture, 18 * PIXEL, bottom - UP * PIXEL / 2, GEMEM_ANCHOR_MIDDLE,
                      13, GEMEM_TEXT_UPWARDS, INK, "address, from the start of the arena");
}

/* Draws a line over the whole field, with two lines of text on its right, @shift below (or above)
 * it. */
static void
draw_level (Drawing *drawing, guint64 bytes, const char *name, guint32 colour, gboolean dashed,
            gint64 shift)
{
  const guint64 y = y_of (drawing, bytes), x = (drawing->left + drawing->across + 8) * PIXEL,
                at = (guint64) ((gint64) y + shift);
  char text[GEMEM_FORMAT_MAX];

  gemem_picture_line (drawing->picture, drawing->left * PIXEL, y,
                      (drawing->left + drawing->across) * PIXEL, y, colour, dashed);
  gemem_picture_text (drawing->picture, x, at - 8 * PIXEL, GEMEM_ANCHOR_START,
                      letters (drawing, 12), GEMEM_TEXT_BOLD, colour, name);
  gemem_picture_text (drawing->picture, x, at + 8 * PIXEL, GEMEM_ANCHOR_START,
                      letters (drawing, 12), 0, colour, gemem_format_size (text, bytes));
}

static void
draw_levels (Drawing *drawing)
{
  const GememPlan *plan = drawing->view->result->plan;
  const gint64 apart = (gint64) y_of (drawing, plan->lower_bound)
                       - (gint64) y_of (drawing, plan->arena);
  /* overlapping labels are moved apart */
  const gint64 shift = MAX (0, 36 * PIXEL - ABS (apart)) / 2;
  guint64 base = 0;

  for (guint i = 0; i + 1 < plan->totals->len; i++) /* boundaries between memory types */
    {
      base += g_array_index (plan->totals, GememPlanTotal, i).bytes;
      if (base > 0 && base < plan->arena)
        draw_level (drawing, base, "memory type ends", INK, TRUE, 0);
    }
  for (guint i = 1; i < plan->batch_parts->len; i++)
    draw_level (drawing, g_array_index (plan->batch_parts, GememPlanPart, i).base,
                "batch part begins", INK, TRUE, 0);
  draw_level (drawing, plan->arena, "arena", INK, FALSE, apart >= 0 ? -shift : shift);
  draw_level (drawing, plan->lower_bound, "lower bound", ALARM, TRUE, apart >= 0 ? shift : -shift);
}

/* Draws the legend, or with @picture NULL counts its lines. */
static guint
draw_legend (const Drawing *drawing, GememPicture *picture)
{
  const guint64 first = drawing->left * PIXEL, end = (drawing->left + drawing->across) * PIXEL;
  const guint head = drawing->titled ? HEAD : 0;
  guint64 x = first;
  guint lines = 1;

  for (guint c = 0; c < N_CLASSES; c++)
    {
      g_autofree char *text = g_strdup_printf ("%s: %u", classes[c].text, drawing->used[c]);
      const guint64 width = (strlen (text) * 8 + 30) * PIXEL;

      if (drawing->used[c] == 0)
        continue;
      if (x > first && x + width > end)
        {
          x = first;
          lines++;
        }
      const guint64 y = (head + (lines - 1) * LEGEND + 16) * PIXEL;
      if (picture != NULL)
        {
          gemem_picture_rect (picture, x, y - 6 * PIXEL, 14 * PIXEL, 12 * PIXEL, colours[c], FALSE,
                              NULL);
          gemem_picture_text (picture, x + 20 * PIXEL, y, GEMEM_ANCHOR_START, letters (drawing, 12),
                              0, INK, text);
        }
      x += width + 12 * PIXEL;
    }
  return lines;
}

static void
draw_head (Drawing *drawing, const char *title)
{
  g_autofree char *facts = gemem_plan_view_facts (drawing->view);

  gemem_picture_text (drawing->picture, drawing->left * PIXEL, 24 * PIXEL, GEMEM_ANCHOR_START, 17,
                      GEMEM_TEXT_BOLD, INK, title);
  gemem_picture_text (drawing->picture, drawing->left * PIXEL, 50 * PIXEL, GEMEM_ANCHOR_START, 13,
                      0, INK, facts);
}

GememPicture *
gemem_plan_picture (const GememPlanResult *result, const GememPlotPage *page)
{
  const guint width = page != NULL ? MAX (page->width, WIDTH_MIN) : WIDTH;
  const gboolean slim = page != NULL && page->slim,
                 titled = page == NULL || gemem_plot_page_titled (page);
  const guint across = width - (slim ? 2 * SLIM : LEFT + RIGHT);
  g_autofree char *name = g_path_get_basename (result->input);
  g_autofree char *whole = g_strdup_printf ("%s: %s", name, result->plan->planner);
  g_autofree char *title = gemem_plot_shorten (whole, MIN (TITLE_MAX, width / 10));
  g_autofree guint8 *raster = g_new0 (guint8, across * UP);
  GememPlanView view;
  Drawing drawing = {
    .view = &view, .left = slim ? SLIM : LEFT, .across = across, .titled = titled, .raster = raster
  };

  gemem_plan_view_init (&view, result);
  for (guint i = 0; i < view.rects->len; i++)
    drawing.used[class_of (&drawing, &g_array_index (view.rects, GememPlanRect, i))]++;
  drawing.top = (titled ? HEAD : 0) + draw_legend (&drawing, NULL) * LEGEND + GAP;
  drawing.picture = gemem_picture_new (width, drawing.top + UP + FOOT, title);
  gemem_picture_rect (drawing.picture, drawing.left * PIXEL, drawing.top * PIXEL, across * PIXEL,
                      UP * PIXEL, 0xf4f4f4, FALSE, NULL);
  draw_rects (&drawing);
  draw_axes (&drawing);
  draw_levels (&drawing);
  draw_legend (&drawing, drawing.picture);
  if (titled)
    draw_head (&drawing, title);
  gemem_plan_view_clear (&view);
  return drawing.picture;
}

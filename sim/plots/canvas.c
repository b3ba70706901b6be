/* canvas.c - see canvas.h.  A character of two columns takes two cells, the second of which is CONTINUED. */
#include "config.h"

#include "base/text.h"
#include "sim/plots/canvas.h"

#define CONTINUED ((gunichar) 0)
#define ELLIPSIS 0x2026

typedef struct
{
  gunichar c;
  GememTint tint;
} Cell;

struct _GememCanvas
{
  guint columns;
  GArray *cells; /* Cell, row by row */
};

GememCanvas *
gemem_canvas_new (guint columns)
{
  GememCanvas *canvas = g_new (GememCanvas, 1);

  canvas->columns = columns;
  canvas->cells = g_array_new (FALSE, FALSE, sizeof (Cell));
  return canvas;
}

void
gemem_canvas_free (GememCanvas *canvas)
{
  g_array_unref (canvas->cells);
  g_free (canvas);
}

void
gemem_canvas_put (GememCanvas *canvas, guint row, guint column, gunichar c, GememTint tint)
{
  const Cell blank = { ' ', GEMEM_TINT_NONE };

  if (column >= canvas->columns)
    return;
  while (canvas->cells->len < (row + 1) * canvas->columns)
    g_array_append_val (canvas->cells, blank);
  g_array_index (canvas->cells, Cell, row * canvas->columns + column) = (Cell){ c, tint };
}

guint
gemem_canvas_text (GememCanvas *canvas, guint row, guint column, guint width, const char *text,
                   GememTint tint)
{
  g_autofree char *line = gemem_text_line (text);
  guint at = 0, all = 0;

  for (const char *p = line; *p != '\0'; p = g_utf8_next_char (p))
    all += gemem_text_columns (g_utf8_get_char (p));
  for (const char *p = line; *p != '\0'; p = g_utf8_next_char (p))
    {
      const gunichar c = g_utf8_get_char (p);
      const guint wide = gemem_text_columns (c);
      if (wide == 0)
        continue;
      if (at + wide > width - (all > width ? MIN (width, 1) : 0))
        break;
      gemem_canvas_put (canvas, row, column + at, c, tint);
      for (guint i = 1; i < wide; i++)
        gemem_canvas_put (canvas, row, column + at + i, CONTINUED, tint);
      at += wide;
    }
  if (all > width && width > 0)
    gemem_canvas_put (canvas, row, column + at++, ELLIPSIS, tint);
  for (guint i = at; i < width; i++)
    gemem_canvas_put (canvas, row, column + i, ' ', tint);
  return at;
}

/* The character that stands for @c where only ASCII is shown. */
static char
plain (gunichar c)
{
  static const struct
  {
    gunichar from, to;
    char c;
  } kin[] = { { 0x2581, 0x2588, '#' },                          /* lower blocks, full block */
              { 0x258f, 0x258f, '|' },                          /* left edge */
              { 0x2591, 0x2591, '.' },                          /* light shade */
              { 0x2592, 0x2593, '/' },                          /* darker shades */
              { 0x2502, 0x2502, '|' },                          /* lines */
              { 0x2504, 0x2504, '=' }, { 0x2506, 0x2506, '!' }, /* broken lines */
              { 0x2500, 0x2500, '-' }, { 0x2514, 0x2514, '+' },
              { 0x2524, 0x2524, '|' }, { ELLIPSIS, ELLIPSIS, '~' } };

  for (guint i = 0; i < G_N_ELEMENTS (kin); i++)
    if (c >= kin[i].from && c <= kin[i].to)
      return kin[i].c;
  return c < 0x80 ? (char) c : '?';
}

static void
append_row (GString *out, const Cell *cells, guint n, const GememTextLook *look)
{
  static const char *const tints[] = { [GEMEM_TINT_NONE] = "\033[0m",
                                       [GEMEM_TINT_YELLOW] = "\033[30;43m",
                                       [GEMEM_TINT_CYAN] = "\033[30;46m",
                                       [GEMEM_TINT_WHITE] = "\033[30;47m" };
  GememTint now = GEMEM_TINT_NONE;

  while (n > 0 && cells[n - 1].c == ' ' && (!look->colour || cells[n - 1].tint == GEMEM_TINT_NONE))
    n--;
  for (guint i = 0; i < n; i++)
    {
      if (look->colour && cells[i].tint != now)
        g_string_append (out, tints[now = cells[i].tint]);
      if (look->unicode && cells[i].c != CONTINUED)
        g_string_append_unichar (out, cells[i].c);
      else if (!look->unicode)
        g_string_append_c (out, plain (cells[i].c));
    }
  if (now != GEMEM_TINT_NONE)
    g_string_append (out, tints[GEMEM_TINT_NONE]);
  g_string_append_c (out, '\n');
}

void
gemem_canvas_append (GString *out, const GememCanvas *canvas, const GememTextLook *look)
{
  for (guint at = 0; at < canvas->cells->len; at += canvas->columns)
    append_row (out, &g_array_index (canvas->cells, Cell, at), canvas->columns, look);
}

/* plan-map.c - a plan for a terminal: a row per range of addresses, the highest first, a column per
 * range of time.
 *
 * With few items each has its own letter, listed below; with many, a character says how full its
 * cell is: '#' full, a digit that many tenths, ' ' empty.  Areas are exact integers.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/plots/plots.h"
#include "sim/report/plan-view.h"

#define ROWS 24
#define PREFIX 16 /* columns before the cells */
#define SUFFIX 14 /* after them: "  lower bound" */
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

typedef struct
{
  guint64 covered; /* in 1/ROWS of a byte times 1/columns of a step */
  guint64 most;    /* the part covered by the item that covers most */
  guint letter;
} Cell;

typedef struct
{
  const GememPlanView *view;
  guint columns;
  Cell *cells;
} CellGrid;

/* The part of [from, to) in cell @i of @n over @whole, in 1/@n of a unit. */
static guint64
overlap (guint64 from, guint64 to, guint64 whole, guint n, guint i)
{
  const unsigned __int128 low = MAX ((unsigned __int128) from * n, (unsigned __int128) whole * i);
  const unsigned __int128 high = MIN ((unsigned __int128) to * n,
                                      (unsigned __int128) whole * (i + 1));

  return high > low ? (guint64) (high - low) : 0;
}

/* A cell is divided into 1024 parts in each direction. */
static guint64
share (guint64 part, guint64 whole)
{
  return (guint64) (((unsigned __int128) part * 1024 + whole - 1) / whole);
}

static void
cover (CellGrid *map, const GememPlanRect *rect, guint letter)
{
  const GememPlanView *view = map->view;
  const guint first_row = (guint) ((unsigned __int128) rect->from * ROWS / view->top);
  const guint first_column = (guint) ((unsigned __int128) rect->begin * map->columns / view->steps);

  for (guint row = first_row; row < ROWS; row++)
    {
      const guint64 up = share (overlap (rect->from, rect->to, view->top, ROWS, row), view->top);

      for (guint column = first_column; up > 0 && column < map->columns; column++)
        {
          const guint64 area = up
                               * share (overlap (rect->begin, rect->end, view->steps, map->columns,
                                                 column),
                                        view->steps);
          Cell *cell = &map->cells[row * map->columns + column];

          if (area == 0)
            break;
          cell->covered += area;
          cell->letter = area > cell->most ? letter : cell->letter;
          cell->most = MAX (area, cell->most);
        }
      if (up == 0)
        break;
    }
}

static char
character (const Cell *cell, gboolean letters)
{
  const guint64 whole = 1024 * 1024;

  if (cell->covered == 0)
    return ' ';
  if (letters)
    return LETTERS[cell->letter];
  return cell->covered >= whole * 19 / 20 ? '#'
                                          : (char) ('0' + MAX (cell->covered * 10 / whole, 1));
}

static void
append_rows (GString *out, const CellGrid *map, gboolean letters)
{
  const GememPlanView *view = map->view;
  char size[GEMEM_FORMAT_MAX];

  for (guint row = ROWS; row-- > 0;)
    {
      const guint64 floor = (guint64) ((unsigned __int128) view->top * row / ROWS);
      const guint64 ceiling = (guint64) ((unsigned __int128) view->top * (row + 1) / ROWS);
      const guint64 bound = view->result->plan->lower_bound;

      g_string_append_printf (out, "  %12s |", gemem_format_size (size, floor));
      for (guint column = 0; column < map->columns; column++)
        g_string_append_c (out, character (&map->cells[row * map->columns + column], letters));
      g_string_append (out, bound > floor && bound <= ceiling ? "| lower bound\n" : "|\n");
    }
  g_string_append_printf (out, "  %12s  0%*" G_GUINT64_FORMAT "\n", "step", (int) map->columns - 1,
                          view->steps);
}

static void
append_letters (GString *out, const GememPlanView *view)
{
  for (guint i = 0; i < view->rects->len; i++)
    {
      const GememPlanRect *rect = &g_array_index (view->rects, GememPlanRect, i);
      g_autofree char *name = gemem_plan_view_item (view, rect->item);
      char size[GEMEM_FORMAT_MAX];

      g_string_append_printf (
          out, "  %c  %s: %s, steps %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT "\n", LETTERS[i],
          name, gemem_format_size (size, rect->to - rect->from), rect->begin, rect->end);
    }
}

void
gemem_plan_map (GString *out, const GememPlanResult *result, guint width)
{
  const guint wanted = width == 0 ? 100 : width;
  GememPlanView view;
  CellGrid map = { .view = &view,
                   .columns = wanted > PREFIX + SUFFIX + 16 ? wanted - PREFIX - SUFFIX : 16 };
  g_autofree Cell *cells = g_new0 (Cell, ROWS * map.columns);
  g_autofree char *facts = NULL;
  gboolean letters;

  gemem_plan_view_init (&view, result);
  map.cells = cells;
  facts = gemem_plan_view_facts (&view);
  letters = view.rects->len <= strlen (LETTERS);
  g_string_append_printf (out, "%s%s through %s: %s\n\n", out->len > 0 ? "\n" : "", result->input,
                          result->plan->planner, facts);
  for (guint i = 0; i < view.rects->len; i++)
    cover (&map, &g_array_index (view.rects, GememPlanRect, i), letters ? i : 0);
  append_rows (out, &map, letters);
  if (letters)
    append_letters (out, &view);
  else
    g_string_append (out, "  # full, 1-9 tenths full, blank empty\n");
  gemem_plan_view_clear (&view);
}

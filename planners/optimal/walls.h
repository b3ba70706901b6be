/* walls.h - what lies in columns already and stays, for a search that places the boxes between.
 *
 * Why: window search (window.c) frees a few boxes and leaves all others where they are.  What is left of
 * them is a list of stretches of addresses for each column.
 *
 * Invariants: the walls of a column are sorted and do not touch.  A stretch too narrow for every box of its column is
 * part of a wall.
 */
#pragma once

#include "planners/boxes.h"

typedef struct
{
  gint64 low, high;
  gint64 above; /* sizes of this wall and of those above it in its column */
  guint32 column;
} GememWall;

typedef struct
{
  guint32 columns;
  GArray *found;     /* GememWall, in the order in which they were complete */
  GememWall *walls;  /* the same by column, from the bottom up */
  guint32 *starts;   /* of column c: starts[c] to below starts[c + 1] */
  GememWall *last;   /* by column: the highest so far */
  gint64 *narrowest; /* by column: of the boxes to be placed */
} GememWalls;

/* For up to @columns columns. */
void gemem_walls_init (GememWalls *walls, guint32 columns);
void gemem_walls_clear (GememWalls *walls);

/* Makes @walls anew: begin with the boxes that are to be placed, add what stays from the bottom up in every column,
 * each up to @high, and end with the capacity.  O(walls + columns). */
void gemem_walls_begin (GememWalls *walls, const GememBoxes *boxes);
void gemem_walls_add (GememWalls *walls, guint32 column, gint64 low, gint64 high);
void gemem_walls_end (GememWalls *walls, gint64 capacity);

/* The lowest offset from @low on at which @box meets no wall. */
gint64 gemem_walls_lowest (const GememWalls *walls, const GememBox *box, gint64 low);
/* The sizes of the walls of @column that end above @offset. */
gint64 gemem_walls_above (const GememWalls *walls, guint32 column, gint64 offset);

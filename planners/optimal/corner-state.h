/* corner-state.h - the state of a corner search: floors of columns, what is placed, and how to go
 * back.  See corner.h.
 *
 * Every change is put on a trail; gemem_corner_undo() takes it back to a mark.  A column is put
 * there once per decision (`stamp`).
 *
 * Walls are what lies in a column already: no box shares bytes with them, so a box is as low as its
 * columns' floors and walls allow.
 */
#pragma once

#include "planners/boxes.h"
#include "planners/optimal/walls.h"

typedef struct
{
  gint64 floor;   /* nothing can be placed below; the capacity once all boxes are placed */
  gint64 rest;    /* sizes of the boxes to be placed */
  gint64 walled;  /* sizes of the walls above the floor */
  guint64 set[2]; /* hash of the boxes that begin here and are to be placed */
  guint64 stamp;
  guint32 open, ready; /* boxes to be placed; those that could lie on the floor */
} GememCornerColumn;

typedef struct
{
  gint64 low;
  gint64 offset;
  gboolean placed;
} GememCornerBox;

typedef struct
{
  gsize columns, boxes;
} GememCornerMark;

typedef struct
{
  GememCornerColumn was;
  guint32 column;
} GememCornerOldColumn;

typedef struct
{
  gint64 low;
  guint32 box;
  gboolean placed; /* it was placed, not lifted */
} GememCornerOldBox;

typedef struct
{
  const GememBoxes *boxes;
  const GememWalls *walls; /* NULL: none */
  gint64 capacity;
  GememCornerColumn *columns;
  GememCornerBox *states; /* by box */
  guint64 (*keys)[2];     /* random, by box */
  /* boxes by column: members[starts[c]] to members[starts[c + 1]], those to be placed first */
  guint32 *starts, *members;
  guint32 *cells, *places; /* of box b in column c: members[places[cells[b] + c - first of b]] */
  guint32 *cuts;           /* by column: boxes to be placed that cross its left border */
  GArray *old_columns, *old_boxes;
  guint32 *queue; /* columns to be looked at, a ring; queued by column */
  guint8 *queued;
  guint32 head, n_queue;
  guint64 stamp, steps;
} GememCornerState;

/* What is neither below the floor of @column, nor needed above it. */
static inline gint64
gemem_corner_slack (const GememCornerState *state, guint32 column)
{
  const GememCornerColumn *own = &state->columns[column];

  return state->capacity - own->floor - own->rest - own->walled;
}

/* Behind the members of @column that are to be placed. */
static inline guint32
gemem_corner_end (const GememCornerState *state, guint32 column)
{
  return state->starts[column] + state->columns[column].open;
}

void gemem_corner_state_init (GememCornerState *state, const GememBoxes *boxes,
                              const GememWalls *walls);
void gemem_corner_state_clear (GememCornerState *state);
/* Nothing is placed; FALSE if it cannot fit under @capacity. */
gboolean gemem_corner_begin (GememCornerState *state, gint64 capacity);

GememCornerMark gemem_corner_mark (const GememCornerState *state);
void gemem_corner_undo (GememCornerState *state, GememCornerMark mark);
/* Places @box as low as it can lie, or lifts the floor of @column, with all that follows; FALSE if
 * something cannot fit any more. */
gboolean gemem_corner_place (GememCornerState *state, guint32 box);
gboolean gemem_corner_lift (GememCornerState *state, guint32 column, gint64 floor);

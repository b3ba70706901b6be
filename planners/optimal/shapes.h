/* shapes.h - the boxes of a part whose shape is more than a rectangle, or whose place is given: the bytes that each
 * has in use and when, and placing them one by one.
 *
 * Why: columns with one floor each (dive.h, corner.h) need boxes that fill their columns from offset to
 * offset + size.  With gaps, and with windows in them, a box lies in some columns and not in others, and in each at
 * another height; with places some lie there before all others.
 *
 * Invariants: pieces of a shape do not meet in time; all numbers are units.  A placement by greedy() is free of
 * overlaps, and boxes with a place are in it.
 * Cost: memory linear in the pieces; a placement is one look into the occupancy (occupancy.h) for each piece and
 * each height tried.
 */
#pragma once

#include "planners/boxes.h"
#include "planners/occupancy.h"
#include "planners/optimal/parts.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  guint32 first, last; /* columns of the shapes; half-open */
  gint64 low, high;    /* units from the offset of the box */
} GememShapePiece;

typedef struct
{
  GememBoxes *boxes;
  GememShapePiece *pieces; /* of box i: starts[i] to below starts[i + 1] */
  guint32 *starts;
  gint64 *places; /* by box; -1: anywhere */
  guint32 columns;
  gint64 bound; /* load, ends of boxes by themselves, and what sizes can add up to (sums.h) */
} GememShapes;

/* The pieces of all of @lifetimes, which is not copied, in bytes: listed once for the shapes of many parts. */
typedef struct
{
  const GememLifetimes *lifetimes;
  GArray *pieces; /* GememLifePiece; of item i: starts[i] to below starts[i + 1] */
  guint32 *starts;
} GememShapeSource;

void gemem_shape_source_init (GememShapeSource *source, const GememLifetimes *lifetimes);
void gemem_shape_source_clear (GememShapeSource *source);

/* The shapes of @boxes, whose items are those of @source, in units of @unit bytes.  O(their pieces log pieces) and the bound. */
GememShapes *gemem_shapes_new (GememBoxes *boxes, const GememShapeSource *source, guint64 unit);
void gemem_shapes_free (GememShapes *shapes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememShapes, gemem_shapes_free)

/* What boxes with a place take, to be freed; NULL: none has one. */
GememOccupancy *gemem_shapes_walls (const GememShapes *shapes);
/* The lowest offset from @offset on at which box @b can lie beside what @occupancy has. */
gint64 gemem_shapes_lowest (const GememShapes *shapes, GememOccupancy *occupancy, guint32 b,
                            gint64 offset);

/* Gets @part, whose boxes are those of @shapes, down to @goal if it can: greedy placements, the search for who lies
 * above whom (sides.h), changes of the order.  @placed: the boxes have offsets already, of the top of the part. */
void gemem_shapes_search (GememShapes *shapes, GememPart *part, gint64 goal, gboolean placed,
                          GememEffort *effort);

GEMEM_END_DECLS

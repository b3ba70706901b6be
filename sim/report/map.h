/* map.h - the segment map of a result, prepared for drawing: segments in address order, the largest
 * ones chosen when there are many. */
#pragma once

#include "sim/engine/result.h"

typedef struct
{
  guint64 start;        /* address */
  guint64 extent;       /* bytes from start to the end of the last span that has memory */
  guint64 mapped, live; /* bytes with memory behind them; thereof in live blocks */
  guint first, n;       /* its spans in result->map */
  guint64 stream;
  guint32 pool;
} GememMapSegment;

typedef struct
{
  GArray *segments;               /* GememMapSegment, in the order of the map; those to be drawn */
  guint total;                    /* segments there are */
  guint64 mapped, live;           /* of all of them */
  guint64 left_mapped, left_live; /* of those not drawn */
  guint64 widest;                 /* extent, of those drawn */
} GememMapView;

/* The @max largest segments of @result (0: all; equal ones: lower address first). */
void gemem_map_view_init (GememMapView *view, const GememResult *result, guint max);
void gemem_map_view_clear (GememMapView *view);

/* Where @span lies in @segment: bytes from its start; clipped to its extent whatever @span says. */
void gemem_map_place (const GememMapSegment *segment, const GememSpan *span, guint64 *from,
                      guint64 *to);

/* Tenths of a percent; exact for any size. */
guint gemem_map_permille (guint64 part, guint64 whole);

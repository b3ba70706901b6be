/* map.h - the segment map of a result, prepared for drawing: segments in address order, the largest
 * ones chosen when there are many. */
#pragma once

#include "sim/engine/result.h"

typedef struct
{
  guint64 start;        /* address */
  guint64 extent;       /* bytes from start to the end of the last span that has memory */
  guint64 mapped, live; /* mapped: bytes with memory; live: bytes in live blocks */
  guint first, n;       /* its spans in result->map */
  guint64 stream;
  guint32 pool;
  guint blocks;               /* live */
  const GememMapSpan *keeper; /* the largest of these; NULL: none */
} GememMapSegment;

typedef struct
{
  GArray *segments;               /* GememMapSegment, in address order; those to be drawn */
  guint total;                    /* number of all segments */
  guint64 mapped, live;           /* of all segments */
  guint64 left_mapped, left_live; /* of segments not drawn */
  guint64 widest;                 /* largest extent of the drawn ones */
} GememMapView;

/* Selects the @max largest segments of @result (0: all; of equal ones the lower address first). */
void gemem_map_view_init (GememMapView *view, const GememResult *result, guint max);
void gemem_map_view_clear (GememMapView *view);

/* The bytes of @span from the start of @segment, clipped to the segment's extent. */
void gemem_map_place (const GememMapSegment *segment, const GememSpan *span, guint64 *from,
                      guint64 *to);

/* Whether @piece lies idle for a cause that is known; then appends it to @out, as `info --idle` says it. */
gboolean gemem_map_append_cause (GString *out, const GememMapSegment *segment,
                                 const GememMapSpan *piece);

/* Tenths of a percent; exact for any size. */
guint gemem_map_permille (guint64 part, guint64 whole);

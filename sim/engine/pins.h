/* pins.h - who keeps the free memory of segments: of the blocks in use there at a moment, those that the
 * trace frees last, by the place that allocated them.
 *
 * Why: a segment goes back when its last block is freed; a block that is freed before that is not to
 * blame.  Which block is the last only the rest of the trace tells.
 *
 * Invariants: the bytes of the pins are those of the segments that were added, exactly; blocks that the
 * trace never frees are freed last, together.
 * Cost: 64 bytes for each block of these segments; O(1) for each free that follows, O(blocks log blocks)
 * at the end.
 */
#pragma once

#include "sim/engine/result.h"

typedef struct _GememPins GememPins;

/* gemem_pins_free(). */
GememPins *gemem_pins_new (void);
void gemem_pins_free (GememPins *pins); /* may be NULL */

/* The blocks added next are in use in a segment of which @bytes are free. */
void gemem_pins_add_segment (GememPins *pins, guint64 bytes);
/* A block of @size bytes, as requested; @origin: its text must outlive what is gathered.  @id NULL: it is in no trace, and is
 * never freed. */
void gemem_pins_add_block (GememPins *pins, const guint64 *id, guint64 size,
                           const GememOrigin *origin);

/* The block @id, if it is one of these, is freed. */
void gemem_pins_free_block (GememPins *pins, guint64 id);
/* Whether another free can still say something. */
gboolean gemem_pins_wait (const GememPins *pins);

/* Replaces the contents of @out (GememPin), the most bytes first: each place, or where places are not known
 * each segment; beyond GEMEM_PINS all others as one. */
void gemem_pins_gather (const GememPins *pins, GArray *out);

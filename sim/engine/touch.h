/* touch.h - the probe of --touch: do the bytes of a block stay its own from its allocation to its
 * free, on real memory?
 *
 * Why: two live blocks that share a byte, or a page that is unmapped under a live block, change no
 * decision and no number of a replay.
 * Memory itself shows them: every block is filled with a pattern of its own
 * (kernels/touch-kernels.h) when it is given out, and verified before it is freed, at random in
 * between, and at the end.
 *
 * What is touched: the bytes asked for of every allocation on the device; not host memory, and not
 * the memory of graphs, whose parts may share bytes.  A MEMSET of the trace is followed by another
 * fill.
 * When: fills and verifications are work on the block's stream, in the order of the replay.  A
 * verification that fails is told when the host looks, at latest GEMEM_TOUCH_BATCH verifications
 * later; the message names the event at which it was asked for.  What streams must wait for is not
 * looked at here (release-order.h). Memory taken from under a live block (seen by watching the
 * device's calls) is verified at once, with a wait, so that the message can name the call.  After
 * that the GPU's context is lost, to all runs of the process: compare allocators that may do such
 * things one at a time.
 *
 * Invariants: it decides nothing; the blocks verified at random depend on the trace and the seed
 * alone.
 * Memory: a record per live block, GEMEM_TOUCH_BATCH of past verifications and as many of past
 * blocks.  Cost: O(log n) per event and two kernels per block.
 */
#pragma once

#include "devices/device.h"
#include "traces/trace.h"

#define GEMEM_TOUCH_BATCH 4096

typedef struct _GememTouch GememTouch;

/* Watches @device from now on, until gemem_touch_free().  NULL: @device has no memory that can be
 * touched (GEMEM_ERROR_USAGE), or cannot do it here (GEMEM_ERROR_NO_DEVICE). */
GememTouch *gemem_touch_new (GememDevice *device, GError **error);
void gemem_touch_free (GememTouch *touch);

/* Event @seq served a request with @size bytes at @address. */
void gemem_touch_served (GememTouch *touch, guint64 seq, guint64 id, guint64 address, guint64 size,
                         guint64 stream);
/* Event @seq will let go of @id.  Ids that are not touched are left alone here and below. */
void gemem_touch_let_go (GememTouch *touch, guint64 seq, guint64 id);
/* Event @seq will set bytes of @id on @stream; and did. */
void gemem_touch_will_set (GememTouch *touch, guint64 seq, guint64 id, guint64 stream);
void gemem_touch_was_set (GememTouch *touch, guint64 id, guint64 stream);
/* After event @seq: now and then verifies some block.  FALSE: GEMEM_ERROR_INVARIANT with what was
 * found so far, or the device has failed. */
gboolean gemem_touch_after (GememTouch *touch, guint64 seq, GError **error);
/* Verifies all blocks, waits, and forgets them: the program lets go of everything. */
gboolean gemem_touch_finish (GememTouch *touch, guint64 seq, GError **error);
/* Blocks filled and verifications so far. */
void gemem_touch_counts (const GememTouch *touch, guint64 *fills, guint64 *verifications);

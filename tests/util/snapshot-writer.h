/* snapshot-writer.h - makes torch.cuda.memory snapshots for tests, from a few lines of text.
 *
 * One line each, words separated by a blank; "-" leaves the key out:
 *   s DEVICE ADDRESS SIZE STREAM TYPE POOL POOL EXPANDABLE
 *                    a segment (POOL POOL: the pair of its id)
 *   b ADDRESS SIZE REQUESTED STATE [HISTORY]
 *                    a block of the segment above it
 *   t                the event list of the next device begins
 *   e ACTION ADDRESS SIZE STREAM TIME [STACK [POOL [METADATA]]]
 *                    an event (oom: ADDRESS is device_free); STACK: names of frames, innermost
 *                    first, as in inner/outer; POOL: the second number of its id
 *   n STAGE NAME DEVICE TIME
 *                    an annotation
 *   c KEY VALUE      an allocator setting: integer, True, False, 0.5, or text
 *   d SLOT VALUE     of roundup_power2_divisions
 */
#pragma once

#include <glib.h>

typedef enum
{
  SNAPSHOT_PYTHON, /* protocol 4, memoised, lists in batches of 1000 */
  SNAPSHOT_CXX,    /* protocol 2, one APPENDS per list */
} SnapshotStyle;

/* The snapshot @text as a pickle. */
GBytes *snapshot_pickle (const char *text, SnapshotStyle style);

/* The HTML page that torch.cuda._memory_viz makes of @pickle. */
char *snapshot_page (GBytes *pickle);

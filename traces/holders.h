/* holders.h - who holds the memory of a trace at a moment: the blocks alive then, grouped by call
 * stack, line, operator, category, size, stream or pool.
 *
 * Bytes are requested bytes, as in GememDeviceSummary.peak_live: the rows of a device sum to what
 * is alive there, exactly.  Blocks without the property are one row, "unknown".  Static memory of
 * graphs is no block and not counted.
 * Cost: two passes over the trace (one, if the moment is an event or the end); memory of the live
 * blocks.
 */
#pragma once

#include "base/macros.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

/* A moment of a trace, after an event. */
typedef enum
{
  GEMEM_MOMENT_PEAK,  /* when most requested bytes are alive, for each device */
  GEMEM_MOMENT_EVENT, /* number: an event, from 0 */
  GEMEM_MOMENT_OOM,   /* number: of a recorded request that ran out of memory, from 1 */
  GEMEM_MOMENT_END,   /* of the trace */
} GememMomentKind;

typedef struct
{
  GememMomentKind kind;
  guint64 number;
} GememMoment;

/* Parses "peak", "end", "oom", "oom:N" or the number of an event; GEMEM_ERROR_USAGE. */
gboolean gemem_moment_parse (const char *text, GememMoment *moment, GError **error);

typedef enum
{
  GEMEM_HOLD_BY_STACK,
  GEMEM_HOLD_BY_LINE,
  GEMEM_HOLD_BY_FILE,
  GEMEM_HOLD_BY_OPERATOR,
  GEMEM_HOLD_BY_CATEGORY,
  GEMEM_HOLD_BY_PHASE,
  GEMEM_HOLD_BY_SIZE,
  GEMEM_HOLD_BY_STREAM,
  GEMEM_HOLD_BY_POOL,
  GEMEM_HOLD_BY_COUNT
} GememHoldBy;

/* Names of GememHoldBy, in that order; NULL-terminated. */
const char *const *gemem_hold_by_names (void);

/* Which frames of a stack count. */
typedef enum
{
  GEMEM_FRAMES_AUTO, /* Python's, if the stack has any, else the native ones; operators always */
  GEMEM_FRAMES_PYTHON,
  GEMEM_FRAMES_NATIVE,
  GEMEM_FRAMES_ALL,
  GEMEM_FRAMES_COUNT
} GememFrameChoice;

/* Names of GememFrameChoice, in that order; NULL-terminated. */
const char *const *gemem_frame_choice_names (void);

typedef struct
{
  GememMoment moment;
  GememHoldBy by;
  GememFrameChoice frames; /* of stacks */
  guint depth;             /* most frames of a stack, from the innermost; 0: all */
  /* NULL, or what a frame's name or file or the category of a block must match; the other blocks
   * are one row */
  GRegex *focus;
} GememHoldersOptions;

typedef struct
{
  char *name; /* one line */
  guint64 bytes, blocks;
  gboolean unknown;
  GArray *frames; /* guint32, innermost first; only by stack, empty for an unknown one */
} GememHolder;

/* The memory of a device at its moment. */
typedef struct
{
  guint16 device;
  guint64 event, time;                   /* the moment is after this event */
  guint64 requested;                     /* by the request that failed; 0: another moment */
  guint64 bytes, blocks;                 /* alive */
  guint64 initial_bytes, initial_blocks; /* of these, from before the recording and unknown */
  GPtrArray *holders;                    /* GememHolder, most bytes first, then by name */
} GememDeviceHolders;

typedef struct
{
  GememTraceReader *reader; /* open, since its info names the frames */
  GPtrArray *devices;       /* GememDeviceHolders, ascending */
  gboolean partial;         /* the end of the trace is missing */
} GememHolders;

/* GEMEM_ERROR_INPUT, also for a moment that the trace does not have.  gemem_holders_free(). */
GememHolders *gemem_holders_new (GememTraceSource open, gpointer data,
                                 const GememHoldersOptions *options, GError **error);
/* Those of device @device; NULL: it has none. */
const GememDeviceHolders *gemem_holders_of (const GememHolders *holders, int device);
void gemem_holders_free (GememHolders *holders); /* may be NULL */

GEMEM_END_DECLS

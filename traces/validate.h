/* validate.h - checks that a trace is complete and consistent, for `gemem-sim validate`.
 *
 * One pass; memory is bounded by the live blocks.  Every finding names its event; the first of each
 * kind carries the explanation.
 */
#pragma once

#include "base/macros.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

typedef enum
{
  /* free of an id that is not alive: the recording starts in the middle, or its ring buffer
   * overflowed */
  GEMEM_FINDING_ORPHAN_FREE,
  GEMEM_FINDING_DOUBLE_ALLOC,    /* alloc of an id that is alive */
  GEMEM_FINDING_DOUBLE_FREE,     /* free requested twice */
  GEMEM_FINDING_OVERLAP,         /* recorded addresses of two live blocks overlap */
  GEMEM_FINDING_OUTSIDE_SEGMENT, /* a recorded address lies in no recorded segment */
  GEMEM_FINDING_TIME_BACKWARDS,
  GEMEM_FINDING_ZERO_SIZE,
  GEMEM_FINDING_HUGE_SIZE,     /* 2^60 bytes or more */
  GEMEM_FINDING_NEVER_FREED,   /* alive at the end (a note, not an error) */
  GEMEM_FINDING_INITIAL_STATE, /* blocks from before the recording (a note) */
  GEMEM_FINDING_AMBIGUOUS,     /* initial blocks whose place or size was inferred (a note) */
  GEMEM_FINDING_OVERFLOW,      /* the recorder's ring buffer overflowed: events are missing */
  /* a graph runs or is unloaded without a load, is loaded twice, or has segments that overlap, are
   * missing or do not fit */
  GEMEM_FINDING_GRAPH,
  GEMEM_FINDING_EVENT, /* a stream waits for an event that was never recorded */
  GEMEM_FINDING_TRUNCATED,
  GEMEM_FINDING_COUNT
} GememFindingKind;

typedef struct
{
  GememFindingKind kind;
  gboolean error; /* FALSE: only a note */
  guint64 count;
  guint64 seq; /* of the first event; G_MAXUINT64: about the whole trace */
  char *text;  /* about the first: what is wrong; what to do */
} GememFinding;

const char *gemem_finding_name (GememFindingKind kind); /* "orphan free" */

/* Reads @reader to its end; findings in the order of GememFindingKind.  NULL with @error only when
 * the trace cannot be read at all; a trace that ends with a read error is a finding (TRUNCATED)
 * with the message of the reader. */
GPtrArray *gemem_trace_validate (GememTraceReader *reader, GError **error);

GEMEM_END_DECLS

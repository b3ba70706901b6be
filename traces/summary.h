/* summary.h - facts about a trace in one pass with bounded memory: what `gemem-sim info` shows.
 *
 * Memory is bounded by the live blocks of the trace.  Lower bounds are computed for several
 * alignments, since every allocator rounds differently.
 */
#pragma once

#include "base/histogram.h"
#include "base/macros.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  guint64 stream, allocs, bytes; /* bytes requested in total */
} GememStreamSummary;

/* One device of the trace. */
typedef struct
{
  guint16 device;
  guint64 events, by_kind[GEMEM_EVENT_KIND_COUNT];
  guint64 initial_blocks, initial_bytes;
  guint64 requested_bytes;       /* sum over ALLOCs */
  guint64 first_time, last_time; /* ns */
  guint64 peak_live, peak_live_seq, peak_live_time, peak_live_blocks;
  guint64 peak_blocks; /* most blocks alive at once */
  /* static memory: sum over the loads of graphs; maximum of one graph.  Not part of any other
   * figure, because policies share this memory */
  guint64 graph_bytes, largest_graph;
  /* max over time of live bytes, each rounded up, with a request that ran out of memory then */
  guint64 lower_bound_256, lower_bound_512;
  guint64 peak_reserved;            /* recorded segments; 0 if there are none */
  guint64 reserved_at_peak;         /* recorded segments at the moment of peak_live */
  guint64 released, released_bytes; /* segments released, as recorded */
  /* recorded requests that ran out of memory; the largest of them; requests that were served after
   * the last of them */
  guint64 failed, failed_size, after_failed;
  guint64 end_live, end_blocks;
  GememHistogram sizes;            /* requested bytes per ALLOC */
  GememHistogram lifetimes_events; /* events between ALLOC and FREE */
  GememHistogram lifetimes_ns;     /* filled if the trace has times */
  GArray *streams;                 /* GememStreamSummary, by stream */
} GememDeviceSummary;

typedef struct
{
  guint64 events;
  GPtrArray *devices; /* GememDeviceSummary, ascending */
} GememTraceSummary;

#define GEMEM_MAX_DEVICES \
  1024 /* that one run looks at: each costs it 50 KiB, or the trace once more */

/* Reads @reader to its end.  GEMEM_ERROR_INPUT: more than GEMEM_MAX_DEVICES devices. */
GememTraceSummary *gemem_trace_summarise (GememTraceReader *reader, GError **error);
void gemem_trace_summary_free (GememTraceSummary *summary);

/* Appends for each device with blocks a line of one sentence: what its peak is and when, how much
 * of what was reserved then is fragmentation, what was released, what the recording lacks. */
void gemem_trace_summary_sentences (GString *out, const GememTraceInfo *info,
                                    const GememTraceSummary *summary);

GEMEM_END_DECLS

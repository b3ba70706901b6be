/* run-order.h - which runs of graphs that share memory are on their way at once.
 *
 * A run ends when the host has waited for it, or for its stream.  Until then work follows it only
 * on its own stream, and on streams that waited for an event which was recorded after it.  A run
 * that follows another takes its place.  The runs that are left, none of which follows another, are
 * on their way at once; the manual forbids more than one.
 * Cost: O(runs on their way * streams that wait) per call; one run as a rule.
 * Origin: ge-runtime.md 3.4, 7.3 (the rule); how it is tracked is this project's.
 */
#pragma once

#include "allocators/allocator.h"
#include "base/idmap.h"

typedef struct
{
  guint64 graph, stream;
  guint64 bytes;      /* of the memory that graphs share */
  GArray *after;      /* guint64: streams whose further work comes after the run */
  GememIdMap *events; /* set of those whose mark comes after it */
} GeOpenRun;

typedef struct
{
  GPtrArray *open; /* GeOpenRun, in the order of their beginning */
} GeRunOrder;

void gemem_ge_run_order_init (GeRunOrder *order);
void gemem_ge_run_order_clear (GeRunOrder *order);

/* Whether a run of @graph on @stream would follow all others.  If not, the run of @allocator is
 * marked as not allowed, or (@strict) the event refused; @where: how the graphs share memory. */
gboolean gemem_ge_run_order_check (const GeRunOrder *order, GememAllocator *allocator,
                                   guint64 graph, guint64 stream, const char *where,
                                   gboolean strict);
void gemem_ge_run_order_begin (GeRunOrder *order, guint64 graph, guint64 stream, guint64 bytes);
/* The host waited for the runs of @graph, or the graph is gone. */
void gemem_ge_run_order_end (GeRunOrder *order, guint64 graph);
/* The host waited for @stream; G_MAXUINT64: for all. */
void gemem_ge_run_order_sync (GeRunOrder *order, guint64 stream);
void gemem_ge_run_order_record (GeRunOrder *order, guint64 event, guint64 stream);
void gemem_ge_run_order_wait (GeRunOrder *order, guint64 event, guint64 stream);

/* Bytes of shared memory that the runs on their way need. */
guint64 gemem_ge_run_order_bytes (const GeRunOrder *order);

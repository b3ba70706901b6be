/* run-order.h - whether the runs of graphs that share memory follow one another.
 *
 * A run ends when the host has waited for it, or for its stream.  Until then work follows it only
 * on its own stream, and on streams that waited for an event which was recorded after it.  As long
 * as every run follows the one before, work that follows the latest run follows all, so only the
 * latest is kept.
 * Cost: O(streams that wait) per call.
 * Origin: ge-runtime.md 3.4, 7.3 (the rule); how it is tracked is this project's.
 */
#pragma once

#include "base/idmap.h"

typedef struct
{
  gboolean open;         /* the latest run has not ended */
  guint64 graph, stream; /* of it */
  GArray *after;         /* guint64: streams whose further work comes after it */
  GememIdMap *events;    /* set of those whose mark comes after it */
} GeRunOrder;

void gemem_ge_run_order_init (GeRunOrder *order);
void gemem_ge_run_order_clear (GeRunOrder *order);

/* Whether a run on @stream would come after the latest one. */
gboolean gemem_ge_run_order_follows (const GeRunOrder *order, guint64 stream);
void gemem_ge_run_order_begin (GeRunOrder *order, guint64 graph, guint64 stream);
/* The host waited for the latest run of @graph. */
void gemem_ge_run_order_end (GeRunOrder *order, guint64 graph);
/* The host waited for @stream; G_MAXUINT64: for all. */
void gemem_ge_run_order_sync (GeRunOrder *order, guint64 stream);
void gemem_ge_run_order_record (GeRunOrder *order, guint64 event, guint64 stream);
void gemem_ge_run_order_wait (GeRunOrder *order, guint64 event, guint64 stream);

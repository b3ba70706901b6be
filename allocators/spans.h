/* spans.h - the spans that an allocator made of several parts reports: collected part by part, then
 * put in the order of their addresses.
 *
 * Cost: O(n log n) for n spans.
 */
#pragma once

#include "allocators/allocator.h"

/* A GememSpanFunc that appends to @spans, a GArray of GememSpan. */
void gemem_spans_append (const GememSpan *span, gpointer spans);
/* Appends all of [@address, @address + @size) as one span and segment, unless it is empty. */
void gemem_spans_append_whole (GArray *spans, guint64 address, guint64 size, GememSpanState state);
/* The same with memory that is no block. */
void gemem_spans_append_overhead (GArray *spans, guint64 address, guint64 size);
/* Puts @spans in the order of their addresses. */
void gemem_spans_sort (GArray *spans);
/* Calls @func for each: segments in address order, spans in address order within a segment.  Sorts
 * @spans. */
void gemem_spans_report (GArray *spans, GememSpanFunc func, gpointer data);
/* Appends all of the arena [@address, @address + @size), one segment: the blocks in it, @live, and
 * the free gaps between them.  Sorts @live. */
void gemem_spans_append_arena (GArray *spans, GArray *live, guint64 address, guint64 size);
/* FALSE with GEMEM_ERROR_INVARIANT if two of @live overlap, or one is not within that arena.  Sorts
 * @live. */
gboolean gemem_spans_check_arena (GArray *live, guint64 address, guint64 size, GError **error);

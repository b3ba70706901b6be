/* spans.c - see spans.h. */
#include "config.h"

#include "allocators/spans.h"

void
gemem_spans_append (const GememSpan *span, gpointer spans)
{
  g_array_append_vals (spans, span, 1);
}

void
gemem_spans_append_whole (GArray *spans, guint64 address, guint64 size, GememSpanState state)
{
  const GememSpan span = { .address = address,
                           .size = size,
                           .segment = address,
                           .segment_size = size,
                           .state = state,
                           .user = state == GEMEM_SPAN_LIVE ? address : 0 };

  if (size > 0)
    g_array_append_val (spans, span);
}

void
gemem_spans_append_overhead (GArray *spans, guint64 address, guint64 size)
{
  gemem_spans_append_whole (spans, address, size, GEMEM_SPAN_OVERHEAD);
}

static int
by_address (gconstpointer a, gconstpointer b)
{
  const GememSpan *x = a, *y = b;

  return (x->address > y->address) - (x->address < y->address);
}

void
gemem_spans_sort (GArray *spans)
{
  g_array_sort (spans, by_address);
}

static int
by_segment (gconstpointer a, gconstpointer b)
{
  const GememSpan *x = a, *y = b;

  if (x->segment != y->segment)
    return x->segment < y->segment ? -1 : 1;
  return by_address (a, b);
}

void
gemem_spans_report (GArray *spans, GememSpanFunc func, gpointer data)
{
  g_array_sort (spans, by_segment);
  for (guint i = 0; i < spans->len; i++)
    func (&g_array_index (spans, GememSpan, i), data);
}

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

/* ---- arenas */

static void
append_gap (GArray *spans, guint64 from, guint64 to, guint64 segment, guint64 segment_size)
{
  const GememSpan span = { .address = from,
                           .size = to - from,
                           .segment = segment,
                           .segment_size = segment_size,
                           .state = GEMEM_SPAN_FREE };

  if (to > from)
    g_array_append_val (spans, span);
}

void
gemem_spans_append_arena (GArray *spans, GArray *live, guint64 address, guint64 size)
{
  guint64 end = address;

  gemem_spans_sort (live);
  for (guint i = 0; i < live->len; i++)
    {
      const GememSpan *span = &g_array_index (live, GememSpan, i);

      append_gap (spans, end, span->address, address, size);
      g_array_append_vals (spans, span, 1);
      end = span->address + span->size;
    }
  append_gap (spans, end, address + size, address, size);
}

gboolean
gemem_spans_check_arena (GArray *live, guint64 address, guint64 size, GError **error)
{
  guint64 end = address;

  gemem_spans_sort (live);
  for (guint i = 0; i < live->len; i++)
    {
      const GememSpan *span = &g_array_index (live, GememSpan, i);

      if (span->address < end || span->size > address + size - span->address)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                       "block at offset %" G_GUINT64_FORMAT
                       " overlaps its neighbour or the end of the arena",
                       span->address - address);
          return FALSE;
        }
      end = span->address + span->size;
    }
  return TRUE;
}

/* heap-report.c - queries about a heap: its statistics now, why a request failed, which segment
 * contains an address, and the result at the end. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/live/heap-private.h"

/* ---- segments */

GememDevice *
gemem_heap_device (const GememHeap *heap)
{
  return heap->run->device;
}

typedef struct
{
  guint64 address, segment, size;
} Search;

static void
look_at (const GememSpan *span, gpointer data)
{
  Search *search = data;

  if (search->address < span->segment || search->address - span->segment >= span->segment_size)
    return;
  search->segment = span->segment;
  search->size = span->segment_size;
}

guint64
gemem_heap_segment (GememHeap *heap, guint64 address, guint64 *size)
{
  Search search = { .address = address };

  heap->run->klass->walk (heap->run->allocator, look_at, &search);
  *size = search.size;
  return search.segment;
}

/* ---- failures */

char *
gemem_heap_explain (GememHeap *heap)
{
  const GArray *failures = heap->run->result->oom;
  char text[6][GEMEM_FORMAT_MAX];
  const GememOom *oom;

  if (failures->len == 0 || failures->len < heap->run->result->ooms)
    return NULL; /* no failure, or more failures than are kept */
  oom = &g_array_index (failures, GememOom, failures->len - 1);
  return g_strdup_printf (
      "%s: out of memory: %s asked for, %s live, %s allocated, %s reserved, %s of %s left on the "
      "device: %s",
      heap->run->name, gemem_format_size (text[0], oom->requested),
      gemem_format_size (text[1], oom->live), gemem_format_size (text[2], oom->allocated),
      gemem_format_size (text[3], oom->reserved), gemem_format_size (text[4], oom->device_free),
      gemem_format_size (text[5], gemem_device_capacity (heap->run->device)),
      oom->avoidable ? "fragmented, another layout would have had room"
                     : "full, no layout would have had room");
}

/* ---- statistics */

const char *const gemem_heap_stats[] = { "live",      "allocated",      "reserved",
                                         "peak_live", "peak_allocated", "peak_reserved",
                                         "allocs",    "frees",          "failed",
                                         NULL };

guint64
gemem_heap_stat (GememHeap *heap, const char *name)
{
  const GememAccounts *accounts = &heap->run->accounts;
  const GememResult *result = heap->run->result;
  const guint64 values[] = { accounts->live,
                             accounts->allocated,
                             accounts->reserved,
                             accounts->peak_live,
                             accounts->peak_allocated,
                             accounts->peak_reserved,
                             result->allocs,
                             result->frees,
                             result->ooms };

  G_STATIC_ASSERT (G_N_ELEMENTS (values) + 1 == G_N_ELEMENTS (gemem_heap_stats));
  for (guint i = 0; gemem_heap_stats[i] != NULL; i++)
    if (strcmp (gemem_heap_stats[i], name) == 0)
      return values[i];
  return G_MAXUINT64;
}

void
gemem_heap_reset_peaks (GememHeap *heap)
{
  gemem_run_restart_peaks (heap->run);
}

GememResult *
gemem_heap_result (GememHeap *heap)
{
  return gemem_run_finish (heap->run);
}

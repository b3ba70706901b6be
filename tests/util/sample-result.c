/* sample-result.c - see sample-result.h. */
#include "config.h"

#include "base/units.h"
#include "sim/engine/run.h"
#include "tests/util/sample-result.h"

static void
fill_arrays (GememResult *result)
{
  const GememTimelinePoint points[] = {
    { 0, 0, GEMEM_GIB, GEMEM_GIB, 2 * GEMEM_GIB, GEMEM_GIB, GEMEM_GIB, 2 * GEMEM_GIB, G_MAXUINT64 },
    { 5, 2000, 5 * GEMEM_GIB / 2, 3 * GEMEM_GIB, 4 * GEMEM_GIB, 3 * GEMEM_GIB, 13 * GEMEM_GIB / 4,
      4 * GEMEM_GIB, 768 * GEMEM_MIB },
    { 9, 4000, 0, 0, GEMEM_GIB, 5 * GEMEM_GIB / 2, 3 * GEMEM_GIB, 4 * GEMEM_GIB, GEMEM_GIB },
  };
  const GememMapSpan spans[] = {
    { { 0x10000, 0x8000, 0x10000, 0x10000, 0, 0, GEMEM_SPAN_LIVE, 0x10000 },
      0x7f00,
      .cause = GEMEM_IDLE_CAUSES },
    { { 0x18000, 0x8000, 0x10000, 0x10000, 0, 0, GEMEM_SPAN_FREE, 0 },
      0,
      .cause = GEMEM_IDLE_PINNED },
    { { 0x40000, 0x1000, 0x40000, 0x4000, 7, 1, GEMEM_SPAN_PENDING, 0 },
      0,
      .cause = GEMEM_IDLE_WAITING },
    { { 0x41000, 0x1000, 0x40000, 0x4000, 7, 1, GEMEM_SPAN_OVERHEAD, 0 },
      0,
      .cause = GEMEM_IDLE_CAUSES },
    { { 0x42000, 0x2000, 0x40000, 0x4000, 7, 1, GEMEM_SPAN_UNMAPPED, 0 },
      0,
      .cause = GEMEM_IDLE_CAUSES },
  };
  const GememOom oom = { 6,
                         3,
                         5 * GEMEM_GIB,
                         0,
                         5 * GEMEM_GIB / 2,
                         3 * GEMEM_GIB,
                         4 * GEMEM_GIB,
                         8 * GEMEM_GIB,
                         4 * GEMEM_GIB,
                         768 * GEMEM_MIB,
                         TRUE,
                         0,
                         2,
                         GEMEM_MIB };
  const GememStreamUse streams[] = { { 0, 2 * GEMEM_GIB, 2 * GEMEM_GIB, 3 },
                                     { 0x7f0000000000, GEMEM_GIB, GEMEM_GIB, 2 },
                                     { G_MAXUINT64, 1, 512, 1 } };
  const GememSizeClassUse classes[] = { { 512, 1, 12, 500 },
                                        { 4 * GEMEM_GIB, 4, 512 * GEMEM_MIB, 2 * GEMEM_GIB } };
  const GememEpoch epoch = { 3 * GEMEM_GIB, 13 * GEMEM_GIB / 4, 4 * GEMEM_GIB,
                             GEMEM_GIB,     GEMEM_GIB,          1 };

  g_array_append_vals (result->timeline, points, G_N_ELEMENTS (points));
  g_array_append_vals (result->map, spans, G_N_ELEMENTS (spans));
  g_array_append_val (result->oom, oom);
  g_array_append_vals (result->streams, streams, G_N_ELEMENTS (streams));
  g_array_append_vals (result->classes, classes, G_N_ELEMENTS (classes));
  g_array_append_val (result->epochs, epoch);
}

void
test_sample_origins (GememResult *result)
{
  const GememOrigin load = { TRUE, FALSE, 0, "data.py:30 load" },
                    second = { TRUE, FALSE, 1, "data.py:30 load" },
                    initial = { TRUE, TRUE, 2, "[\303\244]" }, unknown = { TRUE, FALSE, 3, NULL };
  const GememNamedBlock blocks[] = { { 1, 2 * GEMEM_GIB, load },
                                     { 2, GEMEM_GIB, initial },
                                     { 4, GEMEM_GIB / 2, unknown },
                                     { 9, 512, { 0 } } };
  GememOom *oom = &g_array_index (result->oom, GememOom, 0);

  g_array_append_vals (result->largest, blocks, G_N_ELEMENTS (blocks));
  g_array_append_vals (result->leaked, &blocks[1], 1);
  oom->origin = (GememOrigin){ TRUE, FALSE, oom->seq, "train.py:212 forward (mm)" };
  oom->blocking_origin = second;
  g_array_index (result->map, GememMapSpan, 0).id = 1;
  g_array_index (result->map, GememMapSpan, 0).origin = load;
}

GememResult *
test_sample_result (const char *trace, const char *label)
{
  GememResult *result = gemem_result_new ();
  result->trace = g_strdup (trace);
  result->label = g_strdup (label);
  result->allocator = g_strdup ("sample");
  result->device = g_strdup ("sim:capacity=8GiB");
  result->parameters = gemem_settings_new ();
  result->device_settings = gemem_settings_new ();
  result->variables = gemem_settings_new ();
  gemem_settings_add (result->variables, "FLAGS_chunk_mb", "64");
  result->lowering = gemem_settings_new ();
  gemem_settings_add (result->lowering, "fused gradients", "3 of 3 in 2 groups");
  result->stats = gemem_settings_new ();
  gemem_settings_add (result->parameters, "chunk_mb", "64");
  gemem_settings_add (result->parameters, "path", NULL);
  gemem_settings_add (result->device_settings, "capacity", "8GiB");
  gemem_settings_add (result->stats, "num_ooms", "1");
  gemem_settings_add (result->stats, "num_retries", "0");
  result->events = 10;
  result->allocs = 5;
  result->frees = 4;
  result->failed_allocs = result->ooms = result->ooms_avoidable = 1;
  result->capacity = 8 * GEMEM_GIB;
  result->peak_live = 3 * GEMEM_GIB;
  result->peak_live_seq = 4;
  result->peak_allocated = 13 * GEMEM_GIB / 4;
  result->peak_allocated_seq = 4;
  result->peak_reserved = 4 * GEMEM_GIB;
  result->peak_reserved_seq = 5;
  result->lower_bound = 25 * GEMEM_GIB / 8;
  result->allocated_at_live_peak = 13 * GEMEM_GIB / 4;
  result->reserved_at_live_peak = 7 * GEMEM_GIB / 2;
  result->largest_free_at_live_peak = 192 * GEMEM_MIB;
  result->calls[GEMEM_CALL_MALLOC] = 4;
  result->refused[GEMEM_CALL_MALLOC] = 1;
  result->call_ns[GEMEM_CALL_MALLOC] = 400000;
  result->calls[GEMEM_CALL_FREE] = 2;
  result->call_ns[GEMEM_CALL_FREE] = 100000;
  result->modelled_total_ns = 501500;
  gemem_histogram_init (&result->alloc_ns);
  gemem_histogram_init (&result->free_ns);
  for (guint64 ns = 50; ns <= 100000; ns *= 10)
    gemem_histogram_add (&result->alloc_ns, ns);
  gemem_histogram_init (&result->measured_alloc_ns);
  gemem_histogram_init (&result->measured_free_ns);
  fill_arrays (result);
  return result;
}

GememResult *
test_served_result (const char *trace, const char *label)
{
  GememResult *result = test_sample_result (trace, label);
  result->failed_allocs = result->ooms = result->ooms_avoidable = 0;
  g_array_set_size (result->oom, 0);
  return result;
}

void
test_free_results (GememResult **results, guint n)
{
  for (guint i = 0; i < n; i++)
    gemem_result_free (results[i]);
}

char *
test_report_of (GememReportFormat format, GememResult *const *results, guint n, gboolean details,
                guint width)
{
  GString *out = g_string_new (NULL);
  const GememReportOptions options = { .details = details, .verbose = TRUE, .width = width };

  gemem_report_write (out, format, results, n, &options);
  return g_string_free (out, FALSE);
}

/* test-pytorch-samples.c - snapshots that PyTorch 2.6, 2.11 and 2.15 wrote (tests/data/pytorch)
 * through `pytorch-caching` without any option, so with segments where they were recorded; ranges on
 * a device like the recorded one.
 *
 * Compared are every decision and every device call, in order, releases of both causes among them,
 * and the figures of expected.tsv, which were computed with Python's pickle, independently of
 * gemem. A file written from the snapshot must give the same results.
 */
#include "config.h"

#include <string.h>

#include "sim/engine/replay.h"
#include "tests/util/event-source.h"
#include "tests/util/testutil.h"
#include "traces/summary.h"

/* Columns of expected.tsv after the name. */
enum
{
  ALLOCS,
  FREES,
  FAILED,
  SEGMENT_ALLOCS,
  SEGMENT_FREES,
  INITIAL_BLOCKS,
  INITIAL_LIVE,
  PEAK_LIVE,
  PEAK_RESERVED,
  END_LIVE,
  END_RESERVED,
  EMPTIED,
  GUESSED,
  REFUSED,
  COLUMNS
};

typedef struct
{
  char *name;
  guint64 figures[COLUMNS];
} Sample;

static gboolean
is_expandable (const Sample *sample)
{
  return g_str_has_prefix (sample->name, "expandable");
}

static void
sample_free (gpointer data)
{
  g_free (((Sample *) data)->name);
  g_free (data);
}

static GPtrArray *
read_samples (void)
{
  g_autofree char *path = test_source_path ("tests/data/pytorch/expected.tsv"), *text = NULL;
  GPtrArray *samples = g_ptr_array_new_with_free_func (sample_free);

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (g_strchomp (text), "\n", -1);
  for (guint i = 1; lines[i] != NULL; i++)
    {
      g_auto (GStrv) words = g_strsplit (lines[i], "\t", -1);
      Sample *sample = g_new0 (Sample, 1);
      g_assert_cmpuint (g_strv_length (words), ==, COLUMNS + 1);
      sample->name = g_strdup (words[0]);
      for (guint c = 0; c < COLUMNS; c++)
        sample->figures[c] = g_ascii_strtoull (words[c + 1], NULL, 10);
      g_ptr_array_add (samples, sample);
    }
  g_assert_cmpuint (samples->len, >=, 25);
  return samples;
}

#define equal(a, b) g_assert_cmpuint ((a), ==, (b))

/* The reader's own figures, without any allocator. */
static void
check_summary (const Sample *sample, const char *path)
{
  const guint64 *f = sample->figures;
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = test_open_path ((gpointer) path, &error);
  g_assert_no_error (error);
  GememTraceSummary *summary = gemem_trace_summarise (reader, &error);
  g_assert_no_error (error);
  equal (summary->devices->len, 1);
  const GememDeviceSummary *s = summary->devices->pdata[0];
  equal (s->by_kind[GEMEM_EVENT_ALLOC], f[ALLOCS] + f[INITIAL_BLOCKS]);
  equal (s->by_kind[GEMEM_EVENT_FREE_COMPLETED], f[FREES]);
  equal (s->by_kind[GEMEM_EVENT_OOM], f[FAILED]);
  equal (s->initial_blocks, f[INITIAL_BLOCKS]);
  equal (s->initial_bytes, f[INITIAL_LIVE]);
  equal (s->peak_live, f[PEAK_LIVE]);
  equal (s->peak_reserved, f[PEAK_RESERVED]);
  equal (s->end_live, f[END_LIVE]);
  g_assert_cmpuint (s->streams->len, >, 0);
  gemem_trace_summary_free (summary);
  gemem_trace_close (reader);
}

static void
check_replay (const Sample *sample, const char *path, const char *device, gboolean exact)
{
  const guint64 *f = sample->figures;
  /* the limit at which garbage is collected is a setting, on every device */
  const gboolean limited = g_str_has_prefix (sample->name, "collected");
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GError) error = NULL;

  g_assert_true (gemem_allocator_spec_parse ("pytorch-caching", specs, NULL));
  GememJob job = { .allocator = specs->pdata[0],
                   .device_spec = device,
                   .device_ordinal = -1,
                   .source = test_open_path,
                   .source_data = (gpointer) path,
                   .use_trace_settings = TRUE,
                   .full_checks = exact };
  GememResult *result = gemem_job_run (&job, &error);
  g_assert_no_error (error);
  equal (result->end_live, f[END_LIVE]);
  equal (result->recorded_ooms, f[FAILED]);
  equal (result->recorded_ooms_served, exact || limited ? 0 : f[FAILED]);
  if (exact || f[FAILED] == 0)
    equal (result->peak_live, f[PEAK_LIVE]);
  else
    g_assert_cmpuint (result->peak_live, >=, f[PEAK_LIVE]); /* with what had been refused */
  if (exact)
    {
      equal (result->allocs, f[ALLOCS] + f[FAILED]);
      equal (result->ooms, f[FAILED]);
      equal (result->peak_reserved, f[PEAK_RESERVED]);
      equal (result->end_reserved, f[END_RESERVED]);
      equal (result->calls[GEMEM_CALL_MALLOC] - result->refused[GEMEM_CALL_MALLOC],
             f[SEGMENT_ALLOCS]);
      equal (result->calls[GEMEM_CALL_FREE], f[SEGMENT_FREES]);
      equal (result->fidelity.first_difference, G_MAXUINT64);
      equal (result->fidelity.equal, f[ALLOCS] + f[FAILED]);
      equal (result->fidelity.first_segment_difference, G_MAXUINT64);
      equal (result->fidelity.segments_equal, result->fidelity.segments_compared);
      if (!is_expandable (sample)) /* expected.tsv does not count mappings */
        equal (result->fidelity.segments_equal, f[SEGMENT_ALLOCS] + f[SEGMENT_FREES]);
    }
  else /* another device does not repeat the recorded one, and has memory for what that one refused */
    {
      equal (result->allocs, f[ALLOCS] + f[INITIAL_BLOCKS] + f[FAILED]);
      equal (result->ooms, limited ? f[FAILED] : 0);
      equal (result->refused[GEMEM_CALL_MALLOC], 0);
    }
  gemem_result_free (result);
}

/* The snapshot written as a native trace. */
static char *
convert (const char *path)
{
  g_autoptr (GError) error = NULL;
  char *copy = g_build_filename (test_tmpdir (), "copy.gmt", NULL);
  GememTraceReader *reader = test_open_path ((gpointer) path, &error);
  g_assert_no_error (error);
  GememTraceWriter *writer = gemem_trace_create (copy, NULL, &reader->info, &error);
  const GememTraceEvent *events;
  gssize n;
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    g_assert_true (writer->write (writer, events, (gsize) n, &error));
  g_assert_no_error (error);
  g_assert_true (writer->finish (writer, &error));
  gemem_trace_close (reader);
  return copy;
}

static void
test_sample (gconstpointer data)
{
  const Sample *sample = data;
  g_autofree char *relative = g_build_filename ("tests/data/pytorch", sample->name, NULL),
                  *path = test_source_path (relative);

  check_summary (sample, path);
  if (sample->figures[ALLOCS] > 0)
    {
      /* Ranges are longer than the device's memory, so it must not have more than the recorded one;
       * and they lay elsewhere than those that are not recorded. */
      const char *device = is_expandable (sample)
                               ? "sim:address=recorded,capacity=900MiB,va_base=0x500000000000"
                               : NULL;

      check_replay (sample, path, device, TRUE);
      g_autofree char *copy = convert (path);
      check_replay (sample, copy, device, TRUE);
    }
  check_replay (sample, path, "sim:capacity=200GiB,address=bump", FALSE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_autoptr (GPtrArray) samples = read_samples ();
  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *sample = samples->pdata[i];
      g_autofree char *name = g_strconcat ("/pytorch-samples/", sample->name, NULL);
      g_test_add_data_func (name, sample, test_sample);
    }
  return g_test_run ();
}

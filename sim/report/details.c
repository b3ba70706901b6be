/* details.c - one result for people: the output of `replay`.  First whether every request was served;
 * all that a person may want to look up beside that is behind --verbose.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/report/measures.h"
#include "sim/report/notes.h"
#include "sim/report/report-private.h"
#include "sim/report/rows.h"

static gboolean
shows (const GememMeasure *measure, gboolean verbose)
{
  return verbose ? measure->rank < GEMEM_RANK_CALLS
                 : (measure->traits & (GEMEM_TRAIT_BRIEF | GEMEM_TRAIT_ALONE)) != 0;
}

static void
append_measures (GString *out, const GememResult *result, gboolean verbose)
{
  char text[GEMEM_MEASURE_TEXT];
  for (const GememMeasure *measure = gemem_measures; measure->key != NULL; measure++)
    if (shows (measure, verbose) && gemem_measure_applies (measure, result))
      {
        g_string_append_printf (out, "  %-26s %14s", measure->title,
                                gemem_measure_text (measure, result, text));
        if (measure->unit == GEMEM_UNIT_BYTES && gemem_measure_known (measure, result)
            && measure->integer (result) != GEMEM_UNLIMITED)
          g_string_append_printf (out, "  %" G_GUINT64_FORMAT " bytes", measure->integer (result));
        if (strcmp (measure->key, "peak_reserved") == 0)
          g_string_append_printf (out, ", after event %" G_GUINT64_FORMAT,
                                  result->peak_reserved_seq);
        if (strcmp (measure->key, "peak_live") == 0)
          g_string_append_printf (out, ", after event %" G_GUINT64_FORMAT, result->peak_live_seq);
        g_string_append_c (out, '\n');
        if (strcmp (measure->key, "peak_reserved") == 0 && gemem_report_counts_pages (result))
          g_string_append_printf (
              out, "  (in CUDA's pages of 2 MiB; %s asked for %s, and reports that)\n",
              result->allocator, gemem_format_size (text, result->peak_asked));
      }
  if (result->least_capacity == G_MAXUINT64)
    g_string_append (out, "  (it fails on a device of any size: a limit of the allocator's own, or "
                          "a request that it never serves)\n");
  else if (result->least_capacity != 0 && !result->capacity_monotone)
    g_string_append (out, "  (some larger capacities fail: least capacity is the first that fits "
                          "in the search, not a guarantee above it)\n");
}

static void
append_calls (GString *out, const GememResult *result)
{
  char text[GEMEM_FORMAT_MAX];
  g_string_append (out,
                   "\ndevice calls                          count      refused   modelled time\n");
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    if (result->calls[call] > 0)
      g_string_append_printf (out, "  %-24s %16" G_GUINT64_FORMAT " %12" G_GUINT64_FORMAT " %15s\n",
                              gemem_device_call_name ((GememDeviceCall) call), result->calls[call],
                              result->refused[call],
                              gemem_format_time (text, result->call_ns[call]));
}

static void
append_latency (GString *out, const char *label, const GememHistogram *latency)
{
  char text[6][GEMEM_FORMAT_MAX];
  if (latency->count == 0)
    return;
  g_string_append_printf (out, "  %-18s %12s %12s %12s %12s %12s %12s\n", label,
                          gemem_format_time (text[0], latency->sum / latency->count),
                          gemem_format_time (text[1], gemem_histogram_percentile (latency, 500)),
                          gemem_format_time (text[2], gemem_histogram_percentile (latency, 900)),
                          gemem_format_time (text[3], gemem_histogram_percentile (latency, 990)),
                          gemem_format_time (text[4], gemem_histogram_percentile (latency, 999)),
                          gemem_format_time (text[5], latency->max));
}

static void
append_latencies (GString *out, const GememResult *result)
{
  g_string_append_printf (out, "\n%-20s %12s %12s %12s %12s %12s %12s\n", "latency", "mean", "p50",
                          "p90", "p99", "p99.9", "max");
  append_latency (out, "alloc, modelled", &result->alloc_ns);
  append_latency (out, "free, modelled", &result->free_ns);
  append_latency (out, "alloc, measured", &result->measured_alloc_ns);
  append_latency (out, "free, measured", &result->measured_free_ns);
}

/* Modelled and measured latencies side by side, by kind. */
static void
append_measured_calls (GString *out, const GememResult *result)
{
  char text[5][GEMEM_FORMAT_MAX];

  if (result->measured_calls == NULL)
    return;
  g_string_append_printf (out, "\n%-16s %12s %12s %12s %12s %12s %12s\n", "calls, measured",
                          "count", "mean modelled", "mean", "p50", "p99", "max");
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    {
      const GememHistogram *times = &result->measured_calls[call];
      if (times->count > 0)
        g_string_append_printf (
            out, "  %-14s %12" G_GUINT64_FORMAT " %13s %12s %12s %12s %12s\n",
            gemem_device_call_name ((GememDeviceCall) call), times->count,
            gemem_format_time (text[0], result->call_ns[call] / MAX (result->calls[call], 1)),
            gemem_format_time (text[1], times->sum / times->count),
            gemem_format_time (text[2], gemem_histogram_percentile (times, 500)),
            gemem_format_time (text[3], gemem_histogram_percentile (times, 990)),
            gemem_format_time (text[4], times->max));
    }
}

/* "event 7: block 3 of 20.00 MiB by train.py:9 main failed with ... reserved of ..." */
static void
append_failed (GString *out, const GememOom *oom)
{
  char size[5][GEMEM_FORMAT_MAX], name[GEMEM_FORMAT_MAX];
  g_autofree char *block = oom->wake ? g_strdup ("waking")
                           : oom->id == GEMEM_REFUSED_ID
                               ? g_strdup ("the request that failed when recorded,")
                               : g_strconcat (gemem_block_text (name, oom->id), " of", NULL);

  g_string_append_printf (out, "  event %" G_GUINT64_FORMAT ": %s %s", oom->seq, block,
                          gemem_format_size (size[0], oom->requested));
  gemem_origin_append_by (out, oom->origin.by);
  g_string_append_printf (
      out, " failed with %s live, %s allocated, %s reserved of %s",
      gemem_format_size (size[1], oom->live), gemem_format_size (size[2], oom->allocated),
      gemem_format_size (size[3], oom->reserved), gemem_format_size (size[4], oom->capacity));
}

/* "avoidable: ...", or that it is not. */
static void
append_reason (GString *out, const GememOom *oom)
{
  char size[3][GEMEM_FORMAT_MAX], block[GEMEM_FORMAT_MAX];

  if (!oom->avoidable)
    {
      g_string_append_printf (
          out, "    true: no layout could have served it; %s would have to be freed first",
          gemem_format_size (size[0], oom->missing));
      return;
    }
  g_string_append_printf (
      out, "    avoidable: the device has %s free and the cache %s in its largest piece",
      gemem_format_size (size[0], oom->device_free),
      gemem_format_size (size[1], oom->largest_free));
  if (oom->waiting)
    g_string_append (out, "; what is freed and waits for its streams would do, so the same request "
                          "fits when they are done");
  else if (oom->blocking_id != 0)
    {
      g_string_append_printf (out, "; without %s (%s", gemem_block_text (block, oom->blocking_id),
                              gemem_format_size (size[2], oom->blocking_size));
      gemem_origin_describe (out, ", ", &oom->blocking_origin);
      g_string_append (out, ") it would fit");
    }
  else if (oom->device_free >= oom->requested)
    g_string_append (out, "; it is not memory that lacks: the allocator has a limit of its own, or "
                          "takes more at a time");
}

/* A failed request and its reason. */
static void
append_oom (GString *out, const GememOom *oom, gboolean verbose)
{
  g_autoptr (GString) failed = g_string_new (NULL), reason = g_string_new (NULL);

  append_failed (failed, oom);
  append_reason (reason, oom);
  gemem_report_append_line (out, failed->str, "    ", verbose);
  gemem_report_append_line (out, reason->str, "    ", verbose);
}

static void
append_ooms (GString *out, const GememResult *result, gboolean verbose)
{
  const guint shown = MIN (result->oom != NULL ? result->oom->len : 0, verbose ? 20 : 3);
  if (result->ooms == 0)
    return;
  g_string_append_printf (
      out, "\nfailed requests: %" G_GUINT64_FORMAT ", avoidable: %" G_GUINT64_FORMAT "\n",
      result->ooms, result->ooms_avoidable);
  if (shown > 0 && gemem_oom_is_unbegun (&g_array_index (result->oom, GememOom, 0)))
    {
      g_string_append (out,
                       "  none was served, as the allocator did not begin (NOT ALLOWED, above)\n");
      return;
    }
  for (guint i = 0; i < shown; i++)
    append_oom (out, &g_array_index (result->oom, GememOom, i), verbose);
  if (result->ooms > shown)
    g_string_append_printf (out,
                            "  ... and %" G_GUINT64_FORMAT " more (--format=json keeps up to %u)\n",
                            result->ooms - shown, result->oom->len);
}

static void
append_blocks (GString *out, const char *title, const GArray *blocks)
{
  if (blocks->len == 0)
    return;
  g_string_append_printf (out, "\n%s\n  %14s  %10s" GEMEM_BLOCK_HEAD, title, "requested", "block");
  for (guint i = 0; i < blocks->len; i++)
    {
      const GememNamedBlock *block = &g_array_index (blocks, GememNamedBlock, i);
      char size[GEMEM_FORMAT_MAX];
      g_autofree char *id = block->id == GEMEM_REFUSED_ID
                                ? g_strdup ("refused")
                                : g_strdup_printf ("%" G_GUINT64_FORMAT, block->id);
      g_string_append_printf (out, "  %14s  %10s", gemem_format_size (size, block->size), id);
      gemem_report_append_origin (out, &block->origin);
    }
}

#define STREAMS_SHOWN 10

static gint
compare_streams (gconstpointer a, gconstpointer b)
{
  const GememStreamUse *x = *(GememStreamUse *const *) a, *y = *(GememStreamUse *const *) b;

  return x->peak_live != y->peak_live
             ? (x->peak_live < y->peak_live) - (x->peak_live > y->peak_live)
             : (x > y) - (x < y);
}

/* The streams with the largest peaks, the largest first, and what the others did. */
static void
append_streams (GString *out, const GememResult *result)
{
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();
  char size[2][GEMEM_FORMAT_MAX];
  guint64 others = 0;

  if (result->streams == NULL || result->streams->len < 2)
    return;
  for (guint i = 0; i < result->streams->len; i++)
    g_ptr_array_add (sorted, &g_array_index (result->streams, GememStreamUse, i));
  if (sorted->len > STREAMS_SHOWN)
    g_ptr_array_sort (sorted, compare_streams);
  g_string_append (out, "\nstream                        allocs      peak live  peak allocated\n");
  for (guint i = 0; i < sorted->len; i++)
    {
      const GememStreamUse *use = sorted->pdata[i];
      g_autofree char *name = use->stream == G_MAXUINT64
                                  ? g_strdup ("all others")
                                  : g_strdup_printf ("0x%" G_GINT64_MODIFIER "x", use->stream);
      if (i >= STREAMS_SHOWN)
        others += use->allocs;
      else
        g_string_append_printf (out, "  %-20s %12" G_GUINT64_FORMAT " %14s %15s\n", name,
                                use->allocs, gemem_format_size (size[0], use->peak_live),
                                gemem_format_size (size[1], use->peak_allocated));
    }
  if (sorted->len <= STREAMS_SHOWN)
    return;
  g_autofree char *more = g_strdup_printf ("%u streams more", sorted->len - STREAMS_SHOWN);
  g_string_append_printf (out, "  %-20s %12" G_GUINT64_FORMAT "\n", more, others);
}

static void
append_classes (GString *out, const GememResult *result)
{
  char size[3][GEMEM_FORMAT_MAX];
  if (result->classes == NULL || result->classes->len == 0)
    return;
  g_string_append (
      out, "\nrequests up to                allocs   live, at the  internal waste, at the\n"
           "                                       allocated peak          allocated peak\n");
  for (guint i = 0; i < result->classes->len; i++)
    {
      const GememSizeClassUse *use = &g_array_index (result->classes, GememSizeClassUse, i);
      if (use->allocs > 0)
        g_string_append_printf (out, "  %-20s %12" G_GUINT64_FORMAT " %14s %23s\n",
                                gemem_format_size (size[0], use->limit), use->allocs,
                                gemem_format_size (size[1], use->live_at_peak),
                                gemem_format_size (size[2], use->internal_waste_at_peak));
    }
}

static void
append_epochs (GString *out, const GememResult *result)
{
  char size[5][GEMEM_FORMAT_MAX];
  if (result->epochs == NULL || result->epochs->len < 2)
    return;
  g_string_append (out, "\nepoch      peak live  peak allocated   peak reserved  reserved at end   "
                        " largest free   failed\n");
  for (guint i = 0; i < result->epochs->len; i++)
    {
      const GememEpoch *epoch = &g_array_index (result->epochs, GememEpoch, i);
      g_string_append_printf (out, "%5u %14s %15s %15s %16s %15s %8" G_GUINT64_FORMAT "\n", i + 1,
                              gemem_format_size (size[0], epoch->peak_live),
                              gemem_format_size (size[1], epoch->peak_allocated),
                              gemem_format_size (size[2], epoch->peak_reserved),
                              gemem_format_size (size[3], epoch->end_reserved),
                              gemem_format_size (size[4], epoch->end_largest_free), epoch->ooms);
    }
}

/* Of a run that repeats the recording; what other settings or places decide otherwise is no fault. */
static void
append_fidelity (GString *out, const GememResult *result)
{
  const GememFidelity *f = &result->fidelity;
  g_autofree char *text = gemem_report_fidelity (result);

  if (text == NULL)
    return;
  g_string_append_printf (out, "\n%s\n", text);
  if (f->first_difference != G_MAXUINT64 && f->equal < f->compared)
    g_string_append_printf (out,
                            "  first difference at event %" G_GUINT64_FORMAT
                            ": recorded 0x%" G_GINT64_MODIFIER "x, here 0x%" G_GINT64_MODIFIER
                            "x\n",
                            f->first_difference, f->expected_address, f->got_address);
}

static void
append_counts (GString *out, const GememResult *result)
{
  const struct
  {
    const char *text; /* with one '~', the plural */
    guint64 n;
  } counts[] = {
    { "block~ from before the recording, replayed first", result->initial_blocks },
    { "request~ of 0 bytes, for which there is no block", result->zero_allocs },
    { "free~ of requests that had failed, skipped", result->skipped_frees },
    { "block~ never freed by the trace", result->leaked_blocks },
    { "graph~ loaded", result->graph_loads },
    { "inconsistent event~ left out (--allow-partial)", result->inconsistent },
    { "time~ memory was put to sleep", result->sleeps },
    { "block~ allocated in memory that sleeps", result->sleeping_allocs },
    { "sleep, pause and wake event~ passed over: this allocator's memory does not sleep",
      result->unslept },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (counts); i++)
    if (counts[i].n > 0)
      {
        const int name = (int) strcspn (counts[i].text, "~");

        g_string_append_printf (out, "  %" G_GUINT64_FORMAT " %.*s%s%s\n", counts[i].n, name,
                                counts[i].text, gemem_plural (counts[i].n),
                                counts[i].text + name + 1);
      }
}

/* How the events of programs that share a device follow one another. */
static const char *
order_text (const char *order)
{
  return strcmp (order, "time") == 0     ? "by time"
         : strcmp (order, "evenly") == 0 ? "evenly, so that all begin and end together"
                                         : "in turn, one of each";
}

/* All that --verbose adds behind the measures and failures. */
static void
append_statistics (GString *out, const GememResult *result)
{
  append_blocks (out, "largest blocks at the live peak", result->largest);
  append_blocks (out, "largest blocks never freed by the trace", result->leaked);
  append_calls (out, result);
  append_latencies (out, result);
  append_measured_calls (out, result);
  append_streams (out, result);
  append_classes (out, result);
  append_epochs (out, result);
  append_fidelity (out, result);
  gemem_report_statistics (out, result->stats);
  gemem_report_settings (out, "parameters", result->parameters);
  gemem_report_settings (out, "from the environment", result->variables);
  gemem_report_settings (out, "the lowering of the graph", result->lowering);
}

void
gemem_report_details (GString *out, const GememResult *result, gboolean verbose)
{
  g_autoptr (GString) head = g_string_new (NULL);
  g_autofree char *answer = verbose ? NULL : gemem_report_answer (result);
  g_autofree char *group = gemem_report_group (result);
  if (result->not_run)
    {
      g_string_append_printf (out, "%s through %s: not run: %s\n", group, result->label,
                              result->failure);
      return;
    }
  g_autofree char *meaning = gemem_report_meaning (result),
                  *unfit = gemem_report_unfit_state (result);
  g_string_append_printf (head, "%s through %s%s%s%s on %s", group, result->label,
                          meaning != NULL ? " (" : "", meaning != NULL ? meaning : "",
                          meaning != NULL ? ")" : "",
                          result->device != NULL ? result->device : "a device");
  gemem_report_append_line (out, head->str, "  ", verbose);
  if (answer != NULL)
    g_string_append_printf (out, "%s\n", answer);
  if (result->hardware != NULL)
    g_string_append_printf (out, "  %s\n", result->hardware);
  if (result->device_from != NULL)
    g_string_append_printf (out, "  %s\n", result->device_from);
  g_string_append_printf (out,
                          "  %" G_GUINT64_FORMAT " event%s, %" G_GUINT64_FORMAT
                          " allocation%s, %" G_GUINT64_FORMAT " free%s\n",
                          result->events, gemem_plural (result->events), result->allocs,
                          gemem_plural (result->allocs), result->frees,
                          gemem_plural (result->frees));
  append_counts (out, result);
  gemem_report_append_refused (out, result);
  if (result->programs != NULL)
    g_string_append_printf (out,
                            "  %u programs share the device; their events follow one another %s\n",
                            result->programs->len, order_text (result->share_order));
  if (result->partial)
    g_string_append (out, "  PARTIAL: the run was interrupted or the trace is damaged; what "
                          "follows holds for the part that was replayed\n");
  if (result->failure != NULL)
    g_string_append_printf (out, "  STOPPED: %s\n", result->failure);
  if (result->not_allowed != NULL)
    g_string_append_printf (out, "  NOT ALLOWED: %s\n", result->not_allowed);
  if (result->approximation != NULL)
    g_string_append_printf (out, "  APPROXIMATION: %s\n", result->approximation);
  if (unfit != NULL)
    g_string_append_printf (out, "  %s\n", unfit);
  g_string_append (out, verbose ? "\nmeasures\n" : "");
  append_measures (out, result, verbose);
  if (result->programs != NULL)
    gemem_report_programs (out, (GememResult *const *) &result, 1);
  else
    append_ooms (out, result, verbose);
  gemem_report_idle (out, result, verbose);
  if (verbose)
    append_statistics (out, result);
  else
    append_fidelity (out, result);
  for (guint i = 0; verbose && result->programs != NULL && i < result->programs->len; i++)
    {
      g_string_append_c (out, '\n');
      gemem_report_details (out, result->programs->pdata[i], TRUE);
    }
}

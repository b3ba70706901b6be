/* plot-data.c - the .dat files: raw integers in bytes, ns and counts, so that they serve other
 * programs too (calls: plot-calls.c).
 *
 * comparison: a row per allocator.  timeline, fragmentation: a block per allocator (gnuplot's
 * `index`), two empty lines between. Pictures with many panels get fewer points: neighbours are
 * merged as the engine does, the larger maximum and the later end, so no peak is lost.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/report/plot.h"

#define U "%" G_GUINT64_FORMAT

void
gemem_plot_append_text (GString *out, const char *text)
{
  g_string_append (out, " \"");
  for (; *text != '\0'; text++)
    g_string_append_c (out, *text == '"' ? '\'' : (guchar) *text < 0x20 ? ' ' : *text);
  g_string_append_c (out, '"');
}

/* A comment line. */
static void
append_comment (GString *out, const char *before, const char *text)
{
  g_string_append_printf (out, "# %s", before);
  for (; *text != '\0'; text++)
    g_string_append_c (out, (guchar) *text < 0x20 ? ' ' : *text);
  g_string_append_c (out, '\n');
}

char *
gemem_plot_bar_text (const GememResult *result)
{
  char size[GEMEM_FORMAT_MAX];
  GString *text = g_string_new (gemem_format_size (size, result->peak_reserved));
  if (result->ooms > 0)
    g_string_append_printf (text, ", " U " failed", result->ooms);
  if (result->failure != NULL)
    g_string_append (text, ", stopped");
  else if (result->partial)
    g_string_append (text, ", partial");
  return g_string_free (text, FALSE);
}

static void
append_comparison (GString *out, const GememPlotGroup *group)
{
  g_string_append (out, "# bytes; latencies of an allocation, modelled, ns\n"
                        "# row peak_live peak_allocated peak_reserved lower_bound "
                        "utilisation_permille alloc_p50 alloc_p99 alloc_max modelled_time "
                        "failed text allocator\n");
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *r = group->results->pdata[i];
      g_autofree char *text = gemem_plot_bar_text (r);
      g_string_append_printf (out, "%u " U " " U " " U " " U " %u", i, r->peak_live,
                              r->peak_allocated, r->peak_reserved, r->lower_bound,
                              (guint) (1000 * gemem_result_utilisation (r) + 0.5));
      g_string_append_printf (out, " " U " " U " " U " " U " " U,
                              gemem_histogram_percentile (&r->alloc_ns, 500),
                              gemem_histogram_percentile (&r->alloc_ns, 990), r->alloc_ns.max,
                              r->modelled_total_ns, r->ooms);
      gemem_plot_append_text (out, text);
      gemem_plot_append_text (out, r->label);
      g_string_append_c (out, '\n');
    }
}

static void
merge (GememTimelinePoint *into, const GememTimelinePoint *next)
{
  const GememTimelinePoint before = *into;
  *into = *next;
  into->live_max = MAX (before.live_max, next->live_max);
  into->allocated_max = MAX (before.allocated_max, next->allocated_max);
  into->reserved_max = MAX (before.reserved_max, next->reserved_max);
}

static void
append_point (GString *out, GememPlotKind kind, const GememTimelinePoint *p)
{
  char largest[GEMEM_FORMAT_MAX] = "NaN";
  if (p->largest_free != G_MAXUINT64)
    g_snprintf (largest, sizeof largest, U, p->largest_free);
  if (kind == GEMEM_PLOT_TIMELINE)
    g_string_append_printf (out, U " " U " " U " " U " " U "\n", p->seq, p->time, p->live_max,
                            p->allocated_max, p->reserved_max);
  else
    g_string_append_printf (out, U " " U " " U " " U " %s\n", p->seq, p->time, p->allocated,
                            p->reserved, largest);
}

/* The timeline of @result in at most @max points. */
static void
append_points (GString *out, GememPlotKind kind, const GememResult *result, guint max)
{
  const guint n = result->timeline->len, stride = (n + max - 1) / max;
  for (guint i = 0; i < n; i += stride)
    {
      GememTimelinePoint point = g_array_index (result->timeline, GememTimelinePoint, i);
      for (guint j = i + 1; j < MIN (i + stride, n); j++)
        merge (&point, &g_array_index (result->timeline, GememTimelinePoint, j));
      append_point (out, kind, &point);
    }
}

static void
append_over_time (GString *out, GememPlotKind kind, const GememPlotGroup *group)
{
  const guint n = gemem_plot_timelines (group);
  const guint max = n <= 3 ? 1000 : n <= 8 ? 500 : 350;
  guint index = 0;
  g_string_append (out, kind == GEMEM_PLOT_TIMELINE
                            ? "# bytes, the largest value of each between this row and the one "
                              "before; time in ns\n# event time live allocated reserved\n"
                            : "# bytes after the event; largest_free: largest request that could "
                              "be served from the cache; time in ns\n"
                              "# event time allocated reserved largest_free\n");
  for (guint i = 0; i < group->results->len; i++)
    {
      const GememResult *result = group->results->pdata[i];
      g_autofree char *before = g_strdup_printf ("index %u: ", index);
      if (result->timeline == NULL || result->timeline->len == 0)
        continue;
      g_string_append (out, index++ > 0 ? "\n\n" : "");
      append_comment (out, before, result->label);
      append_points (out, kind, result, max);
    }
}

void
gemem_plot_data (GString *out, GememPlotKind kind, const GememPlotGroup *group)
{
  append_comment (out, "", group->title);
  if (kind == GEMEM_PLOT_COMPARISON)
    append_comparison (out, group);
  else if (kind == GEMEM_PLOT_CALLS)
    gemem_plot_calls_data (out, group);
  else if (kind == GEMEM_PLOT_MEASURED)
    gemem_plot_measured_data (out, group);
  else if (kind == GEMEM_PLOT_LATENCY)
    gemem_plot_latency_data (out, group);
  else
    append_over_time (out, kind, group);
}

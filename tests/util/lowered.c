/* lowered.c - see lowered.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "tests/util/graphs.h"
#include "tests/util/lowered.h"
#include "traces/summary.h"
#include "traces/validate.h"
#include "workloads/lowering.h"

static void
append_event (GString *text, const GememTraceEvent *event)
{
  static const char letters[] = "?afrcusew????S????????m";
  const char letter = event->kind == GEMEM_EVENT_DEVICE_SYNC ? 'D' : letters[event->kind];

  g_string_append_printf (text, "%s%c", text->len > 0 ? " " : "", letter);
  if (letter != 'D')
    g_string_append_printf (text, "%" G_GUINT64_FORMAT, event->id);
  if (event->size > 0)
    g_string_append_printf (text, ":%" G_GUINT64_FORMAT, event->size);
  if (event->stream > 0)
    g_string_append_printf (text, "@%" G_GUINT64_FORMAT, event->stream);
}

static GememTraceReader *
lower (const char *spec, GememGraph *graph)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_lowering_open (spec, graph, &error);

  g_assert_no_error (error);
  return reader;
}

void
test_lowered_valid (const char *spec, GememGraph *graph)
{
  GememTraceReader *reader = lower (spec, graph);
  g_autoptr (GPtrArray) findings = gemem_trace_validate (reader, NULL);

  for (guint i = 0; i < findings->len; i++)
    g_error ("%s: %s: %s", gemem_graph_name (graph), spec,
             ((GememFinding *) findings->pdata[i])->text);
  gemem_trace_close (reader);
}

char *
test_lowered_text (const char *spec, GememGraph *graph)
{
  g_autoptr (GError) error = NULL;
  GString *text = g_string_new (NULL);
  GememTraceReader *reader = lower (spec, graph);
  const GememTraceEvent *events;
  gssize n;

  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      append_event (text, &events[i]);
  g_assert_no_error (error);
  gemem_trace_close (reader);
  return g_string_free (text, FALSE);
}

void
test_lowered_check (const char *json, const char *spec, const char *expected)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememGraph) graph = test_graph_from_text (json, NULL, &error);
  g_autofree char *text = NULL;

  g_assert_no_error (error);
  text = test_lowered_text (spec, graph);
  g_assert_cmpstr (text, ==, expected);
  test_lowered_valid (spec, graph);
}

void
test_lowered (const char *nodes, const char *spec, const char *expected)
{
  g_autofree char *json = g_strdup_printf ("{\"nodes\":[%s]}", nodes);

  test_lowered_check (json, spec, expected);
}

void
test_lowered_refused (const char *spec, GememGraph *graph, const char *text)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (gemem_lowering_open (spec, graph, &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  if (strstr (error->message, text) == NULL)
    g_error ("%s: \"%s\" does not say \"%s\"", spec, error->message, text);
}

guint64
test_lowered_peak (const char *spec, GememGraph *graph)
{
  GememTraceReader *reader = lower (spec, graph);
  GememTraceSummary *summary = gemem_trace_summarise (reader, NULL);
  const GememDeviceSummary *device = summary->devices->pdata[0];
  const guint64 peak = device->peak_live;

  g_assert_cmpuint (summary->devices->len, ==, 1);
  g_assert_cmpuint (device->end_live, ==, 0);
  gemem_trace_summary_free (summary);
  gemem_trace_close (reader);
  return peak;
}

/* snapshot-text.c - see snapshot-text.h. */
#include "config.h"

#include "base/error.h"
#include "base/io/input.h"
#include "tests/util/snapshot-text.h"

GememTraceReader *
test_snapshot_open (GBytes *bytes, int device, gboolean partial, GError **error)
{
  GememReadOptions options = { partial, device };
  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.pickle"), NULL, &options,
                                 error);
}

static void
append_event (GString *out, const GememTraceReader *reader, const GememTraceEvent *event)
{
  g_string_append_printf (out, "%s%s", (event->flags & GEMEM_EVENT_INITIAL) != 0 ? "i:" : "",
                          gemem_event_kind_name (event->kind));
  if (event->id != 0)
    g_string_append_printf (out, " #%" G_GUINT64_FORMAT, event->id);
  if (event->address != 0)
    g_string_append_printf (out, " %" G_GINT64_MODIFIER "x", event->address);
  if (event->size != 0)
    g_string_append_printf (out, ":%" G_GUINT64_FORMAT, event->size);
  if (event->aux != 0)
    g_string_append_printf (out, "/%" G_GUINT64_FORMAT, event->aux);
  if (event->device != 0)
    g_string_append_printf (out, " d%u", event->device);
  if (event->stream != 0)
    g_string_append_printf (out, " s%" G_GINT64_MODIFIER "x", event->stream);
  if (event->pool != 0)
    g_string_append_printf (out, " p%u", event->pool);
  if (event->tag != 0)
    g_string_append_printf (out, " '%s'",
                            (char *) g_ptr_array_index (reader->info.strings, event->tag));
  if ((event->flags & GEMEM_EVENT_SMALL) != 0)
    g_string_append (out, " small");
  if ((event->flags & GEMEM_EVENT_AMBIGUOUS) != 0)
    g_string_append (out, " ?");
  if (event->time != 0)
    g_string_append_printf (out, " @%" G_GUINT64_FORMAT, event->time);
  g_string_append_c (out, '\n');
}

char *
test_snapshot_text_with (GBytes *bytes, const GememReadOptions *options)
{
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.pickle"),
                                                     NULL, options, &error);
  GString *out = g_string_new (NULL);
  const GememTraceEvent *events;
  guint64 total = 0;
  gssize n = 0;

  if (reader == NULL)
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      return g_string_free (g_string_assign (out, error->message), FALSE);
    }
  while ((n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++, total++)
      append_event (out, reader, &events[i]);
  g_assert_no_error (error);
  g_assert_cmpuint (total, ==, reader->info.events);
  for (guint i = 0; i < reader->info.provenance->len; i++)
    if (!g_str_has_prefix (g_ptr_array_index (reader->info.provenance, i), "PyTorch: "))
      g_string_append_printf (out, "%s\n", (char *) g_ptr_array_index (reader->info.provenance, i));
  gemem_trace_close (reader);
  return g_string_free (out, FALSE);
}

char *
test_snapshot_text (GBytes *bytes, int device, gboolean partial)
{
  const GememReadOptions options = { partial, device };
  return test_snapshot_text_with (bytes, &options);
}

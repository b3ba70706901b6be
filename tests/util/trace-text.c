/* trace-text.c - see trace-text.h. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/io/input.h"
#include "tests/util/trace-text.h"

static void
append (GString *out, const char *format, guint64 value)
{
  if (value != 0)
    g_string_append_printf (out, format, value);
}

static void
append_event (GString *out, const GememTraceEvent *event, const GememTraceInfo *info,
              gboolean times)
{
  g_string_append (out, gemem_event_kind_name (event->kind));
  append (out, " %" G_GUINT64_FORMAT, event->id);
  append (out, " +%" G_GUINT64_FORMAT, event->size);
  append (out, "/%" G_GUINT64_FORMAT, event->aux);
  append (out, " @%" G_GINT64_MODIFIER "x", event->address);
  append (out, " s%" G_GUINT64_FORMAT, event->stream);
  append (out, " p%" G_GUINT64_FORMAT, event->pool);
  append (out, " d%" G_GUINT64_FORMAT, event->device);
  append (out, " t%" G_GUINT64_FORMAT, times ? event->time : 0);
  append (out, " !%" G_GUINT64_FORMAT, event->flags);
  if (event->tag != GEMEM_NO_TAG)
    g_string_append_printf (out, " '%s'",
                            (const char *) g_ptr_array_index (info->strings, event->tag));
  g_string_append (out, "; ");
}

static void
append_info (GString *out, const GememTraceInfo *info)
{
  g_string_append_printf (out, "| %x | skipped %" G_GUINT64_FORMAT, info->flags, info->skipped);
  for (guint i = 0; i < info->provenance->len; i++)
    {
      const char *entry = g_ptr_array_index (info->provenance, i);
      if (g_str_has_prefix (entry, "note: "))
        g_string_append_printf (out, " | %s", entry + strlen ("note: "));
    }
}

char *
test_trace_text (const char *text, gssize size, const char *format, gboolean partial,
                 gboolean times)
{
  const GememReadOptions options = { partial, -1 };
  g_autoptr (GBytes) bytes = g_bytes_new (text, size < 0 ? strlen (text) : (gsize) size);
  g_autoptr (GError) error = NULL;
  GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "x.log"),
                                                     format, &options, &error);
  GString *out = g_string_new (NULL);
  const GememTraceEvent *events;
  gssize n;

  while (reader != NULL && (n = gemem_trace_next (reader, &events, &error)) > 0)
    for (gssize i = 0; i < n; i++)
      append_event (out, &events[i], &reader->info, times);
  if (error == NULL)
    append_info (out, &reader->info);
  else
    {
      g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_string_assign (out, error->message);
    }
  gemem_trace_close (reader);
  return g_string_free (out, FALSE);
}

GArray *
test_read_all (GememTraceReader *reader, GError **error)
{
  GArray *events = g_array_new (FALSE, FALSE, sizeof (GememTraceEvent));
  const GememTraceEvent *batch;
  gssize n;

  while ((n = gemem_trace_next (reader, &batch, error)) > 0)
    g_array_append_vals (events, batch, (guint) n);
  return events;
}

void
test_assert_text_refused (const char *text, const char *name, const char *format, guint before,
                          const char *message)
{
  for (guint partial = 0; partial < 2; partial++)
    {
      const GememReadOptions options = { partial != 0, -1 };
      g_autoptr (GBytes) bytes = g_bytes_new (text, strlen (text));
      g_autoptr (GError) error = NULL;
      GememTraceReader *reader = gemem_trace_open_input (gemem_input_new_from_bytes (bytes, name),
                                                         format, &options, &error);

      g_assert_no_error (error);
      g_autoptr (GArray) events = test_read_all (reader, &error);
      g_assert_cmpuint (events->len, ==, before);
      if (partial)
        g_assert_true (reader->info.flags & GEMEM_TRACE_TRUNCATED);
      else
        g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT);
      g_assert_cmpstr (error != NULL ? error->message : NULL, ==, partial ? NULL : message);
      gemem_trace_close (reader);
    }
}

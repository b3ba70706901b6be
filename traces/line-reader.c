/* line-reader.c - batches, errors and partial reading for line-oriented formats (see
 * line-reader.h).
 *
 * Invariants: memory is one line, one batch, and the events of one line.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "traces/line-reader.h"

/* Ends reading because of the failure. */
static gssize
give_up (GememLineReader *reader, GError **error)
{
  if (reader->options.allow_partial
      && g_error_matches (reader->failure, GEMEM_ERROR, GEMEM_ERROR_INPUT))
    {
      reader->base.info.flags |= GEMEM_TRACE_TRUNCATED;
      reader->base.info.events = 0;
      return 0;
    }
  if (error != NULL)
    *error = g_error_copy (reader->failure);
  return -1;
}

static gssize
next_batch (GememTraceReader *base, const GememTraceEvent **events, GError **error)
{
  GememLineReader *reader = (GememLineReader *) base;

  for (;;)
    {
      while (reader->failure == NULL && reader->used < LINE_READER_BATCH
             && gemem_line_reader_step (reader))
        ;
      gboolean any = reader->used > 0;
      gssize n = gemem_trace_filter_device (reader->events, reader->used, reader->options.device);
      reader->used = 0;
      *events = reader->events;
      if (n > 0)
        return n;
      if (!any)
        return reader->failure != NULL ? give_up (reader, error) : 0;
    }
}

void
gemem_line_reader_init (GememLineReader *reader, const char *format, GememInput *input,
                        const GememReadOptions *options)
{
  reader->base.next = next_batch;
  reader->input = input;
  reader->capacity = LINE_READER_BATCH;
  reader->events = g_new (GememTraceEvent, reader->capacity);
  reader->options = *options;
  gemem_trace_info_init (&reader->base.info, format, gemem_input_name (input));
  gemem_input_set_single_pass (input);
}

void
gemem_line_reader_clear (GememLineReader *reader)
{
  gemem_input_close (reader->input);
  g_free (reader->events);
  gemem_trace_info_clear (&reader->base.info);
  g_clear_error (&reader->failure);
}

GememTraceEvent *
gemem_line_reader_add (GememLineReader *reader)
{
  if (G_UNLIKELY (reader->used == reader->capacity))
    {
      reader->capacity *= 2;
      reader->events = g_renew (GememTraceEvent, reader->events, reader->capacity);
    }
  GememTraceEvent *event = &reader->events[reader->used++];
  memset (event, 0, sizeof *event);
  reader->count++;
  return event;
}

gboolean
gemem_line_reader_fail (GememLineReader *reader, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_clear_error (&reader->failure);
  reader->failure = g_error_new (GEMEM_ERROR, GEMEM_ERROR_INPUT, "%s:%" G_GUINT64_FORMAT ": %s",
                                 gemem_input_name (reader->input),
                                 gemem_input_line_number (reader->input), text);
  return FALSE;
}

gboolean
gemem_line_reader_fail_at (GememLineReader *reader, const char *p, const char *end,
                           const char *what)
{
  g_autofree char *text = g_strndup (p, (gsize) MIN (end - p, 40));
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *printable = g_strescape (valid, NULL);
  return gemem_line_reader_fail (reader, "'%s' %s", printable, what);
}

gboolean
gemem_line_reader_step (GememLineReader *reader)
{
  const char *line;
  gsize length;
  guint used = reader->used;
  int got;

  if (reader->ended)
    return FALSE;
  got = gemem_input_line (reader->input, reader->longest, &line, &length, &reader->failure);

  if (got < 0)
    return FALSE;
  if (got == 0)
    {
      reader->ended = TRUE;
      if (reader->end == NULL || reader->end (reader))
        reader->base.info.events = reader->count;
      return FALSE;
    }
  if (reader->line (reader, line, line + length))
    return TRUE;
  reader->count -= reader->used - used; /* a bad line produces no event */
  reader->used = used;
  return FALSE;
}

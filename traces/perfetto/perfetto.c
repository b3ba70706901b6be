/* perfetto.c - writes a trace in Chrome's trace event format, which ui.perfetto.dev and chrome://tracing open.
 *
 * Each device is a process: counters of what is in use and of what the allocator holds, phases as slices, steps and failed requests as
 * instants with who asked. A counter is written where it changes, and at most once a microsecond, which is the format's unit; the
 * greatest value within one stands there, so that no peak is lost.
 *
 * Invariants: times never fall. Without recorded times an event takes a microsecond.
 * Memory: what is alive, 24 bytes each.
 *
 * Origin: "Trace Event Format", Google's public document.
 */
#include "config.h"

#include <string.h>

#include "base/idmap.h"
#include "base/io/json-text.h"
#include "base/io/output.h"
#include "base/units.h"
#include "traces/origin.h"
#include "traces/trace.h"

#define BUFFER (1 << 20)

typedef struct
{
  guint64 live, reserved, at;             /* now, in the microsecond @at */
  guint64 most_live, most_reserved;       /* of it */
  guint64 written_live, written_reserved; /* last */
  gboolean pending;                       /* this microsecond is not written yet */
  guint phases;                           /* open */
  GememIdMap *sizes;                      /* id -> bytes of a live block */
} Device;

typedef struct
{
  GememTraceWriter base;
  const GememTraceInfo *info;
  GememOutput *output;
  GString *text;
  GPtrArray *devices;
  guint64 events, last;
} Writer;

static void
device_free (gpointer data)
{
  Device *device = data;

  if (device == NULL)
    return;
  gemem_idmap_free (device->sizes);
  g_free (device);
}

/* ---- entries */

/* Begins one of kind @phase; the caller adds members and "}". */
static void
begin_entry (Writer *writer, const char *phase, guint device, guint64 time)
{
  g_string_append_printf (writer->text,
                          ",\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":0,\"ts\":%" G_GUINT64_FORMAT, phase,
                          device, time);
}

static void
add_name (Writer *writer, const char *name)
{
  g_string_append (writer->text, ",\"name\":");
  gemem_json_append_string (writer->text, name);
}

static void
write_counter (Writer *writer, guint number, Device *device)
{
  device->pending = FALSE;
  if (device->most_live == device->written_live
      && device->most_reserved == device->written_reserved)
    return;
  begin_entry (writer, "C", number, device->at);
  add_name (writer, "memory");
  g_string_append_printf (
      writer->text, ",\"args\":{\"in use\":%" G_GUINT64_FORMAT ",\"held\":%" G_GUINT64_FORMAT "}}",
      device->most_live, device->most_reserved);
  device->written_live = device->most_live;
  device->written_reserved = device->most_reserved;
}

static Device *
device_of (Writer *writer, guint number)
{
  g_autofree char *name = NULL;
  Device *device;

  if (number >= writer->devices->len)
    g_ptr_array_set_size (writer->devices, (int) number + 1);
  if ((device = writer->devices->pdata[number]) != NULL)
    return device;
  device = g_new0 (Device, 1);
  device->sizes = gemem_idmap_new (sizeof (guint64));
  writer->devices->pdata[number] = device;
  name = g_strdup_printf ("device %u: %s", number,
                          writer->info->allocator != NULL ? writer->info->allocator : "memory");
  begin_entry (writer, "M", number, 0);
  add_name (writer, "process_name");
  g_string_append (writer->text, ",\"args\":{\"name\":");
  gemem_json_append_string (writer->text, name);
  g_string_append (writer->text, "}}");
  return device;
}

/* ---- events */

static void
add_block (Device *device, const GememTraceEvent *event)
{
  guint64 *size = gemem_idmap_insert (device->sizes, event->id, NULL);

  *size = event->size;
  device->live += event->size;
}

static void
remove_block (Device *device, const GememTraceEvent *event)
{
  const guint64 *size = gemem_idmap_lookup (device->sizes, event->id);

  if (size == NULL)
    return;
  device->live -= *size;
  gemem_idmap_remove (device->sizes, event->id, NULL);
}

static void
count_event (Device *device, const GememTraceEvent *event)
{
  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      add_block (device, event);
      break;
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_REQUESTED:
      remove_block (device, event);
      break;
    case GEMEM_EVENT_SEGMENT_ALLOC:
    case GEMEM_EVENT_SEGMENT_MAP:
      device->reserved += event->size;
      break;
    case GEMEM_EVENT_SEGMENT_FREE:
    case GEMEM_EVENT_SEGMENT_UNMAP:
      device->reserved -= MIN (device->reserved, event->size);
      break;
    default:
      break;
    }
}

static void
add_instant (Writer *writer, const GememTraceEvent *event, guint64 time, const char *name)
{
  g_autoptr (GString) origin = g_string_new (NULL);

  if (event->stack != 0)
    gemem_origin_append (origin, writer->info, event->stack, event->tag);
  begin_entry (writer, "i", event->device, time);
  add_name (writer, name);
  g_string_append (writer->text, ",\"s\":\"p\"");
  if (origin->len > 0)
    {
      g_string_append (writer->text, ",\"args\":{\"by\":");
      gemem_json_append_string (writer->text, origin->str);
      g_string_append_c (writer->text, '}');
    }
  g_string_append_c (writer->text, '}');
}

/* What is no amount of memory: a phase, a step, a failure. */
static void
add_mark (Writer *writer, Device *device, const GememTraceEvent *event, guint64 time)
{
  char size[GEMEM_FORMAT_MAX];
  g_autofree char *name = NULL;

  if (event->kind == GEMEM_EVENT_PHASE)
    {
      begin_entry (writer, "B", event->device, time);
      add_name (writer, event->tag < writer->info->strings->len
                            ? writer->info->strings->pdata[event->tag]
                            : "");
      g_string_append_c (writer->text, '}');
      device->phases++;
    }
  else if (event->kind == GEMEM_EVENT_PHASE_END && device->phases > 0)
    {
      begin_entry (writer, "E", event->device, time);
      g_string_append_c (writer->text, '}');
      device->phases--;
    }
  else if (event->kind == GEMEM_EVENT_STEP)
    add_instant (writer, event, time,
                 name = g_strdup_printf ("step %" G_GUINT64_FORMAT, event->id));
  else if (event->kind == GEMEM_EVENT_OOM)
    add_instant (
        writer, event, time,
        name = g_strdup_printf ("out of memory: %s", gemem_format_size (size, event->size)));
}

static void
write_event (Writer *writer, const GememTraceEvent *event)
{
  const gboolean timed = (writer->info->flags & GEMEM_TRACE_HAS_TIME) != 0;
  const guint64 time = MAX (timed ? event->time / 1000 : writer->events, writer->last);
  Device *device = device_of (writer, event->device);

  writer->events++;
  writer->last = time;
  if (device->pending && time > device->at)
    write_counter (writer, event->device, device);
  if (!device->pending)
    {
      device->pending = TRUE;
      device->most_live = device->live;
      device->most_reserved = device->reserved;
    }
  device->at = time;
  count_event (device, event);
  device->most_live = MAX (device->most_live, device->live);
  device->most_reserved = MAX (device->most_reserved, device->reserved);
  add_mark (writer, device, event, time);
}

/* ---- the writer */

static gboolean
flush_text (Writer *writer, GError **error)
{
  const gboolean ok = gemem_output_write (writer->output, writer->text->str, writer->text->len,
                                          error);

  g_string_truncate (writer->text, 0);
  return ok;
}

static gboolean
write_events (GememTraceWriter *base, const GememTraceEvent *events, gsize n, GError **error)
{
  Writer *writer = (Writer *) base;

  for (gsize i = 0; i < n; i++)
    {
      write_event (writer, &events[i]);
      if (writer->text->len > BUFFER && !flush_text (writer, error))
        return FALSE;
    }
  return TRUE;
}

static void
writer_free (Writer *writer)
{
  g_ptr_array_unref (writer->devices);
  g_string_free (writer->text, TRUE);
  g_free (writer);
}

static void
discard (GememTraceWriter *base)
{
  Writer *writer = (Writer *) base;

  gemem_output_discard (writer->output);
  writer_free (writer);
}

/* The last microsecond of each device, where the greatest value hides what is left after it; open phases end. */
static void
end_devices (Writer *writer)
{
  for (guint i = 0; i < writer->devices->len; i++)
    {
      Device *device = writer->devices->pdata[i];
      if (device == NULL)
        continue;
      write_counter (writer, i, device);
      device->at = ++writer->last;
      device->most_live = device->live;
      device->most_reserved = device->reserved;
      write_counter (writer, i, device);
      for (; device->phases > 0; device->phases--)
        {
          begin_entry (writer, "E", i, writer->last);
          g_string_append_c (writer->text, '}');
        }
    }
}

static gboolean
finish (GememTraceWriter *base, GError **error)
{
  Writer *writer = (Writer *) base;

  end_devices (writer);
  g_string_append (writer->text, "\n]}\n");
  if (!flush_text (writer, error))
    {
      discard (base);
      return FALSE;
    }
  const gboolean ok = gemem_output_finish (writer->output, error);
  writer_free (writer);
  return ok;
}

static GememTraceWriter *
create (const char *path, const GememTraceInfo *info, GError **error)
{
  GememOutput *output = gemem_output_create (path, error);
  Writer *writer;

  if (output == NULL)
    return NULL;
  writer = g_new0 (Writer, 1);
  writer->base = (GememTraceWriter){ .write = write_events, .finish = finish, .discard = discard };
  writer->info = info;
  writer->output = output;
  writer->devices = g_ptr_array_new_with_free_func (device_free);
  writer->text = g_string_new (
      "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
      "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"ts\":0,\"name\":\"thread_name\","
      "\"args\":{\"name\":\"phases\"}}");
  return &writer->base;
}

const GememTraceFormat gemem_format_perfetto = {
  .name = "perfetto",
  .aliases = "chrome-trace",
  .extensions = "perfetto",
  .summary =
      "timeline for ui.perfetto.dev and chrome://tracing, written only: memory, phases, failures",
  .origin = "Trace Event Format",
  .create = create,
};

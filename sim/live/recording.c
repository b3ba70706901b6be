/* recording.c - see recording.h. */
#include "config.h"

#include "sim/live/recording.h"

struct _GememRecording
{
  GememTraceInfo    info;
  GememTraceWriter *writer;
  guint64           last_id;
  GError           *failure; /* the first */
};

GememRecording *
gemem_recording_new (const char *path, GError **error)
{
  GememRecording *recording = g_new0 (GememRecording, 1);

  gemem_trace_info_init (&recording->info, "live", path);
  recording->info.flags = GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES | GEMEM_TRACE_HAS_SEGMENTS;
  recording->writer = gemem_trace_create (path, NULL, &recording->info, error);
  if (recording->writer != NULL)
    return recording;
  gemem_trace_info_clear (&recording->info);
  g_free (recording);
  return NULL;
}

static char *
settings_text (const GPtrArray *settings)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      g_autofree char *quoted = setting->value != NULL ? gemem_settings_quote (setting->value) : NULL;
      if (quoted != NULL)
        g_string_append_printf (text, "%s%s=%s", text->len > 0 ? "," : "", setting->key, quoted);
    }
  return g_string_free (text, FALSE);
}

/* What a simulated device must be told to decide like @device: its size, and how much of it others had. */
static char *
device_text (GememDevice *device)
{
  GememDeviceInfo info;

  device->klass->info (device, &info); /* the allocator did not ask: not counted */
  return g_strdup_printf ("capacity=%" G_GUINT64_FORMAT ",reserved_by_others=%" G_GUINT64_FORMAT ",granularity=%" G_GUINT64_FORMAT
                          ",virtual_memory=%s,address=recorded",
                          info.total, info.total - MIN (info.total, info.free + device->held), info.granularity, info.virtual_memory ? "yes" : "no");
}

void
gemem_recording_describe (GememRecording *recording, const char *allocator, const GPtrArray *settings, GememDevice *device)
{
  g_autofree char *made_on = NULL;

  if (recording->info.allocator != NULL)
    return;
  made_on = gemem_device_describe (device);
  recording->info.allocator = g_strdup (allocator);
  recording->info.settings = settings_text (settings);
  recording->info.device = device_text (device);
  gemem_trace_info_note (&recording->info, "tool", "%s %s", PACKAGE_NAME, PACKAGE_VERSION);
  gemem_trace_info_note (&recording->info, "device", "%s", made_on);
}

guint64
gemem_recording_new_id (GememRecording *recording)
{
  return ++recording->last_id;
}

void
gemem_recording_add (GememRecording *recording, const GememTraceEvent *event)
{
  if (recording->failure == NULL)
    recording->writer->write (recording->writer, event, 1, &recording->failure);
}

gboolean
gemem_recording_finish (GememRecording *recording, GError **error)
{
  gboolean ok = recording->failure == NULL;

  if (ok)
    ok = recording->writer->finish (recording->writer, error);
  else
    {
      recording->writer->discard (recording->writer);
      g_propagate_error (error, recording->failure);
    }
  gemem_trace_info_clear (&recording->info);
  g_free (recording);
  return ok;
}

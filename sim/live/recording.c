/* recording.c - see recording.h.
 *
 * Events are stored in a journal beside the file (traces/journal/format.h), which is mapped memory,
 * so that recorded events survive however the process ends.  gemem_recording_finish() converts the
 * journal into the file.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/units.h"
#include "sim/live/recording.h"
#include "traces/journal/file.h"
#include "traces/journal/format.h"

struct _GememRecording
{
  GememTraceInfo info;
  char *journal; /* journal: file name */
  JournalHeader *header;
  JournalRecord *block;
  guint used; /* slots in use */
  guint blocks;
  guint64 last_id, range;
  gboolean ended;  /* this process is a child of fork() */
  GError *failure; /* the first error */
};

static void
fail (GememRecording *recording, int problem)
{
  g_set_error (&recording->failure, GEMEM_ERROR, GEMEM_ERROR_FAILED,
               "%s: %s; the recording ends there", recording->journal, g_strerror (problem));
}

/* The journal belongs to this process alone: one left by an earlier process with the same number is
 * replaced. */
static gboolean
begin_journal (GememRecording *recording, const char *path, GError **error)
{
  recording->journal = g_strdup_printf ("%s.%d.gmj", path, (int) getpid ());
  g_unlink (recording->journal);
  recording->header = gemem_journal_map (recording->journal, 0, O_CREAT | O_EXCL);
  if (recording->header == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "%s: %s; choose another place",
                   recording->journal, g_strerror (errno));
      g_unlink (recording->journal);
      return FALSE;
    }
  recording->header->version = JOURNAL_VERSION;
  recording->header->slot_size = JOURNAL_SLOT;
  recording->header->pid = (guint32) getpid ();
  recording->header->parent = (guint32) getppid ();
  recording->header->flags = recording->info.flags;
  recording->blocks = 1;
  memcpy (recording->header->magic, JOURNAL_MAGIC, 8);
  return TRUE;
}

static void
free_recording (GememRecording *recording)
{
  if (recording->block != NULL)
    munmap (recording->block, JOURNAL_BLOCK);
  if (recording->header != NULL)
    munmap (recording->header, JOURNAL_BLOCK);
  g_clear_error (&recording->failure);
  gemem_trace_info_clear (&recording->info);
  g_free (recording->journal);
  g_free (recording);
}

/* Tests whether the file can be created at the end; the attempt leaves nothing behind. */
static gboolean
try_place (GememRecording *recording, GError **error)
{
  GememTraceWriter *writer = gemem_trace_create (recording->info.path, NULL, &recording->info,
                                                 error);
  if (writer != NULL)
    writer->discard (writer);
  return writer != NULL;
}

GememRecording *
gemem_recording_new (const char *path, GError **error)
{
  GememRecording *recording = g_new0 (GememRecording, 1);

  gemem_trace_info_init (&recording->info, "live", path);
  recording->info.flags = GEMEM_TRACE_HAS_TIME | GEMEM_TRACE_HAS_ADDRESSES
                          | GEMEM_TRACE_HAS_SEGMENTS;
  if (try_place (recording, error) && begin_journal (recording, path, error))
    return recording;
  free_recording (recording);
  return NULL;
}

static char *
settings_text (const GPtrArray *settings)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      g_autofree char *quoted = setting->value != NULL ? gemem_settings_quote (setting->value)
                                                       : NULL;
      if (quoted != NULL)
        g_string_append_printf (text, "%s%s=%s", text->len > 0 ? "," : "", setting->key, quoted);
    }
  return g_string_free (text, FALSE);
}

/* The settings with which a simulated device decides like @device: its capacity, and the bytes that
 * other programs had. */
static char *
device_text (GememDevice *device)
{
  GememDeviceInfo info;

  device->klass->info (device, &info); /* direct: not counted as a call of the allocator */
  return g_strdup_printf ("capacity=%" G_GUINT64_FORMAT ",reserved_by_others=%" G_GUINT64_FORMAT
                          ",granularity=%" G_GUINT64_FORMAT ",virtual_memory=%s,address=recorded",
                          info.total, info.total - MIN (info.total, info.free + device->held),
                          info.granularity, info.virtual_memory ? "yes" : "no");
}

/* Notes where ranges begin, once the range and the device are both known. */
static void
describe_range (GememRecording *recording)
{
  /* the largest power of two, at most 1 GiB, that divides the range's address */
  const guint64 step = MIN (recording->range & -recording->range, GEMEM_GIB);
  char *text;

  if (recording->range == 0 || recording->info.device == NULL
      || strstr (recording->info.device, "va_base=") != NULL)
    return;
  text = g_strdup_printf ("%s,va_base=0x%" G_GINT64_MODIFIER "x,va_step=%" G_GUINT64_FORMAT,
                          recording->info.device, recording->range, step);
  g_free (recording->info.device);
  recording->info.device = text;
  g_strlcpy (recording->header->device, text, sizeof recording->header->device);
}

void
gemem_recording_note_range (GememRecording *recording, guint64 address)
{
  if (recording->range == 0)
    recording->range = address;
  describe_range (recording);
}

void
gemem_recording_describe (GememRecording *recording, const char *allocator,
                          const GPtrArray *settings, GememDevice *device)
{
  g_autofree char *made_on = NULL;

  if (recording->info.allocator != NULL)
    return;
  made_on = gemem_device_describe (device);
  recording->info.allocator = g_strdup (allocator);
  recording->info.settings = settings_text (settings);
  recording->info.device = device_text (device);
  g_strlcpy (recording->header->settings, recording->info.settings,
             sizeof recording->header->settings);
  g_strlcpy (recording->header->device, recording->info.device, sizeof recording->header->device);
  g_strlcpy (recording->header->made_on, made_on, sizeof recording->header->made_on);
  g_strlcpy (recording->header->allocator, allocator, sizeof recording->header->allocator);
  gemem_trace_info_note (&recording->info, "tool", "%s %s", PACKAGE_NAME, PACKAGE_VERSION);
  gemem_trace_info_note (&recording->info, "device", "%s", made_on);
  describe_range (recording);
}

guint64
gemem_recording_new_id (GememRecording *recording)
{
  return ++recording->last_id;
}

/* Maps space for @slots records; FALSE: there is none left. */
static gboolean
reserve (GememRecording *recording, guint slots)
{
  JournalBlock head = { .magic = JOURNAL_BLOCK_MAGIC, .first = recording->header->sequence + 1 };
  JournalRecord *block;

  if (recording->block != NULL && recording->used + slots <= JOURNAL_SLOTS)
    return TRUE;
  block = gemem_journal_map (recording->journal, recording->blocks, 0);
  if (block == NULL)
    {
      fail (recording, errno);
      return FALSE;
    }
  memcpy (block, &head, sizeof head);
  if (recording->block != NULL)
    munmap (recording->block, JOURNAL_BLOCK);
  recording->block = block;
  recording->blocks++;
  recording->used = 1;
  return TRUE;
}

void
gemem_recording_add (GememRecording *recording, const GememTraceEvent *event)
{
  JournalRecord *slot;

  if (recording->ended || recording->failure != NULL || !reserve (recording, 2))
    return;
  slot = &recording->block[recording->used];
  recording->used += 2;
  memcpy (slot + 1, event, sizeof *event);
  slot->sequence = ++recording->header->sequence;
  /* stored last: a reader finds the whole record or none */
  __atomic_store_n (&slot->call, JOURNAL_EVENT, __ATOMIC_RELEASE);
}

void
gemem_recording_forget (GememRecording *recording)
{
  recording->ended = TRUE;
}

/* Writes the file from the journal's events. */
static gboolean
write_file (GememRecording *recording, GError **error)
{
  GememTraceReader *reader = gemem_trace_open (recording->journal, "journal", NULL, error);
  GememTraceWriter *writer = reader != NULL ? gemem_trace_create (recording->info.path, NULL,
                                                                  &recording->info, error)
                                            : NULL;
  const GememTraceEvent *events;
  gboolean ok = writer != NULL;
  gssize n = 0;

  while (ok && (n = gemem_trace_next (reader, &events, error)) > 0)
    ok = writer->write (writer, events, (gsize) n, error);
  ok = ok && n == 0;
  gemem_trace_close (reader);
  if (ok)
    return writer->finish (writer, error);
  if (writer != NULL)
    writer->discard (writer);
  return FALSE;
}

gboolean
gemem_recording_finish (GememRecording *recording, GError **error)
{
  gboolean ok = recording->failure == NULL;

  if (!ok)
    g_propagate_error (error, g_steal_pointer (&recording->failure));
  else if ((ok = write_file (recording, error)))
    g_unlink (recording->journal);
  free_recording (recording);
  return ok;
}

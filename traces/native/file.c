/* file.c - see file.h. */
#include "config.h"

#include "base/error.h"
#include "traces/native/file.h"

static gboolean
file_write (GememTraceWriter *base, const GememTraceEvent *events, gsize n, GError **error)
{
  NativeFile *file = (NativeFile *) base;
  const gboolean done = file->add (file, events, n, error);

  file->failed |= !done;
  return done;
}

static void
file_discard (GememTraceWriter *base)
{
  NativeFile *file = (NativeFile *) base;

  gemem_output_discard (file->output);
  file->free (file);
}

static gboolean
file_finish (GememTraceWriter *base, GError **error)
{
  NativeFile *file = (NativeFile *) base;

  if (file->failed)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                 "%s: an earlier write failed; nothing was kept", gemem_output_name (file->output));
  if (file->failed || !file->end (file, error))
    {
      file_discard (base);
      return FALSE;
    }
  const gboolean done = gemem_output_finish (file->output, error);
  file->free (file);
  return done;
}

gpointer
gemem_native_file_new (gsize size, const char *path, const GememTraceInfo *info, GError **error)
{
  GememOutput *output = gemem_output_create (path, error);

  if (output == NULL)
    return NULL;
  NativeFile *file = g_malloc0 (size);
  file->base.write = file_write;
  file->base.finish = file_finish;
  file->base.discard = file_discard;
  file->output = output;
  file->info = info;
  return file;
}

int
gemem_native_version (const GememTraceInfo *info)
{
  return (info->flags & GEMEM_TRACE_HAS_ORDER) != 0      ? NATIVE_VERSION
         : (info->flags & GEMEM_TRACE_HAS_SETTINGS) != 0 ? NATIVE_VERSION_WITHOUT_ORDER
         : (info->flags & GEMEM_TRACE_HAS_SLEEP) != 0    ? NATIVE_VERSION_WITHOUT_SETTINGS
         : info->stacks != NULL                          ? NATIVE_VERSION_WITHOUT_SLEEP
                                                         : NATIVE_VERSION_WITHOUT_STACKS;
}

void
gemem_native_set_number (GArray *numbers, guint32 index, guint32 own)
{
  if (index >= numbers->len)
    g_array_set_size (numbers, index + 1);
  g_array_index (numbers, guint32, index) = own;
}

/* file.h - the versions of the native format, and the life of a file that is kept whole or not at all, which its two forms
 * and other formats (stalloc, pprof) are written with. */
#pragma once

#include "base/io/output.h"
#include "traces/trace.h"

/* 2: frames and stacks, and the stack of an event.  3: the kinds of memory that sleeps.  4:
 * changes of settings.  A trace is written as the lowest version that can hold it, which
 * older readers know. */
#define NATIVE_VERSION 5
#define NATIVE_VERSION_WITHOUT_ORDER 4
#define NATIVE_VERSION_WITHOUT_SETTINGS 3
#define NATIVE_VERSION_WITHOUT_SLEEP 2
#define NATIVE_VERSION_WITHOUT_STACKS 1

typedef struct _NativeFile NativeFile;

/* The first member of a writer. */
struct _NativeFile
{
  GememTraceWriter base;
  GememOutput *output;
  const GememTraceInfo *info;
  guint64 events; /* written */
  gboolean failed;
  gboolean (*add) (NativeFile *file, const GememTraceEvent *events, gsize n, GError **error);
  gboolean (*end) (NativeFile *file, GError **error); /* writes what follows the events */
  void (*free) (NativeFile *file);
};

/* Creates @path with @file, zeroed memory of @size bytes that begins with these members;
 * NULL with @error. */
gpointer gemem_native_file_new (gsize size, const char *path, const GememTraceInfo *info,
                                GError **error);
/* The version that can hold the trace of @info. */
int gemem_native_version (const GememTraceInfo *info);
/* Number @index of a table of the trace -> its number in the file; 0: none yet. */
static inline guint32
gemem_native_get_number (const GArray *numbers, guint32 index)
{
  return index < numbers->len ? g_array_index (numbers, guint32, index) : 0;
}
void gemem_native_set_number (GArray *numbers, guint32 index, guint32 own);

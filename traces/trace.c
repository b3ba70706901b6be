/* trace.c - the event model: names of events, the facts about a trace, and functions common to all
 * readers and writers (trace.h).  This file is independent of formats; formats.c finds them.
 *
 * Invariants: the string table begins with "" and holds each string once.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "traces/trace.h"

static const char *const kind_names[GEMEM_EVENT_KIND_COUNT] = {
  [GEMEM_EVENT_ALLOC] = "alloc",
  [GEMEM_EVENT_FREE] = "free",
  [GEMEM_EVENT_FREE_REQUESTED] = "free-requested",
  [GEMEM_EVENT_FREE_COMPLETED] = "free-completed",
  [GEMEM_EVENT_USE_ON_STREAM] = "use-on-stream",
  [GEMEM_EVENT_STREAM_SYNC] = "stream-sync",
  [GEMEM_EVENT_EVENT_RECORD] = "event-record",
  [GEMEM_EVENT_EVENT_WAIT] = "event-wait",
  [GEMEM_EVENT_DEVICE_SYNC] = "device-sync",
  [GEMEM_EVENT_GRAPH_LOAD] = "graph-load",
  [GEMEM_EVENT_GRAPH_RUN] = "graph-run",
  [GEMEM_EVENT_GRAPH_UNLOAD] = "graph-unload",
  [GEMEM_EVENT_STEP] = "step",
  [GEMEM_EVENT_PHASE] = "phase",
  [GEMEM_EVENT_TRIM] = "trim",
  [GEMEM_EVENT_OOM] = "oom",
  [GEMEM_EVENT_SEGMENT_ALLOC] = "segment-alloc",
  [GEMEM_EVENT_SEGMENT_FREE] = "segment-free",
  [GEMEM_EVENT_SEGMENT_MAP] = "segment-map",
  [GEMEM_EVENT_SEGMENT_UNMAP] = "segment-unmap",
  [GEMEM_EVENT_SNAPSHOT] = "snapshot",
  [GEMEM_EVENT_MEMSET] = "memset",
  [GEMEM_EVENT_GRAPH_SEGMENT] = "graph-segment",
  [GEMEM_EVENT_GRAPH_RUN_END] = "graph-run-end",
  [GEMEM_EVENT_STREAM_FREE] = "stream-free",
  [GEMEM_EVENT_DEVICE_LIMIT] = "device-limit",
  [GEMEM_EVENT_POOL_RELEASE] = "pool-release",
  [GEMEM_EVENT_PHASE_END] = "phase-end",
  [GEMEM_EVENT_POOL_BEGIN] = "pool-begin",
  [GEMEM_EVENT_POOL_END] = "pool-end",
  [GEMEM_EVENT_REGION_BEGIN] = "region-begin",
  [GEMEM_EVENT_REGION_END] = "region-end",
  [GEMEM_EVENT_SLEEP] = "sleep",
  [GEMEM_EVENT_PAUSE] = "pause",
  [GEMEM_EVENT_WAKE] = "wake",
  [GEMEM_EVENT_SETTINGS] = "settings",
  [GEMEM_EVENT_WORK] = "work",
  [GEMEM_EVENT_WORK_DONE] = "work-done",
};

const char *
gemem_block_text (char *buffer, guint64 id)
{
  g_snprintf (buffer, GEMEM_FORMAT_MAX,
              id < GEMEM_NAMED_ID ? "block %" G_GUINT64_FORMAT : "a block", id);
  return buffer;
}

const char *
gemem_event_kind_name (GememEventKind kind)
{
  const char *name = (guint) kind < GEMEM_EVENT_KIND_COUNT ? kind_names[kind] : NULL;
  return name != NULL ? name : "unknown";
}

GememEventKind
gemem_event_kind_from_name (const char *name, gsize length)
{
  if (memchr (name, '\0', length) != NULL) /* else a name followed by zero bytes would match */
    return (GememEventKind) 0;
  for (guint kind = 1; kind < GEMEM_EVENT_KIND_COUNT; kind++)
    if (strncmp (kind_names[kind], name, length) == 0 && kind_names[kind][length] == '\0')
      return (GememEventKind) kind;
  return (GememEventKind) 0;
}

/* ---- facts about a trace */

void
gemem_trace_info_init (GememTraceInfo *info, const char *format, const char *path)
{
  memset (info, 0, sizeof *info);
  info->format = format;
  info->path = g_strdup (path);
  info->provenance = g_ptr_array_new_with_free_func (g_free);
  info->strings = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (info->strings, g_strdup (""));
}

void
gemem_trace_info_clear (GememTraceInfo *info)
{
  g_clear_pointer (&info->string_index, g_hash_table_unref);
  g_clear_pointer (&info->provenance, g_ptr_array_unref);
  g_clear_pointer (&info->strings, g_ptr_array_unref);
  g_clear_pointer (&info->stacks, gemem_call_stacks_free);
  g_clear_pointer (&info->table, g_array_unref);
  g_clear_pointer (&info->table_gaps, g_array_unref);
  g_clear_pointer (&info->path, g_free);
  g_clear_pointer (&info->sha256, g_free);
  g_clear_pointer (&info->allocator, g_free);
  g_clear_pointer (&info->settings, g_free);
  g_clear_pointer (&info->device, g_free);
}

static GPtrArray *
copy_strings (const GPtrArray *from)
{
  GPtrArray *to = g_ptr_array_new_full (from->len, g_free);
  for (guint i = 0; i < from->len; i++)
    g_ptr_array_add (to, g_strdup (g_ptr_array_index (from, i)));
  return to;
}

void
gemem_trace_info_copy (GememTraceInfo *to, const GememTraceInfo *from)
{
  *to = *from;
  to->path = g_strdup (from->path);
  to->sha256 = g_strdup (from->sha256);
  to->allocator = g_strdup (from->allocator);
  to->settings = g_strdup (from->settings);
  to->device = g_strdup (from->device);
  to->provenance = copy_strings (from->provenance);
  to->strings = copy_strings (from->strings);
  to->stacks = from->stacks != NULL ? gemem_call_stacks_ref (from->stacks) : NULL;
  to->table = from->table != NULL ? g_array_ref (from->table) : NULL;
  to->table_gaps = from->table_gaps != NULL ? g_array_ref (from->table_gaps) : NULL;
  to->string_index = NULL;
  to->indexed = 0;
}

void
gemem_trace_info_note (GememTraceInfo *info, const char *key, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_ptr_array_add (info->provenance, g_strdup_printf ("%s: %s", key, text));
}

const char *
gemem_trace_info_said (const GememTraceInfo *info, const char *key)
{
  const gsize length = strlen (key);

  for (guint i = 0; info->provenance != NULL && i < info->provenance->len; i++)
    {
      const char *note = info->provenance->pdata[i];

      if (strncmp (note, key, length) == 0 && g_str_has_prefix (note + length, ": "))
        return note + length + 2;
    }
  return NULL;
}

gboolean
gemem_trace_info_came_from (const GememTraceInfo *info, const char *format)
{
  return g_strcmp0 (info->format, format) == 0
         || g_strcmp0 (gemem_trace_info_said (info, "format"), format) == 0;
}

guint32
gemem_trace_info_intern (GememTraceInfo *info, const char *string)
{
  gpointer found;

  if (*string == '\0')
    return GEMEM_NO_TAG;
  if (info->string_index == NULL)
    info->string_index = g_hash_table_new (g_str_hash, g_str_equal);
  /* Indexes strings that a reader added to the table directly. */
  for (; info->indexed < info->strings->len; info->indexed++)
    if (!g_hash_table_contains (info->string_index,
                                g_ptr_array_index (info->strings, info->indexed)))
      g_hash_table_insert (info->string_index, g_ptr_array_index (info->strings, info->indexed),
                           GUINT_TO_POINTER (info->indexed));
  if (g_hash_table_lookup_extended (info->string_index, string, NULL, &found))
    return GPOINTER_TO_UINT (found);
  guint32 index = info->strings->len;
  g_ptr_array_add (info->strings, g_strdup (string));
  g_hash_table_insert (info->string_index, g_ptr_array_index (info->strings, index),
                       GUINT_TO_POINTER (index));
  info->indexed = index + 1;
  return index;
}

GememCallStacks *
gemem_trace_info_stacks (GememTraceInfo *info)
{
  if (info->stacks == NULL)
    info->stacks = gemem_call_stacks_new ();
  return info->stacks;
}

gssize
gemem_trace_filter_device (GememTraceEvent *events, gssize n, int device)
{
  gssize kept = 0;

  if (device < 0)
    return n;
  for (gssize i = 0; i < n; i++)
    if (events[i].device == device || events[i].kind == GEMEM_EVENT_STEP
        || events[i].kind == GEMEM_EVENT_PHASE || events[i].kind == GEMEM_EVENT_PHASE_END)
      events[kept++] = events[i];
  return kept;
}

GPtrArray *
gemem_trace_info_provenance (const GememTraceInfo *info)
{
  GPtrArray *provenance = copy_strings (info->provenance);

  if (info->format == NULL || strcmp (info->format, "native") == 0
      || strcmp (info->format, "text") == 0)
    return provenance;
  for (guint i = 0; i < provenance->len; i++)
    if (g_str_has_prefix (g_ptr_array_index (provenance, i), "format: "))
      return provenance;
  g_ptr_array_insert (provenance, 0, g_strconcat ("format: ", info->format, NULL));
  return provenance;
}

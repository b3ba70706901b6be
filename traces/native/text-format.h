/* text-format.h - the words of the text format, shared by its reader and its writer (grammar:
 * text.c and doc/trace-formats.md). */
#pragma once

#include "traces/native/file.h"

#define TEXT_MAGIC "# gemem-trace: "

/* Entry i names bit i. */
static const char *const text_event_flags[] = { "initial", "ambiguous", "small", "failed" };
static const char *const text_trace_flags[] = {
  "has-time",         "has-addresses", "has-segments",   "block-sizes",
  "starts-in-middle", "truncated",     "has-completion", "is-vector",
  "has-sleep",        "has-settings",  "has-order"
};

/* The flag of traces that @event may be in, by name; NULL: any.  Where @flags lacks it. */
static inline const char *
text_flag_missing (guint kind, guint32 flags)
{
  const guint32 missing = gemem_event_kind_needs (kind) & ~flags;

  return missing == 0 ? NULL : text_trace_flags[g_bit_nth_lsf (missing, -1)];
}

/* The name of the field `aux` in events of @kind. */
static inline const char *
text_aux_name (guint8 kind)
{
  return kind == GEMEM_EVENT_ALLOC ? "block" : kind == GEMEM_EVENT_OOM ? "free" : "aux";
}

/* text-writer.c */
GememTraceWriter *gemem_text_create (const char *path, const GememTraceInfo *info, GError **error);

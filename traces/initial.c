/* initial.c - see initial.h.  Once all omitted blocks are freed, events pass unchanged and without
 * a copy. */
#include "config.h"

#include "base/idmap.h"
#include "traces/initial.h"

struct _GememInitialFilter
{
  GememIdMap *left_out; /* ids */
  GememTraceEvent *kept;
  gsize capacity;
  gboolean begun; /* a non-initial event was seen */
};

GememInitialFilter *
gemem_initial_filter_new (GememTraceInfo *info)
{
  GememInitialFilter *filter = g_new0 (GememInitialFilter, 1);

  filter->left_out = gemem_idmap_new (0);
  info->flags &= ~(guint32) GEMEM_TRACE_HAS_SEGMENTS;
  info->ambiguities = 0;
  if ((info->flags & GEMEM_TRACE_STARTS_IN_MIDDLE) != 0)
    gemem_trace_info_note (info, "left out", "what was there before the first event");
  return filter;
}

void
gemem_initial_filter_free (GememInitialFilter *filter)
{
  if (filter == NULL)
    return;
  gemem_idmap_free (filter->left_out);
  g_free (filter->kept);
  g_free (filter);
}

static gboolean
is_kept (GememInitialFilter *filter, const GememTraceEvent *event)
{
  if ((event->flags & GEMEM_EVENT_INITIAL) != 0)
    {
      if (event->kind == GEMEM_EVENT_ALLOC)
        gemem_idmap_insert (filter->left_out, event->id, NULL);
      return FALSE;
    }
  filter->begun = TRUE;
  switch (event->kind)
    {
    case GEMEM_EVENT_ALLOC:
      gemem_idmap_remove (filter->left_out, event->id, NULL);
      return TRUE;
    case GEMEM_EVENT_FREE:
    case GEMEM_EVENT_FREE_COMPLETED:
      return !gemem_idmap_remove (filter->left_out, event->id, NULL);
    case GEMEM_EVENT_FREE_REQUESTED:
    case GEMEM_EVENT_USE_ON_STREAM:
    case GEMEM_EVENT_STREAM_FREE:
    case GEMEM_EVENT_MEMSET:
      return gemem_idmap_lookup (filter->left_out, event->id) == NULL;
    default:
      return TRUE;
    }
}

gssize
gemem_initial_filter_take (GememInitialFilter *filter, const GememTraceEvent **events, gssize n)
{
  const GememTraceEvent *all = *events;
  gssize kept = 0;

  if (filter->begun && gemem_idmap_count (filter->left_out) == 0)
    return n;
  if (filter->capacity < (gsize) n)
    {
      filter->capacity = (gsize) n;
      filter->kept = g_renew (GememTraceEvent, filter->kept, filter->capacity);
    }
  for (gssize i = 0; i < n; i++)
    if (is_kept (filter, &all[i]))
      filter->kept[kept++] = all[i];
  *events = filter->kept;
  return kept;
}

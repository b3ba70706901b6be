/* lifetimes.c - see lifetimes.h. */
#include "config.h"

#include "base/idmap.h"
#include "sim/engine/lifetimes.h"

typedef struct
{
  GememLifetimes *lifetimes;
  GememIdMap *live; /* id -> guint64 item */
  const char *path;
  int device;
} Pass;

static gboolean
has_room (const Pass *pass, GError **error)
{
  if (pass->lifetimes->items->len < GEMEM_MOST_LIFETIMES)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
               "%s: more than %u allocations; plan a part of the trace", pass->path,
               GEMEM_MOST_LIFETIMES);
  return FALSE;
}

static gboolean
on_alloc (const Pass *pass, const GememTraceEvent *event, guint64 number, GError **error)
{
  const guint32 item = pass->lifetimes->items->len;
  const gboolean initial = (event->flags & GEMEM_EVENT_INITIAL) != 0;
  gboolean existed;
  guint64 *record;

  if (!has_room (pass, error))
    return FALSE;
  record = gemem_idmap_insert (pass->live, event->id, &existed);
  if (existed)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INPUT,
                   "%s: event %" G_GUINT64_FORMAT ": id %" G_GUINT64_FORMAT
                   " is allocated again while alive; see 'gemem-sim validate'",
                   pass->path, number, event->id);
      return FALSE;
    }
  *record = item;
  gemem_lifetimes_add (pass->lifetimes, initial ? 0 : number, number + 1, event->size);
  gemem_lifetimes_get (pass->lifetimes, item)->id = event->id;
  gemem_lifetimes_get (pass->lifetimes, item)->end = 0; /* not known yet */
  return TRUE;
}

static void
end_item (const Pass *pass, guint64 item, guint64 number)
{
  GememLifetime *life = gemem_lifetimes_get (pass->lifetimes, item);

  life->end = life->safe_end = number;
}

/* A replay makes the request, and frees it at once (refused.c). */
static gboolean
on_refused (const Pass *pass, const GememTraceEvent *event, guint64 number, GError **error)
{
  const guint32 item = pass->lifetimes->items->len;

  if (event->size == 0)
    return TRUE;
  if (!has_room (pass, error))
    return FALSE;
  gemem_lifetimes_add (pass->lifetimes, number, number + 1, event->size);
  gemem_lifetimes_get (pass->lifetimes, item)->id = GEMEM_REFUSED_ID;
  return TRUE;
}

/* For allocators that know no graphs, the static memory of a graph is a block (graphs.h). */
static gboolean
on_graph (const Pass *pass, const GememTraceEvent *event, guint64 number, GError **error)
{
  GememTraceEvent block = *event;
  guint64 item;

  block.id = GEMEM_GRAPH_BLOCK_ID (event->id);
  if (event->kind == GEMEM_EVENT_GRAPH_LOAD)
    return on_alloc (pass, &block, number, error);
  if (gemem_idmap_remove (pass->live, block.id, &item))
    end_item (pass, item, number);
  return TRUE;
}

static gboolean
on_event (const Pass *pass, const GememTraceEvent *event, guint64 number, GError **error)
{
  guint64 item;

  if (pass->device != -1 && event->device != pass->device)
    return TRUE;
  if (event->kind == GEMEM_EVENT_GRAPH_LOAD || event->kind == GEMEM_EVENT_GRAPH_UNLOAD)
    return on_graph (pass, event, number, error);
  if (event->kind == GEMEM_EVENT_OOM)
    return on_refused (pass, event, number, error);
  if (event->kind == GEMEM_EVENT_ALLOC)
    return on_alloc (pass, event, number, error);
  if ((event->kind == GEMEM_EVENT_FREE || event->kind == GEMEM_EVENT_FREE_COMPLETED)
      && gemem_idmap_remove (pass->live, event->id, &item))
    end_item (pass, item, number);
  return TRUE;
}

GememLifetimes *
gemem_trace_lifetimes (GememTraceReader *reader, int device, GError **error)
{
  const char *path = reader->info.path != NULL ? reader->info.path : "trace";
  const Pass pass = { gemem_lifetimes_new (path), gemem_idmap_new (sizeof (guint64)), path,
                      device };
  const GememTraceEvent *events;
  const gboolean has_steps = reader->format != NULL && reader->format->has_steps;
  guint64 number = 0, step = 0;
  gboolean ok = TRUE;
  gssize n = 0;

  while (ok && (n = gemem_trace_next (reader, &events, error)) > 0)
    for (gssize i = 0; i < n && ok; i++)
      {
        step = has_steps ? events[i].time : number++;
        ok = on_event (&pass, &events[i], step, error);
      }
  gemem_idmap_free (pass.live);
  if (!ok || n < 0)
    {
      gemem_lifetimes_free (pass.lifetimes);
      return NULL;
    }
  for (guint i = 0; i < pass.lifetimes->items->len; i++)
    if (gemem_lifetimes_get (pass.lifetimes, i)->end == 0)
      end_item (&pass, i, step + 1);
  pass.lifetimes->steps = step + 1;
  return pass.lifetimes;
}

/* ---- tables of lifetimes */

/* The first gap of each row, and one behind the last. */
static guint32 *
first_gaps (const GArray *table)
{
  guint32 *first = g_new (guint32, (gsize) table->len + 1), sum = 0;

  for (guint i = 0; i < table->len; i++)
    {
      first[i] = sum;
      sum += g_array_index (table, GememTableRow, i).gaps;
    }
  first[table->len] = sum;
  return first;
}

static void
take_row (GememLifetimes *lifetimes, guint32 item, const GememTraceInfo *info, guint64 number,
          const guint32 *first_gap)
{
  GememLifetime *life = gemem_lifetimes_get (lifetimes, item);
  const GememTableRow *row = &g_array_index (info->table, GememTableRow, number);

  life->alignment = row->alignment;
  g_array_append_val (lifetimes->places, row->place);
  g_ptr_array_add (lifetimes->names, g_strdup (info->strings->pdata[row->tag]));
  for (guint32 i = first_gap[number]; i < first_gap[number + 1]; i++)
    {
      GememLifeGap gap = g_array_index (info->table_gaps, GememLifeGap, i);

      gap.item = item;
      g_array_append_val (lifetimes->gaps, gap);
    }
}

static gboolean
has_place (const GememLifetimes *lifetimes)
{
  for (guint i = 0; i < lifetimes->items->len; i++)
    if (gemem_lifetimes_place (lifetimes, i) != GEMEM_ANY_PLACE)
      return TRUE;
  return FALSE;
}

void
gemem_lifetimes_take_table (GememLifetimes *lifetimes, const GememTraceInfo *info)
{
  g_autofree guint32 *first_gap = NULL;

  if (info->table == NULL)
    return;
  first_gap = first_gaps (info->table);
  lifetimes->gaps = g_array_new (FALSE, FALSE, sizeof (GememLifeGap));
  lifetimes->places = g_array_new (FALSE, FALSE, sizeof (guint64));
  lifetimes->names = g_ptr_array_new_with_free_func (g_free);
  for (guint32 i = 0; i < lifetimes->items->len; i++)
    take_row (lifetimes, i, info, gemem_lifetimes_get (lifetimes, i)->id - 1, first_gap);
  if (lifetimes->gaps->len == 0)
    g_clear_pointer (&lifetimes->gaps, g_array_unref);
  if (!has_place (lifetimes))
    g_clear_pointer (&lifetimes->places, g_array_unref);
}

/* temporary.c - see temporary.h. */
#include "config.h"

#include "workloads/temporary.h"

typedef struct
{
  guint64 size, turn; /* turn: order of queueing, from 1 */
  guint32 block;
} Entry;

typedef struct
{
  guint64 stream, wait_bytes;
  GSequence *entries; /* Entry, by (size, turn) */
} Queue;

struct _GememTemporary
{
  GememRules rules;
  gint64 limit;
  double times;
  guint64 turn;
  GArray *queues; /* Queue */
  const GememTemporaryHooks *hooks;
  gpointer data;
};

static int
compare_entries (gconstpointer a, gconstpointer b, gpointer unused G_GNUC_UNUSED)
{
  const Entry *x = a, *y = b;

  if (x->size != y->size)
    return x->size < y->size ? -1 : 1;
  return x->turn < y->turn ? -1 : x->turn > y->turn;
}

static void
clear_queue (gpointer data)
{
  g_sequence_free (((Queue *) data)->entries);
}

GememTemporary *
gemem_temporary_new (GememRules rules, gint64 limit, double times, const GememTemporaryHooks *hooks,
                     gpointer data)
{
  GememTemporary *temporary = g_new0 (GememTemporary, 1);

  temporary->rules = rules;
  temporary->limit = limit;
  temporary->times = times;
  temporary->hooks = hooks;
  temporary->data = data;
  temporary->queues = g_array_new (FALSE, FALSE, sizeof (Queue));
  g_array_set_clear_func (temporary->queues, clear_queue);
  return temporary;
}

void
gemem_temporary_free (GememTemporary *temporary)
{
  if (temporary == NULL)
    return;
  g_array_unref (temporary->queues);
  g_free (temporary);
}

static Queue *
queue_of (GememTemporary *temporary, guint64 stream)
{
  for (guint i = 0; i < temporary->queues->len; i++)
    if (g_array_index (temporary->queues, Queue, i).stream == stream)
      return &g_array_index (temporary->queues, Queue, i);
  const Queue queue = { stream, 0, g_sequence_new (g_free) };
  g_array_append_val (temporary->queues, queue);
  return &g_array_index (temporary->queues, Queue, temporary->queues->len - 1);
}

/* (u64) (n * times), saturating. */
static guint64
excess (guint64 n, double times)
{
  const double product = (double) n * times;

  return product < 18446744073709551616.0 ? (guint64) product : G_MAXUINT64;
}

/* TRUE if a block of @size bytes is too large for a request of @wanted bytes. */
static gboolean
is_excessive (const GememTemporary *temporary, guint64 size, guint64 wanted)
{
  const guint64 most = excess (wanted, temporary->times);

  return temporary->rules == GEMEM_RULES_DOCUMENTED ? size > most : size >= most;
}

gboolean
gemem_temporary_allocate (GememTemporary *temporary, guint64 stream, guint64 size, guint32 *block)
{
  Queue *queue = queue_of (temporary, stream);
  Entry probe = { size, 0, 0 };
  GSequenceIter *first = g_sequence_search (queue->entries, &probe, compare_entries, NULL);
  const Entry *entry = g_sequence_iter_is_end (first) ? NULL : g_sequence_get (first);

  if (entry == NULL || is_excessive (temporary, entry->size, size))
    return FALSE;
  *block = entry->block;
  queue->wait_bytes -= entry->size;
  g_sequence_remove (first);
  return TRUE;
}

static void
empty (GememTemporary *temporary, Queue *queue)
{
  GSequenceIter *iter;

  temporary->hooks->synchronise (temporary->data, queue->stream);
  for (iter = g_sequence_get_begin_iter (queue->entries); !g_sequence_iter_is_end (iter);
       iter = g_sequence_iter_next (iter))
    temporary->hooks->release (temporary->data, ((const Entry *) g_sequence_get (iter))->block);
  g_sequence_remove_range (g_sequence_get_begin_iter (queue->entries),
                           g_sequence_get_end_iter (queue->entries));
  queue->wait_bytes = 0;
}

static gboolean
is_limited (const GememTemporary *temporary)
{
  return temporary->limit > 0
         || (temporary->limit == 0 && temporary->rules == GEMEM_RULES_DOCUMENTED);
}

void
gemem_temporary_release (GememTemporary *temporary, guint64 stream, guint64 size, guint32 block)
{
  Queue *queue = queue_of (temporary, stream);
  Entry *entry = g_new (Entry, 1);

  *entry = (Entry){ size, ++temporary->turn, block };
  g_sequence_insert_sorted (queue->entries, entry, compare_entries, NULL);
  queue->wait_bytes += size;
  if (is_limited (temporary) && queue->wait_bytes > (guint64) temporary->limit)
    empty (temporary, queue);
}

void
gemem_temporary_flush (GememTemporary *temporary)
{
  for (guint i = 0; i < temporary->queues->len; i++)
    if (!g_sequence_is_empty (g_array_index (temporary->queues, Queue, i).entries))
      empty (temporary, &g_array_index (temporary->queues, Queue, i));
}

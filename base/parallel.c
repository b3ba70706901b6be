/* parallel.c - see parallel.h.  Not GThreadPool: without a thread it waits for one for good. */
#include "config.h"

#include "base/parallel.h"

typedef struct
{
  void (*run) (gpointer data, guint i);
  gpointer data;
  gint n;
  gint next; /* atomic: the first that nobody took */
} Queue;

static gpointer
work (gpointer data)
{
  Queue *queue = data;
  gint i;

  while ((i = g_atomic_int_add (&queue->next, 1)) < queue->n)
    queue->run (queue->data, (guint) i);
  return NULL;
}

void
gemem_parallel (guint n, guint threads, void (*run) (gpointer data, guint i), gpointer data)
{
  Queue queue = { run, data, (gint) n, 0 };
  const guint others = MIN (threads > 0 ? threads : g_get_num_processors (), MAX (n, 1)) - 1;
  g_autofree GThread **helpers = g_new0 (GThread *, others + 1);

  for (guint i = 0; i < others; i++)
    helpers[i] = g_thread_try_new ("gemem-worker", work, &queue, NULL);
  work (&queue);
  for (guint i = 0; i < others; i++)
    if (helpers[i] != NULL)
      g_thread_join (helpers[i]);
}

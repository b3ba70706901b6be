/* turns.c - serves the events of a run from several host threads, one event at a time.
 *
 * Why: manuals say which allocators belong to one thread and which lock; a trace does not say which
 * thread called.  Here event N of the trace is served by thread N modulo the number of threads, each
 * waiting for its turn, so that results are those of one thread unless an allocator minds who calls.
 * Cost: two switches of threads per event, some microseconds.
 *
 * Invariant: at most one thread runs: the one whose number is `turn`, or, while that is NOBODY, the
 * caller.
 */
#include "config.h"

#include "sim/engine/run.h"

#define NOBODY G_MAXUINT
#define END (G_MAXUINT - 1)

typedef struct
{
  GememTurns *turns;
  GThread *thread;
  GCond mine; /* it is this thread's turn, or the end */
  guint number;
} Server;

struct _GememTurns
{
  GememRun *run;
  GMutex lock;
  GCond done;
  guint turn;
  const GememTraceEvent *event;
  GError **error;
  gboolean ok;
  guint n;
  Server servers[];
};

static gpointer
serve (gpointer data)
{
  Server *self = data;
  GememTurns *turns = self->turns;

  g_mutex_lock (&turns->lock);
  while (turns->turn != END)
    {
      if (turns->turn == self->number)
        {
          turns->ok = gemem_run_events (turns->run, turns->event, 1, turns->error)
                      && gemem_run_take_late_refusal (turns->run, turns->error);
          turns->turn = NOBODY;
          g_cond_signal (&turns->done);
        }
      else
        g_cond_wait (&self->mine, &turns->lock);
    }
  g_mutex_unlock (&turns->lock);
  return NULL;
}

GememTurns *
gemem_turns_new (GememRun *run, guint threads)
{
  GememTurns *turns = g_malloc0 (sizeof *turns + threads * sizeof (Server));

  turns->run = run;
  turns->turn = NOBODY;
  turns->n = threads;
  g_mutex_init (&turns->lock);
  g_cond_init (&turns->done);
  for (guint i = 0; i < threads; i++)
    {
      Server *server = &turns->servers[i];
      server->turns = turns;
      server->number = i;
      g_cond_init (&server->mine);
      server->thread = g_thread_new ("gemem-turn", serve, server);
    }
  return turns;
}

void
gemem_turns_free (GememTurns *turns)
{
  if (turns == NULL)
    return;
  g_mutex_lock (&turns->lock);
  turns->turn = END;
  for (guint i = 0; i < turns->n; i++)
    g_cond_signal (&turns->servers[i].mine);
  g_mutex_unlock (&turns->lock);
  for (guint i = 0; i < turns->n; i++)
    {
      g_thread_join (turns->servers[i].thread);
      g_cond_clear (&turns->servers[i].mine);
    }
  g_cond_clear (&turns->done);
  g_mutex_clear (&turns->lock);
  g_free (turns);
}

gboolean
gemem_turns_events (GememTurns *turns, const GememTraceEvent *events, gsize n, GError **error)
{
  gboolean ok = TRUE;

  g_mutex_lock (&turns->lock);
  for (gsize i = 0; ok && i < n && !turns->run->stop; i++)
    {
      turns->event = &events[i];
      turns->error = error;
      turns->turn = (guint) (turns->run->seq % turns->n);
      g_cond_signal (&turns->servers[turns->turn].mine);
      while (turns->turn != NOBODY)
        g_cond_wait (&turns->done, &turns->lock);
      ok = turns->ok;
    }
  g_mutex_unlock (&turns->lock);
  return ok;
}

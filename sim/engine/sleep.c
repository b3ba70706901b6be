/* sleep.c - REGION_BEGIN, REGION_END, SLEEP, PAUSE, WAKE: memory that keeps its addresses while the
 * device has its bytes back.
 *
 * A block of memory that sleeps is not on the device: while it sleeps it is in no account, so live,
 * allocated and the demand fall with what the device has back and rise when it wakes; its id stays
 * alive.  Which blocks sleep the allocator says.  An allocator that knows no such memory passes
 * over the events, which are counted.
 *
 * A WAKE for which there is no memory is a failed request of all it needs.  A block that the
 * allocator returns from memory that sleeps would fault when it is used: the run is not allowed.
 * Cost: O(live blocks) for each such event, and O(1) for a request while something sleeps.
 */
#include "config.h"

#include "base/units.h"
#include "sim/engine/blocks-private.h"
#include "sim/engine/engine-private.h"

static void
leave (GememRun *run, GememLive *live)
{
  live->flags |= GEMEM_LIVE_ASLEEP;
  gemem_accounts_release (&run->accounts, live->stream, live->requested, live->block.size);
  gemem_accounts_end_demand (&run->accounts, live->requested);
}

static void
come_back (GememRun *run, GememLive *live)
{
  live->flags &= ~(guint32) GEMEM_LIVE_ASLEEP;
  gemem_accounts_demand (&run->accounts, live->requested);
  gemem_accounts_return (&run->accounts, live->stream, live->requested, live->block.size);
}

/* Notes of every block whether it sleeps now. */
static void
look (GememRun *run)
{
  g_autoptr (GArray) rows = gemem_live_rows (&run->live, TRUE);

  for (guint i = 0; i < rows->len; i++)
    {
      GememLive *live = (GememLive *) g_array_index (rows, GememLiveRow, i).live;
      gboolean asleep;
      if ((live->flags & (GEMEM_LIVE_UNSERVED | GEMEM_LIVE_GONE | GEMEM_LIVE_HOST)) != 0
          || live->block.handle == NULL)
        continue;
      asleep = run->klass->sleep.is_asleep (run->allocator, &live->block);
      if (asleep && (live->flags & GEMEM_LIVE_ASLEEP) == 0)
        leave (run, live);
      else if (!asleep && (live->flags & GEMEM_LIVE_ASLEEP) != 0)
        come_back (run, live);
    }
}

static void
note_host (GememRun *run)
{
  run->host_backup = run->klass->sleep.host_bytes (run->allocator) + run->own_copies;
  run->result->peak_host_backup = MAX (run->result->peak_host_backup, run->host_backup);
  run->result->end_host_backup = run->host_backup;
}

gboolean
gemem_run_alloc_asleep (GememRun *run, const GememTraceEvent *event, GError **error)
{
  char block[GEMEM_FORMAT_MAX];
  GememLive *live;

  if (!gemem_block_alloc (run, event, TRUE, error))
    return FALSE;
  live = gemem_live_find (&run->live, event->id);
  if (live == NULL || live->flags != 0 || live->block.handle == NULL
      || !run->klass->sleep.is_asleep (run->allocator, &live->block))
    return TRUE;
  leave (run, live);
  run->result->sleeping_allocs++;
  if (run->result->not_allowed == NULL)
    run->result->not_allowed = g_strdup_printf (
        "event %" G_GUINT64_FORMAT ": %s is allocated in memory that sleeps; using it faults",
        run->seq, gemem_block_text (block, event->id));
  return TRUE;
}

/* Waking needs @needed bytes that are not there. */
static void
fail (GememRun *run, const GememTraceEvent *event, guint64 needed)
{
  const GememRequest request = { .size = needed };
  GememOom oom = { .seq = run->seq, .id = event->id, .requested = needed, .wake = TRUE };

  gemem_audit (run->allocator, &run->live, &run->accounts, &request, 0, FALSE, &oom);
  gemem_run_keep_oom (run, &oom);
}

static gboolean
begin_pool (GememRun *run, const GememTraceEvent *event, const char *tag, GError **error)
{
  if (event->pool == 0)
    return gemem_run_bad_event (run, error,
                                "the default pool is to sleep, which only a private "
                                "pool can");
  run->klass->sleep.begin (run->allocator, event->pool, tag, event->aux != 0);
  return gemem_run_take_refusal (run, error);
}

/* Names in @tag; without any, the empty list. */
static GStrv
split (const char *tag)
{
  return g_strsplit (tag, ",", -1);
}

static gboolean
serve (GememRun *run, const GememTraceEvent *event, GError **error)
{
  const char *tag = run->info != NULL && event->tag < run->info->strings->len
                        ? g_ptr_array_index (run->info->strings, event->tag)
                        : "";
  g_auto (GStrv) names = split (tag);
  const char *const *list = (const char *const *) names;
  guint64 needed;

  switch (event->kind)
    {
    case GEMEM_EVENT_REGION_BEGIN:
      return begin_pool (run, event, tag, error);
    case GEMEM_EVENT_REGION_END:
      run->klass->sleep.end (run->allocator, event->pool, event->aux != 0);
      return TRUE;
    case GEMEM_EVENT_WAKE:
      if (run->klass->sleep.wake (run->allocator, list, &needed))
        run->own_copies = 0;
      else
        fail (run, event, needed);
      return TRUE;
    case GEMEM_EVENT_SLEEP:
      run->klass->sleep.sleep (run->allocator, list);
      run->own_copies = event->size;
      break;
    default:
      run->klass->sleep.pause (run->allocator, list);
    }
  run->result->sleeps++;
  return gemem_run_take_refusal (run, error);
}

gboolean
gemem_run_sleep (GememRun *run, const GememTraceEvent *event, GError **error)
{
  const guint64 charged = run->device->call_time;
  const GememDecision decision = { .event = event };

  if (run->klass->sleep.sleep == NULL)
    {
      run->result->unslept += event->kind != GEMEM_EVENT_REGION_BEGIN
                              && event->kind != GEMEM_EVENT_REGION_END;
      return TRUE;
    }
  if (!serve (run, event, error))
    return FALSE;
  run->attention |= GEMEM_RUN_SLEEPING;
  look (run);
  note_host (run);
  run->modelled_ns += run->device->call_time - charged;
  gemem_probes_decided (run, &decision);
  return TRUE;
}

/* pytorch-releases.c - see pytorch-releases.h.
 *
 * Invariants: runs are in order and do not touch; at most the last one is open.
 */
#include "config.h"

#include <string.h>

#include "traces/pytorch-releases.h"

void
gemem_pytorch_releases_init (GememPytorchReleases *releases)
{
  memset (releases, 0, sizeof *releases);
  releases->runs = g_array_new (FALSE, FALSE, sizeof (GememPytorchRelease));
  releases->pools = g_array_new (FALSE, FALSE, sizeof (guint32));
  gemem_idset_init (&releases->known);
}

void
gemem_pytorch_releases_clear (GememPytorchReleases *releases)
{
  g_clear_pointer (&releases->runs, g_array_unref);
  g_clear_pointer (&releases->pools, g_array_unref);
  gemem_idset_clear (&releases->known);
}

static gboolean
is_release (const GememTraceEvent *event)
{
  return event->kind == GEMEM_EVENT_SEGMENT_FREE || event->kind == GEMEM_EVENT_SEGMENT_UNMAP;
}

/* What a request leads to; its stack is that of the request. */
static gboolean
is_of_request (const GememTraceEvent *event)
{
  return event->kind == GEMEM_EVENT_SEGMENT_ALLOC || event->kind == GEMEM_EVENT_SEGMENT_MAP || event->kind == GEMEM_EVENT_ALLOC
         || event->kind == GEMEM_EVENT_OOM;
}

/* @next: the event behind the run, or NULL. */
static void
close_run (GememPytorchReleases *releases, const GememTraceEvent *next, guint32 stack)
{
  GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease, releases->runs->len - 1);

  if (releases->stack != 0 && next != NULL && is_of_request (next) && stack == releases->stack)
    run->cause = GEMEM_PYTORCH_RELEASE_REFUSED;
  else if (releases->stack != 0 || releases->stacks)
    run->cause = GEMEM_PYTORCH_RELEASE_PROGRAM;
  else
    run->cause = GEMEM_PYTORCH_RELEASE_GUESSED;
  if (run->cause == GEMEM_PYTORCH_RELEASE_REFUSED)
    run->served = next->kind != GEMEM_EVENT_OOM ? next->size : 0;
  else
    run->event += releases->completions;
  run->whole |= run->n_pools == 0;
  releases->counts[run->cause]++;
  releases->added += run->n_pools + (run->whole || run->cause == GEMEM_PYTORCH_RELEASE_REFUSED);
  releases->limited = run->cause == GEMEM_PYTORCH_RELEASE_REFUSED;
  releases->open = FALSE;
}

static void
add_to_run (GememPytorchReleases *releases, const GememTraceEvent *event)
{
  GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease, releases->runs->len - 1);

  run->bytes += event->size;
  run->whole |= event->pool == 0;
  if (event->pool == 0 || gemem_idset_contains (&releases->known, event->pool))
    return;
  gemem_idset_add (&releases->known, event->pool);
  g_array_append_val (releases->pools, event->pool);
  run->n_pools++;
}

static void
begin_run (GememPytorchReleases *releases, guint32 stack, gboolean empties)
{
  GememPytorchRelease run = { .pools = releases->pools->len, .whole = empties };

  if (releases->stack != stack)
    releases->completions = 0;
  run.event = releases->events - releases->completions;
  g_array_append_val (releases->runs, run);
  releases->open = TRUE;
  releases->stack = stack;
}

/* How many completions with one stack there are without another event between. */
static void
count_completions (GememPytorchReleases *releases, const GememTraceEvent *event, guint32 stack)
{
  if (event->kind != GEMEM_EVENT_FREE_COMPLETED || stack == 0 || stack != releases->stack)
    releases->completions = 0;
  releases->stack = stack;
  releases->completions += event->kind == GEMEM_EVENT_FREE_COMPLETED && stack != 0;
}

void
gemem_pytorch_releases_event (GememPytorchReleases *releases, const GememTraceEvent *event, guint32 stack, gboolean empties)
{
  const gboolean release = is_release (event);
  GememTraceEvent behind[GEMEM_PYTORCH_MAX_BEHIND];

  releases->stacks |= stack != 0 && is_of_request (event);
  if (releases->open && !release)
    close_run (releases, event, stack);
  if (release && !releases->open)
    begin_run (releases, stack, empties);
  if (release)
    add_to_run (releases, event);
  else
    count_completions (releases, event, stack);
  releases->failed += event->kind == GEMEM_EVENT_OOM;
  releases->added += gemem_pytorch_releases_behind (releases, event, 0, behind);
  releases->events++;
}

void
gemem_pytorch_releases_finish (GememPytorchReleases *releases)
{
  if (releases->open)
    close_run (releases, NULL, 0);
  releases->limited = FALSE;
}

/* ---- second pass */

static guint
add (GememTraceEvent *added, guint n, GememEventKind kind, guint64 size, guint8 flags)
{
  added[n] = (GememTraceEvent){ .kind = (guint8) kind, .size = size, .flags = flags };
  return n + 1;
}

gboolean
gemem_pytorch_releases_before (GememPytorchReleases *releases, guint64 number, guint64 reserved, GememTraceEvent *added)
{
  const GememPytorchRelease *run = &g_array_index (releases->runs, GememPytorchRelease, releases->next);
  const gboolean refused = releases->next < releases->runs->len && run->cause == GEMEM_PYTORCH_RELEASE_REFUSED;

  if (releases->next == releases->runs->len || run->event != number)
    return FALSE;
  if (releases->step < run->n_pools)
    {
      add (added, 0, GEMEM_EVENT_POOL_RELEASE, 0, 0);
      added->pool = g_array_index (releases->pools, guint32, run->pools + releases->step++);
      added->aux = !run->whole && !refused;
      return TRUE;
    }
  releases->next++;
  releases->step = 0;
  releases->limited = refused;
  if (refused)
    add (added, 0, GEMEM_EVENT_DEVICE_LIMIT, MAX (reserved - MIN (run->bytes, reserved) + run->served, 1), 0);
  else if (run->whole)
    add (added, 0, GEMEM_EVENT_TRIM, 0, 0);
  return refused || run->whole;
}

guint
gemem_pytorch_releases_behind (GememPytorchReleases *releases, const GememTraceEvent *event, guint64 reserved, GememTraceEvent *added)
{
  guint n = 0;

  if (event->kind == GEMEM_EVENT_OOM && event->size > 0)
    {
      if (!releases->limited)
        n = add (added, n, GEMEM_EVENT_DEVICE_LIMIT, MAX (reserved, 1), 0);
      n = add (added, n, GEMEM_EVENT_ALLOC, event->size, GEMEM_EVENT_FAILED);
      n = add (added, n, GEMEM_EVENT_FREE, 0, GEMEM_EVENT_FAILED);
      releases->limited = TRUE;
    }
  if (!releases->limited || event->kind == GEMEM_EVENT_FREE_COMPLETED
      || (event->kind >= GEMEM_EVENT_SEGMENT_ALLOC && event->kind <= GEMEM_EVENT_SEGMENT_UNMAP))
    return n; /* the request is not served yet */
  releases->limited = FALSE;
  return add (added, n, GEMEM_EVENT_DEVICE_LIMIT, 0, 0);
}

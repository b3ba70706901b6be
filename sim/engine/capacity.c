/* capacity.c - the least capacity that fits (`--find-capacity`), to the byte.
 *
 * A capacity fits when the whole trace replays without a failed request; one that ran out of memory when
 * recorded is a request like all others (refused.c).  No capacity below the
 * lower bound can fit, and a run on an unlimited device shows how much the allocator takes when
 * nothing limits it.  Bisection between the two finds the answer; each step is a replay that ends
 * at its first failure.  Allocators that size their chunks by the capacity may need more than the
 * unlimited run took; then the upper end is doubled until it fits.
 *
 * Bisection is exact where fitting is monotone in the capacity.  It need not be (chunk sizes
 * derived from free memory, garbage-collection thresholds, caches emptied sooner), so PROBES capacities
 * above the answer are tried as well; one that does not fit is reported by capacity_monotone = FALSE.
 * Who asks about a device that was too small (not_in) is told of none below it, and of none that fails again with
 * some pages more.  Some 50 replays in all.
 */
#include "config.h"

#include "base/units.h"
#include "sim/engine/run.h"

#define UNLIMITED (G_GUINT64_CONSTANT (1) << 50)
/* Expandable segments take as many addresses each as the device has bytes: of those, 2^50 are too many. */
#define VERY_LARGE (G_GUINT64_CONSTANT (1) << 42)
#define PROBES 10
#define NEAR_PROBES 5 /* of these: just above, and up to 16 MiB above */
#define SEARCHES 4    /* at most, each above what failed */

typedef struct
{
  GememJob job;
  gboolean interrupted;
  guint passes;
} Search;

/* 1: fits, 0: does not, -1: error.  @unlimited: keep the result. */
static int
fits (Search *search, guint64 capacity, GememResult **unlimited, GError **error)
{
  GememResult *result = gemem_run_pass (&search->job, capacity, G_MAXUINT64, error);
  int answer;

  search->passes++;
  if (result == NULL)
    return -1;
  search->interrupted = search->job.interrupted != NULL
                        && g_atomic_int_get (search->job.interrupted) != 0;
  answer = result->ooms == 0 && !search->interrupted;
  if (unlimited != NULL)
    *unlimited = result;
  else
    gemem_result_free (result);
  return answer;
}

/* Smallest fitting capacity in (@low, @high], where @low does not fit and @high does; 0 on
 * error. */
static guint64
bisect (Search *search, guint64 low, guint64 high, GError **error)
{
  while (high - low > 1 && !search->interrupted)
    {
      guint64 middle = low + (high - low) / 2;
      gemem_job_expect (&search->job, g_bit_storage (high - low) + PROBES);
      int answer = fits (search, middle, NULL, error);
      if (answer < 0)
        return 0;
      if (answer > 0)
        high = middle;
      else
        low = middle;
    }
  return high;
}

/* A capacity not below @high that fits, at most UNLIMITED; 0 on error. */
static guint64
raise_until_fits (Search *search, guint64 high, guint64 *low, GError **error)
{
  for (; high < UNLIMITED && !search->interrupted; high *= 2)
    {
      int answer = fits (search, high, NULL, error);
      if (answer != 0)
        return answer > 0 ? high : 0;
      *low = high;
    }
  return UNLIMITED;
}

/* Whether the capacities above @least fit too: just above, some pages above, and evenly spaced up to twice @least.  *@near_by: one
 * that does not, if it is some pages above; else 0. */
static int
probe_above (Search *search, guint64 least, guint64 *near_by, GError **error)
{
  guint64 step = MAX (least / (PROBES - NEAR_PROBES), 1);

  *near_by = 0;
  for (guint i = 0; i < PROBES && !search->interrupted; i++)
    {
      const guint64 more = i == 0            ? 1
                           : i < NEAR_PROBES ? GEMEM_MIB << i
                                             : (i + 1 - NEAR_PROBES) * step;
      gemem_job_expect (&search->job, PROBES - i);
      int answer = fits (search, least + more, NULL, error);
      if (answer <= 0)
        {
          *near_by = answer == 0 && i < NEAR_PROBES ? least + more : 0;
          return search->interrupted ? 1 : answer;
        }
    }
  return 1;
}

/* The capacity on which the device refused a request of @result, without what a recorded one had given to others; 0: none. */
static guint64
too_small (const GememResult *result)
{
  const GememOom *oom = gemem_result_first_oom (result);

  return oom == NULL || oom->device_free >= oom->requested ? 0
                                                           : gemem_result_too_small (result, oom);
}

static gboolean
search_between (Search *search, const GememResult *unlimited, GememResult *result, GError **error)
{
  guint64 low = MAX (MAX (unlimited->lower_bound, 1) - 1, search->job.not_in), high, least, failed;
  int monotone;
  guint searches = 0;

  do
    {
      high = raise_until_fits (search, MAX (unlimited->peak_reserved, low + 1), &low, error);
      if (high == 0)
        return FALSE;
      least = bisect (search, low, high, error);
      if (least == 0)
        return FALSE;
      monotone = probe_above (search, least, &failed, error);
      if (monotone < 0)
        return FALSE;
      low = failed;
    }
  while (failed > 0 && search->job.not_in > 0 && ++searches < SEARCHES);
  result->least_capacity = least;
  result->capacity_monotone = monotone > 0 && too_small (result) < least;
  return TRUE;
}

/* @job as each pass of a search makes it. */
static GememJob
bare (const GememJob *job)
{
  GememJob own = *job;

  own.whole_state = TRUE; /* the program cannot come to where the recording begins with less */
  own.timeline_points = 0;
  own.keep_map = own.keep_idle = own.keep_report = own.measure = own.find_capacity =
      own.keep_origins = FALSE;
  own.history = NULL;
  own.repeat = job->warm_up + MAX (job->repeat, 1); /* no request may fail in any epoch */
  own.warm_up = 0;
  own.ignore_refusals = TRUE;
  own.events_path = own.calls_path = own.record_path = NULL;
  return own;
}

GememResult *
gemem_capacity_try (const GememJob *job, GError **error)
{
  Search search = { .job = bare (job) };
  GememResult *result = NULL;

  search.job.stop_at_oom = TRUE;
  if (fits (&search, job->fits_first, &result, error) == 0 && !search.interrupted)
    result->least_above = job->fits_first;
  return result;
}

gboolean
gemem_capacity_find (const GememJob *job, GememResult *result, GError **error)
{
  Search search = { .job = bare (job) };
  GememResult *unlimited = NULL;
  gboolean done;
  int answer;

  search.job.rivals = NULL;
  search.job.stop_at_oom = FALSE; /* the lower bound is that of the whole trace */
  answer = fits (&search, UNLIMITED, &unlimited, error);
  if (answer == 0 && !search.interrupted && unlimited->lower_bound < VERY_LARGE)
    {
      gemem_result_free (g_steal_pointer (&unlimited));
      answer = fits (&search, VERY_LARGE, &unlimited, error);
    }
  search.job.stop_at_oom = TRUE;
  if (answer > 0)
    done = search_between (&search, unlimited, result, error);
  else
    {
      done = answer == 0;
      result->least_capacity = G_MAXUINT64;
    }
  gemem_result_free (unlimited);
  result->capacity_passes += search.passes;
  if (search.interrupted)
    {
      result->partial = TRUE;
      result->least_capacity = 0;
      if (result->failure == NULL)
        result->failure = g_strdup ("interrupted while looking for the least capacity");
    }
  return done;
}

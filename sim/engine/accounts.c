/* accounts.c - see accounts.h: the accounting that is not needed at every event.
 *
 * Streams beyond GEMEM_STREAMS_MAX share one account, so that a hostile trace with a new stream per
 * event cannot make memory grow.  Lists in the result are sorted by stream and size.
 */
#include "config.h"

#include <string.h>

#include "sim/engine/accounts.h"

#define OTHER_STREAMS G_MAXUINT64

void
gemem_accounts_init (GememAccounts *accounts, guint64 alignment)
{
  memset (accounts, 0, sizeof *accounts);
  accounts->alignment_mask = MAX (alignment, 1) - 1;
  g_assert ((alignment & accounts->alignment_mask) == 0);
  accounts->streams = g_array_new (FALSE, TRUE, sizeof (GememStreamAccount));
  gemem_accounts_stream (accounts, 0);
}

void
gemem_accounts_clear (GememAccounts *accounts)
{
  g_clear_pointer (&accounts->streams, g_array_unref);
}

guint
gemem_accounts_stream (GememAccounts *accounts, guint64 stream)
{
  GememStreamAccount fresh = { .use = { .stream = stream } };
  guint i;

  for (i = 0; i < accounts->streams->len; i++)
    if (gemem_accounts_stream_at (accounts, i)->use.stream == stream)
      return accounts->stream = i;
  if (accounts->streams->len == GEMEM_STREAMS_MAX)
    fresh.use.stream = OTHER_STREAMS;
  if (accounts->streams->len <= GEMEM_STREAMS_MAX)
    g_array_append_val (accounts->streams, fresh);
  return accounts->stream = accounts->streams->len - 1;
}

void
gemem_accounts_epoch (GememAccounts *accounts)
{
  accounts->peak_live = accounts->live;
  accounts->peak_allocated = accounts->allocated;
  accounts->peak_reserved = accounts->reserved;
}

static int
compare_streams (gconstpointer a, gconstpointer b)
{
  guint64 x = ((const GememStreamUse *) a)->stream, y = ((const GememStreamUse *) b)->stream;
  return x < y ? -1 : x > y;
}

static GememWide
wide (GememWeighted sum)
{
  return (GememWide) sum.high << 64 | sum.low;
}

static void
finish_means (const GememAccounts *accounts, gboolean time_weighted, GememResult *result)
{
  GememWide live = wide (accounts->live_sum), allocated = wide (accounts->allocated_sum),
            reserved = wide (accounts->reserved_sum);
  guint64 weight = accounts->weight_sum;

  if (weight == 0) /* no time passed: the present value is the average */
    {
      live = accounts->live, allocated = accounts->allocated, reserved = accounts->reserved;
      weight = 1;
    }
  result->time_weighted = time_weighted;
  result->internal_mean = allocated > live ? (guint64) ((allocated - live) / weight) : 0;
  result->external_mean = reserved > allocated ? (guint64) ((reserved - allocated) / weight) : 0;
}

void
gemem_accounts_finish (GememAccounts *accounts, gboolean time_weighted, GememResult *result)
{
  finish_means (accounts, time_weighted, result);
  result->lower_bound = accounts->peak_demand;
  g_array_set_size (result->streams, 0);
  for (guint i = 0; i < accounts->streams->len; i++)
    {
      GememStreamUse use = gemem_accounts_stream_at (accounts, i)->use;
      if (use.allocs > 0)
        g_array_append_val (result->streams, use);
    }
  g_array_sort (result->streams, compare_streams);
  g_array_set_size (result->classes, 0);
  for (guint c = 0; c < GEMEM_SIZE_CLASSES; c++)
    {
      const GememClassAccount *class = &accounts->classes[c];
      gboolean changed = class->stamp == accounts->peak_stamp;
      GememSizeClassUse use = { .limit = c < 64 ? G_GUINT64_CONSTANT (1) << c : G_MAXUINT64,
                                .allocs = class->allocs,
                                .internal_waste_at_peak = changed ? class->internal_at_peak
                                                                  : class->internal,
                                .live_at_peak = changed ? class->live_at_peak : class->live };
      if (use.allocs > 0)
        g_array_append_val (result->classes, use);
    }
}

/* checks.c - the probe of --check: walks and checks the allocator after every event.
 *
 * A build with --enable-checks=full checks every run, asked for or not: after each of the first
 * FIRST events, then so often that the checks cost a constant time per event, however much lives.
 *
 * Requirements: spans tile their segments without overlap; spans that are not UNMAPPED add up to
 * the bytes held from the device; every block of the program is a LIVE span that covers the
 * requested bytes, and every LIVE span is such a block; the sums over the live records are the
 * engine's accounts; the allocator's own check passes.
 */
#include "config.h"

#include "sim/engine/engine-private.h"

#define FIRST 100   /* events that are all checked */
#define PER_EVENT 4 /* spans and blocks that a later event pays for */

typedef struct
{
  GememProbe base;
  gsize unpaid; /* spans and blocks of the last check that no event has paid for yet */
  GArray *spans, *rows, *live; /* of the last check; kept, as events are many */
} Checks;

G_GNUC_PRINTF (3, 4)
static gboolean
broken (GError **error, GememAllocator *allocator, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
               "allocator %s: %s; this is a bug of the allocator, please report it",
               allocator->klass->name, text);
  return FALSE;
}

/* Each span begins where the one before it ended, or begins a later segment that the one before it
 * filled. */
static gboolean
check_tiling (GememAllocator *allocator, const GArray *spans, GError **error)
{
  guint64 end = 0, segment = 0, segment_end = 0;

  for (guint i = 0; i < spans->len; i++)
    {
      const GememSpan *span = &g_array_index (spans, GememSpan, i);
      if (i == 0 || span->segment != segment)
        {
          if (end != segment_end)
            return broken (error, allocator,
                           "the spans of the segment at 0x%" G_GINT64_MODIFIER "x do not fill it",
                           segment);
          if (span->segment < end)
            return broken (error, allocator,
                           "the segment at 0x%" G_GINT64_MODIFIER "x overlaps the one before it",
                           span->segment);
          end = segment = span->segment;
          segment_end = segment + span->segment_size;
        }
      if (span->address != end || span->size == 0 || span->size > segment_end - end)
        return broken (error, allocator,
                       "the span at 0x%" G_GINT64_MODIFIER
                       "x does not follow its neighbour in its segment",
                       span->address);
      end += span->size;
    }
  return end == segment_end
         || broken (error, allocator,
                    "the spans of the segment at 0x%" G_GINT64_MODIFIER "x do not fill it",
                    segment);
}

static guint64
sum_physical (const GArray *spans)
{
  guint64 sum = 0;
  for (guint i = 0; i < spans->len; i++)
    {
      const GememSpan *span = &g_array_index (spans, GememSpan, i);
      sum += span->state == GEMEM_SPAN_UNMAPPED ? 0 : span->size;
    }
  return sum;
}

static int
compare_users (gconstpointer a, gconstpointer b)
{
  guint64 x = gemem_span_user (a), y = gemem_span_user (b);
  return x < y ? -1 : x > y;
}

/* Makes @live the LIVE ones of @spans, sorted by the address that the program sees. */
static void
take_live (GArray *live, const GArray *spans)
{
  g_array_set_size (live, 0);
  for (guint i = 0; i < spans->len; i++)
    if (g_array_index (spans, GememSpan, i).state == GEMEM_SPAN_LIVE)
      g_array_append_vals (live, &g_array_index (spans, GememSpan, i), 1);
  g_array_sort (live, compare_users);
}

static gboolean
check_blocks (const GememRun *run, const GArray *live, const GArray *rows, GError **error)
{
  GememAllocator *allocator = run->allocator;
  guint s = 0;

  for (guint r = 0; r < rows->len; r++)
    {
      const GememLiveRow *row = &g_array_index (rows, GememLiveRow, r);
      const GememSpan *span = s < live->len ? &g_array_index (live, GememSpan, s) : NULL;
      gboolean found = span != NULL && gemem_span_user (span) == row->address;
      if (!found
          && (row->live->flags & (GEMEM_LIVE_REQUESTED | GEMEM_LIVE_HOST | GEMEM_LIVE_ASLEEP)) != 0)
        continue; /* the program freed the block, or it is not on the device */
      g_autofree char *origin = NULL;
      if (!found)
        return broken (error, allocator,
                       "walk does not report the live block of id %" G_GUINT64_FORMAT
                       " at 0x%" G_GINT64_MODIFIER "x%s",
                       row->id, row->address, origin = gemem_origins_describe (run, row->id));
      if (row->address < span->address
          || row->live->requested > span->address + span->size - row->address)
        return broken (error, allocator,
                       "the block of id %" G_GUINT64_FORMAT "%s is smaller than what was asked for",
                       row->id, origin = gemem_origins_describe (run, row->id));
      s++;
    }
  if (s < live->len)
    return broken (error, allocator,
                   "walk reports a live block at 0x%" G_GINT64_MODIFIER "x that nobody holds",
                   gemem_span_user (&g_array_index (live, GememSpan, s)));
  return TRUE;
}

static gboolean
check_accounts (GememAllocator *allocator, const GArray *rows, const GememAccounts *accounts,
                GError **error)
{
  const GememAllocatorClass *klass = allocator->klass;
  guint64 live = accounts->graphs, allocated = accounts->graphs, twice = 0;

  for (guint r = 0; r < rows->len; r++)
    {
      const GememLive *row = g_array_index (rows, GememLiveRow, r).live;
      if ((row->flags & (GEMEM_LIVE_HOST | GEMEM_LIVE_ASLEEP)) != 0)
        continue;
      live += row->requested;
      allocated += row->block.size;
    }
  if (klass->graphs.need != NULL) /* bytes that count for several running graphs */
    twice = accounts->graphs - MIN (accounts->graphs, klass->graphs.bytes (allocator));
  if (live != accounts->live || allocated != accounts->allocated
      || allocated - twice > accounts->reserved)
    return broken (error, allocator,
                   "accounting does not close: live %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT
                   ", allocated %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT
                   ", reserved %" G_GUINT64_FORMAT,
                   live, accounts->live, allocated, accounts->allocated, accounts->reserved);
  return TRUE;
}

/* Whether a walk over @physical bytes accounts for what @device holds. */
static gboolean
is_all_held (const GememDevice *device, guint64 physical)
{
  const GememDevice *last = device;

  while (last->inner != NULL)
    last = last->inner;
  return last->shares_pages ? physical <= device->held : physical == device->held;
}

static gboolean
verify (Checks *checks, const GememRun *run, GError **error)
{
  GememAllocator *allocator = run->allocator;
  const GArray *spans = checks->spans, *rows = checks->rows;
  guint64 physical;

  gemem_spans_into (checks->spans, allocator);
  gemem_live_rows_into (checks->rows, &run->live, FALSE);
  take_live (checks->live, spans);
  physical = sum_physical (spans);
  checks->unpaid = (gsize) spans->len + rows->len;
  if (!is_all_held (allocator->device, physical))
    return broken (error, allocator,
                   "walk adds up to %" G_GUINT64_FORMAT
                   " bytes, the device holds %" G_GUINT64_FORMAT,
                   physical, allocator->device->held);
  return check_tiling (allocator, spans, error) && check_blocks (run, checks->live, rows, error)
         && check_accounts (allocator, rows, &run->accounts, error)
         && allocator->klass->check (allocator, error);
}

static gboolean
wanted (const GememRun *run)
{
  return run->verify;
}

/* Whether the next event of a run that nobody asked to check is passed over. */
static gboolean
passed_over (Checks *checks, const GememRun *run)
{
  if (run->job->full_checks || run->seq < FIRST || checks->unpaid < PER_EVENT)
    return FALSE;
  checks->unpaid -= PER_EVENT;
  return TRUE;
}

static gboolean
after (GememProbe *probe, GememRun *run, const GememTraceEvent *event, GError **error)
{
  Checks *checks = (Checks *) probe;

  (void) event;
  if (run->allocator->refusal != NULL)
    probe->done = TRUE; /* a refused free: the engine has dropped a block that is still there */
  if (probe->done || passed_over (checks, run) || verify (checks, run, error))
    return TRUE;
  g_prefix_error (error, "%s:event %" G_GUINT64_FORMAT ": ", run->name, run->seq);
  return FALSE;
}

static gboolean
attach (GememProbe *probe, GememRun *run, GError **error)
{
  Checks *checks = (Checks *) probe;

  (void) run, (void) error;
  checks->spans = g_array_new (FALSE, FALSE, sizeof (GememSpan));
  checks->rows = g_array_new (FALSE, FALSE, sizeof (GememLiveRow));
  checks->live = g_array_new (FALSE, FALSE, sizeof (GememSpan));
  return TRUE;
}

static void
clear (GememProbe *probe, GememRun *run)
{
  Checks *checks = (Checks *) probe;

  (void) run;
  g_array_unref (checks->spans);
  g_array_unref (checks->rows);
  g_array_unref (checks->live);
}

const GememProbeClass gemem_checks_probe = {
  .size = sizeof (Checks), .wanted = wanted, .attach = attach, .after = after, .clear = clear
};

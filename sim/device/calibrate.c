/* calibrate.c - see calibrate.h.  Here: the measurements; calibrate-profile.c writes them down. */
#include "config.h"

#include "sim/core/error.h"
#include "sim/core/units.h"
#include "sim/device/calibrate.h"

#define WARM_UP 3
#define SIZES GEMEM_CALIBRATE_SIZES
#define COUNTS GEMEM_CALIBRATE_COUNTS
#define SIZES_MEMSET 4   /* larger ones: a launch hides what a small one takes */
#define TRIALS 5         /* of whether a call waits */
#define WORK_NS 10000000 /* of work on the stream meanwhile */
#define WORK_CALLS 64    /* memsets, where it cannot be occupied */
#define STREAM 1

typedef struct
{
  GememDevice                 *device;
  const GememCalibrateOptions *options;
  GememCalibration            *out;
  guint64                      unit;  /* smallest size */
  guint                        sizes; /* that fit */
  GArray                      *samples[GEMEM_CALL_COUNT][GEMEM_CALIBRATE_POINTS]; /* guint64 ns; sizes, then counts */
} Calibrator;

static guint64
now (const Calibrator *self)
{
  return self->options->clock (self->options->clock_data);
}

static void
add_sample (Calibrator *self, GememDeviceCall call, guint point, guint64 ns)
{
  GArray **samples = &self->samples[call][point];

  if (*samples == NULL)
    *samples = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_array_append_val (*samples, ns);
}

/* Times one statement; warm-up rounds are negative. */
#define TIME(self, round, call, point, statement) \
  G_STMT_START \
  { \
    const guint64 began = now (self); \
    statement; \
    if ((round) >= 0) \
      add_sample (self, call, point, now (self) - began); \
  } \
  G_STMT_END

#define ROUNDS(round, self) for (int round = -WARM_UP; round < (int) (self)->options->repeats; round++)

/* ---- rounds of calls */

static gboolean
measure_plain (Calibrator *self, guint point, guint64 bytes)
{
  guint64 address;

  ROUNDS (round, self)
  {
    TIME (self, round, GEMEM_CALL_MALLOC, point, address = gemem_device_malloc (self->device, bytes, 0));
    if (address == 0)
      return FALSE;
    TIME (self, round, GEMEM_CALL_FREE, point, gemem_device_free (self->device, address, bytes));
  }
  return TRUE;
}

static gboolean
measure_virtual (Calibrator *self, guint point, guint64 bytes)
{
  GememDevice *device = self->device;
  guint64 range;
  GememPage page;
  gboolean mapped;

  ROUNDS (round, self)
  {
    TIME (self, round, GEMEM_CALL_RESERVE, point, range = gemem_device_reserve (device, bytes, 0));
    TIME (self, round, GEMEM_CALL_CREATE, point, page = gemem_device_create_page (device, bytes));
    mapped = FALSE;
    if (range != 0 && page != 0)
      TIME (self, round, GEMEM_CALL_MAP, point, mapped = gemem_device_map (device, range, page, 0, bytes));
    if (mapped)
      TIME (self, round, GEMEM_CALL_UNMAP, point, gemem_device_unmap (device, range, bytes));
    if (page != 0)
      TIME (self, round, GEMEM_CALL_DESTROY, point, gemem_device_destroy_page (device, page, bytes));
    if (range != 0)
      TIME (self, round, GEMEM_CALL_RELEASE, point, gemem_device_release (device, range, bytes));
    if (!mapped)
      return FALSE;
  }
  return TRUE;
}

/* The call itself, and what the stream has to do: until it has done it. */
static void
measure_memset (Calibrator *self, guint size, guint64 bytes, GArray *until_done)
{
  const guint64 address = gemem_device_malloc (self->device, bytes, 0);

  if (address == 0)
    return;
  ROUNDS (round, self)
  {
    const guint64 start = now (self);
    guint64 took;

    TIME (self, round, GEMEM_CALL_MEMSET, size, gemem_device_memset (self->device, address, 0, bytes, STREAM));
    gemem_device_stream_sync (self->device, STREAM);
    took = now (self) - start;
    if (round >= 0)
      g_array_append_val (until_done, took);
  }
  gemem_device_free (self->device, address, bytes);
}

static void
measure_rest (Calibrator *self)
{
  GememDeviceEvent event;
  GememDeviceInfo info;

  ROUNDS (round, self)
  {
    TIME (self, round, GEMEM_CALL_EVENT_RECORD, 0, event = gemem_device_event_record (self->device, STREAM));
    gemem_device_event_sync (self->device, event);
    TIME (self, round, GEMEM_CALL_EVENT_QUERY, 0, gemem_device_event_query (self->device, event));
    event = gemem_device_event_record (self->device, STREAM);
    gemem_device_stream_sync (self->device, STREAM);
    TIME (self, round, GEMEM_CALL_EVENT_SYNC, 0, gemem_device_event_sync (self->device, event));
    TIME (self, round, GEMEM_CALL_STREAM_SYNC, 0, gemem_device_stream_sync (self->device, STREAM));
    TIME (self, round, GEMEM_CALL_DEVICE_SYNC, 0, gemem_device_sync (self->device));
    TIME (self, round, GEMEM_CALL_INFO, 0, gemem_device_info (self->device, &info));
  }
}

/* ---- others that are live */

static guint64
others (guint count)
{
  return count == 0 ? 0 : G_GUINT64_CONSTANT (16) << 2 * count;
}

typedef struct
{
  guint64   address; /* of memory, or of a range */
  GememPage page;    /* or 0 */
} Other;

static gboolean
add_other (Calibrator *self, gboolean virtual, GArray *list)
{
  Other other = { 0 };
  gboolean ok;

  if (!virtual)
    ok = (other.address = gemem_device_malloc (self->device, self->unit, 0)) != 0;
  else
    ok = (other.address = gemem_device_reserve (self->device, self->unit, 0)) != 0
         && (other.page = gemem_device_create_page (self->device, self->unit)) != 0
         && gemem_device_map (self->device, other.address, other.page, 0, self->unit);
  if (ok)
    {
      g_array_append_val (list, other);
      return TRUE;
    }
  if (other.page != 0)
    gemem_device_destroy_page (self->device, other.page, self->unit);
  if (virtual && other.address != 0)
    gemem_device_release (self->device, other.address, self->unit);
  return FALSE;
}

static void
remove_others (Calibrator *self, const GArray *list)
{
  for (guint i = 0; i < list->len; i++)
    {
      const Other *other = &g_array_index (list, Other, i);

      if (other->page == 0)
        {
          gemem_device_free (self->device, other->address, self->unit);
          continue;
        }
      gemem_device_unmap (self->device, other->address, self->unit);
      gemem_device_destroy_page (self->device, other->page, self->unit);
      gemem_device_release (self->device, other->address, self->unit);
    }
}

/* The calls that give memory and take it back, of the smallest size, among ever more others. */
static void
measure_counts (Calibrator *self, gboolean virtual, guint64 limit)
{
  g_autoptr (GArray) list = g_array_new (FALSE, FALSE, sizeof (Other));

  for (guint i = 0; i < COUNTS && others (i) * self->unit <= limit; i++)
    {
      while (list->len < others (i) && add_other (self, virtual, list))
        ;
      if (list->len < others (i) || !(virtual ? measure_virtual : measure_plain) (self, SIZES + i, self->unit))
        break;
    }
  remove_others (self, list);
}

/* ---- medians and lines */

static int
compare (gconstpointer a, gconstpointer b)
{
  const guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;
  return x < y ? -1 : x > y;
}

static int
compare_double (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;
  return x < y ? -1 : x > y;
}

/* The value below which @permille of @samples lie. */
static guint64
quantile (GArray *samples, guint permille)
{
  g_array_sort (samples, compare);
  return g_array_index (samples, guint64, MIN (samples->len - 1, samples->len * permille / 1000));
}

typedef struct
{
  double x, y;
} Point;

static double
median_of (GArray *values)
{
  g_array_sort (values, compare_double);
  return g_array_index (values, double, values->len / 2);
}

/* y = base + slope * x, both at least 0. */
static void
fit (const Point *points, guint n, guint64 *base, guint64 *slope)
{
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (double));
  double value = 0;

  for (guint i = 0; i < n; i++)
    for (guint j = i + 1; j < n; j++)
      {
        value = (points[j].y - points[i].y) / (points[j].x - points[i].x);
        g_array_append_val (values, value);
      }
  value = values->len > 0 ? median_of (values) : 0;
  *slope = value > 0 ? (guint64) (value + 0.5) : 0;
  g_array_set_size (values, 0);
  for (guint i = 0; i < n; i++)
    {
      value = points[i].y - (double) *slope * points[i].x;
      g_array_append_val (values, value);
    }
  value = median_of (values);
  *base = value > 0 ? (guint64) (value + 0.5) : 0;
}

/* Pages are counted where a call works page by page, bytes elsewhere; sizes are whole pages, so that only one of both can be told. */
static gboolean
is_by_page (GememDeviceCall call)
{
  return call >= GEMEM_CALL_RESERVE && call <= GEMEM_CALL_UNMAP;
}

/* How many are live after @call that were not before: it gives one, or takes one back. */
static guint64
own (GememDeviceCall call)
{
  return call == GEMEM_CALL_MALLOC || call == GEMEM_CALL_RESERVE || call == GEMEM_CALL_CREATE || call == GEMEM_CALL_MAP;
}

static void
summarise (Calibrator *self, GememDeviceCall call, guint i)
{
  GArray *samples = self->samples[call][i];
  GememCalibratedPoint *point = &self->out->calls[call].points[i];

  if (samples != NULL)
    *point = (GememCalibratedPoint) { .bytes = i < SIZES ? self->unit << i : self->unit, .live = i < SIZES ? 0 : others (i - SIZES),
                                      .median = quantile (samples, 500), .p99 = quantile (samples, 990), .max = quantile (samples, 1000),
                                      .samples = samples->len };
}

/* What a thousand others cost; the base is without the one that was there when sizes were measured. */
static void
conclude_counts (Calibrator *self, GememDeviceCall call)
{
  GememCalibratedCall *out = &self->out->calls[call];
  Point points[COUNTS];
  guint n = 0;
  guint64 base;

  for (guint i = 0; i < COUNTS; i++)
    {
      const GememCalibratedPoint *point = &out->points[SIZES + i];
      if (point->samples > 0)
        points[n++] = (Point) { (double) (point->live + own (call)) / 1000, (double) point->median };
    }
  if (n < 2)
    return;
  fit (points, n, &base, &out->cost.per_1000_live_ns);
  out->cost.base_ns -= MIN (out->cost.base_ns, gemem_call_live_ns (&out->cost, own (call)));
}

/* From the samples of @call to its figures. */
static void
conclude (Calibrator *self, GememDeviceCall call)
{
  GememCalibratedCall *out = &self->out->calls[call];
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (guint64));
  Point points[SIZES];
  guint64 slope;

  for (guint i = 0; i < GEMEM_CALIBRATE_POINTS; i++)
    summarise (self, call, i);
  for (guint i = 0; i < SIZES; i++)
    if (out->points[i].samples > 0)
      {
        const GArray *samples = self->samples[call][i];
        const double units = (double) out->points[i].bytes / (double) (is_by_page (call) ? self->out->info.granularity : GEMEM_MIB);

        points[out->sizes++] = (Point) { units, (double) out->points[i].median };
        g_array_append_vals (all, samples->data, samples->len);
      }
  if (out->sizes == 0)
    return;
  out->measured = TRUE;
  out->samples = all->len;
  out->p99 = quantile (all, 990);
  out->max = quantile (all, 1000);
  out->cost = (GememCallCost) { .synchronises = out->cost.synchronises };
  fit (points, out->sizes, &out->cost.base_ns, &slope);
  if (is_by_page (call))
    out->cost.per_page_ns = slope;
  else if (call != GEMEM_CALL_MEMSET)
    out->cost.per_mib_ns = slope;
  if (gemem_call_has_live (call))
    conclude_counts (self, call);
}

/* The slope of a memset is that of the stream's work. */
static void
measure_memsets (Calibrator *self)
{
  Point points[SIZES_MEMSET];
  guint n = 0;
  guint64 base, slope;

  for (guint i = SIZES - SIZES_MEMSET; i < self->sizes; i++)
    {
      g_autoptr (GArray) until_done = g_array_new (FALSE, FALSE, sizeof (guint64));
      const guint64 bytes = self->unit << i;

      measure_memset (self, i, bytes, until_done);
      if (until_done->len > 0)
        points[n++] = (Point) { (double) bytes / (double) GEMEM_MIB, (double) quantile (until_done, 500) };
    }
  conclude (self, GEMEM_CALL_MEMSET);
  if (n == 0)
    return;
  fit (points, n, &base, &slope);
  self->out->calls[GEMEM_CALL_MEMSET].cost.per_mib_ns = slope;
}

/* ---- who waits */

/* What a call needs, and gets before it is made. */
typedef struct
{
  guint64   address, range;
  GememPage page;
} Subject;

/* Everything that @call needs is there. */
static gboolean
set_up (Calibrator *self, GememDeviceCall call, Subject *subject)
{
  GememDevice *device = self->device;
  const guint64 bytes = self->unit;

  *subject = (Subject) { 0 };
  if (call == GEMEM_CALL_FREE)
    return (subject->address = gemem_device_malloc (device, bytes, 0)) != 0;
  if (call == GEMEM_CALL_RELEASE || call == GEMEM_CALL_MAP || call == GEMEM_CALL_UNMAP)
    subject->range = gemem_device_reserve (device, bytes, 0);
  if (call == GEMEM_CALL_DESTROY || call == GEMEM_CALL_MAP || call == GEMEM_CALL_UNMAP)
    subject->page = gemem_device_create_page (device, bytes);
  return call != GEMEM_CALL_UNMAP || gemem_device_map (device, subject->range, subject->page, 0, bytes);
}

static void
make (Calibrator *self, GememDeviceCall call, Subject *subject)
{
  GememDevice *device = self->device;
  const guint64 bytes = self->unit;

  if (call == GEMEM_CALL_MALLOC)
    subject->address = gemem_device_malloc (device, bytes, 0);
  else if (call == GEMEM_CALL_FREE)
    gemem_device_free (device, subject->address, bytes);
  else if (call == GEMEM_CALL_RESERVE)
    subject->range = gemem_device_reserve (device, bytes, 0);
  else if (call == GEMEM_CALL_RELEASE)
    gemem_device_release (device, subject->range, bytes);
  else if (call == GEMEM_CALL_CREATE)
    subject->page = gemem_device_create_page (device, bytes);
  else if (call == GEMEM_CALL_DESTROY)
    gemem_device_destroy_page (device, subject->page, bytes);
  else if (call == GEMEM_CALL_MAP)
    gemem_device_map (device, subject->range, subject->page, 0, bytes);
  else
    gemem_device_unmap (device, subject->range, bytes);
}

/* After make(). */
static void
clear (Calibrator *self, GememDeviceCall call, const Subject *subject)
{
  GememDevice *device = self->device;
  const guint64 bytes = self->unit;

  if (call == GEMEM_CALL_MAP)
    gemem_device_unmap (device, subject->range, bytes);
  if (subject->page != 0 && call != GEMEM_CALL_DESTROY)
    gemem_device_destroy_page (device, subject->page, bytes);
  if (subject->range != 0 && call != GEMEM_CALL_RELEASE)
    gemem_device_release (device, subject->range, bytes);
  if (subject->address != 0 && call != GEMEM_CALL_FREE)
    gemem_device_free (device, subject->address, bytes);
}

/* Work on the stream: so long, or else memsets of @bytes at @work. */
static void
put_work (Calibrator *self, guint64 work, guint64 bytes)
{
  if (gemem_device_occupy (self->device, WORK_NS, STREAM, NULL))
    return;
  for (guint i = 0; i < WORK_CALLS; i++)
    gemem_device_memset (self->device, work, 0, bytes, STREAM);
}

/* Makes @call while the stream has work on @bytes at @work.  *@seen: the work was pending before. */
static gboolean
waits (Calibrator *self, GememDeviceCall call, guint64 work, guint64 bytes, gboolean *seen)
{
  GememDevice *device = self->device;
  Subject subject;
  GememDeviceEvent event;
  gboolean waited;

  *seen = FALSE;
  if (!set_up (self, call, &subject))
    return FALSE;
  put_work (self, work, bytes);
  event = gemem_device_event_record (device, STREAM);
  *seen = event != 0 && !gemem_device_event_query (device, event);
  make (self, call, &subject);
  waited = gemem_device_event_query (device, event);
  gemem_device_sync (device);
  clear (self, call, &subject);
  return waited;
}

static void
find_waiting (Calibrator *self)
{
  const guint64 bytes = self->unit << (self->sizes - 1), work = gemem_device_malloc (self->device, bytes, 0);

  for (GememDeviceCall call = GEMEM_CALL_MALLOC; work != 0 && call <= GEMEM_CALL_UNMAP; call++)
    {
      GememCalibratedCall *out = &self->out->calls[call];
      guint trials = 0, waited = 0;

      for (guint i = 0; i < TRIALS && out->measured; i++)
        {
          gboolean seen, did = waits (self, call, work, bytes, &seen);
          trials += seen;
          waited += seen && did;
        }
      out->waits_measured = trials > 0;
      if (trials > 0)
        out->cost.synchronises = 2 * waited > trials;
    }
  if (work != 0)
    gemem_device_free (self->device, work, bytes);
}

/* ---- the whole */

static void
measure_all (Calibrator *self)
{
  const guint64 limit = self->out->info.free / 4;

  while (self->sizes < SIZES && self->unit << self->sizes <= limit && measure_plain (self, self->sizes, self->unit << self->sizes))
    self->sizes++;
  if (self->sizes == 0)
    return;
  for (guint i = 0; self->out->info.virtual_memory && i < self->sizes; i++)
    if (!measure_virtual (self, i, self->unit << i))
      break;
  measure_counts (self, FALSE, limit);
  if (self->out->info.virtual_memory)
    measure_counts (self, TRUE, limit);
  measure_rest (self);
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    if (call != GEMEM_CALL_MEMSET)
      conclude (self, (GememDeviceCall) call);
  measure_memsets (self);
  find_waiting (self);
}

gboolean
gemem_calibrate (GememDevice *device, const GememCalibrateOptions *options, GememCalibration *calibration, GError **error)
{
  Calibrator self = { .device = device, .options = options, .out = calibration };
  g_autoptr (GememProfile) generic = gemem_profile_load ("generic", error);

  if (generic == NULL)
    return FALSE;
  *calibration = (GememCalibration) { .hit_ns = generic->hit_ns };
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    calibration->calls[call].cost = generic->calls[call];
  gemem_device_info (device, &calibration->info);
  self.unit = calibration->info.granularity;
  measure_all (&self);
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    for (guint i = 0; i < GEMEM_CALIBRATE_POINTS; i++)
      g_clear_pointer (&self.samples[call][i], g_array_unref);
  if (gemem_device_failure (device) != NULL)
    g_propagate_error (error, g_error_copy (gemem_device_failure (device)));
  else if (self.sizes < SIZES)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "calibrate: %" G_GUINT64_FORMAT " bytes are needed free on the device, it gave less; end what else uses it",
                 4 * (self.unit << (SIZES - 1)));
  else
    return TRUE;
  return FALSE;
}

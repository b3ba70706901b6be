/* calibrate.c - see calibrate.h.  Here: the measurements; calibrate-profile.c writes them down. */
#include "config.h"

#include "sim/core/error.h"
#include "sim/core/units.h"
#include "sim/device/calibrate.h"

#define WARM_UP 3
#define SIZES 7          /* granularity * 1, 2, 4 ... */
#define SIZES_MEMSET 4   /* larger ones: a launch hides what a small one takes */
#define TRIALS 5         /* of whether a call waits */
#define WORK_CALLS 64    /* memsets on the stream meanwhile */
#define STREAM 1

typedef struct
{
  GememDevice                 *device;
  const GememCalibrateOptions *options;
  GememCalibration            *out;
  guint64                      unit;  /* smallest size */
  guint                        sizes; /* that fit */
  GArray                      *samples[GEMEM_CALL_COUNT][SIZES]; /* guint64 ns */
} Calibrator;

static guint64
now (const Calibrator *self)
{
  return self->options->clock (self->options->clock_data);
}

static void
add_sample (Calibrator *self, GememDeviceCall call, guint size, guint64 ns)
{
  GArray **samples = &self->samples[call][size];

  if (*samples == NULL)
    *samples = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_array_append_val (*samples, ns);
}

/* Times one statement; warm-up rounds are negative. */
#define TIME(self, round, call, size, statement) \
  G_STMT_START \
  { \
    const guint64 began = now (self); \
    statement; \
    if ((round) >= 0) \
      add_sample (self, call, size, now (self) - began); \
  } \
  G_STMT_END

#define ROUNDS(round, self) for (int round = -WARM_UP; round < (int) (self)->options->repeats; round++)

/* ---- rounds of calls */

static gboolean
measure_plain (Calibrator *self, guint size, guint64 bytes)
{
  guint64 address;

  ROUNDS (round, self)
  {
    TIME (self, round, GEMEM_CALL_MALLOC, size, address = gemem_device_malloc (self->device, bytes, 0));
    if (address == 0)
      return FALSE;
    TIME (self, round, GEMEM_CALL_FREE, size, gemem_device_free (self->device, address, bytes));
  }
  return TRUE;
}

static gboolean
measure_virtual (Calibrator *self, guint size, guint64 bytes)
{
  GememDevice *device = self->device;
  guint64 range;
  GememPage page;
  gboolean mapped;

  ROUNDS (round, self)
  {
    TIME (self, round, GEMEM_CALL_RESERVE, size, range = gemem_device_reserve (device, bytes, 0));
    TIME (self, round, GEMEM_CALL_CREATE, size, page = gemem_device_create_page (device, bytes));
    mapped = FALSE;
    if (range != 0 && page != 0)
      TIME (self, round, GEMEM_CALL_MAP, size, mapped = gemem_device_map (device, range, page, 0, bytes));
    if (mapped)
      TIME (self, round, GEMEM_CALL_UNMAP, size, gemem_device_unmap (device, range, bytes));
    if (page != 0)
      TIME (self, round, GEMEM_CALL_DESTROY, size, gemem_device_destroy_page (device, page, bytes));
    if (range != 0)
      TIME (self, round, GEMEM_CALL_RELEASE, size, gemem_device_release (device, range, bytes));
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

/* From the samples of @call to its figures. */
static void
conclude (Calibrator *self, GememDeviceCall call)
{
  GememCalibratedCall *out = &self->out->calls[call];
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (guint64));
  Point points[SIZES];
  guint64 slope;

  for (guint i = 0; i < SIZES; i++)
    if (self->samples[call][i] != NULL)
      {
        GArray *samples = self->samples[call][i];
        const double units = (double) (self->unit << i);

        points[out->sizes++] = (Point) { units / (double) (is_by_page (call) ? self->out->info.granularity : GEMEM_MIB), (double) quantile (samples, 500) };
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
  for (guint i = 0; i < WORK_CALLS; i++)
    gemem_device_memset (device, work, 0, bytes, STREAM);
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
    for (guint i = 0; i < SIZES; i++)
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

/* calibrate.c - makes the calls of a calibration and times them; see calibrate.h. */
#include "config.h"

#include "base/error.h"
#include "base/units.h"
#include "devices/calibrate-private.h"

#define WARM_UP 3
#define SIZES_MEMSET 4 /* larger ones: a launch hides the cost of a small one */

static guint64
now (const GememCalibrator *self)
{
  return self->options->clock (self->options->clock_data);
}

static gboolean
is_interrupted (const GememCalibrator *self)
{
  return self->options->interrupted != NULL && g_atomic_int_get (self->options->interrupted) != 0;
}

static void
add_sample (GememCalibrator *self, GememDeviceCall call, guint point, guint64 ns)
{
  GArray **samples = &self->samples[call][point];

  if (*samples == NULL)
    *samples = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_array_append_val (*samples, ns);
}

/* Returns the first round. */
static int
begin_series (const GememCalibrator *self)
{
  if (self->options->series != NULL)
    g_atomic_int_inc (self->options->series);
  return -WARM_UP;
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

#define ROUNDS(round, self) \
  for (int round = begin_series (self); \
       round < (int) (self)->options->repeats && !is_interrupted (self); round++)

/* ---- rounds of calls */

static gboolean
measure_plain (GememCalibrator *self, guint point, guint64 bytes)
{
  guint64 address;

  ROUNDS (round, self)
  {
    TIME (self, round, GEMEM_CALL_MALLOC, point,
          address = gemem_device_malloc (self->device, bytes, 0));
    if (address == 0)
      return FALSE;
    TIME (self, round, GEMEM_CALL_FREE, point, gemem_device_free (self->device, address, bytes));
  }
  return TRUE;
}

static gboolean
measure_virtual (GememCalibrator *self, guint point, guint64 bytes)
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
      TIME (self, round, GEMEM_CALL_MAP, point,
            mapped = gemem_device_map (device, range, page, 0, bytes));
    if (mapped)
      TIME (self, round, GEMEM_CALL_UNMAP, point, gemem_device_unmap (device, range, bytes));
    if (page != 0)
      TIME (self, round, GEMEM_CALL_DESTROY, point,
            gemem_device_destroy_page (device, page, bytes));
    if (range != 0)
      TIME (self, round, GEMEM_CALL_RELEASE, point, gemem_device_release (device, range, bytes));
    if (!mapped)
      return FALSE;
  }
  return TRUE;
}

/* Times the call itself, then the stream's work until it is done. */
static void
measure_memset (GememCalibrator *self, guint size, guint64 bytes, GArray *until_done)
{
  const guint64 address = gemem_device_malloc (self->device, bytes, 0);

  if (address == 0)
    return;
  ROUNDS (round, self)
  {
    const guint64 start = now (self);
    guint64 took;

    TIME (self, round, GEMEM_CALL_MEMSET, size,
          gemem_device_memset (self->device, address, 0, bytes, STREAM));
    gemem_device_stream_sync (self->device, STREAM);
    took = now (self) - start;
    if (round >= 0)
      g_array_append_val (until_done, took);
  }
  gemem_device_free (self->device, address, bytes);
}

static void
measure_rest (GememCalibrator *self)
{
  GememDeviceEvent event;
  GememDeviceInfo info;

  ROUNDS (round, self)
  {
    TIME (self, round, GEMEM_CALL_EVENT_RECORD, 0,
          event = gemem_device_event_record (self->device, STREAM));
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

/* ---- other live objects */

typedef struct
{
  guint64 address; /* of memory, or of a range */
  GememPage page;  /* or 0 */
} Other;

static gboolean
add_other (GememCalibrator *self, gboolean virtual, GArray *list)
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
remove_others (GememCalibrator *self, const GArray *list)
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

/* Times calls that allocate and release, at the smallest size, with more and more live objects. */
static void
measure_counts (GememCalibrator *self, gboolean virtual, guint64 limit)
{
  g_autoptr (GArray) list = g_array_new (FALSE, FALSE, sizeof (Other));

  for (guint i = SIZES; i < SIZES + COUNTS && gemem_calibrate_others (i) * self->unit <= limit; i++)
    {
      while (list->len < gemem_calibrate_others (i) && add_other (self, virtual, list))
        ;
      if (list->len < gemem_calibrate_others (i)
          || !(virtual ? measure_virtual : measure_plain) (self, i, self->unit))
        break;
    }
  remove_others (self, list);
}

/* TRUE: a small request beside another one takes no memory of the device. */
static gboolean
shares_pages (GememCalibrator *self, guint64 bytes)
{
  GememDeviceInfo before, after;
  guint64 address;

  gemem_device_info (self->device, &before);
  address = gemem_device_malloc (self->device, bytes, 0);
  gemem_device_info (self->device, &after);
  if (address != 0)
    gemem_device_free (self->device, address, bytes);
  return address != 0 && before.free == after.free;
}

/* Times small requests in a page that another one keeps. */
static void
measure_shared (GememCalibrator *self)
{
  const guint first = SIZES + COUNTS;
  const guint64 bytes = gemem_calibrate_bytes (self->unit, first),
                other = gemem_device_malloc (self->device, bytes, 0);

  if (other == 0)
    return;
  if (shares_pages (self, bytes))
    for (guint i = first; i < first + SMALL; i++)
      measure_plain (self, i, gemem_calibrate_bytes (self->unit, i));
  gemem_device_free (self->device, other, bytes);
}

/* ---- the calibration */

/* A memset's slope is that of the stream's work. */
static void
measure_memsets (GememCalibrator *self)
{
  GememPoint points[SIZES_MEMSET];
  guint n = 0;
  guint64 base, slope;

  for (guint i = SIZES_LEAST - SIZES_MEMSET; i < MIN (self->sizes, SIZES_LEAST); i++)
    {
      g_autoptr (GArray) until_done = g_array_new (FALSE, FALSE, sizeof (guint64));
      const guint64 bytes = gemem_calibrate_bytes (self->unit, i);

      measure_memset (self, i, bytes, until_done);
      if (until_done->len > 0)
        points[n++] = (GememPoint){ (double) bytes / (double) GEMEM_MIB,
                                    (double) gemem_calibrate_quantile (until_done, 500) };
    }
  gemem_calibrate_conclude (self, GEMEM_CALL_MEMSET);
  if (n == 0)
    return;
  gemem_calibrate_fit (points, n, &base, &slope);
  self->out->calls[GEMEM_CALL_MEMSET].cost.per_mib_ns = slope;
}

static void
measure_all (GememCalibrator *self)
{
  const guint64 limit = self->out->info.free / 4;

  while (self->sizes < SIZES && gemem_calibrate_bytes (self->unit, self->sizes) <= limit
         && measure_plain (self, self->sizes, gemem_calibrate_bytes (self->unit, self->sizes)))
    self->sizes++;
  if (self->sizes == 0)
    return;
  for (guint i = 0; self->out->info.virtual_memory && i < self->sizes; i++)
    if (!measure_virtual (self, i, gemem_calibrate_bytes (self->unit, i)))
      break;
  measure_shared (self);
  measure_counts (self, FALSE, limit);
  if (self->out->info.virtual_memory)
    measure_counts (self, TRUE, limit);
  measure_rest (self);
  if (is_interrupted (self))
    return;
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    if (call != GEMEM_CALL_MEMSET)
      gemem_calibrate_conclude (self, (GememDeviceCall) call);
  gemem_calibrate_conclude_shared (self, GEMEM_CALL_MALLOC);
  gemem_calibrate_conclude_shared (self, GEMEM_CALL_FREE);
  measure_memsets (self);
  gemem_calibrate_find_waiting (self);
}

gboolean
gemem_calibrate (GememDevice *device, const GememCalibrateOptions *options,
                 GememCalibration *calibration, GError **error)
{
  GememCalibrator self = { .device = device, .options = options, .out = calibration };
  g_autoptr (GememProfile) generic = gemem_profile_load ("generic", error);

  if (generic == NULL)
    return FALSE;
  *calibration = (GememCalibration){ .hit_ns = generic->hit_ns };
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
  else if (is_interrupted (&self))
    g_set_error_literal (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED,
                         "calibrate: interrupted; there is no profile, run it again");
  else if (self.sizes < SIZES_LEAST)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                 "calibrate: %" G_GUINT64_FORMAT
                 " bytes are needed free on the device, it gave less; end what else uses it",
                 4 * gemem_calibrate_bytes (self.unit, SIZES_LEAST - 1));
  else
    return TRUE;
  return FALSE;
}

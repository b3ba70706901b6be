/* calibrate-figures.c - turns the samples of a calibration into the figures of a profile: medians,
 * and lines through them, or where they lie on none the medians themselves. */
#include "config.h"

#include "base/compare.h"
#include "base/units.h"
#include "devices/calibrate-private.h"

guint64
gemem_calibrate_quantile (GArray *samples, guint permille)
{
  g_array_sort (samples, gemem_compare_uint64);
  return g_array_index (samples, guint64, MIN (samples->len - 1, samples->len * permille / 1000));
}

static double
median_of (GArray *values)
{
  g_array_sort (values, gemem_compare_double);
  return g_array_index (values, double, values->len / 2);
}

void
gemem_calibrate_fit (const GememPoint *points, guint n, guint64 *base, guint64 *slope)
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

/* TRUE: cost is fitted per page, FALSE: per byte.  Sizes are whole pages, so only one of the two
 * can be determined; calls that work page by page use pages. */
static gboolean
is_by_page (GememDeviceCall call)
{
  return call >= GEMEM_CALL_RESERVE && call <= GEMEM_CALL_UNMAP;
}

/* The call's own objects that are live after it: 1 if @call allocates one, 0 if it releases one. */
static guint64
own (GememDeviceCall call)
{
  return call == GEMEM_CALL_MALLOC || call == GEMEM_CALL_RESERVE || call == GEMEM_CALL_CREATE
         || call == GEMEM_CALL_MAP;
}

static void
summarise (GememCalibrator *self, GememDeviceCall call, guint i)
{
  GArray *samples = self->samples[call][i];
  GememCalibratedPoint *point = &self->out->calls[call].points[i];

  if (samples != NULL)
    *point = (GememCalibratedPoint){ .bytes = gemem_calibrate_bytes (self->unit, i),
                                     .live = gemem_calibrate_others (i),
                                     .median = gemem_calibrate_quantile (samples, 500),
                                     .p99 = gemem_calibrate_quantile (samples, 990),
                                     .max = gemem_calibrate_quantile (samples, 1000),
                                     .samples = samples->len };
}

/* The cost of a thousand other live objects; the base excludes the one that was live when sizes
 * were measured. */
static void
conclude_counts (GememCalibrator *self, GememDeviceCall call)
{
  GememCalibratedCall *out = &self->out->calls[call];
  GememPoint points[COUNTS];
  guint n = 0;
  guint64 base, own_ns;

  for (guint i = 0; i < COUNTS; i++)
    {
      const GememCalibratedPoint *point = &out->points[SIZES + i];
      if (point->samples > 0)
        points[n++] = (GememPoint){ (double) (point->live + own (call)) / 1000,
                                    (double) point->median };
    }
  if (n < 2)
    return;
  gemem_calibrate_fit (points, n, &base, &out->cost.per_1000_live_ns);
  own_ns = gemem_call_live_ns (&out->cost, own (call));
  out->cost.base_ns -= MIN (out->cost.base_ns, own_ns);
  for (guint i = 0; i < out->cost.n_sizes; i++)
    out->cost.sizes[i].ns -= MIN (out->cost.sizes[i].ns, own_ns);
}

/* TRUE: every point is within a hundredth of the line. */
static gboolean
is_line (const GememPoint *points, guint n, guint64 base, guint64 slope)
{
  for (guint i = 0; i < n; i++)
    {
      const double off = (double) base + (double) slope * points[i].x - points[i].y;
      if (MAX (off, -off) * 100 > points[i].y)
        return FALSE;
    }
  return TRUE;
}

/* The cost by size: a line, or the medians. */
static void
conclude_sizes (GememCalibrator *self, GememDeviceCall call, const GememPoint *points)
{
  GememCalibratedCall *out = &self->out->calls[call];
  GememCallCost *cost = &out->cost;
  guint64 slope;

  gemem_calibrate_fit (points, out->sizes, &cost->base_ns, &slope);
  if (call == GEMEM_CALL_MEMSET)
    return;
  if (is_line (points, out->sizes, cost->base_ns, slope))
    {
      *(is_by_page (call) ? &cost->per_page_ns : &cost->per_mib_ns) = slope;
      return;
    }
  cost->base_ns = 0;
  for (guint i = 0; i < SIZES; i++)
    if (out->points[i].samples > 0)
      cost->sizes[cost->n_sizes++] = (GememSizeCost){ out->points[i].bytes, out->points[i].median };
}

void
gemem_calibrate_conclude (GememCalibrator *self, GememDeviceCall call)
{
  GememCalibratedCall *out = &self->out->calls[call];
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (guint64));
  GememPoint points[SIZES];

  for (guint i = 0; i < GEMEM_CALIBRATE_POINTS; i++)
    summarise (self, call, i);
  for (guint i = 0; i < SIZES; i++)
    if (out->points[i].samples > 0)
      {
        const GArray *samples = self->samples[call][i];
        const double units = (double) out->points[i].bytes
                             / (double) (is_by_page (call) ? self->out->info.granularity
                                                           : GEMEM_MIB);

        points[out->sizes++] = (GememPoint){ units, (double) out->points[i].median };
        g_array_append_vals (all, samples->data, samples->len);
      }
  if (out->sizes == 0)
    return;
  out->measured = TRUE;
  out->samples = all->len;
  out->p99 = gemem_calibrate_quantile (all, 990);
  out->max = gemem_calibrate_quantile (all, 1000);
  out->cost = (GememCallCost){ .synchronises = out->cost.synchronises };
  conclude_sizes (self, call, points);
  if (gemem_call_has_live (call))
    conclude_counts (self, call);
}

void
gemem_calibrate_conclude_shared (GememCalibrator *self, GememDeviceCall call)
{
  GememCalibratedCall *out = &self->out->calls[call];
  g_autoptr (GArray) medians = g_array_new (FALSE, FALSE, sizeof (guint64));

  for (guint i = SIZES + COUNTS; i < GEMEM_CALIBRATE_POINTS; i++)
    if (out->points[i].samples > 0)
      g_array_append_val (medians, out->points[i].median);
  if (medians->len > 0)
    out->cost.shared_ns = gemem_calibrate_quantile (medians, 500);
}

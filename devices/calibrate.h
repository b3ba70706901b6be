/* calibrate.h - what the calls of a device cost, measured, as a cost profile (profile.h).
 *
 * Each call is made `repeats` times at each of several sizes, and of the smallest size while others
 * are live, ever more of them; after a few that are not counted.  Of each size the median counts;
 * the line through the medians is that of Theil and Sen (median of the slopes of all pairs), which
 * a few outliers do not move and which is exact where the medians lie on one: a calibrated
 * simulated device gives its own profile again.
 * Whether a call synchronises is seen, not timed: long work is put on a stream, the call is made
 * while it is pending, and is it done afterwards? A map is measured with its access rights, so that
 * set_access_ns is in its base_ns.  What cannot be measured is a guess, as in generic.ini, and says
 * so.
 *
 * Cost: seconds.  The device's memory is used, up to a quarter of what is free, and released.
 */
#pragma once

#include "devices/device.h"
#include "devices/profile.h"

GEMEM_BEGIN_DECLS

typedef struct
{
  guint64 (*clock) (gpointer data); /* ns, monotonic */
  gpointer clock_data;
  guint repeats; /* of each call and size; at least 1 */
  /* atomic, or NULL; non-zero ends the measuring after the call it is at */
  const gint *interrupted;
} GememCalibrateOptions;

#define GEMEM_CALIBRATE_SIZES 7 /* granularity * 1, 2, 4 ... */
#define GEMEM_CALIBRATE_COUNTS \
  5 /* 0, 64, 256, 1024, 4096 that are live, as far as a quarter of what is free goes */
#define GEMEM_CALIBRATE_POINTS (GEMEM_CALIBRATE_SIZES + GEMEM_CALIBRATE_COUNTS)

/* One size and one number of others that were live. */
typedef struct
{
  guint64 bytes, live;
  guint64 median, p99, max; /* ns */
  guint samples;            /* 0: not measured */
} GememCalibratedPoint;

typedef struct
{
  gboolean measured;       /* FALSE: `cost` is generic.ini's */
  gboolean waits_measured; /* `cost.synchronises` was seen */
  GememCallCost cost;
  guint64 p99, max; /* ns, over all sizes */
  guint samples, sizes;
  GememCalibratedPoint points[GEMEM_CALIBRATE_POINTS]; /* first the sizes, then the counts */
} GememCalibratedCall;

typedef struct
{
  GememDeviceInfo info;
  guint64 hit_ns;    /* of an allocator: a guess, unless the caller measures it */
  guint hit_samples; /* 0: a guess */
  GememCalibratedCall calls[GEMEM_CALL_COUNT];
} GememCalibration;

/* Measures @device, of which nothing else may be in use.  Errors: GEMEM_ERROR_FAILED: it has not
 * memory enough, or has failed; GEMEM_ERROR_INTERRUPTED.  Nothing is held at the end. */
gboolean gemem_calibrate (GememDevice *device, const GememCalibrateOptions *options,
                          GememCalibration *calibration, GError **error);

/* The profile as text: @name of the device; @provenance: lines on where and when it was measured
 * (NULL-terminated), which become comments; @how: what the sources of the numbers say after
 * "measured: ", in one line. */
char *gemem_calibration_profile (const GememCalibration *calibration, const char *name,
                                 const char *const *provenance, const char *how);

GEMEM_END_DECLS

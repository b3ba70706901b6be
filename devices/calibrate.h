/* calibrate.h - measures the costs of a device's calls, as a cost profile (profile.h).
 *
 * Each call is made `repeats` times at each of several sizes, and at the smallest size with more
 * and more other live objects; a few warm-up rounds are not counted.  The figure of each size is
 * the median.  Where the medians lie on a line, the profile has the line; else it has them as
 * `sizes`.  The line is that of Theil and Sen (median of the slopes of all pairs), which resists
 * outliers.  So calibrating a simulated device reproduces its profile.  Small requests are made
 * beside a small block too: if they take no memory of the device, they share its page, and what
 * they cost is shared_ns.  Whether a call synchronises is observed, not timed: the
 * call is made while long work is pending on a stream, and the work is then checked for completion.
 * A map is measured with its access rights, so its base_ns includes set_access_ns.  A figure that
 * cannot be measured is marked as a guess, taken from generic.ini.
 *
 * Cost: seconds.  Uses up to a quarter of the device's free memory, and releases it.
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
  /* atomic, or NULL; non-zero ends the calibration after the current call */
  const gint *interrupted;
  gint *series; /* atomic, or NULL: how many series of calls have begun */
} GememCalibrateOptions;

/* Series of calls that gemem_calibrate() makes of a device with virtual memory, or without; an
 * upper limit, and little less if memory is short. */
#define GEMEM_CALIBRATE_SERIES(virtual_memory) ((virtual_memory) ? 38u : 23u)

#define GEMEM_CALIBRATE_SIZES 10 /* granularity * 1, 2, 4 ... 64, 256, 1024, 4096 */
#define GEMEM_CALIBRATE_COUNTS 5 /* 0, 64, 256, 1024, 4096 live */
#define GEMEM_CALIBRATE_SMALL 3  /* 256 B, 4 KiB, 64 KiB, beside a block of 256 B */
#define GEMEM_CALIBRATE_POINTS \
  (GEMEM_CALIBRATE_SIZES + GEMEM_CALIBRATE_COUNTS + GEMEM_CALIBRATE_SMALL)

/* One size and one number of other live objects. */
typedef struct
{
  guint64 bytes, live;
  guint64 median, p99, max; /* ns */
  guint samples;            /* 0: not measured */
} GememCalibratedPoint;

typedef struct
{
  gboolean measured;       /* FALSE: `cost` is generic.ini's */
  gboolean waits_measured; /* `cost.synchronises` was observed */
  GememCallCost cost;
  guint64 p99, max; /* ns, over all sizes */
  guint samples, sizes;
  GememCalibratedPoint points[GEMEM_CALIBRATE_POINTS]; /* sizes, counts, small ones in a page */
} GememCalibratedCall;

typedef struct
{
  GememDeviceInfo info;
  guint64 hit_ns;    /* of an allocator: a guess, unless the caller measures it */
  guint hit_samples; /* 0: a guess */
  GememCalibratedCall calls[GEMEM_CALL_COUNT];
} GememCalibration;

/* Measures @device, which must be otherwise unused.  Nothing is held at the end.  Errors:
 * GEMEM_ERROR_FAILED: too little memory, or the device failed; GEMEM_ERROR_INTERRUPTED. */
gboolean gemem_calibrate (GememDevice *device, const GememCalibrateOptions *options,
                          GememCalibration *calibration, GError **error);

/* The profile as text.  @name: of the device; @provenance: lines on place and time of the
 * measurement (NULL-terminated), which become comments; @how: one line that follows "measured: " in
 * the sources of the numbers. */
char *gemem_calibration_profile (const GememCalibration *calibration, const char *name,
                                 const char *const *provenance, const char *how);

GEMEM_END_DECLS

/* calibrate-private.h - shared by the files of the calibration: calibrate.c makes the calls,
 * calibrate-figures.c fits lines to their medians, calibrate-waits.c finds the calls that wait. */
#pragma once

#include "devices/calibrate.h"

#define SIZES GEMEM_CALIBRATE_SIZES
#define COUNTS GEMEM_CALIBRATE_COUNTS
#define STREAM 1

typedef struct
{
  GememDevice *device;
  const GememCalibrateOptions *options;
  GememCalibration *out;
  guint64 unit;                                              /* smallest size */
  guint sizes;                                               /* number of sizes that fit */
  GArray *samples[GEMEM_CALL_COUNT][GEMEM_CALIBRATE_POINTS]; /* guint64 ns; sizes, then counts */
} GememCalibrator;

typedef struct
{
  double x, y;
} GememPoint;

/* The number of other live objects at count number @count. */
static inline guint64
gemem_calibrate_others (guint count)
{
  return count == 0 ? 0 : G_GUINT64_CONSTANT (16) << 2 * count;
}

/* The value below which @permille of @samples (guint64, sorted here) lie. */
guint64 gemem_calibrate_quantile (GArray *samples, guint permille);
/* y = base + slope * x, both at least 0. */
void gemem_calibrate_fit (const GememPoint *points, guint n, guint64 *base, guint64 *slope);
/* Computes the figures of @call from its samples. */
void gemem_calibrate_conclude (GememCalibrator *self, GememDeviceCall call);
/* Determines for each measured call whether it waits. */
void gemem_calibrate_find_waiting (GememCalibrator *self);

/* calibrate-private.h - shared by the files of the calibration: calibrate.c makes the calls,
 * calibrate-figures.c fits lines to their medians, calibrate-waits.c finds the calls that wait. */
#pragma once

#include "devices/calibrate.h"

#define SIZES GEMEM_CALIBRATE_SIZES
#define COUNTS GEMEM_CALIBRATE_COUNTS
#define SMALL GEMEM_CALIBRATE_SMALL
#define SIZES_LEAST 7 /* without which there is no profile */
#define STREAM 1

typedef struct
{
  GememDevice *device;
  const GememCalibrateOptions *options;
  GememCalibration *out;
  guint64 unit;                                              /* smallest size */
  guint sizes;                                               /* number of sizes that fit */
  GArray *samples[GEMEM_CALL_COUNT][GEMEM_CALIBRATE_POINTS]; /* guint64 ns; of each point */
} GememCalibrator;

typedef struct
{
  double x, y;
} GememPoint;

/* The bytes of a call at point @i: sizes in steps of 2, and of 4 beyond what is needed. */
static inline guint64
gemem_calibrate_bytes (guint64 unit, guint i)
{
  if (i >= SIZES + COUNTS)
    return G_GUINT64_CONSTANT (256) << 4 * (i - SIZES - COUNTS);
  return i >= SIZES ? unit : unit << (i < SIZES_LEAST ? i : 2 * i - SIZES_LEAST + 1);
}

/* The number of other live objects at point @i. */
static inline guint64
gemem_calibrate_others (guint i)
{
  if (i >= SIZES + COUNTS)
    return 1;
  return i <= SIZES ? 0 : G_GUINT64_CONSTANT (16) << 2 * (i - SIZES);
}

/* The value below which @permille of @samples (guint64, sorted here) lie. */
guint64 gemem_calibrate_quantile (GArray *samples, guint permille);
/* y = base + slope * x, both at least 0. */
void gemem_calibrate_fit (const GememPoint *points, guint n, guint64 *base, guint64 *slope);
/* Computes the figures of @call from its samples. */
void gemem_calibrate_conclude (GememCalibrator *self, GememDeviceCall call);
/* The cost of @call in a page that others use, for malloc and free. */
void gemem_calibrate_conclude_shared (GememCalibrator *self, GememDeviceCall call);
/* Determines for each measured call whether it waits. */
void gemem_calibrate_find_waiting (GememCalibrator *self);

/* measured.h - what stands for times of the GPU in a dry run, which has none: the workspaces of what ran between two events.
 *
 * A program that measures candidates takes the fastest.  As it is, they take the same time, and it is the first of them.  With
 * $GEMEM_DRY_TIMES=largest one is the faster the larger its workspace, with smallest the smaller it is: what the program needs then
 * are the ends of what it may need (dry/verdict/trial.c).
 *
 * Any thread may call these.
 */
#pragma once

#include <glib.h>

/* A candidate ran that takes so many bytes as its workspace. */
void gemem_dry_ran_with (guint64 workspace);

/* What has run so far. */
typedef struct
{
  guint64 candidates, workspaces; /* how many, and bytes in all */
} DriverMeasured;

DriverMeasured gemem_driver_measured (void);
/* The milliseconds between two moments, where one candidate ran between them, else @milliseconds, as the clock says; notes that they
 * were asked for. */
float gemem_driver_measured_time (DriverMeasured from, DriverMeasured to, float milliseconds);

/* foreign.h - which memory kernels got that are not those of PyTorch's own operators (foreign.c). */
#pragma once

#include "dry/driver/kernels.h"

/* Adds @change to the depth of PyTorch's own libraries in this thread; TRUE if it is above 0: functions that are found are theirs. */
gboolean gemem_dry_in_framework (int change);

/* @function is launched. */
void gemem_driver_foreign_launch (const DriverFunction *function, void **parameters, void **extra);

/* The launches so far, for Python. */
extern __attribute__ ((visibility ("default"))) guint64 gemem_dry_foreign;

/* A library wrote at @address, by itself. */
void gemem_dry_foreign_wrote (guint64 address);

/* TRUE if one of those after the launch @since may have written to [@address, @address + @size).  Python calls it. */
__attribute__ ((visibility ("default"))) gboolean
gemem_dry_is_foreign (guint64 address, guint64 size, guint64 since);

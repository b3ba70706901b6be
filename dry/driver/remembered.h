/* remembered.h - what is known of the bytes of device memory in dry runs (remembered.c): for the driver, and for the libraries
 * above it that write there. */
#pragma once

#include <glib.h>

typedef struct _DriverPage DriverPage;         /* areas.h */
typedef struct _DriverFunction DriverFunction; /* kernels.h */

/* ---- for the libraries: any thread, without the driver's lock */

/* Where the program's block begins that contains the device address @address; 0: not known. */
typedef guint64 (*GememDryBlockFunc) (guint64 address);
/* Lets @func say it; it is called in any thread, and no lock of the driver is held.  NULL: ends that. */
__attribute__ ((visibility ("default"))) void gemem_dry_on_block (GememDryBlockFunc func);

/* Writes to @to the @size bytes at the device address @from, if all are known. */
gboolean gemem_dry_recall (guint64 from, gsize size, gpointer to, gboolean *assumed);
/* Adds @change to how deep this thread is in a library of NVIDIA's that runs beside its stand-in, which says
 * what the library's functions write; returns whether it is in one.  Kernels that are registered then write
 * nothing of the program's, and it does not matter what their images say. */
gboolean gemem_dry_in_library (int change);
/* A function of a library wrote @bytes there; NULL: what it wrote is not known. @to 0: anywhere. */
__attribute__ ((visibility ("default"))) void
gemem_dry_wrote (guint64 to, gsize size, gconstpointer bytes, gboolean assumed);

/* A function of a library got the device address @address: it may have written where a kernel with this
 * parameter may.  Nothing, for other addresses. */
__attribute__ ((visibility ("default"))) void gemem_dry_reached (gconstpointer address);

/* ---- for the driver, under its lock */

/* Calls @see with each parameter of a launch, or all in a row.  FALSE: it is not known where they are. */
gboolean gemem_driver_parameters (const DriverFunction *function, void **parameters, void **extra,
                                  void (*see) (const guint8 *bytes, gsize size));

/* A copy from host memory. */
void gemem_driver_remember_host (guint64 to, guint64 from, guint64 size);
/* Something else may have been written there, anywhere. */
void gemem_driver_forget (guint64 address, guint64 size);
void gemem_driver_forget_all (void);
void gemem_driver_forget_page (const DriverPage *page); /* what is mapped to it */
/* A copy from device to device. */
void gemem_driver_carry (guint64 to, guint64 from, guint64 size);
/* @function was launched. */
void gemem_driver_remembered_launch (const DriverFunction *function, void **parameters,
                                     void **extra);
/* Writes what is known of [@from, @from + @size) to @to; returns how many bytes that are. */
guint64 gemem_driver_recall (guint64 from, guint64 size, gpointer to, gboolean *assumed);
/* Before a copy to the host, without the lock: asks the program about its blocks where that decides what is known. */
void gemem_driver_settle (guint64 to, guint64 from, guint64 size);

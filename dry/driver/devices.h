/* devices.h - which GPUs the machine has and this process sees, and what is told of them; also for NVML, which needs no cuInit() and
 * is none. */
#pragma once

#include "dry/driver/driver.h"

/* ---- under the lock */

/* The GPUs of a machine of @gpus that $CUDA_VISIBLE_DEVICES shows this process, in its order; returns how many. */
guint gemem_driver_visible (guint gpus, guint places[DRIVER_DEVICES_MAX]);
/* The machine's GPUs: as many as it was said to have, and those that $CUDA_VISIBLE_DEVICES names. */
guint gemem_driver_machine_gpus (void);
/* The number of GPU @place in this process; -1: it does not see it. */
int gemem_driver_device_at (guint place);
void gemem_driver_uuid (guint place, CUuuid *uuid);
int gemem_driver_device_attribute (const DriverDevice *device, CUdevice_attribute attribute);
gboolean gemem_driver_peers_reach (void); /* whether devices reach each other's memory */

/* ---- without it */

guint gemem_driver_count_gpus (void); /* of the machine */
/* What GPU @place has and what is free; FALSE: this process does not see it, or has not opened it. */
gboolean gemem_driver_memory_info (guint place, guint64 *free, guint64 *total);
#define DRIVER_UUID_TEXT 41
void gemem_driver_uuid_text (guint place, char text[DRIVER_UUID_TEXT]);
int gemem_driver_place_on_bus (const char *text); /* -1: none; -2: @text is no place on a bus */

/* device-private.h - what the files of devices share with each other and with nobody else. */
#pragma once

#include "devices/device.h"

extern const GememDeviceClass gemem_simulated_class, gemem_null_class, gemem_faulty_class,
    gemem_cuda_class;

/* By name or alias; GEMEM_ERROR_USAGE with a suggestion. */
const GememDeviceClass *gemem_device_class_find (const char *name, GError **error);

/* A device of @klass from @settings and, where they leave something open, @defaults (may be
 * NULL). */
GememDevice *gemem_device_new_settings (const GememDeviceClass *klass, const GPtrArray *settings,
                                        const GPtrArray *defaults, GError **error);

/* "faulty:...": the wrapper's own keys to it, the others and all of @defaults to the device it
 * makes under itself. */
GememDevice *gemem_faulty_device_new_settings (const GPtrArray *settings, const GPtrArray *defaults,
                                               GError **error);

/* A mistake of the caller: counted, and with internal checks the end of the program. */
void gemem_device_misuse (GememDevice *device, const char *what);

/* The device cannot go on because of @error, which is taken over; the first one is kept. */
void gemem_device_fail (GememDevice *device, GError *error);

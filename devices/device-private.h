/* device-private.h - shared by the files of devices. */
#pragma once

#include "devices/device.h"

extern const GememDeviceClass gemem_simulated_class, gemem_null_class, gemem_faulty_class,
    gemem_cuda_class;

/* Counts an error of the caller; with internal checks, ends the program. */
void gemem_device_misuse (GememDevice *device, const char *what);

/* Marks the device as failed because of @error, whose ownership passes; the first one is kept. */
void gemem_device_fail (GememDevice *device, GError *error);

/* device-private.h - what the files of devices share. */
#pragma once

#include "devices/device.h"

extern const GememDeviceClass gemem_simulated_class, gemem_null_class, gemem_faulty_class,
    gemem_cuda_class;

/* A mistake of the caller: counted, and with internal checks the end of the program. */
void gemem_device_misuse (GememDevice *device, const char *what);

/* The device cannot go on because of @error, which is taken over; the first one is kept. */
void gemem_device_fail (GememDevice *device, GError *error);

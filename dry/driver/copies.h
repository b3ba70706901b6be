/* copies.h - what calls besides memcpy and memset put on streams, too (copies.c). */
#pragma once

#include "dry/driver/streams.h"

void gemem_driver_run_memset (DriverWork *work);
/* In a call: a copy on a stream of the current context; the addresses tell of what kind. */
CUresult gemem_driver_copy (guint64 to, guint64 from, guint64 size, gboolean wait, CUstream stream);

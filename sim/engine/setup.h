/* setup.h - creates the device of a job, and finds its allocator's settings, from job and trace. */
#pragma once

#include "sim/engine/replay.h"

/* The device of @job as text. */
const char *gemem_setup_spec (const GememJob *job);
/* Creates the device of @job.  Precedence, weakest first: the trace's device settings, the job's
 * device_spec, the device keys of the allocator's settings (vector files), @capacity (0: none). */
GememDevice *gemem_setup_device (const GememJob *job, const GememTraceInfo *info, int ordinal,
                                 guint64 capacity, GError **error);

/* The allocator settings recorded in the trace; NULL unless @job wants them and the trace was
 * recorded with the same allocator. */
const char *gemem_setup_defaults (const GememJob *job, const GememTraceInfo *info);

/* TRUE if the recording was made by the allocator of @job. */
gboolean gemem_setup_same_allocator (const GememJob *job, const GememTraceInfo *info);

/* TRUE if the device of @job is hardware; FALSE also if its class is unknown. */
gboolean gemem_setup_is_real (const GememJob *job);

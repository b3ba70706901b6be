/* properties.h - the GPUs of a profiler trace: "deviceProperties", which torch.profiler writes before
 * the events, and how large a device the trace was recorded on.
 *
 * Why: a replay on a device of another size says nothing about the program that was recorded.
 *
 * Invariants: the list has the GPUs of the machine, of which the program may have used some; a size is
 * told only if all that it used have the same.  What the program had reserved is never more than the
 * size that is told.
 */
#pragma once

#include "base/io/json-stream.h"
#include "traces/trace.h"

typedef struct
{
  guint64 id, memory; /* memory: totalGlobalMem, bytes; 0: not told */
  char *name;         /* or NULL */
} GememKinetoGpu;

/* What the program used of a GPU. */
typedef struct
{
  guint16 device;
  guint64 reserved; /* at most at once */
} GememKinetoUse;

/* An empty list of GememKinetoGpu. */
GArray *gemem_kineto_properties_new (void);
/* Appends the list of which @token is the first; another value is passed over. */
gboolean gemem_kineto_properties_read (GArray *gpus, GememJson *json, int token, GError **error);
/* Sets the device of @info, the trace of a program with @uses (GememKinetoUse). */
void gemem_kineto_properties_settle (const GArray *gpus, const GArray *uses, GememTraceInfo *info);

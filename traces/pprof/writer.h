/* writer.h - writes a trace as a heap profile of pprof, and the words that reader (profile.c) and writer share. */
#pragma once

#include "traces/trace.h"

/* Types of the values of a sample. */
#define PPROF_BLOCKS_HELD "inuse_objects"
#define PPROF_BYTES_HELD "inuse_space"

/* Keys of labels; the first two are JAX's. */
#define PPROF_DEVICE "device" /* "gpu:N"; "cpu:0" is the host */
#define PPROF_KIND "kind"     /* the tag of a block; "buffer" is none */
#define PPROF_STREAM "stream"

/* The function in which blocks without a call stack are, since pprof shows no sample without one. */
#define PPROF_NO_STACK "unknown"

/* GememTraceFormat.create.  The file is compressed by gzip, as those of pprof are, unless @path ends in ".pb". */
GememTraceWriter *gemem_pprof_create (const char *path, const GememTraceInfo *info, GError **error);

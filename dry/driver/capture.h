/* capture.h - stream capture (capture.c). */
#pragma once

#include "dry/driver/graphs.h"
#include "dry/driver/streams.h"

/* CUDA_SUCCESS if the call is permitted now, with the stream or the context it waits for; else
 * the call's result, and captures are invalidated. */
CUresult gemem_driver_capture_allows (DriverEntry entry);
CUresult gemem_driver_capture_allows_wait (const DriverStream *stream);
CUresult gemem_driver_capture_allows_wait_for_all (const DriverContext *context);
CUstreamCaptureStatus gemem_driver_capture_status (const DriverStream *stream);
void gemem_driver_capture_join (DriverCapture *capture, DriverStream *stream);
/* For a stream, a context that is destroyed. */
void gemem_driver_capture_leave (DriverStream *stream);
void gemem_driver_capture_clear (const DriverContext *context);

/* The graph that @stream is captured into. */
DriverGraph *gemem_driver_capture_graph (const DriverStream *stream);
/* In dry runs: a node of the graph that @stream is captured into, if it is. CUDA_SUCCESS. */
CUresult gemem_driver_capture_add (DriverStream *stream, const CUgraphNodeParams *what);

/* Begins a capture with @stream. */
CUresult gemem_driver_capture_begin (DriverStream *stream, CUstreamCaptureMode mode);
/* Ends the capture that began with @stream (NULL: none such); *@graph: what was captured. */
CUresult gemem_driver_capture_end (const DriverStream *stream, CUgraph *graph);
/* Sets what this thread's calls may do; returns what it was. */
CUstreamCaptureMode gemem_driver_capture_exchange_mode (CUstreamCaptureMode mode);

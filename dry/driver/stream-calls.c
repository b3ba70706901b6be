/* stream-calls.c - what streams do besides copies and kernels: functions of the program, values
 * in memory, attributes, captures.
 *
 * A function of the program is called when all earlier work of its stream is done, on the thread that
 * put it there, which waits: with the lock released (gemem_driver_call_later()).
 */
#include "config.h"

#include <string.h>

#include "dry/driver/calls.h"
#include "dry/driver/capture.h"
#include "dry/driver/copies.h"
#include "dry/driver/mode.h"

/* ---- functions of the program */

static CUresult
call_host (DriverEntry entry, CUstream handle, DriverCallback callback)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  STREAM (handle);
  if (stream->capture != NULL)
    return gemem_driver_capture_add (
        stream, &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_HOST,
                                      .host = { callback.function, callback.data } });
  gemem_driver_wait_until (gemem_driver_stream_busy (stream));
  gemem_driver_call_later (callback);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuLaunchHostFunc (CUstream stream, CUhostFn function, void *data)
{
  return call_host (ENTRY_cuLaunchHostFunc, stream,
                    (DriverCallback){ .function = function, .data = data });
}

CUresult CUDAAPI
cuLaunchHostFunc_ptsz (CUstream stream, CUhostFn function, void *data)
{
  return call_host (ENTRY_cuLaunchHostFunc_ptsz, gemem_driver_per_thread (stream),
                    (DriverCallback){ .function = function, .data = data });
}

CUresult CUDAAPI
cuStreamAddCallback (CUstream stream, CUstreamCallback function, void *data, unsigned int flags)
{
  return call_host (ENTRY_cuStreamAddCallback, stream,
                    (DriverCallback){ .of_stream = function, .stream = stream, .data = data });
}

CUresult CUDAAPI
cuStreamAddCallback_ptsz (CUstream stream, CUstreamCallback function, void *data,
                          unsigned int flags)
{
  return call_host (ENTRY_cuStreamAddCallback_ptsz, gemem_driver_per_thread (stream),
                    (DriverCallback){ .of_stream = function, .stream = stream, .data = data });
}

/* ---- values in memory */

static CUresult
write_value (DriverEntry entry, CUstream handle, CUdeviceptr address, guint64 value, guint unit)
{
  DriverWork work = { .run = gemem_driver_run_memset,
                      .node = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                      .to = address,
                      .value = value,
                      .unit = unit,
                      .size = unit };
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  STREAM (handle);
  if (address % unit != 0)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "0x%llx is not aligned to %u", address,
                                unit);
  gemem_driver_enqueue (stream, gemem_driver_work_ns (unit), &work);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuStreamWriteValue32_v2 (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
  return write_value (ENTRY_cuStreamWriteValue32_v2, stream, address, value, 4);
}

CUresult CUDAAPI
cuStreamWriteValue64_v2 (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
  return write_value (ENTRY_cuStreamWriteValue64_v2, stream, address, value, 8);
}

/* The first versions, which programs still look for by dlsym(), take the same parameters. */
CUresult CUDAAPI
cuStreamWriteValue32 (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
  return write_value (ENTRY_cuStreamWriteValue32, stream, address, value, 4);
}

CUresult CUDAAPI
cuStreamWriteValue64 (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
  return write_value (ENTRY_cuStreamWriteValue64, stream, address, value, 8);
}

/* Nobody in a dry run writes the value that is waited for: it is as if it had come. */
static CUresult
wait_value (DriverEntry entry, CUstream handle)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  STREAM (handle);
  LENIENT_ONLY ();
  return gemem_driver_capture_add (stream,
                                   &(CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP });
}

CUresult CUDAAPI
cuStreamWaitValue32_v2 (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
  return wait_value (ENTRY_cuStreamWaitValue32_v2, stream);
}

CUresult CUDAAPI
cuStreamWaitValue64_v2 (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
  return wait_value (ENTRY_cuStreamWaitValue64_v2, stream);
}

/* ---- attributes */

CUresult CUDAAPI
cuStreamGetId (CUstream handle, unsigned long long *id)
{
  BEGIN (cuStreamGetId, NEEDS_CONTEXT);
  PLACE (id);
  STREAM (handle);
  *id = stream->object.id;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuStreamGetDevice (CUstream handle, CUdevice *device)
{
  BEGIN (cuStreamGetDevice, NEEDS_CONTEXT);
  PLACE (device);
  STREAM (handle);
  *device = stream->object.context->device->ordinal;
  return CUDA_SUCCESS;
}

/* No attribute is kept: all are the defaults, which are zeros. */
CUresult CUDAAPI
cuStreamGetAttribute (CUstream handle, CUlaunchAttributeID attribute, CUlaunchAttributeValue *value)
{
  BEGIN (cuStreamGetAttribute, NEEDS_CONTEXT);
  PLACE (value);
  STREAM (handle);
  memset (value, 0, sizeof *value);
  if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY)
    memcpy (value, &stream->priority, sizeof stream->priority);
  return CUDA_SUCCESS;
}

/* ---- captures */

static CUresult
begin_capture (DriverEntry entry, CUstream handle, CUstreamCaptureMode mode)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  DriverStream *stream = gemem_driver_stream (handle);
  if (stream == NULL || (guint) mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such stream, or no mode");
  return gemem_driver_capture_begin (stream, mode);
}

static CUresult
end_capture (DriverEntry entry, CUstream handle, CUgraph *graph)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  return gemem_driver_capture_end (gemem_driver_stream (handle), graph);
}

CUresult CUDAAPI
cuStreamBeginCapture_v2 (CUstream stream, CUstreamCaptureMode mode)
{
  return begin_capture (ENTRY_cuStreamBeginCapture_v2, stream, mode);
}

CUresult CUDAAPI
cuStreamBeginCapture_v2_ptsz (CUstream stream, CUstreamCaptureMode mode)
{
  return begin_capture (ENTRY_cuStreamBeginCapture_v2_ptsz, gemem_driver_per_thread (stream), mode);
}

CUresult CUDAAPI
cuStreamEndCapture (CUstream stream, CUgraph *graph)
{
  return end_capture (ENTRY_cuStreamEndCapture, stream, graph);
}

CUresult CUDAAPI
cuStreamEndCapture_ptsz (CUstream stream, CUgraph *graph)
{
  return end_capture (ENTRY_cuStreamEndCapture_ptsz, gemem_driver_per_thread (stream), graph);
}

CUresult CUDAAPI
cuThreadExchangeStreamCaptureMode (CUstreamCaptureMode *mode)
{
  BEGIN (cuThreadExchangeStreamCaptureMode, 0);
  if (mode == NULL || (guint) *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no mode");
  *mode = gemem_driver_capture_exchange_mode (*mode);
  return CUDA_SUCCESS;
}

static CUresult
capture_info (DriverEntry entry, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id,
              CUgraph *graph, const CUgraphNode **dependencies, size_t *n)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  PLACE (status);
  STREAM (handle);
  *status = gemem_driver_capture_status (stream);
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return CUDA_SUCCESS;
  const DriverGraph *captured = gemem_driver_capture_graph (stream);
  if (id != NULL)
    *id = captured->object.id;
  if (graph != NULL)
    *graph = DRIVER_HANDLE (CUgraph, captured);
  if (dependencies != NULL)
    *dependencies = NULL;
  if (n != NULL)
    *n = 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuStreamGetCaptureInfo (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
  return capture_info (ENTRY_cuStreamGetCaptureInfo, stream, status, id, NULL, NULL, NULL);
}

CUresult CUDAAPI
cuStreamGetCaptureInfo_v2 (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                           CUgraph *graph, const CUgraphNode **dependencies, size_t *n)
{
  return capture_info (ENTRY_cuStreamGetCaptureInfo_v2, stream, status, id, graph, dependencies, n);
}

CUresult CUDAAPI
cuStreamGetCaptureInfo_v3 (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                           CUgraph *graph, const CUgraphNode **dependencies,
                           const CUgraphEdgeData **edges, size_t *n)
{
  if (edges != NULL)
    *edges = NULL;
  return capture_info (ENTRY_cuStreamGetCaptureInfo_v3, stream, status, id, graph, dependencies, n);
}

/* What the next captured work waits for is not kept, as no edge of a captured graph is: nothing of it runs. */
static CUresult
update_dependencies (DriverEntry entry, CUstream handle, CUgraphNode *nodes, size_t n,
                     unsigned int flags)
{
  DRIVER_BEGIN (entry, NEEDS_CONTEXT);
  STREAM (handle);
  if (gemem_driver_capture_status (stream) == CU_STREAM_CAPTURE_STATUS_NONE)
    return gemem_driver_misuse (CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (nodes == NULL && n > 0))
    return gemem_driver_misuse (CUDA_ERROR_INVALID_VALUE, "no such flags, or no nodes");
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuStreamUpdateCaptureDependencies (CUstream stream, CUgraphNode *nodes, size_t n,
                                   unsigned int flags)
{
  return update_dependencies (ENTRY_cuStreamUpdateCaptureDependencies, stream, nodes, n, flags);
}

CUresult CUDAAPI
cuStreamUpdateCaptureDependencies_v2 (CUstream stream, CUgraphNode *nodes,
                                      const CUgraphEdgeData *edges, size_t n, unsigned int flags)
{
  (void) edges;
  return update_dependencies (ENTRY_cuStreamUpdateCaptureDependencies_v2, stream, nodes, n, flags);
}

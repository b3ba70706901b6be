/* streams.c - streams, events and stream capture of the CUDA runtime of dry runs: the driver's,
 * by other names.
 *
 * Where 12 and 13 give one name two meanings (captures with and without the data of edges), the
 * version in force decides; the longer form has one argument more, so one definition serves both.
 */
#include "config.h"

#include "dry/runtime/runtime.h"

/* ---- streams */

RUNTIME_CALL (cudaStreamCreate, (CUstream * stream), cuStreamCreate (stream, 0))
RUNTIME_CALL (cudaStreamCreateWithFlags, (CUstream * stream, unsigned flags),
              cuStreamCreate (stream, flags))
RUNTIME_CALL (cudaStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority),
              cuStreamCreateWithPriority (stream, flags, priority))
RUNTIME_CALL (cudaStreamDestroy, (CUstream stream), cuStreamDestroy_v2 (stream))
RUNTIME_STREAM_CALL (cudaStreamQuery, (CUstream stream), cuStreamQuery (stream))
RUNTIME_STREAM_CALL (cudaStreamSynchronize, (CUstream stream), cuStreamSynchronize (stream))
RUNTIME_STREAM_CALL (cudaStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags),
                     cuStreamWaitEvent (stream, event, flags))
RUNTIME_STREAM_CALL (cudaStreamGetFlags, (CUstream stream, unsigned *flags),
                     cuStreamGetFlags (stream, flags))
RUNTIME_STREAM_CALL (cudaStreamGetPriority, (CUstream stream, int *priority),
                     cuStreamGetPriority (stream, priority))

RUNTIME_STREAM_CALL (cudaStreamGetId, (CUstream stream, unsigned long long *id),
                     cuStreamGetId (stream, id))

/* The device of the context of @stream. */
static int
device_of (CUstream stream, int *device)
{
  CUcontext context, current;
  CUresult result = cuStreamGetCtx (stream, &context);

  if (device == NULL)
    return RUNTIME_INVALID_VALUE;
  if (result == CUDA_SUCCESS)
    result = cuCtxGetCurrent (&current);
  if (result == CUDA_SUCCESS)
    result = cuCtxSetCurrent (context);
  if (result != CUDA_SUCCESS)
    return (int) result;
  result = cuCtxGetDevice (device);
  cuCtxSetCurrent (current);
  return (int) result;
}

RUNTIME_STREAM_CALL (cudaStreamGetDevice, (CUstream stream, int *device),
                     device_of (stream, device))

/* ---- events */

RUNTIME_CALL (cudaEventCreate, (CUevent * event), cuEventCreate (event, 0))
RUNTIME_CALL (cudaEventCreateWithFlags, (CUevent * event, unsigned flags),
              cuEventCreate (event, flags))
RUNTIME_CALL (cudaEventDestroy, (CUevent event), cuEventDestroy_v2 (event))
RUNTIME_CALL (cudaEventQuery, (CUevent event), cuEventQuery (event))
RUNTIME_CALL (cudaEventSynchronize, (CUevent event), cuEventSynchronize (event))
RUNTIME_CALL (cudaEventElapsedTime, (float *ms, CUevent from, CUevent to),
              cuEventElapsedTime (ms, from, to))
RUNTIME_CALL (cudaEventElapsedTime_v2, (float *ms, CUevent from, CUevent to),
              cuEventElapsedTime_v2 (ms, from, to))
RUNTIME_STREAM_CALL (cudaEventRecord, (CUevent event, CUstream stream),
                     cuEventRecord (event, stream))
RUNTIME_STREAM_CALL (cudaEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags),
                     cuEventRecordWithFlags (event, stream, flags))

/* ---- capture */

RUNTIME_STREAM_CALL (cudaStreamBeginCapture, (CUstream stream, unsigned mode),
                     cuStreamBeginCapture_v2 (stream, mode))
RUNTIME_STREAM_CALL (cudaStreamEndCapture, (CUstream stream, CUgraph *graph),
                     cuStreamEndCapture (stream, graph))
RUNTIME_STREAM_CALL (cudaStreamIsCapturing, (CUstream stream, unsigned *status),
                     cuStreamIsCapturing (stream, status))
RUNTIME_QUERY (cudaThreadExchangeStreamCaptureMode, (unsigned *mode),
               cuThreadExchangeStreamCaptureMode (mode))

/* The data of edges is asked for only by 13, and by _v3 of 12; the short form of 12 has
 * three arguments. */
static int
capture_info (CUstream stream, unsigned *status, cuuint64_t *id, CUgraph *graph,
              const CUgraphNode **after, const CUgraphEdgeData **edges, size_t *n_after,
              gboolean of_12)
{
  return of_12 ? (int) cuStreamGetCaptureInfo (stream, status, id)
               : (int) cuStreamGetCaptureInfo_v3 (stream, status, id, graph, after, edges, n_after);
}

#define CAPTURE_INFO \
  (CUstream stream, unsigned *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **after, \
   const CUgraphEdgeData **edges, size_t *n_after)

RUNTIME_STREAM_CALL (cudaStreamGetCaptureInfo, CAPTURE_INFO,
                     capture_info (stream, status, id, graph, after, edges, n_after,
                                   gemem_runtime_version () < 13000))
RUNTIME_STREAM_CALL (cudaStreamGetCaptureInfo_v3, CAPTURE_INFO,
                     capture_info (stream, status, id, graph, after, edges, n_after, FALSE))
RUNTIME_STREAM_CALL (cudaStreamGetCaptureInfo_v2,
                     (CUstream stream, unsigned *status, cuuint64_t *id, CUgraph *graph,
                      const CUgraphNode **after, size_t *n_after),
                     cuStreamGetCaptureInfo_v2 (stream, status, id, graph, after, n_after))

/* 13 has the data of edges before the number. */
static int
update_dependencies (CUstream stream, CUgraphNode *nodes, guintptr third, guintptr fourth,
                     unsigned fifth)
{
  return gemem_runtime_version () < 13000
             ? (int) cuStreamUpdateCaptureDependencies (stream, nodes, third, (unsigned) fourth)
             : (int) cuStreamUpdateCaptureDependencies_v2 (
                 stream, nodes, (const CUgraphEdgeData *) third, fourth, fifth);
}

RUNTIME_STREAM_CALL (cudaStreamUpdateCaptureDependencies,
                     (CUstream stream, CUgraphNode *nodes, guintptr third, guintptr fourth,
                      unsigned fifth),
                     update_dependencies (stream, nodes, third, fourth, fifth))
RUNTIME_STREAM_CALL (cudaStreamUpdateCaptureDependencies_v2,
                     (CUstream stream, CUgraphNode *nodes, const CUgraphEdgeData *edges, size_t n,
                      unsigned flags),
                     cuStreamUpdateCaptureDependencies_v2 (stream, nodes, edges, n, flags))

/* ---- functions of the host: they are run */

RUNTIME_STREAM_CALL (cudaLaunchHostFunc, (CUstream stream, CUhostFn function, void *data),
                     cuLaunchHostFunc (stream, function, data))
RUNTIME_STREAM_CALL (cudaStreamAddCallback,
                     (CUstream stream, CUstreamCallback function, void *data, unsigned flags),
                     cuStreamAddCallback (stream, function, data, flags))

/* event-kinds.c - see event-kinds.h.  The names of the kinds are those of traces/trace.c; every
 * kind has a sentence here, which the test of the index of terms checks. */
#include "config.h"

#include "sim/cli/event-kinds.h"

static const struct
{
  const char *help, *known_as;
  const char *generator; /* a synthetic workload that has such events; NULL: only recordings do */
} kinds[GEMEM_EVENT_KIND_COUNT] = {
  [GEMEM_EVENT_ALLOC] = { "The program asks for a block, on a stream and from a pool.", NULL,
                          "ge-session" },
  [GEMEM_EVENT_FREE] = { "The program gives a block back, and no stream uses it any more.", NULL,
                         "ge-session" },
  [GEMEM_EVENT_FREE_REQUESTED] = { "The program gives a block back that streams may still use.",
                                   "free_requested", NULL },
  [GEMEM_EVENT_FREE_COMPLETED] = { "No stream uses the block any more that was given back.",
                                   "free_completed", NULL },
  [GEMEM_EVENT_USE_ON_STREAM] = { "Work that uses the block was queued on another stream.",
                                  "Tensor.record_stream", "pipeline-stages:steps=1" },
  [GEMEM_EVENT_STREAM_SYNC] = { "The host waited for a stream.",
                                "cudaStreamSynchronize|cuStreamSynchronize|"
                                "aclrtSynchronizeStream",
                                NULL },
  [GEMEM_EVENT_EVENT_RECORD] = { "A mark was set behind the work of a stream.",
                                 "cudaEventRecord|cuEventRecord", NULL },
  [GEMEM_EVENT_EVENT_WAIT] = { "A stream waits for a mark of another one.",
                               "cudaStreamWaitEvent|cuStreamWaitEvent", NULL },
  [GEMEM_EVENT_DEVICE_SYNC] = { "The host waited for the whole device.",
                                "torch.cuda.synchronize|cudaDeviceSynchronize|cuCtxSynchronize|"
                                "aclrtSynchronizeDevice",
                                NULL },
  [GEMEM_EVENT_GRAPH_LOAD] = { "A static graph is loaded, with its static memory.", NULL,
                               "ge-session" },
  [GEMEM_EVENT_GRAPH_RUN] = { "A run of a loaded graph begins.", "aclmdlExecute", "ge-session" },
  [GEMEM_EVENT_GRAPH_UNLOAD] = { "A static graph is unloaded.", NULL, "ge-session" },
  [GEMEM_EVENT_STEP] = { "A training step or an iteration begins.", NULL, "ge-session" },
  [GEMEM_EVENT_PHASE] = { "A phase of the program begins.", NULL, NULL },
  [GEMEM_EVENT_PHASE_END] = { "The newest open phase of that name ends.", NULL, NULL },
  [GEMEM_EVENT_TRIM] = { "The program asks the allocator to give cached memory back to the device.",
                         "torch.cuda.empty_cache|paddle.device.cuda.empty_cache|Release|recycle",
                         "rlhf" },
  [GEMEM_EVENT_OOM] = { "The recorded program ran out of memory: the request is made again.",
                        "torch.OutOfMemoryError", NULL },
  [GEMEM_EVENT_SEGMENT_ALLOC] = { "The recorded allocator obtained a segment from the device.",
                                  "segment_alloc", NULL },
  [GEMEM_EVENT_SEGMENT_FREE] = { "The recorded allocator gave a segment back to the device.",
                                 "segment_free", NULL },
  [GEMEM_EVENT_SEGMENT_MAP] = { "The recorded allocator mapped pages into a segment.",
                                "segment_map", NULL },
  [GEMEM_EVENT_SEGMENT_UNMAP] = { "The recorded allocator removed pages from a segment.",
                                  "segment_unmap", NULL },
  [GEMEM_EVENT_SNAPSHOT] = { "A snapshot was taken, with so many active bytes.",
                             "torch.cuda.memory.memory_snapshot", NULL },
  [GEMEM_EVENT_MEMSET] = { "A block is set to a byte, from its start.", "cudaMemset|cuMemsetD8",
                           NULL },
  [GEMEM_EVENT_GRAPH_SEGMENT] = { "A piece of the static memory of a graph.", NULL, "ge-session" },
  [GEMEM_EVENT_GRAPH_RUN_END] = { "The host waited for a run of a graph.", NULL, "ge-session" },
  [GEMEM_EVENT_STREAM_FREE] = { "A stream gives up its share of a block.", NULL, NULL },
  [GEMEM_EVENT_DEVICE_LIMIT] = { "So many bytes the recorded device had from here on, as its "
                                 "refusals tell.",
                                 NULL, NULL },
  [GEMEM_EVENT_POOL_RELEASE] = { "The program released a private pool.", "torch.cuda.MemPool",
                                 "graph-capture" },
  [GEMEM_EVENT_POOL_BEGIN] = { "The program begins to allocate in a private pool, or to capture a "
                               "graph.",
                               "torch.cuda.use_mem_pool|cudaStreamBeginCapture|"
                               "beginAllocateToPool",
                               NULL },
  [GEMEM_EVENT_POOL_END] = { "The program ends to allocate in a private pool, or to capture a "
                             "graph.",
                             "cudaStreamEndCapture|endAllocateToPool", NULL },
  [GEMEM_EVENT_REGION_BEGIN] = { "From here on the memory of a private pool can sleep, under a "
                                 "name.",
                                 "CuMemAllocator.use_memory_pool|torch_memory_saver.region",
                                 "rlhf" },
  [GEMEM_EVENT_REGION_END] = { "The part of the program that fills such a pool ends.", NULL,
                               "rlhf" },
  [GEMEM_EVENT_SLEEP] = { "All memory that can, sleeps: it keeps its addresses and gives its bytes "
                          "to others; what is named is copied to the host.",
                          "CuMemAllocator.sleep|LLM.sleep", "rlhf" },
  [GEMEM_EVENT_PAUSE] = { "Memory of a name sleeps.", "torch_memory_saver.pause", NULL },
  [GEMEM_EVENT_WAKE] = { "Memory of some names, or all, has bytes of the device again.",
                         "CuMemAllocator.wake_up|LLM.wake_up|torch_memory_saver.resume", "rlhf" },
  [GEMEM_EVENT_SETTINGS] = { "The program gave its allocator other settings, which count from here "
                             "on.",
                             "torch.cuda.memory._set_allocator_settings", NULL },
  [GEMEM_EVENT_WORK] = { "A stream has work that the device has not done.",
                         "cudaLaunchKernel|cuLaunchKernel", NULL },
  [GEMEM_EVENT_WORK_DONE] = { "The device has done that work; the host need not know.", NULL,
                              NULL },
};

const char *
gemem_event_kind_help (GememEventKind kind)
{
  return kinds[kind].help;
}

const char *
gemem_event_kind_known_as (GememEventKind kind)
{
  return kinds[kind].known_as;
}

const char *
gemem_event_kind_generator (GememEventKind kind)
{
  return kinds[kind].generator;
}

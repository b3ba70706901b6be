/* sentences-ge-runtime.c - the sentences of GE's "Memory Constraints" about the run time: the parts
 * "Dynamic Memory Reuse" and "Memory Management"; see manuals.h.
 */
#include "config.h"

#include "sim/manuals/manuals.h"

#define TRACE "# gemem-trace: 2\n"
#define TWO_REQUESTS TRACE "alloc 1 size=4194304\nalloc 2 size=4194304\nfree 2\nfree 1\n# end: 4\n"
#define TWO_STREAMS TRACE "alloc 1 size=4194304\nalloc 2 size=4194304 stream=7\n# end: 2\n"
#define TWO_GRAPHS \
  TRACE "graph-load 1 size=3145728\ngraph-run 1\ngraph-run-end 1\n" \
        "graph-load 2 size=5242880\ngraph-run 2\ngraph-run-end 2\n# end: 6\n"
#define DEVICE_3 TRACE "alloc 1 size=4194304 device=3\n# end: 1\n"
#define TWO_DEVICES TRACE "alloc 1 size=1000\nalloc 2 size=4194304 device=1\n# end: 2\n"
/* The second request fits only when the first one's memory has been returned. */
#define PRESSURE TRACE "alloc 1 size=4194304\nfree 1\nalloc 2 size=8388608\n# end: 3\n"

static const GememSentence sentences[] = {
  /* ---- Dynamic Memory Reuse */

  GEMEM_SENTENCE ("dynamic_reuse.scalable",
                  "ScalableAllocator does not support several threads at once.", TWO_REQUESTS,
                  "replay - -a ge-scalable:single_thread=yes --host-threads=2", "status", "", "3",
                  "3", "the second request comes from a second thread and is refused: status 3"),
  GEMEM_SENTENCE ("dynamic_reuse.scalable.no_lock",
                  "ScalableAllocator has no lock; nothing in it notices who calls.", TWO_REQUESTS,
                  "replay - -a ge-scalable --host-threads=2 -f json",
                  "json $.results[*].values.ooms", "failed", "0", "0",
                  "without the guard both requests of the two threads are served"),
  GEMEM_SENTENCE ("dynamic_reuse.scalable.id",
                  "A global counter gives every ScalableAllocator an id of its own.", TWO_STREAMS,
                  "replay - -a ge-scalable --allocator-report - -o /dev/null",
                  "count ^\\[(rts_allocator_0|allocator_1|allocator_2)\\]", "pools", "3", "3",
                  "the bottom pool is 0, the pools of two streams are 1 and 2"),
  GEMEM_SENTENCE ("dynamic_reuse.scalable.aclmdlExecute",
                  "aclmdlExecute is called by one thread, which keeps ScalableAllocator safe.",
                  TWO_REQUESTS, "replay - -a ge-scalable:single_thread=yes --host-threads=1",
                  "status", "", "0", "0", "one thread makes all four calls: nothing is refused"),
  GEMEM_SENTENCE ("dynamic_reuse.underlying",
                  "The allocator below ScalableAllocator locks and serves several threads.",
                  TWO_REQUESTS,
                  "replay - -a ge-scalable:stack=rts,single_thread=yes --host-threads=2", "status",
                  "", "0", "0", "the bottom pool alone, two threads, guarded: nothing is refused"),
  GEMEM_SENTENCE ("dynamic_reuse.active", "ActiveMemoryAllocator supports several threads.",
                  TWO_GRAPHS,
                  "replay - -a ge-active:policy=2,single_thread=yes --host-threads=3 -f json",
                  "json $.results[*].values.ooms", "failed", "0", "0",
                  "two graphs loaded and run by three threads in turn"),
  GEMEM_SENTENCE ("dynamic_reuse.expandable_active",
                  "ExpandableActiveMemoryAllocator supports several threads.", TWO_GRAPHS,
                  "replay - -a ge-active:policy=4,single_thread=yes --host-threads=3 -f json",
                  "json $.results[*].values.ooms", "failed", "0", "0",
                  "two graphs loaded and run by three threads in turn"),
  GEMEM_SENTENCE ("dynamic_reuse.physical", "PhysicalMemoryAllocator supports several threads.",
                  TWO_REQUESTS, "replay - -a ge-physical --host-threads=2 -f json",
                  "json $.results[*].measures.peak_reserved", "B", "8388608", "8388608",
                  "two requests of 4 MiB, each two pages of 2 MiB, from two threads"),
  GEMEM_UNSEEN ("dynamic_reuse.new_code",
                "New code locks where it uses what these allocators share.",
                "a rule for whoever changes the code of GE; no run shows whether a lock is missing "
                "until it is lost"),

  /* ---- Memory Management */

  GEMEM_SENTENCE ("memory_management.device_id",
                  "The device id is the current device's, not a default.", DEVICE_3,
                  "replay - -a ge -f json", "json $.results[*].stats.device_id", "", "3", "3",
                  "the only request is of device 3"),
  GEMEM_SENTENCE ("memory_management.device_id.explicit",
                  "Every call of the run time names its device.", DEVICE_3,
                  "replay - -a ge --calls - -o /dev/null", "count ^[0-9]+,malloc,.*,3$", "calls",
                  "1", "1", "one allocation of 4 MiB, on device 3 (last column)"),
  GEMEM_SENTENCE ("memory_management.device_id.default",
                  "Device 0 is no default for what belongs to another device.", DEVICE_3,
                  "replay - -a ge -d cuda:0", "status", "", "2", "2",
                  "memory of device 3 does not go to GPU 0 unless that is chosen: status 2"),
  GEMEM_SENTENCE ("memory_management.device_id.several", "Several devices at once are told apart.",
                  TWO_DEVICES, "replay - -a ge -f json", "json $.results[*].device_ordinal", "",
                  "0, 1", "0, 1", "a request on each of two devices: two results"),
  GEMEM_UNSEEN ("memory_management.device_id.current",
                "No call relies on the device that happens to be current.",
                "as built a pool keeps its id but allocates on the current device; a trace names "
                "the device of each request, not the one that was current"),
  GEMEM_SENTENCE ("memory_management.release.synchronise",
                  "Streams are synchronised before memory is released.", TWO_REQUESTS,
                  "replay - -a ge --calls - -o /dev/null",
                  "line ^[0-9]+,([a-z_]+),.*\\n[0-9]+,free,", "", "device_sync", "device_sync",
                  "the call before the first free waits for all streams"),
  GEMEM_SENTENCE ("memory_management.release.synchronise.all",
                  "Streams are synchronised before memory is released (whatever serves requests).",
                  TWO_REQUESTS,
                  "compare - -a ge -a ge-scalable -a ge-expandable -a ge-active -a ge-streams "
                  "--check-release-order",
                  "status", "", "0", "0", "status 0: no memory goes while a stream may use it"),
  GEMEM_SENTENCE ("memory_management.release.synchronise.physical",
                  "PhysicalMemoryAllocator alone does not: who uses it has to.", TWO_REQUESTS,
                  "replay - -a ge-physical --check-release-order", "status", "", "1", "1",
                  "status 1: by itself it waits for nothing; in ge it does not stand alone"),
  GEMEM_SENTENCE ("memory_management.release.synchronise.range",
                  "Nor does the session's range of memory alone.", TWO_REQUESTS,
                  "replay - -a ge-session-range --check-release-order", "status", "", "1", "1",
                  "status 1: the same"),
  GEMEM_SENTENCE ("memory_management.release.destroy", "The device is destroyed last.", DEVICE_3,
                  "replay - -a ge --calls - -o /dev/null",
                  "line ^[0-9]+,free,.*\\n[0-9]+,([a-z_]+),", "", "close", "close",
                  "the one block of 4 MiB is freed, then the device is closed"),
  GEMEM_SENTENCE ("memory_management.release.too_early",
                  "Memory is not released while a stream may use it.", TWO_REQUESTS,
                  "replay - -a direct -d sim:free_synchronises=no --check-release-order", "status",
                  "", "1", "1",
                  "an allocator that frees at once, without a wait, is reported: status 1"),
  GEMEM_SENTENCE ("memory_management.release.AllocateWithTryRecycle",
                  "AllocateWithTryRecycle synchronises before it releases.", PRESSURE,
                  "replay - -a ge-scalable -d sim:capacity=10MiB --calls - -o /dev/null",
                  "line ^[0-9]+,([a-z_]+),.*\\n[0-9]+,free,", "", "stream_sync", "stream_sync",
                  "8 MiB do not fit beside the idle 4 MiB: stream_sync, then free, then malloc"),
  GEMEM_SENTENCE ("memory_management.rtReserveMemAddress",
                  "rtReserveMemAddress reserves addresses for dynamic shapes beforehand.",
                  TWO_REQUESTS, "replay - -a ge-expandable --calls - -o /dev/null",
                  "count ^[0-9]+,reserve,.*,1,0$", "calls", "1", "1",
                  "one pool, one range, before the first page"),
  GEMEM_SENTENCE ("memory_management.fallback.marked",
                  "A failed rtReserveMemAddress marks virtual memory as unsupported.", TWO_GRAPHS,
                  "replay - -a ge-active:policy=4 -d sim:virtual_memory=no --calls - -o /dev/null",
                  "count ^[0-9]+,reserve,", "calls", "1", "1",
                  "two graphs are loaded, addresses are asked for once"),
  GEMEM_SENTENCE ("memory_management.fallback.physical",
                  "Then memory is allocated by physical address.", TWO_STREAMS,
                  "replay - -a ge-expandable -d sim:virtual_memory=no --calls - -o /dev/null",
                  "count ^[0-9]+,malloc,0,4194304,.*,1,0$", "calls", "2", "2",
                  "two requests of 4 MiB, two plain allocations"),
  GEMEM_SENTENCE ("memory_management.fallback.normal", "The program goes on as usual.", TWO_GRAPHS,
                  "replay - -a ge:static_memory_policy=4 -d faulty:call=reserve,every=1 -f json",
                  "json $.results[*].values.ooms", "failed", "0", "0",
                  "every reservation is refused, both graphs are loaded"),
  GEMEM_SENTENCE ("memory_management.fallback.no_errors", "No ERROR is logged.", TWO_STREAMS,
                  "replay - -a ge-expandable -d sim:virtual_memory=no",
                  "count error:|warning:|ERROR", "lines", "0", "0",
                  "the fallback is a statistic (virtual_memory_unsupported), not a message"),
};

const GememManual gemem_manual_ge_runtime = {
  .name = "ge-runtime",
  .system = "ge",
  .title = "GE: memory constraints, dynamic memory reuse and memory management",
  .sentences = sentences,
  .n_sentences = G_N_ELEMENTS (sentences),
};

/* sentences-ge.h - sessions that more than one of GE's manuals is tried with.
 *
 * Why here: the environment variable and MemoryConfig describe the same modes.
 */
#pragma once

#include "sim/manuals/manuals.h"

/* The figure of the mode that counts. */
#define GE_MODE "json $.results[0].stats.static_memory_policy"

#define GE_TRACE "# gemem-trace: 1\n"

/* Graphs of 100, 300 and 200 MiB, all loaded, then run one after another. */
#define GE_THREE_GRAPHS \
  GE_TRACE "graph-load 1 size=104857600\ngraph-load 2 size=314572800\n" \
           "graph-load 3 size=209715200\ngraph-run 1\ngraph-run-end 1\ngraph-run 2\n" \
           "graph-run-end 2\ngraph-run 3\ngraph-run-end 3\n# end: 9\n"
/* The same graphs, each loaded when the one before has run. */
#define GE_GRAPHS_IN_TURNS \
  GE_TRACE "graph-load 1 size=104857600\ngraph-run 1\ngraph-run-end 1\n" \
           "graph-load 2 size=314572800\ngraph-run 2\ngraph-run-end 2\n" \
           "graph-load 3 size=209715200\ngraph-run 3\ngraph-run-end 3\n# end: 9\n"
/* Graphs of 100 and 300 MiB that run at once. */
#define GE_TWO_AT_ONCE \
  GE_TRACE "graph-load 1 size=104857600\ngraph-load 2 size=314572800\ngraph-run 1 stream=1\n" \
           "graph-run 2 stream=2\n# end: 4\n"
#define GE_ODD_GRAPH GE_TRACE "graph-load 1 size=5000001\n# end: 1\n"
/* Two requests of 32 MiB, and one of 64 when they are freed. */
#define GE_TWO_HALVES \
  GE_TRACE "alloc 1 size=33554432\nalloc 2 size=33554432\nfree 1\nfree 2\nalloc 3 " \
           "size=67108864\n# end: 5\n"

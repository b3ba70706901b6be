/* graph-memory.h - the memory of a device's CUDA graphs: what executable graphs take when they are
 * uploaded and launched, and what a trim returns (cuDeviceGetGraphMemAttribute,
 * cuDeviceGraphMemTrim).
 *
 * Where the blocks of a graph lie within it, a capture decides, by the rules of a pool whose streams
 * never come to anything (async.h).  Memory comes with the first upload or launch, in chunks: as
 * many as those blocks touch.  A chunk serves all graphs that are launched on one stream; while a
 * launch is in progress, none of another stream.  The end of a launch returns nothing, nor does the
 * end of a graph.  A block that the graph does not free keeps its chunks until the program frees
 * it; until then the graph cannot be launched again.
 *
 * One H100 (driver 580.159.04, CUDA 13.0) did so; tests/vectors/test-cuda-async-vectors.c replays
 * its log e12.  No log shows, and it is assumed:
 *  - that graphs of different sizes share on a stream what both need;
 *  - that a launch takes what another stream holds, if no launch in progress needs that;
 *  - that the chunks of a freed block are those of the stream of the launch, whichever freed it;
 *  - that a launch without enough memory keeps the chunks that it took so far.
 *
 * Invariants: `reserved` is GEMEM_CUDA_GRAPH_CHUNK for each chunk with a page; an unfreed block has
 * all of its chunks, and they serve no other launch.
 * Cost: O(chunks) each.
 * Origin: peers.md 1d.
 */
#pragma once

#include "devices/device.h"

#define GEMEM_CUDA_GRAPH_CHUNK (G_GUINT64_CONSTANT (32) << 20)

typedef struct
{
  GememDevice *device;
  GArray *chunks;                  /* places, some of them empty */
  guint64 reserved, reserved_high; /* bytes; CUDA says the same of "used" */
} GememCudaGraphMemory;

/* A block of a graph. */
typedef struct
{
  guint64 offset, size; /* from a multiple of the chunk on, in bytes */
  gboolean stays;       /* the graph does not free it */
} GememCudaGraphBlock;

typedef struct _GememCudaGraph GememCudaGraph;

typedef enum
{
  GEMEM_CUDA_GRAPH_OK,
  GEMEM_CUDA_GRAPH_UNFREED, /* CUDA_ERROR_INVALID_VALUE: a block of the last launch is not freed */
  GEMEM_CUDA_GRAPH_NO_MEMORY, /* CUDA_ERROR_OUT_OF_MEMORY */
} GememCudaGraphResult;

/* Of @device, which must outlive it. */
GememCudaGraphMemory *gemem_cuda_graph_memory_new (GememDevice *device);
/* Returns all chunks to the device; free the graphs first. */
void gemem_cuda_graph_memory_free (GememCudaGraphMemory *memory);
/* The device has done all launches on @stream so far. */
void gemem_cuda_graph_memory_done (GememCudaGraphMemory *memory, guint64 stream);
/* Returns the chunks that no launch in progress and no unfreed block needs. */
void gemem_cuda_graph_memory_trim (GememCudaGraphMemory *memory);

/* A graph that is executable, with @n blocks, which are copied; it takes no memory yet. */
GememCudaGraph *gemem_cuda_graph_new (GememCudaGraphMemory *memory,
                                      const GememCudaGraphBlock *blocks, guint n);
/* Returns nothing to the device.  Blocks that are not freed can no longer be. */
void gemem_cuda_graph_free (GememCudaGraph *graph);
/* Of a graph with unfreed blocks: does nothing. */
GememCudaGraphResult gemem_cuda_graph_upload (GememCudaGraph *graph, guint64 stream);
/* @free_first: as with auto-free, unfreed blocks of the last launch are freed by this one. */
GememCudaGraphResult gemem_cuda_graph_launch (GememCudaGraph *graph, guint64 stream,
                                              gboolean free_first);
/* The program frees block @i; FALSE: that block is not allocated. */
gboolean gemem_cuda_graph_free_block (GememCudaGraph *graph, guint i);
/* How many blocks of the last launch are not freed. */
guint gemem_cuda_graph_unfreed (const GememCudaGraph *graph);

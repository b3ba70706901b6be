/* graph-memory.c - the chunks of executable CUDA graphs: taken by uploads and launches, kept by
 * unfreed blocks, returned by a trim (graph-memory.h has the rules and the invariants).
 *
 * Only how many chunks there are can be seen of them, so a launch takes any that it may take, the
 * lowest places first; unfreed blocks alone remember theirs.
 */
#include "config.h"

#include "allocators/cuda/graph-memory.h"

typedef struct
{
  GememPage page; /* 0: the place is empty */
  guint64 stream; /* of the upload or launch that last took it */
  gboolean busy;  /* a launch in progress uses it */
  guint unfreed;  /* blocks in it */
} Chunk;

typedef struct
{
  guint first, end; /* in `places` of the graph */
  gboolean stays, live;
} Block;

struct _GememCudaGraph
{
  GememCudaGraphMemory *memory;
  Block *blocks;
  guint n_blocks, unfreed;
  guint *places; /* of its chunks, as the last launch took them, in the order of offsets */
  guint n_chunks;
};

static Chunk *
chunk_at (const GememCudaGraphMemory *memory, guint place)
{
  return &g_array_index (memory->chunks, Chunk, place);
}

/* ---- the memory of a device */

GememCudaGraphMemory *
gemem_cuda_graph_memory_new (GememDevice *device)
{
  GememCudaGraphMemory *memory = g_new0 (GememCudaGraphMemory, 1);

  memory->device = device;
  memory->chunks = g_array_new (FALSE, TRUE, sizeof (Chunk));
  return memory;
}

static void
return_chunk (GememCudaGraphMemory *memory, Chunk *chunk)
{
  gemem_device_destroy_page (memory->device, chunk->page, GEMEM_CUDA_GRAPH_CHUNK);
  memory->reserved -= GEMEM_CUDA_GRAPH_CHUNK;
  *chunk = (Chunk){ 0 };
}

void
gemem_cuda_graph_memory_free (GememCudaGraphMemory *memory)
{
  for (guint i = 0; i < memory->chunks->len; i++)
    if (chunk_at (memory, i)->page != 0)
      return_chunk (memory, chunk_at (memory, i));
  g_array_unref (memory->chunks);
  g_free (memory);
}

void
gemem_cuda_graph_memory_done (GememCudaGraphMemory *memory, guint64 stream)
{
  for (guint i = 0; i < memory->chunks->len; i++)
    if (chunk_at (memory, i)->stream == stream)
      chunk_at (memory, i)->busy = FALSE;
}

void
gemem_cuda_graph_memory_trim (GememCudaGraphMemory *memory)
{
  for (guint i = 0; i < memory->chunks->len; i++)
    {
      Chunk *chunk = chunk_at (memory, i);

      if (chunk->page != 0 && !chunk->busy && chunk->unfreed == 0)
        return_chunk (memory, chunk);
    }
}

/* ---- graphs */

/* Gives each chunk that @blocks touch its number, in the order of offsets, and each block the
 * numbers of its chunks; returns how many there are. */
static guint
number_chunks (GememCudaGraph *graph, const GememCudaGraphBlock *blocks)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, TRUE, sizeof (guint)); /* then: below it */
  guint n = 0;

#define FIRST(block) ((guint) ((block)->offset / GEMEM_CUDA_GRAPH_CHUNK))
#define END(block) \
  ((guint) (((block)->offset + (block)->size + GEMEM_CUDA_GRAPH_CHUNK - 1) \
            / GEMEM_CUDA_GRAPH_CHUNK))
  for (guint i = 0; i < graph->n_blocks; i++)
    {
      if (END (&blocks[i]) >= numbers->len)
        g_array_set_size (numbers, END (&blocks[i]) + 1);
      for (guint at = FIRST (&blocks[i]); blocks[i].size > 0 && at < END (&blocks[i]); at++)
        g_array_index (numbers, guint, at) = 1;
    }
  for (guint at = 0; at < numbers->len; at++)
    {
      const guint touched = g_array_index (numbers, guint, at);

      g_array_index (numbers, guint, at) = n;
      n += touched;
    }
  for (guint i = 0; i < graph->n_blocks; i++)
    if (blocks[i].size > 0)
      graph->blocks[i] = (Block){ .first = g_array_index (numbers, guint, FIRST (&blocks[i])),
                                  .end = g_array_index (numbers, guint, END (&blocks[i])),
                                  .stays = blocks[i].stays };
#undef FIRST
#undef END
  return n;
}

GememCudaGraph *
gemem_cuda_graph_new (GememCudaGraphMemory *memory, const GememCudaGraphBlock *blocks, guint n)
{
  GememCudaGraph *graph = g_new0 (GememCudaGraph, 1);

  graph->memory = memory;
  graph->blocks = g_new0 (Block, n);
  graph->n_blocks = n;
  graph->n_chunks = number_chunks (graph, blocks);
  graph->places = g_new0 (guint, graph->n_chunks);
  return graph;
}

void
gemem_cuda_graph_free (GememCudaGraph *graph)
{
  g_free (graph->places);
  g_free (graph->blocks);
  g_free (graph);
}

guint
gemem_cuda_graph_unfreed (const GememCudaGraph *graph)
{
  return graph->unfreed;
}

/* ---- launches */

/* Adds to the @n chunks that @graph has those of @stream, or those of other streams that no launch
 * in progress uses; returns how many it then has. */
static guint
take_held (GememCudaGraph *graph, guint n, guint64 stream, gboolean others)
{
  for (guint i = 0; i < graph->memory->chunks->len && n < graph->n_chunks; i++)
    {
      const Chunk *chunk = chunk_at (graph->memory, i);

      if (chunk->page != 0 && chunk->unfreed == 0
          && (others ? chunk->stream != stream && !chunk->busy : chunk->stream == stream))
        graph->places[n++] = i;
    }
  return n;
}

static guint
take_new (GememCudaGraph *graph, guint n, guint64 stream)
{
  GememCudaGraphMemory *memory = graph->memory;

  for (guint i = 0; n < graph->n_chunks; i++)
    {
      if (i >= memory->chunks->len)
        g_array_set_size (memory->chunks, i + 1);
      if (chunk_at (memory, i)->page != 0)
        continue;
      chunk_at (memory, i)->page = gemem_device_create_page (memory->device,
                                                             GEMEM_CUDA_GRAPH_CHUNK);
      if (chunk_at (memory, i)->page == 0)
        return n;
      chunk_at (memory, i)->stream = stream;
      memory->reserved += GEMEM_CUDA_GRAPH_CHUNK;
      memory->reserved_high = MAX (memory->reserved_high, memory->reserved);
      graph->places[n++] = i;
    }
  return n;
}

GememCudaGraphResult
gemem_cuda_graph_upload (GememCudaGraph *graph, guint64 stream)
{
  guint n;

  if (graph->unfreed > 0)
    return GEMEM_CUDA_GRAPH_OK;
  n = take_held (graph, 0, stream, FALSE);
  n = take_held (graph, n, stream, TRUE);
  n = take_new (graph, n, stream);
  if (n < graph->n_chunks)
    return GEMEM_CUDA_GRAPH_NO_MEMORY;
  for (guint i = 0; i < n; i++)
    chunk_at (graph->memory, graph->places[i])->stream = stream;
  return GEMEM_CUDA_GRAPH_OK;
}

static void
count_block (GememCudaGraph *graph, Block *block, gboolean live)
{
  for (guint i = block->first; i < block->end; i++)
    {
      Chunk *chunk = chunk_at (graph->memory, graph->places[i]);

      chunk->unfreed = live ? chunk->unfreed + 1 : chunk->unfreed - 1;
    }
  graph->unfreed = live ? graph->unfreed + 1 : graph->unfreed - 1;
  block->live = live;
}

gboolean
gemem_cuda_graph_free_block (GememCudaGraph *graph, guint i)
{
  if (i >= graph->n_blocks || !graph->blocks[i].live)
    return FALSE;
  count_block (graph, &graph->blocks[i], FALSE);
  return TRUE;
}

GememCudaGraphResult
gemem_cuda_graph_launch (GememCudaGraph *graph, guint64 stream, gboolean free_first)
{
  GememCudaGraphResult result;

  for (guint i = 0; free_first && i < graph->n_blocks; i++)
    gemem_cuda_graph_free_block (graph, i);
  if (graph->unfreed > 0)
    return GEMEM_CUDA_GRAPH_UNFREED;
  if ((result = gemem_cuda_graph_upload (graph, stream)) != GEMEM_CUDA_GRAPH_OK)
    return result;
  for (guint i = 0; i < graph->n_chunks; i++)
    chunk_at (graph->memory, graph->places[i])->busy = TRUE;
  for (guint i = 0; i < graph->n_blocks; i++)
    if (graph->blocks[i].stays)
      count_block (graph, &graph->blocks[i], TRUE);
  return GEMEM_CUDA_GRAPH_OK;
}

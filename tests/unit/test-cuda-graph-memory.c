/* test-cuda-graph-memory.c - the chunks of CUDA graphs where no log of an H100 says what they are:
 * which chunks blocks touch, two blocks in one chunk, another stream, a full device, and that a
 * trim never returns what is needed.  The logs: tests/vectors/test-cuda-async-vectors.c. */
#include "config.h"

#include "allocators/cuda/graph-memory.h"
#include "tests/util/device-contract.h"

#define MIB (G_GUINT64_CONSTANT (1) << 20)
#define CHUNKS(n) ((n) *GEMEM_CUDA_GRAPH_CHUNK)

typedef struct
{
  GememDevice *device;
  GememCudaGraphMemory *memory;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  f->device = test_device_new ("sim", data != NULL ? data : "capacity=1GiB");
  f->memory = gemem_cuda_graph_memory_new (f->device);
}

static void
tear_down (Fixture *f, G_GNUC_UNUSED gconstpointer data)
{
  g_assert_cmpuint (f->device->held, ==, f->memory->reserved);
  gemem_cuda_graph_memory_free (f->memory);
  g_assert_cmpuint (f->device->held, ==, 0);
  gemem_device_destroy (f->device);
}

static GememCudaGraph *
graph_of (Fixture *f, guint64 offset, guint64 size, gboolean stays)
{
  const GememCudaGraphBlock block = { .offset = offset, .size = size, .stays = stays };

  return gemem_cuda_graph_new (f->memory, &block, 1);
}

static void
launch (GememCudaGraph *graph, guint64 stream)
{
  g_assert_cmpint (gemem_cuda_graph_launch (graph, stream, FALSE), ==, GEMEM_CUDA_GRAPH_OK);
}

static void
trims_to (Fixture *f, guint64 bytes)
{
  gemem_cuda_graph_memory_trim (f->memory);
  g_assert_cmpuint (f->memory->reserved, ==, bytes);
}

/* Blocks of 0 bytes touch nothing, and a chunk that two blocks touch counts once. */
static void
test_touched (Fixture *f, G_GNUC_UNUSED gconstpointer data)
{
  static const struct
  {
    GememCudaGraphBlock blocks[3];
    guint chunks;
  } cases[] = {
    { { { 0, 0, FALSE }, { CHUNKS (9), 0, TRUE }, { 0, 0, TRUE } }, 0 },
    { { { 0, 1, FALSE }, { 512, 1, FALSE }, { CHUNKS (1) - 1, 1, FALSE } }, 1 },
    { { { CHUNKS (1) - 1, 2, FALSE }, { CHUNKS (1), 1, FALSE }, { 0, 1, FALSE } }, 2 },
    { { { CHUNKS (5), CHUNKS (1), FALSE }, { 0, 1, FALSE }, { CHUNKS (2), 1, FALSE } }, 3 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      GememCudaGraph *graph = gemem_cuda_graph_new (f->memory, cases[i].blocks, 3);

      launch (graph, 0);
      g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (cases[i].chunks));
      gemem_cuda_graph_memory_done (f->memory, 0);
      g_assert_cmpuint (gemem_cuda_graph_unfreed (graph), ==, 0);
      gemem_cuda_graph_free (graph);
      trims_to (f, 0);
    }
}

/* Two blocks that are not freed, with one chunk in common. */
static void
test_unfreed (Fixture *f, G_GNUC_UNUSED gconstpointer data)
{
  const GememCudaGraphBlock blocks[] = { { 0, 48 * MIB, TRUE },
                                         { 48 * MIB, 1, TRUE },
                                         { CHUNKS (2), CHUNKS (1), FALSE } };
  GememCudaGraph *graph = gemem_cuda_graph_new (f->memory, blocks, 3);

  launch (graph, 0);
  gemem_cuda_graph_memory_done (f->memory, 0);
  trims_to (f, CHUNKS (2)); /* the chunk of the freed block goes */
  g_assert_true (gemem_cuda_graph_free_block (graph, 0));
  g_assert_false (gemem_cuda_graph_free_block (graph, 0));
  g_assert_false (gemem_cuda_graph_free_block (graph, 2));
  g_assert_false (gemem_cuda_graph_free_block (graph, 3));
  g_assert_cmpint (gemem_cuda_graph_launch (graph, 0, FALSE), ==, GEMEM_CUDA_GRAPH_UNFREED);
  g_assert_cmpint (gemem_cuda_graph_upload (graph, 0), ==, GEMEM_CUDA_GRAPH_OK);
  g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (2));
  trims_to (f, CHUNKS (1)); /* that of the second block */
  g_assert_true (gemem_cuda_graph_free_block (graph, 1));
  g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (1)); /* a free returns nothing */
  launch (graph, 0);
  g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (3));
  g_assert_cmpint (gemem_cuda_graph_launch (graph, 0, TRUE), ==, GEMEM_CUDA_GRAPH_OK);
  g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (3));
  g_assert_cmpuint (gemem_cuda_graph_unfreed (graph), ==, 2);
  gemem_cuda_graph_free (graph);
}

/* Streams have chunks in common as long as no launch is in progress there. */
static void
test_streams (Fixture *f, G_GNUC_UNUSED gconstpointer data)
{
  GememCudaGraph *small = graph_of (f, 0, 1, FALSE), *large = graph_of (f, 0, CHUNKS (3), FALSE);
  GememCudaGraph *stays = graph_of (f, 0, 1, TRUE);

  launch (large, 0);
  launch (small, 0);
  g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (3)); /* one after the other */
  launch (small, 1);
  g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (4)); /* both at once */
  gemem_cuda_graph_memory_done (f->memory, 1);
  trims_to (f, CHUNKS (3));
  gemem_cuda_graph_memory_done (f->memory, 0);
  launch (large, 1);
  g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (3)); /* stream 0 is done */
  gemem_cuda_graph_memory_done (f->memory, 0);
  trims_to (f, CHUNKS (3)); /* and has nothing any more */
  launch (stays, 1);
  launch (small, 1); /* two of three are left */
  g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (3));
  launch (large, 1);
  g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (4));
  g_assert_true (gemem_cuda_graph_free_block (stays, 0));
  trims_to (f, CHUNKS (4)); /* the launch that freed nothing is in progress */
  gemem_cuda_graph_memory_done (f->memory, 1);
  trims_to (f, 0);
  g_assert_cmpuint (f->memory->reserved_high, ==, CHUNKS (4));
  gemem_cuda_graph_free (small);
  gemem_cuda_graph_free (large);
  gemem_cuda_graph_free (stays);
}

/* What a launch took before the device refused stays, and serves the next one. */
static void
test_full (Fixture *f, G_GNUC_UNUSED gconstpointer data)
{
  GememCudaGraph *three = graph_of (f, 0, CHUNKS (3), TRUE),
                 *two = graph_of (f, 0, CHUNKS (2), FALSE);

  g_assert_cmpint (gemem_cuda_graph_launch (three, 0, FALSE), ==, GEMEM_CUDA_GRAPH_NO_MEMORY);
  g_assert_cmpuint (gemem_cuda_graph_unfreed (three), ==, 0);
  g_assert_cmpuint (f->memory->reserved, ==, CHUNKS (2));
  launch (two, 0);
  g_assert_cmpint (gemem_cuda_graph_upload (two, 1), ==, GEMEM_CUDA_GRAPH_NO_MEMORY);
  trims_to (f, CHUNKS (2));
  gemem_cuda_graph_memory_done (f->memory, 0);
  trims_to (f, 0);
  gemem_cuda_graph_free (three);
  gemem_cuda_graph_free (two);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, device) \
  g_test_add ("/cuda-graph-memory/" #name, Fixture, device, set_up, test_##name, tear_down)
  ADD (touched, NULL);
  ADD (unfreed, NULL);
  ADD (streams, NULL);
  ADD (full, "capacity=95MiB");
  return g_test_run ();
}

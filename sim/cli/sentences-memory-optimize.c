/* sentences-memory-optimize.c - the sentences of PaddlePaddle's page on memory_optimize, "Video
 * Memory Optimization"; see conformance.h.
 */
#include "config.h"

#include "sim/cli/conformance.h"

/* z = sum(x, y); m = matmul(y, z); all of the same size. */
#define SUM_MATMUL ""

static const GememSentence sentences[] = {
  GEMEM_SENTENCE ("memory_optimize.level.2", "The level is 0 or 1.", SUM_MATMUL,
                  "plan - -p paddle-memory-optimize:level=2", "status", "", "2", "2",
                  "status 2: the command was not understood"),
};

const GememManual gemem_manual_memory_optimize = {
  .name = "memory-optimize",
  .system = "memory_optimize",
  .title = "PaddlePaddle: memory_optimize",
  .sentences = sentences,
  .n_sentences = G_N_ELEMENTS (sentences),
};

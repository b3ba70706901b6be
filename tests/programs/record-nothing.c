/* record-nothing.c - a driver whose calls cost nothing, for tests/bench/bench-record.c. */
#include "config.h"

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__ ((visibility ("default")))

int cuMemAlloc_v2 (uint64_t *address, size_t size);
int cuMemFree_v2 (uint64_t address);
int cuLaunchKernel (void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                    void *stream, void **parameters, void **extra);

EXPORT int
cuMemAlloc_v2 (uint64_t *address, size_t size)
{
  *address = 0x1000;
  return 0;
}

EXPORT int
cuMemFree_v2 (uint64_t address)
{
  return 0;
}

EXPORT int
cuLaunchKernel (void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                void **parameters, void **extra)
{
  return 0;
}

/* record-stacks.c - a program whose allocations are found by their lines, for
 * tests/cli/test-record.sh; built with debugging information and without.
 *
 * fetch() is inlined into fill(), whose name is mangled as C++ mangles shop::cart::fill(). */
#include "config.h"

#define DRIVER_API_LATEST
#include "dry/driver/api.h"

void fill (CUdeviceptr *place, size_t size) __asm__("_ZN4shop4cart4fillEv");

static inline __attribute__ ((always_inline)) void
fetch (CUdeviceptr *place, size_t size)
{
  cuMemAlloc (place, size); /* the line that allocates */
  __asm__ volatile("");
}

__attribute__ ((noinline)) void
fill (CUdeviceptr *place, size_t size)
{
  fetch (place, size); /* the line that fills */
  __asm__ volatile("");
}

int
main (void)
{
  CUcontext context;
  CUdeviceptr place;

  cuInit (0);
  cuDevicePrimaryCtxRetain (&context, 0);
  cuCtxSetCurrent (context);
  fill (&place, 4096); /* the line that wants memory */
  cuMemFree (place);   /* the line that frees */
  return 0;
}

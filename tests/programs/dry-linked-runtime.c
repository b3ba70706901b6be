/* dry-linked-runtime.c - what stands for CUDA's runtime in dry-linked: functions that are seen in one
 * object alone, and return 99 unless a dry run has put its own in their place.  A file of its own, so
 * that the compiler knows nothing of them where they are called.  One is small, with space behind it, and
 * one is small without: no jump fits into it. */
#include <dlfcn.h>

#define FUNCTION(name, alignment, more) \
  __attribute__ ((visibility ("hidden"), aligned (alignment))) int name (void); \
  int name (void) \
  { \
    __asm__ volatile(more); \
    return 99; \
  }

FUNCTION (cudaMalloc, 16, ".skip 16, 0x90")
FUNCTION (cudaFree, 16, "")
FUNCTION (cudaMadeUp, 16, ".skip 16, 0x90")
FUNCTION (__cudaRegisterFatBinary, 16, ".skip 16, 0x90")
FUNCTION (cudaGetDevice, 16, "")
FUNCTION (dry_linked_neighbour, 1, "")

/* As any runtime does, and what tells an object that may have one. */
__attribute__ ((visibility ("hidden"))) void *dry_linked_driver (const char *name);
void *
dry_linked_driver (const char *name)
{
  return dlsym (RTLD_DEFAULT, name);
}

/* huge.c - see huge.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/huge.h"

#define CACHE_LINE 64

gpointer
gemem_huge_alloc0 (gsize bytes)
{
  const gboolean large = bytes >= GEMEM_HUGE_PAGE;
  gpointer memory;

  if (posix_memalign (&memory, large ? GEMEM_HUGE_PAGE : CACHE_LINE, bytes) != 0)
    g_error (G_STRLOC ": failed to allocate %" G_GSIZE_FORMAT " bytes", bytes);
#ifdef MADV_HUGEPAGE
  if (large)
    madvise (memory, bytes & ~(GEMEM_HUGE_PAGE - 1), MADV_HUGEPAGE); /* may fail */
#endif
  return memset (memory, 0, bytes);
}

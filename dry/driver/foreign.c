/* foreign.c - which memory kernels got that are not those of PyTorch's own operators: of Triton, of a program's extensions, of NCCL.
 *
 * Why: what PyTorch's operators write to a tensor is known by their names (dry/python/known.py).  What others write is not, so that a
 * tensor is known no longer once such a kernel has got an address in it.
 *
 * Invariants: the driver's lock is held, unless a function says otherwise.  Nothing is missed but addresses that kernels find in tables
 * or compute; what is told too much is only not known.  A program whose kernels are all PyTorch's pays a comparison a launch.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/areas.h"
#include "dry/driver/foreign.h"
#include "dry/driver/kernels.h"
#include "dry/driver/remembered.h"

#define GRANULE 512 /* bytes: blocks of PyTorch's begin at multiples */
#define MOST 4096   /* granules that are kept */

guint64 gemem_dry_foreign; /* launches so far */
static GHashTable *given;  /* granule -> the launch that got an address in it last */
static guint64 anything;   /* the launch up to which any memory may have been written */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

gboolean
gemem_dry_in_framework (int change)
{
  static __thread int depth;
  depth += change;
  return depth > 0;
}

static gpointer
granule_of (guint64 address)
{
  return GSIZE_TO_POINTER (address / GRANULE);
}

static void
give (guint64 address)
{
  pthread_mutex_lock (&mutex);
  if (given == NULL)
    given = g_hash_table_new (NULL, NULL);
  if (g_hash_table_size (given) == MOST)
    {
      g_hash_table_remove_all (given);
      anything = gemem_dry_foreign - 1;
    }
  g_hash_table_insert (given, granule_of (address), GSIZE_TO_POINTER (gemem_dry_foreign));
  pthread_mutex_unlock (&mutex);
}

static void
see (const guint8 *bytes, gsize size)
{
  guint64 value;

  for (gsize at = 0; at + sizeof value <= size; at += sizeof value)
    {
      memcpy (&value, bytes + at, sizeof value);
      if (gemem_driver_is_device_address (value))
        give (value);
    }
}

void
gemem_driver_foreign_launch (const DriverFunction *function, void **parameters, void **extra)
{
  if (!function->foreign)
    return;
  gemem_dry_foreign++;
  if (!gemem_driver_parameters (function, parameters, extra, see))
    anything = gemem_dry_foreign;
}

void
gemem_dry_foreign_wrote (guint64 address)
{
  gemem_dry_foreign++;
  give (address);
}

/* The range may have more granules than are kept. */
static gboolean
got_any (guint64 first, guint64 last, guint64 since)
{
  GHashTableIter iter;
  gpointer key, launch;

  if (last - first < MOST)
    {
      for (guint64 i = first; i <= last; i++)
        if (GPOINTER_TO_SIZE (g_hash_table_lookup (given, GSIZE_TO_POINTER (i))) > since)
          return TRUE;
      return FALSE;
    }
  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, &key, &launch))
    if (GPOINTER_TO_SIZE (key) >= first && GPOINTER_TO_SIZE (key) <= last
        && GPOINTER_TO_SIZE (launch) > since)
      return TRUE;
  return FALSE;
}

gboolean
gemem_dry_is_foreign (guint64 address, guint64 size, guint64 since)
{
  gboolean found;

  pthread_mutex_lock (&mutex);
  found = anything > since
          || (given != NULL && size > 0
              && got_any (address / GRANULE, (address + size - 1) / GRANULE, since));
  pthread_mutex_unlock (&mutex);
  return found;
}

/* foreign.c - which memory kernels got that are not those of PyTorch's own operators: of Triton, of a program's extensions, of NCCL.
 *
 * Why: what PyTorch's operators write to a tensor is known by their names (dry/python/known.py).  What others write is not, so that a
 * tensor is known no longer once such a kernel has got an address in it.  Kernels of mathematics (NVIDIA's libraries, FlashInfer's
 * attention) read whole numbers and write others: lengths and indices are known after them.
 *
 * Invariants: the driver's lock is held, unless a function says otherwise.  Nothing is missed but addresses that kernels find in tables
 * or compute, and those that a library for mathematics compiles as it runs (cuDNN: convolutions), whose parameters nobody knows: they
 * write what the operator makes that called them.  What is told too much is only not known.  A program whose kernels are all PyTorch's
 * pays a comparison a launch.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "dry/driver/areas.h"
#include "dry/driver/foreign.h"
#include "dry/driver/kernels.h"
#include "dry/driver/remembered.h"

#define GRANULE 512 /* bytes: blocks of PyTorch's begin at multiples */
#define MOST 65536  /* granules that are kept of each kind */
#define LOOKED 4096 /* granules that are looked for one by one */

/* What kernels got: those of mathematics, and all others. */
typedef struct
{
  GHashTable *granules; /* granule -> the launch that got an address in it last */
  guint64 anything;     /* the launch up to which any memory may have been written */
} Given;

guint64 gemem_dry_foreign;            /* launches so far */
guint64 gemem_dry_graphs;             /* of graphs */
static __thread guint32 last_grid[3]; /* of a launch that is not PyTorch's */
static Given of_mathematics, of_others;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

gboolean
gemem_dry_within (GememDryMaker maker, int change)
{
  static __thread int depths[GEMEM_DRY_N_MAKERS];
  depths[maker] += change;
  return depths[maker] > 0;
}

GememDryMaker
gemem_dry_maker (gconstpointer code)
{
  static const char *const mathematics[] = { "/libcublas", "/libcudnn", "/libcufft", "/libcusolver",
                                             "/libcusparse" };
  Dl_info info;
  const char *name = dladdr (code, &info) != 0 ? strrchr (info.dli_fname, '/') : NULL;

  if (name != NULL && g_str_has_prefix (name, "/libtorch_cuda"))
    return GEMEM_DRY_FRAMEWORK;
  for (guint i = 0; name != NULL && i < G_N_ELEMENTS (mathematics); i++)
    if (g_str_has_prefix (name, mathematics[i]))
      return GEMEM_DRY_MATHEMATICS;
  /* batch_decode_with_kv_cache_dtype_q_bf16_...: FlashInfer compiles its attention into one library for each form. */
  if (name != NULL && strstr (name, "_with_kv_cache_") != NULL)
    return GEMEM_DRY_MATHEMATICS;
  return GEMEM_DRY_N_MAKERS;
}

static gpointer
granule_of (guint64 address)
{
  return GSIZE_TO_POINTER (address / GRANULE);
}

static void
give (Given *given, guint64 address)
{
  pthread_mutex_lock (&mutex);
  if (given->granules == NULL)
    given->granules = g_hash_table_new (NULL, NULL);
  if (g_hash_table_size (given->granules) == MOST)
    {
      g_hash_table_remove_all (given->granules);
      given->anything = gemem_dry_foreign - 1;
    }
  g_hash_table_insert (given->granules, granule_of (address), GSIZE_TO_POINTER (gemem_dry_foreign));
  pthread_mutex_unlock (&mutex);
}

static void
see_in (Given *given, const guint8 *bytes, gsize size)
{
  guint64 value;

  for (gsize at = 0; at + sizeof value <= size; at += sizeof value)
    {
      memcpy (&value, bytes + at, sizeof value);
      if (gemem_driver_is_device_address (value))
        give (given, value);
    }
}

static void
see (const guint8 *bytes, gsize size)
{
  see_in (&of_others, bytes, size);
}

static void
see_mathematics (const guint8 *bytes, gsize size)
{
  see_in (&of_mathematics, bytes, size);
}

void
gemem_dry_last_grid (guint32 grid[3])
{
  memcpy (grid, last_grid, sizeof last_grid);
}

void
gemem_driver_foreign_launch (const DriverFunction *function, const CUDA_KERNEL_NODE_PARAMS *what)
{
  if (!function->foreign)
    return;
  last_grid[0] = what->gridDimX, last_grid[1] = what->gridDimY, last_grid[2] = what->gridDimZ;
  gemem_dry_foreign++;
  if (!gemem_driver_parameters (function, what->kernelParams, what->extra,
                                function->mathematics ? see_mathematics : see)
      && !function->mathematics)
    of_others.anything = gemem_dry_foreign;
}

void
gemem_dry_foreign_wrote (guint64 address)
{
  gemem_dry_foreign++;
  give (&of_others, address);
}

/* The range may have more granules than are kept. */
static gboolean
got_any (GHashTable *granules, guint64 first, guint64 last, guint64 since)
{
  GHashTableIter iter;
  gpointer key, launch;

  if (last - first < LOOKED)
    {
      for (guint64 i = first; i <= last; i++)
        if (GPOINTER_TO_SIZE (g_hash_table_lookup (granules, GSIZE_TO_POINTER (i))) > since)
          return TRUE;
      return FALSE;
    }
  g_hash_table_iter_init (&iter, granules);
  while (g_hash_table_iter_next (&iter, &key, &launch))
    if (GPOINTER_TO_SIZE (key) >= first && GPOINTER_TO_SIZE (key) <= last
        && GPOINTER_TO_SIZE (launch) > since)
      return TRUE;
  return FALSE;
}

static gboolean
may_have_written (const Given *given, guint64 address, guint64 size, guint64 since)
{
  return given->anything > since
         || (given->granules != NULL && size > 0
             && got_any (given->granules, address / GRANULE, (address + size - 1) / GRANULE,
                         since));
}

gboolean
gemem_dry_is_foreign (guint64 address, guint64 size, guint64 since, gboolean whole)
{
  gboolean found;

  pthread_mutex_lock (&mutex);
  found = may_have_written (&of_others, address, size, since)
          || (!whole && may_have_written (&of_mathematics, address, size, since));
  pthread_mutex_unlock (&mutex);
  return found;
}

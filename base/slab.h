/* slab.h - a pool of equal-sized zeroed objects with a free list: no malloc per event, all freed at
 * once.
 *
 * Invariants: objects are 16-byte aligned and zeroed on each alloc; the order of reuse is LIFO and
 * deterministic; destroying the slab frees all objects.  Not thread-safe: one slab belongs to one
 * allocator instance.
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

#ifdef __SANITIZE_ADDRESS__
#define GEMEM_HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GEMEM_HAVE_ASAN 1
#endif
#endif

GEMEM_BEGIN_DECLS

typedef struct
{
  gsize object_size;
  gpointer free_list;
  GPtrArray *slices;
  gsize unused; /* objects not yet allocated in the newest slice */
} GememSlab;

/* @object_size in bytes; nothing is allocated yet. */
void gemem_slab_init (GememSlab *slab, gsize object_size);
/* A zeroed object, never NULL; amortised O(1).  Freed with gemem_slab_free() or with the slab. */
gpointer gemem_slab_alloc (GememSlab *slab);
/* The same, but what an object that is used again contains is undefined: for callers that
 * set all of it. */
static inline gpointer
gemem_slab_take (GememSlab *slab)
{
#ifndef GEMEM_HAVE_ASAN /* there the object has to be unpoisoned */
  gpointer object = slab->free_list;

  if (object != NULL)
    {
      slab->free_list = *(gpointer *) object;
      return object;
    }
#endif
  return gemem_slab_alloc (slab);
}
/* Forbids what is behind the first word of @object, if there is an address sanitizer. */
void gemem_slab_poison (const GememSlab *slab, gpointer object);
/* Frees @object, which is the next to be allocated again.  O(1). */
static inline void
gemem_slab_free (GememSlab *slab, gpointer object)
{
  *(gpointer *) object = slab->free_list;
  slab->free_list = object;
#ifdef GEMEM_HAVE_ASAN
  gemem_slab_poison (slab, object);
#endif
}
/* Frees all objects; the slab can be used again. */
void gemem_slab_clear (GememSlab *slab);

GEMEM_END_DECLS

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

GEMEM_BEGIN_DECLS

typedef struct
{
  gsize object_size;
  gpointer free_list;
  GPtrArray *slices;
  gsize unused; /* objects not yet handed out in the newest slice */
} GememSlab;

void gemem_slab_init (GememSlab *slab, gsize object_size);
gpointer gemem_slab_alloc (GememSlab *slab);
void gemem_slab_free (GememSlab *slab, gpointer object);
void gemem_slab_clear (GememSlab *slab);

GEMEM_END_DECLS

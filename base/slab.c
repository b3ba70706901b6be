/* slab.c - equal-sized zeroed objects from large slices, with a last-in-first-out free list
 * (slab.h).
 *
 * Objects of a slice are allocated in ascending address order, so that a new slice is used forward.
 * A new slice is zero already, so only reuse pays for clearing.  The first word of a free object
 * links to the next free object.  Under AddressSanitizer the remaining words are poisoned, so that
 * a use after free is detected although the memory is not returned to malloc.
 *
 * Each slice is twice as large as the previous one, up to a huge page, because objects of large
 * slabs are accessed at random.
 * Cost: O(1); one call of malloc per slice.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/huge.h"
#include "base/slab.h"
#include "base/units.h"

#ifdef GEMEM_HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void) (address), (void) (size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void) (address), (void) (size))
#endif

#define ALIGNMENT 16
#define FIRST_SLICE ((gsize) 4096)
#define DOUBLINGS 9 /* doublings until a slice fills a huge page */
#define SLICE_MIN_OBJECTS 8

static gsize
slice_bytes (const GememSlab *slab)
{
  return MAX (FIRST_SLICE << MIN (slab->slices->len - 1, DOUBLINGS),
              SLICE_MIN_OBJECTS * slab->object_size);
}

void
gemem_slab_init (GememSlab *slab, gsize object_size)
{
  object_size = MAX (object_size, sizeof (gpointer));
  slab->object_size = gemem_align_up (object_size, ALIGNMENT);
  slab->free_list = NULL;
  slab->slices = g_ptr_array_new_with_free_func (free);
  slab->unused = 0;
}

static gpointer
fresh_object (GememSlab *slab)
{
  if (slab->unused == 0)
    {
      g_ptr_array_add (slab->slices, NULL);
      slab->unused = slice_bytes (slab) / slab->object_size;
      slab->slices->pdata[slab->slices->len - 1] = gemem_huge_alloc0 (slice_bytes (slab));
    }
  return (char *) slab->slices->pdata[slab->slices->len - 1]
         + (slice_bytes (slab) / slab->object_size - slab->unused--) * slab->object_size;
}

gpointer
gemem_slab_alloc (GememSlab *slab)
{
  gpointer object = slab->free_list;

  if (object == NULL)
    return fresh_object (slab);
  ASAN_UNPOISON_MEMORY_REGION (object, slab->object_size);
  slab->free_list = *(gpointer *) object;
  return memset (object, 0, slab->object_size);
}

void
gemem_slab_poison (const GememSlab *slab, gpointer object)
{
  ASAN_POISON_MEMORY_REGION ((char *) object + sizeof (gpointer),
                             slab->object_size - sizeof (gpointer));
}

void
gemem_slab_clear (GememSlab *slab)
{
  g_clear_pointer (&slab->slices, g_ptr_array_unref); /* free() unpoisons the memory */
  slab->free_list = NULL;
  slab->unused = 0;
}

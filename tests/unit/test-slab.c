/* test-slab.c - base/slab.h: alignment, zeroing, last-in-first-out reuse, no overlap, no leaks
 * (under ASan). */
#include "config.h"

#include <string.h>

#include "base/slab.h"

static void
test_objects (gconstpointer data)
{
  gsize size = GPOINTER_TO_SIZE (data);
  enum
  {
    N = 5000
  };
  static guint8 *objects[N];
  GememSlab slab;

  gemem_slab_init (&slab, size);
  g_assert_cmpuint (slab.object_size % 16, ==, 0);
  g_assert_cmpuint (slab.object_size, >=, MAX (size, sizeof (gpointer)));
  for (guint round = 0; round < 2; round++)
    {
      for (guint i = 0; i < N; i++)
        {
          objects[i] = gemem_slab_alloc (&slab);
          g_assert_cmpuint ((gsize) objects[i] % 16, ==, 0);
          for (gsize j = 0; j < size; j++)
            g_assert_cmpuint (objects[i][j], ==, 0);
          memset (objects[i], (int) (i % 255) + 1, size);
        }
      for (guint i = 0; i < N; i++) /* no object was overwritten by another */
        for (gsize j = 0; j < size; j++)
          g_assert_cmpuint (objects[i][j], ==, i % 255 + 1);
      for (guint i = 0; i < N; i++)
        gemem_slab_free (&slab, objects[i]);
    }
  guint slices = slab.slices->len;
  for (guint i = 0; i < N; i++) /* the last freed is the first reused; no new memory is allocated */
    g_assert_true (gemem_slab_alloc (&slab) == objects[N - 1 - i]);
  g_assert_cmpuint (slab.slices->len, ==, slices);
  gemem_slab_clear (&slab);
  g_assert_null (slab.slices);
  gemem_slab_clear (&slab);
}

/* New objects of a slice are consecutive. */
static void
test_order (void)
{
  GememSlab slab;

  gemem_slab_init (&slab, 40);
  char *previous = gemem_slab_alloc (&slab);
  for (gsize i = slab.unused; i > 0; i--)
    {
      char *object = gemem_slab_alloc (&slab);
      g_assert_cmpint (object - previous, ==, 48);
      previous = object;
    }
  g_assert_cmpuint (slab.slices->len, ==, 1);
  gemem_slab_alloc (&slab);
  g_assert_cmpuint (slab.slices->len, ==, 2);
  gemem_slab_clear (&slab);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/slab/objects/1", GSIZE_TO_POINTER (1), test_objects);
  g_test_add_data_func ("/slab/objects/56", GSIZE_TO_POINTER (56), test_objects);
  g_test_add_data_func ("/slab/objects/160", GSIZE_TO_POINTER (160), test_objects);
  g_test_add_func ("/slab/order", test_order);
  return g_test_run ();
}

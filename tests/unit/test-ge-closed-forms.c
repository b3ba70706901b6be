/* test-ge-closed-forms.c - the memory of GE's static policies in closed form, for random sets of
 * graphs.
 *
 * Policies 2 and 4 as documented hold the largest of the graphs loaded since the first; as built between
 * that and the sum of their blocks; policy 0 the sum of the loaded ones; policy 4 with synchronous
 * runs no more than policy 2 as built and the dynamic peak, each segment and block rounded up to
 * its pages. Compared are bytes held from the device, after every step. Origin: ge-runtime.md 3 and
 * 7.2.
 */
#include "config.h"

#include "base/rng.h"
#include "base/units.h"
#include "tests/util/sizes.h"
#include "tests/util/vectors.h"

#define PAGE (8 * MIB)
#define GRAPHS 8

typedef struct
{
  guint64 total, blocks; /* its bytes; the most that its blocks of 2 MiB can take */
  GememGraphSegment segments[4];
  guint n;
} Shape;

static Shape
draw_shape (GememRng *rng)
{
  Shape shape = { .n = 1 + (guint) gemem_rng_below (rng, 4) };

  for (guint i = 0; i < shape.n; i++)
    {
      const guint64 size = 512 * gemem_rng_log_uniform (rng, 1, 40 * MIB / 512);

      shape.segments[i] = (GememGraphSegment){ shape.total, size, 0 };
      shape.total += size;
    }
  shape.blocks = shape.total + shape.n * 2 * MIB;
  return shape;
}

static gboolean
load (GememAllocator *a, guint id, const Shape *shape)
{
  guint64 address;

  return a->klass->graphs.load (a, id, 0, shape->segments, shape->n, &address);
}

/* Graphs that are loaded, and run one after another: as documented the memory is the largest graph's,
 * in bytes (policy 2) or in pages of 8 MiB (4); as built between that and the sum of all. */
static void
test_shared (gconstpointer data)
{
  const char *spec = data;
  const gboolean documented = strstr (spec, "rules=documented") != NULL;
  const guint64 page = strstr (spec, "policy=4") != NULL ? PAGE : 1;

  for (guint seed = 1; seed <= 200; seed++)
    {
      GememAllocator *a = test_allocator_new (spec, "sim:capacity=64GiB");
      guint64 largest = 0, sum = 0;
      GememRng rng;
      guint n;

      gemem_rng_init (&rng, seed, "policy2");
      n = 1 + (guint) gemem_rng_below (&rng, GRAPHS);
      for (guint id = 0; id < n; id++)
        {
          const Shape shape = draw_shape (&rng);

          g_assert_true (load (a, id, &shape));
          largest = MAX (largest, shape.total);
          sum += shape.blocks;
          if (documented)
            g_assert_cmpuint (a->device->held, ==, gemem_round_up (largest, page));
          g_assert_cmpuint (a->device->held, >=, largest);
          g_assert_cmpuint (a->device->held, <=, gemem_round_up (sum, page));
          g_assert_true (a->klass->graphs.run (a, id, 0, TRUE)
                         && a->klass->graphs.run (a, id, 0, FALSE));
        }
      for (guint id = 0; id < n; id++)
        {
          g_assert_cmpuint (a->device->held, >=, largest); /* none is released before the last */
          a->klass->graphs.unload (a, id);
        }
      g_assert_cmpuint (a->device->held, ==, 0);
      test_allocator_destroy (a);
    }
}

static void
test_policy0 (void)
{
  for (guint seed = 1; seed <= 200; seed++)
    {
      GememAllocator *a = test_allocator_new ("ge:static_memory_policy=0", "sim:capacity=64GiB");
      guint64 sizes[GRAPHS] = { 0 }, loaded = 0;
      GememRng rng;

      gemem_rng_init (&rng, seed, "policy0");
      for (guint step = 0; step < 60; step++)
        {
          const guint id = (guint) gemem_rng_below (&rng, GRAPHS);
          const Shape shape = draw_shape (&rng);

          if (sizes[id] > 0)
            a->klass->graphs.unload (a, id);
          else
            g_assert_true (load (a, id, &shape));
          loaded = sizes[id] > 0 ? loaded - sizes[id] : loaded + shape.total;
          sizes[id] = sizes[id] > 0 ? 0 : shape.total;
          g_assert_cmpuint (a->device->held, ==, loaded);
        }
      test_allocator_destroy (a);
    }
}

/* Runs are synchronous; dynamic blocks are allocated and freed between them. */
static void
test_policy4 (void)
{
  for (guint seed = 1; seed <= 200; seed++)
    {
      GememAllocator *two = test_allocator_new ("ge-active:policy=2,rules=as-built",
                                                "sim:capacity=64GiB");
      GememAllocator *four = test_allocator_new ("ge-active:policy=4", "sim:capacity=64GiB");
      guint64 dynamic_peak = 0, slack = PAGE;
      GememRng rng;
      guint n;

      gemem_rng_init (&rng, seed, "policy4");
      n = 1 + (guint) gemem_rng_below (&rng, GRAPHS);
      for (guint id = 0; id < n; id++)
        {
          const Shape shape = draw_shape (&rng);
          const guint64 size = gemem_rng_log_uniform (&rng, 1, 64 * MIB);
          GememBlock block;

          g_assert_true (load (two, id, &shape) && load (four, id, &shape));
          slack += shape.n * 2 * PAGE; /* each new segment has a first and a last page */
          g_assert_true (four->klass->graphs.run (four, id, 0, TRUE)
                         && four->klass->graphs.run (four, id, 0, FALSE));
          g_assert_true (four->klass->alloc (four, &(GememRequest){ .size = size }, &block));
          four->klass->free (four, &block, FALSE);
          dynamic_peak = MAX (dynamic_peak, gemem_round_up (size, PAGE) + PAGE);
          g_assert_cmpuint (four->device->peak_held, <=,
                            two->device->peak_held + dynamic_peak + slack);
        }
      test_allocator_destroy (two);
      test_allocator_destroy (four);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge/closed-forms/policy-0", test_policy0);
  g_test_add_data_func ("/ge/closed-forms/policy-2-documented", "ge-active:rules=documented",
                        test_shared);
  g_test_add_data_func ("/ge/closed-forms/policy-2-as-built", "ge-active:static_memory_policy=1",
                        test_shared);
  g_test_add_data_func ("/ge/closed-forms/policy-4-documented",
                        "ge-active:policy=4,rules=documented", test_shared);
  g_test_add_func ("/ge/closed-forms/policy-4", test_policy4);
  return g_test_run ();
}

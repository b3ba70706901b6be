/* test-ge-make-space.c - `ge` unloads graphs to free memory for others, and loads them again
 * (CheckFreeMemory, ge-runtime.md 3.4). */
#include "config.h"

#include "tests/util/ge-graphs.h"

/* The device has 32 MiB, of which 1 MiB is kept in reserve. */
static void
test_make_space (void)
{
  GememAllocator *a = test_allocator_new (
      "ge:static_memory_policy=2,rules=as-built,hccl_graphs=[2]", "sim:capacity=32MiB");

  LOAD (a, 1, { 0, 6 * MIB, 0 });
  LOAD (a, 3, { 0, 6 * MIB, 0 });
  LOAD (a, 2, { 0, 8 * MIB, 0 }); /* 2 MiB beyond the shared memory: fits */
  g_assert_cmpuint (stat_of (a, "check_free_memory.unloaded"), ==, 0);
  g_assert_cmpuint (held (a), ==, 14 * MIB);
  /* 18 of the remaining 17: all but the graph with HCCL tasks are unloaded, in vain */
  g_assert_cmpuint (LOAD (a, 4, { 0, 26 * MIB, 0 }), ==, 0);
  g_assert_cmpuint (stat_of (a, "check_free_memory.unloaded"), ==, 2);
  g_assert_cmpuint (calls (a, GEMEM_CALL_STREAM_SYNC), ==, 2);
  unload (a, 2); /* the last: memory is released */
  g_assert_cmpuint (held (a), ==, 0);
  g_assert_cmpuint (LOAD (a, 4, { 0, 26 * MIB, 0 }), !=, 0);
  g_assert_true (run (a, 1)); /* was unloaded: is loaded again, in the memory of the other */
  g_assert_cmpuint (stat_of (a, "check_free_memory.reloaded"), ==, 1);
  unload (a, 4);
  g_assert_cmpuint (held (a), ==, 26 * MIB); /* 1 is still loaded */
  unload (a, 1);
  unload (a, 3); /* was unloaded already */
  g_assert_cmpuint (held (a), ==, 0);
  test_allocator_destroy (a);
}

/* With other memory that is not released; and with a run whose graph cannot be loaded again. */
static void
test_make_space_refused (void)
{
  GememAllocator *a = test_allocator_new ("ge:static_memory_policy=2,rules=as-built",
                                          "sim:capacity=32MiB");
  GememBlock block;

  LOAD (a, 1, { 0, 20 * MIB, 0 });
  /* the estimate is 4 more; in fact a block of 24 is needed */
  g_assert_cmpuint (LOAD (a, 2, { 0, 24 * MIB, 0 }), ==, 0);
  g_assert_cmpuint (stat_of (a, "check_free_memory.unloaded"), ==, 0);
  g_assert_cmpuint (LOAD (a, 2, { 0, 20 * MIB, 0 }, { 20 * MIB, 12 * MIB, 0 }), !=,
                    0); /* unloads 1 */
  g_assert_cmpuint (stat_of (a, "check_free_memory.unloaded"), ==, 1);
  g_assert_cmpuint (held (a), ==, 32 * MIB);
  unload (a, 2);
  block = request (a, 16 * MIB, 0);
  g_assert_false (a->klass->graphs.run (a, 1, 0, TRUE));
  g_assert_null (a->refusal);
  g_assert_true (a->klass->graphs.run (a, 1, 0, FALSE)); /* which did not begin */
  g_assert_cmpuint (stat_of (a, "check_free_memory.reloaded"), ==, 0);
  a->klass->free (a, &block, FALSE);
  test_allocator_destroy (a);
  a = test_allocator_new ("ge:static_memory_policy=2,rules=as-built,check_free_memory=no",
                          "sim:capacity=32MiB");
  LOAD (a, 1, { 0, 20 * MIB, 0 });
  g_assert_cmpuint (LOAD (a, 2, { 0, 24 * MIB, 0 }), ==, 0);
  g_assert_cmpuint (held (a), ==, 20 * MIB);
  test_allocator_destroy (a);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge/make-space", test_make_space);
  g_test_add_func ("/ge/make-space-refused", test_make_space_refused);
  return g_test_run ();
}

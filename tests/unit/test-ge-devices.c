/* test-ge-devices.c - `ge` on several devices: every part takes its device explicitly
 * (ge-runtime.md 8). */
#include "config.h"

#include "tests/util/ge-graphs.h"
#include "traces/trace.h"

#define FIXED GEMEM_GRAPH_SEGMENT_FIXED

static GememDevice *
device_of (int ordinal)
{
  GError *error = NULL;
  GememDevice *device = gemem_device_new ("sim:capacity=64GiB", NULL, ordinal, &error);

  g_assert_no_error (error);
  return device;
}

/* Two allocators in turns: each one's memory is on its own device, none on a default device. */
static void
test_devices (void)
{
  for (guint policy = 0; policy <= 4; policy++)
    {
      g_autofree char *text = g_strdup_printf (
          "ge:static_memory_policy=%u,memory_types=[1=p2p,3=weight]", policy);
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      GememDevice *zero = device_of (0), *three = device_of (3);
      GememAllocator *a, *b;
      guint64 bytes;

      g_assert_true (gemem_allocator_spec_parse (text, specs, NULL));
      b = gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, three, NULL);
      g_assert_cmpuint (stat_of (b, "device_id"), ==, 3);
      LOAD (b, 1, { 0, 3 * MIB, 0 }, { 3 * MIB, MIB, FIXED });
      g_assert_true (run (b, 1));
      for (guint32 pool = 0; pool < 4; pool++)
        request (b, 5 * MIB, pool);
      b->klass->trim (b);
      for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
        g_assert_cmpuint (zero->calls[call], ==, 0);
      bytes = three->held;
      a = gemem_allocator_new (g_ptr_array_index (specs, 0), NULL, zero, NULL);
      g_assert_cmpuint (stat_of (a, "device_id"), ==, 0);
      LOAD (a, 1, { 0, 30 * MIB, 0 });
      request (a, 50 * MIB, 1);
      g_assert_cmpuint (three->held, ==, bytes);
      g_assert_cmpuint (zero->held, >=, 50 * MIB);
      gemem_allocator_destroy (b);
      g_assert_cmpuint (three->held, ==, 0);
      g_assert_cmpuint (zero->held, >=, 50 * MIB);
      test_allocator_destroy (a);
      gemem_device_destroy (three);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ge/devices", test_devices);
  return g_test_run ();
}

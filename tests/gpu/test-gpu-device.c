/* test-gpu-device.c - what device.h promises, on GPU 0 in every mode.  The same on the stand-in
 * driver: tests/unit/test-cuda-device.c. */
#include "config.h"

#include "base/error.h"
#include "tests/util/device-contract.h"

static const char *const modes[] = { "cuda:0", "cuda:0:mode=vmm", "cuda:0:mode=async" };

static void
test_contract (gconstpointer check)
{
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    {
      g_autoptr (GError) error = NULL;
      GememDevice *device = gemem_device_new (modes[i], NULL, 0, &error);
      if (device == NULL && g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_NO_DEVICE))
        {
          g_test_skip (error->message);
          return;
        }
      g_assert_no_error (error);
      gemem_device_destroy (device);
      ((void (*) (const char *)) check) (modes[i]);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/gpu/contract/capacity", (gconstpointer) test_device_capacity,
                        test_contract);
  g_test_add_data_func ("/gpu/contract/pages", (gconstpointer) test_device_pages, test_contract);
  g_test_add_data_func ("/gpu/contract/streams", (gconstpointer) test_device_streams,
                        test_contract);
  g_test_add_data_func ("/gpu/contract/leave-all", (gconstpointer) test_device_leave_all,
                        test_contract);
  return g_test_run ();
}

/* test-device-text.c - devices made from text: invalid settings and their messages, defaults,
 * descriptions, and every class. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "devices/device.h"
#include "tests/util/sizes.h"
#include "tests/util/testutil.h"

#define BASE G_GUINT64_CONSTANT (0x100000000000)

static GememDevice *
device_new (const char *spec)
{
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new (spec, NULL, 0, &error);
  g_assert_no_error (error);
  return device;
}

static void
assert_refused (const char *spec, const char *defaults, const char *message)
{
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new (spec, defaults, 0, &error);
  g_assert_null (device);
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE);
  g_assert_cmpint (gemem_error_exit_status (error), ==, 2);
  g_assert_cmpstr (error->message, ==, message);
}

static void
test_bad_specs (void)
{
  assert_refused ("simm", NULL, "device 'simm': no such device; did you mean 'sim'?");
  assert_refused ("warehouse", NULL,
                  "device 'warehouse': no such device; use one of sim, null, faulty, cuda, "
                  "a size (16GiB) or a GPU ('gemem-sim list gpus')");
  assert_refused ("sim:adress=bump", NULL,
                  "device sim: unknown parameter 'adress'; did you mean 'address'?");
  assert_refused ("sim", "adress=bump",
                  "device sim: unknown parameter 'adress'; did you mean 'address'?");
  assert_refused ("null:capacity=1", NULL,
                  "device null: unknown parameter 'capacity'; it takes no parameters");
  assert_refused ("sim:reuse=yes", NULL,
                  "device sim: reuse=yes contradicts address=bump, which never reuses addresses; "
                  "use first-fit");
  assert_refused ("sim:address=first-fit,reuse=never", NULL,
                  "device sim: reuse=never belongs to address=bump; remove it or use bump");
  assert_refused (
      "sim:vareuse=yes", NULL,
      "device sim: va_reuse=yes contradicts va=bump, which never reuses addresses; use first-fit");
  assert_refused ("sim:address=random,reuse=yes", NULL,
                  "device sim: reuse=yes contradicts address=random, which never reuses addresses; "
                  "use first-fit");
  assert_refused (
      "sim:gpu=h10", NULL,
      "device sim: no GPU is called 'h10'; nearest: h100, h100-pcie, h100-nvl; 'gemem-sim list "
      "gpus' shows all");
  assert_refused ("sim:gpu=h100,capacity=1GiB", NULL,
                  "device sim: 'gpu' and 'capacity' exclude each other; keep one of them");
  assert_refused ("sim:step=3MiB", NULL,
                  "device sim: step=3145728 is not a power of two; use one, as in 2MiB");
  assert_refused ("sim:base=0x100000001000", NULL,
                  "device sim: base=0x100000001000 is not a multiple of step; round it");
  assert_refused ("sim:granularity=3", NULL,
                  "device sim: granularity=3 is not a power of two; use one, as in 2MiB");
  assert_refused ("sim:granularity=0", NULL,
                  "device sim: granularity=0 is not a power of two; use one, as in 2MiB");
  assert_refused ("sim:capacity=1GiB,reserved_by_others=2GiB", NULL,
                  "device sim: reserved_by_others is more than the capacity; nothing would be left "
                  "to simulate");
  assert_refused ("sim:total=1GiB,available=2GiB", NULL,
                  "device sim: available is more than the total; set total, or less available");
  assert_refused ("sim:profile=h20", NULL,
                  "profile 'h20': not found; did you mean 'h200'? known are a100, ascend910b, "
                  "generic, h100, h200; "
                  "a path has a '/' or ends in .ini");
}

static void
test_defaults (void)
{
  g_autoptr (GError) error = NULL;
  GememDevice *device = gemem_device_new ("sim:capacity=3MiB", "capacity=1MiB,device=first-fit", 7,
                                          &error);

  g_assert_no_error (error);
  g_assert_cmpint (device->ordinal, ==, 7);
  g_assert_cmpuint (gemem_device_capacity (device), ==, 3 * MIB);
  g_autofree char *text = gemem_device_describe (device);
  g_assert_cmpstr (text, ==, "sim:capacity=3MiB,granularity=2MiB,address=first-fit");
  gemem_device_destroy (device);

  /* the same setting under another name */
  device = gemem_device_new ("sim:address=recorded", "device=first-fit,capacity=1GiB", 0, &error);
  g_autofree char *recorded = gemem_device_describe (device);
  g_assert_cmpstr (recorded, ==, "sim:capacity=1GiB,granularity=2MiB,address=recorded");
  gemem_device_destroy (device);

  device = gemem_device_new (NULL, NULL, 0, &error);
  g_assert_no_error (error);
  g_autofree char *plain = gemem_device_describe (device);
  g_assert_cmpstr (plain, ==, "sim:capacity=80GiB,granularity=2MiB");
  gemem_device_destroy (device);
}

static void
test_describe (void)
{
  g_autofree char *from = test_source_path ("devices/profiles/h200.ini"), *text = NULL;
  g_autofree char *to = g_build_filename (test_tmpdir (), "a,b=c.ini", NULL),
                  *odd = g_strdup_printf ("sim:profile='%s'", to);
  const char *const specs[] = {
    odd,
    "sim",
    "simulated:capacity=unlimited",
    "sim:total=5GiB,available=4GiB,reserved_by_others=1GiB,profile=h200",
    "sim:address=recorded,base=0x2000,step=8KiB,va=first-fit,va_base=8GiB,va_step=2MiB,virtual_"
    "memory=no,event_latency=5us",
    "null",
    "faulty:nth=3,every=7,after=100,rate=0.5%,seed=9,call=malloc|map,capacity=5MiB",
    "faulty:on=null,nth=1",
  };

  g_assert_true (g_file_get_contents (from, &text, NULL, NULL));
  g_assert_true (g_file_set_contents (to, text, -1, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (specs); i++)
    {
      GememDevice *device = device_new (specs[i]), *again;
      g_autofree char *first = gemem_device_describe (device), *second = NULL;
      g_autoptr (GPtrArray) rows = gemem_device_settings (device), rows_again = NULL;

      again = device_new (first);
      second = gemem_device_describe (again);
      rows_again = gemem_device_settings (again);
      g_assert_cmpstr (first, ==, second);
      g_assert_cmpuint (rows->len, ==, rows_again->len);
      for (guint r = 0; r < rows->len; r++)
        {
          const GememSetting *a = rows->pdata[r], *b = rows_again->pdata[r];
          g_assert_cmpstr (a->key, ==, b->key);
          g_assert_cmpstr (a->value, ==, b->value);
        }
      gemem_device_destroy (device);
      gemem_device_destroy (again);
    }
}

static void
test_classes (void)
{
  const GememDeviceClass *const *classes = gemem_device_classes ();
  guint n;

  for (n = 0; classes[n] != NULL; n++)
    {
      GememDevice *device;
      g_assert_nonnull (classes[n]->summary);
      if (classes[n]->real)
        continue;                             /* tests/unit/test-cuda-device.c */
      device = device_new (classes[n]->name); /* each works without settings */
      g_assert_cmpstr (device->klass->name, ==, classes[n]->name);
      gemem_device_destroy (device);
    }
  g_assert_cmpuint (n, >=, 3);
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    g_assert_nonnull (gemem_device_call_name (call));
  gemem_device_destroy (NULL);
}

static void
test_null (void)
{
  GememDevice *device = device_new ("null");
  guint64 va, block = gemem_device_malloc (device, 3 * MIB, 0);
  GememPage page;

  g_assert_cmphex (block, ==, BASE);
  g_assert_cmphex (gemem_device_malloc (device, 1, 0), ==, BASE + 4 * MIB);
  /* no limit */
  g_assert_cmphex (gemem_device_malloc (device, G_GUINT64_CONSTANT (1) << 50, 0), ==,
                   BASE + 6 * MIB);
  page = gemem_device_create_page (device, 1);
  va = gemem_device_reserve (device, 1, 0);
  g_assert_cmphex (va, ==, G_GUINT64_CONSTANT (1) << 62);
  g_assert_cmphex (gemem_device_reserve (device, 1, 4 * GIB), ==, va + 4 * GIB);
  g_assert_true (gemem_device_map (device, va, page, 0, 1));
  g_assert_true (gemem_device_unmap (device, va, 1));
  g_assert_true (gemem_device_memset (device, block, 0, 1, 0));
  g_assert_true (gemem_device_event_query (device, gemem_device_event_record (device, 0)));
  g_assert_true (gemem_device_sync (device));
  g_assert_cmpuint (device->held, ==, 3 * MIB + 2 + (G_GUINT64_CONSTANT (1) << 50));
  gemem_device_destroy_page (device, page, 1);
  gemem_device_free (device, block, 3 * MIB);
  g_assert_cmpuint (device->held, ==, 1 + (G_GUINT64_CONSTANT (1) << 50));
  g_assert_cmpuint (device->now, ==, 0);
  g_assert_cmpuint (device->call_time, ==, 0);
  g_assert_cmpuint (device->calls[GEMEM_CALL_MALLOC], ==, 3);
  g_assert_cmpuint (gemem_device_capacity (device), ==, G_MAXUINT64);
  gemem_device_destroy (device);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/device-text/bad-specs", test_bad_specs);
  g_test_add_func ("/device-text/defaults", test_defaults);
  g_test_add_func ("/device-text/describe", test_describe);
  g_test_add_func ("/device-text/classes", test_classes);
  g_test_add_func ("/device-text/null", test_null);
  return g_test_run ();
}

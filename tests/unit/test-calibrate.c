/* test-calibrate.c - calibrating a simulated device returns its own profile, every number of it;
 * and the notes about quantities that cannot be measured. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "devices/calibrate.h"
#include "tests/util/testutil.h"

static guint64
device_clock (gpointer device)
{
  return ((GememDevice *) device)->now;
}

static GememProfile *
calibrated (const char *spec, GError **error)
{
  static const char *const provenance[] = { "device: a test", "date: never", NULL };
  GememDevice *device = gemem_device_new (spec, NULL, 0, error);
  const GememCalibrateOptions options = { device_clock, device, 5 };
  GememCalibration calibration;
  GememProfile *profile = NULL;

  g_assert_nonnull (device);
  if (gemem_calibrate (device, &options, &calibration, error))
    {
      g_autofree char *text = gemem_calibration_profile (&calibration, "a test", provenance,
                                                         "here");
      g_assert_nonnull (strstr (text, "# device: a test\n# date: never\n"));
      profile = gemem_profile_parse (text, strlen (text), "test.ini", error);
    }
  g_assert_cmpuint (device->held, ==, 0);
  gemem_device_destroy (device);
  return profile;
}

static void
test_same_profile (void)
{
  g_auto (GStrv) names = gemem_profile_names ();

  for (char **name = names; *name != NULL; name++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *spec = g_strdup_printf ("sim:profile=%s", *name);
      g_autoptr (GememProfile) was = gemem_profile_load (*name, &error),
                               is = calibrated (spec, &error);

      g_assert_no_error (error);
      if (was->calls[GEMEM_CALL_MALLOC].n_sizes > 0)
        continue; /* see test_sizes() */
      g_assert_cmpuint (is->capacity, ==, was->capacity);
      g_assert_cmpuint (is->granularity, ==, was->granularity);
      g_assert_cmpuint (is->hit_ns, ==, was->hit_ns);
      g_assert_cmpuint (is->guesses, ==, 1); /* hit_ns */
      for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
        {
          const GememCallCost *a = &is->calls[call], *b = &was->calls[call];

          g_test_message ("%s, %s", *name, gemem_device_call_name ((GememDeviceCall) call));
          g_assert_cmpuint (a->base_ns, ==, b->base_ns + b->set_access_ns);
          g_assert_cmpuint (a->per_mib_ns, ==, b->per_mib_ns);
          g_assert_cmpuint (a->per_page_ns, ==, b->per_page_ns);
          g_assert_cmpint (a->synchronises, ==, b->synchronises);
        }
    }
}

/* Costs that lie on no line are found size by size, and those in a shared page. */
static void
test_sizes (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememProfile) was = gemem_profile_load ("h100", &error),
                           is = calibrated ("sim:profile=h100,address=cuda", &error);

  g_assert_no_error (error);
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    {
      const GememCallCost *a = &is->calls[call], *b = &was->calls[call];

      g_test_message ("%s", gemem_device_call_name ((GememDeviceCall) call));
      g_assert_cmpuint (a->n_sizes, ==, b->n_sizes > 0 ? 10 : 0);
      g_assert_cmpuint (a->shared_ns, ==, b->shared_ns);
      g_assert_cmpuint (a->base_ns, ==, b->base_ns);
      for (guint i = 0; i < a->n_sizes; i++)
        g_assert_cmpuint (a->sizes[i].ns, ==, gemem_call_sizes_ns (b, a->sizes[i].bytes));
    }
  g_assert_cmpuint (is->calls[GEMEM_CALL_FREE].sizes[9].bytes, ==, G_GUINT64_CONSTANT (8) << 30);
}

/* A device whose pages are not shared has no price for it. */
static void
test_nothing_shared (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememProfile) is = calibrated ("sim:profile=h100,address=bump", &error);

  g_assert_no_error (error);
  g_assert_cmpuint (is->calls[GEMEM_CALL_MALLOC].shared_ns, ==, 0);
  g_assert_cmpuint (is->calls[GEMEM_CALL_FREE].shared_ns, ==, 0);
}

/* Calls whose cost grows with the state of the device: each gets its own number. */
static void
test_counts (void)
{
  g_autofree char *from = g_build_filename (g_getenv ("GEMEM_PROFILES"), "generic.ini", NULL);
  g_autofree char *path = g_build_filename (test_tmpdir (), "counts.ini", NULL),
                  *spec = g_strdup_printf ("sim:profile=%s", path), *text = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) edited = NULL;
  g_autoptr (GememProfile) is = NULL;

  g_file_get_contents (from, &text, NULL, &error);
  g_assert_no_error (error);
  edited = g_string_new (text);
  for (GememDeviceCall call = GEMEM_CALL_MALLOC; call <= GEMEM_CALL_UNMAP; call++)
    {
      g_autofree char *group = g_strdup_printf ("\n[%s]\n", gemem_device_call_name (call));
      g_autofree char *more = g_strdup_printf ("%sper_1000_live_ns=%u\n", group, 1000 * (call + 1));
      g_assert_cmpuint (g_string_replace (edited, group, more, 0), ==, 1);
    }
  g_file_set_contents (path, edited->str, -1, &error);
  g_assert_no_error (error);
  is = calibrated (spec, &error);
  g_assert_no_error (error);
  g_autoptr (GememProfile) was = gemem_profile_load (path, &error);
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    {
      g_test_message ("%s", gemem_device_call_name ((GememDeviceCall) call));
      g_assert_cmpuint (is->calls[call].per_1000_live_ns, ==, was->calls[call].per_1000_live_ns);
      g_assert_cmpuint (is->calls[call].base_ns, ==,
                        was->calls[call].base_ns + was->calls[call].set_access_ns);
      g_assert_cmpuint (is->calls[call].per_page_ns, ==, was->calls[call].per_page_ns);
      g_assert_cmpuint (is->calls[call].per_mib_ns, ==, was->calls[call].per_mib_ns);
    }
}

/* Values that the device reports override its profile; values that it lacks are guesses. */
static void
test_other_device (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GememProfile) generic = gemem_profile_load ("generic", &error);
  g_autoptr (GememProfile)
      is = calibrated ("sim:capacity=4GiB,free_synchronises=no,virtual_memory=no", &error);

  g_assert_no_error (error);
  g_assert_cmpuint (is->capacity, ==, G_GUINT64_CONSTANT (4) << 30);
  g_assert_false (is->calls[GEMEM_CALL_FREE].synchronises);
  g_assert_cmpuint (is->guesses, >, 5);
  g_assert_cmpuint (is->calls[GEMEM_CALL_MAP].base_ns, ==,
                    generic->calls[GEMEM_CALL_MAP].base_ns
                        + generic->calls[GEMEM_CALL_MAP].set_access_ns);
}

static void
test_little_memory (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (calibrated ("sim:capacity=256MiB", &error));
  g_assert_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED);
  g_assert_nonnull (strstr (error->message, "536870912 bytes are needed"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/calibrate/same-profile", test_same_profile);
  g_test_add_func ("/calibrate/sizes", test_sizes);
  g_test_add_func ("/calibrate/nothing-shared", test_nothing_shared);
  g_test_add_func ("/calibrate/counts", test_counts);
  g_test_add_func ("/calibrate/other-device", test_other_device);
  g_test_add_func ("/calibrate/little-memory", test_little_memory);
  return g_test_run ();
}

/* fuzz-devices.c - files that a simulated device reads: a profile of costs, and a log of calls.
 */
#include "config.h"

#include "base/io/input.h"
#include "devices/profile.h"
#include "sim/engine/replay.h"
#include "tests/fuzz/fuzz.h"
#include "tests/util/testutil.h"

static const char *const members[] = { "profile", "calls", NULL };

enum
{
  PROFILE,
  CALLS
};

static const char *
member_name (guint member)
{
  return members[member];
}

static void
use (GememDevice *device)
{
  for (guint i = 0; i < 4; i++)
    {
      const guint64 size = (guint64) 1 << (12 + 6 * i),
                    address = gemem_device_malloc (device, size, 0);
      if (address != 0 && i % 2 == 0)
        gemem_device_free (device, address, size);
    }
}

static gboolean
run_device (guint member, const guint8 *data, gsize size)
{
  GError *error = NULL;

  if (member == PROFILE)
    {
      g_autoptr (GememProfile)
          profile = gemem_profile_parse ((const char *) data, size, "fuzz.ini", &error);
      return profile != NULL || fuzz_refused (error);
    }
  g_autofree char *spec = g_strconcat ("sim:calls=", fuzz_file (data, size), NULL);
  GememDevice *device = gemem_device_new (spec, NULL, 0, &error);
  if (device == NULL)
    return fuzz_refused (error);
  use (device);
  gemem_device_destroy (device);
  return TRUE;
}

/* ---- seeds: the log of a run; profiles are files of the tree */

static GememTraceReader *
open_requests (gpointer data, GError **error)
{
  static const char requests[] = "a 1 512\na 2 30000000 7\nf 1\na 3 4096\nf 3\nf 2 7\n";
  g_autoptr (GBytes) bytes = g_bytes_new_static (requests, sizeof requests - 1);

  return gemem_trace_open_input (gemem_input_new_from_bytes (bytes, "fuzz"), "ops", NULL, error);
}

static void
device_seeds (guint member, GPtrArray *seeds)
{
  g_autofree char *path = g_build_filename (test_tmpdir (), "calls.csv", NULL), *text = NULL;
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememJob job = { .device_ordinal = -1, .source = open_requests, .calls_path = path };

  if (member != CALLS)
    return;
  g_assert_true (gemem_allocator_spec_parse ("pytorch-caching", specs, NULL));
  job.allocator = specs->pdata[0];
  gemem_result_free (gemem_job_run (&job, NULL));
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  fuzz_add_text (seeds, text);
}

const FuzzKind fuzz_device = { "device", member_name, run_device, device_seeds, NULL };

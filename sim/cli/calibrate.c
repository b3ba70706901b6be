/* calibrate.c - `gemem-sim calibrate`: measures the costs of a device's calls as a profile with its
 * provenance.
 *
 * A real device is measured by the host clock.  A simulated one has its own clock, so the result
 * equals its profile: this tests the calibration itself. */
#include "config.h"

#include <string.h>

#include "devices/calibrate.h"
#include "sim/cli/options.h"
#include "sim/cli/progress.h"
#include "sim/engine/replay.h"
#include "sim/report/machine.h"
#include "workloads/generator.h"

static char *device_spec, *output;
static int repeats = 50;

static const GOptionEntry entries[] = { { "device", 'd', 0, G_OPTION_ARG_STRING, &device_spec,
                                          "Device, e.g. cuda:0 (default)", "SPEC" },
                                        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
                                          "Write the profile to FILE instead of stdout", "FILE" },
                                        { "repeats", 0, 0, G_OPTION_ARG_INT, &repeats,
                                          "Calls of each kind, size and count (default 50)", "N" },
                                        { NULL } };

static guint64
host_clock (gpointer data)
{
  return gemem_host_clock ();
}

static guint64
device_clock (gpointer device)
{
  return ((GememDevice *) device)->now;
}

static GememTraceReader *
open_requests (gpointer unused, GError **error)
{
  return gemem_generator_open ("random:events=3000,live=100,size_max=1MiB", 1, error);
}

/* Measures this host's time for a request or free without a device call, with an allocator whose
 * cache serves nearly all requests. */
static gboolean
measure_hits (GememCalibration *calibration, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  GememJob job = { .device_spec = "null",
                   .device_ordinal = -1,
                   .source = open_requests,
                   .warm_up = 1,
                   .measure = TRUE,
                   .clock = gemem_host_clock,
                   .interrupted = &gemem_interrupted };
  GememResult *result;

  if (!gemem_allocator_spec_parse ("pytorch-caching", specs, error))
    return FALSE;
  job.allocator = specs->pdata[0];
  result = gemem_job_run (&job, error);
  if (result == NULL)
    return FALSE;
  calibration->hit_ns = (gemem_histogram_percentile (&result->measured_alloc_ns, 500)
                         + gemem_histogram_percentile (&result->measured_free_ns, 500))
                        / 2;
  calibration->hit_samples = (guint) (result->measured_alloc_ns.count
                                      + result->measured_free_ns.count);
  gemem_result_free (result);
  return TRUE;
}

static char *
profile_text (GememDevice *device, const GememCalibration *calibration)
{
  g_autoptr (GDateTime) today = g_date_time_new_now_utc ();
  g_autofree char *date = g_date_time_format (today, "%Y-%m-%d"),
                  *identity = gemem_device_identify (device), *driver = gemem_machine_gpu_driver ();
  g_autofree char *processor = gemem_machine_processor (), *kernel = gemem_machine_kernel (),
                  *machine = gemem_machine_kind ();
  g_autofree char *described = gemem_device_describe (device), *how = NULL;
  g_autoptr (GPtrArray) provenance = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (provenance, g_strdup_printf ("device: %s", identity));
  g_ptr_array_add (provenance, g_strdup_printf ("as: %s", described));
  if (device->klass->real && driver != NULL)
    g_ptr_array_add (provenance, g_strdup_printf ("driver: %s", driver));
  g_ptr_array_add (provenance, g_strdup_printf ("host: %s, %s, %s",
                                                processor != NULL ? processor : "unknown processor",
                                                machine, kernel));
  g_ptr_array_add (provenance, g_strdup_printf ("clock: %s", device->klass->real
                                                                 ? "the host's"
                                                                 : "that of the simulated device"));
  g_ptr_array_add (provenance, g_strdup_printf ("date: %s", date));
  g_ptr_array_add (provenance, g_strdup_printf ("gemem: %s", PACKAGE_VERSION));
  g_ptr_array_add (provenance, NULL);
  how = g_strdup_printf ("%s, %s", identity, date);
  return gemem_calibration_profile (calibration, identity, (const char *const *) provenance->pdata,
                                    how);
}

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_calibrate;
  GememCalibration calibration;
  GememDeviceInfo info;
  GememDevice *device;
  int status = 1;

  if (!gemem_want_arguments (&gemem_command_calibrate, arguments, 0, 0, error)
      || !gemem_want_at_least ("repeats", repeats, 1, error))
    return 2;
  gemem_catch_interrupts ();
  device = gemem_device_new (device_spec != NULL ? device_spec : "cuda:0", NULL, 0, error);
  if (device == NULL)
    return 2;
  const GememCalibrateOptions options = { device->klass->real ? host_clock : device_clock, device,
                                          (guint) repeats, &gemem_interrupted,
                                          gemem_progress_steps () };
  gemem_device_info (device, &info);
  gemem_progress_begin_steps ("measuring", "series of calls",
                              GEMEM_CALIBRATE_SERIES (info.virtual_memory));
  if (gemem_calibrate (device, &options, &calibration, error)
      && (!device->klass->real || measure_hits (&calibration, error)))
    {
      g_autofree char *text = profile_text (device, &calibration);
      if (gemem_put (output, text, strlen (text), error))
        status = 0;
    }
  gemem_progress_end ();
  gemem_device_destroy (device);
  return status;
}

const GememCommand gemem_command_calibrate = {
  .name = "calibrate",
  .synopsis = "",
  .summary = "Measure what the calls of a device cost, and write a profile",
  .description = "Every device call is made many times over several sizes, among up to 4096\n"
                 "others that are live, and while a stream has work to do. The profile has what\n"
                 "calls of each size cost, small ones in a page that others use too, and whether\n"
                 "they wait until the device is idle, each number with its source, medians and\n"
                 "p99 behind them as comments. On a GPU it also has what this host takes for a\n"
                 "request that an allocator serves without any call. A GPU's profile is for\n"
                 "-d sim:address=cuda,profile=FILE.ini. Nothing else should use it meanwhile.",
  .examples = "  gemem-sim calibrate -d cuda:0 -o h200.ini\n"
              "      the profile of this machine\n"
              "  gemem-sim compare train.gmt -d cuda:0:profile=h200.ini --measure\n"
              "      predicted and real time side by side, and the ratio of both\n",
  .options = { entries },
  .run = run,
};

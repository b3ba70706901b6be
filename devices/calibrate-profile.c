/* calibrate-profile.c - writes measurements as a profile (profile.h): every number with its
 * source. */
#include "config.h"

#include "base/units.h"
#include "devices/calibrate.h"

/* TRUE for events and synchronisation, which have no size and wait by definition. */
static gboolean
has_waits (GememDeviceCall call)
{
  return call != GEMEM_CALL_EVENT_SYNC && call != GEMEM_CALL_STREAM_SYNC
         && call != GEMEM_CALL_DEVICE_SYNC;
}

static void
append_sizes (GString *out, const GememCallCost *cost)
{
  const char *before = "sizes=";

  for (guint i = 0; i < cost->n_sizes; i++, before = " ")
    {
      char size[GEMEM_FORMAT_MAX];
      g_string_append_printf (out, "%s%s:%" G_GUINT64_FORMAT, before,
                              gemem_format_size_exact (size, cost->sizes[i].bytes),
                              cost->sizes[i].ns);
    }
  g_string_append_c (out, '\n');
}

static void
append_shared (GString *out, const GememCalibratedCall *from, const char *how)
{
  guint calls = 0;

  for (guint i = GEMEM_CALIBRATE_POINTS - GEMEM_CALIBRATE_SMALL; i < GEMEM_CALIBRATE_POINTS; i++)
    calls += from->points[i].samples;
  g_string_append_printf (out,
                          "shared_ns=%" G_GUINT64_FORMAT "\n"
                          "shared_ns_source=measured: medians of %u calls of 256 B, 4 KiB and "
                          "64 KiB beside one block of 256 B; %s\n",
                          from->cost.shared_ns, calls, how);
}

static void
append_call (GString *out, GememDeviceCall call, const GememCalibratedCall *from, const char *how)
{
  const GememCallCost *cost = &from->cost;

  g_string_append_printf (out, "\n[%s]\n", gemem_device_call_name (call));
  if (cost->n_sizes > 0)
    append_sizes (out, cost);
  else
    g_string_append_printf (out, "base_ns=%" G_GUINT64_FORMAT "\n",
                            cost->base_ns + cost->set_access_ns);
  if (cost->shared_ns != 0)
    append_shared (out, from, how);
  if (cost->per_mib_ns != 0)
    g_string_append_printf (out, "per_mib_ns=%" G_GUINT64_FORMAT "\n", cost->per_mib_ns);
  if (cost->per_page_ns != 0)
    g_string_append_printf (out, "per_page_ns=%" G_GUINT64_FORMAT "\n", cost->per_page_ns);
  if (cost->per_1000_live_ns != 0)
    g_string_append_printf (out, "per_1000_live_ns=%" G_GUINT64_FORMAT "\n",
                            cost->per_1000_live_ns);
  if (has_waits (call))
    {
      g_string_append_printf (out, "synchronises=%s\n", cost->synchronises ? "yes" : "no");
      g_string_append_printf (out, "synchronises_source=%s\n",
                              from->waits_measured ? "measured: made while a stream had work to do"
                                                   : "guess: as in generic.ini; not tried");
    }
  if (from->measured)
    g_string_append_printf (
        out,
        "source=measured: medians of %u calls of %u size%s, p99 %" G_GUINT64_FORMAT
        " ns, max %" G_GUINT64_FORMAT " ns; %s\n",
        from->samples, from->sizes, gemem_plural (from->sizes), from->p99, from->max, how);
  else
    g_string_append (out, "source=guess: as in generic.ini; the device does not have it\n");
}

/* Writes the samples behind the figures, for people and for spreadsheets. */
static void
append_points (GString *out, const GememCalibration *calibration)
{
  g_string_append (out, "\n# Measured, ns: call, bytes, others of its kind that were live, calls, "
                        "median, p99, max\n");
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    for (guint i = 0; i < GEMEM_CALIBRATE_POINTS; i++)
      {
        const GememCalibratedPoint *point = &calibration->calls[call].points[i];
        if (point->samples > 0)
          g_string_append_printf (
              out,
              "#, %s, %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ", %u, %" G_GUINT64_FORMAT
              ", %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT "\n",
              gemem_device_call_name ((GememDeviceCall) call), point->bytes, point->live,
              point->samples, point->median, point->p99, point->max);
      }
}

char *
gemem_calibration_profile (const GememCalibration *calibration, const char *name,
                           const char *const *provenance, const char *how)
{
  GString *out = g_string_new ("# A cost profile measured by gemem-sim calibrate.\n#\n");

  for (; *provenance != NULL; provenance++)
    g_string_append_printf (out, "# %s\n", *provenance);
  g_string_append_printf (
      out,
      "\n[device]\nname=%s\ncapacity=%" G_GUINT64_FORMAT
      "\ncapacity_source=measured: what the device says; %s\n"
      "granularity=%" G_GUINT64_FORMAT "\ngranularity_source=measured: what the device says; %s\n"
      "\n[allocator]\nhit_ns=%" G_GUINT64_FORMAT "\n",
      name, calibration->info.total, how, calibration->info.granularity, how, calibration->hit_ns);
  if (calibration->hit_samples > 0)
    g_string_append_printf (out,
                            "source=measured: medians of %u requests and frees that "
                            "pytorch-caching serves from its cache; %s\n",
                            calibration->hit_samples, how);
  else
    g_string_append (out, "source=guess: as in generic.ini; calls of the device were measured, "
                          "allocators were not\n");
  for (guint call = 0; call < GEMEM_CALL_COUNT; call++)
    append_call (out, (GememDeviceCall) call, &calibration->calls[call], how);
  append_points (out, calibration);
  return g_string_free (out, FALSE);
}

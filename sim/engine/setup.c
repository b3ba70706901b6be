/* setup.c - creates the device of a job, and finds the settings of its allocator.
 *
 * Settings are merged as text, key by key, so that a device class sees one list in which each key
 * stands once and names in its messages what the user wrote.  A key of the trace that the chosen
 * device class does not have is dropped: it described another kind of device.  A wrapper (faulty)
 * passes unknown keys to the device beneath, whose keys count too.
 */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "sim/engine/engine-private.h"

static const GememParam *
find_param (const GememDeviceClass *klass, const char *key)
{
  return klass != NULL && klass->params != NULL ? gemem_params_find (klass->params, key) : NULL;
}

/* TRUE if one of the keys replaces the other: they set the same, or exclude each other. */
static gboolean
same_key (const GememDeviceClass *klass, const char *a, const char *b)
{
  const GememParam *one = find_param (klass, a), *other = find_param (klass, b);
  return gemem_name_equal (a, b)
         || (one != NULL && other != NULL
             && (one == other || gemem_name_listed (one->conflicts, other->name)
                 || gemem_name_listed (other->conflicts, one->name)));
}

static void
append_setting (GString *text, const char *key, const char *value)
{
  g_autofree char *quoted = gemem_settings_quote (value);
  g_string_append_printf (text, "%s%s=%s", text->len > 0 ? "," : "", key, quoted);
}

static gboolean
is_overridden (const GememDeviceClass *klass, const char *key, const GPtrArray *overrides,
               guint64 capacity)
{
  for (guint i = 0; overrides != NULL && i < overrides->len; i++)
    if (same_key (klass, key, ((const GememSetting *) overrides->pdata[i])->key))
      return TRUE;
  return capacity > 0 && same_key (klass, key, "capacity");
}

/* @settings without the keys that @overrides (and @capacity) replace, followed by @overrides. */
static char *
merge (const GememDeviceClass *klass, const GPtrArray *settings, const GPtrArray *overrides,
       guint64 capacity)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      if (!is_overridden (klass, setting->key, overrides, capacity))
        append_setting (text, setting->key, setting->value);
    }
  for (guint i = 0; overrides != NULL && i < overrides->len; i++)
    {
      const GememSetting *setting = overrides->pdata[i];
      if (capacity == 0 || !same_key (klass, setting->key, "capacity"))
        append_setting (text, setting->key, setting->value);
    }
  if (capacity > 0)
    {
      g_autofree char *number = g_strdup_printf ("%" G_GUINT64_FORMAT "B", capacity);
      append_setting (text, "capacity", number);
    }
  return g_string_free (text, FALSE);
}

/* Whether a program that ran on CUDA made the recording; a trace without addresses was written by hand,
 * and a vector says itself on which device it was made. */
static gboolean
ran_on_cuda (const GememTraceInfo *info)
{
  const gboolean recorded = (info->flags & GEMEM_TRACE_HAS_ADDRESSES) != 0
                            && (info->flags & GEMEM_TRACE_IS_VECTOR) == 0;
  const GememAllocatorClass *klass = recorded && info->allocator != NULL
                                         ? gemem_allocator_find (info->allocator, NULL)
                                         : NULL;
  return klass != NULL && (klass->capabilities & GEMEM_CAP_CUDA) != 0;
}

/* The device that was recorded, where it is the one with @ordinal.  What CUDA or a profiler recorded names a GPU, also where events
 * of the host's memory are beside its own. */
static const char *
device_of (const GememTraceInfo *info, int ordinal)
{
  const gboolean gpu = gemem_trace_info_came_from (info, "journal")
                       || gemem_trace_info_came_from (info, "kineto")
                       || gemem_trace_info_came_from (info, "nsys")
                       || gemem_trace_info_said (info, GEMEM_TRACE_HOST) != NULL;

  return gpu && ordinal == GEMEM_DEVICE_HOST ? NULL : info->device;
}

/* Those device settings of @info whose keys @klass has, with the address policy of @places. */
static char *
known_defaults (const GememDeviceClass *klass, const GememTraceInfo *info, int ordinal,
                GememSetupPlaces places, GError **error)
{
  const char *text = device_of (info, ordinal);
  g_autoptr (GPtrArray) settings = gemem_settings_parse (text != NULL ? text : "", error);
  GString *known;

  if (settings == NULL)
    return NULL;
  known = g_string_new (NULL);
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      if (find_param (klass, setting->key) != NULL
          && (places == GEMEM_SETUP_AS_TRACE || !same_key (klass, setting->key, "address")))
        append_setting (known, setting->key, setting->value);
    }
  if (ran_on_cuda (info) && find_param (klass, "driver") != NULL)
    append_setting (known, "driver", "cuda");
  if (places == GEMEM_SETUP_RECORDED && find_param (klass, "address") != NULL)
    append_setting (known, "address", "recorded");
  return g_string_free (known, FALSE);
}

const char *
gemem_setup_spec (const GememJob *job)
{
  return job->device_spec != NULL ? job->device_spec : "sim";
}

gboolean
gemem_job_check_gpu (const char *spec, int ordinal, gboolean alone, const char *name,
                     GError **error)
{
  const int gpu = gemem_device_spec_gpu (spec);

  if (gpu < 0 || gpu == ordinal || ordinal == GEMEM_DEVICE_HOST || (alone && ordinal == 0))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: device %d of the trace is not GPU %d of -d %s; write -d cuda for the GPU that "
               "has the device's number, or choose the device too: --trace-device=%d",
               name, ordinal, gpu, spec, ordinal);
  return FALSE;
}

GememDevice *
gemem_setup_device (const GememJob *job, const GememTraceInfo *info, int ordinal, guint64 capacity,
                    GememSetupPlaces places, GError **error)
{
  const char *spec = gemem_setup_spec (job);
  const GPtrArray *overrides = job->allocator->device;
  gboolean merging = (overrides != NULL && overrides->len > 0) || capacity > 0;
  g_autoptr (GPtrArray) settings = NULL;
  g_autofree char *defaults = NULL, *merged = NULL, *text = NULL;
  const GememDeviceClass *top, *klass;

  settings = gemem_device_spec_parse (spec, &top, error);
  if (settings == NULL)
    return NULL;
  klass = gemem_device_class_beneath (top, settings);
  if (klass != NULL && (defaults = known_defaults (klass, info, ordinal, places, error)) == NULL)
    return NULL;
  if (capacity > 0 && klass != NULL
      && (klass->params == NULL || gemem_params_find (klass->params, "capacity") == NULL))
    {
      g_set_error (
          error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
          "device %s: it has no capacity to look for; use -d sim, or leave --find-capacity out",
          klass->name);
      return NULL;
    }
  if (merging)
    {
      text = merge (klass, settings, overrides, capacity);
      merged = g_strdup_printf ("%s:%s", top->name, text);
    }
  return gemem_device_new (merged != NULL ? merged : spec, defaults,
                           ordinal == GEMEM_DEVICE_HOST ? 0 : ordinal, error);
}

gboolean
gemem_setup_same_allocator (const GememJob *job, const GememTraceInfo *info)
{
  const GememAllocatorClass *klass = job->allocator->klass;

  return info->allocator != NULL && gemem_name_is (klass->name, klass->aliases, info->allocator);
}

const char *
gemem_setup_defaults (const GememJob *job, const GememTraceInfo *info)
{
  return job->use_trace_settings && gemem_setup_same_allocator (job, info) ? info->settings : NULL;
}

/* Fills @recorded for @klass. */
static void
find_recorded (GememSetupRecorded *recorded, const GememAllocatorClass *klass,
               const GememTraceInfo *info)
{
  g_autoptr (GPtrArray) nothing = gemem_settings_new ();
  const GememAllocatorSpec bare = { .klass = klass, .settings = nothing };

  if (recorded->klass == klass)
    return;
  gemem_setup_recorded_clear (recorded);
  recorded->klass = klass;
  recorded->device = gemem_device_new ("sim", NULL, 0, NULL); /* for values in percent */
  recorded->settings = gemem_allocator_effective (&bare, info->settings, recorded->device, NULL);
}

gboolean
gemem_setup_is_alike (const GememJob *job, const GememTraceInfo *info, GememSetupRecorded *recorded)
{
  const char *defaults = gemem_setup_defaults (job, info);
  const GememAllocatorSpec *spec = job->allocator;

  if (!gemem_setup_same_allocator (job, info))
    return FALSE;
  if (info->settings == NULL || (defaults != NULL && spec->settings->len == 0))
    return TRUE;
  find_recorded (recorded, spec->klass, info);
  return recorded->settings != NULL
         && gemem_allocator_has_effect (spec, defaults, recorded->device, recorded->settings);
}

void
gemem_setup_recorded_clear (GememSetupRecorded *recorded)
{
  g_clear_pointer (&recorded->settings, g_ptr_array_unref);
  g_clear_pointer (&recorded->device, gemem_device_destroy);
  recorded->klass = NULL;
}

/* Whether the user sets @key of the device. */
static gboolean
is_set (const GememJob *job, const char *key)
{
  const GememDeviceClass *top, *klass;
  g_autoptr (GPtrArray) settings = gemem_device_spec_parse (gemem_setup_spec (job), &top, NULL);

  klass = settings != NULL ? gemem_device_class_beneath (top, settings) : NULL;
  return is_overridden (klass, key, settings, 0)
         || is_overridden (klass, key, job->allocator->device, 0);
}

gboolean
gemem_setup_names_places (const GememJob *job)
{
  return is_set (job, "address");
}

gboolean
gemem_setup_names_device (const GememJob *job)
{
  return is_set (job, "capacity") || is_set (job, "gpu") || is_set (job, "reserved_by_others");
}

void
gemem_setup_note_device (const GememJob *job, const GememTraceInfo *info, GememResult *result)
{
  const char *said = gemem_trace_info_said (info, "device");
  const char *device = device_of (info, result->device_ordinal);
  const gboolean recorded = device != NULL
                            && (strstr (device, "capacity=") != NULL
                                || strstr (device, "gpu=") != NULL);
  char size[GEMEM_FORMAT_MAX];

  if (gemem_setup_names_device (job) || is_set (job, "total") || is_set (job, "profile")
      || gemem_setup_is_real (job))
    return;
  result->device_assumed = !recorded;
  gemem_format_size (size, result->capacity);
  if (recorded)
    result->device_from = g_strdup_printf ("device as recorded: %s%s%s", size,
                                           said != NULL ? ", " : "", said != NULL ? said : "");
  else if (device != NULL && strstr (device, "at_least=") != NULL)
    result->device_from = g_strdup_printf (
        "device assumed: %s, the file does not say; -d 24GiB or -d h100 chooses", size);
}

gboolean
gemem_setup_is_real (const GememJob *job)
{
  const GememDeviceClass *klass;
  g_autoptr (GPtrArray) settings = gemem_device_spec_parse (gemem_setup_spec (job), &klass, NULL);

  if (settings != NULL)
    klass = gemem_device_class_beneath (klass, settings);
  return klass != NULL && klass->real;
}

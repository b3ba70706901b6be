/* tune-keys.c - the names under which the replays of a search are kept.
 *
 * Why: a search that goes on may take a replay of before only if it would make the very same one.
 *
 * Invariants: two replays with the same name have the same events, settings, device and prices of its calls, the same
 * bounds at which they end, and are compared with the same rivals.  A file of prices counts by what it says, not by
 * its name.
 */
#include "config.h"

#include <string.h>

#include "devices/profile.h"
#include "sim/search/tune.h"

#define KEY_LENGTH 32 /* digits; as the keys of sweeps */

static void
add (GChecksum *sum, const char *text)
{
  /* with its end, so that "a", "bc" is not "ab", "c" */
  g_checksum_update (sum, (const guchar *) text, (gssize) strlen (text) + 1);
}

static void
add_number (GChecksum *sum, guint64 number)
{
  char text[32];

  g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT, number);
  add (sum, text);
}

/* The settings as they were given: what a recording adds follows from its events. */
static void
add_settings (GChecksum *sum, const GPtrArray *settings)
{
  const guint n = settings != NULL ? settings->len : 0;

  add_number (sum, n);
  for (guint i = 0; i < n; i++)
    {
      const GememSetting *setting = settings->pdata[i];

      add (sum, setting->key);
      add (sum, setting->value);
    }
}

static void
add_spec (GChecksum *sum, const GememAllocatorSpec *spec)
{
  add (sum, spec->klass->name);
  add_settings (sum, spec->settings);
  add_settings (sum, spec->device);
}

static char *
take_text (GChecksum *sum)
{
  char *text = g_strndup (g_checksum_get_string (sum), KEY_LENGTH);

  g_checksum_free (sum);
  return text;
}

char *
gemem_tune_hash_space (const GememAllocatorSpec *const *specs, guint n)
{
  GChecksum *sum = g_checksum_new (G_CHECKSUM_SHA256);

  for (guint i = 0; i < n; i++)
    add_spec (sum, specs[i]);
  return take_text (sum);
}

char *
gemem_tune_key (const GememTune *tune, guint trace, const GememJob *job, const char *space)
{
  const GememTuneQuestion *question = tune->question;
  const GememResult *now = question->traces[trace].result;
  g_autofree char *costs = gemem_profile_costs (now->device_settings);
  GChecksum *sum = g_checksum_new (G_CHECKSUM_SHA256);

  add (sum, PACKAGE_VERSION);
  add (sum, question->keeper->names[trace]);
  add_number (sum, (guint64) (gint64) job->device_ordinal);
  add (sum, now->device);
  add_settings (sum, now->device_settings);
  add (sum, costs);
  add_number (sum, now->capacity);
  add_number (sum, now->lower_bound);
  add_spec (sum, job->allocator);
  add_number (sum, job->use_trace_settings);
  add_number (sum, job->allow_partial);
  add_number (sum, job->stop_at_oom);
  add_number (sum, job->stop_above);
  add_number (sum, job->find_capacity);
  add_number (sum, job->fits_first);
  add (sum, job->rivals != NULL ? space : "");
  for (guint r = 1; r < tune->rows->len && job->rivals != NULL; r++)
    g_checksum_update (sum, (const guchar *) (job->rivals_alike[r - 1] ? "1" : "0"), 1);
  return take_text (sum);
}

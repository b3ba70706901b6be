/* caching-configure.c - settings that the program changes while it runs
 * (_set_allocator_settings(), set_per_process_memory_fraction()).
 *
 * "per_process_memory_fraction=0.5" is the part of the device that it may take from there on; all else stays.
 * Any other text is a whole string: PyTorch reads the whole string anew: what it does not name is as by default again.  What was
 * allocated stays as it is, and the new settings decide from the next request on.  While
 * expandable_segments is on, plain segments serve requests too; while it is off, expandable ones
 * serve none.
 *
 * Invariants: version, memory limit and total are those the allocator was made with, which no such
 * string changes (per_process_memory_fraction apart); a string that is refused changes nothing.
 * Origin: found by running PyTorch 2.6, 2.11 and 2.14 (peers.md 1a.11).
 */
#include "config.h"

#include <string.h>

#include "allocators/pytorch/caching.h"

/* "per_process_memory_fraction=PART": sets the limit.  FALSE: @text is another. */
static gboolean
take_part (const char *text, GememDevice *device, CachingSettings *settings)
{
  static const char name[] = "per_process_memory_fraction=";
  const CachingCommon common = { .total = settings->total };
  char *end;

  if (!g_str_has_prefix (text, name))
    return FALSE;
  const double part = g_ascii_strtod (text + strlen (name), &end);
  const guint64 total = gemem_caching_memory_of (&common, device);
  if (*end != '\0' || !(part >= 0 && part <= 1))
    return FALSE;
  settings->limit = total < GEMEM_UNLIMITED ? (guint64) (part * (double) total) : CACHING_UNLIMITED;
  gemem_caching_set_collection (settings, settings->gc_threshold);
  return TRUE;
}

gboolean
gemem_caching_settings_change (const CachingSettings *before, GememDevice *device, const char *text,
                               CachingSettings *settings, GError **error)
{
  CachingParams params = { 0 };
  gboolean ok;

  *settings = *before;
  if (take_part (text, device, settings))
    return TRUE;
  gemem_params_set_defaults (gemem_caching_params, &params);
  params.common.version = (int) (before->version - gemem_caching_versions);
  params.common.total = before->total;
  params.common.memory_limit = before->limit;
  params.common.release_private_pools = before->release_private_pools;
  if (*text != '\0')
    params.common.conf = g_strdup (text);
  ok = gemem_caching_settings_resolve (&params, device, settings, error);
  gemem_params_clear (gemem_caching_params, &params);
  if (ok && settings->async)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "settings '%s': the backend cannot change; leave it out", text);
  return ok && !settings->async;
}

/* caching-async.c - `backend=cudaMallocAsync`: PyTorch leaves device memory to a pool of CUDA.
 *
 * PyTorch has the pool keep its memory (release threshold unlimited).  Everything else is
 * `cuda-async` with CUDA's defaults.  The other settings are those of
 * the native backend: they are neither checked nor applied, and a note names them.
 *
 * Invariants: the allocator is one of the class `cuda-async`; nothing of `Caching` exists.
 * Origin: peers.md 1a.11 and 1d.
 */
#include "config.h"

#include <string.h>

#include "allocators/cuda/async.h"
#include "allocators/pytorch/caching.h"

#define CHOICE "backend:cudaMallocAsync"

GememAllocator *
gemem_caching_async_new (GememDevice *device, GError **error)
{
  return gemem_cuda_async_new ("allocator pytorch-caching: backend=cudaMallocAsync",
                               GEMEM_UNLIMITED, device, error);
}

/* Whether @row is a setting of the native backend. */
static gboolean
is_native (const GememParam *row)
{
  return strcmp (row->name, "version") != 0 && strcmp (row->name, "backend") != 0
         && strcmp (row->name, "conf") != 0 && strcmp (row->name, "alloc_conf") != 0;
}

/* The names of the settings of the native backend that @params does not have by
 * default; "": none. */
static char *
native_settings (const CachingParams *params)
{
  GString *names = g_string_new (NULL);

  for (const GememParam *row = gemem_caching_params; row->name != NULL; row++)
    if (is_native (row) && !gemem_param_is_default (row, params))
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", row->name);
  return g_string_free (names, FALSE);
}

static gboolean
says_more (const char *conf)
{
  gsize length = 0;

  for (; *conf != '\0'; conf++)
    length += !g_ascii_isspace (*conf);
  return length > strlen (CHOICE);
}

static void
note_collection (const CachingSettings *settings, GememNoteFunc func, gpointer data)
{
  if (settings->gc_threshold > 0 && settings->limit == CACHING_UNLIMITED)
    func ("pytorch-caching: garbage_collection_threshold has no effect without a limit; set "
          "per_process_memory_fraction, or leave it out",
          data);
}

void
gemem_caching_notes (gconstpointer given, GememNoteFunc func, gpointer data)
{
  const CachingParams *params = given;
  const char *conf = gemem_caching_conf_of (&params->common);
  CachingSettings settings;
  g_autofree char *names = NULL, *note = NULL;

  if (!gemem_caching_settings_resolve (params, NULL, &settings, NULL))
    return;
  if (!settings.async)
    {
      note_collection (&settings, func, data);
      return;
    }
  names = native_settings (params);
  note = g_strdup_printf ("pytorch-caching: %s: without effect with backend=cudaMallocAsync, which "
                          "leaves memory to CUDA; leave it out, or use backend=native",
                          names);
  if (*names != '\0')
    func (note, data);
  if (conf != NULL && says_more (conf))
    func ("pytorch-caching: conf: nothing else is read with " CHOICE "; leave the rest out, or "
          "choose backend:native",
          data);
}

/* recorder.c - see recorder.h. */
#include "config.h"

#include <string.h>

#include "allocators/shorthand.h"
#include "base/named.h"
#include "graphs/format.h"
#include "sim/search/paste.h"
#include "sim/search/recorder.h"

#define ASSUMED "pytorch-caching"
#define PINNED "pytorch-pinned"
#define CALLS "direct" /* cudaHostAlloc() and the like, which no allocator serves */

/* The settings of a shorthand choose the class, so they belong to its name; those of a class apply while
 * it is made (gemem_setup_defaults()). */
char *
gemem_recorder_text (const GememTraceInfo *info, gboolean host, gboolean ignores_settings)
{
  if (host && gemem_trace_info_came_from (info, "journal"))
    return g_strdup (CALLS);
  if (host && gemem_trace_info_said (info, GEMEM_TRACE_HOST) != NULL)
    return g_strdup (PINNED);
  for (const GememNamed *const *s = gemem_shorthands (); *s != NULL && info->allocator != NULL; s++)
    if (!ignores_settings && info->settings != NULL
        && gemem_name_is ((*s)->name, (*s)->aliases, info->allocator))
      return g_strconcat (info->allocator, ":", info->settings, NULL);
  return g_strdup (info->allocator);
}

/* The allocator of the system whose files have the format @name, of a trace or a graph; NULL: no system's. */
static const char *
assumed_of_format (const char *name)
{
  const GememTraceFormat *trace = name != NULL ? gemem_trace_format_find (name, NULL) : NULL;
  const GememGraphFormat *graph = name != NULL ? gemem_graph_format_find (name, NULL) : NULL;

  return trace != NULL && trace->assumed != NULL ? trace->assumed
         : graph != NULL                         ? graph->assumed
                                                 : NULL;
}

/* By the format of the file, else by that it was converted from. */
static const char *
assumed_for (const GememTraceInfo *info)
{
  const char *assumed = assumed_of_format (info->format);

  if (assumed == NULL)
    assumed = assumed_of_format (gemem_trace_info_said (info, "format"));
  return assumed != NULL ? assumed : ASSUMED;
}

gboolean
gemem_recorder_is_host (const GArray *ordinals)
{
  return ordinals->len == 1 && g_array_index (ordinals, guint16, 0) == GEMEM_DEVICE_HOST;
}

gboolean
gemem_recorder_parse (const GememTraceInfo *info, gboolean host, gboolean ignores_settings,
                      const GPtrArray *variables, GPtrArray *specs, gboolean *assumed,
                      GError **error)
{
  g_autofree char *text = gemem_recorder_text (info, host, ignores_settings);

  *assumed = text == NULL;
  if (text == NULL)
    text = g_strdup (assumed_for (info));
  if (gemem_allocator_spec_parse_with (text, variables, specs, *assumed ? error : NULL))
    return TRUE;
  if (!*assumed)
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
        "%s was recorded with '%s', which is not among the allocators here; choose one with "
        "-a NAME ('gemem-sim list' shows them)",
        info->path, text);
  return FALSE;
}

/* What a program of @system has unless something is said: the allocator that no setting chooses, else
 * the first. */
static const GememAllocatorClass *
default_of (const char *system)
{
  const GememAllocatorClass *first = NULL;

  for (const GememAllocatorClass *const *klass = gemem_allocator_classes (); *klass != NULL;
       klass++)
    {
      const GememForm *form = gemem_paste_form (*klass, system);

      if (form != NULL && form->kind != GEMEM_FORM_CALL
          && (form->kind == GEMEM_FORM_STRING || form->text == NULL))
        return *klass;
      if (form != NULL && first == NULL)
        first = *klass;
    }
  return first;
}

GememAllocatorSpec *
gemem_recorder_choose (const GememTraceInfo *info, gboolean host, gboolean ignores_settings,
                       const char *system, gboolean *assumed, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  const GememAllocatorClass *klass;

  if (gemem_recorder_parse (info, host, ignores_settings, NULL, specs, assumed,
                            system == NULL ? error : NULL)
      && (system == NULL
          || gemem_paste_form (((GememAllocatorSpec *) specs->pdata[0])->klass, system) != NULL))
    return g_ptr_array_steal_index (specs, 0);
  if (system == NULL)
    return NULL;
  klass = default_of (system);
  *assumed = FALSE;
  g_ptr_array_set_size (specs, 0);
  if (klass != NULL && gemem_allocator_spec_parse (klass->name, specs, error))
    return g_ptr_array_steal_index (specs, 0);
  if (klass == NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--for=%s: no allocator is of that system",
                 system);
  return NULL;
}

char *
gemem_recorder_versions (const GememTraceInfo *info)
{
  const char *said = gemem_trace_info_said (info, "PyTorch");

  return said != NULL ? g_strchomp (g_strndup (said, strcspn (said, "("))) : NULL;
}

/* "2.10" of "2.10.1 or later" as a number that grows with the release. */
static guint64
release_number (const char *text)
{
  char *rest;
  const guint64 major = g_ascii_strtoull (text, &rest, 10);

  return major << 32 | (*rest == '.' ? g_ascii_strtoull (rest + 1, NULL, 10) : 0);
}

/* Whether the release @now, "version=2.0", older than those known here, by whose rules a replay goes, refuses a
 * setting of @spec. */
static gboolean
is_too_old (const char *now, const GememAllocatorSpec *spec, GememDevice *device)
{
  g_autoptr (GPtrArray) nothing = gemem_settings_new ();
  const GememAllocatorSpec plain = { .klass = spec->klass, .settings = nothing };
  g_autoptr (GPtrArray) set = gemem_allocator_effective (spec, now, device, NULL),
                        unset = gemem_allocator_effective (&plain, now, device, NULL);
  gboolean refused = FALSE;

  for (const GememForm *form = spec->klass->forms; form != NULL && form->system != NULL; form++)
    {
      g_auto (GStrv)
          keys = g_strsplit (form->older_refuse != NULL ? form->older_refuse : "", "|", -1);

      for (char **key = keys; *key != NULL && strchr (*key, '=') != NULL; key++)
        {
          char *since = strchr (*key, '=');

          *since = '\0';
          refused |= release_number (strchr (now, '=') + 1) < release_number (since + 1)
                     && g_strcmp0 (gemem_settings_value (set, *key),
                                   gemem_settings_value (unset, *key))
                            != 0;
        }
    }
  return refused;
}

gboolean
gemem_recorder_refuses (const char *versions, const GememAllocatorSpec *spec)
{
  g_autofree char *now = versions != NULL ? g_strdup_printf (
                             "version=%.*s", (int) strcspn (versions, " "), versions)
                                          : NULL;
  GememDevice *device = now != NULL && gemem_params_find (spec->klass->params, "version") != NULL
                            ? gemem_device_new ("sim", NULL, 0, NULL)
                            : NULL;
  GememAllocator *allocator = device != NULL ? gemem_allocator_new (spec, now, device, NULL) : NULL;
  const gboolean refuses = device != NULL && (allocator == NULL || is_too_old (now, spec, device));

  if (allocator != NULL)
    gemem_allocator_destroy (allocator);
  if (device != NULL)
    gemem_device_destroy (device);
  return refuses;
}

char *
gemem_recorder_release_note (const GememTraceInfo *info, const GememAllocatorSpec *spec)
{
  g_autoptr (GPtrArray)
      settings = info->settings != NULL ? gemem_settings_parse (info->settings, NULL) : NULL;

  return info->allocator != NULL
                 && gemem_name_is (spec->klass->name, spec->klass->aliases, info->allocator)
             ? gemem_params_release_note (spec->klass->params, settings,
                                          gemem_trace_info_said (info, "PyTorch"))
             : NULL;
}

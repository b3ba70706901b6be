/* choices.c - see choices.h. */
#include "config.h"

#include "sim/cli/choices.h"
#include "sim/report/report.h"
#include "sim/search/candidates.h"

/* "NAME:key=value,..."; g_free(). */
static char *
spec_text (const GememAllocatorClass *klass, const GPtrArray *settings)
{
  GString *text = g_string_new (klass->name);

  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];

      gemem_settings_append_text (text, setting->key, setting->value);
    }
  return g_string_free (text, FALSE);
}

/* Appends @klass with @own settings beside those of @info, unless its version refuses them. */
static void
append (GPtrArray *specs, const GememAllocatorClass *klass, const GPtrArray *own,
        const GememTraceInfo *info, gboolean recorder)
{
  g_autofree char *text = spec_text (klass, own);
  const guint before = specs->len;
  g_autoptr (GPtrArray) effective = NULL;

  if (gemem_allocator_spec_parse (text, specs, NULL))
    effective = gemem_allocator_effective (specs->pdata[before], recorder ? info->settings : NULL,
                                           NULL, NULL);
  if (effective == NULL)
    g_ptr_array_set_size (specs, (gint) before);
}

/* Appends @klass with the default of each key of @form that @info sets, if it sets several: those of one
 * are among the single settings. */
static void
append_defaults (GPtrArray *specs, const GememAllocatorClass *klass, const GememForm *form,
                 const GememTraceInfo *info)
{
  g_autoptr (GPtrArray)
      theirs = gemem_settings_parse (info->settings != NULL ? info->settings : "", NULL);
  g_auto (GStrv) keys = g_strsplit (form->keys != NULL ? form->keys : "", "|", -1);
  g_autoptr (GPtrArray) own = gemem_settings_new ();

  for (guint i = 0; theirs != NULL && i < theirs->len; i++)
    {
      const GememSetting *setting = theirs->pdata[i];
      const GememParam *param = gemem_params_find (klass->params, setting->key);

      if (param != NULL && param->default_text != NULL
          && g_strv_contains ((const char *const *) keys, param->name))
        gemem_settings_add (own, param->name, param->default_text);
    }
  if (own->len > 1)
    append (specs, klass, own, info, TRUE);
}

#define ELSEWHERE "segments at other addresses" /* the label of that row */

/* Appends @recorder with segments where the driver puts them. */
static void
append_elsewhere (GPtrArray *specs, const char *recorder)
{
  GememAllocatorSpec *spec;

  if (!gemem_allocator_spec_parse (recorder, specs, NULL))
    return;
  spec = specs->pdata[specs->len - 1];
  if (spec->device == NULL)
    spec->device = gemem_settings_new ();
  gemem_settings_add (spec->device, "address", "cuda");
  g_free (spec->label);
  spec->label = g_strdup (ELSEWHERE);
}

gboolean
gemem_choices_append (GPtrArray *specs, const char *recorder, const GememTraceInfo *info,
                      gboolean elsewhere)
{
  const guint before = specs->len;
  const GememAllocatorClass *klass;
  const GememForm *form = NULL;

  if (recorder == NULL || !gemem_allocator_spec_parse (recorder, specs, NULL))
    return FALSE;
  klass = ((const GememAllocatorSpec *) specs->pdata[before])->klass;
  form = gemem_paste_form (klass, NULL);
  if (specs->len != before + 1 || form == NULL)
    {
      g_ptr_array_set_size (specs, (gint) before);
      return FALSE;
    }
  if (elsewhere && (info->flags & GEMEM_TRACE_HAS_ADDRESSES) != 0)
    append_elsewhere (specs, recorder);
  append_defaults (specs, klass, form, info);
  g_autoptr (GPtrArray) singles = gemem_candidates_single (klass, form->system, info->settings);
  for (guint i = 0; i < singles->len; i++)
    {
      const GememCandidate *candidate = singles->pdata[i];
      append (specs, candidate->klass, candidate->own, info, candidate->klass == klass);
    }
  return TRUE;
}

/* TRUE if @result is better than @now, with which the program ran: in bytes, or in what is served. */
static gboolean
helps (const GememResult *result, const GememResult *now)
{
  if (result->not_run || result->not_allowed != NULL || now->not_run)
    return FALSE;
  if (now->least_capacity != 0 || result->least_capacity != 0)
    return result->least_capacity < now->least_capacity;
  if (result->ooms != now->ooms)
    return result->ooms < now->ooms;
  return result->peak_reserved < now->peak_reserved;
}

gboolean
gemem_choices_is_elsewhere (const char *label)
{
  return g_strcmp0 (label, ELSEWHERE) == 0;
}

/* Whether @result would help with @now replayed where it was recorded, but not where all others are. */
static gboolean
owes_it_to_addresses (const GememResult *result, const GememResult *now,
                      const GememResult *elsewhere)
{
  return elsewhere != NULL && !elsewhere->not_run && elsewhere->ooms == now->ooms
         && g_strcmp0 (gemem_settings_value (now->device_settings, "address"), "recorded") == 0
         && !helps (result, elsewhere);
}

guint
gemem_choices_keep (GPtrArray *rows, GPtrArray *results, gboolean complete)
{
  guint n = 0;

  for (guint i = rows->len; complete && i-- > 0;)
    {
      const GememResult *result = rows->pdata[i], *now = result, *elsewhere = NULL;

      for (guint j = 0; j < i && !gemem_choices_is_elsewhere (result->label); j++)
        {
          const GememResult *other = rows->pdata[j];

          if (!gemem_report_same_group (other, result) || other->capacity != result->capacity)
            continue;
          now = now == result ? other : now;
          elsewhere = gemem_choices_is_elsewhere (other->label) ? other : elsewhere;
        }
      if (now == result || (helps (result, now) && !owes_it_to_addresses (result, now, elsewhere)))
        continue;
      g_ptr_array_remove (results, rows->pdata[i]);
      g_ptr_array_remove_index (rows, i);
      n++;
    }
  for (guint i = rows->len; i-- > 0;)
    if (gemem_choices_is_elsewhere (((const GememResult *) rows->pdata[i])->label))
      {
        g_ptr_array_remove (results, rows->pdata[i]);
        g_ptr_array_remove_index (rows, i);
      }
  return n;
}

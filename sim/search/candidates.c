/* candidates.c - see candidates.h. */
#include "config.h"

#include <string.h>

#include "sim/search/candidates.h"

void
gemem_candidate_free (gpointer data)
{
  GememCandidate *candidate = data;

  if (candidate == NULL)
    return;
  g_ptr_array_unref (candidate->own);
  g_free (candidate->line);
  gemem_allocator_spec_free (candidate->spec);
  g_free (candidate);
}

/* Takes @own.  NULL: it cannot be written. */
static GememCandidate *
candidate_new (const GememAllocatorClass *klass, const GememForm *form, gboolean instead,
               const char *now, GPtrArray *own)
{
  g_autofree char *line = gemem_paste_line (klass, form, instead, now, own);
  GememAllocatorSpec *spec = line != NULL ? gemem_paste_read (klass, form, line, NULL) : NULL;
  GememCandidate *candidate;

  if (spec == NULL)
    {
      g_ptr_array_unref (own);
      return NULL;
    }
  candidate = g_new0 (GememCandidate, 1);
  candidate->klass = klass;
  candidate->form = form;
  candidate->instead = instead;
  candidate->own = own;
  candidate->line = g_steal_pointer (&line);
  candidate->spec = spec;
  return candidate;
}

/* The effective settings of @klass with @now and @own as text; NULL: they are wrong. */
static char *
effect_of (const GememAllocatorClass *klass, const char *now, const GPtrArray *own)
{
  const GememAllocatorSpec spec = { .klass = klass, .settings = (GPtrArray *) own };
  g_autoptr (GPtrArray) effective = gemem_allocator_effective (&spec, now, NULL, NULL);
  GString *out;

  if (effective == NULL)
    return NULL;
  out = g_string_new (NULL);
  for (guint i = 0; i < effective->len; i++)
    {
      const GememSetting *setting = effective->pdata[i];
      g_string_append_printf (out, "%s=%s\n", setting->key, setting->value);
    }
  return g_string_free (out, FALSE);
}

/* Appends @klass with each value of each key of @form. */
static void
add_settings (GPtrArray *list, const GememAllocatorClass *klass, const GememForm *form,
              gboolean instead, const char *now)
{
  g_auto (GStrv) keys = g_strsplit (form->keys != NULL ? form->keys : "", "|", -1);
  g_autoptr (GPtrArray) none = gemem_settings_new ();
  g_autofree char *effect = effect_of (klass, now, none);

  for (char **key = keys; *key != NULL; key++)
    {
      const GememParam *param = gemem_params_find (klass->params, *key);
      g_autoptr (GPtrArray) values = param != NULL ? gemem_param_sweep (param)
                                                   : g_ptr_array_new_with_free_func (g_free);

      for (guint i = 0; i < values->len; i++)
        {
          GPtrArray *own = gemem_settings_new ();
          g_autofree char *with = NULL;
          GememCandidate *candidate;

          gemem_settings_add (own, param->name, values->pdata[i]);
          with = effect_of (klass, now, own);
          if (with == NULL || g_strcmp0 (with, effect) == 0)
            g_ptr_array_unref (own);
          else if ((candidate = candidate_new (klass, form, instead, now, own)) != NULL)
            g_ptr_array_add (list, candidate);
        }
    }
}

/* FALSE if the allocator of @form is the one that no setting chooses, and the program, with @klass, has
 * chosen another one of that system: no line takes that back. */
static gboolean
can_replace (const GememAllocatorClass *klass, const GememForm *form)
{
  const gboolean beside = form->kind == GEMEM_FORM_VARIABLES || form->kind == GEMEM_FORM_OPTIONS;

  return !beside || form->text != NULL || form->instead != NULL
         || gemem_paste_form (klass, form->system) == NULL;
}

GPtrArray *
gemem_candidates_single (const GememAllocatorClass *klass, const char *system, const char *now)
{
  GPtrArray *list = g_ptr_array_new_with_free_func (gemem_candidate_free);
  const GememForm *form = gemem_paste_form (klass, system);

  if (form != NULL)
    add_settings (list, klass, form, FALSE, now);
  for (const GememAllocatorClass *const *other = gemem_allocator_classes (); *other != NULL;
       other++)
    if (*other != klass && (form = gemem_paste_form (*other, system)) != NULL
        && can_replace (klass, form))
      {
        GememCandidate *plain = candidate_new (*other, form, TRUE, NULL, gemem_settings_new ());

        if (plain != NULL)
          g_ptr_array_add (list, plain);
        add_settings (list, *other, form, TRUE, NULL);
      }
  return list;
}

static gboolean
sets (const GememCandidate *candidate, const char *key)
{
  for (guint i = 0; i < candidate->own->len; i++)
    if (gemem_name_equal (((const GememSetting *) candidate->own->pdata[i])->key, key))
      return TRUE;
  return FALSE;
}

GememCandidate *
gemem_candidates_both (const GememCandidate *one, const GememCandidate *other, const char *now)
{
  GPtrArray *own;

  if (one->klass != other->klass || other->own->len == 0)
    return NULL;
  for (guint i = 0; i < one->own->len; i++)
    if (sets (other, ((const GememSetting *) one->own->pdata[i])->key))
      return NULL;
  own = gemem_settings_new ();
  gemem_settings_append (own, one->own);
  gemem_settings_append (own, other->own);
  return candidate_new (one->klass, one->form, one->instead, now, own);
}

gboolean
gemem_candidates_alike (const GememCandidate *one, const GememCandidate *other)
{
  if (one->klass != other->klass || one->own->len != other->own->len)
    return FALSE;
  for (guint i = 0; i < one->own->len; i++)
    if (!sets (other, ((const GememSetting *) one->own->pdata[i])->key))
      return FALSE;
  return TRUE;
}

/* tune-space.c - the settings that are worth a search where the user names none: from the tables of the
 * classes, and nowhere else. */
#include "config.h"

#include <string.h>

#include "sim/search/paste.h"
#include "sim/search/tune.h"

#define MOST 10000 /* combinations: as many as a list on the command line may have */

static void
add_value (GPtrArray *values, const char *value)
{
  if (value != NULL && !g_ptr_array_find_with_equal_func (values, value, g_str_equal, NULL))
    g_ptr_array_add (values, g_strdup (value));
}

/* The value of @param among @effective. */
static const char *
value_now (const GPtrArray *effective, const GememParam *param)
{
  for (guint i = 0; effective != NULL && i < effective->len; i++)
    if (strcmp (((const GememSetting *) effective->pdata[i])->key, param->name) == 0)
      return ((const GememSetting *) effective->pdata[i])->value;
  return NULL;
}

/* "key=a|b|c", what is in effect now first; *@n: values. */
static char *
axis (const GememParam *param, const GPtrArray *effective, guint *n)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new_with_free_func (g_free),
                        sweep = gemem_param_sweep (param);
  GString *text = g_string_new (param->name);

  add_value (values, value_now (effective, param));
  add_value (values, param->default_text);
  for (guint i = 0; i < sweep->len; i++)
    add_value (values, sweep->pdata[i]);
  for (guint i = 0; i < values->len; i++)
    {
      g_autofree char *quoted = gemem_settings_quote (values->pdata[i]);
      g_string_append_printf (text, "%c%s", i == 0 ? '=' : '|', quoted);
    }
  *n = values->len;
  return g_string_free (text, FALSE);
}

/* "NAME:key=a|b,..." of the keys of @form. */
static char *
space_text (const GememAllocatorClass *klass, const GememForm *form, const char *now,
            char **left_out)
{
  g_autoptr (GPtrArray) none = gemem_settings_new ();
  const GememAllocatorSpec bare = { .klass = klass, .settings = none };
  g_autoptr (GPtrArray) effective = gemem_allocator_effective (&bare, now, NULL, NULL);
  g_auto (GStrv) keys = g_strsplit (form->keys != NULL ? form->keys : "", "|", -1);
  GString *text = g_string_new (klass->name), *left = g_string_new (NULL);
  guint combinations = 1, n;

  for (char **key = keys; *key != NULL; key++)
    {
      const GememParam *param = gemem_params_find (klass->params, *key);
      g_autofree char *values = param != NULL ? axis (param, effective, &n) : NULL;

      if (values == NULL || n < 2)
        continue;
      if (n > MOST / combinations)
        {
          g_string_append_printf (left, "%s%s", left->len > 0 ? ", " : "", param->name);
          continue;
        }
      combinations *= n;
      g_string_append_printf (text, "%c%s", strchr (text->str, ':') == NULL ? ':' : ',', values);
    }
  *left_out = g_string_free (left, left->len == 0);
  return g_string_free (text, FALSE);
}

GPtrArray *
gemem_tune_space (const GememAllocatorClass *klass, const char *system, const char *now,
                  char **left_out, GError **error)
{
  const GememForm *form = gemem_paste_form (klass, system);
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autofree char *text = NULL;

  *left_out = NULL;
  if (form == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s: no settings of it are known to be worth trying; name some, -a %s:KEY=A|B",
                   klass->name, klass->name);
      return NULL;
    }
  text = space_text (klass, form, now, left_out);
  if (!gemem_allocator_spec_parse (text, specs, error))
    g_clear_pointer (left_out, g_free);
  else
    return g_steal_pointer (&specs);
  return NULL;
}

/* named.c - see named.h. */
#include "config.h"

#include <string.h>

#include "sim/core/error.h"
#include "sim/core/named.h"

static const GememParam no_params[] = { { NULL } };

static const GememParam *
params_of (const GememNamed *named)
{
  return named->params != NULL ? named->params : no_params;
}

static gboolean
is_called (const GememNamed *named, const char *name)
{
  g_auto (GStrv) aliases = g_strsplit (named->aliases != NULL ? named->aliases : "", "|", -1);

  if (gemem_name_equal (named->name, name))
    return TRUE;
  for (char **alias = aliases; *alias != NULL; alias++)
    if (gemem_name_equal (*alias, name))
      return TRUE;
  return FALSE;
}

const GememNamed *
gemem_named_find (const GememNamed *const *list, const char *kind, const char *name, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char *all = NULL;
  const char *near;

  for (const GememNamed *const *n = list; *n != NULL; n++)
    {
      if (is_called (*n, name))
        return *n;
      g_ptr_array_add (names, (gpointer) (*n)->name);
    }
  g_ptr_array_add (names, NULL);
  near = gemem_suggest (name, (const char *const *) names->pdata);
  all = g_strjoinv (", ", (char **) names->pdata);
  if (near != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown %s '%s'; did you mean '%s'?", kind, name, near);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown %s '%s'; there are %s", kind, name, all);
  return NULL;
}

void
gemem_choice_free (GememChoice *choice)
{
  if (choice == NULL)
    return;
  g_free (choice->label);
  g_ptr_array_unref (choice->settings);
  g_free (choice);
}

gboolean
gemem_named_parse (const GememNamed *const *list, const char *kind, const char *text, GPtrArray *choices, GError **error)
{
  const char *colon = strchr (text, ':');
  g_autofree char *name = colon != NULL ? g_strndup (text, (gsize) (colon - text)) : g_strdup (text);
  const GememNamed *named = gemem_named_find (list, kind, name, error);
  GPtrArray *settings = named != NULL ? gemem_settings_parse (colon != NULL ? colon + 1 : "", error) : NULL;
  GememChoice *choice;
  gpointer params;

  if (settings == NULL)
    return FALSE;
  choice = g_new0 (GememChoice, 1);
  choice->named = named;
  choice->label = g_strdup (text);
  choice->settings = settings;
  params = gemem_choice_params (choice, kind, NULL, error);
  if (params == NULL)
    {
      gemem_choice_free (choice);
      return FALSE;
    }
  gemem_choice_params_free (choice, params);
  g_ptr_array_add (choices, choice);
  return TRUE;
}

static gboolean
is_given (const GPtrArray *settings, const GememParam *table, const GememParam *row)
{
  for (guint i = 0; i < settings->len; i++)
    if (gemem_params_find (table, ((GememSetting *) settings->pdata[i])->key) == row)
      return TRUE;
  return FALSE;
}

gpointer
gemem_choice_params (const GememChoice *choice, const char *kind, const GPtrArray *defaults, GError **error)
{
  static const GememParamContext context = { 0 };
  const GememParam *table = params_of (choice->named);
  g_autoptr (GPtrArray) merged = g_ptr_array_new ();
  g_autofree char *what = g_strdup_printf ("%s %s", kind, choice->named->name);
  gpointer params = g_malloc0 (MAX (choice->named->params_size, 1));

  for (guint i = 0; defaults != NULL && i < defaults->len; i++)
    {
      const GememParam *row = gemem_params_find (table, ((GememSetting *) defaults->pdata[i])->key);

      if (row != NULL && !is_given (choice->settings, table, row))
        g_ptr_array_add (merged, defaults->pdata[i]);
    }
  for (guint i = 0; i < choice->settings->len; i++)
    g_ptr_array_add (merged, choice->settings->pdata[i]);
  if (gemem_params_apply (table, params, &context, what, merged, error))
    return params;
  g_free (params);
  return NULL;
}

void
gemem_choice_params_free (const GememChoice *choice, gpointer params)
{
  gemem_params_clear (params_of (choice->named), params);
  g_free (params);
}

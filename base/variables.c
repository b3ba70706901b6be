/* variables.c - which rows of a table are environment variables in the real system; combines the
 * user's settings with defaults or environment variables, and determines which of these must be
 * left out, with the reason.
 *
 * Real systems have all their flags in every process, and most flags have no effect in most
 * configurations.  A flag without an effect is an error if the user writes it (flags.h), but not if
 * it is in the environment.  Only the owner of the table knows which flags have no effect: its
 * check is called repeatedly, and each flag it names is removed, until it reports no further such
 * flag.
 *
 * Invariants: the user's settings take precedence over any variable; a bad value is never left out
 * silently, because it is another kind of error.
 * Cost: one check per variable left out, and one more per variable for variables that make a
 * setting of the user ineffective.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/flags.h"
#include "base/params.h"

/* ---- names */

#define FLAGS "FLAGS_"

/* TRUE for the name of an environment variable: Paddle's FLAGS_..., or capitals with an underscore,
 * as no other name of a parameter is written. */
static gboolean
is_variable (const char *name)
{
  return g_str_has_prefix (name, FLAGS)
         || (strchr (name, '_') != NULL
             && strspn (name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen (name));
}

GStrv
gemem_param_variables (const GememParam *param)
{
  static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  g_autofree char *all = NULL;
  GStrv names;
  guint n = 0;

  if (strpbrk (param->name, capitals) == NULL
      && (param->aliases == NULL || strpbrk (param->aliases, capitals) == NULL))
    return g_new0 (char *, 1); /* most; every run asks all of them */
  all = g_strconcat (param->name, "|", param->aliases, NULL);
  names = g_strsplit (all, "|", -1);
  for (guint i = 0; names[i] != NULL; i++)
    if (is_variable (names[i]))
      names[n++] = names[i];
    else
      g_free (names[i]);
  names[n] = NULL;
  return names;
}

const GememParam *
gemem_params_find_variable (const GememParam *table, const char *variable)
{
  for (const GememParam *param = table; param != NULL && param->name != NULL; param++)
    {
      g_auto (GStrv) own = gemem_param_variables (param);
      if (g_strv_contains ((const char *const *) own, variable))
        return param;
    }
  return NULL;
}

static gboolean
is_set (const GPtrArray *variables, const char *name)
{
  for (guint i = 0; i < variables->len; i++)
    if (strcmp (((const GememSetting *) variables->pdata[i])->key, name) == 0)
      return TRUE;
  return FALSE;
}

/* The one of @variables that counts instead of @variable: of several that set @row, the first that
 * @row names; and one of another row that excludes @row without being excluded by it.  NULL if it
 * is @variable; and of Paddle's flags, which belong to different versions, two are an error that
 * the table reports. */
static char *
stronger (const GememParam *table, const GememParam *row, const GPtrArray *variables,
          const char *variable)
{
  g_auto (GStrv) names = gemem_param_variables (row);

  for (guint i = 0; strcmp (names[i], variable) != 0; i++)
    if (!g_str_has_prefix (names[i], FLAGS) && is_set (variables, names[i]))
      return g_strdup (names[i]);
  for (guint i = 0; i < variables->len && !g_str_has_prefix (variable, FLAGS); i++)
    {
      const char *other = ((const GememSetting *) variables->pdata[i])->key;
      const GememParam *its = gemem_params_find_variable (table, other);

      if (its != NULL && gemem_name_listed (its->conflicts, row->name)
          && !gemem_name_listed (row->conflicts, its->name))
        return g_strdup (other);
    }
  return NULL;
}

/* ---- merging */

gboolean
gemem_settings_override (const GememParam *table, const GPtrArray *own, const GememParam *row)
{
  for (guint i = 0; i < own->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (own, i);
      const GememParam *mine = gemem_params_find (table, setting->key);

      if (mine != NULL
          && (mine == row || gemem_name_listed (row->conflicts, mine->name)
              || gemem_param_excludes (mine, setting->value, row)))
        return TRUE;
    }
  return FALSE;
}

/* FALSE with an error if @value, which an input gives @row, names a file. */
static gboolean
check_recorded (const GememParam *row, const char *value, const char *what, GError **error)
{
  if ((row->flags & GEMEM_PARAM_FILE) == 0
      && ((row->flags & GEMEM_PARAM_NAME_OR_FILE) == 0
          || (strchr (value, '/') == NULL && !g_str_has_suffix (value, ".ini"))))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: the input sets %s=%.80s, which names a file, and only the command line may; if "
               "you trust it, give %s= there",
               what, row->name, value, row->name);
  return FALSE;
}

GPtrArray *
gemem_settings_merge (const GememParam *table, const GPtrArray *defaults, const GPtrArray *own,
                      const char *what, GError **error)
{
  g_autoptr (GPtrArray) merged = g_ptr_array_new ();

  for (guint i = 0; defaults != NULL && i < defaults->len; i++)
    {
      GememSetting *setting = g_ptr_array_index (defaults, i);
      const GememParam *row = gemem_params_find (table, setting->key);

      if (row != NULL && gemem_settings_override (table, own, row))
        continue;
      if (row != NULL && !check_recorded (row, setting->value, what, error))
        return NULL;
      g_ptr_array_add (merged, setting);
    }
  for (guint i = 0; i < own->len; i++)
    g_ptr_array_add (merged, g_ptr_array_index (own, i));
  return g_steal_pointer (&merged);
}

GPtrArray *
gemem_settings_from_variables (const GememParam *table, const GPtrArray *variables,
                               const GPtrArray *own)
{
  GPtrArray *settings = gemem_settings_new ();

  for (guint i = 0; variables != NULL && i < variables->len; i++)
    {
      const GememSetting *variable = g_ptr_array_index (variables, i);
      const GememParam *row = gemem_params_find_variable (table, variable->key);
      g_autofree char *other = row != NULL ? stronger (table, row, variables, variable->key) : NULL;

      if (row != NULL && other == NULL && !gemem_settings_override (table, own, row))
        gemem_settings_add (settings, variable->key, variable->value);
    }
  return settings;
}

/* ---- environment variables */

typedef struct
{
  const GememParam *table;
  const GPtrArray *settings; /* settings of the user */
  GPtrArray *known;          /* variables */
  GememObjection object;
  gpointer data;
} Question;

/* Checks the settings and all variables except the one at @without; returns the error or NULL. */
static GError *
ask (const Question *question, guint without)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new ();

  for (guint i = 0; i < question->settings->len; i++)
    g_ptr_array_add (all, question->settings->pdata[i]);
  for (guint i = 0; i < question->known->len; i++)
    if (i != without)
      g_ptr_array_add (all, question->known->pdata[i]);
  return question->object (all, question->data);
}

/* The index of the variable to leave out because of @error: the flag named as without effect, else
 * a variable whose absence changes the error; G_MAXUINT: none. */
static guint
find_culprit (const Question *question, const GError *error)
{
  g_autofree char *flag = gemem_flag_in_vain (error);

  for (guint i = 0; flag != NULL && i < question->known->len; i++)
    {
      const char *key = ((const GememSetting *) question->known->pdata[i])->key;
      if (gemem_params_find (question->table, key) == gemem_params_find (question->table, flag))
        return i;
    }
  for (guint i = 0; flag != NULL && i < question->known->len; i++)
    {
      g_autoptr (GError) other = ask (question, i);
      if (other == NULL || strcmp (other->message, error->message) != 0)
        return i;
    }
  return G_MAXUINT;
}

void
gemem_settings_add_variables (const GememParam *table, GPtrArray *settings,
                              const GPtrArray *variables, GPtrArray *used, GPtrArray *left_out,
                              GememObjection object, gpointer data)
{
  g_autoptr (GPtrArray) known = gemem_settings_from_variables (table, variables, settings);
  const Question question = { table, settings, known, object, data };

  for (guint i = 0, k = 0; variables != NULL && i < variables->len; i++)
    {
      const char *key = ((const GememSetting *) variables->pdata[i])->key;
      const GememParam *row = gemem_params_find_variable (table, key);
      g_autofree char *other = row != NULL ? stronger (table, row, variables, key) : NULL;
      g_autofree char *reason = other != NULL ? g_strconcat (other, " counts more", NULL)
                                              : g_strdup ("what was given counts more");

      if (k < known->len && strcmp (((const GememSetting *) known->pdata[k])->key, key) == 0)
        k++;
      else if (row != NULL)
        gemem_settings_add (left_out, key, reason);
    }
  while (known->len > 0)
    {
      g_autoptr (GError) error = ask (&question, G_MAXUINT);
      const guint culprit = error != NULL ? find_culprit (&question, error) : G_MAXUINT;

      if (culprit == G_MAXUINT)
        break;
      gemem_settings_add (left_out, ((const GememSetting *) known->pdata[culprit])->key,
                          error->message);
      g_ptr_array_remove_index (known, culprit);
    }
  gemem_settings_append (settings, known);
  gemem_settings_append (used, known);
}

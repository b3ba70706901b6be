/* paste.c - see paste.h.
 *
 * A string of settings and the arguments of a call replace all that was there, so what is as by
 * default is left out, but where the real default is another one.  Variables and options stand beside what the program sets otherwise: those
 * that were asked for are written even then.
 */
#include "config.h"

#include <string.h>

#include "base/io/child.h"
#include "base/units.h"
#include "sim/search/paste.h"

const GememForm *
gemem_paste_form (const GememAllocatorClass *klass, const char *system)
{
  for (const GememForm *form = klass->forms; form != NULL && form->system != NULL; form++)
    if (system == NULL || strcmp (form->system, system) == 0)
      return form;
  return NULL;
}

/* ---- to text */

/* The name of @param in @form with @params, g_free(); NULL: it cannot be said there. */
static char *
key_of (const GememAllocatorClass *klass, const GememForm *form, const GememParam *param,
        gconstpointer params)
{
  g_auto (GStrv) variables = NULL, aliases = NULL;
  const GememParam *whole;

  switch (form->kind)
    {
    case GEMEM_FORM_STRING: /* what excludes the string is what it can hold */
      whole = gemem_params_find_variable (klass->params, form->text);
      return whole != NULL && gemem_name_listed (whole->conflicts, param->name)
                     && (form->reads == NULL || form->reads (params, param->name))
                 ? g_strdup (param->name)
                 : NULL;
    case GEMEM_FORM_VARIABLES:
      variables = gemem_param_variables (param);
      return g_strdup (variables[0]);
    case GEMEM_FORM_OPTIONS:
      aliases = g_strsplit (param->aliases != NULL ? param->aliases : "", "|", -1);
      for (char **alias = aliases; *alias != NULL; alias++)
        if (strchr (*alias, '.') != NULL)
          return g_strdup (*alias);
      return NULL;
    case GEMEM_FORM_CALL:
    default:
      return gemem_name_listed (form->keys, param->name) ? g_strdup (param->name) : NULL;
    }
}

/* @bytes in the unit of @param as a whole number; NULL: it is none. */
static char *
size_text (const GememParam *param, guint64 bytes)
{
  guint64 unit = 1;
  g_autofree char *one = param->unit != NULL ? g_strconcat ("1", param->unit, NULL) : NULL;

  if (one != NULL && (!gemem_parse_size (one, 1, 0, &unit, NULL) || unit == 0))
    return NULL;
  return bytes % unit == 0 ? g_strdup_printf ("%" G_GUINT64_FORMAT, bytes / unit) : NULL;
}

/* The value of @param in @params as the real system reads it; NULL: it cannot be said. */
static char *
native_value (const GememForm *form, const GememParam *param, gconstpointer params)
{
  const gpointer field = G_STRUCT_MEMBER_P (params, param->offset);
  const gboolean python = form->kind == GEMEM_FORM_STRING || form->kind == GEMEM_FORM_CALL;

  if (param->type == GEMEM_PARAM_BOOL)
    return g_strdup (*(gboolean *) field ? (python ? "True" : "true")
                                         : (python ? "False" : "false"));
  if (param->type == GEMEM_PARAM_SIZE)
    return size_text (param, *(guint64 *) field);
  return gemem_param_value_text (param, params);
}

static gboolean
is_among (const GPtrArray *settings, const GememParam *param, const GememParam *table)
{
  for (guint i = 0; i < settings->len; i++)
    if (gemem_params_find (table, ((const GememSetting *) settings->pdata[i])->key) == param)
      return TRUE;
  return FALSE;
}

char *
gemem_paste_shell (const char *text)
{
  return *text != '\0' ? gemem_shell_word (text) : g_strdup (text);
}

static void
append_pair (GString *out, const GememForm *form, const char *key, const char *value)
{
  g_autofree char *quoted = NULL;

  switch (form->kind)
    {
    case GEMEM_FORM_STRING:
      g_string_append_printf (out, "%s%s:%s", out->len > 0 ? "," : "", key, value);
      break;
    case GEMEM_FORM_CALL:
      g_string_append_printf (out, ", %s=%s", key, value);
      break;
    case GEMEM_FORM_VARIABLES:
    case GEMEM_FORM_OPTIONS:
    default:
      quoted = gemem_paste_shell (value);
      g_string_append_printf (out, "%s%s=%s", out->len > 0 ? " " : "", key, quoted);
    }
}

/* The settings in @params that can and have to be said; NULL: one of them cannot. */
static GString *
pairs_of (const GememAllocatorClass *klass, const GememForm *form, gboolean instead,
          gconstpointer params, const GPtrArray *own)
{
  const gboolean beside = form->kind == GEMEM_FORM_VARIABLES || form->kind == GEMEM_FORM_OPTIONS;
  GString *out = g_string_new (beside && instead ? form->instead : NULL);

  if (beside && form->text != NULL)
    g_string_append_printf (out, "%s%s", out->len > 0 ? " " : "", form->text);

  for (const GememParam *param = klass->params; param != NULL && param->name != NULL; param++)
    {
      g_autofree char *key = key_of (klass, form, param, params);
      g_autofree char *value = NULL;
      const gboolean asked = is_among (own, param, klass->params);

      if (gemem_param_is_default (param, params) && !(beside && asked)
          && !gemem_name_listed (form->always, param->name))
        continue;
      if (key != NULL && (asked || !beside))
        value = native_value (form, param, params);
      if (value != NULL)
        append_pair (out, form, key, value);
      else if (asked)
        {
          g_string_free (out, TRUE);
          return NULL;
        }
    }
  return out;
}

/* Whether the call names its only argument itself. */
static gboolean
takes_value (const GememForm *form)
{
  return form->kind == GEMEM_FORM_CALL && strstr (form->text, "=%s") != NULL;
}

char *
gemem_paste_line (const GememAllocatorClass *klass, const GememForm *form, gboolean instead,
                  const char *defaults, const GPtrArray *own)
{
  const GememParamContext context = { 0 };
  g_autoptr (GPtrArray) given = gemem_settings_parse (defaults != NULL ? defaults : "", NULL);
  g_autoptr (GPtrArray) settings = NULL;
  g_autofree gpointer params = g_malloc0 (MAX (klass->params_size, 1));
  GString *pairs;
  char *line = NULL;

  if (given == NULL
      || (settings = gemem_settings_merge (klass->params, given, own, klass->name, NULL)) == NULL
      || (klass->params != NULL
          && !gemem_params_apply (klass->params, params, &context, klass->name, settings, NULL)))
    return NULL;
  pairs = pairs_of (klass, form, instead, params, own);
  if (klass->params != NULL)
    gemem_params_clear (klass->params, params);
  if (pairs == NULL)
    return NULL;
  if (form->kind == GEMEM_FORM_STRING)
    {
      g_autofree char *quoted = gemem_paste_shell (pairs->str);
      line = g_strdup_printf ("export %s=%s", form->text, quoted);
    }
  else if (form->kind == GEMEM_FORM_CALL)
    {
      g_auto (GStrv) around = g_strsplit (form->text, "%s", 2);
      const gboolean first = g_str_has_suffix (around[0], "("); /* no comma before it */
      const gsize named = strlen (", =") + strlen (form->keys);
      const gsize passed = takes_value (form) ? named : first ? 2 : 0;

      line = g_strconcat (around[0], pairs->str + MIN (passed, pairs->len), around[1], NULL);
    }
  else
    line = g_strconcat (form->kind == GEMEM_FORM_VARIABLES ? "export " : "", pairs->str, NULL);
  g_string_free (pairs, TRUE);
  return line;
}

/* ---- and back */

/* Always NULL. */
static gpointer
fail (GError **error, const char *line, const char *what)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "'%s': %s", line, what);
  return NULL;
}

/* The assignments of @line, without those that choose the allocator, which have to be there. */
static GPtrArray *
assignments (const GememForm *form, const char *line, GError **error)
{
  g_autoptr (GPtrArray) settings = gemem_settings_new ();
  g_auto (GStrv) words = NULL;
  g_auto (GStrv) choice = g_strsplit (
      form->kind != GEMEM_FORM_STRING && form->text != NULL ? form->text : "", " ", -1);
  g_auto (GStrv) also = g_strsplit (form->instead != NULL ? form->instead : "", " ", -1);
  guint chosen = 0;

  if (g_str_has_prefix (line, "export "))
    line += strlen ("export ");
  if (!g_shell_parse_argv (line, NULL, &words, NULL))
    return fail (error, line, "no assignments; write NAME=VALUE");
  for (char **word = words; *word != NULL; word++)
    {
      g_auto (GStrv) pair = g_strsplit (*word, "=", 2);

      if (g_strv_contains ((const char *const *) choice, *word))
        chosen++;
      else if (g_strv_contains ((const char *const *) also, *word))
        continue;
      else if (pair[0] != NULL && pair[1] != NULL)
        gemem_settings_add (settings, pair[0], pair[1]);
      else
        return fail (error, line, "no assignments; write NAME=VALUE");
    }
  if (chosen != g_strv_length (choice))
    {
      g_autofree char *what = g_strdup_printf ("it does not choose this allocator; add %s",
                                               form->text);
      return fail (error, line, what);
    }
  return g_steal_pointer (&settings);
}

/* "key=value,..." of the options or arguments in @line. */
static char *
settings_text (const GememForm *form, const char *line, GError **error)
{
  GString *out = g_string_new (NULL);

  if (form->kind == GEMEM_FORM_CALL)
    {
      g_auto (GStrv) around = g_strsplit (form->text, "%s", 2);
      const gsize before = strlen (around[0]), after = strlen (around[1]);
      g_auto (GStrv) arguments = NULL;
      g_autofree char *inner = NULL;

      if (strlen (line) < before + after || !g_str_has_prefix (line, around[0])
          || !g_str_has_suffix (line, around[1]))
        {
          g_string_free (out, TRUE);
          return fail (error, line, "it makes another allocator");
        }
      inner = g_strndup (line + before, strlen (line) - before - after);
      if (takes_value (form))
        g_string_append_printf (out, "%s=", form->keys);
      arguments = g_strsplit (g_str_has_prefix (inner, ", ") ? inner + 2 : inner, ", ", -1);
      for (char **argument = arguments; *argument != NULL; argument++)
        g_string_append_printf (out, "%s%s", argument > arguments ? "," : "", *argument);
    }
  else
    {
      g_autoptr (GPtrArray) settings = assignments (form, line, error);

      for (guint i = 0; settings != NULL && i < settings->len; i++)
        {
          const GememSetting *setting = settings->pdata[i];
          g_autofree char *quoted = gemem_settings_quote (setting->value);
          g_string_append_printf (out, "%s%s=%s", i > 0 ? "," : "", setting->key, quoted);
        }
      if (settings == NULL)
        return g_string_free (out, TRUE);
    }
  return g_string_free (out, FALSE);
}

/* FALSE with @error if @settings, of a line, leave out what is another value by default in the real system
 * than here. */
static gboolean
says_all (const GememForm *form, const char *line, const char *settings, GError **error)
{
  g_autoptr (GPtrArray) given = gemem_settings_parse (settings, NULL);
  g_auto (GStrv) keys = g_strsplit (form->always != NULL ? form->always : "", "|", -1);

  for (char **key = keys; given != NULL && *key != NULL; key++)
    {
      gboolean said = FALSE;

      for (guint i = 0; i < given->len; i++)
        said |= strcmp (((GememSetting *) given->pdata[i])->key, *key) == 0;
      if (!said)
        {
          g_autofree char *what = g_strdup_printf ("its %s by default is not known here; add it",
                                                   *key);
          fail (error, line, what);
          return FALSE;
        }
    }
  return TRUE;
}

GememAllocatorSpec *
gemem_paste_read (const GememAllocatorClass *klass, const GememForm *form, const char *line,
                  GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autoptr (GPtrArray) variables = NULL;
  g_autofree char *text = NULL, *settings = NULL;
  GememAllocatorSpec *spec;

  if (form->kind == GEMEM_FORM_STRING || form->kind == GEMEM_FORM_VARIABLES)
    variables = assignments (form, line, error);
  else
    settings = settings_text (form, line, error);
  if ((variables == NULL && settings == NULL)
      || (settings != NULL && !says_all (form, line, settings, error)))
    return NULL;
  text = settings != NULL && *settings != '\0' ? g_strconcat (klass->name, ":", settings, NULL)
                                               : g_strdup (klass->name);
  if (!gemem_allocator_spec_parse_with (text, variables, specs, error))
    return NULL;
  spec = specs->pdata[0];
  if (spec->left_out->len > 0 || (variables != NULL && spec->variables->len != variables->len))
    return fail (error, line, "a part of it has no effect here");
  g_ptr_array_set_free_func (specs, NULL);
  return spec;
}

/* named.c - see named.h.
 *
 * Expansion: the name (or every name that matches the glob, in the order of the list) times the
 * product of the value lists.  Without an expansion the label is the user's text; other labels are
 * made from name and settings and parse back to the same choice.
 * Cost: linear in the list and in the choices made; a text expands to at most CHOICES_MAX settings
 * of one name.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/named.h"
#include "base/units.h"

#define CHOICES_MAX 10000 /* a longer product of value lists is taken for a typing error */

static const GememParam no_params[] = { { NULL } };

static const GememParam *
params_of (const GememNamed *named)
{
  return named->params != NULL ? named->params : no_params;
}

/* ---- by name */

/* All names, then all aliases, NULL-terminated, for suggestions ("did you mean"). */
static GPtrArray *
all_names (const GememNamed *const *list)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

  for (const GememNamed *const *n = list; *n != NULL; n++)
    g_ptr_array_add (names, g_strdup ((*n)->name));
  for (const GememNamed *const *n = list; *n != NULL; n++)
    {
      g_auto (GStrv) aliases = g_strsplit ((*n)->aliases != NULL ? (*n)->aliases : "", "|", -1);

      for (guint i = 0; aliases[i] != NULL; i++)
        g_ptr_array_add (names, g_strdup (aliases[i]));
    }
  g_ptr_array_add (names, NULL);
  return names;
}

static char *
list_names (const GememNamed *const *list)
{
  GString *names = g_string_new (NULL);

  for (const GememNamed *const *n = list; *n != NULL; n++)
    g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", (*n)->name);
  return g_string_free (names, FALSE);
}

const GememNamed *
gemem_named_find (const GememNamed *const *list, const char *kind, const char *name, GError **error)
{
  g_autoptr (GPtrArray) names = NULL;
  g_autofree char *known = NULL;
  const char *near;

  for (const GememNamed *const *n = list; *n != NULL; n++)
    if (gemem_name_is ((*n)->name, (*n)->aliases, name))
      return *n;
  names = all_names (list);
  known = list_names (list);
  near = gemem_suggest (name, (const char *const *) names->pdata);
  if (near != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown %s '%s'; did you mean '%s'?", kind,
                 name, near);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown %s '%s'; there are %s", kind, name,
                 known);
  return NULL;
}

void
gemem_choice_free (GememChoice *choice)
{
  if (choice == NULL)
    return;
  g_free (choice->label);
  g_ptr_array_unref (choice->settings);
  g_clear_pointer (&choice->variables, g_ptr_array_unref);
  g_clear_pointer (&choice->left_out, g_ptr_array_unref);
  g_free (choice);
}

/* ---- value lists */

/* Splits "a|b|c"; a bar inside brackets is part of the value. */
static GPtrArray *
split_values (const char *text)
{
  GPtrArray *values = g_ptr_array_new_with_free_func (g_free);
  const char *start = text;
  int depth = 0;

  for (const char *p = text;; p++)
    {
      depth += (*p == '[') - (*p == ']');
      if (*p == '\0' || (*p == '|' && depth <= 0))
        {
          g_ptr_array_add (values, g_strndup (start, (gsize) (p - start)));
          start = p + 1;
        }
      if (*p == '\0')
        return values;
    }
}

/* Appends the whole numbers of @text, "A..B", to @values.  FALSE with @error: there are none, or too many. */
static gboolean
append_range (GPtrArray *values, const char *name, const char *key, const char *text,
              GError **error)
{
  g_auto (GStrv) ends = g_strsplit (text, "..", 2);
  guint64 first, last;

  if (!gemem_parse_digits (ends[0], 10, 0, G_MAXINT64, &first)
      || !gemem_parse_digits (ends[1], 10, 0, G_MAXINT64, &last))
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: %s=%s: a range is of whole numbers, as 20..40; write others as a list, A|B",
                 name, key, text);
  else if (first > last)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: %s=%s: the range is empty; write the smaller number first", name, key, text);
  else if (last - first >= CHOICES_MAX)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: %s=%s: more than %d values; shorten the range", name, key, text, CHOICES_MAX);
  else
    {
      for (guint64 value = first; value <= last; value++)
        g_ptr_array_add (values, g_strdup_printf ("%" G_GUINT64_FORMAT, value));
      return TRUE;
    }
  return FALSE;
}

/* Replaces each "A..B" among @values, which are numbers, by what it stands for. */
static GPtrArray *
expand_ranges (GPtrArray *values, const char *name, const char *key, GError **error)
{
  g_autoptr (GPtrArray) given = values, all = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < given->len; i++)
    if (strstr (given->pdata[i], "..") == NULL)
      g_ptr_array_add (all, g_strdup (given->pdata[i]));
    else if (!append_range (all, name, key, given->pdata[i], error))
      return NULL;
  return g_steal_pointer (&all);
}

static gboolean
is_number (const GememParam *param)
{
  return param != NULL && param->type != GEMEM_PARAM_BOOL && param->type != GEMEM_PARAM_CHOICE
         && param->type != GEMEM_PARAM_STRING;
}

/* The values of @setting, which belongs to the row @param (or NULL: unknown) of @name; "*" stands
 * for all of gemem_param_sweep(), "A..B" for whole numbers. */
static GPtrArray *
values_of (const char *name, const GememParam *param, const GememSetting *setting, GError **error)
{
  GPtrArray *values;

  if (param != NULL && strcmp (setting->value, "*") == 0)
    values = gemem_param_sweep (param);
  else if (param != NULL && (param->flags & GEMEM_PARAM_BARS) != 0)
    {
      values = g_ptr_array_new_with_free_func (g_free);
      g_ptr_array_add (values, g_strdup (setting->value));
    }
  else
    values = split_values (setting->value);
  if (is_number (param) && strstr (setting->value, "..") != NULL)
    return expand_ranges (values, name, setting->key, error);
  if (values->len > 0)
    return values;
  g_ptr_array_unref (values);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: %s=*: no values are known to be worth trying; write a list, %s=A|B", name,
               setting->key, setting->key);
  return NULL;
}

/* One GPtrArray of values per setting; NULL if there are more than CHOICES_MAX combinations, or a
 * setting has no values. */
static GPtrArray *
split_all (const char *name, const GememParam *const *tables, const GPtrArray *settings,
           guint *combinations, GError **error)
{
  g_autoptr (GPtrArray) lists = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);

  *combinations = 1;
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);
      const GememParam *param = NULL;
      for (const GememParam *const *table = tables; *table != NULL && param == NULL; table++)
        param = gemem_params_find (*table, setting->key);
      GPtrArray *values = values_of (name, param, setting, error);

      if (values == NULL)
        return NULL;
      g_ptr_array_add (lists, values);
      if (values->len > CHOICES_MAX / *combinations)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "%s: the value lists give more than %d combinations; shorten them",
                       setting->key, CHOICES_MAX);
          return NULL;
        }
      *combinations *= values->len;
    }
  return g_steal_pointer (&lists);
}

static char *
make_label (const char *name, const GPtrArray *settings)
{
  GString *label = g_string_new (name);

  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);
      g_autofree char *quoted = gemem_settings_quote (setting->value);

      g_string_append_printf (label, "%c%s=%s", i == 0 ? ':' : ',', setting->key, quoted);
    }
  return g_string_free (label, FALSE);
}

/* The @index-th combination of @lists, the last setting varying fastest. */
static GPtrArray *
combine (const GPtrArray *settings, const GPtrArray *lists, guint index)
{
  GPtrArray *combination = gemem_settings_new ();
  g_autofree guint *digits = g_new0 (guint, (gsize) settings->len + 1);

  for (guint i = settings->len; i-- > 0;)
    {
      const guint n = ((const GPtrArray *) lists->pdata[i])->len;

      digits[i] = index % n;
      index /= n;
    }
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (settings, i);
      const GPtrArray *values = g_ptr_array_index (lists, i);

      gemem_settings_add (combination, setting->key, g_ptr_array_index (values, digits[i]));
    }
  return combination;
}

GPtrArray *
gemem_settings_multiply (const char *name, const GememParam *const *tables,
                         const GPtrArray *settings, GError **error)
{
  guint combinations;
  g_autoptr (GPtrArray) lists = split_all (name, tables, settings, &combinations, error);
  GPtrArray *all;

  if (lists == NULL)
    return NULL;
  all = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  for (guint i = 0; i < combinations; i++)
    g_ptr_array_add (all, combine (settings, lists, i));
  return all;
}

/* Appends a choice of @named, which the user calls @name, for each combination of the values that
 * @settings have by @tables. */
static gboolean
multiply_by (const GememNamed *named, const char *name, const GememParam *const *tables,
             const GPtrArray *settings, GPtrArray *choices, GError **error)
{
  g_autoptr (GPtrArray) all = gemem_settings_multiply (named->name, tables, settings, error);

  for (guint i = 0; all != NULL && i < all->len; i++)
    {
      GememChoice *choice = g_new0 (GememChoice, 1);

      choice->named = named;
      choice->settings = g_ptr_array_ref (g_ptr_array_index (all, i));
      choice->label = make_label (name, choice->settings);
      g_ptr_array_add (choices, choice);
    }
  return all != NULL;
}

static gboolean
multiply (const GememNamed *named, const char *name, const GPtrArray *settings, GPtrArray *choices,
          GError **error)
{
  const GememParam *const tables[] = { named->params, NULL };

  return multiply_by (named, name, tables, settings, choices, error);
}

gboolean
gemem_choice_multiply (const GememChoice *choice, const GememParam *const *tables,
                       GPtrArray *choices, GError **error)
{
  g_autofree char *name = g_strndup (choice->label, strcspn (choice->label, ":"));

  return multiply_by (choice->named, g_strstrip (name), tables, choice->settings, choices, error);
}

/* ---- names and globs */

/* Makes '-' and '_' equal and ignores case, in globs too. */
static char *
normalise (const char *text)
{
  return g_strdelimit (g_ascii_strdown (text, -1), "_", '-');
}

static gboolean
multiply_matches (const GememNamed *const *list, const char *kind, const char *name,
                  const GPtrArray *settings, GPtrArray *choices, GError **error)
{
  g_autofree char *glob = normalise (name);
  gboolean matched = FALSE;

  for (const GememNamed *const *n = list; *n != NULL; n++)
    {
      g_autofree char *candidate = normalise ((*n)->name);

      if (!g_pattern_match_simple (glob, candidate))
        continue;
      matched = TRUE;
      if (!multiply (*n, (*n)->name, settings, choices, error))
        return FALSE;
    }
  if (!matched)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s '%s': matches nothing; `gemem-sim list %ss` shows all", kind, name, kind);
  return matched;
}

/* The choices of @text, unchecked; NULL with @error set. */
static GPtrArray *
expand (const GememNamed *const *list, const char *kind, const char *text, GError **error)
{
  const char *colon = strchr (text, ':');
  g_autofree char *name = g_strstrip (
      g_strndup (text, colon != NULL ? (gsize) (colon - text) : strlen (text)));
  g_autoptr (GPtrArray)
      settings = gemem_check_text (kind, text, error)
                     ? gemem_settings_parse (colon != NULL ? colon + 1 : "", error)
                     : NULL;
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);
  const gboolean glob = strpbrk (name, "*?") != NULL;
  const GememNamed *named;

  if (settings == NULL)
    return NULL;
  if (*name == '\0')
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s '%s': no name before the colon; write NAME:key=value", kind, text);
      return NULL;
    }
  if (strchr (name, '=') != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s '%s': settings without a colon before them; write NAME:key=value,key=value",
                   kind, text);
      return NULL;
    }
  if (glob)
    return multiply_matches (list, kind, name, settings, choices, error)
               ? g_steal_pointer (&choices)
               : NULL;
  named = gemem_named_find (list, kind, name, error);
  if (named == NULL || !multiply (named, name, settings, choices, error))
    return NULL;
  if (choices->len == 1) /* no expansion: the label is the user's text */
    {
      GememChoice *choice = g_ptr_array_index (choices, 0);

      g_free (choice->label);
      choice->label = g_strdup (text);
    }
  return g_steal_pointer (&choices);
}

static void
move_all (GPtrArray *from, GPtrArray *to)
{
  g_ptr_array_set_free_func (from, NULL);
  for (guint i = 0; i < from->len; i++)
    g_ptr_array_add (to, g_ptr_array_index (from, i));
}

gboolean
gemem_named_expand (const GememNamed *const *list, const char *kind, const char *text,
                    GPtrArray *choices, GError **error)
{
  g_autoptr (GPtrArray) found = expand (list, kind, text, error);

  if (found != NULL)
    move_all (found, choices);
  return found != NULL;
}

static gboolean
check_units (const GememChoice *choice, const char *kind, GError **error)
{
  g_autofree char *what = g_strdup_printf ("%s %s", kind, choice->named->name);

  for (guint i = 0; i < choice->settings->len; i++)
    {
      const GememSetting *setting = g_ptr_array_index (choice->settings, i);

      if (!gemem_params_check_unit (choice->named->params, what, setting->key, setting->value,
                                    error))
        return FALSE;
    }
  return TRUE;
}

gboolean
gemem_named_parse (const GememNamed *const *list, const char *kind, const char *text,
                   GPtrArray *choices, GError **error)
{
  g_autoptr (GPtrArray) found = expand (list, kind, text, error);

  for (guint i = 0; found != NULL && i < found->len; i++)
    {
      const GememChoice *choice = g_ptr_array_index (found, i);
      gpointer params = check_units (choice, kind, error)
                            ? gemem_choice_params (choice, kind, NULL, error)
                            : NULL;

      if (params == NULL)
        return FALSE;
      gemem_choice_params_free (choice, params);
    }
  if (found != NULL)
    move_all (found, choices);
  return found != NULL;
}

GememChoice *
gemem_named_choose (const GememNamed *const *list, const char *kind, const char *text,
                    GError **error)
{
  g_autoptr (GPtrArray)
      choices = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_choice_free);

  if (!gemem_named_parse (list, kind, text, choices, error))
    return NULL;
  if (choices->len > 1)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s '%s': stands for %u of them; name one", kind, text, choices->len);
      return NULL;
    }
  return g_ptr_array_steal_index (choices, 0);
}

/* ---- parameters */

gpointer
gemem_choice_params (const GememChoice *choice, const char *kind, const GPtrArray *defaults,
                     GError **error)
{
  static const GememParamContext context = { 0 };
  const GememParam *table = params_of (choice->named);
  g_autoptr (GPtrArray) known = g_ptr_array_new ();
  g_autoptr (GPtrArray) merged = NULL;
  g_autofree char *what = g_strdup_printf ("%s %s", kind, choice->named->name);
  gpointer params = g_malloc0 (MAX (choice->named->params_size, 1));

  for (guint i = 0; defaults != NULL && i < defaults->len; i++)
    if (gemem_params_find (table, ((const GememSetting *) defaults->pdata[i])->key) != NULL)
      g_ptr_array_add (known, defaults->pdata[i]);
  merged = gemem_settings_merge (table, known, choice->settings, what, error);
  if (merged == NULL || !gemem_params_apply (table, params, &context, what, merged, error))
    {
      g_free (params);
      return NULL;
    }
  if (choice->named->check == NULL || choice->named->check (params, error))
    return params;
  g_prefix_error (error, "%s: ", what);
  gemem_choice_params_free (choice, params);
  return NULL;
}

void
gemem_choice_params_free (const GememChoice *choice, gpointer params)
{
  gemem_params_clear (params_of (choice->named), params);
  g_free (params);
}

void
gemem_choice_notes (const GememChoice *choice, const char *kind, const GPtrArray *defaults,
                    GememNoteFunc func, gpointer data)
{
  gpointer params = choice->named->notes != NULL
                        ? gemem_choice_params (choice, kind, defaults, NULL)
                        : NULL;

  if (params == NULL)
    return;
  choice->named->notes (params, func, data);
  gemem_choice_params_free (choice, params);
}

int
gemem_compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* ---- the environment */

typedef struct
{
  const GememChoice *choice;
  const char *kind;
} Asked;

/* The error that the table of the choice in @data, an Asked, reports for @settings together. */
static GError *
object_as_table (const GPtrArray *settings, gpointer data)
{
  const Asked *asked = data;
  GememChoice choice = *asked->choice;
  GError *error = NULL;
  gpointer params;

  choice.settings = (GPtrArray *) settings;
  params = gemem_choice_params (&choice, asked->kind, NULL, &error);
  if (params != NULL)
    gemem_choice_params_free (&choice, params);
  return error;
}

gboolean
gemem_choice_add_variables (GememChoice *choice, const char *kind, const GPtrArray *variables,
                            GError **error)
{
  const guint before = choice->settings->len;
  g_autoptr (GString) label = g_string_new (choice->label);
  GError *bad;

  choice->variables = gemem_settings_new ();
  choice->left_out = gemem_settings_new ();
  gemem_settings_add_variables (choice->named->params, choice->settings, variables,
                                choice->variables, choice->left_out, object_as_table,
                                &(Asked){ choice, kind });
  for (guint i = before; i < choice->settings->len; i++)
    {
      const GememSetting *variable = g_ptr_array_index (choice->settings, i);

      gemem_settings_append_text (label, variable->key, variable->value);
    }
  g_free (choice->label);
  choice->label = g_strdup (label->str);
  bad = object_as_table (choice->settings, &(Asked){ choice, kind });
  if (bad != NULL)
    g_propagate_error (error, bad);
  return bad == NULL;
}

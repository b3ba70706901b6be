/* params.c - parsing, checking and printing settings by the tables of params.h.
 *
 * One parser reads defaults, bounds and the user's values, so a table cannot contain a value that a
 * user could not write.  Every value passes through one union (Value), whose member depends on the
 * type of the parameter; bounds, special words and the test for the default compare two such
 * values.
 *
 * Invariants: after gemem_params_apply() every field is set, and within its bounds or one of its
 * special words; invalid text is an error that names the valid alternatives.
 * Cost: irrelevant, once per run of a simulation.
 */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/releases.h"
#include "base/units.h"

typedef union
{
  gboolean boolean;
  guint64 number; /* UINT, SIZE, TIME */
  gint64 integer;
  double real;
  int choice;
  const char *string; /* borrowed */
} Value;

/* ---- names */

/* Paddle writes its settings as FLAGS_name on the command line; the prefix does not belong to the
 * name. */
static const char *
without_flags (const char *name)
{
  if (g_ascii_strncasecmp (name, "FLAGS", 5) == 0 && (name[5] == '_' || name[5] == '-')
      && name[6] != '\0')
    return name + 6;
  return name;
}

static gboolean
same_parameter (const char *a, const char *b)
{
  return gemem_name_equal (without_flags (a), without_flags (b));
}

static gboolean
listed (const char *list, const char *name)
{
  const char *word;
  gsize length;

  while (gemem_words_next (&list, &word, &length))
    {
      const char *own = without_flags (word);

      if (gemem_name_is_word (own, length - (gsize) (own - word), without_flags (name)))
        return TRUE;
    }
  return FALSE;
}

const GememParam *
gemem_params_find (const GememParam *table, const char *key)
{
  /* mostly it is written as in the table, and that is quickly seen */
  for (const GememParam *param = table; param != NULL && param->name != NULL; param++)
    if (strcmp (param->name, key) == 0)
      return param;
  for (const GememParam *param = table; param != NULL && param->name != NULL; param++)
    if (same_parameter (param->name, key) || listed (param->aliases, key))
      return param;
  return NULL;
}

static void
unknown_parameter (const GememParam *table, const char *what, const char *key, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) known = g_string_new (NULL);

  for (const GememParam *param = table; param->name != NULL; param++)
    {
      g_auto (GStrv) aliases = g_strsplit (param->aliases != NULL ? param->aliases : "", "|", -1);
      g_ptr_array_add (names, g_strdup (param->name));
      for (guint i = 0; aliases[i] != NULL; i++)
        g_ptr_array_add (names, g_strdup (aliases[i]));
      g_string_append_printf (known, "%s%s", known->len > 0 ? ", " : "", param->name);
    }
  g_ptr_array_add (names, NULL);

  const char *near = gemem_suggest (without_flags (key), (const char *const *) names->pdata);
  if (near != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: unknown parameter '%s'; did you mean '%s'?", what, key, near);
  else if (known->len > 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: unknown parameter '%s'; known are %s",
                 what, key, known->str);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: unknown parameter '%s'; it takes no parameters", what, key);
}

/* ---- values */

/* The unit of a bare number of @param, in bytes or ns. */
static guint64
bare_unit (const GememParam *param)
{
  guint64 unit = 1;
  g_autofree char *one = g_strconcat ("1", param->unit, NULL);

  if (param->unit != NULL && param->type == GEMEM_PARAM_SIZE)
    g_assert_true (gemem_parse_size (one, 0, 0, &unit, NULL));
  else if (param->unit != NULL && param->type == GEMEM_PARAM_TIME)
    g_assert_true (gemem_parse_time (one, 0, &unit, NULL));
  return unit;
}

static gboolean
parse_bool (const char *text, gboolean *value, GError **error)
{
  static const char *const words[] = { "no", "yes", "false", "true", "off", "on", "0", "1" };

  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (g_ascii_strcasecmp (text, words[i]) == 0)
      {
        *value = i % 2 == 1;
        return TRUE;
      }
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "'%s': neither yes nor no; use yes or no (true/false, on/off, 1/0)", text);
  return FALSE;
}

/* Index of the choice @text in @words: words without '=' are the choices in order, "a=b" makes a a
 * synonym of b. */
static int
choice_index (const char *words, const char *text)
{
  const char *rest = words, *word;
  gsize length;
  int index = 0;

  while (gemem_words_next (&rest, &word, &length))
    {
      const gboolean is_choice = memchr (word, '=', length) == NULL;
      if (is_choice && gemem_name_is_word (word, length, text))
        return index;
      index += is_choice;
    }
  rest = words;
  while (gemem_words_next (&rest, &word, &length))
    {
      const char *equals = memchr (word, '=', length);
      if (equals != NULL && gemem_name_is_word (word, (gsize) (equals - word), text))
        {
          g_autofree char *choice = g_strndup (equals + 1, length - (gsize) (equals + 1 - word));
          return choice_index (words, choice);
        }
    }
  return -1;
}

static char *
choice_text (const GememParam *param, int choice)
{
  g_auto (GStrv) words = g_strsplit (param->choices, "|", -1);

  for (guint i = 0; words[i] != NULL; i++)
    if (strchr (words[i], '=') == NULL && choice-- == 0)
      return g_strdup (words[i]);
  g_assert_not_reached ();
}

GPtrArray *
gemem_param_sweep (const GememParam *param)
{
  const char *own = param->type == GEMEM_PARAM_BOOL     ? "no|yes"
                    : param->type == GEMEM_PARAM_CHOICE ? param->choices
                                                        : "";
  const char *words = param->sweep != NULL ? param->sweep : own;
  g_auto (GStrv) split = g_strsplit (words, "|", -1);
  GPtrArray *values = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; split[i] != NULL; i++)
    if (strchr (split[i], '=') == NULL)
      g_ptr_array_add (values, g_strdup (split[i]));
  return values;
}

static gboolean
parse_choice (const GememParam *param, const char *text, int *choice, GError **error)
{
  g_auto (GStrv) words = NULL;
  g_autoptr (GString) known = NULL;

  *choice = choice_index (param->choices, text);
  if (*choice < 0 && (param->flags & GEMEM_PARAM_RELEASE) != 0)
    {
      g_autofree char *release = gemem_release_stand_in (param->choices, text,
                                                         (param->flags & GEMEM_PARAM_NEAREST) != 0);
      *choice = release != NULL ? choice_index (param->choices, release) : -1;
    }
  if (*choice >= 0)
    return TRUE;

  words = g_strsplit (param->choices, "|", -1);
  known = g_string_new (NULL);
  for (guint i = 0; words[i] != NULL; i++)
    {
      char *equals = strchr (words[i], '=');
      if (equals != NULL)
        *equals = '\0'; /* only the synonym remains as a candidate */
      else
        g_string_append_printf (known, "%s%s", known->len > 0 ? ", " : "", words[i]);
    }
  /* a number near another one, as of a version, is not that one misspelt */
  const char *near = g_ascii_isdigit (*text) ? NULL
                                             : gemem_suggest (text, (const char *const *) words);
  if (near != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "'%s': not one of %s; did you mean '%s'?",
                 text, known->str, near);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "'%s': not one of the choices; use %s",
                 text, known->str);
  return FALSE;
}

/* A percentage of @whole bytes as systems in Python compute it: the quotient by 100, then the
 * product, each rounded to double precision, and the rest cut off. */
static gboolean
parse_part (const char *text, guint64 whole, guint64 *bytes, GError **error)
{
  g_autofree char *number = g_strstrip (g_strndup (text, strlen (text) - 1));
  double percent, part;

  if (!gemem_parse_double (number, &percent, NULL))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "'%s': not a number; write it like 33.3%%", text);
      return FALSE;
    }
  if (percent < 0 || percent / 100 > 1)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "'%s': no part of the device; use 0%% to 100%%", text);
      return FALSE;
    }
  part = (double) whole * (percent / 100);
  *bytes = part < 0x1p64 ? (guint64) part : GEMEM_UNLIMITED;
  return TRUE;
}

static gboolean
parse_plain (const GememParam *param, const GememParamContext *context, const char *text,
             Value *value, GError **error)
{
  const guint64 whole = context != NULL ? context->capacity : 0;

  switch (param->type)
    {
    case GEMEM_PARAM_BOOL:
      return parse_bool (text, &value->boolean, error);
    case GEMEM_PARAM_UINT:
      return gemem_parse_uint (text, &value->number, error);
    case GEMEM_PARAM_INT:
      return gemem_parse_int (text, &value->integer, error);
    case GEMEM_PARAM_SIZE:
      if ((param->flags & GEMEM_PARAM_PERCENT) != 0 && whole > 0 && g_str_has_suffix (text, "%"))
        return parse_part (text, whole, &value->number, error);
      return gemem_parse_size (text, bare_unit (param), whole, &value->number, error);
    case GEMEM_PARAM_TIME:
      return gemem_parse_time (text, bare_unit (param), &value->number, error);
    case GEMEM_PARAM_DOUBLE:
      return gemem_parse_double (text, &value->real, error);
    case GEMEM_PARAM_CHOICE:
      return parse_choice (param, text, &value->choice, error);
    case GEMEM_PARAM_STRING:
      value->string = text;
      return TRUE;
    default:
      g_assert_not_reached ();
    }
}

/* Three-way comparison of two values of the type of @param. */
static int
compare_values (const GememParam *param, Value a, Value b)
{
  switch (param->type)
    {
    case GEMEM_PARAM_BOOL:
      return (a.boolean != FALSE) - (b.boolean != FALSE);
    case GEMEM_PARAM_INT:
      return (a.integer > b.integer) - (a.integer < b.integer);
    case GEMEM_PARAM_DOUBLE:
      return (a.real > b.real) - (a.real < b.real);
    case GEMEM_PARAM_CHOICE:
      return (a.choice > b.choice) - (a.choice < b.choice);
    case GEMEM_PARAM_STRING:
      return g_strcmp0 (a.string, b.string);
    default:
      return (a.number > b.number) - (a.number < b.number);
    }
}

/* The number of a special word: bytes, ns or a plain number, regardless of the parameter's unit. */
static Value
special_number (const GememParam *param, const char *text)
{
  GememParam plain = *param;
  Value value = { .number = 0 };
  gboolean sound;

  plain.unit = NULL;
  sound = parse_plain (&plain, NULL, text, &value, NULL);
  g_assert_true (sound);
  return value;
}

/* Splits "word=number" of a table; *@number: the number. */
static char *
split_special (const GememParam *param, const char *pair, Value *number)
{
  const char *equals = strchr (pair, '=');
  g_assert_nonnull (equals);
  *number = special_number (param, equals + 1);
  return g_strndup (pair, (gsize) (equals - pair));
}

static gboolean
special_value (const GememParam *param, const char *text, Value *value)
{
  const char *rest = param->special, *pair;
  gsize length;

  while (gemem_words_next (&rest, &pair, &length))
    {
      const gsize word = strcspn (pair, "=");

      if (!gemem_name_is_word (pair, word, text))
        continue;
      g_autofree char *number = g_strndup (pair + word + 1, length - word - 1);
      *value = special_number (param, number);
      return TRUE;
    }
  return FALSE;
}

/* The special word for @value, or NULL. */
static char *
special_word (const GememParam *param, Value value)
{
  g_auto (GStrv) pairs = g_strsplit (param->special != NULL ? param->special : "", "|", -1);

  for (guint i = 0; pairs[i] != NULL; i++)
    {
      Value number;
      g_autofree char *word = split_special (param, pairs[i], &number);
      if (compare_values (param, number, value) == 0)
        return g_steal_pointer (&word);
    }
  return NULL;
}

/* Parses the bound @text; FALSE if there is none, or if it is a "%" of an unknown capacity. */
static gboolean
bound_value (const GememParam *param, const GememParamContext *context, const char *text,
             Value *bound)
{
  g_autoptr (GError) error = NULL;

  if (text == NULL || (g_str_has_suffix (text, "%") && (context == NULL || context->capacity == 0)))
    return FALSE;
  if (!parse_plain (param, context, text, bound, &error))
    g_error ("table row '%s': unsound bound: %s", param->name, error->message);
  return TRUE;
}

static gboolean
check_range (const GememParam *param, const GememParamContext *context, const char *text,
             Value value, GError **error)
{
  Value bound;
  const char *side = NULL;

  if (bound_value (param, context, param->min, &bound) && compare_values (param, value, bound) < 0)
    side = "too small";
  if (bound_value (param, context, param->max, &bound) && compare_values (param, value, bound) > 0)
    side = "too large";
  if (side == NULL)
    return TRUE;

  const char *unit = param->unit != NULL ? param->unit : "";
  if (param->min != NULL && param->max != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "'%s': %s; use %s to %s%s%s", text, side,
                 param->min, param->max, *unit != '\0' ? ", bare numbers count " : "", unit);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "'%s': %s; use at %s %s%s%s", text, side,
                 param->min != NULL ? "least" : "most",
                 param->min != NULL ? param->min : param->max,
                 *unit != '\0' ? ", bare numbers count " : "", unit);
  return FALSE;
}

/* FALSE if @text has a unit or is a special word where the real system reads a number in the
 * unit of @param. */
static gboolean
check_native (const GememParam *param, const char *text, GError **error)
{
  guint64 number;

  if (param->unit == NULL || gemem_parse_uint (text, &number, NULL))
    return TRUE;
  g_set_error (
      error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
      "'%s': not a whole number of %s, which the real system reads here; write digits only", text,
      param->unit);
  return FALSE;
}

static gboolean
parse_value (const GememParam *param, const GememParamContext *context, const char *text,
             Value *value, GError **error)
{
  if (context != NULL && context->native && !check_native (param, text, error))
    return FALSE;
  if (special_value (param, text, value))
    return TRUE;
  return parse_plain (param, context, text, value, error)
         && check_range (param, context, text, *value, error);
}

/* ---- fields */

static gpointer
field_of (const GememParam *param, gconstpointer dest)
{
  return (char *) dest + param->offset;
}

static Value
load (const GememParam *param, gconstpointer dest)
{
  gconstpointer field = field_of (param, dest);
  Value value = { .number = 0 };

  switch (param->type)
    {
    case GEMEM_PARAM_BOOL:
      value.boolean = *(const gboolean *) field != FALSE;
      break;
    case GEMEM_PARAM_INT:
      value.integer = *(const gint64 *) field;
      break;
    case GEMEM_PARAM_DOUBLE:
      value.real = *(const double *) field;
      break;
    case GEMEM_PARAM_CHOICE:
      value.choice = *(const int *) field;
      break;
    case GEMEM_PARAM_STRING:
      value.string = *(char *const *) field;
      break;
    default:
      value.number = *(const guint64 *) field;
      break;
    }
  return value;
}

/* Writes the field; a STRING already there is not freed. */
static void
store (const GememParam *param, gpointer dest, Value value)
{
  gpointer field = field_of (param, dest);

  switch (param->type)
    {
    case GEMEM_PARAM_BOOL:
      *(gboolean *) field = value.boolean;
      break;
    case GEMEM_PARAM_INT:
      *(gint64 *) field = value.integer;
      break;
    case GEMEM_PARAM_DOUBLE:
      *(double *) field = value.real;
      break;
    case GEMEM_PARAM_CHOICE:
      *(int *) field = value.choice;
      break;
    case GEMEM_PARAM_STRING:
      *(char **) field = g_strdup (value.string);
      break;
    default:
      *(guint64 *) field = value.number;
      break;
    }
}

static Value
default_value (const GememParam *param)
{
  Value value = { .string = NULL };
  g_autoptr (GError) error = NULL;

  if (param->default_text == NULL && param->type == GEMEM_PARAM_STRING)
    return value;
  if (param->default_text == NULL
      || !parse_value (param, NULL, param->default_text, &value, &error))
    g_error ("table row '%s': unsound default: %s", param->name,
             error != NULL ? error->message : "none given");
  return value;
}

/* ---- public */

void
gemem_params_set_defaults (const GememParam *table, gpointer dest)
{
  for (const GememParam *param = table; param->name != NULL; param++)
    store (param, dest, default_value (param));
}

gboolean
gemem_params_set (const GememParam *table, gpointer dest, const GememParamContext *context,
                  const char *what, const char *key, const char *value_text, GError **error)
{
  const GememParam *param = gemem_params_find (table, key);
  Value value;

  if (param == NULL)
    {
      unknown_parameter (table, what, key, error);
      return FALSE;
    }
  if (!parse_value (param, context, value_text, &value, error))
    {
      g_prefix_error (error, "%s: %s=", what, key);
      return FALSE;
    }
  if (param->type == GEMEM_PARAM_STRING)
    {
      char *old = *(char **) field_of (param, dest);
      /* store() copies before the old text is freed, because both may be the same */
      store (param, dest, value);
      g_free (old);
    }
  else
    store (param, dest, value);
  return TRUE;
}

gboolean
gemem_params_check_unit (const GememParam *table, const char *what, const char *key,
                         const char *value, GError **error)
{
  const GememParam *param = gemem_params_find (table, key);

  if (param == NULL || (param->flags & GEMEM_PARAM_MEMORY) == 0 || gemem_check_unit (value, error))
    return TRUE;
  g_prefix_error (error, "%s: %s=", what, key);
  return FALSE;
}

gboolean
gemem_param_excludes (const GememParam *one, const char *value, const GememParam *other)
{
  return listed (one->conflicts, other->name)
         && ((other->flags & GEMEM_PARAM_CALLED) == 0 || one->type != GEMEM_PARAM_STRING
             || strstr (value, other->name) != NULL);
}

/* Stores @settings in rows[] (one entry per row of the table); refuses duplicates and conflicts. */
static gboolean
check_together (const GememParam *table, const char *what, const GPtrArray *settings,
                const GememSetting **rows, GError **error)
{
  for (guint i = 0; i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      const GememSetting **row = &rows[gemem_params_find (table, setting->key) - table];

      if (*row != NULL)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "%s: '%s' and '%s' set the same parameter twice; keep one of them", what,
                       (*row)->key, setting->key);
          return FALSE;
        }
      *row = setting;
    }
  for (const GememParam *param = table; param->name != NULL; param++)
    for (const GememParam *other = table; other->name != NULL; other++)
      {
        const GememSetting *one = rows[param - table], *two = rows[other - table];

        if (one == NULL || two == NULL || other == param
            || !gemem_param_excludes (param, one->value, other))
          continue;
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                     "%s: '%s' and '%s' exclude each other; keep one of them", what, one->key,
                     two->key);
        return FALSE;
      }
  return TRUE;
}

gboolean
gemem_params_apply (const GememParam *table, gpointer dest, const GememParamContext *context,
                    const char *what, const GPtrArray *settings, GError **error)
{
  gsize n_rows = 0;
  gboolean ok = TRUE;

  gemem_params_set_defaults (table, dest);
  if (settings == NULL)
    return TRUE;
  while (table[n_rows].name != NULL)
    n_rows++;
  g_autofree const GememSetting **rows = g_new0 (const GememSetting *, n_rows);
  for (guint i = 0; i < settings->len && ok; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      ok = gemem_params_set (table, dest, context, what, setting->key, setting->value, error);
    }
  ok = ok && check_together (table, what, settings, rows, error);
  if (!ok)
    gemem_params_clear (table, dest);
  return ok;
}

/* The shortest decimal that parses back to @value. */
static char *
double_text (double value)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  for (guint digits = 1; digits <= 17; digits++)
    {
      g_autofree char *format = g_strdup_printf ("%%.%ug", digits);
      if (g_ascii_strtod (g_ascii_formatd (buffer, sizeof buffer, format, value), NULL) == value)
        break;
    }
  return g_strdup (buffer);
}

/* A size as text, with its unit where a bare number would be read in the parameter's own unit, or
 * would be too small to be meant. */
static char *
size_text (const GememParam *param, guint64 bytes)
{
  char buffer[GEMEM_FORMAT_MAX];
  const gboolean needs_unit = bytes != GEMEM_UNLIMITED
                              && (param->unit != NULL
                                  || ((param->flags & GEMEM_PARAM_MEMORY) != 0
                                      && bytes < GEMEM_BARE_MIN));

  gemem_format_size_exact (buffer, bytes);
  return g_strconcat (buffer, needs_unit && bytes != 0 && bytes % 1024 != 0 ? "B" : "", NULL);
}

static char *
time_text (guint64 ns)
{
  static const char *const names[] = { "ns", "us", "ms", "s" };
  guint i = 0;

  for (; ns != 0 && ns % 1000 == 0 && i + 1 < G_N_ELEMENTS (names); ns /= 1000)
    i++;
  return g_strdup_printf ("%" G_GUINT64_FORMAT "%s", ns, names[i]);
}

char *
gemem_param_value_text (const GememParam *param, gconstpointer dest)
{
  Value value = load (param, dest);
  char *word = special_word (param, value);

  if (word != NULL)
    return word;
  switch (param->type)
    {
    case GEMEM_PARAM_BOOL:
      return g_strdup (value.boolean ? "yes" : "no");
    case GEMEM_PARAM_INT:
      return g_strdup_printf ("%" G_GINT64_FORMAT, value.integer);
    case GEMEM_PARAM_SIZE:
      return size_text (param, value.number);
    case GEMEM_PARAM_TIME:
      return time_text (value.number);
    case GEMEM_PARAM_DOUBLE:
      return double_text (value.real);
    case GEMEM_PARAM_CHOICE:
      return choice_text (param, value.choice);
    case GEMEM_PARAM_STRING:
      return g_strdup (value.string != NULL ? value.string : "");
    default:
      return g_strdup_printf ("%" G_GUINT64_FORMAT, value.number);
    }
}

gboolean
gemem_param_is_default (const GememParam *param, gconstpointer dest)
{
  const Value value = load (param, dest);

  if (param->type == GEMEM_PARAM_STRING)
    return strcmp (value.string != NULL ? value.string : "",
                   param->default_text != NULL ? param->default_text : "")
           == 0;
  return compare_values (param, value, default_value (param)) == 0;
}

char *
gemem_params_describe (const GememParam *table, gconstpointer dest)
{
  GString *text = g_string_new (NULL);

  for (const GememParam *param = table; param->name != NULL; param++)
    if (compare_values (param, load (param, dest), default_value (param)) != 0)
      {
        g_autofree char *value = gemem_param_value_text (param, dest);
        g_autofree char *quoted = gemem_settings_quote (value);
        g_string_append_printf (text, "%s%s=%s", text->len > 0 ? "," : "", param->name, quoted);
      }
  return g_string_free (text, FALSE);
}

void
gemem_params_clear (const GememParam *table, gpointer dest)
{
  for (const GememParam *param = table; param->name != NULL; param++)
    if (param->type == GEMEM_PARAM_STRING)
      g_clear_pointer ((char **) field_of (param, dest), g_free);
}

char *
gemem_params_release_note (const GememParam *table, const GPtrArray *settings, const char *possible)
{
  for (guint i = 0; settings != NULL && i < settings->len; i++)
    {
      const GememSetting *setting = settings->pdata[i];
      const GememParam *param = table != NULL ? gemem_params_find (table, setting->key) : NULL;
      g_autofree char *name = NULL;
      int choice;

      if (param == NULL || (param->flags & GEMEM_PARAM_RELEASE) == 0
          || !parse_choice (param, setting->value, &choice, NULL))
        continue;
      name = choice_text (param, choice);
      if (!gemem_release_is (setting->value, name)
          && (possible == NULL || !gemem_release_among (possible, name)))
        return g_strdup_printf ("%s=%s: the rules of %s are used, the nearest release known",
                                setting->key, setting->value, name);
    }
  return NULL;
}

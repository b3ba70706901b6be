/* flags.c - see flags.h. */
#include "config.h"

#include <string.h>

#include "allocators/paddle/unmodelled.h"
#include "base/error.h"
#include "sim/cli/flags.h"
#include "sim/cli/topics.h"

/* One flag at one of its readers. */
typedef struct
{
  char *variable; /* "FLAGS_..." */
  GememTopic topic;
  const GememParam *param;
} FlagReading;

static void
clear_reading (gpointer reading)
{
  g_free (((FlagReading *) reading)->variable);
}

static int
compare_readings (gconstpointer a, gconstpointer b)
{
  return strcmp (((const FlagReading *) a)->variable, ((const FlagReading *) b)->variable);
}

static void
add_readings (GArray *list, const GememTopic *topic, const GememParam *param)
{
  g_autofree GStrv variables = gemem_param_variables (param);

  for (guint i = 0; variables[i] != NULL; i++)
    {
      const FlagReading reading = { variables[i], *topic, param };
      g_array_append_val (list, reading);
    }
}

/* All readings by allocators, shorthands, lowerings and planners, by name of the flag, then in the
 * order of the registries. */
static GArray *
readings (void)
{
  static const char *const kinds[] = { "shorthand", "allocator", "lowering", "planner" };
  GArray *list = g_array_new (FALSE, FALSE, sizeof (FlagReading));

  g_array_set_clear_func (list, clear_reading);
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      g_autoptr (GArray) topics = gemem_topics (kinds[k], NULL);

      for (guint i = 0; i < topics->len; i++)
        {
          const GememTopic *topic = &g_array_index (topics, GememTopic, i);

          for (const GememParam *param = topic->params; param != NULL && param->name != NULL;
               param++)
            add_readings (list, topic, param);
        }
    }
  g_array_sort (list, compare_readings);
  return list;
}

static const FlagReading *
reading_at (const GArray *list, guint i)
{
  return &g_array_index (list, FlagReading, i);
}

static gboolean
is_of (const FlagReading *reading, const char *kind)
{
  return strcmp (reading->topic.kind, kind) == 0;
}

static gboolean
is_lowering (const FlagReading *reading)
{
  return is_of (reading, "lowering");
}

/* What stands before the name of such a reader on the command line; -a is left out. */
static const char *
option_of (const FlagReading *reading)
{
  return is_lowering (reading) ? "--lower=" : is_of (reading, "planner") ? "-p " : "";
}

/* ---- queries */

GStrv
gemem_flags_variables (void)
{
  g_autoptr (GArray) list = readings ();
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < list->len; i++)
    if (i == 0 || strcmp (reading_at (list, i)->variable, reading_at (list, i - 1)->variable) != 0)
      g_ptr_array_add (names, g_strdup (reading_at (list, i)->variable));
  g_ptr_array_add (names, NULL);
  return (GStrv) g_ptr_array_free (names, FALSE);
}

gboolean
gemem_flags_reads (const char *kind, const char *name, const char *variable)
{
  g_autoptr (GArray) topics = gemem_topics (kind, NULL);
  gboolean reads = FALSE;

  for (guint i = 0; i < topics->len && !reads; i++)
    {
      const GememTopic *topic = &g_array_index (topics, GememTopic, i);
      reads = gemem_name_is (topic->name, topic->aliases, name)
              && gemem_params_find_variable (topic->params, variable) != NULL;
    }
  return reads;
}

char *
gemem_flags_readers (const char *variable)
{
  g_autoptr (GArray) list = readings ();
  GString *names = g_string_new (NULL);

  for (guint i = 0; i < list->len; i++)
    if (strcmp (reading_at (list, i)->variable, variable) == 0)
      g_string_append_printf (names, "%s%s%s", names->len > 0 ? ", " : "",
                              option_of (reading_at (list, i)), reading_at (list, i)->topic.name);
  return g_string_free (names, FALSE);
}

char *
gemem_flags_suggest (const char *variable)
{
  g_autoptr (GArray) list = readings ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char *prefix = "FLAGS_", *near;

  for (guint i = 0; i < list->len; i++)
    if (g_str_has_prefix (reading_at (list, i)->variable, prefix))
      g_ptr_array_add (names, reading_at (list, i)->variable + strlen (prefix));
  g_ptr_array_add (names, NULL);
  near = g_str_has_prefix (variable, prefix)
             ? gemem_suggest (variable + strlen (prefix), (const char *const *) names->pdata)
             : NULL;
  return near != NULL ? g_strconcat (prefix, near, NULL) : NULL;
}

/* ---- misplaced flags */

/* TRUE if a row of one of @kinds has the key @key. */
static gboolean
is_known (const char *const *kinds, const char *key)
{
  gboolean known = FALSE;

  for (; *kinds != NULL && !known; kinds++)
    {
      g_autoptr (GArray) topics = gemem_topics (*kinds, NULL);
      for (guint i = 0; i < topics->len && !known; i++)
        known = gemem_params_find (g_array_index (topics, GememTopic, i).params, key) != NULL;
    }
  return known;
}

/* The first flag with the key @key among lowerings (@lowering) or the others. */
static const FlagReading *
find_reading (const GArray *list, gboolean lowering, const char *key)
{
  for (guint i = 0; i < list->len; i++)
    {
      const FlagReading *reading = reading_at (list, i);
      if (is_lowering (reading) == lowering && !is_of (reading, "planner")
          && gemem_params_find (reading->topic.params, key) == reading->param)
        return reading;
    }
  return NULL;
}

/* The first shorthand that knows @key; NULL: none, or @text names a shorthand that does. */
static const GememTopic *
find_shorthand (const GArray *shorthands, const char *text, const char *key)
{
  static const char *const others[] = { "allocator", "device", NULL };
  g_autofree char *name = g_strndup (text, strcspn (text, ":"));
  const GememTopic *found = NULL;

  for (guint i = 0; i < shorthands->len && !is_known (others, key); i++)
    {
      const GememTopic *topic = &g_array_index (shorthands, GememTopic, i);
      const gboolean knows = gemem_params_find (topic->params, key) != NULL;

      if (knows && gemem_name_is (topic->name, topic->aliases, name))
        return NULL;
      found = found == NULL && knows ? topic : found;
    }
  return found;
}

/* FALSE for an unknown flag. */
static gboolean
check_unknown (const char *text, const char *option, const char *key, GError **error)
{
  g_autofree char *near = NULL;

  if (g_ascii_strncasecmp (key, "FLAGS_", 6) != 0)
    return TRUE;
  near = gemem_flags_suggest (key);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s%s: unknown flag '%s'; %s%s%s", option,
               text, key, near != NULL ? "did you mean '" : "'gemem-sim help paddle-flags' ",
               near != NULL ? near : "lists all", near != NULL ? "'?" : "");
  return FALSE;
}

static gboolean
check_key (const char *text, gboolean lowering, const GememSetting *setting, GError **error)
{
  static const char *const places[2][4] = { { "allocator", "shorthand", "device", NULL },
                                            { "lowering", NULL } };
  const char *option = lowering ? "--lower=" : "-a ", *other = lowering ? "-a " : "--lower=";
  const GememPaddleUnmodelled *unmodelled = gemem_paddle_unmodelled_find (setting->key);

  g_autoptr (GArray) shorthands = gemem_topics ("shorthand", NULL);
  const GememTopic *shorthand = lowering ? NULL : find_shorthand (shorthands, text, setting->key);

  if (shorthand != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "-a %s: %s chooses the allocator; write -a %s:%s=%s", text, setting->key,
                   shorthand->name, setting->key, setting->value);
      return FALSE;
    }
  if (is_known (places[lowering], setting->key))
    return TRUE;
  if (unmodelled != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "%s%s: %s is not modelled: it %s; leave it out", option, text, setting->key,
                   unmodelled->reason);
      return FALSE;
    }
  g_autoptr (GArray) list = readings ();
  const FlagReading *reading = find_reading (list, !lowering, setting->key);
  if (reading == NULL)
    return check_unknown (text, option, setting->key, error);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s%s: %s belongs to %s; write %s%s:%s=%s",
               option, text, setting->key,
               lowering ? "the allocator" : "the executor, which turns a graph into a trace", other,
               reading->topic.name, setting->key, setting->value);
  return FALSE;
}

gboolean
gemem_flags_check (const char *text, gboolean lowering, GError **error)
{
  const char *colon = strchr (text, ':');
  g_autoptr (GPtrArray) settings = gemem_settings_parse (colon != NULL ? colon + 1 : "", NULL);

  for (guint i = 0; settings != NULL && i < settings->len; i++)
    if (!check_key (text, lowering, g_ptr_array_index (settings, i), error))
      return FALSE;
  return TRUE;
}

/* ---- the table */

static gboolean
same_text (const FlagReading *a, const FlagReading *b)
{
  return strcmp (a->variable, b->variable) == 0 && strcmp (a->param->help, b->param->help) == 0
         && g_strcmp0 (a->param->default_text, b->param->default_text) == 0
         && g_strcmp0 (a->param->choices, b->param->choices) == 0;
}

/* Lists the readers from @first to before @end, whose descriptions are equal. */
static void
append_readers (GString *out, const GArray *list, guint first, guint end)
{
  const GememParam *param = reading_at (list, first)->param;

  g_string_append (out, "  ");
  for (guint i = first; i < end; i++)
    g_string_append_printf (out, "%s%s%s", i > first ? ", " : "", option_of (reading_at (list, i)),
                            reading_at (list, i)->topic.name);
  g_string_append (out, ": ");
  gemem_param_append_values (out, param);
  g_string_append_printf (out, "\n      %s\n", param->help);
}

/* Lists all flags with their readers. */
static void
append_flags (GString *out, const GArray *list)
{
  for (guint i = 0, end; i < list->len; i = end)
    {
      for (end = i + 1; end < list->len && same_text (reading_at (list, i), reading_at (list, end));
           end++)
        continue;
      if (!g_str_has_prefix (reading_at (list, i)->variable, "FLAGS_"))
        continue;
      if (i == 0
          || strcmp (reading_at (list, i)->variable, reading_at (list, i - 1)->variable) != 0)
        g_string_append_printf (out, "\n%s\n", reading_at (list, i)->variable);
      append_readers (out, list, i, end);
    }
}

char *
gemem_flags_help (void)
{
  g_autoptr (GArray) list = readings ();
  GString *out = g_string_new (
      "PaddlePaddle's memory flags: who reads each here, as what (in [] the unit of a bare "
      "number), with which default and range, and what it\n"
      "changes.\n"
      "version=1.8 chooses a release, rules=documented the manual's word instead of what is built. "
      "A flag is written as in Paddle\n"
      "or without FLAGS_, behind -a NAME: or --lower=NAME:; --env takes it from the environment. "
      "Where it would have no effect it is\n"
      "refused; so it is in versions that are not named behind 'Default in'.\n");

  append_flags (out, list);
  g_string_append (out, "\nNot modelled, and refused with the reason:\n");
  for (const GememPaddleUnmodelled *flag = gemem_paddle_unmodelled; flag->name != NULL; flag++)
    g_string_append_printf (out, "\nFLAGS_%s\n      It %s.\n", flag->name, flag->reason);
  return g_string_free (out, FALSE);
}

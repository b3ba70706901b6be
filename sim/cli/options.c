/* options.c - the options of a subcommand: GOption parses them, this file adds the errors that it
 * does not report.
 *
 * GOption uses the last of several values of one option and drops the others; here that is an error
 * unless they are equal.  So every option with a value is declared as a list, and resolved
 * afterwards.  GOption takes the texts for words of the locale's encoding, so that under LC_ALL=C
 * none may go beyond ASCII; here names of files are bytes, and all other text is UTF-8 whatever the
 * locale.  So all are declared as names of files, and texts are checked.  An option of type STRING
 * with G_OPTION_FLAG_OPTIONAL_ARG has the value "" where none is given.  Values joined to short
 * options (-j4) are accepted; the error about an unknown option names the nearest known one. */
#include "config.h"

#include <string.h>

#include "base/units.h"
#include "devices/device.h"
#include "sim/cli/options.h"

const GOptionEntry gemem_common_entries[] = {
  { "quiet", 'q', 0, G_OPTION_ARG_NONE, &gemem_quiet,
    "Print no progress and no notes; warnings and errors remain", NULL },
  { NULL }
};

/* One option with a single value, for which GOption fills a list. */
typedef struct
{
  const GOptionEntry *entry;
  char **values;
} OptionSlot;

static void
slot_clear (gpointer slot)
{
  g_strfreev (((OptionSlot *) slot)->values);
  g_free (slot);
}

static gboolean
is_single (const GOptionEntry *entry)
{
  return entry->arg == G_OPTION_ARG_STRING || entry->arg == G_OPTION_ARG_FILENAME
         || entry->arg == G_OPTION_ARG_INT;
}

/* Copies the entries of @list, redirecting those with a single value into new slots. */
static void
add_entries (GOptionContext *context, const GOptionEntry *list, GPtrArray *slots)
{
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  for (; list->long_name != NULL; list++)
    {
      GOptionEntry entry = *list;
      if (is_single (list))
        {
          OptionSlot *slot = g_new0 (OptionSlot, 1);
          slot->entry = list;
          g_ptr_array_add (slots, slot);
          entry.arg_data = &slot->values;
          entry.flags &= ~G_OPTION_FLAG_OPTIONAL_ARG;
        }
      if (is_single (list) || list->arg == G_OPTION_ARG_STRING_ARRAY)
        entry.arg = G_OPTION_ARG_FILENAME_ARRAY;
      g_array_append_val (entries, entry);
    }
  g_option_context_add_main_entries (context, (const GOptionEntry *) (gpointer) entries->data,
                                     NULL);
}

/* FALSE if one of the @values (or NULL) of a text is no UTF-8. */
static gboolean
check_texts (const GememCommand *command, const GOptionEntry *entry, char **values, GError **error)
{
  for (; values != NULL && *values != NULL; values++)
    if (!g_utf8_validate (*values, -1, NULL))
      {
        g_autofree char *valid = g_utf8_make_valid (*values, -1);

        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                     "%s: --%s=%s: not text in UTF-8; names of files may be any bytes, all else is "
                     "UTF-8",
                     command->name, entry->long_name, valid);
        return FALSE;
      }
  return TRUE;
}

/* Sets the option of @slot to its value. */
static gboolean
settle (const GememCommand *command, const OptionSlot *slot, GError **error)
{
  const GOptionEntry *entry = slot->entry;
  gint64 number;
  if (slot->values == NULL)
    return TRUE;
  if (entry->arg != G_OPTION_ARG_FILENAME && !check_texts (command, entry, slot->values, error))
    return FALSE;
  const char *value = slot->values[0];
  for (char **other = slot->values + 1; *other != NULL; other++)
    if (strcmp (*other, value) != 0)
      {
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                     "%s: --%s is given twice, as '%s' and as '%s'; keep one of them",
                     command->name, entry->long_name, value, *other);
        return FALSE;
      }
  if (entry->arg != G_OPTION_ARG_INT)
    {
      *(char **) entry->arg_data = g_strdup (value);
      return TRUE;
    }
  if (!gemem_parse_int (value, &number, NULL) || number < G_MININT || number > G_MAXINT)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--%s=%s: not a whole number, or too large; give one from 0 to %d",
                   entry->long_name, value, G_MAXINT);
      return FALSE;
    }
  *(int *) entry->arg_data = (int) number;
  return TRUE;
}

/* TRUE if @letter is a short option of @command that takes a value. */
static gboolean
takes_value (const GememCommand *command, char letter)
{
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    for (const GOptionEntry *entry = *list; entry->long_name != NULL; entry++)
      if (entry->short_name == letter)
        return entry->arg != G_OPTION_ARG_NONE;
  return FALSE;
}

/* TRUE if @word is "--name" of an option whose value may be left out; only "=" introduces one. */
static gboolean
lacks_value (const GememCommand *command, const char *word)
{
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    for (const GOptionEntry *entry = *list; entry->long_name != NULL; entry++)
      if ((entry->flags & G_OPTION_FLAG_OPTIONAL_ARG) != 0 && g_str_has_prefix (word, "--")
          && strcmp (word + 2, entry->long_name) == 0)
        return TRUE;
  return FALSE;
}

/* "-j4" becomes "-j" "4", which GOption understands, and "--anonymous", whose value may be left
 * out, "--anonymous=".  The words belong to the caller (g_strfreev). */
static char **
separate_values (const GememCommand *command, int argc, char **argv)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  gboolean options = TRUE;
  for (int i = 0; i < argc; i++)
    {
      const char *word = argv[i];
      options = options && strcmp (word, "--") != 0;
      if (i > 0 && options && word[0] == '-' && word[1] != '-' && word[1] != '\0' && word[2] != '\0'
          && takes_value (command, word[1]))
        {
          g_ptr_array_add (words, g_strndup (word, 2));
          g_ptr_array_add (words, g_strdup (word + 2));
        }
      else if (i > 0 && options && lacks_value (command, word))
        g_ptr_array_add (words, g_strconcat (word, "=", NULL));
      else
        g_ptr_array_add (words, g_strdup (word));
    }
  g_ptr_array_add (words, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&words), FALSE);
}

/* FALSE for "--name=value" of an option without a value: GOption would ignore the value. */
static gboolean
check_switches (const GememCommand *command, char **words, GError **error)
{
  for (; *words != NULL && strcmp (*words, "--") != 0; words++)
    for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
      for (const GOptionEntry *entry = *list; entry->long_name != NULL; entry++)
        if (entry->arg == G_OPTION_ARG_NONE && g_str_has_prefix (*words, "--")
            && g_str_has_prefix (*words + 2, entry->long_name)
            && (*words)[2 + strlen (entry->long_name)] == '=')
          {
            g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                         "%s: %s: --%s takes no value; write it alone or leave it out",
                         command->name, *words, entry->long_name);
            return FALSE;
          }
  return TRUE;
}

/* Adds the nearest known option to "Unknown option --foo". */
static void
suggest_option (const GememCommand *command, const GError *parse_error, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    for (const GOptionEntry *entry = *list; entry->long_name != NULL; entry++)
      g_ptr_array_add (names, (gpointer) entry->long_name);
  g_ptr_array_add (names, NULL);

  g_auto (GStrv) opened = g_strsplit (parse_error->message, "\u201c", -1);
  g_autofree char *half = g_strjoinv ("'", opened);
  g_auto (GStrv) closed = g_strsplit (half, "\u201d", -1);
  g_autofree char *message = g_strjoinv ("'", closed);
  const char *dashes = strstr (message, "--");
  if (g_error_matches (parse_error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION)
      && dashes != NULL)
    {
      g_autofree char *word = g_strndup (dashes + 2, strcspn (dashes + 2, "= "));
      const char *near = strcmp (word, "gpu") == 0 /* as gemem-dry-run calls it */
                             ? "device"
                             : gemem_suggest (word, (const char *const *) names->pdata);
      if (near != NULL)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "%s: unknown option --%s; did you mean --%s?", command->name, word, near);
          return;
        }
    }
  message[0] = g_ascii_tolower (message[0]);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: %s; 'gemem-sim help %s' lists the options", command->name, message,
               command->name);
}

char **
gemem_parse_options (const GememCommand *command, int argc, char **argv, gboolean *help,
                     GError **error)
{
  const GOptionEntry help_entries[] = {
    { "help", 'h', 0, G_OPTION_ARG_NONE, help, "Explain the command", NULL }, { NULL }
  };
  g_autoptr (GPtrArray) slots = g_ptr_array_new_with_free_func (slot_clear);
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_auto (GStrv) words = separate_values (command, argc, argv);
  g_autoptr (GError) parse_error = NULL;
  if (!check_switches (command, words, error))
    return NULL;
  g_option_context_set_help_enabled (context, FALSE);
  g_option_context_add_main_entries (context, help_entries, NULL);
  g_option_context_add_main_entries (context, gemem_common_entries, NULL);
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    add_entries (context, *list, slots);
  if (!g_option_context_parse_strv (context, &words, &parse_error))
    {
      suggest_option (command, parse_error, error);
      return NULL;
    }
  for (guint i = 0; i < slots->len; i++)
    if (!settle (command, slots->pdata[i], error))
      return NULL;
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    for (const GOptionEntry *entry = *list; entry->long_name != NULL; entry++)
      if (entry->arg == G_OPTION_ARG_STRING_ARRAY
          && !check_texts (command, entry, *(char ***) entry->arg_data, error))
        return NULL;
  return g_steal_pointer (&words);
}

gboolean
gemem_want_arguments (const GememCommand *command, char **arguments, guint min, guint max,
                      GError **error)
{
  guint n = g_strv_length (arguments);
  if (n < min)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: %s is missing; usage: gemem-sim %s [OPTION]... %s", command->name,
                 max == 1 || min == 1 ? command->synopsis : "an argument", command->name,
                 command->synopsis);
  else if (n > max)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "%s: too many arguments, from '%s' on; usage: gemem-sim %s [OPTION]...%s%s",
                 command->name, arguments[max], command->name,
                 *command->synopsis != '\0' ? " " : "", command->synopsis);
  return n >= min && n <= max;
}

gboolean
gemem_want_at_least (const char *name, int value, int min, GError **error)
{
  if (value < min)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                 "--%s=%d: out of range; give a number from %d on", name, value, min);
  return value >= min;
}

gboolean
gemem_want_number (const char *name, int *value, GError **error)
{
  if (*value == GEMEM_NOT_GIVEN)
    *value = 0;
  else if (!gemem_want_at_least (name, *value, 1, error))
    return FALSE;
  return TRUE;
}

gboolean
gemem_want_table_or_json (const char *format, gboolean *json, GError **error)
{
  *json = format != NULL && gemem_name_equal (format, "json");
  if (format == NULL || *json || gemem_name_equal (format, "table"))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--format=%s: unknown format; choose table or json", format);
  return FALSE;
}

char *
gemem_device_text (const char *device, const char *capacity)
{
  const char *base = device != NULL ? device : "sim";

  return capacity == NULL ? g_strdup (base)
                          : g_strdup_printf ("%s%scapacity=%s", base,
                                             strchr (base, ':') != NULL ? "," : ":", capacity);
}

char *
gemem_want_simulated (const char *device, const char *capacity, GError **error)
{
  g_autofree char *text = gemem_device_text (device, capacity);
  g_autoptr (GPtrArray) devices = gemem_device_spec_expand (text, error);
  const char *spec = devices != NULL ? ((GememDeviceSpec *) devices->pdata[0])->spec : NULL;

  if (spec == NULL)
    return NULL;
  if (devices->len > 1 || !g_str_has_prefix (spec, "sim"))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "-d %s: the answer is about one simulated device; give one, or use compare",
                   text);
      return NULL;
    }
  return g_strdup (spec);
}

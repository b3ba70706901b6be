/* complete.c - what may come next on a command line: the one answer behind the completion of every
 * shell (`gemem-sim --complete WORD...`, see completion.c).
 *
 * Everything is derived: commands, options and the words they take from the command structs, names,
 * parameters and values from the registries, plugins included.
 *
 * A candidate is a whole word that begins with what was typed; '-' and '_' in it, and case, are
 * taken as typed.  After one that ends in ':' or '=' more is to follow.
 */
#include "config.h"

#include <string.h>

#include "allocators/shorthand.h"
#include "base/units.h"
#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/topics.h"
#include "sim/report/report.h"

#define RANGE_MAX 8 /* of the numbers that are listed one by one */

typedef struct
{
  GString *out;
  GHashTable *seen; /* in lower case with '-' */
} Candidates;

/* TRUE if @name begins with @typed, as names are compared. */
static gboolean
begins_with (const char *name, const char *typed)
{
  g_autofree char *head = g_strndup (name, strlen (typed));

  return gemem_name_equal (head, typed);
}

/* Adds @before@name@after if @name begins with @typed, once. */
static gboolean
offer (Candidates *candidates, const char *before, const char *typed, const char *name,
       const char *after, const char *about)
{
  g_autofree char *word = NULL;
  char *key;

  if (!begins_with (name, typed))
    return FALSE;
  word = g_strconcat (before, typed, name + strlen (typed), after, NULL);
  key = g_strdelimit (g_ascii_strdown (word, -1), "_", '-');
  if (!g_hash_table_add (candidates->seen, key))
    return TRUE;
  g_string_append (candidates->out, word);
  if (about != NULL)
    g_string_append_printf (candidates->out, "\t%s", about);
  g_string_append_c (candidates->out, '\n');
  return TRUE;
}

/* Offers each of the '|' separated @words; of a synonym "a=b", a. */
static void
offer_words (Candidates *candidates, const char *before, const char *typed, const char *words)
{
  g_auto (GStrv) all = g_strsplit (words != NULL ? words : "", "|", -1);

  for (char **word = all; *word != NULL; word++)
    {
      (*word)[strcspn (*word, "=")] = '\0';
      offer (candidates, before, typed, *word, "", NULL);
    }
}

/* ---- NAME:KEY=VALUE,... */

/* The values of @param; @typed may be a list, of which the last value is completed. */
/* A number of a short range needs no documentation. */
static void
offer_range (Candidates *candidates, const char *before, const char *typed, const GememParam *param)
{
  guint64 min, max;

  if ((param->type != GEMEM_PARAM_UINT && param->type != GEMEM_PARAM_INT) || param->max == NULL
      || !gemem_parse_uint (param->min != NULL ? param->min : "0", &min, NULL)
      || !gemem_parse_uint (param->max, &max, NULL) || max - min > RANGE_MAX)
    return;
  for (; min <= max; min++)
    {
      g_autofree char *number = g_strdup_printf ("%" G_GUINT64_FORMAT, min);
      offer (candidates, before, typed, number, "", NULL);
    }
}

static void
offer_values (Candidates *candidates, const char *before, const char *typed,
              const GememParam *param)
{
  const char *bar = strrchr (typed, '|');
  g_autofree char *more = g_strndup (typed, bar != NULL ? (gsize) (bar + 1 - typed) : 0);
  g_autofree char *head = g_strconcat (before, more, NULL);
  g_autoptr (GPtrArray) values = gemem_param_sweep (param);

  typed += strlen (more);
  for (guint i = 0; i < values->len; i++)
    offer (candidates, head, typed, values->pdata[i], "", NULL);
  offer_words (candidates, head, typed, param->choices);
  offer_range (candidates, head, typed, param);
  offer_words (candidates, head, typed, param->special);
  if (param->default_text != NULL && *param->default_text != '\0')
    offer (candidates, head, typed, param->default_text, "", "default");
}

/* An alias is offered only where no name fits: it is what an old hand types. */
static void
offer_keys (Candidates *candidates, const char *before, const char *typed, const GememParam *params)
{
  gboolean any = FALSE;

  for (const GememParam *p = params; p != NULL && p->name != NULL; p++)
    any |= offer (candidates, before, typed, p->name, "=", p->help);
  for (const GememParam *p = params; !any && p != NULL && p->name != NULL; p++)
    {
      g_auto (GStrv) aliases = g_strsplit (p->aliases != NULL ? p->aliases : "", "|", -1);

      for (char **alias = aliases; *alias != NULL; alias++)
        offer (candidates, before, typed, *alias, "=", p->help);
    }
}

/* Where the last of the settings in @text begins: behind the last comma outside brackets, and
 * behind the number of "cuda:1:mode=vmm". */
static const char *
last_setting (const char *text)
{
  const gsize digits = strspn (text, "0123456789");
  int depth = 0;

  if (digits > 0 && text[digits] == ':')
    text += digits + 1;
  for (const char *p = text; *p != '\0'; p++)
    {
      depth += (*p == '[') - (*p == ']');
      if (*p == ',' && depth <= 0)
        text = p + 1;
    }
  return text;
}

/* The parameters of the allocator that the shorthand @topic chooses with the settings from @start
 * to @end; NULL: it is no shorthand, or chooses none. */
static const GememParam *
params_behind (const GememTopic *topic, const char *start, const char *end)
{
  g_autofree char *text = g_strndup (start, end > start ? (gsize) (end - start - 1) : 0);
  g_autoptr (GPtrArray) settings = gemem_settings_parse (text, NULL);
  const GememAllocatorClass *klass = NULL;

  for (const GememNamed *const *s = gemem_shorthands (); settings != NULL && *s != NULL; s++)
    if (strcmp (topic->kind, "shorthand") == 0 && (*s)->name == topic->name)
      klass = ((const GememShorthand *) *s)->choose (settings, NULL);
  return klass != NULL ? klass->params : NULL;
}

/* @topic is of the text that @typed begins with, up to and with a colon. */
static void
offer_settings (Candidates *candidates, const char *before, const char *typed,
                const GememTopic *topic)
{
  const char *settings = strchr (typed, ':') + 1;
  const char *setting = last_setting (settings), *equal = strchr (setting, '=');
  const char *from = equal != NULL ? equal + 1 : setting;
  g_autofree char *start = g_strndup (typed, (gsize) (from - typed));
  g_autofree char *head = g_strconcat (before, start, NULL);
  g_autofree char *key = g_strndup (setting, equal != NULL ? (gsize) (equal - setting) : 0);
  const GememParam *more = params_behind (topic, settings, setting);
  const GememParam *param = gemem_params_find (topic->params, key);

  if (param == NULL)
    param = gemem_params_find (more, key);
  if (equal == NULL)
    {
      offer_keys (candidates, head, from, topic->params);
      offer_keys (candidates, head, from, more);
    }
  else if (param != NULL)
    offer_values (candidates, head, from, param);
}

/* @kinds: '|' separated, of topics. */
static void
offer_specs (Candidates *candidates, const char *before, const char *typed, const char *kinds)
{
  g_auto (GStrv) all = g_strsplit (kinds, "|", -1);
  g_autofree char *name = g_strndup (typed, strcspn (typed, ":"));
  const gboolean named = strchr (typed, ':') != NULL;

  for (char **kind = all; *kind != NULL; kind++)
    {
      g_autoptr (GArray) topics = gemem_topics (*kind, NULL);

      for (guint i = 0; i < topics->len; i++)
        {
          const GememTopic *topic = &g_array_index (topics, GememTopic, i);
          const gboolean whole = gemem_name_is (topic->name, topic->aliases, name)
                                 || g_pattern_match_simple (name, topic->name);

          if (named && whole)
            offer_settings (candidates, before, typed, topic);
          if (named)
            continue;
          offer (candidates, before, typed, topic->name, "", topic->summary);
          if (whole && topic->params != NULL && strcmp (topic->name, name) == 0)
            offer (candidates, before, typed, topic->name, ":", "with parameters");
        }
    }
}

/* ---- options */

/* The option of @command written "--NAME" or "-N", as far as @length; NULL: none. */
static const GOptionEntry *
find_option (const GememCommand *command, const char *word, gsize length)
{
  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    for (const GOptionEntry *entry = *list; entry->long_name != NULL; entry++)
      if ((length == 2 && word[0] == '-' && word[1] == entry->short_name && word[1] != '\0')
          || (length == strlen (entry->long_name) + 2 && g_str_has_prefix (word, "--")
              && strncmp (word + 2, entry->long_name, length - 2) == 0))
        return entry;
  return NULL;
}

static void
offer_options_of (Candidates *candidates, const char *typed, const GOptionEntry *entry)
{
  for (; entry->long_name != NULL; entry++)
    {
      g_autofree char *name = g_strconcat ("--", entry->long_name, NULL);

      if (g_str_has_prefix (name, typed))
        offer (candidates, "", typed, name, entry->arg == G_OPTION_ARG_NONE ? "" : "=",
               entry->description);
    }
}

static void
offer_options (Candidates *candidates, const GememCommand *command, const char *typed)
{
  static const GOptionEntry help[] = {
    { "help", 'h', 0, G_OPTION_ARG_NONE, NULL, "Explain the command", NULL }, { NULL }
  };

  for (const GOptionEntry *const *list = command->options; *list != NULL; list++)
    offer_options_of (candidates, typed, *list);
  offer_options_of (candidates, typed, gemem_common_entries);
  offer_options_of (candidates, typed, help);
}

/* Offers measures; of a list the last one is completed. */
static void
offer_measures (Candidates *candidates, const char *before, const char *typed)
{
  const char *comma = strrchr (typed, ',');
  const gsize done = comma != NULL ? (gsize) (comma + 1 - typed) : 0;
  g_autofree char *listed = g_strndup (typed, done);
  g_autofree char *head = g_strconcat (before, listed, NULL);

  for (guint i = 0; gemem_measure_name (i) != NULL; i++)
    offer (candidates, head, typed + done, gemem_measure_name (i), "", gemem_measure_help (i));
}

/* The value of @entry.  TRUE: it is the name of a file. */
static gboolean
offer_value (Candidates *candidates, const char *before, const char *typed,
             const GOptionEntry *entry)
{
  static const char *const kinds[][2] = { { "allocator", "allocator|shorthand" },
                                          { "device", "device" },
                                          { "planner", "planner" },
                                          { "lower", "lowering" },
                                          { "trace-format", "format" } };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (entry->long_name, kinds[i][0]) == 0)
      {
        offer_specs (candidates, before, typed, kinds[i][1]);
        return FALSE;
      }
  if (strcmp (entry->long_name, "sort") == 0 || strcmp (entry->long_name, "columns") == 0)
    offer_measures (candidates, before, typed);
  else if (entry->arg_description != NULL && strchr (entry->arg_description, '|') != NULL)
    offer_words (candidates, before, typed, entry->arg_description);
  else if (strcmp (entry->long_name, "format") == 0)
    offer_specs (candidates, before, typed, "format");
  return entry->arg == G_OPTION_ARG_FILENAME;
}

/* ---- the words */

static void
offer_commands (Candidates *candidates, const char *typed)
{
  for (const GememCommand *const *c = gemem_commands (); *c != NULL; c++)
    offer (candidates, "", typed, (*c)->name, "", (*c)->summary);
}

/* A word that belongs to no option.  TRUE: it is the name of a file. */
static gboolean
offer_argument (Candidates *candidates, const GememCommand *command, const char *typed)
{
  if (strcmp (command->name, "generate") == 0)
    offer_specs (candidates, "", typed, "generator");
  else if (strcmp (command->name, "list") == 0)
    for (const char *const *kind = gemem_topic_kinds; *kind != NULL; kind++)
      {
        g_autofree char *plural = g_strconcat (*kind, "s", NULL);
        offer (candidates, "", typed, plural, "", NULL);
      }
  else if (strcmp (command->name, "help") == 0)
    {
      g_autofree char *kinds = g_strjoinv ("|", (char **) gemem_topic_kinds);
      offer_commands (candidates, typed);
      offer (candidates, "", typed, "paddle-flags", "", "the flags of PaddlePaddle");
      offer_specs (candidates, "", typed, kinds);
    }
  else
    return *command->synopsis != '\0';
  return FALSE;
}

static gboolean
offer_after (Candidates *candidates, const GememCommand *command, const char *previous,
             const char *current)
{
  const gsize name = strcspn (current, "=");
  const GOptionEntry *of_previous = find_option (command, previous, strlen (previous));
  const GOptionEntry *own = g_str_has_prefix (current, "--") ? (
                                current[name] == '=' ? find_option (command, current, name) : NULL)
                            : strlen (current) > 2 ? find_option (command, current, 2)
                                                   : NULL;
  g_autofree char *before = NULL;
  gsize length;

  if (of_previous != NULL && of_previous->arg != G_OPTION_ARG_NONE)
    return offer_value (candidates, "", current, of_previous);
  if (own == NULL && current[0] == '-')
    {
      offer_options (candidates, command, current);
      return FALSE;
    }
  if (own == NULL || own->arg == G_OPTION_ARG_NONE)
    return offer_argument (candidates, command, current);
  length = current[1] == '-' ? name + 1 : 2;
  before = g_strndup (current, length);
  return offer_value (candidates, before, current + length, own);
}

char *
gemem_complete (const char *const *words, gboolean *files)
{
  const guint n = g_strv_length ((char **) words);
  Candidates candidates = { g_string_new (NULL),
                            g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };
  const GememCommand *command = n > 1 ? gemem_command_find (words[0], NULL) : NULL;

  *files = FALSE;
  if (n == 1)
    {
      offer_commands (&candidates, words[0]);
      *files = words[0][0] != '-'; /* a file instead of a command: advise */
    }
  else if (command != NULL)
    *files = offer_after (&candidates, command, n > 2 ? words[n - 2] : "", words[n - 1]);
  g_hash_table_unref (candidates.seen);
  return g_string_free (candidates.out, FALSE);
}

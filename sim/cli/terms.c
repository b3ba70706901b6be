/* terms.c - the index of terms: every name that a user of a real system or of gemem knows, and what
 * it is here (commands.h).
 *
 * Derived from the registries and their tables alone: commands and options, allocators, planners,
 * lowerings, generators, devices and formats with their aliases and the names they have in the real
 * system, parameters with aliases, environment variables and values, flags that are not modelled,
 * measures, kinds of events, attributes of graphs; words.def has the few words of manuals and
 * reports that are in none of these.  What is added to a table is found here.
 *
 * The index is made anew for each question: a few thousand terms, each with a pointer into
 * the table it comes from.  A parameter that several classes share is explained once, with
 * all its owners.
 */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "allocators/paddle/unmodelled.h"
#include "base/named.h"
#include "graphs/graph.h"
#include "sim/cli/commands.h"
#include "sim/cli/event-kinds.h"
#include "sim/cli/examples.h"
#include "sim/cli/flags.h"
#include "sim/cli/measures-help.h"
#include "sim/report/report.h"

typedef enum /* in the order in which they are explained */
{
  TERM_PAGE,
  TERM_WORD,
  TERM_COMMAND,
  TERM_TOPIC,
  TERM_PARAM,
  TERM_VALUE,
  TERM_UNMODELLED,
  TERM_MEASURE,
  TERM_EVENT,
  TERM_ATTRIBUTE,
  TERM_OPTION,
} TermKind;

typedef struct
{
  char *word;
  TermKind kind;
  gboolean dotted; /* its last part is a name too: torch.cuda.empty_cache */
  GememTopic topic;
  const GememParam *param;
  const GememCommand *command;
  const GOptionEntry *option;
  guint number; /* of the page, measure, event, attribute or flag in its table */
} Term;

static char *
flags_page (G_GNUC_UNUSED const GememCommand *const *commands)
{
  return gemem_flags_help ();
}

static char *
measures_page (G_GNUC_UNUSED const GememCommand *const *commands)
{
  return gemem_measures_help ();
}

static char *index_page (const GememCommand *const *commands);

/* Texts that are no description of a single thing. */
static const struct
{
  const char *name, *summary;
  char *(*text) (const GememCommand *const *commands);
} pages[] = {
  { "terms", "the index of all terms", index_page },
  { "paddle-flags", "the table of PaddlePaddle's flags", flags_page },
  { "measures", "what every number of a report means", measures_page },
};

static const struct
{
  const char *names, *text, *example;
} plain_words[] = {
#define GEMEM_WORD(names, text, example) { names, text, example },
#include "sim/cli/words.def"
#undef GEMEM_WORD
};

/* ---- the index */

static void
free_term (gpointer term)
{
  g_free (((Term *) term)->word);
  g_free (term);
}

static void
add (GPtrArray *terms, const Term *term, const char *word)
{
  Term *copy = g_new (Term, 1);

  *copy = *term;
  copy->word = g_strdup (word);
  g_ptr_array_add (terms, copy);
}

/* Adds the '|' separated @words (or NULL). */
static void
add_words (GPtrArray *terms, const Term *term, const char *words)
{
  g_auto (GStrv) split = g_strsplit (words != NULL ? words : "", "|", -1);
  Term dotted = *term;

  dotted.dotted = TRUE;
  for (guint i = 0; split[i] != NULL; i++)
    add (terms, &dotted, split[i]);
}

static void
add_commands (GPtrArray *terms, const GememCommand *const *command)
{
  for (; *command != NULL; command++)
    {
      Term term = { .kind = TERM_COMMAND, .command = *command };
      add (terms, &term, (*command)->name);
      term.kind = TERM_OPTION;
      for (const GOptionEntry *const *list = (*command)->options; *list != NULL; list++)
        for (term.option = *list; term.option->long_name != NULL; term.option++)
          add (terms, &term, term.option->long_name);
    }
}

/* The words among the values of the parameter: numbers are not terms, nor are texts to try. */
static void
add_values (GPtrArray *terms, const Term *param)
{
  const gboolean text = param->param->type == GEMEM_PARAM_STRING;
  const char *const lists[] = { text ? NULL : param->param->choices, param->param->special };
  Term value = *param;

  value.kind = TERM_VALUE;
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    {
      g_auto (GStrv) words = g_strsplit (lists[i] != NULL ? lists[i] : "", "|", -1);
      for (guint w = 0; words[w] != NULL; w++)
        {
          words[w][strcspn (words[w], "=")] = '\0'; /* a synonym, or a word for a number */
          if (g_ascii_isalpha (words[w][0]))
            add (terms, &value, words[w]);
        }
    }
}

static void
add_topics (GPtrArray *terms)
{
  g_autoptr (GArray) topics = gemem_topics (NULL, NULL);

  for (guint i = 0; i < topics->len; i++)
    {
      Term term = { .kind = TERM_TOPIC, .topic = g_array_index (topics, GememTopic, i) };

      add (terms, &term, term.topic.name);
      add_words (terms, &term, term.topic.aliases);
      add_words (terms, &term, term.topic.known_as);
      term.kind = TERM_PARAM;
      for (term.param = term.topic.params; term.param != NULL && term.param->name != NULL;
           term.param++)
        {
          add (terms, &term, term.param->name);
          add_words (terms, &term, term.param->aliases);
          add_values (terms, &term);
        }
    }
}

static void
add_others (GPtrArray *terms)
{
  Term term = { .kind = TERM_PAGE };

  for (term.number = 0; term.number < G_N_ELEMENTS (pages); term.number++)
    add (terms, &term, pages[term.number].name);
  term.kind = TERM_WORD;
  for (term.number = 0; term.number < G_N_ELEMENTS (plain_words); term.number++)
    add_words (terms, &term, plain_words[term.number].names);
  term.kind = TERM_UNMODELLED;
  for (term.number = 0; gemem_paddle_unmodelled[term.number].name != NULL; term.number++)
    {
      g_autofree char *flag = g_strconcat ("FLAGS_", gemem_paddle_unmodelled[term.number].name,
                                           NULL);
      add (terms, &term, flag);
    }
  term.kind = TERM_MEASURE;
  for (term.number = 0; gemem_measure_name (term.number) != NULL; term.number++)
    {
      add (terms, &term, gemem_measure_name (term.number));
      add_words (terms, &term, gemem_measure_known_as (term.number));
      if (!gemem_name_equal (gemem_measure_name (term.number), gemem_measure_title (term.number)))
        add (terms, &term, gemem_measure_title (term.number));
    }
  term.kind = TERM_EVENT;
  for (term.number = 1; term.number < GEMEM_EVENT_KIND_COUNT; term.number++)
    {
      add (terms, &term, gemem_event_kind_name ((GememEventKind) term.number));
      add_words (terms, &term, gemem_event_kind_known_as ((GememEventKind) term.number));
    }
  term.kind = TERM_ATTRIBUTE;
  for (term.number = 0; term.number < GEMEM_ATTRIBUTE_COUNT; term.number++)
    add (terms, &term, gemem_attributes[term.number].name);
}

/* All terms: an array of Term. */
static GPtrArray *
all_terms (const GememCommand *const *commands)
{
  GPtrArray *terms = g_ptr_array_new_with_free_func (free_term);

  add_commands (terms, commands);
  add_topics (terms);
  add_others (terms);
  return terms;
}

/* ---- what a word means */

/* @word without what does not matter: case, '-', '_', blanks, "()", and a leading FLAGS_. */
static char *
folded (const char *word)
{
  GString *out = g_string_new (NULL);

  if (g_ascii_strncasecmp (word, "FLAGS_", 6) == 0)
    word += 6;
  for (; *word != '\0'; word++)
    if (strchr ("-_ ()", *word) == NULL)
      g_string_append_c (out, g_ascii_tolower (*word));
  return g_string_free (out, FALSE);
}

/* What follows the last '.' or ':' of @name. */
static const char *
last_part (const char *name)
{
  const char *end = name + strlen (name);

  while (end > name && end[-1] != '.' && end[-1] != ':')
    end--;
  return end;
}

static gboolean
is_term (const Term *term, const char *word)
{
  g_autofree char *mine = folded (term->word), *theirs = folded (word);

  if (g_ascii_strncasecmp (word, "FLAGS_", 6) == 0 && term->kind != TERM_PARAM
      && term->kind != TERM_UNMODELLED)
    return FALSE;
  return strcmp (mine, theirs) == 0 || (term->dotted && strcmp (last_part (mine), theirs) == 0)
         || strcmp (mine, last_part (theirs)) == 0
         || (term->dotted && strcmp (last_part (mine), last_part (theirs)) == 0);
}

/* TRUE if both are the same thing, under the same or two names. */
static gboolean
is_same (const Term *a, const Term *b)
{
  return a->kind == b->kind && g_strcmp0 (a->topic.kind, b->topic.kind) == 0
         && g_strcmp0 (a->topic.name, b->topic.name) == 0 && a->param == b->param
         && a->option == b->option && a->number == b->number
         && (a->option != NULL || a->command == b->command);
}

static int
compare_kinds (gconstpointer a, gconstpointer b)
{
  const Term *const *x = a, *const *y = b;
  return (int) (*x)->kind - (int) (*y)->kind;
}

/* Those of @terms that @choose takes, each thing once, by kind, then in the order of the index. */
static GPtrArray *
choose_terms (const GPtrArray *terms, const char *word,
              gboolean (*choose) (const Term *term, const char *word))
{
  GPtrArray *chosen = g_ptr_array_new ();

  for (guint i = 0; i < terms->len; i++)
    {
      gboolean take = choose (terms->pdata[i], word);
      for (guint k = 0; k < chosen->len && take; k++)
        take = !is_same (chosen->pdata[k], terms->pdata[i]);
      if (take)
        g_ptr_array_add (chosen, terms->pdata[i]);
    }
  g_ptr_array_sort (chosen, compare_kinds); /* a stable sort */
  return chosen;
}

/* ---- texts that mention a word */

/* TRUE if @text (or NULL) has @word as a whole word. */
static gboolean
mentions (const char *text, const char *word)
{
  const gsize length = strlen (word);

  for (const char *at = text; at != NULL && (at = strstr (at, word)) != NULL; at++)
    if ((at == text || (!g_ascii_isalnum (at[-1]) && at[-1] != '_'))
        && !g_ascii_isalnum (at[length]) && at[length] != '_')
      return TRUE;
  return FALSE;
}

static gboolean
term_mentions (const Term *term, const char *word)
{
  switch (term->kind)
    {
    case TERM_TOPIC:
      return mentions (term->topic.summary, word) || mentions (term->topic.origin, word);
    case TERM_PARAM:
      return mentions (term->param->help, word);
    case TERM_UNMODELLED:
      return mentions (gemem_paddle_unmodelled[term->number].reason, word);
    case TERM_MEASURE:
      return mentions (gemem_measure_help (term->number), word);
    case TERM_EVENT:
      return mentions (gemem_event_kind_help ((GememEventKind) term->number), word);
    case TERM_ATTRIBUTE:
      return mentions (gemem_attributes[term->number].help, word);
    case TERM_WORD:
      return mentions (plain_words[term->number].text, word);
    case TERM_OPTION:
      return mentions (term->option->description, word);
    default:
      return FALSE;
    }
}

/* TRUE for words that are names in programs, such as cudaMalloc or a_b, not of the language. */
static gboolean
is_code (const char *word)
{
  for (const char *at = word; *at != '\0'; at++)
    if (*at == '_' || *at == '.' || (at > word && g_ascii_isupper (*at)))
      return TRUE;
  return FALSE;
}

/* ---- explanations */

static gboolean
same_text (const Term *a, const Term *b)
{
  return a->kind == b->kind && strcmp (a->param->name, b->param->name) == 0
         && a->param->type == b->param->type && strcmp (a->param->help, b->param->help) == 0
         && g_strcmp0 (a->param->default_text, b->param->default_text) == 0
         && (a->param->type == GEMEM_PARAM_STRING
             || g_strcmp0 (a->param->choices, b->param->choices) == 0);
}

/* "allocators ge, ge-active; planner ge-block": the owners of terms that are explained as the one
 * at @first is; those that follow are removed from @chosen. */
static void
append_owners (GString *out, GPtrArray *chosen, guint first)
{
  const Term *term = chosen->pdata[first];
  const char *separator = "";

  for (const char *const *kind = gemem_topic_kinds; *kind != NULL; kind++)
    {
      g_autoptr (GString) names = g_string_new (NULL);
      guint n = 0;

      for (guint i = first; i < chosen->len;)
        {
          const Term *other = chosen->pdata[i];
          const gboolean mine = same_text (term, other) && strcmp (other->topic.kind, *kind) == 0;

          if (mine)
            g_string_append_printf (names, "%s%s", n++ > 0 ? ", " : "", other->topic.name);
          if (mine && i != first)
            g_ptr_array_remove_index (chosen, i);
          else
            i++;
        }
      if (n > 0)
        g_string_append_printf (out, "%s%s%s %s", separator, *kind, n > 1 ? "s" : "", names->str);
      separator = n > 0 ? "; " : separator;
    }
}

/* Names the variables from which --env reads the parameter. */
static void
append_variables (GString *out, const Term *term)
{
  g_auto (GStrv) variables = gemem_param_variables (term->param);
  g_autofree char *all = g_strjoinv (", ", variables);

  if (*all != '\0' && gemem_name_listed ("allocator|shorthand|lowering", term->topic.kind))
    g_string_append_printf (out, "      With --env from the environment: %s\n", all);
}

static void
append_example (GString *out, const char *indent, char *example)
{
  g_string_append_printf (out, "%sTry: %s\n", indent, example);
  g_free (example);
}

static void
append_param (GString *out, const char *word, GPtrArray *chosen, guint first)
{
  const Term *term = chosen->pdata[first];
  const gboolean value = term->kind == TERM_VALUE;

  g_string_append_printf (out, "%s: %s ", word, value ? "value of" : "parameter");
  if (value || !gemem_name_equal (term->param->name, word))
    g_string_append_printf (out, "%s ", term->param->name);
  g_string_append (out, value ? "(" : "of ");
  append_owners (out, chosen, first);
  g_string_append (out, value ? ")\n" : "\n");
  gemem_param_append_help (out, term->param);
  append_variables (out, term);
  append_example (out, "      ",
                  gemem_example (&term->topic, term->param, value ? term->word : NULL));
}

static void
append_option (GString *out, const GememCommand *const *commands, const Term *term)
{
  const char *argument = term->option->arg_description, *separator = "";

  g_string_append_printf (out, "--%s%s%s: option of gemem-sim ", term->option->long_name,
                          argument != NULL ? "=" : "", argument != NULL ? argument : "");
  for (const GememCommand *const *command = commands; *command != NULL; command++)
    for (const GOptionEntry *const *list = (*command)->options; *list != NULL; list++)
      for (const GOptionEntry *entry = *list; entry->long_name != NULL; entry++)
        if (entry == term->option)
          {
            g_string_append_printf (out, "%s%s", separator, (*command)->name);
            separator = ", ";
          }
  g_string_append_printf (out, "\n      %s.\n      Try: gemem-sim help %s\n",
                          term->option->description, term->command->name);
}

/* Explains @topic; without its parameters if it has another name than @word (or NULL). */
static void
append_topic (GString *out, const GememTopic *topic, const char *word)
{
  const gboolean whole = word == NULL || gemem_name_is (topic->name, topic->aliases, word);
  g_autofree char *text = gemem_topic_help (topic);
  char *params = strstr (text, "\n\n");

  if (!whole && params != NULL)
    params[1] = '\0';
  g_string_append (out, text);
  if (!whole && params != NULL)
    g_string_append_printf (out, "Parameters: gemem-sim help %s\n", topic->name);
  append_example (out, whole ? "\n" : "", gemem_example (topic, NULL, NULL));
}

/* "Known as: ..." of the '|' separated @words. */
static void
append_known_as (GString *out, const char *words)
{
  g_auto (GStrv) split = g_strsplit (words != NULL ? words : "", "|", -1);
  g_autofree char *all = g_strjoinv (", ", split);

  if (words != NULL)
    g_string_append_printf (out, "      Known as: %s\n", all);
}

static void
append_event (GString *out, GememEventKind kind)
{
  g_string_append_printf (out, "%s: event of a trace\n      %s\n", gemem_event_kind_name (kind),
                          gemem_event_kind_help (kind));
  append_known_as (out, gemem_event_kind_known_as (kind));
  if (gemem_event_kind_generator (kind) != NULL)
    g_string_append_printf (out,
                            "      Try: gemem-sim generate %s | gemem-sim convert - - -f text | "
                            "sed -n '/^%s /p'\n",
                            gemem_event_kind_generator (kind), gemem_event_kind_name (kind));
}

static void
append_term (GString *out, const GememCommand *const *commands, const char *word, GPtrArray *chosen,
             guint at)
{
  const Term *term = chosen->pdata[at];
  g_autofree char *text = NULL;

  if (out->len > 0)
    g_string_append_c (out, '\n');
  switch (term->kind)
    {
    case TERM_PAGE:
      text = pages[term->number].text (commands);
      g_string_append (out, text);
      break;
    case TERM_WORD:
      g_string_append_printf (out, "%s\n      %s\n      Try: %s\n",
                              word != NULL ? word : term->word, plain_words[term->number].text,
                              plain_words[term->number].example);
      break;
    case TERM_COMMAND:
      text = gemem_command_usage (term->command);
      g_string_append (out, text);
      break;
    case TERM_TOPIC:
      append_topic (out, &term->topic, chosen->len == 1 ? NULL : word);
      break;
    case TERM_PARAM:
    case TERM_VALUE:
      append_param (out, word != NULL ? word : term->word, chosen, at);
      break;
    case TERM_UNMODELLED:
      g_string_append_printf (out, "FLAGS_%s: flag of PaddlePaddle\n      Not modelled: it %s.\n",
                              gemem_paddle_unmodelled[term->number].name,
                              gemem_paddle_unmodelled[term->number].reason);
      break;
    case TERM_MEASURE:
      g_string_append_printf (out, "%s: measure (%s)\n      %s.\n",
                              gemem_measure_title (term->number), gemem_measure_name (term->number),
                              gemem_measure_help (term->number));
      append_known_as (out, gemem_measure_known_as (term->number));
      append_example (out, "      ", gemem_example_replay ());
      break;
    case TERM_EVENT:
      append_event (out, (GememEventKind) term->number);
      break;
    case TERM_ATTRIBUTE:
      g_string_append_printf (
          out,
          "%s: attribute of a %s of a graph\n      %s\n"
          "      Try: gemem-sim help gemem-graph\n",
          gemem_attributes[term->number].name,
          gemem_attributes[term->number].owner == GEMEM_ATTRIBUTE_NODE ? "node" : "tensor",
          gemem_attributes[term->number].help);
      break;
    case TERM_OPTION:
      append_option (out, commands, term);
      break;
    }
}

/* ---- names beside it */

/* TRUE if @name is longer than @word and has it as whole parts between '_'. */
static gboolean
has_part (const char *name, const char *word)
{
  const gsize length = strlen (word);

  if (strlen (name) == length || length < 4)
    return FALSE;
  for (const char *at = name; (at = strstr (at, word)) != NULL; at++)
    if ((at == name || at[-1] == '_') && (at[length] == '\0' || at[length] == '_'))
      return TRUE;
  return FALSE;
}

/* "See also: zero_copy_alignment": parameters that have @word in their name. */
static void
append_beside (GString *out, const GPtrArray *terms, const char *word)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < terms->len; i++)
    {
      const Term *term = terms->pdata[i];

      if (term->kind == TERM_PARAM && has_part (term->param->name, word)
          && g_hash_table_add (seen, (gpointer) term->param->name))
        g_string_append_printf (
            out, "%s%s", g_hash_table_size (seen) > 1 ? ", " : "\nSee also: ", term->param->name);
    }
  if (g_hash_table_size (seen) > 0)
    g_string_append_c (out, '\n');
}

/* ---- suggestions */

#define SUGGESTIONS_MAX 5

/* "'a', 'b'": terms with a name near @word, or with @word in their name; "" if there is none. */
static char *
suggestions (const GPtrArray *terms, const char *word)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree char *part = folded (word);
  GString *out = g_string_new (NULL);
  const char *near;

  for (guint i = 0; i < terms->len; i++)
    g_ptr_array_add (names, ((const Term *) terms->pdata[i])->word);
  g_ptr_array_add (names, NULL);
  near = gemem_suggest (word, (const char *const *) names->pdata);
  if (near != NULL)
    {
      g_string_append_printf (out, "'%s'", near);
      return g_string_free (out, FALSE);
    }
  for (guint i = 0; i < terms->len && g_hash_table_size (seen) < SUGGESTIONS_MAX; i++)
    {
      const Term *term = terms->pdata[i];
      g_autofree char *name = folded (term->word);
      if (strlen (part) >= 3 && strstr (name, part) != NULL && g_hash_table_add (seen, term->word))
        g_string_append_printf (out, "%s'%s'", out->len > 0 ? ", " : "", term->word);
    }
  return g_string_free (out, FALSE);
}

char *
gemem_terms_help (const GememCommand *const *commands, const char *word, GError **error)
{
  g_autoptr (GPtrArray) terms = all_terms (commands);
  g_autoptr (GPtrArray) chosen = choose_terms (terms, word, is_term);
  GString *out = g_string_new (NULL);

  if (chosen->len > 0)
    {
      for (guint i = 0; i < chosen->len; i++) /* grows shorter on the way */
        append_term (out, commands, word, chosen, i);
      append_beside (out, terms, word);
      return g_string_free (out, FALSE);
    }
  g_clear_pointer (&chosen, g_ptr_array_unref);
  chosen = is_code (word) ? choose_terms (terms, word, term_mentions) : g_ptr_array_new ();
  if (chosen->len > 0)
    {
      g_string_append_printf (out, "'%s' is no name here; these descriptions mention it:\n", word);
      for (guint i = 0; i < chosen->len; i++)
        append_term (out, commands, NULL, chosen, i);
      return g_string_free (out, FALSE);
    }
  g_string_free (out, TRUE);
  const char *skipped = gemem_allocator_skipped (word);
  if (skipped != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "no help on '%s': its plugin was skipped: %s", word, skipped);
      return NULL;
    }
  g_autofree char *near = suggestions (terms, word);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "no help on '%s'; %s%s%s", word,
               *near != '\0' ? "did you mean " : "'gemem-sim help terms' lists all that there is",
               near, *near != '\0' ? "?" : "");
  return NULL;
}

/* ---- the index as a list */

static int
compare_words (gconstpointer a, gconstpointer b)
{
  const Term *const *x = a, *const *y = b;
  const int by_fold = g_ascii_strcasecmp ((*x)->word, (*y)->word);
  const int by_word = by_fold != 0 ? by_fold : strcmp ((*x)->word, (*y)->word);

  return by_word != 0 ? by_word : compare_kinds (a, b);
}

/* What @term is, in a few words. */
static char *
kind_of (const Term *term)
{
  switch (term->kind)
    {
    case TERM_PAGE:
      return g_strdup (pages[term->number].summary);
    case TERM_WORD:
      return g_strdup ("word");
    case TERM_COMMAND:
      return g_strdup ("command");
    case TERM_TOPIC:
      return gemem_name_equal (term->word, term->topic.name)
                 ? g_strdup (term->topic.kind)
                 : g_strdup_printf ("%s %s", term->topic.kind, term->topic.name);
    case TERM_PARAM:
      return gemem_name_equal (term->word, term->param->name)
                 ? g_strdup ("parameter")
                 : g_strdup_printf ("parameter %s", term->param->name);
    case TERM_VALUE:
      return g_strdup_printf ("value of %s", term->param->name);
    case TERM_UNMODELLED:
      return g_strdup ("flag that is not modelled");
    case TERM_MEASURE:
      return g_strdup ("measure");
    case TERM_EVENT:
      return g_strdup ("event");
    case TERM_ATTRIBUTE:
      return g_strdup ("attribute");
    case TERM_OPTION:
      return g_strdup_printf ("option of");
    }
  return NULL;
}

/* The owner to name behind what kind_of() says, or NULL. */
static const char *
owner_of (const Term *term)
{
  return term->kind == TERM_PARAM || term->kind == TERM_VALUE ? term->topic.name
         : term->kind == TERM_OPTION                          ? term->command->name
                                                              : NULL;
}

/* Appends what the terms from @first to before @end, which have one word, are. */
static void
append_entry (GString *out, const GPtrArray *terms, guint first, guint end, int width)
{
  g_autofree char *last = NULL;

  g_string_append_printf (out, "%-*s  ", width, ((const Term *) terms->pdata[first])->word);
  for (guint i = first; i < end; i++)
    {
      g_autofree char *kind = kind_of (terms->pdata[i]);
      const char *owner = owner_of (terms->pdata[i]);

      if (last == NULL || strcmp (kind, last) != 0)
        g_string_append_printf (out, "%s%s%s%s", last != NULL ? "; " : "", kind,
                                owner != NULL ? ": " : "", owner != NULL ? owner : "");
      else if (owner != NULL)
        g_string_append_printf (out, ", %s", owner);
      g_free (last);
      last = g_steal_pointer (&kind);
    }
  g_string_append_c (out, '\n');
}

/* The whole index, a term a line, sorted. */
static char *
index_page (const GememCommand *const *commands)
{
  g_autoptr (GPtrArray) terms = all_terms (commands);
  GString *out = g_string_new (NULL);
  guint width = 0;

  g_ptr_array_sort (terms, compare_words);
  for (guint i = 0; i < terms->len; i++)
    width = MAX (width, (guint) strlen (((const Term *) terms->pdata[i])->word));
  for (guint i = 0, end; i < terms->len; i = end)
    {
      const char *word = ((const Term *) terms->pdata[i])->word;
      for (end = i + 1;
           end < terms->len && strcmp (((const Term *) terms->pdata[end])->word, word) == 0; end++)
        continue;
      append_entry (out, terms, i, end, (int) width);
    }
  return g_string_free (out, FALSE);
}

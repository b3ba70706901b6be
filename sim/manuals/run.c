/* run.c - runs the examples of sentences and reads their figures; see manuals.h.
 *
 * An example is a process of its own, so that it is exactly what a user types: its own options, its
 * own exit status, its own messages.
 */
#include "config.h"

#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/io/child.h"
#include "base/io/json-tree.h"
#include "base/parallel.h"
#include "base/units.h"
#include "sim/manuals/manuals.h"

#define RULES "{rules}"
#define SLIPS "{rules and slips}"
#define GRAPHS "{graphs}"

/* ---- commands */

char *
gemem_manual_graphs (void)
{
  g_autofree char *here = g_build_filename ("graphs", "bundled", NULL);

  return g_file_test (here, G_FILE_TEST_IS_DIR) ? g_steal_pointer (&here)
                                                : g_build_filename (GEMEM_DATADIR, "graphs", NULL);
}

/* The words of the example, with its variables first; g_strfreev(). */
static char **
words_of (const GememSentence *sentence, gboolean documented)
{
  g_autofree char *folder = gemem_manual_graphs ();
  g_autoptr (GString) text = g_string_new (sentence->example);
  char **words = NULL;

  g_string_replace (text, RULES, documented ? "rules=documented" : "rules=as-built", 0);
  g_string_replace (text, SLIPS, documented ? "rules=documented" : "rules=as-built,as_built=yes",
                    0);
  g_string_replace (text, GRAPHS, folder, 0);
  if (!g_shell_parse_argv (text->str, NULL, &words, NULL))
    g_error ("%s: the example is no command line: %s", sentence->id, sentence->example);
  return words;
}

/* The length of the name if @word is NAME=VALUE, else 0. */
static gsize
variable_name (const char *word)
{
  const gsize length = strspn (word, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_");

  return word[length] == '=' && !g_ascii_isdigit (*word) ? length : 0;
}

static void
append_word (GString *out, const char *word)
{
  g_autofree char *quoted = gemem_shell_word (word);
  g_string_append (out, quoted);
}

char *
gemem_sentence_command (const GememSentence *sentence, gboolean documented, gboolean input)
{
  GString *out = g_string_new (NULL);
  g_auto (GStrv) words = words_of (sentence, documented);
  char **word = words;

  for (; *word != NULL && variable_name (*word) > 0; word++)
    {
      append_word (out, *word);
      g_string_append_c (out, ' ');
    }
  g_string_append (out, "gemem-sim");
  for (; *word != NULL; word++)
    {
      g_string_append_c (out, ' ');
      append_word (out, *word);
    }
  if (input && sentence->input != NULL)
    g_string_append_printf (out, " <<'EOF'\n%s%sEOF", sentence->input,
                            g_str_has_suffix (sentence->input, "\n") ? "" : "\n");
  return g_string_free (out, FALSE);
}

/* ---- figures */

/* Appends the values at @path below @entry: ".NAME", "[N]" and "[*]" any number of times, which is what
 * the manuals' tables use of JSONPath.  Texts and numbers are appended as they are written. */
static gboolean
append_values (GString *figure, const GememJsonTree *tree, guint32 entry, const char *path,
               GError **error)
{
  const GememJsonToken token = gemem_json_tree_token (tree, entry);
  const gboolean list = *path == '[';
  const gsize length = *path != '\0' ? strcspn (path + 1, list ? "]" : ".[") : 0;
  g_autofree char *step = g_strndup (path + (*path != '\0'), length);
  const gboolean all = list && strcmp (step, "*") == 0;
  guint64 number = G_MAXUINT64, i = 0;

  if (*path == '\0')
    {
      const char *text = token == GEMEM_JSON_TRUE    ? "true"
                         : token == GEMEM_JSON_FALSE ? "false"
                         : token == GEMEM_JSON_NULL  ? "null"
                                                     : gemem_json_tree_text (tree, entry);

      if (token == GEMEM_JSON_BEGIN_OBJECT || token == GEMEM_JSON_BEGIN_ARRAY)
        return gemem_json_tree_fail (tree, entry, error, "holds values; the path must go on");
      g_string_append_printf (figure, "%s%s", figure->len > 0 ? ", " : "", text);
      return TRUE;
    }
  if (length == 0 || !(list ? path[length + 1] == ']' : *path == '.')
      || (list && !all && !gemem_parse_digits (step, 10, 0, G_MAXUINT64 - 1, &number)))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT,
                   "'%s' is no path of .NAME, [N] and [*]; write it with these", path);
      return FALSE;
    }
  if (token != (list ? GEMEM_JSON_BEGIN_ARRAY : GEMEM_JSON_BEGIN_OBJECT))
    return TRUE;
  for (guint32 child = gemem_json_tree_first (tree, entry); child != 0;
       child = gemem_json_tree_next (tree, entry, child), i++)
    if ((all || i == number || (!list && strcmp (gemem_json_tree_key (tree, child), step) == 0))
        && !append_values (figure, tree, child, path + 1 + length + list, error))
      return FALSE;
  return TRUE;
}

static char *
figure_of_json (const char *path, const char *output, GError **error)
{
  g_autoptr (GString) figure = g_string_new (NULL);
  g_autoptr (GBytes) bytes = g_bytes_new_static (output, strlen (output));
  GememInput *input = gemem_input_new_from_bytes (bytes, "standard output");
  g_autoptr (GememJsonTree) tree = gemem_json_tree_load (input, error);

  gemem_input_close (input);
  g_assert (*path == '$');
  if (tree == NULL || !append_values (figure, tree, 0, path + 1, error))
    return NULL;
  if (figure->len > 0)
    return g_string_free (g_steal_pointer (&figure), FALSE);
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT, "nothing at %s", path);
  return NULL;
}

/* The patterns are ours, so nothing but a lack of memory makes a match impossible;
 * it is no figure. */
static gboolean
matches (const GRegex *regex, const char *text, GMatchInfo **match)
{
  g_autoptr (GError) error = NULL;
  const gboolean found = g_regex_match_full (regex, text, -1, 0, 0, match, &error);

  if (error != NULL)
    g_error ("failed to allocate what a comparison needs: %s", error->message);
  return found;
}

/* Group 1 of the first match of @pattern in @text, or with @count the number of
 * lines that match. */
static char *
figure_of_text (const char *pattern, const char *text, gboolean count, GError **error)
{
  g_autoptr (GMatchInfo) match = NULL;
  g_autoptr (GError) problem = NULL;
  g_autoptr (GRegex) regex = g_regex_new (pattern, G_REGEX_MULTILINE, 0, &problem);
  guint lines = 0;

  if (regex == NULL)
    g_error ("failed to allocate a pattern: %s", problem->message);
  if (!count)
    {
      if (matches (regex, text, &match))
        return g_match_info_fetch (match, 1);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INVARIANT, "no line like '%s'", pattern);
      return NULL;
    }
  g_auto (GStrv) split = g_strsplit (text, "\n", -1);
  for (char **line = split; *line != NULL; line++)
    lines += matches (regex, *line, NULL);
  return g_strdup_printf ("%u", lines);
}

static char *
figure_of (const char *figure, int status, const char *output, const char *messages, GError **error)
{
  g_autofree char *text = g_strconcat (output, messages, NULL);

  if (g_str_equal (figure, "status"))
    return g_strdup_printf ("%d", status);
  if (g_str_has_prefix (figure, "json "))
    return figure_of_json (figure + strlen ("json "), output, error);
  if (g_str_has_prefix (figure, "count "))
    return figure_of_text (figure + strlen ("count "), text, TRUE, error);
  g_assert (g_str_has_prefix (figure, "line "));
  return figure_of_text (figure + strlen ("line "), text, FALSE, error);
}

/* ---- processes */

/* Runs the example; its figure, or NULL with *@problem (g_free()). */
static char *
run_once (const char *program, const GememSentence *sentence, gboolean documented, char **problem)
{
  static const char *const kept[] = { "PATH",         "LD_LIBRARY_PATH", "TMPDIR",
                                      "ASAN_OPTIONS", "UBSAN_OPTIONS",   "GEMEM_PLUGIN_PATH" };
  g_autoptr (GString) output = g_string_new (NULL);
  g_autoptr (GString) messages = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) arguments = g_ptr_array_new ();
  g_auto (GStrv) environment = g_new0 (char *, 1);
  g_auto (GStrv) words = words_of (sentence, documented);
  g_autofree char *figure = NULL;
  char **word = words;

  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    if (g_getenv (kept[i]) != NULL)
      environment = g_environ_setenv (environment, kept[i], g_getenv (kept[i]), TRUE);
  for (gsize length; *word != NULL && (length = variable_name (*word)) > 0; word++)
    {
      g_autofree char *name = g_strndup (*word, length);
      environment = g_environ_setenv (environment, name, *word + length + 1, TRUE);
    }
  g_ptr_array_add (arguments, (gpointer) program);
  for (; *word != NULL; word++)
    g_ptr_array_add (arguments, *word);
  g_ptr_array_add (arguments, NULL);

  const GememChild child = { .argv = (const char *const *) arguments->pdata,
                             .environment = environment,
                             .input = sentence->input };
  const int status = gemem_child_run (&child, output, messages, &error);
  if (error == NULL)
    figure = figure_of (sentence->figure, WIFEXITED (status) ? WEXITSTATUS (status) : 128,
                        output->str, messages->str, &error);
  if (figure == NULL)
    *problem = g_strdup_printf ("%s%s%s", error->message, messages->len > 0 ? "; it said: " : "",
                                g_strchomp (messages->str));
  return g_steal_pointer (&figure);
}

typedef struct
{
  const char *program;
  GememShown *shown;
} Rows;

static void
run_row (gpointer data, guint i)
{
  const char *program = ((Rows *) data)->program;
  GememShown *shown = &((Rows *) data)->shown[i];

  if (shown->sentence->example == NULL)
    return;
  shown->built = run_once (program, shown->sentence, FALSE, &shown->built_error);
  if (strstr (shown->sentence->example, "{rules") != NULL)
    shown->documented = run_once (program, shown->sentence, TRUE, &shown->documented_error);
  else
    {
      shown->documented = g_strdup (shown->built);
      shown->documented_error = g_strdup (shown->built_error);
    }
}

GememShown *
gemem_sentences_run (const char *program, const GememSentence *const *sentences, guint n)
{
  GememShown *shown = g_new0 (GememShown, n);

  for (guint i = 0; i < n; i++)
    shown[i].sentence = sentences[i];
  gemem_parallel (n, 0, run_row, &(Rows){ program, shown });
  return shown;
}

void
gemem_shown_free (GememShown *shown, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_free (shown[i].documented);
      g_free (shown[i].built);
      g_free (shown[i].documented_error);
      g_free (shown[i].built_error);
    }
  g_free (shown);
}

gboolean
gemem_shown_as_written (const GememShown *shown)
{
  return shown->sentence->example == NULL
         || (g_strcmp0 (shown->documented, shown->sentence->documented) == 0
             && g_strcmp0 (shown->built, shown->sentence->built) == 0);
}

const char *
gemem_shown_verdict (const GememShown *shown)
{
  if (shown->sentence->example == NULL)
    return "not observable";
  if (!gemem_shown_as_written (shown))
    return "changed";
  return g_str_equal (shown->documented, shown->built) ? "equal" : "differs";
}

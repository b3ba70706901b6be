/* fit.c - --fit: the largest value of a word of the command line with which a program fits; with
 * several --fit, one for each combination of the values of the others: a table.
 *
 * Bisection over dry runs, from both ends: a program is taken to need more with a later value, and
 * every run is listed and its trace kept, so that one that does not can be seen.  A run fits if its
 * verdict does not say the opposite, the program ended well and nothing was refused, whatever it did then;
 * conditions of the verdict (verdict.h) are said.  Integers and truth values that the program reads from the GPU (trial.c) are tried with
 * the largest value alone.  A run that failed for another reason than memory ends the search.
 *
 * With one --fit the search goes on above its answer with the setting of PyTorch that needs least there
 * (settings.c), where one needs less: by further runs, for nothing else tells what fits.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/io/json-text.h"
#include "base/units.h"
#include "dry/verdict/verdict.h"

#define COMBINATIONS_MAX 10000

/* NAME=FROM..TO or NAME=A,B,C */
typedef struct
{
  char *name;
  char **list; /* its values; NULL: the numbers from @from on */
  guint64 from, count;
  char *value; /* of the run at hand */
} Variable;

/* What one run gave. */
typedef struct
{
  char *value;  /* of the variable that is searched: "64" */
  char *values; /* "SEQ=128 BATCH=64" */
  char *json;   /* the same as members of an object */
  char *trace;
  guint64 needed;
  DryFit fit;
  int status;
  char *only_if; /* the first condition; NULL: none */
  char **arguments;
  DryVerdict *verdict;
} Run;

typedef struct
{
  const DryOptions *options;
  char **arguments;
  GPtrArray *variables; /* Variable; the first is searched */
  GPtrArray *runs;      /* Run, in their order */
  GPtrArray *best;      /* the Run of the largest value that fits for each combination; or NULL */
  GPtrArray *others;    /* "SEQ=128", beside @best */
  guint64
      longest; /* the sequence that would fit, as a program says that refused a longer one; 0: none does */
  DrySetting *setting; /* with which the search went on; NULL: with none */
  Run *with_setting;   /* the largest that fits with it; NULL: none above the best */
} Search;

static void
variable_free (gpointer data)
{
  Variable *variable = data;
  g_free (variable->name);
  g_strfreev (variable->list);
  g_free (variable->value);
  g_free (variable);
}

static void
run_free (gpointer data)
{
  Run *run = data;
  g_free (run->value);
  g_free (run->values);
  g_free (run->json);
  g_free (run->trace);
  g_free (run->only_if);
  g_strfreev (run->arguments);
  gemem_library_verdict_free (run->verdict);
  g_free (run);
}

/* ---- variables */

static gboolean
parse_range (const char *text, Variable *variable)
{
  const char *dots = strstr (text, "..");
  g_autofree char *from = dots != NULL ? g_strndup (text, (gsize) (dots - text)) : NULL;
  guint64 to;

  if (dots == NULL || !gemem_parse_digits (from, 10, 0, G_MAXINT64, &variable->from)
      || !gemem_parse_digits (dots + 2, 10, variable->from, G_MAXINT64, &to))
    return FALSE;
  variable->count = to - variable->from + 1;
  return TRUE;
}

static gboolean
parse_list (const char *text, Variable *variable)
{
  if (strstr (text, "..") != NULL)
    return FALSE;
  variable->list = g_strsplit (text, ",", -1);
  variable->count = g_strv_length (variable->list);
  return variable->count > 0 && !g_strv_contains ((const char *const *) variable->list, "");
}

static gboolean
is_word (const char *text, gsize length)
{
  for (gsize i = 0; i < length; i++)
    if (!g_ascii_isalnum (text[i]) && text[i] != '_')
      return FALSE;
  return length > 0;
}

static gboolean
parse_variable (const char *text, GPtrArray *variables, GError **error)
{
  const char *equals = strchr (text, '=');
  Variable *variable = g_new0 (Variable, 1);

  g_ptr_array_add (variables, variable);
  if (equals != NULL && is_word (text, (gsize) (equals - text))
      && (parse_range (equals + 1, variable) || parse_list (equals + 1, variable)))
    {
      variable->name = g_strndup (text, (gsize) (equals - text));
      for (guint i = 0; i + 1 < variables->len; i++)
        if (strcmp (((Variable *) variables->pdata[i])->name, variable->name) == 0)
          {
            g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                         "--fit=%s: %s was given before; give each name its values once", text,
                         variable->name);
            return FALSE;
          }
      return TRUE;
    }
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "--fit=%s: write NAME=FROM..TO with whole numbers, as in BATCH=1..512, or "
               "NAME=A,B,C, from what needs least to what needs most",
               text);
  return FALSE;
}

/* Value @index of @variable; g_free(). */
static char *
value_of (const Variable *variable, guint64 index)
{
  return variable->list != NULL ? g_strdup (variable->list[index])
                                : g_strdup_printf ("%" G_GUINT64_FORMAT, variable->from + index);
}

static void
set_value (Variable *variable, guint64 index)
{
  g_free (variable->value);
  variable->value = value_of (variable, index);
}

/* The length of the word at @text, or 1 if there is none. */
static gsize
word_length (const char *text)
{
  gsize length = 0;
  while (is_word (text + length, 1))
    length++;
  return MAX (length, 1);
}

static gboolean
is_name (const Variable *variable, const char *text, gsize length)
{
  return strlen (variable->name) == length && strncmp (variable->name, text, length) == 0;
}

/* @text with the value of each variable in the place of its name, where that is a whole word. */
static char *
with_values (const Search *search, const char *text)
{
  GString *out = g_string_new (NULL);

  for (gsize length; *text != '\0'; text += length)
    {
      const char *value = NULL;
      length = word_length (text);
      for (guint i = 0; i < search->variables->len && value == NULL; i++)
        if (is_name (search->variables->pdata[i], text, length))
          value = ((const Variable *) search->variables->pdata[i])->value;
      g_string_append_len (out, value != NULL ? value : text, value != NULL ? -1 : (gssize) length);
    }
  return g_string_free (out, FALSE);
}

/* FALSE with @error unless the name of each variable stands in an argument. */
static gboolean
check_names (const Search *search, GError **error)
{
  for (guint i = 0; i < search->variables->len; i++)
    {
      const Variable *variable = search->variables->pdata[i];
      gboolean found = FALSE;
      for (char **a = search->arguments + 1; *search->arguments != NULL && *a != NULL; a++)
        for (const char *text = *a; *text != '\0'; text += word_length (text))
          found |= is_name (variable, text, word_length (text));
      if (!found)
        {
          g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                       "--fit: no argument of the program contains the word %s; write it where the "
                       "value stands",
                       variable->name);
          return FALSE;
        }
    }
  return TRUE;
}

/* ---- runs */

/* "SEQ=128 BATCH=64", the one that is searched last; @from 1: without it. */
static char *
describe (const Search *search, guint from, const char *equals, const char *between)
{
  GString *text = g_string_new (NULL);

  for (guint n = search->variables->len, i = 1; i <= n; i++)
    {
      const Variable *variable = search->variables->pdata[i % n];
      if (i % n >= from)
        g_string_append_printf (text, "%s%s%s%s", text->len > 0 ? between : "", variable->name,
                                equals, variable->value);
    }
  return g_string_free (text, FALSE);
}

/* "out.SEQ-128.BATCH-64.gmt" */
static char *
output_of (const Search *search)
{
  g_autofree char *values = g_strdelimit (describe (search, 0, "-", "."), "/", '_');
  g_autofree char *tag = g_strconcat (search->setting != NULL ? "setting." : "", values, NULL);
  return gemem_launcher_beside (search->options->output, tag);
}

static char *
values_json (const Search *search)
{
  GString *text = g_string_new (NULL);
  for (guint n = search->variables->len, i = 1; i <= n; i++)
    {
      const Variable *variable = search->variables->pdata[i % n];
      gemem_json_append_text_member (text, variable->name, variable->value);
    }
  return g_string_free (text, FALSE);
}

/* @before and "a KV cache of 57360 tokens", if the program said so; g_free(). */
static char *
describe_cache (const Run *run, const char *before)
{
  return run->verdict->cached > 0 ? g_strdup_printf ("%sa KV cache of %" G_GUINT64_FORMAT " tokens",
                                                     before, run->verdict->cached)
                                  : g_strdup ("");
}

static const char *
first_condition (const DryVerdict *verdict)
{
  if (verdict->only_if->len > 0)
    return verdict->only_if->pdata[0];
  for (guint i = 0; i < verdict->findings->len; i++)
    {
      const DryFinding *found = verdict->findings->pdata[i];
      if (found->only_if->len > 0)
        return found->only_if->pdata[0];
    }
  return NULL;
}

static gboolean
has_failed (const DryVerdict *verdict)
{
  return verdict->status != 0 && verdict->fit != DRY_DOES_NOT_FIT && !verdict->refused;
}

/* As gemem_library_run_once(); what is printed is shown only if the run tells nothing, or on request. */
static DryVerdict *
run_quietly (const DryOptions *options, char **arguments, GError **error)
{
  DryQuiet quiet = { NULL, 0, 0 };
  DryVerdict *verdict;

  if (!options->verbose)
    gemem_library_quiet_begin (&quiet);
  verdict = gemem_library_run_once (options, arguments, error);
  gemem_library_quiet_end (&quiet, verdict == NULL || has_failed (verdict));
  return verdict;
}

/* One run with the values that the variables have, which is listed.  NULL with @error: the search
 * cannot go on. */
static Run *
try_values (Search *search, GError **error)
{
  static const char *const answers[] = { "does not fit", "fits under conditions", "fits" };
  const Variable *first = search->variables->pdata[0];
  const guint n = g_strv_length (search->arguments);
  g_auto (GStrv) arguments = g_new0 (char *, n + 1);
  g_autofree char *output = output_of (search);
  DryOptions options = *search->options;
  char need[GEMEM_FORMAT_MAX];

  for (guint i = 0; i < n; i++)
    arguments[i] = i == 0 ? g_strdup (*search->arguments)
                          : with_values (search, search->arguments[i]);
  options.output = output;
  options.once = TRUE;
  DryVerdict *verdict = run_quietly (&options, arguments, error);
  if (verdict == NULL)
    return NULL;
  Run *run = g_new0 (Run, 1);
  *run = (Run){
    .value = g_strdup (first->value),
    .values = describe (search, 0, "=", " "),
    .json = values_json (search),
    .trace = g_strdup (output),
    .needed = verdict->needed_most,
    .fit = verdict->refused ? DRY_DOES_NOT_FIT : verdict->fit,
    .status = verdict->status,
    .only_if = g_strdup (first_condition (verdict)),
    .arguments = g_steal_pointer (&arguments),
    .verdict = verdict,
  };
  g_ptr_array_add (search->runs, run);
  const gboolean fits = run->fit != DRY_DOES_NOT_FIT, failed = has_failed (verdict);
  g_autofree char *why = verdict->refusal != NULL
                             ? g_strconcat (", by ", verdict->refusal_kind->title, NULL)
                             : NULL;
  const int stopped = gemem_launcher_stopped ();
  g_autofree char *cache = fits && !failed ? describe_cache (run, ", ") : g_strdup ("");
  gemem_launcher_say (
      "%s%s%s: %s%s%s%s%s%s; %s", run->values, search->setting != NULL ? " with " : "",
      search->setting != NULL ? search->setting->value : "", failed ? "failed" : answers[run->fit],
      fits && !failed ? ", " : "", fits && !failed ? gemem_format_size (need, run->needed) : "",
      fits && !failed ? " needed" : "", cache, fits || verdict->refusal == NULL ? "" : why, output);
  if (stopped == 0 && !failed)
    return run;
  if (stopped != 0)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED, "stopped by signal %d", stopped);
  else
    g_set_error (
        error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
        "the program failed with %s (status %d), and not for want of memory; mend that first",
        run->values, run->status);
  return NULL;
}

/* Tries value @index of the first variable; *@best becomes the run if it fits.  FALSE with @error. */
static gboolean
try_index (Search *search, guint64 index, Run **best, gboolean *fits, GError **error)
{
  const int stopped = gemem_launcher_stopped ();
  if (stopped != 0)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_INTERRUPTED, "stopped by signal %d", stopped);
      return FALSE;
    }
  set_value (search->variables->pdata[0], index);
  Run *run = try_values (search, error);
  *fits = run != NULL && run->fit != DRY_DOES_NOT_FIT;
  if (*fits)
    *best = run;
  if (run != NULL && run->verdict->longest > 0)
    search->longest = run->verdict->longest;
  return run != NULL;
}

/* Runs @best, the largest that fits, again if it read integers or truth values, for its conditions. */
static void
try_others (const Search *search, Run *best)
{
  DryOptions options = *search->options;

  DryQuiet quiet = { NULL, 0, 0 };

  options.output = best->trace;
  if (!options.verbose)
    gemem_library_quiet_begin (&quiet);
  gemem_library_try_values (&options, best->arguments, best->verdict);
  gemem_library_quiet_end (&quiet, FALSE);
  best->fit = best->verdict->fit;
  g_free (best->only_if);
  best->only_if = g_strdup (first_condition (best->verdict));
}

/* The value between @low and @high to try next: in the middle, or what a server said that fits, which is often right, and the one
 * after it. */
static guint64
next_between (const Search *search, guint64 low, guint64 high)
{
  const Variable *first = search->variables->pdata[0];
  const guint64 said = search->longest - MIN (search->longest, first->from);

  if (first->list == NULL && search->longest > first->from && said >= low && said < high)
    return said > low ? said : low + 1;
  return low + (high - low) / 2;
}

/* Narrows *@low, which fits, and @high, which does not, down to neighbours. */
static gboolean
bisect (Search *search, guint64 *low, guint64 high, Run **best, GError **error)
{
  while (high - *low > 1)
    {
      const guint64 middle = next_between (search, *low, high);
      gboolean fits;
      if (!try_index (search, middle, best, &fits, error))
        return FALSE;
      *(fits ? low : &high) = middle;
    }
  return TRUE;
}

/* Looks above value @low, which fits without it, for the largest that fits with the setting.  The first
 * step is as large as what the setting saves, then each twice as large as the one before. */
static gboolean
search_above (Search *search, guint64 low, GError **error)
{
  const guint64 last = ((const Variable *) search->variables->pdata[0])->count - 1;
  guint64 step = 1 + (guint64) (search->setting->saved * (double) low), high = low;
  gboolean fits = TRUE;

  while (fits && low < last)
    {
      high = MIN (low + MIN (step, last), last);
      if (!try_index (search, high, &search->with_setting, &fits, error))
        return FALSE;
      if (fits)
        low = high;
      step *= 2;
    }
  return fits || bisect (search, &low, high, &search->with_setting, error);
}

/* The same with the setting that needs least in @best, the run of value @low, if one needs less. */
static gboolean
search_with_setting (Search *search, const Run *best, guint64 low, GError **error)
{
  g_autofree char *before = NULL;
  DrySetting *setting = gemem_library_setting_new (search->options, best->verdict);
  gboolean ok;

  search->setting = setting;
  if (setting == NULL)
    return TRUE;
  before = g_strdup (g_getenv (setting->variable));
  g_setenv (setting->variable, setting->value, TRUE);
  ok = search_above (search, low, error);
  if (search->with_setting != NULL)
    try_others (search, search->with_setting);
  if (before != NULL)
    g_setenv (setting->variable, before, TRUE);
  else
    g_unsetenv (setting->variable);
  return ok;
}

/* Finds the largest value of the first variable that fits; adds its run, or NULL, to @search->best. */
static gboolean
search_largest (Search *search, GError **error)
{
  const Variable *first = search->variables->pdata[0];
  const guint64 high = first->count - 1;
  guint64 low = 0;
  Run *best = NULL;
  gboolean fits;

  if (!try_index (search, low, &best, &fits, error)
      || (fits && high > low && !try_index (search, high, &best, &fits, error))
      || (!fits && best != NULL && !bisect (search, &low, high, &best, error)))
    return FALSE;
  if (best != NULL)
    try_others (search, best);
  if (best != NULL && !fits && search->variables->len == 1 && !search->options->once
      && !search_with_setting (search, best, low, error))
    return FALSE;
  g_ptr_array_add (search->others, describe (search, 1, "=", " "));
  g_ptr_array_add (search->best, best);
  return TRUE;
}

/* The first variable is searched for each combination of the values of the others. */
static gboolean
search_all (Search *search, GError **error)
{
  guint64 combinations = 1;

  for (guint i = 1; i < search->variables->len; i++)
    {
      const Variable *variable = search->variables->pdata[i];
      combinations = variable->count > COMBINATIONS_MAX ? G_MAXUINT32
                                                        : combinations * variable->count;
      if (combinations > COMBINATIONS_MAX)
        {
          g_set_error (
              error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
              "--fit: more than %d combinations of values; the first --fit is the one that "
              "is searched, give the others fewer values",
              COMBINATIONS_MAX);
          return FALSE;
        }
    }
  for (guint64 n = 0; n < combinations; n++)
    {
      guint64 rest = n;
      for (guint i = search->variables->len - 1; i > 0; i--)
        {
          Variable *variable = search->variables->pdata[i];
          set_value (variable, rest % variable->count);
          rest /= variable->count;
        }
      if (!search_largest (search, error))
        return FALSE;
    }
  return TRUE;
}

/* ---- what was found */

/* With one variable a sentence. */
static void
print_best (const Search *search, const Run *best, const char *from, const char *to)
{
  const Variable *first = search->variables->pdata[0];
  const char *gpu = search->options->gpu->name;

  if (best == NULL)
    gemem_launcher_say ("no value of %s from %s to %s fits %s", first->name, from, to, gpu);
  else
    {
      g_autofree char *cache = describe_cache (best, ", with ");
      gemem_launcher_say ("%s is the largest of %s to %s that fits %s%s%s%s", best->values, from,
                          to, gpu, cache, best->only_if != NULL ? ", but only if " : "",
                          best->only_if != NULL ? best->only_if : "");
    }
}

static void
print_setting (const Search *search)
{
  const Run *best = search->with_setting;

  if (best == NULL)
    gemem_launcher_say ("no larger one fits with the setting that needs least there: %s",
                        search->setting->line);
  else
    gemem_launcher_say ("%s fits%s%s with %s", best->values,
                        best->only_if != NULL ? ", but only if " : "",
                        best->only_if != NULL ? best->only_if : "", search->setting->line);
}

/* With several a table, a row for each combination of the others. */
static void
print_table (const Search *search, const char *from, const char *to)
{
  const Variable *first = search->variables->pdata[0];
  guint width = 0;

  for (guint i = 0; i < search->best->len; i++)
    width = MAX (width, (guint) strlen (search->others->pdata[i]));
  gemem_launcher_say ("the largest %s of %s to %s that fits %s:", first->name, from, to,
                      search->options->gpu->name);
  for (guint i = 0; i < search->best->len; i++)
    {
      const Run *best = search->best->pdata[i];
      g_autofree char *cache = best != NULL ? describe_cache (best, ", ") : NULL;
      char need[GEMEM_FORMAT_MAX];
      fprintf (stderr, "  %-*s  ", (int) width, (const char *) search->others->pdata[i]);
      if (best == NULL)
        fputs ("none\n", stderr);
      else
        fprintf (stderr, "%s, %s needed%s%s%s\n", best->value,
                 gemem_format_size (need, best->needed), cache,
                 best->only_if != NULL ? ", only if " : "",
                 best->only_if != NULL ? best->only_if : "");
    }
}

static void
print (const Search *search)
{
  const Variable *first = search->variables->pdata[0];
  g_autofree char *from = value_of (first, 0), *to = value_of (first, first->count - 1);

  if (search->variables->len > 1)
    print_table (search, from, to);
  else if (search->best->len > 0)
    print_best (search, search->best->pdata[0], from, to);
  if (search->setting != NULL)
    print_setting (search);
}

static void
append_run_json (GString *out, const char *name, const Run *run)
{
  gemem_json_append_name (out, name);
  if (run == NULL)
    {
      g_string_append (out, "null");
      return;
    }
  g_string_append_printf (out, "{%s", run->json);
  gemem_json_append_number_member (out, "needed", run->needed);
  gemem_library_append_fit_json (out, run->fit);
  gemem_json_append_number_member (out, "exit_status", (guint64) run->status);
  gemem_json_append_text_member (out, "only_if", run->only_if);
  gemem_library_append_said_json (out, run->verdict);
  gemem_json_append_text_member (out, "trace", run->trace);
  g_string_append_c (out, '}');
}

static gboolean
write_json (const Search *search, GError **error)
{
  g_autoptr (GString) out = g_string_new ("{");

  gemem_library_append_gpu_json (out, search->options);
  gemem_json_append_name (out, "largest");
  g_string_append_c (out, '[');
  for (guint i = 0; i < search->best->len; i++)
    append_run_json (out, NULL, search->best->pdata[i]);
  g_string_append_c (out, ']');
  gemem_json_append_text_member (out, "setting",
                                 search->setting != NULL ? search->setting->line : NULL);
  append_run_json (out, "largest_with_setting", search->with_setting);
  gemem_json_append_name (out, "runs");
  g_string_append_c (out, '[');
  for (guint i = 0; i < search->runs->len; i++)
    append_run_json (out, NULL, search->runs->pdata[i]);
  g_string_append (out, "]}\n");
  return gemem_library_write_json (search->options, out, error);
}

int
gemem_library_fit (const DryOptions *options, char **ranges, char **arguments)
{
  g_autoptr (GPtrArray) variables = g_ptr_array_new_with_free_func (variable_free);
  g_autoptr (GPtrArray) runs = g_ptr_array_new_with_free_func (run_free);
  g_autoptr (GPtrArray) best = g_ptr_array_new (), others = g_ptr_array_new_with_free_func (g_free);
  Search search = { options, arguments, variables, runs, best, others, 0, NULL, NULL };
  g_autoptr (GError) error = NULL;
  gboolean ok = TRUE, any = FALSE;

  for (char **range = ranges; ok && *range != NULL; range++)
    ok = parse_variable (*range, variables, &error);
  ok = ok && check_names (&search, &error) && search_all (&search, &error);
  if (runs->len > 0)
    print (&search);
  for (guint i = 0; i < best->len; i++)
    any |= best->pdata[i] != NULL;
  if (runs->len > 0 && options->json != NULL)
    ok &= write_json (&search, ok ? &error : NULL);
  gemem_library_setting_free (search.setting);
  if (error != NULL)
    gemem_launcher_say ("%s", error->message);
  return error != NULL ? gemem_error_exit_status (error) : ok && any ? 0 : 1;
}

/* pasted.c - see pasted.h.
 *
 * A line is first brought into one form, assignments or a call; then the classes whose forms
 * (allocator.h) read it are tried, then the shorthands that choose a class by these variables.
 */
#include "config.h"

#include <string.h>

#include "allocators/shorthand.h"
#include "base/named.h"
#include "sim/search/paste.h"
#include "sim/search/pasted.h"

/* ---- what it is */

/* @text behind the word with which a shell or a Dockerfile sets variables. */
static const char *
skip_setter (const char *text)
{
  static const char *const words[] = { "export", "set", "env" };

  text += strspn (text, " \t");
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    {
      const gsize length = strlen (words[i]);

      if (g_ascii_strncasecmp (text, words[i], length) == 0 && g_ascii_isspace (text[length]))
        return text + length + strspn (text + length, " \t");
    }
  return text;
}

/* The length of the name of a variable or an option at the beginning of @text, with "=" behind it; 0:
 * there is none. */
static gsize
name_length (const char *text)
{
  gsize n = 0;

  while (g_ascii_isalnum (text[n]) || text[n] == '_' || text[n] == '.')
    n++;
  return text[n] == '=' && (g_ascii_isupper (*text) || memchr (text, '.', n) != NULL) ? n : 0;
}

gboolean
gemem_is_pasted (const char *text)
{
  const char *line = skip_setter (text);

  return line > text + strspn (text, " \t") || name_length (line) > 0
         || line[strcspn (line, ":=(")] == '(' || g_str_has_prefix (line, "os.environ[");
}

/* ---- one form */

/* os.environ["A"] = "x" as A=x, and the like; NULL: it is nothing of the kind. */
static char *
from_python (const char *line)
{
  static const struct
  {
    const char *pattern, *variable; /* NULL: the first group */
  } forms[] = {
    { "^os\\.environ\\[['\"](\\w+)['\"]\\]\\s*=\\s*['\"]([^'\"]*)['\"]$", NULL },
    { "^torch\\.\\S*_set_allocator_settings\\((['\"])([^'\"]*)['\"]\\)$",
      "PYTORCH_CUDA_ALLOC_CONF" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (forms); i++)
    {
      g_autoptr (GRegex) regex = g_regex_new (forms[i].pattern, 0, 0, NULL);
      g_autoptr (GMatchInfo) match = NULL;

      if (!g_regex_match (regex, line, 0, &match))
        continue;
      g_autofree char *name = forms[i].variable != NULL ? g_strdup (forms[i].variable)
                                                        : g_match_info_fetch (match, 1);
      g_autofree char *value = g_match_info_fetch (match, 2);
      g_autofree char *quoted = gemem_paste_shell (value);
      return g_strdup_printf ("%s=%s", name, quoted);
    }
  return NULL;
}

/* @text without "export" and what follows the assignments, "python train.py". */
static char *
plain_line (const char *text)
{
  g_autofree char *line = g_strchomp (g_strdup (skip_setter (text)));
  g_auto (GStrv) words = NULL;
  GString *plain;

  while (g_str_has_suffix (line, ";"))
    line[strlen (line) - 1] = '\0';
  char *python = from_python (line);
  if (python != NULL)
    return python;
  if (name_length (line) == 0 || !g_shell_parse_argv (line, NULL, &words, NULL))
    return g_steal_pointer (&line);
  plain = g_string_new (NULL);
  for (char **word = words; *word != NULL && name_length (*word) > 0; word++)
    {
      const gsize n = name_length (*word);
      g_autofree char *value = gemem_paste_shell (*word + n + 1);

      g_string_append_printf (plain, "%s%.*s=%s", plain->len > 0 ? " " : "", (int) n, *word, value);
    }
  return g_string_free (plain, FALSE);
}

/* The assignments of @line, which is plain; NULL: it is a call. */
static GPtrArray *
variables_of (const char *line)
{
  g_auto (GStrv) words = NULL;
  GPtrArray *variables;

  if (name_length (line) == 0 || !g_shell_parse_argv (line, NULL, &words, NULL))
    return NULL;
  variables = gemem_settings_new ();
  for (char **word = words; *word != NULL; word++)
    {
      g_auto (GStrv) pair = g_strsplit (*word, "=", 2);
      gemem_settings_add (variables, pair[0], pair[1]);
    }
  return variables;
}

/* ---- JAX, whose variables mean parameters in other words */

/* Its allocator takes a part of the device when it begins; XLA_PYTHON_CLIENT_PREALLOCATE=false lets it
 * grow (doc/dry-run-frameworks.md). */
static char *
jax_text (const GPtrArray *variables, GError **error)
{
  const char *name = "tf-bfc", *grows = "no", *wrong = NULL;
  double part = 75;

  for (guint i = 0; i < variables->len && wrong == NULL; i++)
    {
      const GememSetting *variable = variables->pdata[i];
      const char *key = strstr (variable->key, "CLIENT_"), *value = variable->value;
      char *end = NULL;

      key = key != NULL ? key + strlen ("CLIENT_") : "";
      if (strcmp (key, "PREALLOCATE") == 0)
        grows = gemem_name_listed ("0|false|no|n|f|off", value) ? "yes" : "no";
      else if (strcmp (key, "MEM_FRACTION") == 0)
        {
          part = 100 * g_ascii_strtod (value, &end);
          wrong = *end != '\0' || !(part > 0 && part <= 100) ? variable->key : NULL;
        }
      else if (strcmp (key, "ALLOCATOR") == 0 && gemem_name_listed ("default|bfc", value))
        name = "tf-bfc";
      else if (strcmp (key, "ALLOCATOR") == 0 && strcmp (value, "platform") == 0)
        name = "direct";
      else if (strcmp (key, "ALLOCATOR") == 0 && strcmp (value, "cuda_async") == 0)
        name = "cuda-async";
      else
        wrong = variable->key;
    }
  if (wrong == NULL)
    {
      char number[G_ASCII_DTOSTR_BUF_SIZE];

      return strcmp (name, "tf-bfc") != 0
                 ? g_strdup (name)
                 : g_strdup_printf ("tf-bfc:allow_growth=%s,limit=%s%%", grows,
                                    g_ascii_formatd (number, sizeof number, "%.10g", part));
    }
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "%s: of JAX are known XLA_PYTHON_CLIENT_PREALLOCATE=true|false, "
               "_MEM_FRACTION=0.75 and _ALLOCATOR=default|platform|cuda_async",
               wrong);
  return NULL;
}

/* ---- whose it is */

/* The first of @variables that @table reads, or NULL. */
static const char *
read_by (const GememParam *table, const GPtrArray *variables)
{
  for (guint i = 0; variables != NULL && i < variables->len; i++)
    {
      const char *key = ((const GememSetting *) variables->pdata[i])->key;

      if (table != NULL && gemem_params_find_variable (table, key) != NULL)
        return key;
    }
  return NULL;
}

/* Keeps the error of a reader of the line: it says what is wrong with it. */
static void
keep_error (GError **kept, GError *error, gboolean reads)
{
  if (reads && *kept == NULL)
    *kept = error;
  else
    g_clear_error (&error);
}

/* TRUE if @line begins as the call of @form does. */
static gboolean
is_call (const GememForm *form, const char *line)
{
  return form->kind == GEMEM_FORM_CALL
         && strncmp (line, form->text, strcspn (form->text, "%")) == 0;
}

static GememAllocatorSpec *
by_form (const char *line, const GPtrArray *variables, GError **why)
{
  for (const GememAllocatorClass *const *klass = gemem_allocator_classes (); *klass != NULL;
       klass++)
    for (const GememForm *form = (*klass)->forms; form != NULL && form->system != NULL; form++)
      {
        GError *error = NULL;
        GememAllocatorSpec *spec = gemem_paste_read (*klass, form, line, &error);

        if (spec != NULL)
          return spec;
        keep_error (why, error,
                    is_call (form, line) || read_by ((*klass)->params, variables) != NULL);
      }
  return NULL;
}

static GememAllocatorSpec *
by_shorthand (const GPtrArray *variables, GError **why)
{
  for (const GememNamed *const *s = gemem_shorthands (); *s != NULL; s++)
    {
      g_autoptr (GPtrArray)
          specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
      GError *error = NULL;

      if (read_by ((*s)->params, variables) == NULL)
        continue;
      if (gemem_allocator_spec_parse_with ((*s)->name, variables, specs, &error) && specs->len == 1
          && ((GememAllocatorSpec *) specs->pdata[0])->variables->len == variables->len)
        return g_ptr_array_steal_index (specs, 0);
      keep_error (why, error, error != NULL);
    }
  return NULL;
}

static GememAllocatorSpec *
by_jax (const GPtrArray *variables, GError **error)
{
  g_autoptr (GPtrArray)
      specs = g_ptr_array_new_with_free_func ((GDestroyNotify) gemem_allocator_spec_free);
  g_autofree char *text = jax_text (variables, error);

  return text != NULL && gemem_allocator_spec_parse (text, specs, error)
             ? g_ptr_array_steal_index (specs, 0)
             : NULL;
}

gboolean
gemem_pasted_parse (const char *text, GPtrArray *specs, GError **error)
{
  g_autofree char *line = plain_line (text);
  g_autoptr (GPtrArray) variables = variables_of (line);
  g_autoptr (GError) why = NULL;
  GememAllocatorSpec *spec;

  if (variables != NULL && g_str_has_prefix (line, "XLA_PYTHON_CLIENT_"))
    spec = by_jax (variables, &why);
  else if ((spec = by_form (line, variables, &why)) == NULL && variables != NULL)
    spec = by_shorthand (variables, &why);
  if (spec == NULL)
    {
      if (why != NULL)
        g_propagate_error (error, g_steal_pointer (&why));
      else
        g_set_error (
            error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
            "'%s': no allocator reads this line; 'gemem-sim list' shows those that are known",
            text);
      return FALSE;
    }
  g_ptr_array_set_size (spec->variables, 0); /* they are not of the environment */
  g_free (spec->label);
  spec->label = g_steal_pointer (&line);
  g_ptr_array_add (specs, spec);
  return TRUE;
}

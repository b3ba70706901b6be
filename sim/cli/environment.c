/* environment.c - see environment.h. */
#include "config.h"

#include <string.h>

#include "allocators/paddle/unmodelled.h"
#include "base/named.h"
#include "sim/cli/cli.h"
#include "sim/cli/environment.h"
#include "sim/cli/flags.h"

/* TRUE if @value leaves @flag without effect on memory. */
static gboolean
changes_nothing (const GememPaddleUnmodelled *flag, const char *value)
{
  const gboolean off = flag->nothing != NULL && strcmp (flag->nothing, "false") == 0;

  return flag->nothing == NULL || strcmp (flag->nothing, value) == 0
         || (off && gemem_name_listed ("false|0|no|off|f|n", value));
}

/* Adds the variable to @settings, or its name to @others. */
static gboolean
sort_variable (const char *name, GPtrArray *settings, GString *others, GError **error)
{
  const char *value = g_getenv (name);
  const GememPaddleUnmodelled *unmodelled = gemem_paddle_unmodelled_find (name);
  g_autofree char *readers = gemem_flags_readers (name);
  g_autofree char *near = *readers == '\0' && unmodelled == NULL ? gemem_flags_suggest (name)
                                                                 : NULL;

  if (*readers != '\0')
    gemem_settings_add (settings, name, value);
  else if (unmodelled != NULL && !changes_nothing (unmodelled, value))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--env: %s=%s is not modelled: it %s; unset it", name, value,
                   unmodelled->reason);
      return FALSE;
    }
  else if (near != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
                   "--env: unknown flag '%s'; did you mean '%s'? If not, unset it", name, near);
      return FALSE;
    }
  else if (g_str_has_prefix (name, "FLAGS_"))
    g_string_append_printf (others, "%s%s", others->len > 0 ? ", " : "", name);
  return TRUE;
}

/* Not a setting of an allocator: with it PyTorch has none. */
static void
note_no_caching (void)
{
  const char *value = g_getenv ("PYTORCH_NO_CUDA_MEMORY_CACHING");

  if (value != NULL && *value != '\0' && strcmp (value, "0") != 0)
    gemem_note (
        "--env: PYTORCH_NO_CUDA_MEMORY_CACHING is left out: with it PyTorch caches nothing; "
        "-a direct does that");
}

GPtrArray *
gemem_environment_read (gboolean wanted, GError **error)
{
  g_auto (GStrv) names = g_listenv ();
  g_autoptr (GPtrArray) settings = gemem_settings_new ();
  g_autoptr (GString) others = g_string_new (NULL);
  g_auto (GStrv) known = NULL;

  if (!wanted)
    return g_steal_pointer (&settings);
  known = gemem_flags_variables ();
  qsort (names, g_strv_length (names), sizeof *names, gemem_compare_texts);
  for (guint i = 0; names[i] != NULL; i++)
    if ((g_str_has_prefix (names[i], "FLAGS_")
         || g_strv_contains ((const char *const *) known, names[i]))
        && !sort_variable (names[i], settings, others, error))
      return NULL;
  note_no_caching ();
  if (others->len > 0)
    gemem_note ("--env: left out, they do not change where memory lies: %s", others->str);
  return g_steal_pointer (&settings);
}

/* ---- variables without effect */

static const GememSetting *
find (const GPtrArray *settings, const char *key)
{
  for (guint i = 0; settings != NULL && i < settings->len; i++)
    if (strcmp (((const GememSetting *) settings->pdata[i])->key, key) == 0)
      return settings->pdata[i];
  return NULL;
}

/* TRUE if @reader used or left out @variable.  For the latter prints a note unless it is in @notes,
 * those printed. */
static gboolean
is_handled (const char *variable, const GememReader *reader, GHashTable *notes)
{
  const GememSetting *why_not = find (reader->left_out, variable);
  const char *option = strcmp (reader->kind, "lowering") == 0 ? "--lower=" : "";
  g_autofree char *note = why_not != NULL
                              ? g_strdup_printf ("--env: %s is left out for %s%s: %s", variable,
                                                 option, reader->label, why_not->value)
                              : NULL;

  if (note != NULL && !g_hash_table_contains (notes, note))
    {
      gemem_note ("%s", note);
      g_hash_table_add (notes, g_steal_pointer (&note));
    }
  return why_not != NULL || find (reader->used, variable) != NULL;
}

static void
note_without_effect (const GPtrArray *variables, const GArray *readers)
{
  g_autoptr (GHashTable) notes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint v = 0; v < variables->len; v++)
    {
      const char *variable = ((const GememSetting *) variables->pdata[v])->key;
      gboolean handled = FALSE;

      for (guint r = 0; r < readers->len; r++)
        handled = is_handled (variable, &g_array_index (readers, GememReader, r), notes) || handled;
      g_autofree char *all = handled ? NULL : gemem_flags_readers (variable);
      if (!handled)
        gemem_note ("--env: %s has no effect on what was chosen; it is read by %s", variable, all);
    }
}

/* TRUE if @reader reads @variable, by its table or by that of the shorthand in its label. */
static gboolean
reads (const GememReader *reader, const char *variable)
{
  g_autofree char *name = g_strstrip (g_strndup (reader->label, strcspn (reader->label, ":")));

  return gemem_flags_reads (reader->kind, reader->name != NULL ? reader->name : name, variable)
         || (reader->name != NULL && gemem_flags_reads ("shorthand", name, variable));
}

static void
note_not_asked_for (const GArray *readers)
{
  g_auto (GStrv) known = gemem_flags_variables ();
  g_autoptr (GString) set = g_string_new (NULL);
  guint n = 0;

  for (guint v = 0; known[v] != NULL; v++)
    for (guint r = 0; g_getenv (known[v]) != NULL && r < readers->len; r++)
      if (reads (&g_array_index (readers, GememReader, r), known[v]))
        {
          g_string_append_printf (set, "%s%s", n++ > 0 ? ", " : "", known[v]);
          break;
        }
  if (n > 0)
    gemem_note ("%s %s set in the environment and not used; --env takes %s from there", set->str,
                n == 1 ? "is" : "are", n == 1 ? "it" : "them");
}

void
gemem_environment_note_unused (gboolean wanted, const GPtrArray *variables, const GArray *readers)
{
  if (wanted)
    note_without_effect (variables, readers);
  else
    note_not_asked_for (readers);
}

void
gemem_environment_blame (const GPtrArray *variables, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; variables != NULL && i < variables->len; i++)
    {
      const GememSetting *variable = variables->pdata[i];
      g_string_append_printf (text, "%s%s=%s", i > 0 ? ", " : "", variable->key, variable->value);
    }
  if (text->len > 0 && g_error_matches (*error, GEMEM_ERROR, GEMEM_ERROR_USAGE))
    g_prefix_error (error, "with %s from the environment: ", text->str);
}

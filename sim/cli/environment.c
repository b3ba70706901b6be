/* environment.c - see environment.h. */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "allocators/paddle/unmodelled.h"
#include "base/named.h"
#include "sim/cli/environment.h"
#include "sim/cli/flags.h"
#include "sim/cli/source.h"

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

GPtrArray *
gemem_environment_read (GError **error)
{
  g_auto (GStrv) names = g_listenv ();
  g_autoptr (GPtrArray) settings = gemem_settings_new ();
  g_autoptr (GString) others = g_string_new (NULL);

  qsort (names, g_strv_length (names), sizeof *names, gemem_compare_texts);
  for (guint i = 0; names[i] != NULL; i++)
    if ((g_str_has_prefix (names[i], "FLAGS_") || g_str_has_prefix (names[i], "GE_"))
        && !sort_variable (names[i], settings, others, error))
      return NULL;
  if (others->len > 0)
    gemem_note ("--env: left out, they do not change where memory lies: %s", others->str);
  return g_steal_pointer (&settings);
}

/* ---- variables without effect */

static const GememSetting *
find (const GPtrArray *settings, const char *key)
{
  for (guint i = 0; i < settings->len; i++)
    if (strcmp (((const GememSetting *) settings->pdata[i])->key, key) == 0)
      return settings->pdata[i];
  return NULL;
}

/* TRUE if the lowering or allocator @option@name @used or @left_out @variable.  For the latter
 * prints a note unless it is in @notes, those printed. */
static gboolean
is_handled (const char *variable, const GPtrArray *used, const GPtrArray *left_out,
            const char *option, const char *name, GHashTable *notes)
{
  const GememSetting *why_not = find (left_out, variable);
  g_autofree char *note = why_not != NULL ? g_strdup_printf ("--env: %s is left out for %s%s: %s",
                                                             variable, option, name, why_not->value)
                                          : NULL;

  if (note != NULL && !g_hash_table_contains (notes, note))
    {
      gemem_note ("%s", note);
      g_hash_table_add (notes, g_steal_pointer (&note));
    }
  return why_not != NULL || find (used, variable) != NULL;
}

void
gemem_environment_note_unused (const GPtrArray *variables, const GPtrArray *specs,
                               const GPtrArray *files)
{
  g_autoptr (GHashTable) notes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint v = 0; v < variables->len; v++)
    {
      const char *variable = ((const GememSetting *) variables->pdata[v])->key;
      gboolean known = FALSE;

      for (guint s = 0; s < specs->len; s++)
        {
          const GememAllocatorSpec *spec = specs->pdata[s];
          known = is_handled (variable, spec->variables, spec->left_out, "", spec->label, notes)
                  || known;
        }
      for (guint f = 0; f < files->len; f++)
        {
          const GememSourceFile *file = files->pdata[f];
          known = is_handled (variable, file->variables, file->left_out, "--lower=", file->lowering,
                              notes)
                  || known;
        }
      g_autofree char *readers = known ? NULL : gemem_flags_readers (variable);
      if (!known)
        gemem_note ("--env: %s has no effect on what was chosen; it is read by %s", variable,
                    readers);
    }
}

/* environment.c - see environment.h. */
#include "config.h"

#include <string.h>

#include "allocators/allocator.h"
#include "allocators/paddle/unmodelled.h"
#include "sim/cli/batch.h"
#include "sim/cli/environment.h"
#include "sim/cli/flags.h"

/* TRUE if @value is what leaves @flag without effect on memory. */
static gboolean
changes_nothing (const GememPaddleUnmodelled *flag, const char *value)
{
  const gboolean off = flag->nothing != NULL && strcmp (flag->nothing, "false") == 0;

  return flag->nothing == NULL || strcmp (flag->nothing, value) == 0 || (off && gemem_name_listed ("false|0|no|off|f|n", value));
}

/* Adds the variable to @settings, or its name to @others. */
static gboolean
sort_variable (const char *name, GPtrArray *settings, GString *others, GError **error)
{
  const char *value = g_getenv (name);
  const GememPaddleUnmodelled *unmodelled = gemem_paddle_unmodelled_find (name);
  g_autofree char *readers = gemem_flags_readers (name);
  g_autofree char *near = *readers == '\0' && unmodelled == NULL ? gemem_flags_suggest (name) : NULL;

  if (*readers != '\0')
    gemem_settings_add (settings, name, value);
  else if (unmodelled != NULL && !changes_nothing (unmodelled, value))
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--env: %s=%s is not modelled: it %s; unset it", name, value, unmodelled->reason);
      return FALSE;
    }
  else if (near != NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "--env: unknown flag '%s'; did you mean '%s'? If not, unset it", name, near);
      return FALSE;
    }
  else if (g_str_has_prefix (name, "FLAGS_"))
    g_string_append_printf (others, "%s%s", others->len > 0 ? ", " : "", name);
  return TRUE;
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

GPtrArray *
gemem_environment_read (GError **error)
{
  g_auto (GStrv) names = g_listenv ();
  g_autoptr (GPtrArray) settings = gemem_settings_new ();
  g_autoptr (GString) others = g_string_new (NULL);

  qsort (names, g_strv_length (names), sizeof *names, compare_names);
  for (guint i = 0; names[i] != NULL; i++)
    if ((g_str_has_prefix (names[i], "FLAGS_") || g_str_has_prefix (names[i], "GE_")) && !sort_variable (names[i], settings, others, error))
      return NULL;
  if (others->len > 0)
    gemem_note ("--env: left out, they do not change where memory lies: %s", others->str);
  return g_steal_pointer (&settings);
}

/* ---- what became of them */

static gboolean
is_set (const GPtrArray *settings, const char *key)
{
  for (guint i = 0; i < settings->len; i++)
    if (strcmp (((const GememSetting *) settings->pdata[i])->key, key) == 0)
      return TRUE;
  return FALSE;
}

void
gemem_environment_note_unused (const GPtrArray *variables, const GPtrArray *specs)
{
  for (guint v = 0; v < variables->len; v++)
    {
      const GememSetting *variable = g_ptr_array_index (variables, v);
      gboolean used = gemem_source_reads (variable->key);
      for (guint s = 0; s < specs->len; s++)
        {
          const GememAllocatorSpec *spec = g_ptr_array_index (specs, s);
          used = used || is_set (spec->variables, variable->key) || is_set (spec->left_out, variable->key);
          for (guint i = 0; i < spec->left_out->len; i++)
            if (strcmp (((const GememSetting *) spec->left_out->pdata[i])->key, variable->key) == 0)
              gemem_note ("--env: %s is left out for %s: %s", variable->key, spec->label,
                          ((const GememSetting *) spec->left_out->pdata[i])->value);
        }
      g_autofree char *readers = used ? NULL : gemem_flags_readers (variable->key);
      if (!used)
        gemem_note ("--env: %s has no effect on what was chosen; it is read by %s", variable->key, readers);
    }
}

/* environment.c - see environment.h. */
#include "config.h"

#include <string.h>

#include "allocators/paddle/unmodelled.h"
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

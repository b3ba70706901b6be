/* registry.c - the one list of allocators: the built-in ones of allocators.def, then plugins.
 *
 * Why: every name, help text, option and conformance test is derived from the class structs found here; there is no second list.
 * A plugin is a shared object in a directory of GEMEM_PLUGIN_PATH that exports a NULL-terminated array
 * `const GememAllocatorClass *const gemem_plugin_allocators[]`.
 *
 * Invariants: order is that of allocators.def, then plugins in the order of the directories and of the file names in each; names and
 * aliases are unique; a class pointer stays valid for the life of the process (plugins are never unloaded).
 * Plugins are loaded before threads start: the list is read without a lock afterwards.
 * Cost: O(number of classes) per lookup, never on the event path.  Origin: design.md section 4.
 */
#include "config.h"

#include <gmodule.h>
#include <string.h>

#include "allocators/allocator.h"

#define GEMEM_ALLOCATOR(symbol, file) extern const GememAllocatorClass symbol;
#include "allocators/allocators.def"
#undef GEMEM_ALLOCATOR

#define PLUGIN_SYMBOL "gemem_plugin_allocators"

static GPtrArray *
new_list (void)
{
  static const GememAllocatorClass *const builtin[] = {
#define GEMEM_ALLOCATOR(symbol, file) &symbol,
#include "allocators/allocators.def"
#undef GEMEM_ALLOCATOR
    NULL
  };
  GPtrArray *list = g_ptr_array_new ();

  for (guint i = 0; i < G_N_ELEMENTS (builtin); i++)
    g_ptr_array_add (list, (gpointer) builtin[i]);
  return list;
}

/* Always ends in a NULL element. */
static GPtrArray *
classes (void)
{
  static gsize list;

  if (g_once_init_enter (&list))
    g_once_init_leave (&list, (gsize) new_list ());
  return (GPtrArray *) list;
}

const GememAllocatorClass *const *
gemem_allocator_classes (void)
{
  return (const GememAllocatorClass *const *) classes ()->pdata;
}

static const GememAllocatorClass *
lookup (const char *name)
{
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    {
      g_auto (GStrv) aliases = g_strsplit ((*c)->aliases != NULL ? (*c)->aliases : "", "|", -1);

      if (gemem_name_equal (name, (*c)->name))
        return *c;
      for (guint i = 0; aliases[i] != NULL; i++)
        if (gemem_name_equal (name, aliases[i]))
          return *c;
    }
  return NULL;
}

/* Names and aliases of all classes, for "did you mean". */
static GStrv
all_names (void)
{
  GPtrArray *names = g_ptr_array_new ();

  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    {
      g_auto (GStrv) aliases = g_strsplit ((*c)->aliases != NULL ? (*c)->aliases : "", "|", -1);

      g_ptr_array_add (names, g_strdup ((*c)->name));
      for (guint i = 0; aliases[i] != NULL; i++)
        g_ptr_array_add (names, g_strdup (aliases[i]));
    }
  g_ptr_array_add (names, NULL);
  return (GStrv) g_ptr_array_free (names, FALSE);
}

const GememAllocatorClass *
gemem_allocator_find (const char *name, GError **error)
{
  const GememAllocatorClass *klass = lookup (name);

  if (klass == NULL)
    {
      g_auto (GStrv) names = all_names ();
      const char *near = gemem_suggest (name, (const char *const *) names);

      if (near != NULL)
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown allocator '%s'; did you mean '%s'?", name, near);
      else
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "unknown allocator '%s'; `gemem-sim list` shows all", name);
    }
  return klass;
}

/* ---- plugins */

static gboolean
is_listed (const GememAllocatorClass *klass)
{
  for (const GememAllocatorClass *const *c = gemem_allocator_classes (); *c != NULL; c++)
    if (*c == klass)
      return TRUE;
  return FALSE;
}

static gboolean
check_class (const char *path, const GememAllocatorClass *klass, GError **error)
{
  g_auto (GStrv) aliases = NULL;
  const char *taken = NULL;

  if (klass->abi != GEMEM_ALLOCATOR_ABI)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: built for plugin interface %u, this gemem has %u; rebuild the plugin",
                   path, klass->abi, GEMEM_ALLOCATOR_ABI);
      return FALSE;
    }
  if (klass->name == NULL || klass->create == NULL || klass->alloc == NULL || klass->free == NULL || klass->walk == NULL
      || klass->check == NULL || klass->largest_free == NULL || klass->destroy == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: an allocator without a name or a required function; see allocator.h", path);
      return FALSE;
    }
  aliases = g_strsplit (klass->aliases != NULL ? klass->aliases : "", "|", -1);
  if (lookup (klass->name) != NULL)
    taken = klass->name;
  for (guint i = 0; aliases[i] != NULL && taken == NULL; i++)
    if (lookup (aliases[i]) != NULL)
      taken = aliases[i];
  if (taken != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: there is an allocator %s already; rename the plugin's", path, taken);
  return taken == NULL;
}

static gboolean
load_plugin (const char *path, GError **error)
{
  GModule *module = g_module_open (path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  const GememAllocatorClass *const *found = NULL;
  gpointer symbol = NULL;

  if (module == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: cannot be loaded (%s); rebuild it, or take it out of GEMEM_PLUGIN_PATH",
                   path, g_module_error ());
      return FALSE;
    }
  if (!g_module_symbol (module, PLUGIN_SYMBOL, &symbol) || symbol == NULL)
    {
      g_module_close (module);
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: exports no %s; see allocator.h", path, PLUGIN_SYMBOL);
      return FALSE;
    }
  g_module_make_resident (module);
  for (found = symbol; *found != NULL; found++)
    {
      GPtrArray *list = classes ();

      if (is_listed (*found))
        continue; /* the same file again, by another directory */
      if (!check_class (path, *found, error))
        return FALSE;
      g_ptr_array_insert (list, (gint) list->len - 1, (gpointer) *found);
    }
  return TRUE;
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static gboolean
load_directory (const char *path, GError **error)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) local = NULL;
  g_autoptr (GDir) dir = g_dir_open (path, 0, &local);
  const char *name;

  if (dir == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "GEMEM_PLUGIN_PATH: %s; create the directory or correct the path", local->message);
      return FALSE;
    }
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, "." G_MODULE_SUFFIX))
      g_ptr_array_add (names, g_build_filename (path, name, NULL));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    if (!load_plugin (g_ptr_array_index (names, i), error))
      return FALSE;
  return TRUE;
}

gboolean
gemem_allocator_load_plugins (const char *directories, GError **error)
{
  g_auto (GStrv) paths = NULL;

  if (directories == NULL || *directories == '\0')
    return TRUE;
  if (!g_module_supported ())
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "GEMEM_PLUGIN_PATH: this system cannot load plugins; unset it");
      return FALSE;
    }
  paths = g_strsplit (directories, G_SEARCHPATH_SEPARATOR_S, -1);
  for (guint i = 0; paths[i] != NULL; i++)
    if (*paths[i] != '\0' && !load_directory (paths[i], error))
      return FALSE;
  return TRUE;
}

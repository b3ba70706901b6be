/* registry.c - the one list of allocators: the built-in ones of allocators.def, then plugins.
 *
 * Why: names, help texts, options and conformance tests all derive from the class structs listed
 * here; there is no second list.  A plugin is a shared object in a directory of GEMEM_PLUGIN_PATH
 * that exports a NULL-terminated array `const GememAllocatorClass *const
 * gemem_plugin_allocators[]`.
 *
 * Invariants: the order is that of allocators.def, then plugins by the order of the directories and
 * of the file names in each; names and aliases are unique; a class pointer stays valid for the life
 * of the process (plugins are never unloaded); what is wrong with one plugin concerns nothing else:
 * it is skipped, and remembered with the reason for whoever asks for it by name.  Nothing is loaded
 * that others than this user and the owner of the directory could have written.  Plugins are
 * loaded before threads start; afterwards the list is read without a lock.
 * Cost: O(number of classes) per lookup, never on the event path.
 */
#include "config.h"

#include <gmodule.h>
#include <string.h>
#include <sys/stat.h>

#include "allocators/registry.h"
#include "allocators/shorthand.h"
#include "base/io/trust.h"

#define GEMEM_ALLOCATOR(symbol) extern const GememAllocatorClass symbol;
#include "allocators/allocators.def"
#undef GEMEM_ALLOCATOR

#define GEMEM_SHORTHAND(symbol) extern const GememShorthand symbol;
#include "allocators/shorthands.def"
#undef GEMEM_SHORTHAND

static const GememNamed *const shorthands[] = {
#define GEMEM_SHORTHAND(symbol) &symbol.base,
#include "allocators/shorthands.def"
#undef GEMEM_SHORTHAND
  NULL,
};

#define PLUGIN_SYMBOL "gemem_plugin_allocators"

typedef struct
{
  GPtrArray *classes; /* all NULL-terminated */
  GPtrArray *named, *choices;
} Registry;

/* Before the NULL at the end. */
static void
append (GPtrArray *list, gconstpointer element)
{
  g_ptr_array_insert (list, (gint) list->len - 1, (gpointer) element);
}

static void
add_class (Registry *registry, const GememAllocatorClass *klass)
{
  GememNamedClass *named = g_new (GememNamedClass, 1);

  *named = (GememNamedClass){ { klass->name, klass->aliases, klass->summary, klass->origin,
                                klass->params, klass->params_size, klass->known_as },
                              klass };
  append (registry->classes, klass);
  append (registry->named, named);
  if ((klass->capabilities & GEMEM_CAP_HOST) == 0)
    append (registry->choices, named);
  for (guint i = 0; shorthands[i] != NULL; i++)
    if (((const GememShorthand *) shorthands[i])->of == klass)
      append (registry->choices, shorthands[i]);
}

static Registry *
new_registry (void)
{
  static const GememAllocatorClass *const builtin[] = {
#define GEMEM_ALLOCATOR(symbol) &symbol,
#include "allocators/allocators.def"
#undef GEMEM_ALLOCATOR
  };
  Registry *registry = g_new (Registry, 1);

  registry->classes = g_ptr_array_new ();
  registry->named = g_ptr_array_new ();
  registry->choices = g_ptr_array_new ();
  g_ptr_array_add (registry->classes, NULL);
  g_ptr_array_add (registry->named, NULL);
  g_ptr_array_add (registry->choices, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (builtin); i++)
    add_class (registry, builtin[i]);
  return registry;
}

static Registry *
the_registry (void)
{
  static gsize registry;

  if (g_once_init_enter (&registry))
    g_once_init_leave (&registry, (gsize) new_registry ());
  return (Registry *) registry;
}

const GememAllocatorClass *const *
gemem_allocator_classes (void)
{
  return (const GememAllocatorClass *const *) the_registry ()->classes->pdata;
}

const GememNamed *const *
gemem_named_classes (void)
{
  return (const GememNamed *const *) the_registry ()->named->pdata;
}

const GememNamed *const *
gemem_named_choices (void)
{
  return (const GememNamed *const *) the_registry ()->choices->pdata;
}

const GememAllocatorClass *
gemem_allocator_find (const char *name, GError **error)
{
  const GememNamedClass *found = (const GememNamedClass *) gemem_named_find (
      gemem_named_classes (), "allocator", name, NULL);

  if (found == NULL && gemem_check_not_skipped (name, error))
    gemem_named_find (gemem_named_classes (), "allocator", name, error);
  return found != NULL ? found->klass : NULL;
}

const GememNamed *const *
gemem_shorthands (void)
{
  return shorthands;
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
is_taken (const char *name)
{
  return gemem_named_find (gemem_named_classes (), "allocator", name, NULL) != NULL
         || gemem_named_find (shorthands, "shorthand", name, NULL) != NULL;
}

/* What @klass lacks of what allocator.h requires, or has half of; NULL: nothing. */
static const char *
missing (const GememAllocatorClass *klass)
{
  const gboolean graphs = klass->graphs.load != NULL, sleep = klass->sleep.sleep != NULL,
                 order = klass->streams.free_on != NULL;
  const struct
  {
    gboolean there;
    const char *name;
  } members[] = {
    { klass->name != NULL && g_regex_match_simple ("^[A-Za-z0-9._-]+$", klass->name, 0, 0),
      "name (letters, digits, '-', '_', '.')" },
    { klass->summary != NULL, "summary" },
    { klass->origin != NULL, "origin" },
    { klass->alignment != 0 && (klass->alignment & (klass->alignment - 1)) == 0,
      "alignment (a power of two)" },
    { klass->create != NULL, "create" },
    { klass->destroy != NULL, "destroy" },
    { klass->alloc != NULL, "alloc" },
    { klass->free != NULL, "free" },
    { klass->largest_free != NULL, "largest_free" },
    { klass->walk != NULL, "walk" },
    { klass->check != NULL, "check" },
    { (klass->params != NULL) == (klass->params_size > 0), "params or params_size" },
    { (klass->streams.record != NULL) == (klass->streams.wait != NULL),
      "one half of the group streams" },
    { (klass->streams.work != NULL) == order && (klass->streams.work_done != NULL) == order
          && (klass->streams.asked != NULL) == order,
      "a part of the four about the order of streams" },
    { (klass->adopt.segment != NULL) == (klass->adopt.block != NULL),
      "one half of the group adopt" },
    { (klass->watch.begin != NULL) == (klass->watch.alike != NULL), "one half of the group watch" },
    { sleep == (klass->sleep.begin != NULL) && sleep == (klass->sleep.end != NULL)
          && sleep == (klass->sleep.pause != NULL) && sleep == (klass->sleep.wake != NULL)
          && sleep == (klass->sleep.is_asleep != NULL) && sleep == (klass->sleep.host_bytes != NULL)
          && (!sleep || klass->trim != NULL),
      "a part of the group sleep" },
    { (klass->graphs.run != NULL) == graphs && (klass->graphs.unload != NULL) == graphs
          && (klass->graphs.bytes != NULL) == graphs,
      "a part of the group graphs" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (members); i++)
    if (!members[i].there)
      return members[i].name;
  return NULL;
}

static gboolean
check_class (const char *path, const GememAllocatorClass *klass, char **reason)
{
  g_auto (GStrv) aliases = NULL;
  const char *taken = NULL, *lacks;

  if (klass->abi != GEMEM_ALLOCATOR_ABI)
    {
      *reason = g_strdup_printf (
          "%s: built for plugin interface %u, this gemem has %u; rebuild the plugin", path,
          klass->abi, GEMEM_ALLOCATOR_ABI);
      return FALSE;
    }
  if ((lacks = missing (klass)) != NULL)
    {
      *reason = g_strdup_printf (
          "%s: allocator %s lacks %s; allocators/allocator.h says what is required", path,
          klass->name != NULL ? klass->name : "without a name", lacks);
      return FALSE;
    }
  aliases = g_strsplit (klass->aliases != NULL ? klass->aliases : "", "|", -1);
  if (is_taken (klass->name))
    taken = klass->name;
  for (guint i = 0; aliases[i] != NULL && taken == NULL; i++)
    if (is_taken (aliases[i]))
      taken = aliases[i];
  if (taken != NULL)
    *reason = g_strdup_printf ("%s: there is an allocator %s already; rename the plugin's", path,
                               taken);
  return taken == NULL;
}

/* What of a plugin was skipped. */
typedef struct
{
  char *file;   /* "power2", of power2.so and libpower2.so */
  char *name;   /* of the class; NULL: the file as a whole */
  char *reason; /* "FILE: what; what to do" */
} Skipped;

/* All that was skipped, in the order of loading; never freed, like the classes. */
static GArray *
the_skipped (void)
{
  static gsize skipped;

  if (g_once_init_enter (&skipped))
    g_once_init_leave (&skipped, (gsize) g_array_new (FALSE, FALSE, sizeof (Skipped)));
  return (GArray *) skipped;
}

/* Notes that @klass of the plugin @path (NULL: all of it) is skipped; takes @reason. */
static void
skip (const char *path, const GememAllocatorClass *klass, char *reason, GPtrArray *reasons)
{
  g_autofree char *base = g_path_get_basename (path);
  const char *start = g_str_has_prefix (base, "lib") ? base + 3 : base;
  const Skipped skipped = { g_strndup (start, strcspn (start, ".")),
                            klass != NULL ? g_strdup (klass->name) : NULL, reason };

  g_array_append_val (the_skipped (), skipped);
  g_ptr_array_add (reasons, g_strdup (reason));
}

const char *
gemem_allocator_skipped (const char *name)
{
  const GArray *all = the_skipped ();

  for (guint i = 0; i < all->len; i++)
    {
      const Skipped *skipped = &g_array_index (all, Skipped, i);

      if (gemem_name_equal (skipped->file, name)
          || (skipped->name != NULL && gemem_name_equal (skipped->name, name)))
        return skipped->reason;
    }
  return NULL;
}

gboolean
gemem_check_not_skipped (const char *name, GError **error)
{
  const char *reason = gemem_allocator_skipped (name);

  if (reason != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "allocator %s: its plugin was skipped: %s",
                 name, reason);
  return reason == NULL;
}

static void
load_plugin (const char *path, GPtrArray *reasons)
{
  GModule *module = g_module_open (path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  const GememAllocatorClass *const *found = NULL;
  gpointer symbol = NULL;
  char *reason;

  if (module == NULL)
    {
      skip (path, NULL,
            g_strdup_printf (
                "%s: cannot be loaded (%s); rebuild it, or take it out of GEMEM_PLUGIN_PATH", path,
                g_module_error ()),
            reasons);
      return;
    }
  if (!g_module_symbol (module, PLUGIN_SYMBOL, &symbol) || symbol == NULL)
    {
      g_module_close (module);
      skip (path, NULL, g_strdup_printf ("%s: exports no %s; see allocator.h", path, PLUGIN_SYMBOL),
            reasons);
      return;
    }
  g_module_make_resident (module);
  for (found = symbol; *found != NULL; found++)
    if (is_listed (*found))
      continue; /* the same file, found through another directory */
    else if (check_class (path, *found, &reason))
      add_class (the_registry (), *found);
    else
      skip (path, *found, reason, reasons);
}

/* Loads @path, in a folder of @owner, unless it is no file (a pipe) or others could have written it. */
static void
load_file (const char *path, uid_t owner, GPtrArray *reasons)
{
  const char *doubt;
  struct stat facts;

  if (stat (path, &facts) != 0 || !S_ISREG (facts.st_mode))
    return;
  if ((doubt = gemem_trust_doubt (&facts, owner)) == NULL)
    load_plugin (path, reasons);
  else
    skip (path, NULL, g_strdup_printf ("%s: %s; copy it to a folder of your own", path, doubt),
          reasons);
}

static void
load_directory (const char *path, GPtrArray *reasons)
{
  const char *doubt;
  struct stat facts;
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) local = NULL;
  g_autoptr (GDir) dir = g_dir_open (path, 0, &local);
  const char *name;

  if (dir == NULL)
    {
      g_ptr_array_add (
          reasons,
          g_strdup_printf ("GEMEM_PLUGIN_PATH: %s; create the directory or correct the path",
                           local->message));
      return;
    }
  if (stat (path, &facts) != 0)
    return;
  if (!gemem_trust_owner (&facts) && (doubt = gemem_trust_doubt (&facts, facts.st_uid)) != NULL)
    {
      g_ptr_array_add (
          reasons,
          g_strdup_printf ("GEMEM_PLUGIN_PATH: %s: another user's folder, and %s; copy the "
                           "plugins to a folder of your own",
                           path, doubt));
      return;
    }
  while ((name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, "." G_MODULE_SUFFIX))
      g_ptr_array_add (names, g_build_filename (path, name, NULL));
  g_ptr_array_sort (names, gemem_compare_texts);
  for (guint i = 0; i < names->len; i++)
    load_file (g_ptr_array_index (names, i), facts.st_uid, reasons);
}

GStrv
gemem_allocator_load_plugins (const char *directories)
{
  g_autoptr (GPtrArray) reasons = g_ptr_array_new_with_free_func (g_free);
  g_auto (GStrv) paths = NULL;

  if (directories == NULL || *directories == '\0')
    return NULL;
  paths = g_strsplit (directories, G_SEARCHPATH_SEPARATOR_S, -1);
  if (!g_module_supported ())
    g_ptr_array_add (reasons,
                     g_strdup ("GEMEM_PLUGIN_PATH: this system cannot load plugins; unset it"));
  else
    for (guint i = 0; paths[i] != NULL; i++)
      if (*paths[i] != '\0')
        load_directory (paths[i], reasons);
  if (reasons->len == 0)
    return NULL;
  g_ptr_array_add (reasons, NULL);
  return (GStrv) g_ptr_array_free (g_steal_pointer (&reasons), FALSE);
}

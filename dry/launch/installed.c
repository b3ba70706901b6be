/* installed.c - libraries of NVIDIA's that are installed with the program and run by themselves in
 * a dry run (launch.h), so that they answer what only they know: how large their workspaces are.
 *
 * Such a library calls CUDA's runtime and driver, which are those of the dry run, and chooses by
 * what these say of the GPU. It launches kernels, which do nothing, and never needs one.
 *
 * Invariants: a module's libraries run together or not at all, because one calls the other. An
 * object that has a runtime linked in which is not known (linked.c) would fail at its first call:
 * then none of them runs.
 *
 * NCCL, cuBLAS and cuBLASLt are another case (gemem_dry_installed_beside()): they stand beside their
 * stand-ins, which call them.
 */
#include "config.h"

#include <string.h>
#include <sys/stat.h>

#include "dry/launch/launch.h"

#define A_NAME "cudaErrorMemoryAllocation"

typedef struct
{
  const char *name;
  gboolean runs;
  GPtrArray *paths;    /* of objects */
  GHashTable *sonames; /* theirs; value: whether the program asks for it */
  char *problem;       /* of the first that could not run; or NULL */
} Module;

struct _GememDryInstalled
{
  gboolean wanted;
  GPtrArray *modules;     /* Module */
  GHashTable *files;      /* "DEVICE INODE" of the objects */
  GHashTable *beside;     /* row -> the path of a library that its stand-in calls */
  GHashTable *not_beside; /* row -> why the first that cannot be called cannot */
};

static void
module_free (gpointer data)
{
  Module *module = data;
  g_ptr_array_unref (module->paths);
  g_hash_table_unref (module->sonames);
  g_free (module->problem);
  g_free (module);
}

GememDryInstalled *
gemem_dry_installed_new (gboolean wanted)
{
  GememDryInstalled *installed = g_new0 (GememDryInstalled, 1);
  installed->wanted = wanted;
  installed->modules = g_ptr_array_new_with_free_func (module_free);
  installed->files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  installed->beside = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  installed->not_beside = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  return installed;
}

void
gemem_dry_installed_free (GememDryInstalled *installed)
{
  g_ptr_array_unref (installed->modules);
  g_hash_table_unref (installed->files);
  g_hash_table_unref (installed->beside);
  g_hash_table_unref (installed->not_beside);
  g_free (installed);
}

static Module *
find (const GememDryInstalled *installed, const char *name)
{
  for (guint i = 0; name != NULL && i < installed->modules->len; i++)
    {
      Module *module = installed->modules->pdata[i];
      if (strcmp (module->name, name) == 0)
        return module;
    }
  return NULL;
}

static Module *
find_or_make (GememDryInstalled *installed, const char *name)
{
  Module *module = find (installed, name);

  if (module == NULL)
    {
      module = g_new0 (Module, 1);
      module->name = name;
      module->paths = g_ptr_array_new_with_free_func (g_free);
      module->sonames = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      g_ptr_array_add (installed->modules, module);
    }
  return module;
}

/* Whether a runtime is linked in, of any version: its names of errors are. */
static gboolean
has_runtime (const GememDryElf *elf)
{
  gsize size;
  const char *constants = gemem_dry_elf_section (elf, ".rodata", &size);

  return constants != NULL && memmem (constants, size, A_NAME, sizeof A_NAME) != NULL;
}

/* Whether the calls of @elf to CUDA's runtime, if any, reach the dry run's. */
static gboolean
can_run (GememDryElf *elf, const char *path)
{
  const GPtrArray *needed = gemem_dry_elf_needed (elf);
  gsize size;

  for (guint i = 0; i < needed->len; i++)
    if (g_str_has_prefix (needed->pdata[i], "libcudart.so"))
      return TRUE;
  if (gemem_dry_elf_section (elf, ".nv_fatbin", &size) == NULL) /* no kernels to register */
    return TRUE;
  if (!has_runtime (elf)) /* it calls the driver itself, as cuFFT does */
    return TRUE;
  GememDryLinked *linked = gemem_dry_linked_find (elf, path);
  if (linked != NULL)
    gemem_dry_linked_free (linked);
  return linked != NULL;
}

/* Why the object with this name does not run. */
static char *
unknown_runtime (const char *soname)
{
  return g_strdup_printf (
      "%s is installed and does not run: the version of CUDA's runtime that is linked "
      "into it is not known",
      soname);
}

gboolean
gemem_dry_installed_add (GememDryInstalled *installed, GememDryElf *elf, const char *path,
                         guint row)
{
  Module *module = find_or_make (installed, gemem_dry_row_module (row));
  const char *soname = gemem_dry_elf_soname (elf);
  struct stat facts;

  if (!installed->wanted || soname == NULL || stat (path, &facts) != 0
      || !g_hash_table_add (installed->files,
                            g_strdup_printf ("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
                                             (guint64) facts.st_dev, (guint64) facts.st_ino)))
    return FALSE;
  g_ptr_array_add (module->paths, g_strdup (path));
  g_hash_table_insert (module->sonames, g_strdup (soname), NULL);
  if (module->problem == NULL && !can_run (elf, path))
    module->problem = unknown_runtime (soname);
  return TRUE;
}

void
gemem_dry_installed_add_beside (GememDryInstalled *installed, GememDryElf *elf, const char *path,
                                guint row)
{
  const char *before = g_hash_table_lookup (installed->beside, GUINT_TO_POINTER (row));

  if (!installed->wanted || (before != NULL && strcmp (before, path) <= 0))
    return;
  if (!can_run (elf, path))
    {
      if (!g_hash_table_contains (installed->not_beside, GUINT_TO_POINTER (row)))
        g_hash_table_insert (installed->not_beside, GUINT_TO_POINTER (row),
                             unknown_runtime (gemem_dry_elf_soname (elf)));
      return;
    }
  g_hash_table_replace (installed->beside, GUINT_TO_POINTER (row), g_strdup (path));
}

const char *
gemem_dry_installed_beside (const GememDryInstalled *installed, const char *soname)
{
  return gemem_dry_installed_beside_row (installed, gemem_dry_row_of_soname (soname));
}

const char *
gemem_dry_installed_beside_row (const GememDryInstalled *installed, guint row)
{
  return g_hash_table_lookup (installed->beside, GUINT_TO_POINTER (row));
}

gboolean
gemem_dry_installed_decide (GememDryInstalled *installed, const char *name, GHashTable *sonames)
{
  Module *module = find (installed, name);
  GHashTableIter iter;
  gpointer key;
  guint asked = 0;

  if (module == NULL || module->paths->len == 0)
    return FALSE;
  g_hash_table_iter_init (&iter, sonames);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      const char *its = gemem_dry_row_module (gemem_dry_row_of_soname (key));
      if (its == NULL || strcmp (its, name) != 0)
        continue;
      if (!g_hash_table_contains (module->sonames, key))
        return FALSE;
      g_hash_table_insert (module->sonames, g_strdup (key), GINT_TO_POINTER (TRUE));
      asked++;
    }
  module->runs = asked > 0 && module->problem == NULL;
  return module->runs;
}

const char *
gemem_dry_installed_soname (const GememDryInstalled *installed, guint row)
{
  const Module *module = find (installed, gemem_dry_row_module (row));
  const char *chosen = NULL;
  GHashTableIter iter;
  gpointer soname;

  if (module == NULL)
    return NULL;
  g_hash_table_iter_init (&iter, module->sonames);
  while (g_hash_table_iter_next (&iter, &soname, NULL))
    if (gemem_dry_row_holds (row, soname) && (chosen == NULL || strcmp (soname, chosen) < 0))
      chosen = soname;
  return chosen;
}

gboolean
gemem_dry_installed_runs (const GememDryInstalled *installed, const char *name)
{
  const Module *module = find (installed, name);
  return module != NULL && module->runs;
}

const GPtrArray *
gemem_dry_installed_paths (const GememDryInstalled *installed, const char *name)
{
  const Module *module = find (installed, name);
  return module != NULL ? module->paths : NULL;
}

/* ---- for the verdict */

/* @names, which is consumed, sorted and joined; NULL: there are none. */
static char *
join (GPtrArray *names, const char *between)
{
  char *text = NULL;

  g_ptr_array_sort (names, gemem_dry_compare_names);
  g_ptr_array_add (names, NULL);
  if (names->len > 1)
    text = g_strjoinv (between, (char **) names->pdata);
  g_ptr_array_unref (names);
  return text;
}

char *
gemem_dry_installed_names (const GememDryInstalled *installed)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < installed->modules->len; i++)
    {
      const Module *module = installed->modules->pdata[i];
      GHashTableIter iter;
      gpointer soname, asked;
      g_hash_table_iter_init (&iter, module->sonames);
      while (module->runs && g_hash_table_iter_next (&iter, &soname, &asked))
        if (asked != NULL)
          g_ptr_array_add (names, soname);
    }
  return join (names, ":");
}

char *
gemem_dry_installed_problems (const GememDryInstalled *installed)
{
  GPtrArray *problems = g_ptr_array_new ();

  for (guint i = 0; i < installed->modules->len; i++)
    {
      const Module *module = installed->modules->pdata[i];
      if (!module->runs && module->problem != NULL)
        g_ptr_array_add (problems, module->problem);
    }
  for (guint row = 0; row < gemem_dry_n_rows (); row++)
    {
      char *why = g_hash_table_lookup (installed->not_beside, GUINT_TO_POINTER (row));
      if (why != NULL && gemem_dry_installed_beside_row (installed, row) == NULL)
        g_ptr_array_add (problems, why);
    }
  return join (problems, "; ");
}

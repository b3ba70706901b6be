/* cache.c - the folder of shared objects for a program, made once and kept (launch.h).
 *
 *   $XDG_CACHE_HOME/gemem/dry/HASH/libcublas.so.12 ...
 *
 * HASH is of what is in the folder: the sonames, the symbols wanted, those that libgemem-dry.so
 * does not define, the list for audit.c, and the form of the files.  A program that asks for
 * something else, or another libgemem-dry.so, therefore has another folder.  The objects of the
 * program are read every time.
 *
 * Invariants: a folder appears under its name when it is complete (it is renamed), so that many
 * processes may ask at once; one at a time makes folders, under a lock. Then folders that were not
 * used for a month are removed, as are those that a killed process left.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include "base/error.h"
#include "base/io/folder.h"
#include "base/io/trust.h"
#include "dry/launch/launch.h"

#define FORM "gemem-dry stubs 2" /* changes when write.c writes other files */
#define UNUSED_DAYS 30
#define LEFT_OVER_DAYS 1
#define PARTIAL ".partial-"
#define ADVICE "name another folder with XDG_CACHE_HOME"

/* Adds the names that the shared object at @path defines. */
static gboolean
add_defined_names (GHashTable *names, const char *path, GError **error)
{
  GememDryElf *elf = gemem_dry_elf_open (path);

  if (elf == NULL)
    {
      g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                   "%s: it is not there, or no shared object for this machine; install gemem again",
                   path);
      return FALSE;
    }
  for (guint i = 0; i < gemem_dry_elf_n_symbols (elf); i++)
    {
      GememDrySymbol symbol;
      if (gemem_dry_elf_symbol (elf, i, &symbol) && !symbol.imported)
        g_hash_table_add (names, g_strdup (symbol.name));
    }
  gemem_dry_elf_close (elf);
  return TRUE;
}

/* What a folder holds. */
typedef struct
{
  GPtrArray *libraries; /* GememDryLibrary */
  GHashTable *written;  /* names that libgemem-dry.so defines */
  char *list;           /* the text of the file GEMEM_DRY_LIST */
} Contents;

/* The file of @library in @folder; "": its name alone. */
static char *
file_of (const GememDryLibrary *library, const char *folder)
{
  g_autofree char *name = g_strconcat (library->soname, library->opened ? GEMEM_DRY_OPENED : NULL,
                                       NULL);
  return *folder != '\0' ? g_build_filename (folder, name, NULL) : g_steal_pointer (&name);
}

static char *
name_of (const Contents *contents)
{
  g_autoptr (GString) text = g_string_new (FORM "\n");

  g_string_append (text, contents->list);
  for (guint i = 0; i < contents->libraries->len; i++)
    {
      const GememDryLibrary *library = contents->libraries->pdata[i];
      g_string_append_printf (text, "%s\n", library->soname);
      for (guint j = 0; j < library->symbols->len; j++)
        {
          const GememDryWanted *one = library->symbols->pdata[j];
          g_string_append_printf (text, " %s@%s %" G_GUINT64_FORMAT " %d\n", one->name,
                                  one->version != NULL ? one->version : "", one->size,
                                  g_hash_table_contains (contents->written, one->name));
        }
    }
  g_autofree char *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text->str, -1);
  return g_strndup (hash, 32);
}

/* Removes old folders beside @keep. */
static void
prune (const char *parent, const char *keep)
{
  g_autoptr (GDir) dir = g_dir_open (parent, 0, NULL);
  const gint64 now = g_get_real_time () / G_USEC_PER_SEC;
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (parent, name, NULL);
      const gint64 days = strstr (name, PARTIAL) != NULL ? LEFT_OVER_DAYS : UNUSED_DAYS;
      GStatBuf facts;
      if (strcmp (path, keep) != 0 && g_lstat (path, &facts) == 0 && S_ISDIR (facts.st_mode)
          && now - (gint64) facts.st_mtime > days * 86400)
        gemem_folder_remove (path, NULL);
    }
}

/* @path is what its name says, no link, and nobody else can change it. */
static gboolean
is_ours (const char *path, mode_t kind)
{
  struct stat facts;

  return lstat (path, &facts) == 0 && (facts.st_mode & S_IFMT) == kind
         && gemem_trust_doubt (&facts, geteuid ()) == NULL;
}

/* @folder holds a file of each library, none of them cut off by a full disk long ago. */
static gboolean
is_complete (const char *folder, const Contents *contents)
{
  g_autofree char *list = g_build_filename (folder, GEMEM_DRY_LIST, NULL);

  if (!is_ours (folder, S_IFDIR) || !is_ours (list, S_IFREG))
    return FALSE;
  for (guint i = 0; i < contents->libraries->len; i++)
    {
      const GememDryLibrary *library = contents->libraries->pdata[i];
      g_autofree char *path = file_of (library, folder);
      GememDryElf *elf = is_ours (path, S_IFREG) ? gemem_dry_elf_open (path) : NULL;
      const gboolean good = elf != NULL
                            && g_strcmp0 (gemem_dry_elf_soname (elf), library->soname) == 0;
      gemem_dry_elf_close (elf);
      if (!good)
        return FALSE;
    }
  return TRUE;
}

static gboolean
fill (const char *folder, const Contents *contents, GError **error)
{
  g_autofree char *list = g_build_filename (folder, GEMEM_DRY_LIST, NULL);

  if (!g_file_set_contents (list, contents->list, -1, error))
    return FALSE;
  for (guint i = 0; i < contents->libraries->len; i++)
    {
      const GememDryLibrary *library = contents->libraries->pdata[i];
      g_autofree char *path = file_of (library, folder);
      g_autoptr (GByteArray) bytes = gemem_dry_write (library, contents->written);
      if (!g_file_set_contents (path, (const char *) bytes->data, (gssize) bytes->len, error)
          || g_chmod (path, 0755) != 0)
        return FALSE;
    }
  return TRUE;
}

/* Makes @folder beside others of its kind; the caller holds the lock of their parent. */
static gboolean
make_folder (const char *folder, const Contents *contents, GError **error)
{
  g_autofree char *partial = g_strconcat (folder, PARTIAL "XXXXXX", NULL);
  g_autoptr (GError) inner = NULL;

  if (is_complete (folder, contents)) /* another process was first */
    return TRUE;
  if (g_mkdtemp_full (partial, 0755) == NULL)
    {
      gemem_error_set_errno (error, errno, partial, ADVICE);
      return FALSE;
    }
  const gboolean filled = fill (partial, contents, &inner);
  if (filled)
    gemem_folder_remove (folder, NULL); /* something removed files of it */
  if (filled && g_rename (partial, folder) == 0)
    return TRUE;
  const int problem = errno;
  gemem_folder_remove (partial, NULL);
  if (inner != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "%s; " ADVICE, inner->message);
  else
    gemem_error_set_errno (error, problem, folder, ADVICE);
  return FALSE;
}

/* The same under the lock of @parent. */
static gboolean
make_alone (const char *parent, const char *folder, const Contents *contents, GError **error)
{
  g_autofree char *lock = g_build_filename (parent, "lock", NULL);
  const int fd = open (lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);

  if (fd < 0 || flock (fd, LOCK_EX) != 0)
    {
      gemem_error_set_errno (error, errno, parent, ADVICE);
      if (fd >= 0)
        close (fd);
      return FALSE;
    }
  const gboolean made = make_folder (folder, contents, error);
  if (made)
    prune (parent, folder);
  close (fd);
  return made;
}

/* What audit.c reads. */
static char *
make_list (const GPtrArray *libraries, const GPtrArray *linked)
{
  GString *list = g_string_new (NULL);

  for (guint i = 0; i < libraries->len; i++)
    {
      const GememDryLibrary *library = libraries->pdata[i];
      const guint row = gemem_dry_row_of_soname (library->soname);
      g_autofree char *file = file_of (library, "");
      g_string_append_printf (list, "library %s %s\n", file,
                              gemem_dry_soname_is_marked (file) ? file
                                                                : gemem_dry_row_pattern (row));
    }
  gemem_dry_linked_print (linked, list);
  return g_string_free (list, FALSE);
}

/* The names that those of @libraries define that are loaded. */
static GHashTable *
written_names (const char *const *libraries, const GememDryInstalled *installed, GError **error)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (; *libraries != NULL; libraries++)
    {
      g_autofree char *module = g_path_get_basename (*libraries);
      if (!gemem_dry_installed_runs (installed, module)
          && !add_defined_names (names, *libraries, error))
        return NULL;
    }
  return g_steal_pointer (&names);
}

/* The folder of these folders in @cache, NULL: the user's cache, which nobody else may change. */
static char *
find_parent (const char *cache, GError **error)
{
  const char *from = cache != NULL ? cache : g_get_user_cache_dir ();
  g_autofree char *parent = g_build_filename (from, "gemem", "dry", NULL);
  char *real = NULL;

  if (g_mkdir_with_parents (parent, 0755) != 0 || (real = realpath (parent, NULL)) == NULL)
    gemem_error_set_errno (error, errno, parent, ADVICE);
  else if (cache == NULL && !gemem_trust_folder (real, error))
    {
      g_prefix_error (error, "libraries are not loaded from %s: ", parent);
      g_clear_pointer (&real, free);
    }
  g_autofree char *copy = g_strdup (real);
  free (real);
  return g_steal_pointer (&copy);
}

char *
gemem_dry_stubs (const char *const *roots, const char *const *libraries,
                 GememDryInstalled *installed, const char *cache, GError **error)
{
  g_autoptr (GPtrArray) linked = g_ptr_array_new_with_free_func (gemem_dry_linked_free);
  g_autofree char *parent = find_parent (cache, error);

  if (parent == NULL)
    return NULL;
  g_autoptr (GPtrArray) wanted = gemem_dry_scan (roots, linked, installed);
  g_autoptr (GHashTable) written = written_names (libraries, installed, error);
  if (written == NULL)
    return NULL;
  g_autofree char *list = make_list (wanted, linked);
  const Contents contents = { wanted, written, list };
  g_autofree char *name = name_of (&contents);
  char *folder = g_build_filename (parent, name, NULL);
  if (!is_complete (folder, &contents) && !make_alone (parent, folder, &contents, error))
    g_clear_pointer (&folder, g_free);
  if (folder != NULL)
    utime (folder, NULL); /* used now */
  return folder;
}

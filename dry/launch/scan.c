/* scan.c - what the shared objects of a program ask of NVIDIA's libraries (launch.h).
 *
 * A function with a symbol version is asked of the library that the version names.  One without a
 * version is asked of the library whose prefix its name has (libraries.def), unless another object
 * of the program defines it; a weak one only if its object needs that library, since a program may
 * test whether a weak function is there.  Objects that look functions up by name (dlsym) have these
 * names as strings.  NVIDIA's own libraries are not read, because they are replaced, but for those
 * that run by themselves (installed.c): they are part of the program.
 *
 * Invariants: what is found does not depend on the order in which folders are read.
 */
#include "config.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "dry/launch/launch.h"

#define DEEPEST_FOLDER 64
#define NO_ROW GEMEM_DRY_NO_ROW
#define DRIVER "libcuda.so.1"
#define MANAGEMENT "libnvidia-ml.so.1"
#define SHORTEST_NAME 6
#define LONGEST_NAME 120

/* Asked of no library in particular: by its prefix. */
typedef struct
{
  char *name;
  guint row;
  guint64 size;   /* of an object; 0: a function */
  gboolean named; /* it stands in the program as a string, */
  gboolean asked; /* and in an object that does not define it, so it is asked of a library */
} Loose;

typedef struct
{
  GHashTable *libraries; /* soname -> (symbol -> GememDryWanted) */
  GHashTable *opened;    /* those of the libraries that no object needs: opened by name */
  GHashTable *loose;     /* name -> Loose */
  GHashTable *defined;   /* names with a prefix of the list that the program defines -> object */
  guint object;          /* the object that is read: 1, 2, ... */
  GHashTable *known;     /* file names of objects seen, or looked for */
  GQueue paths;          /* objects still to be read */
  GPtrArray *linked;     /* GememDryLinked, or NULL */
  GememDryInstalled *installed;
} Scan;

/* ---- what is wanted */

static void
wanted_free (gpointer data)
{
  GememDryWanted *wanted = data;
  g_free (wanted->name);
  g_free (wanted->version);
  g_free (wanted);
}

static void
loose_free (gpointer data)
{
  Loose *loose = data;
  g_free (loose->name);
  g_free (loose);
}

/* The symbols wanted of @soname so far. */
static GHashTable *
library (Scan *scan, const char *soname)
{
  GHashTable *symbols = g_hash_table_lookup (scan->libraries, soname);
  if (symbols == NULL)
    {
      symbols = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, wanted_free);
      g_hash_table_insert (scan->libraries, g_strdup (soname), symbols);
    }
  return symbols;
}

#define OBJECT_SIZE 65536 /* of an object whose size the program does not say */

static guint64
object_size (gboolean object, guint64 size)
{
  return !object ? 0 : size > 0 && size < G_MAXUINT32 ? size : OBJECT_SIZE;
}

static void
want (Scan *scan, const char *soname, const char *name, const char *version, guint64 size)
{
  GHashTable *symbols = library (scan, soname);
  g_autofree char *key = g_strconcat (name, "@", version, NULL);
  GememDryWanted *wanted = g_hash_table_lookup (symbols, key);

  if (wanted != NULL)
    {
      wanted->size = MAX (wanted->size, size);
      return;
    }
  wanted = g_new0 (GememDryWanted, 1);
  wanted->name = g_strdup (name);
  wanted->version = g_strdup (version);
  wanted->size = size;
  g_hash_table_insert (symbols, g_steal_pointer (&key), wanted);
}

static Loose *
want_loose (Scan *scan, const char *name, guint row, guint64 size)
{
  Loose *loose = g_hash_table_lookup (scan->loose, name);
  if (loose == NULL)
    {
      loose = g_new0 (Loose, 1);
      loose->name = g_strdup (name);
      loose->row = row;
      g_hash_table_insert (scan->loose, loose->name, loose);
    }
  loose->size = MAX (loose->size, size);
  return loose;
}

/* Whether the libraries of @row run by themselves. */
static gboolean
runs (const Scan *scan, guint row)
{
  const char *module = gemem_dry_row_module (row);
  return module != NULL && gemem_dry_installed_runs (scan->installed, module);
}

/* @needs: bit per row, the libraries that the object needs. */
static void
look_at_symbol (Scan *scan, const GememDrySymbol *symbol, guint64 needs)
{
  if (symbol->imported && symbol->file != NULL)
    {
      const guint its = gemem_dry_row_of_soname (symbol->file);
      if (its != NO_ROW && !runs (scan, its))
        want (scan, symbol->file, symbol->name, symbol->version,
              object_size (symbol->object, symbol->size));
      return;
    }
  const guint row = gemem_dry_row_of_function (symbol->name);
  if (row == NO_ROW || runs (scan, row))
    return;
  if (!symbol->imported)
    g_hash_table_insert (scan->defined, g_strdup (symbol->name), GUINT_TO_POINTER (scan->object));
  else if (symbol->version == NULL && (!symbol->weak || (needs >> row & 1) != 0))
    want_loose (scan, symbol->name, row, object_size (symbol->object, symbol->size));
}

/* The functions that an object may look up by name stand in it as strings.  Of the driver's all are
 * known (absent.def), and a newer one must not be found. */
static void
look_at_strings (Scan *scan, const GememDryElf *elf)
{
  gsize left;
  const char *at = gemem_dry_elf_section (elf, ".rodata", &left), *end;

  for (; at != NULL && (end = memchr (at, '\0', left)) != NULL; at = end + 1)
    {
      const gsize n = (gsize) (end - at);
      const guint row = n >= SHORTEST_NAME && n <= LONGEST_NAME ? gemem_dry_row_of_function (at)
                                                                : NO_ROW;
      if (row != NO_ROW && row != gemem_dry_row_of_soname (DRIVER)
          && row != gemem_dry_row_of_soname (MANAGEMENT))
        {
          Loose *loose = want_loose (scan, at, row, 0);
          loose->named = TRUE;
          loose->asked |= g_hash_table_lookup (scan->defined, at)
                          != GUINT_TO_POINTER (scan->object);
        }
      left -= n + 1;
    }
}

/* ---- objects */

/* Queues the first "@folder/@name" that exists, where @folders are separated by ':'. */
static gboolean
look_in (Scan *scan, const char *folders, const char *origin, const char *name)
{
  g_auto (GStrv) all = g_strsplit (folders, ":", -1);

  for (char **one = all; *one != NULL; one++)
    {
      g_auto (GStrv) braced = g_strsplit (*one, "${ORIGIN}", -1);
      g_autofree char *unbraced = g_strjoinv (origin, braced);
      g_auto (GStrv) plain = g_strsplit (unbraced, "$ORIGIN", -1);
      g_autofree char *folder = g_strjoinv (origin, plain);
      g_autofree char *path = g_build_filename (*folder != '\0' ? folder : ".", name, NULL);
      if (g_file_test (path, G_FILE_TEST_IS_REGULAR))
        {
          g_queue_push_tail (&scan->paths, g_steal_pointer (&path));
          return TRUE;
        }
    }
  return FALSE;
}

/* The folders that the loader searches by itself. */
static const char *
system_folders (void)
{
  static char *folders;

  if (folders != NULL)
    return folders;
  GString *all = g_string_new ("/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64:"
                               "/lib:/usr/lib:/usr/local/lib");
  g_autoptr (GDir) dir = g_dir_open ("/etc/ld.so.conf.d", 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename ("/etc/ld.so.conf.d", name, NULL);
      g_autofree char *text = NULL;
      if (!g_file_get_contents (path, &text, NULL, NULL))
        continue;
      g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
      for (char **line = lines; *line != NULL; line++)
        if (*g_strstrip (*line) == '/')
          g_string_append_printf (all, ":%s", *line);
    }
  folders = g_string_free (all, FALSE);
  return folders;
}

static void
look_for (Scan *scan, const GememDryElf *elf, const char *path, const char *name)
{
  g_autofree char *origin = g_path_get_dirname (path);
  const char *run_path = gemem_dry_elf_run_path (elf), *given = g_getenv ("LD_LIBRARY_PATH");

  if (g_hash_table_contains (scan->known, name))
    return;
  if ((run_path != NULL && look_in (scan, run_path, origin, name))
      || (given != NULL && *given != '\0' && look_in (scan, given, origin, name))
      || look_in (scan, system_folders (), origin, name))
    g_hash_table_add (scan->known, g_strdup (name));
}

/* The functions of a runtime in @elf are asked of the one of its version. */
static void
look_at_linked (Scan *scan, GememDryElf *elf, const char *path)
{
  GememDryLinked *linked = gemem_dry_linked_find (elf, path);

  if (linked == NULL)
    return;
  for (guint i = 0; i < linked->functions->len; i++)
    {
      const GememDryLinkedFunction *function = linked->functions->pdata[i];
      want (scan, linked->soname, function->name, NULL, 0);
    }
  if (scan->linked != NULL)
    g_ptr_array_add (scan->linked, linked);
  else
    gemem_dry_linked_free (linked);
}

/* "libx.so", "libx.so.1.2" */
static gboolean
is_object_name (const char *name)
{
  const char *at = strstr (name, ".so");
  return at != NULL && (at[3] == '\0' || at[3] == '.');
}

/* Queues the objects beside @path whose names have the same pattern, if that is one of several
 * names: one of them opens the others. */
static void
queue_siblings (Scan *scan, const char *path, guint row)
{
  const char *name;

  if (strstr (gemem_dry_row_pattern (row), "*.so") == NULL)
    return;
  g_autofree char *folder = g_path_get_dirname (path);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (is_object_name (name) && gemem_dry_row_of_soname (name) == row
        && g_hash_table_add (scan->known, g_strdup (name)))
      g_queue_push_tail (&scan->paths, g_build_filename (folder, name, NULL));
}

/* An object of NVIDIA's, which may run by itself with what it needs of its kind. */
static void
found_installed (Scan *scan, GememDryElf *elf, const char *path, guint row)
{
  const char *module = gemem_dry_row_module (row);
  const GPtrArray *needed = gemem_dry_elf_needed (elf);

  for (guint i = 0; i < needed->len; i++)
    if (g_strcmp0 (module, gemem_dry_row_module (gemem_dry_row_of_soname (needed->pdata[i]))) == 0)
      look_for (scan, elf, path, needed->pdata[i]);
  if (gemem_dry_installed_add (scan->installed, elf, path, row))
    queue_siblings (scan, path, row);
}

/* Notes the libraries that @elf needs, and looks for those that are not replaced; bit per row.
 * Sets *@runtime if CUDA's runtime is among them. */
static guint64
look_at_needed (Scan *scan, const GememDryElf *elf, const char *path, gboolean *runtime)
{
  const GPtrArray *needed = gemem_dry_elf_needed (elf);
  guint64 needs = 0;

  for (guint i = 0; i < needed->len; i++)
    {
      const guint row = gemem_dry_row_of_soname (needed->pdata[i]);
      if (row == NO_ROW)
        look_for (scan, elf, path, needed->pdata[i]);
      else if (!runs (scan, row))
        {
          if (gemem_dry_row_module (row) != NULL || gemem_dry_row_is_beside (row))
            look_for (scan, elf, path, needed->pdata[i]);
          needs |= G_GUINT64_CONSTANT (1) << row;
          *runtime |= g_str_has_prefix (needed->pdata[i], "libcudart.so");
          library (scan, needed->pdata[i]);
        }
    }
  return needs;
}

static void
read_object (Scan *scan, const char *path)
{
  GememDryElf *elf = gemem_dry_elf_open (path);
  g_autofree char *file = g_path_get_basename (path);
  gboolean needs_runtime = FALSE, looks_up = FALSE;

  if (elf == NULL)
    return;
  scan->object++;
  const char *soname = gemem_dry_elf_soname (elf);
  const guint own = gemem_dry_row_of_soname (soname != NULL ? soname : file);
  if ((own != NO_ROW && !runs (scan, own)) || g_str_has_prefix (file, "libgemem-dry"))
    {
      if (gemem_dry_row_module (own) != NULL)
        found_installed (scan, elf, path, own);
      else if (gemem_dry_row_is_beside (own) && soname != NULL)
        gemem_dry_installed_add_beside (scan->installed, elf, path, own);
      gemem_dry_elf_close (elf);
      return;
    }
  const guint64 needs = look_at_needed (scan, elf, path, &needs_runtime);
  for (guint i = 0; i < gemem_dry_elf_n_symbols (elf); i++)
    {
      GememDrySymbol symbol;
      if (!gemem_dry_elf_symbol (elf, i, &symbol))
        continue;
      look_at_symbol (scan, &symbol, needs);
      looks_up |= strcmp (symbol.name, "dlsym") == 0;
    }
  if (looks_up)
    look_at_strings (scan, elf);
  if (looks_up && !needs_runtime) /* a linked-in runtime opens the driver by name */
    look_at_linked (scan, elf, path);
  gemem_dry_elf_close (elf);
}

/* ---- folders */

static void
walk (Scan *scan, const char *path, guint depth)
{
  DIR *dir = opendir (path);
  const struct dirent *entry;

  while (dir != NULL && (entry = readdir (dir)) != NULL)
    {
      const gboolean folder = entry->d_type == DT_DIR;
      struct stat facts;
      if (entry->d_name[0] == '.'
          || (!folder && entry->d_type != DT_UNKNOWN && !is_object_name (entry->d_name)))
        continue;
      g_autofree char *inner = g_build_filename (path, entry->d_name, NULL);
      if (folder
          || (entry->d_type == DT_UNKNOWN && lstat (inner, &facts) == 0 && S_ISDIR (facts.st_mode)))
        {
          if (depth < DEEPEST_FOLDER)
            walk (scan, inner, depth + 1);
        }
      else if (is_object_name (entry->d_name))
        {
          g_hash_table_add (scan->known, g_strdup (entry->d_name));
          g_queue_push_tail (&scan->paths, g_steal_pointer (&inner));
        }
    }
  if (dir != NULL)
    closedir (dir);
}

/* ---- the result */

static gint
compare_wanted (gconstpointer a, gconstpointer b)
{
  const GememDryWanted *x = *(GememDryWanted *const *) a, *y = *(GememDryWanted *const *) b;
  const int names = strcmp (x->name, y->name);
  return names != 0 ? names : g_strcmp0 (x->version, y->version);
}

static gint
compare_libraries (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(GememDryLibrary *const *) a)->soname, (*(GememDryLibrary *const *) b)->soname);
}

static void
library_free (gpointer data)
{
  GememDryLibrary *library = data;
  g_free (library->soname);
  g_ptr_array_unref (library->symbols);
  g_free (library);
}

/* Whether @name comes before @other: those that a wheel has marked last, for nothing else asks for them. */
static gboolean
is_before (const char *name, const char *other)
{
  const gboolean marked = gemem_dry_soname_is_marked (name);
  return marked == gemem_dry_soname_is_marked (other) ? strcmp (name, other) < 0 : !marked;
}

/* The name of the library of @row that the program asks for, the first of them (is_before()); NULL: none. */
static const char *
library_of_row (const Scan *scan, guint row)
{
  const char *chosen = NULL;
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, scan->libraries);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    if (gemem_dry_row_holds (row, name) && (chosen == NULL || is_before (name, chosen)))
      chosen = name;
  return chosen;
}

/* The library for a symbol without a version: the one that its prefix names.  Where no object needs
 * such a library, but one looks the symbol up, the program opens the library while it runs, by a
 * name that is not known here.  The library then gets a name made from its row's pattern, and
 * audit.c gives it to whoever opens any name of that pattern. */
static const char *
library_for (Scan *scan, const Loose *loose)
{
  const char *found = library_of_row (scan, loose->row);

  if (found != NULL || !loose->named)
    return found;
  g_autofree char *soname = gemem_dry_row_soname (loose->row);
  library (scan, soname);
  g_hash_table_add (scan->opened, g_strdup (soname));
  return library_of_row (scan, loose->row);
}

/* The symbols without a version go to their libraries, but those that the program defines
 * itself: what is preloaded must not be found before them.  One that another object looks up by
 * name is asked of the library all the same (cuDNN looks for functions of cuBLAS of which
 * TensorFlow has stubs). */
static void
attribute (Scan *scan)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, scan->loose);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const Loose *loose = value;
      const char *soname = runs (scan, loose->row) ? NULL : library_for (scan, loose);
      if (soname != NULL
          && (g_hash_table_contains (scan->opened, soname) || loose->asked
              || !g_hash_table_contains (scan->defined, loose->name)))
        want (scan, soname, loose->name, NULL, loose->size);
    }
}

static void
read_queued (Scan *scan)
{
  char *path;

  while ((path = g_queue_pop_head (&scan->paths)) != NULL)
    {
      read_object (scan, path);
      g_free (path);
    }
}

/* The libraries that the program asks for or, if it looks up their functions, may open. */
static GHashTable *
asked_for (Scan *scan)
{
  GHashTable *sonames = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, scan->libraries);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    g_hash_table_add (sonames, g_strdup (key));
  g_hash_table_iter_init (&iter, scan->loose);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const Loose *loose = value;
      const char *soname = loose->named && library_of_row (scan, loose->row) == NULL
                               ? gemem_dry_installed_soname (scan->installed, loose->row)
                               : NULL;
      if (soname != NULL)
        g_hash_table_add (sonames, g_strdup (soname));
    }
  return sonames;
}

static gboolean
is_of (gpointer soname, gpointer symbols, gpointer module)
{
  return g_strcmp0 (gemem_dry_row_module (gemem_dry_row_of_soname (soname)), module) == 0;
}

/* Queues what the loader finds in @folders, separated by ':', if a library is opened by the name of
 * @path alone: CuPy opens the copy of a CUDA toolkit though its packages have one. */
static void
queue_namesake (Scan *scan, const char *folders, const char *path)
{
  g_auto (GStrv) all = g_strsplit (folders != NULL ? folders : "", ":", -1);
  g_autofree char *name = g_path_get_basename (path);
  struct stat own, other;

  for (char **folder = all; *folder != NULL; folder++)
    {
      g_autofree char *namesake = g_build_filename (*folder, name, NULL);
      if (**folder == '\0' || stat (namesake, &other) != 0)
        continue;
      if (stat (path, &own) == 0 && (own.st_dev != other.st_dev || own.st_ino != other.st_ino))
        g_queue_push_tail (&scan->paths, g_steal_pointer (&namesake));
      return;
    }
}

/* Lets those libraries run that can, and reads them as objects of the program. */
static void
read_installed (Scan *scan)
{
  g_autoptr (GHashTable) sonames = asked_for (scan);
  GHashTableIter iter;
  gpointer soname;

  g_hash_table_iter_init (&iter, sonames);
  while (g_hash_table_iter_next (&iter, &soname, NULL))
    {
      const char *module = gemem_dry_row_module (gemem_dry_row_of_soname (soname));
      if (module == NULL || gemem_dry_installed_runs (scan->installed, module)
          || !gemem_dry_installed_decide (scan->installed, module, sonames))
        continue;
      const GPtrArray *paths = gemem_dry_installed_paths (scan->installed, module);
      for (guint i = 0; paths != NULL && i < paths->len; i++)
        {
          g_queue_push_tail (&scan->paths, g_strdup (paths->pdata[i]));
          queue_namesake (scan, g_getenv ("LD_LIBRARY_PATH"), paths->pdata[i]);
          queue_namesake (scan, system_folders (), paths->pdata[i]);
        }
      g_hash_table_foreach_remove (scan->libraries, is_of, (gpointer) module);
    }
  read_queued (scan);
}

/* Reads an installed library that libgemem-dry calls besides its own functions of the same names
 * (NCCL, cuBLASLt).  What it imports is asked for as what the program imports.  What it defines is not
 * counted as defined by the program: attribute() would leave those functions to it, and the program
 * would pass by those of libgemem-dry. */
static void
read_beside (Scan *scan, guint row)
{
  const char *path = gemem_dry_installed_beside_row (scan->installed, row);
  GememDryElf *elf = path != NULL ? gemem_dry_elf_open (path) : NULL;
  gboolean needs_runtime = FALSE;

  if (elf == NULL)
    return;
  const guint64 needs = look_at_needed (scan, elf, path, &needs_runtime);
  for (guint i = 0; i < gemem_dry_elf_n_symbols (elf); i++)
    {
      GememDrySymbol symbol;
      if (gemem_dry_elf_symbol (elf, i, &symbol) && symbol.imported)
        look_at_symbol (scan, &symbol, needs);
    }
  if (!needs_runtime)
    look_at_linked (scan, elf, path);
  gemem_dry_elf_close (elf);
}

static GPtrArray *
collect (const Scan *scan)
{
  GPtrArray *result = g_ptr_array_new_with_free_func (library_free);
  GHashTableIter iter, inner;
  gpointer soname, symbols, key, wanted;

  g_hash_table_iter_init (&iter, scan->libraries);
  while (g_hash_table_iter_next (&iter, &soname, &symbols))
    {
      GememDryLibrary *one = g_new0 (GememDryLibrary, 1);
      one->soname = g_strdup (soname);
      one->opened = g_hash_table_contains (scan->opened, soname);
      one->symbols = g_ptr_array_new_with_free_func (wanted_free);
      g_hash_table_iter_init (&inner, symbols);
      while (g_hash_table_iter_next (&inner, &key, &wanted))
        {
          g_hash_table_iter_steal (&inner);
          g_free (key);
          g_ptr_array_add (one->symbols, wanted);
        }
      g_ptr_array_sort (one->symbols, compare_wanted);
      g_ptr_array_add (result, one);
    }
  g_ptr_array_sort (result, compare_libraries);
  return result;
}

static gint
compare_linked (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(GememDryLinked *const *) a)->path, (*(GememDryLinked *const *) b)->path);
}

GPtrArray *
gemem_dry_scan (const char *const *roots, GPtrArray *linked, GememDryInstalled *installed)
{
  Scan scan = { .libraries = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                                    (GDestroyNotify) g_hash_table_unref),
                .loose = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, loose_free),
                .defined = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                .opened = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                .known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                .paths = G_QUEUE_INIT,
                .linked = linked,
                .installed = installed };
  GPtrArray *result;

  library (&scan, DRIVER);
  library (&scan, MANAGEMENT);
  for (; *roots != NULL; roots++)
    if (g_file_test (*roots, G_FILE_TEST_IS_DIR))
      walk (&scan, *roots, 0);
    else
      g_queue_push_tail (&scan.paths, g_strdup (*roots));
  read_queued (&scan);
  read_installed (&scan);
  for (guint row = 0; row < gemem_dry_n_rows (); row++)
    read_beside (&scan, row);
  attribute (&scan);
  if (linked != NULL)
    g_ptr_array_sort (linked, compare_linked);
  result = collect (&scan);
  g_hash_table_unref (scan.libraries);
  g_hash_table_unref (scan.loose);
  g_hash_table_unref (scan.defined);
  g_hash_table_unref (scan.opened);
  g_hash_table_unref (scan.known);
  return result;
}

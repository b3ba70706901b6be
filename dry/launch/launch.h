/* launch.h - what the launcher of dry runs makes before the program starts: it finds what a program
 * asks of NVIDIA's libraries, and writes a shared object in the place of each.
 *
 * These files are linked into the launcher, but audit.c: that is a library of its own, which the
 * dynamic loader loads into the program.
 *
 * Invariants: files of the program are only read, and every offset in them is checked: a damaged
 * one is left out.  The same program gives the same bytes, in whatever order its folders are read.
 */
#pragma once

#include <glib.h>

/* ---- ELF objects (elf.c) */

typedef struct _GememDryElf GememDryElf;

typedef struct
{
  const char *name;
  const char *version; /* the version node, or NULL */
  const char *file;    /* the soname that defines the node (imports), or NULL */
  gboolean imported;   /* undefined here, or copied here from another object */
  gboolean weak, object, function;
  guint64 address, size; /* address: as in the file */
} GememDrySymbol;

/* Opens a shared object or program for this machine (x86-64) with a dynamic section; NULL if @path
 * is none, or is damaged.  Free with gemem_dry_elf_close().  O(1) in the size of the file. */
GememDryElf *gemem_dry_elf_open (const char *path);
void gemem_dry_elf_close (GememDryElf *elf);
/* The soname, or NULL. */
const char *gemem_dry_elf_soname (const GememDryElf *elf);
/* The sonames of the objects that it needs; owned by @elf. */
const GPtrArray *gemem_dry_elf_needed (const GememDryElf *elf);
/* Folders to search for them, separated by ':', "$ORIGIN" in them; or NULL. */
const char *gemem_dry_elf_run_path (const GememDryElf *elf);
/* The symbols are numbered from 0 to this, without end. */
guint gemem_dry_elf_n_symbols (const GememDryElf *elf);
/* Has the symbols from here on be those of the table of all, local ones too, in the place of the
 * dynamic one; FALSE: there is none, the object was stripped. */
gboolean gemem_dry_elf_use_all_symbols (GememDryElf *elf);
/* The bytes of the section @name, *@size of them; NULL: there is none, or there are no
 * section headers. */
const char *gemem_dry_elf_section (const GememDryElf *elf, const char *name, gsize *size);
/* The functions that the object's frame tables know, by address, whether they have names or not:
 * array of GememDryFrame, without those of damaged tables.  O(functions); g_array_unref(). */
typedef struct
{
  guint64 address, size; /* address: as in the file */
} GememDryFrame;
GArray *gemem_dry_elf_frames (const GememDryElf *elf);
/* Symbol number @i of the table; FALSE: a nameless one, or a local one of the dynamic table. */
gboolean gemem_dry_elf_symbol (const GememDryElf *elf, guint i, GememDrySymbol *symbol);

/* ---- names (names.c) */

/* Sorts a GPtrArray of names. */
gint gemem_dry_compare_names (gconstpointer a, gconstpointer b);

#define GEMEM_DRY_NO_ROW G_MAXUINT /* no library of NVIDIA's */

/* The row of libraries.def of a shared object's name; of a function's name: the one with the
 * longest prefix of it. */
guint gemem_dry_row_of_soname (const char *soname);
guint gemem_dry_row_of_function (const char *name);
/* Whether a wheel that brings the library along has put a mark into its name, by which nothing else asks for it. */
gboolean gemem_dry_soname_is_marked (const char *soname);
/* The library that has the written functions of @row, a name; NULL: libgemem-dry.so, or no row. */
const char *gemem_dry_row_module (guint row);
/* Whether libgemem-dry.so calls the installed library of @row besides its own functions. */
gboolean gemem_dry_row_is_beside (guint row);
guint gemem_dry_n_rows (void);
/* All of them, each once, up to NULL; g_strfreev(). */
char **gemem_dry_modules (void);
/* The pattern of sonames of @row; a soname without a version for it (g_free()); and whether
 * functions of @row are in the library @soname. */
const char *gemem_dry_row_pattern (guint row);
char *gemem_dry_row_soname (guint row);
gboolean gemem_dry_row_holds (guint row, const char *soname);

/* ---- what a program asks for (scan.c) */

typedef struct
{
  char *name;
  char *version; /* or NULL */
  guint64 size;  /* of an object; 0: a function */
} GememDryWanted;

typedef struct
{
  char *soname;
  gboolean opened;    /* by name, while the program runs: it is not preloaded */
  GPtrArray *symbols; /* GememDryWanted, by name and version */
} GememDryLibrary;

/* ---- runtimes that are linked into objects (linked.c) */

typedef struct
{
  char *name;
  guint64 address; /* as in the file */
} GememDryLinkedFunction;

typedef struct
{
  char *path;           /* of the object */
  const char *soname;   /* of the runtime of this version, were it not linked in */
  GPtrArray *functions; /* GememDryLinkedFunction, by name */
} GememDryLinked;

/* The runtime in the object @elf; NULL: none, or not to be found.  O(symbols), or O(functions) if
 * the object was stripped. */
GememDryLinked *gemem_dry_linked_find (GememDryElf *elf, const char *path);
void gemem_dry_linked_free (gpointer linked);
/* Appends the part of @linked, of GememDryLinked, to the list that audit.c reads. */
void gemem_dry_linked_print (const GPtrArray *linked, GString *list);

/* ---- installed libraries that run by themselves (installed.c) */

/* The libraries of libraries.def that have a module: what of them was found, and
 * whether they run. */
typedef struct _GememDryInstalled GememDryInstalled;

/* @wanted: FALSE if none may run.  Free with gemem_dry_installed_free(). */
GememDryInstalled *gemem_dry_installed_new (gboolean wanted);
void gemem_dry_installed_free (GememDryInstalled *installed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GememDryInstalled, gemem_dry_installed_free)
/* Takes the object @elf at @path, whose soname has the row @row with a module; FALSE: it
 * was taken before. */
gboolean gemem_dry_installed_add (GememDryInstalled *installed, GememDryElf *elf, const char *path,
                                  guint row);
/* Whether libraries of @module run: all of the set @sonames (keys; those of other modules do not
 * matter) that belong to it were found, and CUDA's runtime in each object, if one is linked in. */
gboolean gemem_dry_installed_decide (GememDryInstalled *installed, const char *module,
                                     GHashTable *sonames);
/* The soname of an object that was added, and has functions of @row; NULL: none. */
const char *gemem_dry_installed_soname (const GememDryInstalled *installed, guint row);
/* What was decided; FALSE before, and for NULL. */
gboolean gemem_dry_installed_runs (const GememDryInstalled *installed, const char *module);
/* The paths of the objects of @module, owned by @installed; NULL: none. */
const GPtrArray *gemem_dry_installed_paths (const GememDryInstalled *installed, const char *module);
/* Takes the object @elf at @path, whose row @row gemem_dry_row_is_beside(). */
void gemem_dry_installed_add_beside (GememDryInstalled *installed, GememDryElf *elf,
                                     const char *path, guint row);
/* The path of the one with the row of @soname that is called, the first in the alphabet; NULL: none
 * can. */
const char *gemem_dry_installed_beside (const GememDryInstalled *installed, const char *soname);
const char *gemem_dry_installed_beside_row (const GememDryInstalled *installed, guint row);
/* What the program's verdict says, or NULL: sonames of those that run, separated by ':'; why others
 * do not run.  g_free(). */
char *gemem_dry_installed_names (const GememDryInstalled *installed);
char *gemem_dry_installed_problems (const GememDryInstalled *installed);

/* ---- what a program asks for, all of it (scan.c) */

/* Finds what programs ask for.
 * @roots: paths of programs, shared objects and folders (which are searched with their subfolders),
 * up to NULL; roots that do not exist are passed over.
 * @linked, unless NULL: gets the GememDryLinked of the objects, by path.
 * @installed: gets the libraries that run by themselves, of which nothing is returned.
 * Returns GememDryLibrary, by soname; libcuda.so.1 and libnvidia-ml.so.1, which programs open by
 * name, are always among them.  Reads headers and symbol tables only. */
GPtrArray *gemem_dry_scan (const char *const *roots, GPtrArray *linked,
                           GememDryInstalled *installed);

/* ---- writing them (write.c) */

/* The bytes of a shared object that stands for @library: see the head of write.c.
 * @written: names that libgemem-dry.so defines, left out. */
GByteArray *gemem_dry_write (const GememDryLibrary *library, GHashTable *written);

/* ---- the folder of a program (cache.c) */

#define GEMEM_DRY_OPENED ".opened" /* ends the name of a library that is not preloaded */
#define GEMEM_DRY_LIST "list"      /* the file in it that audit.c reads */

/* Makes, or finds, the folder of shared objects that a program is run with.
 * @roots, @installed: as for gemem_dry_scan(); @libraries: the paths of libgemem-dry.so and of the
 * modules of libraries.def, up to NULL: their functions are left out of them; @cache: the folder in
 * which it is, NULL: the user's cache.
 * Returns the folder: LD_PRELOAD names every file in it that ends not in GEMEM_DRY_OPENED, after
 * those of @libraries whose module does not run; its file GEMEM_DRY_LIST is for audit.c.
 * NULL with @error set if it cannot be written.  Free with g_free(). */
char *gemem_dry_stubs (const char *const *roots, const char *const *libraries,
                       GememDryInstalled *installed, const char *cache, GError **error);

/* ---- versions (versions.c) */

/* The versions of NVIDIA's libraries that the Python packages in @roots (folders, up to NULL) come
 * with or require, as settings of the environment of a dry run: "GEMEM_DRY_CUDNN=9.1.0.70",
 * "GEMEM_DRY_CUDART=12.4.127".  Free with g_strfreev(). */
char **gemem_dry_versions (const char *const *roots);

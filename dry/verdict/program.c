/* program.c - which files a program may load, and whether anything can be preloaded into it.
 *
 * A program may be started by another one: env, a shell, a script, uv, conda, torchrun.  The words of
 * the command that are programs are therefore looked at, and the Python among them is asked where it
 * looks for modules.  That is a first answer: a Python that looks elsewhere says so itself when it
 * starts (sitecustomize.py), and gets what it needs then.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/io/elf.h"
#include "dry/verdict/verdict.h"

#define SCRIPT_MAX 256 /* bytes of a script's first line, as the kernel reads */

/* ---- executables */

/* The first line of the script @path without "#!", or NULL if it is none. */
static char *
script_line (const char *path)
{
  char head[SCRIPT_MAX + 1] = "";
  FILE *file = fopen (path, "re");
  gsize n = file != NULL ? fread (head, 1, SCRIPT_MAX, file) : 0;

  if (file != NULL)
    fclose (file);
  if (n < 3 || strncmp (head, "#!", 2) != 0)
    return NULL;
  head[strcspn (head, "\r\n")] = '\0';
  return g_strstrip (g_strdup (head + 2));
}

/* The executable that runs when @path is executed: the interpreter of a script.  g_free(). */
static char *
executable_of (const char *path)
{
  g_autofree char *line = script_line (path);
  g_auto (GStrv) words = NULL;

  if (line == NULL)
    return g_strdup (path);
  words = g_strsplit_set (line, " \t", 3);
  if (g_str_has_suffix (words[0], "/env") && words[1] != NULL)
    {
      const char *name = strcmp (words[1], "-S") == 0 && words[2] != NULL ? words[2] : words[1];
      char *found = g_find_program_in_path (name);
      return found != NULL ? found : g_strdup (words[0]);
    }
  return g_strdup (words[0]);
}

/* TRUE if the ELF program @path has no interpreter, and so no dynamic loader that reads
 * LD_PRELOAD. */
static gboolean
is_static (const char *path)
{
  GememElf elf;
  GememElfSegment segment;
  gboolean result;

  if (!gemem_elf_open (&elf, path))
    return FALSE;
  result = elf.header.e_phentsize == sizeof segment;
  for (gsize i = 0; result && i < elf.header.e_phnum; i++)
    result = gemem_elf_segment (&elf, i, &segment) && segment.p_type != PT_INTERP;
  gemem_elf_close (&elf);
  return result;
}

/* TRUE if the file @path contains the name of the driver's library, which a program needs that opens
 * it. */
static gboolean
names_the_driver (const char *path)
{
  static const char name[] = "libcuda.so";
  g_autoptr (GMappedFile) file = g_mapped_file_new (path, FALSE, NULL);

  return file != NULL
         && memmem (g_mapped_file_get_contents (file), g_mapped_file_get_length (file), name,
                    strlen (name))
                != NULL;
}

/* FALSE with @error if the loader of @path will not preload anything.  A static program that cannot
 * use a GPU itself (uv, a shell) may start others. */
static gboolean
can_be_preloaded (const char *path, GError **error)
{
  const char *problem = gemem_launcher_privileged (path);

  if (problem == NULL && is_static (path) && names_the_driver (path))
    problem = "it is linked statically; link it dynamically (CUDA's runtime may stay static)";
  if (problem != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED,
                 "%s: LD_PRELOAD has no effect on it, so nothing can stand for the GPU: %s", path,
                 problem);
  return problem == NULL;
}

/* ---- Python */

/* "python3.11", "/opt/bin/pypy3"; not "python_tool.py" */
static gboolean
is_python (const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  const gsize n = g_str_has_prefix (name, "python") ? strlen ("python")
                  : g_str_has_prefix (name, "pypy") ? strlen ("pypy")
                                                    : 0;
  return n > 0 && strspn (name + n, "0123456789.dt") == strlen (name + n);
}

/* Adds the folders in which @python looks for modules, but those of its own library. */
static void
add_python_folders (GPtrArray *roots, const char *python)
{
  static const char code[] = "import sys, sysconfig\n"
                             "std = (sysconfig.get_paths()['stdlib'], "
                             "sysconfig.get_paths()['platstdlib'])\n"
                             "for p in sys.path:\n"
                             "  if p and p not in std and not p.endswith(('.zip', 'lib-dynload')):"
                             " print(p)\n";
  const char *arguments[] = { python, "-c", code, NULL };
  g_autofree char *text = NULL;

  if (!g_spawn_sync (NULL, (char **) arguments, NULL,
                     G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &text, NULL,
                     NULL, NULL)
      || text == NULL)
    return;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++)
    if (*lines[i] != '\0')
      g_ptr_array_add (roots, g_strdup (lines[i]));
}

/* Adds what the program @path may load. */
static void
add_program (GPtrArray *roots, const char *path)
{
  g_autofree char *executable = executable_of (path);

  g_ptr_array_add (roots, g_strdup (executable));
  if (is_python (executable))
    add_python_folders (roots, executable);
}

/* Adds the programs among the words of @argument, which may be a line of a shell. */
static void
add_words (GPtrArray *roots, const char *argument)
{
  g_auto (GStrv) words = g_strsplit_set (argument, " \t\n;&|()\"'", -1);

  for (char **word = words; *word != NULL; word++)
    {
      g_autofree char *path = **word != '\0' ? g_find_program_in_path (*word) : NULL;
      if (path != NULL)
        add_program (roots, path);
    }
}

/* The path of the program called @name; NULL with G_FILE_ERROR and what to do about it. */
static char *
find_program (const char *name, GError **error)
{
  char *path = g_find_program_in_path (name);
  g_auto (GStrv) words = g_strsplit (name, " ", 2);
  g_autofree char *first = path == NULL && words[0] != NULL && *words[0] != '\0'
                               ? g_find_program_in_path (words[0])
                               : NULL;
  const gboolean there = g_file_test (name, G_FILE_TEST_IS_REGULAR);
  const int problem = there && strchr (name, '/') != NULL ? EACCES : ENOENT;

  if (path == NULL && g_file_test (name, G_FILE_TEST_IS_DIR))
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_ISDIR, "%s: %s; name a program", name,
                 g_strerror (EISDIR));
  else if (path == NULL && !there && first != NULL)
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
                 "'%s' is no program; write the program and each argument as a word of its own, "
                 "without these quotes",
                 name);
  else if (path == NULL)
    g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (problem), "%s: %s%s%s%s", name,
                 g_strerror (problem), there ? "; write " : "",
                 !there                           ? ""
                 : g_str_has_suffix (name, ".py") ? "python "
                 : problem == ENOENT              ? "./"
                                                  : "chmod +x ",
                 there ? name : "");
  return path;
}

GPtrArray *
gemem_library_program_roots (char **arguments, GError **error)
{
  g_autoptr (GPtrArray) roots = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *path = find_program (*arguments, error);

  if (path == NULL)
    return NULL;
  add_program (roots, path);
  if (!can_be_preloaded (roots->pdata[0], error))
    return NULL;
  if (!is_python (roots->pdata[0]))
    for (char **a = arguments + 1; *a != NULL; a++)
      add_words (roots, *a);
  g_ptr_array_add (roots, NULL);
  return g_steal_pointer (&roots);
}

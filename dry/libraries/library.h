/* library.h - what the files of this folder share: how a function of an NVIDIA library is defined,
 * and objects that keep what a program sets and asks for again.
 *
 * Types of these libraries are not declared here: a handle, a descriptor and a stream are pointers,
 * an enumeration is an int, as they are passed on x86-64. A function is written if what it returns
 * through a pointer matters; the others are in harmless.def, or fail by their name (missing.c).
 *
 * Invariants: a size that only the real library knows is never invented: the answer is 0, or what the
 * user chose ($GEMEM_DRY_WORKSPACES), and a note WORKSPACE says so, with the most that
 * it could be where a limit is known.
 *
 * Origin: the public reference manuals of the libraries.
 */
#pragma once

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

#include "dry/driver/notes.h"

/* Begins the definition of a function that programs call. */
#define DRY_FUNCTION(result, name, ...) \
  __attribute__ ((visibility ("default"))) result name (__VA_ARGS__); \
  result name (__VA_ARGS__)

#define INVALID_VALUE_UNLESS(condition, status) \
  if (!(condition)) \
  return status

#pragma GCC visibility push(default) /* libgemem-dry-cudnn and -solvers use them */

/* ---- objects (library.c); any thread */

/* A new object of zeros, larger than what programs copy; release with
 * gemem_library_object_free(). */
gpointer gemem_library_object_new (void);
/* Releases @object and what it keeps. An object that the program allocated itself, or NULL: only
 * what it keeps. */
void gemem_library_object_free (gpointer object);
/* Keeps @size bytes as attribute @id of @object, which may be any address. */
void gemem_library_keep (gconstpointer object, int id, gconstpointer data, gsize size);
void gemem_library_keep_number (gconstpointer object, int id, gint64 number);
/* @to keeps what @from keeps, too. */
void gemem_library_copy (gconstpointer to, gconstpointer from);
/* Copies at most @size bytes of attribute @id to @data (unless NULL); returns how many it has, 0:
 * it was not kept. */
gsize gemem_library_kept (gconstpointer object, int id, gpointer data, gsize size);
/* The number that is kept, of 1, 4 or 8 bytes; @otherwise if none is. */
gint64 gemem_library_kept_number (gconstpointer object, int id, gint64 otherwise);

/* ---- answers */

/* Part @part (0 major, 1 minor, 2 patch) of the version of @library ("cudnn"): $GEMEM_DRY_CUDNN, which
 * the launcher finds in the program's packages (dry/launch/versions.c). Without it the notes say so, and
 * the answer is that of CUDA; 0 for cuDNN and NCCL, whose versions have their own count. */
int gemem_library_version (const char *library, int part);

/* What every workspace is taken to have whose size only the real library knows: bytes of
 * $GEMEM_DRY_WORKSPACES (gemem-dry-run --workspaces), 0 by default. */
gsize gemem_library_workspaces (void);

/* A program asks @function for a size that only the real library knows. Notes it once, with
 * the most that it could be; @limit 0: not known. Returns gemem_library_workspaces(), but no
 * more than @limit. */
gsize gemem_library_unknown_size (const char *function, guint64 limit);

/* Opens the installed library at @path, which a stand-in calls besides its own functions; NULL: dlerror() says why. */
gpointer gemem_library_open_beside (const char *path);

/* The functions of other objects that @library, which was opened so, calls by names that begin with @prefix are those of @to from now on,
 * as far as it has them. */
void gemem_library_bind (gpointer library, const char *prefix, gpointer to);

/* A program reads a value from @function that no kernel computed; noted. Zero stands for it. */
void gemem_library_unknown_value (const char *function);

#pragma GCC visibility pop

/* no-memory.c - what a program of gemem does when the host has no memory, or no thread, left: a
 * message and an exit status instead of a trap (no-memory.h).
 *
 * GLib ends the program where it gets nothing, with a message for developers that itself needs some
 * memory.  The writer of GLib's log replaces that message.  Where not even a small block is left,
 * the message cannot be made, and GLib would recurse without end; and before main() there is no
 * writer yet.  So with glibc the program's own malloc(), calloc(), realloc() and posix_memalign()
 * end it there.  Large blocks that fail are the caller's affair.
 *
 * Invariants: nothing here allocates; part of programs, never of a library, and not of builds with
 * a sanitizer, which has its own malloc().
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/no-memory.h"

static GLogWriterOutput
write_log (GLogLevelFlags level, const GLogField *fields, gsize n, gpointer data)
{
  (void) data;
  for (gsize i = 0; i < n && (level & G_LOG_LEVEL_ERROR) != 0; i++)
    {
      const char *text = fields[i].value, *failed;
      if (strcmp (fields[i].key, "MESSAGE") == 0
          && ((failed = strstr (text, "failed to allocate ")) != NULL
              || (failed = strstr (text, "Not enough memory for ")) != NULL /* GIO, of zlib */
              || (failed = strstr (text, "creating thread ")) != NULL))
        gemem_end_without_memory (failed, strcspn (failed, "\n"));
    }
  return g_log_writer_default (level, fields, n, NULL);
}

void
gemem_catch_no_memory (void)
{
  g_log_set_writer_func (write_log, NULL, NULL);
}

#ifdef __has_feature
#define SANITIZED \
  (__has_feature (address_sanitizer) || __has_feature (thread_sanitizer) \
   || __has_feature (memory_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#if defined(__GLIBC__) && !SANITIZED

#define EXPORT __attribute__ ((visibility ("default"))) /* for the libraries, too */
#define SMALL 16384 /* bytes; whoever asks for so few cannot do with less */

/* The functions that would be called without these: of the C library, or of a malloc() that was
 * preloaded, whose free() gets the blocks. */
typedef void *(*Malloc) (size_t size);
typedef void *(*Calloc) (size_t n, size_t size);
typedef void *(*Realloc) (void *memory, size_t size);
typedef int (*Memalign) (void **memory, size_t alignment, size_t size);

static void *
next (const char *name)
{
  void *function = dlsym (RTLD_NEXT, name);

  if (function == NULL)
    abort ();
  return function;
}

static void *
have (void *memory, size_t size)
{
  static const char what[] = "failed to allocate a small block";

  if (memory == NULL && size > 0 && size <= SMALL)
    gemem_end_without_memory (what, strlen (what));
  return memory;
}

EXPORT void *
malloc (size_t size)
{
  static Malloc function;

  if (G_UNLIKELY (function == NULL))
    function = (Malloc) next ("malloc");
  return have (function (size), size);
}

EXPORT void *
calloc (size_t n, size_t size)
{
  static Calloc function;
  static gboolean asked;

  if (G_UNLIKELY (function == NULL))
    {
      if (asked) /* by dlsym() before glibc 2.34, which can do without; no thread runs yet */
        return NULL;
      asked = TRUE;
      function = (Calloc) next ("calloc");
    }
  return have (function (n, size), n > 0 && size > SMALL / n ? SMALL + 1 : n * size);
}

EXPORT void *
realloc (void *memory, size_t size)
{
  static Realloc function;

  if (G_UNLIKELY (function == NULL))
    function = (Realloc) next ("realloc");
  return have (function (memory, size), size);
}

EXPORT int
posix_memalign (void **memory, size_t alignment, size_t size)
{
  static Memalign function;

  if (G_UNLIKELY (function == NULL))
    function = (Memalign) next ("posix_memalign");
  const int problem = function (memory, alignment, size);
  have (problem != ENOMEM ? *memory : NULL, problem == ENOMEM ? size : 0);
  return problem;
}

#endif

/* calls-lookup.c - calls that look up functions: they return the wrapper of a hooked function
 * (shapes.h). These calls are not recorded. */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "record/shapes.h"

/* Whether stream 0 of a function looked up with @flags is the per-thread default stream. */
static bool
wants_per_thread (const Hook *hook, unsigned long long flags)
{
  return (flags & ENTRY_PER_THREAD) != 0 || ((flags & ENTRY_LEGACY) == 0 && hook->per_thread);
}

#define LOOK_UP(parameters, ...) \
  int (*real) parameters = (int (*) parameters) gemem_recorder_real (hook, caller); \
  if (real == NULL) \
    return NOT_INITIALIZED; \
  int result = real (__VA_ARGS__)

/* The function to return to a program for which the driver looked up @symbol as @real: @real or its
 * wrapper. */
static void *
wrap_driver (const char *symbol, void *real, int version, bool per_thread)
{
  Hook *best = NULL;

  if (symbol == NULL || real == NULL)
    return real;
  for (int i = 0; i < gemem_recorder_hook_count; i++)
    {
      Hook *hook = &gemem_recorder_hooks[i];
      if (real == hook->wrapper)
        return real;
      if (hook->base == NULL || strcmp (hook->base, symbol) != 0 || hook->since > version)
        continue;
      /* choose the newest hook up to @version; of a pair, the hook for this kind of default
       * stream */
      if (best == NULL || hook->since > best->since
          || (hook->since == best->since && hook->per_thread == per_thread))
        best = hook;
    }
  return best != NULL ? gemem_recorder_adopt (best, real) : real;
}

static int
wrap_found (int result, const char *symbol, void **function, int version, bool per_thread)
{
  int saved = errno;
  if (result == 0 && function != NULL)
    *function = wrap_driver (symbol, *function, version, per_thread);
  errno = saved;
  return result;
}

SHAPE (PROC_ADDRESS, const char *symbol, void **function, int version, unsigned long long flags)
{
  LOOK_UP ((const char *, void **, int, unsigned long long), symbol, function, version, flags);
  return wrap_found (result, symbol, function, version, wants_per_thread (hook, flags));
}

SHAPE (PROC_ADDRESS_STATUS, const char *symbol, void **function, int version,
       unsigned long long flags, int *status)
{
  LOOK_UP ((const char *, void **, int, unsigned long long, int *), symbol, function, version,
           flags, status);
  return wrap_found (result, symbol, function, version, wants_per_thread (hook, flags));
}

/* The runtime looks up functions of its own version, the newest it can know.  Runtimes before 12
 * ignore the fourth argument. */
SHAPE (ENTRY_POINT, const char *symbol, void **function, unsigned long long flags, int *status)
{
  LOOK_UP ((const char *, void **, unsigned long long, int *), symbol, function, flags, status);
  return wrap_found (result, symbol, function, 12000, wants_per_thread (hook, flags));
}

SHAPE (ENTRY_POINT_VERSION, const char *symbol, void **function, unsigned version,
       unsigned long long flags, int *status)
{
  LOOK_UP ((const char *, void **, unsigned, unsigned long long, int *), symbol, function, version,
           flags, status);
  return wrap_found (result, symbol, function, (int) version, wants_per_thread (hook, flags));
}

/* dlsym.c - the dlsym() of recorded programs, which returns the wrappers of hooked names (recorder.h).
 *
 * Any other call continues in the dlsym() of the C library by a tail call, because that function
 * identifies the caller of RTLD_NEXT by its return address.
 *
 * What the calling object defines itself may be a stub that opens the driver and looks the same name
 * up there (TensorFlow links no CUDA library).  It is reached through the wrapper, so its lookup
 * returns the driver's function: the wrapper would call the stub again, for ever.
 */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "record/recorder.h"

/* TAIL_RETURN must compile to a jump. */
#if defined(__clang__)
#define TAIL_CALLER
#define TAIL_RETURN __attribute__ ((musttail)) return
#else
#define TAIL_CALLER \
  __attribute__ ((optimize ("O2", "optimize-sibling-calls", "omit-frame-pointer")))
#define TAIL_RETURN return
#endif

static Hook *
hook_named (const char *name)
{
  if (name == NULL || name[0] != 'c' || name[1] != 'u')
    return NULL;
  for (int i = 0; i < gemem_recorder_hook_count; i++)
    if (strcmp (gemem_recorder_hooks[i].name, name) == 0)
      return &gemem_recorder_hooks[i];
  return NULL;
}

/* Whether the object of @caller has the function that @hook's wrapper calls: it is a stub. */
static bool
is_stub (Hook *hook, const void *caller)
{
  const void *real = atomic_load_explicit (&hook->real, memory_order_acquire);
  return real != NULL && gemem_recorder_same_object (real, caller);
}

static __attribute__ ((noinline)) void *
hooked_symbol (Hook *hook, void *handle, const void *caller)
{
  void *function = gemem_recorder_dlsym () (handle, hook->name);

  if (function != hook->wrapper)
    return function != NULL && is_stub (hook, caller) ? function
                                                      : gemem_recorder_adopt (hook, function);
  if (gemem_recorder_real (hook, caller) != NULL)
    return function;
  return gemem_recorder_behind (hook->name); /* not found: returns NULL and sets dlerror() */
}

EXPORT void *dlsym (void *restrict handle, const char *restrict name);

TAIL_CALLER void *
dlsym (void *restrict handle, const char *restrict name)
{
  Hook *hook = handle != RTLD_NEXT ? hook_named (name) : NULL;

  if (hook != NULL)
    return hooked_symbol (hook, handle, __builtin_return_address (0));
  RecorderLookup lookup = gemem_recorder_dlsym ();
  TAIL_RETURN lookup (handle, name);
}

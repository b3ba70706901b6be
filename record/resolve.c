/* resolve.c - finds the real function of a wrapper, and returns the wrapper to programs that look
 * up functions themselves (recorder.h).
 *
 * Programs reach CUDA by linking (the preloaded library is found first), by dlsym() on a handle
 * (Python's ctypes, the runtime on the driver), and by cuGetProcAddress() and
 * cudaGetDriverEntryPoint().  All three are handled here.
 *
 * The real function is searched where the caller would have found it: among the libraries of the
 * calling object (those of a Python extension are not in the global scope), then after this library
 * in the global scope, then in any loaded libcuda or libcudart.  What the calling object defines
 * itself comes last of these three, as for the dynamic loader.
 *
 * Such a definition may be a stub that opens the driver and looks the same name up there
 * (TensorFlow links no CUDA library).  It is reached through the wrapper, so its lookup returns the
 * driver's function: the wrapper would call the stub again, for ever.
 *
 * dlsym() is replaced for hooked names.  Any other call continues in the dlsym() of the C library
 * by a tail call, because that function identifies the caller of RTLD_NEXT by its return address.
 *
 * Invariants: a name is found only if it would be found without the recorder; a function of a
 * second runtime library in the same process is not wrapped (its driver calls are recorded).
 */
#include "config.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "record/recorder.h"

typedef void *(*Lookup) (void *, const char *);

/* The versions of dlsym(): that of glibc 2.34, and the first one of the architecture. */
#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__powerpc64__) || defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#else
#define FIRST_VERSION "GLIBC_2.0"
#endif

/* TAIL_RETURN must compile to a jump. */
#if defined(__clang__)
#define TAIL_CALLER
#define TAIL_RETURN __attribute__ ((musttail)) return
#else
#define TAIL_CALLER \
  __attribute__ ((optimize ("O2", "optimize-sibling-calls", "omit-frame-pointer")))
#define TAIL_RETURN return
#endif

static Lookup
real_dlsym (void)
{
  static _Atomic (Lookup) found;
  Lookup lookup = atomic_load_explicit (&found, memory_order_relaxed);

  if (lookup == NULL)
    {
      lookup = (Lookup) dlvsym (RTLD_NEXT, "dlsym", "GLIBC_2.34");
      if (lookup == NULL)
        lookup = (Lookup) dlvsym (RTLD_NEXT, "dlsym", FIRST_VERSION);
      atomic_store_explicit (&found, lookup, memory_order_relaxed);
    }
  return lookup;
}

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

static bool
is_runtime (const Hook *hook)
{
  return strncmp (hook->name, "cuda", 4) == 0;
}

/* Returns @function, or NULL if it is the wrapper itself. */
static void *
unless_own (const Hook *hook, void *function)
{
  return function != hook->wrapper ? function : NULL;
}

/* ---- the real function */

/* Looks up @name after this library in the global scope.  Must not be a tail call, which would
 * search after another caller. */
static void *
behind_this (const char *name)
{
  void *function = real_dlsym () (RTLD_NEXT, name);
  __asm__ volatile("" : "+r"(function));
  return function;
}

/* Looks up @name in the loaded library @path and its dependencies. */
static void *
in_library (const char *path, const char *name)
{
  void *handle = dlopen (path, RTLD_LAZY | RTLD_NOLOAD);
  void *function = handle != NULL ? real_dlsym () (handle, name) : NULL;

  if (handle != NULL)
    dlclose (handle); /* the library was loaded before, and stays loaded */
  return function;
}

typedef struct
{
  const char *begins;
  char path[4096];
} Search;

static int
look_at_object (struct dl_phdr_info *info, size_t size, void *data)
{
  Search *search = data;
  const char *name = info->dlpi_name != NULL ? info->dlpi_name : "";
  const char *file = strrchr (name, '/') != NULL ? strrchr (name, '/') + 1 : name;
  (void) size;
  if (strncmp (file, search->begins, strlen (search->begins)) != 0
      || strlen (name) >= sizeof search->path)
    return 0;
  strcpy (search->path, name);
  return 1;
}

/* Looks up @name in the loaded library whose file name begins with @begins. */
static void *
in_loaded (const char *begins, const char *name)
{
  Search search = { .begins = begins };
  return dl_iterate_phdr (look_at_object, &search) != 0 ? in_library (search.path, name) : NULL;
}

void *
gemem_recorder_driver_function (const char *name)
{
  void *function = in_loaded ("libcuda.so", name);
  for (int i = 0; i < gemem_recorder_hook_count; i++)
    if (function != NULL && function == gemem_recorder_hooks[i].wrapper)
      return NULL;
  return function;
}

/* Keeps the library of @function loaded, in any name space: a wrapper may outlive its handle. */
static void
keep_loaded (void *function)
{
  struct link_map *map = NULL;
  Lmid_t space;
  Dl_info info;

  if (dladdr1 (function, &info, (void **) &map, RTLD_DL_LINKMAP) != 0 && map != NULL
      && dlinfo (map, RTLD_DI_LMID, &space) == 0)
    dlmopen (space, map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Sets @real as the function of @hook unless one is set; returns the function set. */
static void *
know (Hook *hook, void *real)
{
  void *none = NULL;

  if (!atomic_compare_exchange_strong (&hook->real, &none, real))
    return none;
  keep_loaded (real);
  return real;
}

/* Whether the addresses @a and @b are in one object. */
static bool
same_object (const void *a, const void *b)
{
  Dl_info of_a, of_b;
  return dladdr (a, &of_a) != 0 && dladdr (b, &of_b) != 0 && of_a.dli_fbase == of_b.dli_fbase;
}

void *
gemem_recorder_real (Hook *hook, const void *caller)
{
  void *real = atomic_load_explicit (&hook->real, memory_order_acquire), *own = NULL;
  Dl_info info;

  if (real != NULL)
    return real;
  if (dladdr (caller, &info) != 0 && info.dli_fname != NULL)
    real = unless_own (hook, in_library (info.dli_fname, hook->name));
  if (real != NULL && same_object (real, caller))
    {
      own = real;
      real = NULL;
    }
  if (real == NULL)
    real = unless_own (hook, behind_this (hook->name));
  if (real == NULL)
    real = own;
  if (real == NULL)
    real = unless_own (hook,
                       in_loaded (is_runtime (hook) ? "libcudart" : "libcuda.so", hook->name));
  return real != NULL ? know (hook, real) : NULL;
}

/* ---- lookups by the program */

void *
gemem_recorder_adopt (Hook *hook, void *real)
{
  if (real == NULL || real == hook->wrapper)
    return real;
  return know (hook, real) == real || !is_runtime (hook) ? hook->wrapper : real;
}

void *
gemem_recorder_wrap_driver (const char *symbol, void *real, int version, bool per_thread)
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

/* Whether the object of @caller has the function that @hook's wrapper calls: it is a stub. */
static bool
is_stub (Hook *hook, const void *caller)
{
  const void *real = atomic_load_explicit (&hook->real, memory_order_acquire);
  return real != NULL && same_object (real, caller);
}

static __attribute__ ((noinline)) void *
hooked_symbol (Hook *hook, void *handle, const void *caller)
{
  void *function = real_dlsym () (handle, hook->name);

  if (function != hook->wrapper)
    return function != NULL && is_stub (hook, caller) ? function
                                                      : gemem_recorder_adopt (hook, function);
  if (gemem_recorder_real (hook, caller) != NULL)
    return function;
  return behind_this (hook->name); /* not found: returns NULL and sets dlerror() */
}

EXPORT void *dlsym (void *restrict handle, const char *restrict name);

TAIL_CALLER void *
dlsym (void *restrict handle, const char *restrict name)
{
  Hook *hook = handle != RTLD_NEXT ? hook_named (name) : NULL;

  if (hook != NULL)
    return hooked_symbol (hook, handle, __builtin_return_address (0));
  Lookup lookup = real_dlsym ();
  TAIL_RETURN lookup (handle, name);
}

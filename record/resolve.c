/* resolve.c - finds the real function of a wrapper (recorder.h).
 *
 * Programs reach CUDA by linking (the preloaded library is found first), by dlsym() on a handle
 * (dlsym.c; Python's ctypes, the runtime on the driver), and by cuGetProcAddress() and
 * cudaGetDriverEntryPoint() (calls-lookup.c).
 *
 * The real function is searched where the caller would have found it: among the libraries of the
 * calling object (those of a Python extension are not in the global scope), then after this library
 * in the global scope, then in any loaded libcuda or libcudart.  What the calling object defines
 * itself comes last of these three, as for the dynamic loader.
 *
 * Invariants: a name is found only if it would be found without the recorder; a function of a
 * second runtime library in the same process is not wrapped (its driver calls are recorded).
 */
#include "config.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "record/recorder.h"

/* The versions of dlsym(): that of glibc 2.34, and the first one of the architecture. */
#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__powerpc64__) || defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#else
#define FIRST_VERSION "GLIBC_2.0"
#endif

RecorderLookup
gemem_recorder_dlsym (void)
{
  static _Atomic (RecorderLookup) found;
  RecorderLookup lookup = atomic_load_explicit (&found, memory_order_relaxed);

  if (lookup == NULL)
    {
      lookup = (RecorderLookup) dlvsym (RTLD_NEXT, "dlsym", "GLIBC_2.34");
      if (lookup == NULL)
        lookup = (RecorderLookup) dlvsym (RTLD_NEXT, "dlsym", FIRST_VERSION);
      atomic_store_explicit (&found, lookup, memory_order_relaxed);
    }
  return lookup;
}

static bool
is_runtime (const Hook *hook)
{
  return strncmp (hook->name, "cuda", 4) == 0;
}

/* Whether @function is no more than a jump to the wrapper, as a dry run makes of a runtime that is linked into an
 * object (dry/launch/audit.c). */
static bool
jumps_back (const Hook *hook, const void *function)
{
#if defined(__x86_64__)
  static const unsigned char jump[] = {
    0xff, 0x25, 0, 0, 0, 0
  }; /* jmp *0(%rip), and the address behind it */

  return memcmp (function, jump, sizeof jump) == 0
         && memcmp ((const char *) function + sizeof jump, &hook->wrapper, sizeof hook->wrapper)
                == 0;
#else
  (void) hook, (void) function;
  return false;
#endif
}

/* Returns @function, or NULL if it is the wrapper itself. */
static void *
unless_own (const Hook *hook, void *function)
{
  return function != NULL && function != hook->wrapper && !jumps_back (hook, function) ? function
                                                                                       : NULL;
}

/* ---- the real function */

/* Must not be a tail call, which would search after another caller. */
void *
gemem_recorder_behind (const char *name)
{
  void *function = gemem_recorder_dlsym () (RTLD_NEXT, name);
  __asm__ volatile("" : "+r"(function));
  return function;
}

/* Looks up @name in the loaded library @path and its dependencies. */
static void *
in_library (const char *path, const char *name)
{
  void *handle = dlopen (path, RTLD_LAZY | RTLD_NOLOAD);
  void *function = handle != NULL ? gemem_recorder_dlsym () (handle, name) : NULL;

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
  return in_loaded ("libcuda.so", name);
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

bool
gemem_recorder_same_object (const void *a, const void *b)
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
  if (real != NULL && gemem_recorder_same_object (real, caller))
    {
      own = real;
      real = NULL;
    }
  if (real == NULL)
    real = unless_own (hook, gemem_recorder_behind (hook->name));
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

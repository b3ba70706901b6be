/* absent.c - the functions of the driver and of the management library that are not written
 * (absent.def), as a GPU's machine offers them: programs look for them by dlsym(), a runtime by
 * cuGetProcAddress() for all of them at its start. Few are called.
 *
 * Not in the strict stand-in of tests/dry, which has only what is written.
 */
#include "config.h"

#include <string.h>

#include "dry/driver/driver.h"
#include "dry/images/images.h"
#include "dry/libraries/jitlink.h"
#include "dry/libraries/missing.h"
#include "dry/libraries/nvrtc.h"
#include "dry/replay/replay.h"

#define ABSENT(symbol, library) \
  int symbol (void); \
  __attribute__ ((visibility ("default"))) int symbol (void) \
  { \
    return gemem_dry_missing (#symbol, library); \
  }
#define DRIVER_ABSENT(name, symbol, version) ABSENT (symbol, "libcuda.so.1")
#define DRIVER_ABSENT_SYMBOL(symbol) ABSENT (symbol, "libcuda.so.1")
#define NVML_ABSENT(name) ABSENT (name, "libnvidia-ml.so.1")
#include "dry/libraries/absent.def"

static const struct
{
  const char *name;
  int version;
  int (*function) (void);
} absent[] = {
#define DRIVER_ABSENT(name, symbol, version) { #name, version, symbol },
#include "dry/libraries/absent.def"
};

static gpointer
find_absent (const char *name, int version, int *since)
{
  gpointer function = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (absent); i++)
    if (strcmp (absent[i].name, name) == 0 && absent[i].version <= version
        && absent[i].version > *since)
      {
        *since = absent[i].version;
        function = (gpointer) absent[i].function;
      }
  return function;
}

/* The generated libraries need this one, so that this runs before what is linked to them. */
static void __attribute__ ((constructor)) tell_driver (void)
{
  static const DriverLibraries libraries = { find_absent, gemem_dry_work };
  gemem_driver.libraries = &libraries;
  gemem_dry_set_compiler (gemem_library_compile);
  gemem_replay_set_compiler (gemem_library_compile_source);
}

/* version.c - `gemem-sim version`: version and build options of the program. */
#include "config.h"

#include <string.h>
#include <zstd.h>

#include "sim/cli/options.h"

static int
run (char **arguments, GError **error)
{
  extern const GememCommand gemem_command_version;
  if (!gemem_want_arguments (&gemem_command_version, arguments, 0, 0, error))
    return 2;
  g_autofree char *text = g_strdup_printf ("gemem-sim %s\nGLib %u.%u.%u, zstd %s, CUDA headers %s, "
                                           "SQLite %s, checks %d\nCompiler: %s %s (%s)\n"
                                           "Licence: Apache-2.0, without warranty\n",
                                           PACKAGE_VERSION, glib_major_version, glib_minor_version,
                                           glib_micro_version, ZSTD_versionString (),
#ifdef HAVE_CUDA
                                           "yes",
#else
                                           "no",
#endif
#ifdef HAVE_SQLITE
                                           "yes",
#else
                                           "no",
#endif
                                           GEMEM_CHECKS, GEMEM_COMPILER, GEMEM_CFLAGS, __VERSION__);
  return gemem_put (NULL, text, strlen (text), error) ? 0 : 1;
}

const GememCommand gemem_command_version = {
  .name = "version",
  .synopsis = "",
  .summary = "Show the version and how the program was built",
  .run = run,
};

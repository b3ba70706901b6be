/* error.h - the single GError domain of gemem, with one code per kind of action that the user must
 * take.
 *
 * Why one domain: the command line maps codes to exit statuses in one place
 * (gemem_error_exit_status), and a caller need not know which module failed.
 *
 * Invariants: the library never prints and never exits; every failure travels as
 * a GError of this domain.  A message is one line, without a trailing full stop:
 * "WHERE: what is wrong; what to do".  WHERE is FILE:LINE, FILE:event N, or the
 * name of the option.  Simulated out-of-memory is a result, not an error; it
 * becomes GEMEM_ERROR_OUT_OF_MEMORY only on request (--fail-on-oom).
 */
#pragma once

#include "base/macros.h"
#include <glib.h>

GEMEM_BEGIN_DECLS

typedef enum
{
  GEMEM_ERROR_FAILED,        /* the system refused: I/O, full disk, no gnuplot   -> exit 1 */
  GEMEM_ERROR_USAGE,         /* unknown name, bad value, conflicting settings    -> exit 2 */
  GEMEM_ERROR_INPUT,         /* a trace or graph is damaged or not understood    -> exit 3 */
  GEMEM_ERROR_OUT_OF_MEMORY, /* the workload did not fit, under --fail-on-oom    -> exit 4 */
  GEMEM_ERROR_REGRESSION,    /* worse than the stored baseline                   -> exit 5 */
  GEMEM_ERROR_NO_DEVICE,     /* the device asked for is not on this machine      -> exit 77 */
  GEMEM_ERROR_INTERRUPTED,   /* stopped by the user; partial results are marked  -> exit 130 */
  GEMEM_ERROR_INVARIANT,     /* an allocator or the engine violated an invariant -> exit 1 */
} GememError;

#define GEMEM_ERROR (gemem_error_quark ())

/* The domain of all errors of the library: GEMEM_ERROR. */
GQuark gemem_error_quark (void);

/* Exit status for @error; 1 for foreign domains, 0 for NULL. */
int gemem_error_exit_status (const GError *error);

/* Sets @error from errno as "PATH: strerror; ADVICE".  @advice may be NULL. */
void gemem_error_set_errno (GError **error, int errnum, const char *path, const char *advice);

GEMEM_END_DECLS

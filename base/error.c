/* error.c - the error domain of gemem, its exit statuses, and system errors as one-line messages.
 *
 * The table below is the only place where a code becomes an exit status.
 * Errors of other domains (GIOError, GFileError, GOptionError, from GLib) count as plain failures;
 * code that needs another exit status converts them where they arise.
 */
#include "config.h"

#include "base/error.h"

G_DEFINE_QUARK (gemem - error - quark, gemem_error)

int
gemem_error_exit_status (const GError *error)
{
  static const guint8 status[] = {
    [GEMEM_ERROR_FAILED] = 1,        [GEMEM_ERROR_USAGE] = 2,      [GEMEM_ERROR_INPUT] = 3,
    [GEMEM_ERROR_OUT_OF_MEMORY] = 4, [GEMEM_ERROR_REGRESSION] = 5, [GEMEM_ERROR_NO_DEVICE] = 77,
    [GEMEM_ERROR_INTERRUPTED] = 130, [GEMEM_ERROR_INVARIANT] = 1,
  };

  if (error == NULL)
    return 0;
  if (error->domain != GEMEM_ERROR || error->code < 0 || error->code >= (int) G_N_ELEMENTS (status))
    return 1;
  return status[error->code];
}

void
gemem_error_set_errno (GError **error, int errnum, const char *path, const char *advice)
{
  const char *reason = g_strerror (errnum);

  if (advice != NULL)
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "%s: %s; %s", path, reason, advice);
  else
    g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_FAILED, "%s: %s", path, reason);
}

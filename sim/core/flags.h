/* flags.h - settings that only some versions (or places, or modes) have: refused with the reason where they would have no effect, rather
 * than ignored. */
#pragma once

#include "sim/core/error.h"

typedef struct
{
  const char *name;
  gboolean    set;     /* differs from its default      */
  gboolean    known;   /* has an effect as things are   */
  const char *why_not; /* after "it": "exists since 1.4; choose preset=P14 or later" */
} GememFlag;

/* FALSE, with GEMEM_ERROR_USAGE, for the first flag that was set in vain.  @who: "paddle-buddy", for messages. */
static inline gboolean
gemem_check_flags (const char *who, const GememFlag *flags, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (flags[i].set && !flags[i].known)
      {
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: %s would have no effect: it %s", who, flags[i].name, flags[i].why_not);
        return FALSE;
      }
  return TRUE;
}

/* flags.h - checks settings that exist in some versions (or places, or modes) only.  A setting that
 * would have no effect is refused with the reason, not ignored. */
#pragma once

#include <string.h>

#include "base/error.h"

#define GEMEM_FLAG_IN_VAIN " would have no effect: it "

typedef struct
{
  const char *name;
  gboolean set;        /* differs from its default */
  gboolean known;      /* has an effect in this configuration */
  const char *why_not; /* after "it": "exists since 1.4; choose preset=P14 or later" */
} GememFlag;

/* FALSE, with GEMEM_ERROR_USAGE, for the first flag that is set without an effect.  @who:
 * "paddle-buddy", for messages. */
static inline gboolean
gemem_check_flags (const char *who, const GememFlag *flags, gsize n, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (flags[i].set && !flags[i].known)
      {
        g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "%s: %s" GEMEM_FLAG_IN_VAIN "%s", who,
                     flags[i].name, flags[i].why_not);
        return FALSE;
      }
  return TRUE;
}

/* The name of the flag without an effect in @error of gemem_check_flags(); NULL for any other
 * error.  g_free(). */
static inline char *
gemem_flag_in_vain (const GError *error)
{
  const char *end = g_error_matches (error, GEMEM_ERROR, GEMEM_ERROR_USAGE)
                        ? strstr (error->message, GEMEM_FLAG_IN_VAIN)
                        : NULL;
  const char *colon = end != NULL ? g_strrstr_len (error->message, end - error->message, ": ")
                                  : NULL;

  return colon != NULL ? g_strndup (colon + 2, (gsize) (end - colon) - 2) : NULL;
}

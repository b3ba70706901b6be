/* flags.h - checks settings that exist in some versions (or places, or modes) only.  A setting that
 * would have no effect is refused with the reason, not ignored. */
#pragma once

#include <glib.h>

typedef struct
{
  const char *name;
  gboolean set;        /* differs from its default */
  gboolean known;      /* has an effect in this configuration */
  const char *why_not; /* after "it": "exists since 1.4; choose version=1.4 or later" */
} GememFlag;

/* FALSE, with GEMEM_ERROR_USAGE, for the first flag that is set without an effect; the message has
 * all reasons that @flags gives for this flag.  @who: "paddle-buddy", for messages.  O(n). */
gboolean gemem_check_flags (const char *who, const GememFlag *flags, gsize n, GError **error);

/* The name of the flag without an effect in @error of gemem_check_flags(); NULL for any other
 * error.  g_free(). */
char *gemem_flag_in_vain (const GError *error);

/* needs.h - recordings of the command line as what need.h asks about, and the replays of all who hold theirs.
 */
#pragma once

#include "sim/cli/source.h"
#include "sim/search/histories.h"

/* Fills @need from @file, which is read once.  *@ordinals: g_array_unref(). */
gboolean gemem_needs_take (GememNeed *need, GememSourceFile *file, GArray **ordinals,
                           GError **error);
/* --histories of a command, a guint of which 0 is none. */
#define GEMEM_HISTORIES_OPTION(target) \
  { \
    "histories", 0, 0, G_OPTION_ARG_INT, target, \
        "Also with frees in N other orders, a second time, elsewhere", "N" \
  }
gboolean gemem_want_histories (int histories, GError **error);
/* Runs jobs with a line about how far they are: "WHAT: 3 of 8 runs".  @what: "replaying", not owned. */
GememRunner gemem_needs_runner (const char *what);

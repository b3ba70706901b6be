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
/* GememNeedOptions.run: with a line about how far they are. */
void gemem_needs_run_jobs (const GememJob *jobs, guint n, GememResult **results, GError **errors);
/* GememAdviceQuestion.run: the same, of settings. */
void gemem_needs_try_settings (const GememJob *jobs, guint n, GememResult **results,
                               GError **errors);

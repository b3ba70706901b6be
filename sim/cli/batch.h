/* batch.h - the options that replay and compare share, and running the jobs they describe.
 *
 * A run is: traces x allocators x devices of the trace -> jobs -> results, in that order.  A
 * failing run does not stop the others: its error is printed and determines the exit status, the
 * others are reported.
 */
#pragma once

#include "sim/cli/cli.h"
#include "sim/engine/replay.h"

extern const GOptionEntry gemem_batch_entries[];

/* For @default_allocator: what the recorded program could choose (choices.h), or every allocator if that is
 * not known. */
#define GEMEM_BATCH_CHOICES ""
/* Of commands with many rows: --zoo, every allocator beside those of -a. */
extern const GOptionEntry gemem_rows_entries[];

/* A command's changes to every job before it runs; NULL: none. */
typedef void (*GememJobSetup) (GememJob *job);

/* Replays @paths through the allocators of -a, or without -a through @default_allocator (NULL: the
 * one that recorded the trace), and writes what the options ask for: the report, with @details one
 * result in full, plots, map, manifest...  Returns the exit status: of the first failed run, else
 * that of the results; if @error is set, that of the error counts. */
int gemem_batch_run (char **paths, const char *default_allocator, GememJobSetup setup,
                     gboolean details, GError **error);

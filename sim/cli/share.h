/* share.h - --share-device: which programs run together, each with its trace and its allocator. */
#pragma once

#include "sim/cli/cli.h"
#include "sim/cli/source.h"
#include "sim/engine/replay.h"

extern const GOptionEntry gemem_share_entries[];

/* TRUE if the traces are to share one device. */
gboolean gemem_share_wanted (void);
/* TRUE if @n traces can be what --share-device and --share-order ask for. */
gboolean gemem_share_check_options (guint n, GError **error);

/* Programs that run together, in the order of the traces. */
typedef struct
{
  GememSourceFile **files;    /* owned by the caller */
  GememAllocatorSpec **specs; /* likewise */
  /* all programs but the first, which is the job itself; what GememJob says holds for them too */
  GememSharer *others;
  guint n;
} GememShareRun;

/* The runs that @lists allow (GPtrArray of GememAllocatorSpec for each of @files): every
 * combination, or, with @alike, where all programs have the same list, the same allocator for
 * all.  @ordinals: the device of each trace.  GPtrArray of GememShareRun; GEMEM_ERROR_USAGE if
 * they are too many. */
GPtrArray *gemem_share_runs (const GPtrArray *files, const GPtrArray *lists, gboolean alike,
                             const int *ordinals, GError **error);
/* Makes @job one of all programs of @run, which it borrows. */
void gemem_share_set (GememJob *job, const GememShareRun *run);

/* "train.gmt + serve.gmt" and "pytorch-caching + tf-bfc" of a job with others; g_free(). */
char *gemem_share_trace_name (const GememJob *job);
char *gemem_share_label (const GememJob *job);
/* @results, each that is of several programs replaced by theirs; g_ptr_array_unref(). */
GPtrArray *gemem_share_each (const GPtrArray *results);

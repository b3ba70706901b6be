/* diff-folders.h - a folder as the recordings of the ranks of one run. */
#pragma once

#include <glib.h>

typedef struct
{
  guint64 rank;
  char *path;
} GememRankFile;

/* The recordings in @folder (GememRankFile), by rank: "out.rank-3.gmt", "snapshot_oom_rank-3.pickle", "rank3.gmt", else
 * the last number of the name, "snapshot_3.pickle".  Hidden files, what is no file, and files without a number are passed over.  NULL with
 * GEMEM_ERROR_INPUT: it has none, or two of one rank; GEMEM_ERROR_FAILED: it cannot be read.  g_array_unref().  O(n log n). */
GArray *gemem_rank_files (const char *folder, GError **error);

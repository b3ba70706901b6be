/* recorder.h - the allocator that made a recording, which is the one to replay unless another is asked
 * for.
 *
 * Invariant: a recording that does not name its allocator is taken to be PyTorch's, as most are, and
 * whoever replays it says so.
 */
#pragma once

#include "allocators/allocator.h"
#include "traces/trace.h"

GEMEM_BEGIN_DECLS

/* What -a says to mean the allocator that recorded @info, g_free(); NULL: it is not named there.  @host: that of
 * the host's memory, which is `direct` where calls of CUDA were recorded, whichever allocator served the device, and
 * PyTorch's own where they stand beside requests to that. */
char *gemem_recorder_text (const GememTraceInfo *info, gboolean host, gboolean ignores_settings);

/* TRUE if the only one of @ordinals, the devices of a recording, is the host. */
gboolean gemem_recorder_is_host (const GArray *ordinals);

/* Appends to @specs the allocator that recorded @info, for a program with the environment @variables
 * (NULL: none); *@assumed: it is not named there.  @host: that of the host's memory.  @ignores_settings: those of
 * the trace do not choose it.  GEMEM_ERROR_USAGE: it is not among the allocators here. */
gboolean gemem_recorder_parse (const GememTraceInfo *info, gboolean host, gboolean ignores_settings,
                               const GPtrArray *variables, GPtrArray *specs, gboolean *assumed,
                               GError **error);

/* The allocator that a program of @system has (NULL: that of the recorder): the one that recorded @info
 * where it is of that system, else the one that no setting chooses.  NULL with GEMEM_ERROR_USAGE;
 * gemem_allocator_spec_free(). */
GememAllocatorSpec *gemem_recorder_choose (const GememTraceInfo *info, gboolean host,
                                           gboolean ignores_settings, const char *system,
                                           gboolean *assumed, GError **error);

/* "2.10 or 2.11": what the recording says of the version of PyTorch; g_free(); NULL: nothing. */
char *gemem_recorder_versions (const GememTraceInfo *info);
/* TRUE if the first of @versions (NULL: FALSE) refuses the settings of @spec. */
gboolean gemem_recorder_refuses (const char *versions, const GememAllocatorSpec *spec);

/* That the release which recorded @info is replayed as another by @spec; g_free(); NULL: it is not. */
char *gemem_recorder_release_note (const GememTraceInfo *info, const GememAllocatorSpec *spec);

GEMEM_END_DECLS

/* environment.h - `--env`: the variables that PaddlePaddle and GE read from the environment, as
 * settings.
 *
 * Only the command reads the environment, and only when asked to: the library knows nothing but
 * settings, and what came from there is recorded with the results. */
#pragma once

#include "base/params.h"

/* The variables FLAGS_... and GE_... that something here reads (GememSetting, by name).  Others of
 * Paddle are named in one note and left out.
 * GEMEM_ERROR_USAGE: a memory flag that is not modelled, or a name near one that is. */
GPtrArray *gemem_environment_read (GError **error);

/* One note for each of @variables that one of @specs (GememAllocatorSpec) or the lowering of one of
 * @files (GememSourceFile) cannot use, or that none of them reads. */
void gemem_environment_note_unused (const GPtrArray *variables, const GPtrArray *specs,
                                    const GPtrArray *files);

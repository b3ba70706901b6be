/* environment.h - `--env`: the variables that PaddlePaddle and GE read from the environment, as
 * settings.
 *
 * Only the command reads the environment, and only on request: the library sees settings alone, and
 * those from the environment are recorded with the results. */
#pragma once

#include "base/params.h"

/* The variables FLAGS_... and GE_... that an allocator or lowering reads (GememSetting, by name).
 * Paddle's other variables are named in one note and ignored.  GEMEM_ERROR_USAGE: a memory flag
 * that is not modelled, or a name similar to one that is. */
GPtrArray *gemem_environment_read (GError **error);

/* Prints one note for each of @variables that one of @specs (GememAllocatorSpec) or the lowering of
 * one of @files (GememSourceFile) cannot use, or that none of them reads. */
void gemem_environment_note_unused (const GPtrArray *variables, const GPtrArray *specs,
                                    const GPtrArray *files);

/* nvrtc.h - the compiler of CUDA C++: see nvrtc-installed.c. */
#pragma once

#include <glib.h>

/* A GememReplayCompiler (dry/replay/replay.h), which calls the installed NVRTC; NULL where there is
 * none. */
char *gemem_library_compile_source (const char *source, guint n_options, const char *const *options,
                                    guint n_expressions, const char *const *expressions,
                                    char **names);

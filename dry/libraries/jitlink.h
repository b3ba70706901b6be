/* jitlink.h - the compiler of PTX: see jitlink-installed.c. */
#pragma once

#include <glib.h>

/* A GememDryCompiler (dry/images/images.h), which calls the installed nvJitLink; NULL where there is none. */
guint8 *gemem_library_compile (const char *ptx, int sm, gsize *size);

/* flags.h - PaddlePaddle's flags over all registries: which allocators, shorthands and lowerings
 * read each flag, and where a misplaced flag belongs.
 *
 * Derived from the parameter tables: a flag is a row with a name FLAGS_...; flags that are not
 * modelled are in allocators/paddle/unmodelled.c. */
#pragma once

#include "base/params.h"

/* The table for people: every flag, its readers, its effect, its first version. */
char *gemem_flags_help (void);

/* Checks @text, "NAME[:key=value,...]" of an allocator (-a), or with @lowering of --lower.  FALSE
 * with GEMEM_ERROR_USAGE for a flag that belongs to the other one, or is not modelled.  Other
 * errors are not checked here. */
gboolean gemem_flags_check (const char *text, gboolean lowering, GError **error);

/* "paddle-buddy, paddle-thread-local": the readers of the environment variable @variable; "" if
 * none. g_free(). */
char *gemem_flags_readers (const char *variable);

/* The variable whose name is nearest to @variable, or NULL.  g_free(). */
char *gemem_flags_suggest (const char *variable);

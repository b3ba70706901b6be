/* flags.h - environment variables of the real systems over all registries: which allocators,
 * shorthands, lowerings and planners read each, and where a misplaced flag of PaddlePaddle belongs.
 *
 * Derived from the parameter tables (gemem_param_variables()); flags that are not modelled are in
 * allocators/paddle/unmodelled.c. */
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

/* All variables that anything reads, sorted.  g_strfreev(). */
GStrv gemem_flags_variables (void);

/* TRUE if the allocator, shorthand, lowering or planner (@kind) @name reads @variable. */
gboolean gemem_flags_reads (const char *kind, const char *name, const char *variable);

/* The variable whose name is nearest to @variable, or NULL.  g_free(). */
char *gemem_flags_suggest (const char *variable);

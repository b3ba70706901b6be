/* flags.h - PaddlePaddle's flags over all registries: which allocators, shorthands and lowerings
 * read each, and where one given in the wrong place belongs.
 *
 * Derived from the parameter tables: a flag is a row with a name FLAGS_...; those without a model
 * are in allocators/paddle/unmodelled.c. */
#pragma once

#include "base/params.h"

/* The table for people: every flag, who reads it, what it changes, since when. */
char *gemem_flags_help (void);

/* What it says of one, FLAGS_...; NULL if there is no such flag. */
char *gemem_flags_help_on (const char *variable);

/* @text is "NAME[:key=value,...]" of an allocator (-a), or with @lowering of --lower.  FALSE with
 * GEMEM_ERROR_USAGE for a flag that belongs to the other one, or that is not modelled.  Other
 * errors are not checked here. */
gboolean gemem_flags_check (const char *text, gboolean lowering, GError **error);

/* "paddle-buddy, paddle-thread-local": who reads the environment variable @variable; "" if
 * none does.  g_free(). */
char *gemem_flags_readers (const char *variable);

/* The variable whose name is nearest to @variable, or NULL.  g_free(). */
char *gemem_flags_suggest (const char *variable);

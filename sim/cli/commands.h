/* commands.h - the table of subcommands, and the texts generated from it. */
#pragma once

#include "sim/cli/cli.h"

/* ---- commands.c */

/* All subcommands, NULL-terminated, in the order of commands.def. */
const GememCommand *const *gemem_commands (void);
/* GEMEM_ERROR_USAGE for an unknown name, with the nearest name. */
const GememCommand *gemem_command_find (const char *name, GError **error);

/* ---- usage.c, manual.c, completion.c; g_free().  @commands as gemem_commands() returns them. */

char *gemem_command_usage (const GememCommand *command); /* "Usage: ..." with options */
char *gemem_overview (const GememCommand *const *commands);
char *gemem_manual (const GememCommand *const *commands);     /* man page, troff */
char *gemem_completion (const GememCommand *const *commands); /* bash */

/* commands.h - the table of subcommands, and the texts generated from it. */
#pragma once

#include "sim/cli/cli.h"

/* ---- commands.c */

/* All subcommands, NULL-terminated, in the order of commands.def. */
const GememCommand *const *gemem_commands (void);
/* GEMEM_ERROR_USAGE for an unknown name, with the nearest name. */
const GememCommand *gemem_command_find (const char *name, GError **error);

/* ---- terms.c: the index of terms, every name that a user of a real system or of gemem
 * knows; g_free() */

/* What is known about @word, for people, with commands to try: all places that have the name.
 * Case, '-', '_' and a prefix FLAGS_ do not matter, nor do "torch.cuda." and "()" around the
 * last part of a dotted name.  A name of code (cudaMalloc) that is no term is searched in all
 * descriptions.  NULL with GEMEM_ERROR_USAGE, which suggests similar terms.  Cost: a pass
 * over all tables. */
char *gemem_terms_help (const GememCommand *const *commands, const char *word, GError **error);

/* ---- usage.c, manual.c; g_free().  @commands as gemem_commands() returns them. */

char *gemem_command_usage (const GememCommand *command); /* "Usage: ..." with options */
char *gemem_overview (const GememCommand *const *commands);
/* The man page, troff, of @name: a command, a kind of topic in the plural, "flags" or "measures"; NULL: that of gemem-sim.  NULL if
 * there is none such. */
char *gemem_manual (const GememCommand *const *commands, const char *name);
/* Writes all of them into @folder, which is there, as they are called when installed (gemem-sim-compare.1). */
gboolean gemem_manual_write (const GememCommand *const *commands, const char *folder,
                             GError **error);

/* ---- completion.c: the completion of "bash", "zsh" or "fish", for this to be installed. */
const char *gemem_completion (const char *shell);

/* ---- complete.c: a line for each word that may stand in place of the last of @words (at least
 * one; those after "gemem-sim", up to the cursor), with a tab before what it means; g_free().
 * @files: it may also be the name of a file. */
char *gemem_complete (const char *const *words, gboolean *files);

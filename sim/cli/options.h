/* options.h - the words after a subcommand: its options and positional arguments, and the usage
 * errors about them (GEMEM_ERROR_USAGE). */
#pragma once

#include "sim/cli/cli.h"

/* Options that every command has, beside --help. */
extern const GOptionEntry gemem_common_entries[];

/* The words of @argv without the options of @command and --help, argv[0] first (g_strfreev); option
 * values are stored where their entries say. */
char **gemem_parse_options (const GememCommand *command, int argc, char **argv, gboolean *help,
                            GError **error);

/* Checks that there are @min to @max positional @arguments. */
gboolean gemem_want_arguments (const GememCommand *command, char **arguments, guint min, guint max,
                               GError **error);
/* Checks that the value of option --@name is at least @min. */
gboolean gemem_want_at_least (const char *name, int value, int min, GError **error);
/* The value of an option for a number from 1 on that is not given; such an option begins with it. */
#define GEMEM_NOT_GIVEN G_MININT
/* Checks such an option --@name; one that is not given becomes 0. */
gboolean gemem_want_number (const char *name, int *value, GError **error);
/* The text of the simulated or real device that -d @device (NULL: none) and --capacity @capacity (NULL:
 * none) mean; g_free(). */
char *gemem_device_text (const char *device, const char *capacity);
/* The specification of the one simulated device that they mean, g_free(); NULL with @error, also for a
 * real one. */
char *gemem_want_simulated (const char *device, const char *capacity, GError **error);
/* Checks that @format (NULL: none), of option --format, is table or json; *json says which. */
gboolean gemem_want_table_or_json (const char *format, gboolean *json, GError **error);

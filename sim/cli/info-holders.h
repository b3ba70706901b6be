/* info-holders.h - `gemem-sim info --at=MOMENT --by=KEY`: who holds the memory of a trace at a
 * moment, as a table, as JSON, folded for flame graphs, or as one for a terminal. */
#pragma once

#include "sim/cli/cli.h"

extern const GOptionEntry gemem_info_holders_entries[];

/* TRUE if one of these options was given, or @format is neither table nor json. */
gboolean gemem_info_holders_wanted (const char *format);
/* Prints the holders of each of @paths in @format (NULL: table); returns the exit status. */
int gemem_info_holders (char **paths, const char *format, GError **error);

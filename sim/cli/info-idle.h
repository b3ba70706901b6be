/* info-idle.h - `gemem-sim info --idle`: who holds the memory of a replay that is reserved and not in
 * use, by cause, at its peak, its first failure or after an event. */
#pragma once

#include "sim/cli/cli.h"

extern const GOptionEntry gemem_info_idle_entries[];

/* TRUE if --idle was given. */
gboolean gemem_info_idle_wanted (void);
/* Prints it for each of @paths in @format (NULL: table); returns the exit status. */
int gemem_info_idle (char **paths, const char *format, GError **error);
